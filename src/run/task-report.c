#include "run/task-report.h"

#include "base/file.h"
#include "protocol/channel.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { module_files = 256, module_bytes = 1 << 20, remarks_most = 8 };

static const char not_told[] = "the entry did not report it (HOTLAP_METRICS)";

static hl_status load(const char *path, const char *what, json_t **ret_root, hl_error *error) {
  hl_mapping file;
  hl_status status = hl_file_map(path, HL_TASK_REPORT_BYTES, &file, error);
  if (status != HL_OK) return status;
  json_error_t where;
  json_t *root = json_loadb((const char *)file.data, file.bytes, 0, &where);
  hl_file_unmap(&file);
  if (!json_is_object(root)) {
    json_decref(root);
    return hl_error_set(error, HL_BAD_DATA, "%s is no JSON object: %s, line %d", what,
                        root ? "another value" : where.text, root ? 1 : where.line);
  }
  *ret_root = root;
  return HL_OK;
}

/* -- a user's own entry ----------------------------------------------------------------------- */

typedef struct report {
  hl_task *task;
  int remarks; /* so far */
} report;

/* What is wrong with a member: the first of many. */
static void remark(report *r, const char *what, const char *path) {
  if (r->remarks++ < remarks_most)
    hl_task_note(r->task, "the entry reports %.100s, %s", path, what);
  else if (r->remarks == remarks_most + 1)
    hl_task_note(r->task, "and more of that kind");
}

static void take_number(report *r, hl_task_id id, const char *path, const json_t *value) {
  double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
  if (json_is_null(value)) return;
  if (strcmp(hl_task_metrics[id].name, "process") == 0)
    remark(r, "which hotlap measures itself", path);
  else if (!isfinite(number) || number < 0)
    remark(r, "which is no number from 0", path);
  else
    hl_task_set(r->task, id, number);
}

/* Walks through the objects of a report; the leaves are numbers. */
static void take_members(report *r, json_t *object, const char *above, int depth) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    hl_task_id id;
    HL_CLEANUP(hl_free_pointer)
    char *path = hl_format("%s%s%s", above, above[0] ? "." : "", key);
    if (!path) return;
    if (!above[0] && (strcmp(key, "results") == 0 || strcmp(key, "final_metrics") == 0)) continue;
    if (json_is_object(value) && depth < 4)
      take_members(r, value, path, depth + 1);
    else if (hl_task_find(r->task->training, path, &id))
      take_number(r, id, path, value);
    else
      remark(r, "which is no metric of this kind of task", path);
  }
}

static void take_results(report *r, json_t *object) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    hl_error why = {0};
    if (!isfinite(number))
      remark(r, "a result that is no number", key);
    else if (hl_task_add_result(r->task, key, number, &why) != HL_OK)
      remark(r, "one result too many", key);
  }
}

hl_status hl_task_report_entry(const char *path, hl_task *task, hl_error *error) {
  json_t *root = NULL;
  hl_status status = load(path, "what the entry wrote to HOTLAP_METRICS", &root, error);
  if (status == HL_OK) {
    json_t *metrics = json_object_get(root, "metrics");
    json_t *in = json_is_object(metrics) ? metrics : root;
    report r = {.task = task};
    take_members(&r, in, "", 0);
    static const char *const results[] = {"results", "final_metrics"};
    for (size_t i = 0; i < HL_COUNT(results); i++) {
      take_results(&r, json_object_get(root, results[i]));
      if (in != root) take_results(&r, json_object_get(in, results[i]));
    }
    json_decref(root);
  }
  for (int i = 0; i < HL_TASK_METRICS; i++)
    if (hl_task_has(task->training, (hl_task_id)i)) hl_task_explain(task, (hl_task_id)i, not_told);
  return status;
}

/* -- hotlap's own ----------------------------------------------------------------------------- */

/* A member of a row, scaled; its reason where it is null. */
static void take(hl_task *task, hl_task_id id, const json_t *object, const char *key, double scale,
                 const char *otherwise) {
  double value = hl_json_get_real(object, key, (double)NAN);
  if (isnan(value))
    hl_task_explain(task, id, otherwise);
  else
    hl_task_set(task, id, value * scale);
}

static const char no_clock[] = "the engine keeps no clock of its own for it";

static void take_training(hl_task *t, const json_t *row) {
  take(t, HL_TASK_TOTAL_TRAINING, row, "total_time_ms", 1e-3, "the run has not ended");
  take(t, HL_TASK_TRAINING_MODEL, row, "model_initialization_ms", 1e-3, "not measured");
  take(t, HL_TASK_TRAINING_DATA, row, "data_setup_ms", 1e-3, "not measured");
  take(t, HL_TASK_FULL_TRAINING, row, "training_ms", 1e-3, "not measured");
  take(t, HL_TASK_FIRST_EPOCH, row, "first_epoch_ms", 1e-3, "no epoch was trained");
  take(t, HL_TASK_FIRST_LOADING, row, "data_load_first_ms", 1e-3, "not measured");
  take(t, HL_TASK_FIRST_FORWARD, row, "forward_first_ms", 1e-3, no_clock);
  take(t, HL_TASK_TRAINING_BATCHES, row, "batches_per_epoch", 1, "not known");
  take(t, HL_TASK_TRAINING_BATCH, row, "batch_size", 1, "not known");
  double loss = hl_json_get_real(row, "final_loss", (double)NAN);
  if (!isnan(loss)) hl_task_add_result(t, "loss", loss, NULL);
}

static void take_inference(hl_task *t, const json_t *row) {
  static const char whole[] = "a sweep times whole steps; an entry of im2im/... predicts in parts";
  double steps = hl_json_get_real(row, "measurement_iterations", (double)NAN);
  take(t, HL_TASK_CHECKPOINT_LOADING, row, "load_ms", 1e-3, "not measured");
  take(t, HL_TASK_INFERENCE_MODEL, row, "prepare_ms", 1e-3, "not measured");
  hl_task_explain(t, HL_TASK_BATCH_LOADING, whole);
  hl_task_explain(t, HL_TASK_BATCH_TRANSFER, whole);
  take(t, HL_TASK_BATCH_FORWARD, row, "first_call_ms", 1e-3, "not measured");
  hl_task_explain(t, HL_TASK_BATCH_POST, whole);
  take(t, HL_TASK_FULL_PREDICTION, row, "measured_ms", 1e-3, "not measured");
  if (!isnan(steps)) hl_task_set(t, HL_TASK_INFERENCE_BATCHES, steps);
  take(t, HL_TASK_INFERENCE_BATCH, row, "batch_size", 1, "not known");
  take(t, HL_TASK_BATCH_TIME, row, "latency_mean_ms", 1e-3, "not measured");
  take(t, HL_TASK_THROUGHPUT, row, "throughput_ips", 1, "not measured");
}

/* Of the device where there is a number of it, else of the worker. */
static void take_memory(hl_task *t, const json_t *row) {
  hl_task_id id = t->training ? HL_TASK_TRAINING_MEMORY : HL_TASK_INFERENCE_MEMORY;
  double device = hl_json_get_real(row, "device_memory_peak_mb", (double)NAN);
  double host = hl_json_get_real(row, "memory_mb", (double)NAN) +
                hl_json_get_real(row, "baseline_memory_mb", (double)NAN);
  if (!isnan(device) || !isnan(host)) hl_task_set(t, id, isnan(device) ? host : device);
  hl_task_explain(t, id, "not measured");
}

static void take_outcome(hl_task *t, const json_t *row) {
  hl_outcome outcome = HL_FAILED;
  const char *name = hl_json_get_text(row, "outcome", "");
  if (!hl_outcome_from_name(name, &outcome)) outcome = HL_FAILED;
  if (outcome != HL_PASSED)
    hl_task_fail(t, outcome, "%s", hl_json_get_text(row, "reason", "no reason is known"));
  const char *notes = hl_json_get_text(row, "notes", "");
  if (notes[0]) hl_task_note(t, "%s", notes);
}

hl_status hl_task_report_row(const char *path, hl_task *t, hl_error *error) {
  json_t *root = NULL;
  hl_status status = load(path, "the result", &root, error);
  if (status != HL_OK) return status;
  const json_t *rows = json_object_get(root, "rows");
  size_t count = json_array_size(rows);
  const json_t *row = json_array_get(rows, 0);
  if (count != 1) {
    status =
        hl_error_set(error, HL_BAD_DATA,
                     "the experiment has %zu rows of %s where a task is one; overrides such as "
                     "ENTRY.model=... or engine=... narrow it",
                     count, t->training ? "training" : "inference");
  } else {
    (t->training ? take_training : take_inference)(t, row);
    take_memory(t, row);
    take_outcome(t, row);
  }
  json_decref(root);
  return status;
}

hl_status hl_task_report_prediction(const char *path, hl_task *t, hl_error *error) {
  json_t *root = NULL;
  hl_status status = load(path, "the result", &root, error);
  if (status != HL_OK) return status;
  const json_t *first = json_object_get(root, "first_batch");
  double configure = hl_json_get_real(root, "configure_s", 0);
  double total = hl_json_get_real(root, "total_s", (double)NAN);
  take(t, HL_TASK_CHECKPOINT_LOADING, root, "load_s", 1, "not measured");
  take(t, HL_TASK_INFERENCE_MODEL, root, "prepare_s", 1, "not measured");
  take(t, HL_TASK_BATCH_LOADING, first, "gather_s", 1, "not measured");
  take(t, HL_TASK_BATCH_TRANSFER, first, "transfer_s", 1, "not measured");
  take(t, HL_TASK_BATCH_FORWARD, first, "forward_s", 1, "not measured");
  take(t, HL_TASK_BATCH_POST, first, "stitch_s", 1, "not measured");
  take(t, HL_TASK_FULL_PREDICTION, root, "total_s", 1, "not measured");
  double setup = configure + hl_json_get_real(root, "load_s", (double)NAN) +
                 hl_json_get_real(root, "prepare_s", (double)NAN);
  if (!isnan(setup + total)) hl_task_set(t, HL_TASK_TOTAL_INFERENCE, setup + total);
  take(t, HL_TASK_INFERENCE_BATCHES, root, "batches", 1, "not known");
  take(t, HL_TASK_INFERENCE_BATCH, root, "batch_size", 1, "not known");
  take(t, HL_TASK_BATCH_TIME, root, "mean_batch_s", 1, "not measured");
  take(t, HL_TASK_THROUGHPUT, root, "windows_per_second", 1, "not measured");
  take(t, HL_TASK_INFERENCE_MEMORY, root, "peak_memory_mb", 1, "not measured");
  static const char *const results[] = {"dice", "correlation", "mse"};
  for (size_t i = 0; i < HL_COUNT(results); i++) {
    double value = hl_json_get_real(root, results[i], (double)NAN);
    if (!isnan(value)) hl_task_add_result(t, results[i], value, NULL);
  }
  if (!hl_json_get_bool(root, "success", false))
    hl_task_fail(t, HL_FAILED, "%s", hl_json_get_text(root, "reason", "no reason is known"));
  json_decref(root);
  return HL_OK;
}

/* -- modules ---------------------------------------------------------------------------------- */

static void take_modules(const json_t *root, int64_t *own, char **foreign) {
  int64_t here = hl_json_get_int(root, "own", 0);
  if (*own < 0) *own = 0;
  if (here > 0 && here < INT32_MAX) *own += here;
  const json_t *first = json_array_get(json_object_get(root, "foreign"), 0);
  const char *name = json_string_value(json_array_get(first, 0));
  const char *file = json_string_value(json_array_get(first, 1));
  const char *wanted = json_string_value(json_array_get(first, 2));
  if (name && file && wanted && !*foreign)
    *foreign = hl_format("%.100s was imported from %.300s, not from the commit's %.300s", name,
                         file, wanted);
}

void hl_task_report_modules(const char *folder, int64_t *ret_own, char **ret_foreign) {
  *ret_own = HL_INT_NULL;
  *ret_foreign = NULL;
  DIR *open = opendir(folder);
  size_t count = 0;
  for (const struct dirent *entry; open && count < module_files && (entry = readdir(open));) {
    if (entry->d_name[0] == '.') continue;
    HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", folder, entry->d_name);
    hl_mapping file;
    count++;
    if (!path || hl_file_map(path, module_bytes, &file, NULL) != HL_OK) continue;
    json_t *root = json_loadb((const char *)file.data, file.bytes, 0, NULL);
    hl_file_unmap(&file);
    if (json_is_object(root)) take_modules(root, ret_own, ret_foreign);
    json_decref(root);
  }
  if (open) closedir(open);
}
