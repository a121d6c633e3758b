/* Where memory goes, in words: by phase, by layer, over batch and model size. */
#include "report/memory-report.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hl__memory_titles[HL_MEMORY_KINDS] = {
    [HL_ALLOCATION_WEIGHT] = "weights",    [HL_ALLOCATION_OPTIMIZER] = "optim.",
    [HL_ALLOCATION_ACTIVATION] = "activ.", [HL_ALLOCATION_SAVED] = "kept",
    [HL_ALLOCATION_GRADIENT] = "grads",    [HL_ALLOCATION_ACTIVATION_GRADIENT] = "activ.g.",
    [HL_ALLOCATION_WORKSPACE] = "work",    [HL_ALLOCATION_INPUT_OUTPUT] = "outputs"};

const char *const hl__memory_names[HL_MEMORY_KINDS] = {
    [HL_ALLOCATION_WEIGHT] = "weights",
    [HL_ALLOCATION_OPTIMIZER] = "optimiser's state",
    [HL_ALLOCATION_ACTIVATION] = "activations",
    [HL_ALLOCATION_SAVED] = "kept for backward",
    [HL_ALLOCATION_GRADIENT] = "gradients",
    [HL_ALLOCATION_ACTIVATION_GRADIENT] = "activations' gradients",
    [HL_ALLOCATION_WORKSPACE] = "workspace",
    [HL_ALLOCATION_INPUT_OUTPUT] = "outputs"};

enum { NAME_WIDTH = 18 };

const char *hl__memory_mb(uint64_t bytes, char ret_text[HL_NUMBER_BYTES]) {
  if (bytes >= 100) return hl_report_number((double)bytes / 1e6, "-", ret_text);
  snprintf(ret_text, HL_NUMBER_BYTES, bytes ? "%.6f" : "0", (double)bytes / 1e6); /* to the byte */
  return ret_text;
}

bool hl__memory_is_told(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (hl_workload_is_memory(records->items[i].workload)) return true;
  return false;
}

void hl__memory_name(const hl_record *r, hl_text *out) {
  hl_text_format(out, "%s, %s, %s, batch %" PRId64 ", %s", r->model ? r->model : "?",
                 r->engine ? r->engine : "?", r->dtype ? r->dtype : "?", r->batch_size,
                 r->mode ? r->mode : "?");
}

void hl__memory_subject(const hl_records *records, const hl_record *r, bool family, hl_text *out) {
  bool engines = false, dtypes = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *other = &records->items[i];
    if (!hl_workload_is_memory(other->workload)) continue;
    engines |= !hl_text_same(other->engine, r->engine);
    dtypes |= !hl_text_same(other->dtype, r->dtype);
  }
  const char *model = r->model ? r->model : "?";
  hl_text_append_n(out, model, family ? strcspn(model, ":") : strlen(model));
  if (engines) hl_text_format(out, ", %s", r->engine ? r->engine : "?");
  if (dtypes) hl_text_format(out, ", %s", r->dtype ? r->dtype : "?");
}

static bool same_curve(const hl_record *a, const hl_record *b) {
  return hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         hl_text_same(a->mode, b->mode) && hl_text_same(a->engine, b->engine) &&
         hl_text_same(a->dtype, b->dtype) && hl_text_same(a->device_id, b->device_id) &&
         a->threads == b->threads;
}

static size_t *largest(const hl_records *records, bool mapped, size_t *ret_count) {
  size_t *rows = calloc(records->count + 1, sizeof *rows);
  size_t count = 0;
  for (size_t i = 0; rows && i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if ((r->memory_map != NULL) != mapped || !hl_record_passed(r)) continue;
    size_t at = 0;
    while (at < count && !same_curve(&records->items[rows[at]], r)) at++;
    if (at == count)
      rows[count++] = i;
    else if (records->items[rows[at]].batch_size < r->batch_size)
      rows[at] = i;
  }
  *ret_count = count;
  return rows;
}

size_t *hl__memory_largest(const hl_records *records, size_t *ret_count) {
  return largest(records, true, ret_count);
}

/* -- sentences --------------------------------------------------------------------------------- */

static void put(hl_text *out, double value) {
  char text[HL_NUMBER_BYTES];
  hl_text_append(out, hl_report_number(value, "-", text));
}

/* Of sums of decimal numbers that are on a line to the last digit. */
static const char *deviation(const hl_memory_growth *g, char text[HL_NUMBER_BYTES]) {
  return hl_report_percent(g->deviation < 1e-9 ? 0 : g->deviation * 100, text);
}

void hl__memory_growth_sentence(const hl_records *records, const hl_memory_growth *g, bool of_batch,
                                hl_text *out) {
  const hl_record *r = g->first;
  char text[HL_NUMBER_BYTES];
  hl__memory_subject(records, r, !of_batch, out);
  hl_text_format(out, ", %s, %s: ", r->mode ? r->mode : "?", hl_memory_measure_name(g->measure));
  put(out, g->line.a0);
  hl_text_format(out, " MB %c ", g->line.a1 < 0 ? '-' : '+');
  if (of_batch) {
    hl_text_format(out, "%s MB for each sample (%zu batches, %g to %g); ",
                   hl_report_number(fabs(g->line.a1), "-", text), g->count, g->low, g->high);
    hl_text_format(
        out, "the cost of one more sample is %s: ", g->constant ? "constant" : "not constant");
    put(out, g->step_low);
    hl_text_append(out, " to ");
    put(out, g->step_high);
    hl_text_append(out, " MB");
  } else {
    hl_text_format(out, "%s bytes for each parameter (batch %" PRId64 ", %zu models)",
                   hl_report_number(fabs(g->line.a1) * 1e6, "-", text), r->batch_size, g->count);
  }
  if (g->count < 3)
    hl_text_append(out, "; two points cannot show whether it is linear");
  else
    hl_text_format(out, "; %s: the farthest point lies %s from the line, R2 %.5f",
                   g->linear ? "linear" : "not linear", deviation(g, text), g->line.r_squared);
}

void hl__memory_pair_sentence(const hl_records *records, const hl_memory_pair *p, hl_text *out) {
  const hl_record *t = p->training, *i = p->inference;
  hl__memory_subject(records, t, false, out);
  hl_text_format(out, ", batch %" PRId64 ": training / inference = ", t->batch_size);
  put(out, p->planned);
  hl_text_append(out, " planned (");
  put(out, t->planned_memory_mb);
  hl_text_append(out, " / ");
  put(out, i->planned_memory_mb);
  hl_text_append(out, " MB), ");
  put(out, p->measured);
  hl_text_append(out, " measured (");
  put(out, t->memory_mb);
  hl_text_append(out, " / ");
  put(out, i->memory_mb);
  hl_text_append(out, " MB)");
}

/* -- growth and overhead as tables --------------------------------------------------------------
 */

static void pad(hl_text *out, double value, int width) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(value, "-", text), -width);
}

/* A name as long as it is, then the column. */
static void begin_line(hl_text *out, const char *name, int width) {
  hl_text_append(out, "  ");
  hl_report_pad(out, name, width);
}

static void append_pairs(const hl_records *records, const hl_memory_analysis *a, hl_text *out) {
  if (a->pair_count == 0) return;
  hl_text subject = HL_TEXT_INIT;
  int width = 22;
  for (size_t i = 0; i < a->pair_count; i++) {
    hl_text_clear(&subject);
    hl__memory_subject(records, a->pairs[i].training, false, &subject);
    int columns = (int)hl_report_columns(subject.data);
    if (columns > width) width = columns;
  }
  hl_text_char(out, '\n');
  hl_report_pad(out, "training / inference", width + 2);
  hl_text_append(out, " batch  planned        MB /       MB  measured        MB /       MB\n");
  for (size_t i = 0; i < a->pair_count; i++) {
    const hl_memory_pair *p = &a->pairs[i];
    char text[HL_NUMBER_BYTES];
    hl_text_clear(&subject);
    hl__memory_subject(records, p->training, false, &subject);
    begin_line(out, subject.data, width);
    hl_report_pad(out, hl_report_int(p->training->batch_size, "-", text), -6);
    pad(out, p->planned, 9);
    pad(out, p->training->planned_memory_mb, 10);
    hl_text_append(out, " /");
    pad(out, p->inference->planned_memory_mb, 9);
    pad(out, p->measured, 10);
    pad(out, p->training->memory_mb, 10);
    hl_text_append(out, " /");
    pad(out, p->inference->memory_mb, 9);
    hl_text_char(out, '\n');
  }
  hl_text_release(&subject);
}

static void append_growth(const hl_memory_growth *g, bool of_batch, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  begin_line(out, g->first->mode ? g->first->mode : "?", 11);
  hl_report_pad(out, hl_memory_measure_name(g->measure), 9);
  pad(out, g->line.a0, 9);
  pad(out, g->line.a1 * (of_batch ? 1 : 1e6), 11);
  if (of_batch) {
    pad(out, g->step_low, 11);
    hl_text_append(out, " to ");
    pad(out, g->step_high, 8);
    hl_report_pad(out, g->constant ? "constant" : "differs", -10);
  }
  if (g->count < 3) {
    hl_text_append(out, "  two points only\n");
    return;
  }
  hl_report_pad(out, deviation(g, text), -10);
  hl_text_format(out, "  %s\n", g->linear ? "linear" : "not linear");
}

static bool same_subject(const hl_record *a, const hl_record *b, bool family) {
  return (family ? hl_memory_same_family(a, b) : hl_text_same(a->model, b->model)) &&
         hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype);
}

static void append_growths(const hl_records *records, const hl_memory_analysis *a, hl_text *out) {
  for (size_t i = 0; i < a->growth_count; i++) {
    const hl_memory_growth *g = &a->growths[i];
    if (i == 0 || !same_subject(a->growths[i - 1].first, g->first, false)) {
      hl_text_char(out, '\n');
      hl__memory_subject(records, g->first, false, out);
      hl_text_format(out,
                     ", batch %g to %g\n                               MB   + MB each      "
                     "the next sample, MB            farthest\n",
                     g->low, g->high);
    }
    append_growth(g, true, out);
  }
  for (size_t i = 0; i < a->size_count; i++) {
    const hl_memory_growth *g = &a->sizes[i];
    if (i == 0 || !same_subject(a->sizes[i - 1].first, g->first, true)) {
      hl_text_char(out, '\n');
      hl__memory_subject(records, g->first, true, out);
      hl_text_format(out,
                     ", %zu sizes, batch %" PRId64
                     "\n                               MB   + B a parameter  farthest\n",
                     g->count, g->first->batch_size);
    }
    append_growth(g, false, out);
  }
}

/* -- tables ------------------------------------------------------------------------------------ */

/* Of inference some kinds do not exist. */
static bool is_shown(hl_allocation_kind kind, bool training) {
  bool only_training = kind == HL_ALLOCATION_OPTIMIZER || kind == HL_ALLOCATION_SAVED ||
                       kind == HL_ALLOCATION_GRADIENT || kind == HL_ALLOCATION_ACTIVATION_GRADIENT;
  return training || !only_training;
}

static void append_cells(hl_text *out, const uint64_t *kinds, uint64_t total, bool training) {
  char text[HL_NUMBER_BYTES];
  for (int k = 0; k < HL_MEMORY_KINDS; k++)
    if (is_shown((hl_allocation_kind)k, training)) {
      hl_report_pad(out, hl__memory_mb(kinds[k], text), -8);
      hl_text_char(out, ' ');
    }
  hl_report_pad(out, hl__memory_mb(total, text), -8);
  hl_text_char(out, '\n');
}

static void append_head(hl_text *out, const char *what, bool training) {
  hl_text_append(out, "  ");
  hl_report_pad(out, what, NAME_WIDTH);
  for (int k = 0; k < HL_MEMORY_KINDS; k++)
    if (is_shown((hl_allocation_kind)k, training)) {
      hl_report_pad(out, hl__memory_titles[k], -8);
      hl_text_char(out, ' ');
    }
  hl_report_pad(out, "MB", -8);
  hl_text_char(out, '\n');
}

/* "upsamples.1.conv_block.conv1" with 3 letters of each part but the last: "ups.1.con.conv1". */
static void shorten(const char *name, int letters, hl_text *out) {
  for (const char *part = name; *part;) {
    size_t length = strcspn(part, "."), kept = length;
    if (part[length] && kept > (size_t)letters) kept = (size_t)letters;
    while (kept < length && ((unsigned char)part[kept] & 0xc0) == 0x80) kept++;
    hl_text_append_n(out, part, kept);
    part += length;
    if (*part) hl_text_char(out, *part++);
  }
}

/* A name in its column. What is too long is shortened part by part, since both the beginnings and
 * the ends of layers' names are alike; what is then still too long loses its beginning. */
static void append_name(hl_text *out, const char *name) {
  enum { MOST = NAME_WIDTH - 1 };
  char text[4 * NAME_WIDTH];
  hl_text fitted = HL_TEXT_INIT;
  hl_text_append(&fitted, name);
  for (int letters = 8; letters > 0 && hl_report_columns(fitted.data) > MOST; letters--) {
    hl_text_clear(&fitted);
    shorten(name, letters, &fitted);
  }
  const char *from = fitted.data;
  if (hl_report_columns(from) > MOST) {
    from += fitted.length - (MOST - 1);
    while (((unsigned char)*from & 0xc0) == 0x80) from++;
  }
  snprintf(text, sizeof text, "%s%s", from == fitted.data ? "" : "…", from);
  hl_text_release(&fitted);
  hl_text_blank(text, "");
  hl_text_append(out, "  ");
  hl_report_pad(out, text, NAME_WIDTH);
}

static void append_phases(const hl_memory_sums *sums, bool training, hl_text *out) {
  append_head(out, "fullest step of", training);
  for (int p = 0; p < HL_PHASE_COUNT; p++)
    if (sums->has_phase[p]) {
      append_name(out, hl_phase_name((hl_phase)p));
      append_cells(out, sums->phase_kinds[p], sums->phase_peak[p], training);
    }
}

static void append_layers(const hl_memory_layer *layers, size_t count, size_t most, bool training,
                          hl_text *out) {
  hl_memory_layer rest = {0};
  char text[64];
  append_head(out, "layer, at the peak", training);
  for (size_t i = 0; i < count; i++) {
    if (i < most || count == most + 1) {
      append_name(out, layers[i].name[0] ? layers[i].name : "(no layer)");
      append_cells(out, layers[i].kinds, layers[i].bytes, training);
      continue;
    }
    for (int k = 0; k < HL_MEMORY_KINDS; k++) rest.kinds[k] += layers[i].kinds[k];
    rest.bytes += layers[i].bytes;
  }
  if (count <= most + 1) return;
  snprintf(text, sizeof text, "%zu more", count - most);
  append_name(out, text);
  append_cells(out, rest.kinds, rest.bytes, training);
}

static void append_difference(const hl_record *r, hl_text *out) {
  char number[HL_NUMBER_BYTES];
  if (!r->plan_difference) return;
  hl_text_format(out, "  resident %s MB, ", hl_report_number(r->resident_mb, "-", number));
  hl_text line = HL_TEXT_INIT;
  if (r->planned_memory_mb > 0)
    hl_text_format(&line, "planned %s", hl_report_number(r->planned_memory_mb, "-", number));
  else
    hl_text_append(&line, "not planned");
  hl_text_format(&line, ": %s", r->plan_difference);
  hl_text_wrap(out, line.data, 24, 4, 96);
  hl_text_char(out, '\n');
  hl_text_release(&line);
}

static void append_row(const hl_record *r, size_t most, hl_text *out) {
  hl_memory_sums sums;
  hl_memory_layer *layers = NULL;
  size_t count = 0;
  bool training = hl_text_same(r->mode, "training");
  hl_text_char(out, '\n');
  hl__memory_name(r, out);
  hl_text_append(out, "; 10^6 bytes\n");
  if (hl_memory_map_sum(r->memory_map, &sums, NULL) != HL_OK ||
      hl_memory_map_layers(r->memory_map, &sums, &layers, &count, NULL) != HL_OK) {
    hl_text_append(out, "  no memory to add it up\n");
    return;
  }
  append_phases(&sums, training, out);
  append_layers(layers, count, most, training, out);
  free(layers);
  append_difference(r, out);
}

/* Engines without a map: why, and what the memory of the largest batch consists of. */
static void append_unknown(const hl_records *records, hl_text *out) {
  size_t count = 0;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    bool told = i > 0 && hl_text_same(records->items[i - 1].memory_reason, r->memory_reason);
    if (!r->memory_reason || told) continue;
    hl_text_char(out, '\n');
    hl_text_wrap(out, r->memory_reason, 0, 2, 96);
    hl_text_char(out, '\n');
  }
  HL_CLEANUP(hl_free_pointer) size_t *rows = largest(records, false, &count);
  for (size_t i = 0; rows && i < count; i++) {
    const hl_record *r = &records->items[rows[i]];
    if (!r->plan_difference) continue;
    if (i == 0) hl_text_char(out, '\n');
    hl__memory_name(r, out);
    hl_text_char(out, '\n');
    append_difference(r, out);
  }
}

void hl_report_memory_map(const hl_records *records, size_t layers, hl_text *out) {
  hl_memory_analysis a;
  if (!hl__memory_is_told(records)) return;
  size_t count = 0;
  HL_CLEANUP(hl_free_pointer) size_t *rows = hl__memory_largest(records, &count);
  if (!rows || hl_memory_analyse(records, &a, NULL) != HL_OK) {
    hl_text_append(out, "\nno memory for the tables by layer\n");
    return;
  }
  for (size_t i = 0; i < count; i++) append_row(&records->items[rows[i]], layers, out);
  append_unknown(records, out);
  append_pairs(records, &a, out);
  append_growths(records, &a, out);
  hl_memory_analysis_release(&a);
}
