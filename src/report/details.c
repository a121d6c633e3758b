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

enum { most_columns = 8, batch_width = 7, text_width = 80 };

typedef struct table {
  const char *title, *about;
  size_t reason;                /* of a text in hl_record: why values are not known */
  bool asked;                   /* the reason is there only where the values were asked for */
  column columns[most_columns]; /* the first without a title is the end */
} table;

#define REAL(title, width, field)                                                                  \
  { title, width, offsetof(hl_record, field) }

static const table tables[] = {
    {"Stages",
     "ms of a pass over the scan; the first and the last as a share of predict; error of the image",
     0,
     false,
     {REAL("preprocess", 10, stage_preprocess_ms), REAL("predict", 9, stage_predict_ms),
      REAL("merge", 8, stage_merge_ms), REAL("reassemble", 10, stage_reassemble_ms),
      REAL("beside %", 8, stage_beside_predict_percent), REAL("error", 9, reconstruction_error)}},
    {"Image",
     "against the true object; resolution in cycles a pixel; residual of the diffraction",
     offsetof(hl_record, quality_reason),
     false,
     {REAL("SSIM", 8, amplitude_ssim), REAL("PSNR dB", 8, amplitude_psnr_db),
      REAL("phase rad", 9, phase_error_rad), REAL("FRC 0.5", 8, frc_half),
      REAL("half bit", 8, frc_half_bit), REAL("residual", 9, diffraction_residual)}},
    {"Memory of the stages",
     "MB that each holds by itself; preprocess: the scan included",
     0,
     false,
     {REAL("preprocess", 10, stage_preprocess_mb), REAL("predict", 9, stage_predict_mb),
      REAL("reassemble", 10, stage_reassemble_mb)}},
    {"Energy",
     "of the processor's packages while measuring; per image without what they draw idle",
     offsetof(hl_record, energy_reason),
     false,
     {REAL("energy J", 9, energy_j), REAL("power W", 8, power_w), REAL("idle W", 8, idle_w),
      REAL("J/image", 9, energy_per_image_j), REAL("images/J", 9, images_per_joule),
      REAL("DRAM J", 8, dram_energy_j)}},
    {"Energy of the device",
     "while measuring; per image without what it draws idle",
     0,
     false,
     {REAL("energy J", 9, device_energy_j), REAL("idle W", 8, device_idle_w),
      REAL("J/image", 9, device_energy_per_image_j)}},
    {"Counters",
     "of a step, all threads",
     offsetof(hl_record, counters_reason),
     true,
     {REAL("instr/cycle", 11, ipc), REAL("cycles", 11, cycles_per_step),
      REAL("instructions", 12, instructions_per_step), REAL("LLC misses", 10, llc_misses_per_step),
      REAL("branch miss %", 13, branch_miss_percent), REAL("CPU ms", 8, task_clock_ms_per_step),
      REAL("faults", 7, page_faults_per_step), REAL("switches", 8, context_switches_per_step)}},
};

static size_t column_count(const table *t) {
  size_t count = 0;
  while (count < most_columns && t->columns[count].title) count++;
  return count;
}

static double value_of(const hl_record *record, const column *c) {
  return *(const double *)(const void *)((const char *)record + c->offset);
}

/* Idle power alone, without an energy, is no news. */
static bool is_known(const table *t, const hl_record *record) {
  for (size_t c = 0; c < column_count(t); c++)
    if (t->columns[c].offset != offsetof(hl_record, idle_w) &&
        t->columns[c].offset != offsetof(hl_record, device_idle_w) &&
        isfinite(value_of(record, &t->columns[c])))
      return true;
  return false;
}

static const char *reason_of(const table *t, const hl_record *record) {
  if (!t->reason) return NULL;
  return *(char *const *)(const void *)((const char *)record + t->reason);
}

static bool is_shown(const table *t, const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (is_known(t, &records->items[i]) || (t->asked && reason_of(t, &records->items[i])))
      return true;
  return false;
}

/* The reason of row `index`, if no row before it has the same; else NULL. */
static const char *new_reason(const table *t, const hl_records *records, size_t index) {
  const char *reason = reason_of(t, &records->items[index]);
  for (size_t i = 0; i < index && reason; i++) {
    const char *earlier = reason_of(t, &records->items[i]);
    if (earlier && strcmp(earlier, reason) == 0) reason = NULL;
  }
  return reason;
}

bool hl__rows_are_mixed(const hl_records *records) {
  bool mixed = false;
  for (size_t i = 1; i < records->count; i++) {
    const hl_record *a = &records->items[0], *b = &records->items[i];
    mixed |= !hl_text_same(a->model, b->model) || !hl_text_same(a->engine, b->engine) ||
             !hl_text_same(a->dtype, b->dtype) || !hl_text_same(a->device_id, b->device_id);
  }
  return mixed;
}

void hl__row_name(const hl_record *record, hl_text *out) {
  const char *parts[] = {record->model, record->engine, record->dtype, record->device_id};
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    hl_text_format(out, "%s%s", i ? ", " : "", parts[i] ? parts[i] : "?");
}

static void show_row(const table *t, const hl_record *r, bool mixed, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_int(r->batch_size, "-", text), -batch_width);
  for (size_t c = 0; c < column_count(t); c++) {
    hl_text_char(out, ' ');
    hl_report_pad(out, hl_report_number(value_of(r, &t->columns[c]), "-", text),
                  -t->columns[c].width);
  }
  if (mixed) {
    hl_text_append(out, "  ");
    hl__row_name(r, out);
  }
  hl_text_char(out, '\n');
}

static void show_table(const table *t, const hl_records *records, hl_text *out) {
  bool mixed = hl__rows_are_mixed(records);
  hl_text_format(out, "%s: %s\n", t->title, t->about);
  hl_report_pad(out, "Batch", -batch_width);
  for (size_t c = 0; c < column_count(t); c++) {
    hl_text_char(out, ' ');
    hl_report_pad(out, t->columns[c].title, -t->columns[c].width);
  }
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++)
    if (is_known(t, &records->items[i])) show_row(t, &records->items[i], mixed, out);
  for (size_t i = 0; i < records->count; i++) {
    const char *reason = new_reason(t, records, i);
    if (!reason) continue;
    hl_text_append(out, "  - Not known: ");
    hl_text_wrap(out, reason, 15, 4, text_width);
    hl_text_char(out, '\n');
  }
}

void hl_report_details(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < HL_COUNT(tables); i++)
    if (is_shown(&tables[i], records)) show_table(&tables[i], records, out);
}

static void write_row(const table *t, const hl_record *r, bool mixed, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out, "| ");
  if (mixed) {
    hl_text name = HL_TEXT_INIT;
    hl__row_name(r, &name);
    hl_markdown_text(out, name.data);
    hl_text_append(out, " | ");
    hl_text_release(&name);
  }
  hl_text_format(out, "%s |", hl_report_int(r->batch_size, "—", text));
  for (size_t c = 0; c < column_count(t); c++)
    hl_text_format(out, " %s |", hl_report_number(value_of(r, &t->columns[c]), "—", text));
  hl_text_char(out, '\n');
}

static void write_table(const table *t, const hl_records *records, hl_text *out) {
  bool mixed = hl__rows_are_mixed(records);
  hl_text_format(out, "## %s\n\n%c%s.\n\n| %sBatch Size |", t->title,
                 toupper((unsigned char)t->about[0]), t->about + 1, mixed ? "Row | " : "");
  for (size_t c = 0; c < column_count(t); c++) hl_text_format(out, " %s |", t->columns[c].title);
  hl_text_format(out, "\n|%s", mixed ? "---|---:|" : "---:|");
  for (size_t c = 0; c < column_count(t); c++) hl_text_append(out, "---:|");
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++)
    if (is_known(t, &records->items[i])) write_row(t, &records->items[i], mixed, out);
  hl_text_char(out, '\n');
  for (size_t i = 0; i < records->count; i++) {
    const char *reason = new_reason(t, records, i);
    if (!reason) continue;
    hl_text_append(out, "Not known: ");
    hl_markdown_text(out, reason);
    hl_text_append(out, ".\n\n");
  }
}

void hl__markdown_details(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < HL_COUNT(tables); i++)
    if (is_shown(&tables[i], records)) write_table(&tables[i], records, out);
}
