#include "report/details.h"

#include "formats/markdown.h"
#include "report/number.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* A number of a row; every width holds its title and four digits with room. */
typedef struct column {
  const char *title;
  int width;
  size_t offset; /* of a real in hl_record */
} column;

enum { most_columns = 8, batch_width = 7 };

typedef struct table {
  const char *title, *about;
  column columns[most_columns]; /* the first without a title is the end */
} table;

#define REAL(title, width, field)                                                                  \
  { title, width, offsetof(hl_record, field) }

static const table tables[] = {
    {"Energy",
     "of the processor's packages while measuring; per image without what they draw idle",
     {REAL("energy J", 9, energy_j), REAL("power W", 8, power_w), REAL("idle W", 8, idle_w),
      REAL("J/image", 9, energy_per_image_j), REAL("images/J", 9, images_per_joule),
      REAL("DRAM J", 8, dram_energy_j)}},
    {"Energy of the device",
     "while measuring; per image without what it draws idle",
     {REAL("energy J", 9, device_energy_j), REAL("idle W", 8, device_idle_w),
      REAL("J/image", 9, device_energy_per_image_j)}},
};

static size_t column_count(const table *t) {
  size_t count = 0;
  while (count < most_columns && t->columns[count].title) count++;
  return count;
}

static double value_of(const hl_record *record, const column *c) {
  return *(const double *)(const void *)((const char *)record + c->offset);
}

/* The first column alone decides: idle power without an energy is no news. */
static bool is_known(const table *t, const hl_record *record) {
  return isfinite(value_of(record, &t->columns[0]));
}

static bool is_shown(const table *t, const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (is_known(t, &records->items[i])) return true;
  return false;
}

static bool same(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

bool hl__rows_are_mixed(const hl_records *records) {
  bool mixed = false;
  for (size_t i = 1; i < records->count; i++) {
    const hl_record *a = &records->items[0], *b = &records->items[i];
    mixed |= !same(a->model, b->model) || !same(a->engine, b->engine) ||
             !same(a->dtype, b->dtype) || !same(a->device_id, b->device_id);
  }
  return mixed;
}

void hl__row_name(const hl_record *record, hl_text *out) {
  const char *parts[] = {record->model, record->engine, record->dtype, record->device_id};
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    hl_text_format(out, "%s%s", i ? ", " : "", parts[i] ? parts[i] : "?");
}

static void show_table(const table *t, const hl_records *records, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  size_t count = column_count(t);
  hl_text_format(out, "%s: %s\n", t->title, t->about);
  hl_report_pad(out, "Batch", -batch_width);
  for (size_t c = 0; c < count; c++) {
    hl_text_char(out, ' ');
    hl_report_pad(out, t->columns[c].title, -t->columns[c].width);
  }
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_known(t, r)) continue;
    hl_report_pad(out, hl_report_int(r->batch_size, "-", text), -batch_width);
    for (size_t c = 0; c < count; c++) {
      hl_text_char(out, ' ');
      hl_report_pad(out, hl_report_number(value_of(r, &t->columns[c]), "-", text),
                    -t->columns[c].width);
    }
    if (hl__rows_are_mixed(records)) {
      hl_text_append(out, "  ");
      hl__row_name(r, out);
    }
    hl_text_char(out, '\n');
  }
}

void hl_report_details(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < HL_COUNT(tables); i++)
    if (is_shown(&tables[i], records)) show_table(&tables[i], records, out);
}

static void write_table(const table *t, const hl_records *records, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  size_t count = column_count(t);
  bool mixed = hl__rows_are_mixed(records);
  hl_text_format(out, "## %s\n\n%c%s.\n\n| %sBatch Size |", t->title,
                 toupper((unsigned char)t->about[0]), t->about + 1, mixed ? "Row | " : "");
  for (size_t c = 0; c < count; c++) hl_text_format(out, " %s |", t->columns[c].title);
  hl_text_format(out, "\n|%s", mixed ? "---|---:|" : "---:|");
  for (size_t c = 0; c < count; c++) hl_text_append(out, "---:|");
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!is_known(t, r)) continue;
    hl_text_append(out, "| ");
    if (mixed) {
      hl_text name = HL_TEXT_INIT;
      hl__row_name(r, &name);
      hl_markdown_text(out, name.data);
      hl_text_append(out, " | ");
      hl_text_release(&name);
    }
    hl_text_format(out, "%s |", hl_report_int(r->batch_size, "—", text));
    for (size_t c = 0; c < count; c++)
      hl_text_format(out, " %s |", hl_report_number(value_of(r, &t->columns[c]), "—", text));
    hl_text_char(out, '\n');
  }
  hl_text_char(out, '\n');
}

void hl__markdown_details(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < HL_COUNT(tables); i++)
    if (is_shown(&tables[i], records)) write_table(&tables[i], records, out);
}
