#include "formats/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hl_csv_suite_columns[HL_CSV_SUITE_COUNT] = {
    "timestamp",
    "framework",
    "model",
    "device",
    "device_type",
    "batch_size",
    "input_shape",
    "dtype",
    "warmup_iterations",
    "measurement_iterations",
    "latency_p50_ms",
    "latency_p95_ms",
    "latency_p99_ms",
    "latency_mean_ms",
    "latency_std_ms",
    "latency_min_ms",
    "latency_max_ms",
    "throughput_ips",
    "memory_mb",
    "compilation_time_ms",
    "git_commit",
    "notes",
};

void hl_csv_cell(hl_text *out, const char *text) {
  if (!text) return;
  if (!strpbrk(text, ",\"\r\n")) {
    hl_text_append(out, text);
    return;
  }
  hl_text_char(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"') hl_text_char(out, '"');
    hl_text_char(out, *c);
  }
  hl_text_char(out, '"');
}

static bool in_suite(const char *key) {
  for (size_t i = 0; i < HL_CSV_SUITE_COUNT; i++)
    if (strcmp(hl_csv_suite_columns[i], key) == 0) return true;
  return false;
}

/* The metrics of the columns, in order; free() the list. NULL without memory, and no columns. */
static const hl_metric **find_columns(hl_csv_columns columns, size_t *ret_count) {
  const hl_metric **found = calloc(HL_CSV_SUITE_COUNT + hl_metric_count, sizeof *found);
  size_t count = 0;
  for (size_t i = 0; found && i < HL_CSV_SUITE_COUNT; i++)
    found[count++] = hl_metric_find(hl_csv_suite_columns[i]);
  for (size_t i = 0; found && columns != HL_CSV_SUITE && i < hl_metric_count; i++)
    if (!in_suite(hl_metrics[i].key)) found[count++] = &hl_metrics[i];
  *ret_count = count;
  return found;
}

/* The different names of the users' own metrics, in the order in which rows have them; the texts
 * are the rows'. free() the list. */
static const char **custom_names(const hl_records *records, size_t *ret_count) {
  const char **names = NULL;
  size_t count = 0;
  for (size_t r = 0; r < records->count; r++)
    for (size_t i = 0; i < records->items[r].customs.count; i++) {
      const char *name = records->items[r].customs.items[i].name;
      bool known = !name;
      for (size_t k = 0; k < count && !known; k++) known = strcmp(names[k], name) == 0;
      const char **more = known ? NULL : realloc(names, (count + 1) * sizeof *names);
      if (more) {
        names = more;
        names[count++] = name;
      }
    }
  *ret_count = count;
  return names;
}

static void put_custom(const hl_record *record, const char *name, hl_text *out) {
  const hl_custom *custom = hl_customs_find(&record->customs, name);
  char number[32];
  if (!custom || isnan(custom->value)) return;
  hl_json_format_real(custom->value, number);
  hl_text_append(out, number);
}

/* "8x3x224x224" as 594Project's tuple of one input, "(3, 224, 224)"; of several inputs, which it
 * knows none of, as it is. */
static void put_tuple(const hl_record *r, hl_text *out) {
  const char *shape = r->input_shape;
  if (!shape) return;
  const char *at = strchr(shape, 'x');
  if (strspn(shape, "0123456789x") != strlen(shape) || !shape[0]) {
    hl_text_append(out, shape);
    return;
  }
  hl_text_char(out, '(');
  size_t count = 0;
  for (; at; at = strchr(at, 'x'), count++) {
    at++;
    hl_text_format(out, "%s%.*s", count ? ", " : "", (int)strcspn(at, "x"), at);
  }
  hl_text_append(out, count == 1 ? ",)" : ")");
}

/* A cell of the suite's own file, where it is another than ours. */
static bool put_suite_cell(const hl_record *r, const hl_metric *metric, hl_text *out) {
  if (strcmp(metric->key, "input_shape") == 0) {
    put_tuple(r, out);
    return true;
  }
  /* An identifier: two devices may have one name. */
  if (strcmp(metric->key, "device") != 0 || !r->device_id) return false;
  hl_text_append(out, r->device_id);
  return true;
}

void hl_csv_write(const hl_records *records, hl_csv_columns columns, hl_text *out) {
  hl_text cell = HL_TEXT_INIT;
  size_t column_count = 0;
  const hl_metric **metrics = find_columns(columns, &column_count);
  if (!metrics) {
    out->failed = true;
    return;
  }
  for (size_t c = 0; c < column_count; c++)
    hl_text_format(out, "%s%s", c ? "," : "", metrics[c]->key);
  size_t custom_count = 0;
  const char **customs = columns == HL_CSV_ALL ? custom_names(records, &custom_count) : NULL;
  for (size_t c = 0; c < custom_count; c++) {
    hl_text_char(out, ',');
    hl_csv_cell(out, customs[c]);
  }
  hl_text_char(out, '\n');
  for (size_t r = 0; r < records->count; r++) {
    for (size_t c = 0; c < column_count; c++) {
      const hl_metric *metric = metrics[c];
      if (c) hl_text_char(out, ',');
      hl_text_clear(&cell);
      if (columns != HL_CSV_SUITE || !put_suite_cell(&records->items[r], metric, &cell))
        hl_record_field_text(&records->items[r], metric, &cell);
      hl_csv_cell(out, cell.data);
    }
    for (size_t c = 0; c < custom_count; c++) {
      hl_text_char(out, ',');
      put_custom(&records->items[r], customs[c], out);
    }
    hl_text_char(out, '\n');
  }
  free(customs);
  free(metrics);
  out->failed = out->failed || cell.failed;
  hl_text_release(&cell);
}
