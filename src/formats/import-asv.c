/*
 * asv: RESULTS/MACHINE/COMMIT-ENVIRONMENT.json, one commit's results.
 *
 * `results` maps a benchmark to a list of columns, named by `result_columns`; each has one value
 * for each combination of the benchmark's parameters, the last parameter running fastest. Only
 * benchmarks of time have seconds, and only their names (time_..., timeraw_...) say so.
 */
#include "formats/import-internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is read from the columns of a benchmark. */
typedef struct columns {
  const json_t *result, *params, *started, *number, *samples;
  const json_t *interval_low, *interval_high;
} columns;

static const json_t *column(const json_t *root, const json_t *row, const char *name) {
  const json_t *names = json_object_get(root, "result_columns");
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *text = json_string_value(json_array_get(names, i));
    if (text && strcmp(text, name) == 0) return json_array_get(row, i); /* NULL past its end */
  }
  return NULL;
}

static columns columns_of(const json_t *root, const json_t *row) {
  return (columns){.result = column(root, row, "result"),
                   .params = column(root, row, "params"),
                   .started = column(root, row, "started_at"),
                   .number = column(root, row, "stats_number"),
                   .samples = column(root, row, "samples"),
                   .interval_low = column(root, row, "stats_ci_99_a"),
                   .interval_high = column(root, row, "stats_ci_99_b")};
}

/* As asv itself tells: the last part of the name begins with the kind. */
static bool is_time(const char *name) {
  const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
  return strncmp(last, "time_", 5) == 0 || strncmp(last, "timeraw_", 8) == 0 ||
         (strncmp(last, "Time", 4) == 0 && last[4] &&
          strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", last[4]));
}

/* "suite.time_sum(100, 'a')": the values of combination `index`. */
static bool append_params(const json_t *params, size_t index, hl_text *out) {
  size_t kinds = json_array_size(params);
  size_t each = 1;
  for (size_t i = 0; i < kinds; i++) {
    size_t values = json_array_size(json_array_get(params, i));
    if (!values || each > HL_IMPORT_MAX_ROWS / values) return false;
    each *= values;
  }
  if (index >= each) return false;
  for (size_t i = 0; i < kinds; i++) {
    const json_t *values = json_array_get(params, i);
    each /= json_array_size(values);
    const char *text = json_string_value(json_array_get(values, index / each));
    if (!text) return false;
    hl_text_format(out, "%s%s", i ? ", " : "(", text);
    index %= each;
  }
  if (kinds) hl_text_char(out, ')');
  return true;
}

static double number_at(const json_t *list, size_t index) {
  const json_t *item = json_is_array(list) ? json_array_get(list, index) : NULL;
  return json_is_number(item) ? json_number_value(item) : (double)NAN;
}

/* Samples are means of `number` calls. */
static hl_status samples_of(hl_importer *importer, const columns *c, size_t index,
                            hl_import_samples *ret_samples, hl_error *error) {
  double number = number_at(c->number, index);
  bool grouped = number >= 1 && number <= HL_IMPORT_MAX_STEPS && number == floor(number);
  const json_t *list = json_is_array(c->samples) ? json_array_get(c->samples, index) : NULL;
  json_t *member = json_object();
  if (!member || (list && json_object_set(member, "samples", (json_t *)(uintptr_t)list) != 0)) {
    json_decref(member);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  }
  double unit_ns = grouped ? 1e9 * number : 1e9;
  hl_status status = hl__import_durations(importer, member, "samples", unit_ns, ret_samples, error);
  json_decref(member);
  if (grouped) ret_samples->steps = (uint32_t)number;
  return status;
}

/* Without samples: asv's median and its 99 % interval, which is not the 95 % of ours. */
static hl_status median_of(hl_importer *importer, const columns *c, size_t index, hl_record *record,
                           hl_error *error) {
  double seconds = number_at(c->result, index);
  double low = number_at(c->interval_low, index), high = number_at(c->interval_high, index);
  if (!(seconds >= 0 && seconds <= 1e9))
    return hl__import_wrong(importer, "result", error, "a time of %g s", seconds);
  record->latency_p50_ms = seconds * 1e3;
  hl_record_note(record, "no samples: the median is asv's; asv run --record-samples keeps them");
  if (isfinite(low) && isfinite(high))
    hl_record_note(record, "asv's 99 %% interval of it [%.6g, %.6g] ms", low * 1e3, high * 1e3);
  return HL_OK;
}

static hl_status fill(hl_importer *importer, const char *name, const columns *c, size_t index,
                      hl_import_row *row, hl_error *error) {
  hl_text full = HL_TEXT_INIT;
  hl_text_append(&full, name);
  bool named = append_params(c->params, index, &full);
  if (named) hl__import_row_name(row, full.data);
  hl_text_release(&full);
  if (!named)
    return hl__import_wrong(importer, "params", error,
                            "they do not name the %zu. result of the benchmark", index + 1);
  hl_status status = samples_of(importer, c, index, &row->samples, error);
  if (status == HL_OK && !row->samples.count)
    status = median_of(importer, c, index, &row->record, error);
  return status;
}

static hl_status add_benchmark(hl_importer *importer, const json_t *root, const char *name,
                               const json_t *columns_list, hl_error *error) {
  columns c = columns_of(root, columns_list);
  const char *commit = json_string_value(json_object_get(root, "commit_hash"));
  char started[32] = "";
  if (json_is_number(c.started) && hl__import_time_ms(json_number_value(c.started), started)) {
    hl_run_info *info = &importer->import->info;
    if (!info->created || strcmp(started, info->created) < 0)
      hl_record_set_text(&info->created, started);
  }
  hl_status status = HL_OK;
  if (c.result && !json_is_null(c.result) && !json_is_array(c.result))
    return hl__import_wrong(importer, "result", error, "expected a list");
  if (!json_is_array(c.result)) hl__import_lose(importer, "benchmarks that failed", 1);
  for (size_t i = 0; i < json_array_size(c.result) && status == HL_OK; i++) {
    if (isnan(number_at(c.result, i))) {
      hl__import_lose(importer, "parameters without a result (failed, or skipped)", 1);
      continue;
    }
    hl_import_row row;
    hl__import_row_init(&row);
    hl_record_set_text(&row.record.git_commit, commit);
    if (started[0]) hl_record_set_text(&row.record.timestamp, started);
    status = fill(importer, name, &c, i, &row, error);
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
  }
  return status;
}

static hl_status read_machine(hl_importer *importer, const json_t *root, hl_error *error) {
  hl_run_info *info = &importer->import->info;
  const json_t *params = json_object_get(root, "params");
  const char *machine, *cpu, *os, *environment;
  hl__import_place(importer, "params");
  hl_status status = hl__import_text(importer, params, "machine", &machine, error);
  if (status == HL_OK) status = hl__import_text(importer, params, "cpu", &cpu, error);
  if (status == HL_OK) status = hl__import_text(importer, params, "os", &os, error);
  if (status == HL_OK) status = hl__import_int(importer, params, "num_cpu", &info->cores, error);
  if (status == HL_OK) status = hl__import_int(importer, params, "ram", &info->memory_bytes, error);
  hl__import_place(importer, "%s", "");
  if (status == HL_OK) status = hl__import_text(importer, root, "env_name", &environment, error);
  if (status != HL_OK) return status;
  hl__import_machine(importer, (const char *const[]){machine, cpu}, 2);
  HL_CLEANUP(hl_free_pointer) char *clean = os ? hl__import_clean(os) : NULL;
  hl_record_set_text(&info->os, clean);
  return HL_OK;
}

hl_status hl__import_asv(hl_importer *importer, const json_t *root, hl_error *error) {
  const json_t *results = json_object_get(root, "results");
  const char *name;
  json_t *row;
  if (!json_is_object(results) || !json_is_array(json_object_get(root, "result_columns")))
    return hl__import_wrong(importer, "result_columns", error,
                            "results without it are of an asv before 0.5");
  hl_status status = read_machine(importer, root, error);
  if (status != HL_OK) return status;
  json_object_foreach((json_t *)(uintptr_t)results, name, row) {
    hl__import_place(importer, "results.%.150s", name);
    if (!json_is_array(row)) return hl__import_wrong(importer, NULL, error, "expected a list");
    if (!is_time(name)) {
      hl__import_lose(importer, "benchmarks of memory or of a tracked number", 1);
      continue;
    }
    status = add_benchmark(importer, root, name, row, error);
    if (status != HL_OK) return status;
  }
  char utc[32];
  double date = json_number_value(json_object_get(root, "date"));
  if (!importer->import->info.created && hl__import_time_ms(date, utc))
    hl_record_set_text(&importer->import->info.created, utc); /* the commit's */
  return HL_OK;
}
