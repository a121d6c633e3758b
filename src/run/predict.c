#include "run/predict.h"

#include "base/clock.h"
#include "machine/memory.h"
#include "protocol/messages.h"
#include "run/process.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double nan_s = (double)NAN;

const char *hl_predict_part_name(hl_predict_part part) {
  static const char *const names[HL_PREDICT_PARTS] = {"read",   "gather", "transfer", "forward",
                                                      "stitch", "post",   "write",    "prepare"};
  return names[part];
}

void hl_predict_result_release(hl_predict_result *result) {
  for (size_t i = 0; i < result->count; i++) {
    free(result->volumes[i].name);
    free(result->volumes[i].file);
  }
  free(result->volumes);
  free(result->data);
  free(result->engine);
  *result = (hl_predict_result){0};
}

/* Nanoseconds of a reply in seconds; NaN where they are absent. */
static double seconds(const json_t *reply, const char *prefix, const char *name) {
  char key[40];
  snprintf(key, sizeof key, "%s%s_ns", prefix, name);
  int64_t ns = hl_json_get_int(reply, key, -1);
  return ns < 0 ? nan_s : (double)ns / 1e9;
}

static hl_status add_volume(hl_predict_result *r, const json_t *reply, hl_error *error) {
  hl_predict_volume *grown = realloc(r->volumes, (r->count + 1) * sizeof *grown);
  if (!grown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for results");
  r->volumes = grown;
  hl_predict_volume *v = &r->volumes[r->count];
  *v = (hl_predict_volume){.name = hl_strdup(hl_json_get_text(reply, "name", "")),
                           .file = hl_strdup(hl_json_get_text(reply, "file", NULL)),
                           .depth = hl_json_get_int(reply, "depth", 0),
                           .height = hl_json_get_int(reply, "height", 0),
                           .width = hl_json_get_int(reply, "width", 0),
                           .windows = hl_json_get_int(reply, "windows", 0),
                           .batches = hl_json_get_int(reply, "batches", 0),
                           .total_s = seconds(reply, "", "total"),
                           .dice = hl_json_get_real(reply, "dice", nan_s),
                           .correlation = hl_json_get_real(reply, "correlation", nan_s),
                           .mse = hl_json_get_real(reply, "mse", nan_s)};
  for (int i = 0; i < HL_PREDICT_PARTS; i++) {
    const char *name = hl_predict_part_name((hl_predict_part)i);
    v->part_s[i] = seconds(reply, "", name);
    if (r->count == 0) r->first_s[i] = seconds(reply, "first_", name);
  }
  r->count++;
  return v->name ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for results");
}

static json_t *volumes_message(const hl_predict_request *q) {
  json_t *members = json_object();
  if (!members) return NULL;
  hl_json_set_text(members, "data", q->data);
  hl_json_set_text(members, "task", q->task);
  hl_json_set_text(members, "recipe", q->recipe);
  hl_json_set_text(members, "folder", q->folder);
  hl_json_set_real(members, "overlap", q->overlap);
  hl_json_set_bool(members, "gaussian", q->gaussian);
  hl_json_set_bool(members, "compare", q->compare);
  hl_json_set_int(members, "n_images", (uint64_t)q->n_images);
  hl_json_set_int(members, "seed", (uint64_t)q->configuration->seed);
  return members;
}

static hl_status no_message(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
}

/* With the volumes, which may not have windows for a whole batch. */
static hl_status configure(hl_process *process, const hl_run_environment *environment,
                           const hl_predict_request *q, hl_predict_result *r, hl_error *error) {
  hl_message reply = {0};
  uint64_t start = hl_clock_ns();
  json_t *members = hl_message_from_configuration(q->configuration, environment->cache_directory);
  if (!members || json_object_set_new(members, "volumes", volumes_message(q)) != 0) {
    json_decref(members);
    return no_message(error);
  }
  hl_status status = hl_process_call(process, "configure", members, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  r->configure_s = (double)(hl_clock_ns() - start) / 1e9;
  r->engine = hl_strdup(hl_json_get_text(reply.object, "engine_version", ""));
  r->batch_size = hl_json_get_int(reply.object, "batch_size", q->configuration->batch_size);
  hl_message_release(&reply);
  return HL_OK;
}

/* Before the engine asks for what the machine does not have. */
static hl_status check_plan(hl_process *process, const hl_predict_request *q,
                            const hl_predict_result *r, hl_error *error) {
  hl_message reply = {0};
  hl_status status = hl_process_call(process, "plan", NULL, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  double need = hl_json_get_real(reply.object, "weight_bytes", 0) +
                hl_json_get_real(reply.object, "arena_bytes", 0) +
                hl_json_get_real(reply.object, "io_bytes", 0);
  hl_message_release(&reply);
  uint64_t available = hl_memory_available(NULL);
  if (available == UINT64_MAX || need <= (double)available) return HL_OK;
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      "a call with %" PRId64 " windows needs %.0f MB and %.0f MB may be used; give "
                      "a smaller --batch-size",
                      r->batch_size, need / 1e6, (double)available / 1e6);
}

/* Until the network is ready. */
static hl_status begin(hl_process *process, const hl_run_environment *environment,
                       const hl_predict_request *q, hl_predict_result *r, hl_error *error) {
  hl_message reply = {0};
  hl_status status = configure(process, environment, q, r, error);
  if (status != HL_OK) return status;
  status = hl_process_call(process, "load", NULL, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  r->load_s = seconds(reply.object, "", "load");
  hl_message_release(&reply);
  status = check_plan(process, q, r, error);
  if (status != HL_OK) return status;
  status = hl_process_call(process, "prepare", NULL, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  r->prepare_s = seconds(reply.object, "", "prepare");
  hl_message_release(&reply);
  return HL_OK;
}

static hl_status open_volumes(hl_process *process, const hl_predict_request *q,
                              hl_predict_result *r, hl_error *error) {
  json_t *members = volumes_message(q);
  if (!members) return no_message(error);
  hl_message reply = {0};
  hl_status status = hl_process_call(process, "volumes", members, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  r->volume_count = hl_json_get_int(reply.object, "volumes", 0);
  r->data = hl_strdup(hl_json_get_text(reply.object, "data", ""));
  hl_message_release(&reply);
  return HL_OK;
}

static hl_status predict_all(hl_process *process, const hl_predict_request *q,
                             const hl_predict_view *view, hl_predict_result *r, hl_error *error) {
  hl_status status = HL_OK;
  for (int64_t i = 0; i < r->volume_count && status == HL_OK; i++) {
    json_t *members = json_object();
    hl_message reply = {0};
    if (!members) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
    hl_json_set_int(members, "index", (uint64_t)i);
    status = hl_process_call(process, "predict", members, q->volume_s, &reply, error);
    if (status == HL_OK) status = add_volume(r, reply.object, error);
    hl_message_release(&reply);
    if (status == HL_OK) r->total_s += r->volumes[r->count - 1].total_s;
    if (status == HL_OK && view->volume) view->volume(view->context, r);
  }
  return status;
}

static hl_status read_memory(hl_process *process, const hl_predict_request *q, hl_predict_result *r,
                             hl_error *error) {
  hl_message reply = {0};
  hl_status status = hl_process_call(process, "memory", NULL, q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  double peak = (double)hl_json_get_int(reply.object, "peak_bytes", 0);
  double base = (double)hl_json_get_int(reply.object, "baseline_bytes", 0);
  int64_t device = hl_json_get_int(reply.object, "device_peak_bytes", -1);
  r->peak_mb = peak / 1e6;
  r->memory_mb = fmax(peak - base, 0) / 1e6;
  if (device >= 0) r->device_mb = (double)device / 1e6;
  hl_message_release(&reply);
  return HL_OK;
}

hl_status hl_predict_run(const hl_run_environment *environment, const hl_predict_request *request,
                         const hl_predict_view *view, hl_predict_result *ret_result,
                         hl_error *error) {
  hl_predict_result r = {.batch_size = request->configuration->batch_size,
                         .configure_s = nan_s,
                         .load_s = nan_s,
                         .prepare_s = nan_s,
                         .peak_mb = nan_s,
                         .memory_mb = nan_s,
                         .device_mb = nan_s};
  for (int i = 0; i < HL_PREDICT_PARTS; i++) r.first_s[i] = nan_s;
  hl_process process;
  hl_status status = hl_process_start_guarded(environment, request->configuration, &process, error);
  if (status == HL_OK) {
    status = begin(&process, environment, request, &r, error);
    if (status == HL_OK) status = open_volumes(&process, request, &r, error);
    if (status == HL_OK) status = predict_all(&process, request, view, &r, error);
    if (status == HL_OK) status = read_memory(&process, request, &r, error);
    status = hl_process_end(&process, status, error);
  }
  *ret_result = r;
  return status;
}
