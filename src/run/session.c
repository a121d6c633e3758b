#include "run/row.h"

#include "base/text.h"
#include "machine/memory.h"
#include "protocol/messages.h"
#include "run/counters.h"
#include "run/device.h"
#include "run/energy.h"
#include "run/loader.h"
#include "run/pipeline.h"
#include "run/progressive.h"
#include "run/ranks.h"
#include "run/train.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading data, generating or quantising a model: long, but not for ever. */
enum { read_s = 1200, counters_s = 20, pass_s = 3600 };

static void take_text(char **field, const json_t *object, const char *key) {
  hl_record_set_text(field, hl_json_get_text(object, key, NULL));
}

static double ms_of_ns(const json_t *object, const char *key) {
  return hl_json_get_real(object, key, (double)NAN) / 1e6;
}

/* What the engine wants a reader to know. */
static void take_notes(const json_t *reply, hl_record *record) {
  const json_t *notes = json_object_get(reply, "notes");
  for (size_t i = 0; record && i < json_array_size(notes); i++) {
    const char *text = json_string_value(json_array_get(notes, i));
    if (text) hl_record_note(record, "%s", text);
  }
}

/* What a step of inference moves by the model's operators: where an engine does not tell what it
 * does, the truth is between these two, but for caches. The file is of float32. */
static void describe_traffic(const hl_configuration *c, const json_t *reply, hl_record *record) {
  bool whole = strcmp(c->dtype, "float32") == 0;
  bool half = strcmp(c->dtype, "bfloat16") == 0 || strcmp(c->dtype, "float16") == 0;
  if (c->train || c->memory || c->load || (!whole && !half)) return;
  double nan = (double)NAN, batch = (double)c->batch_size, mb = whole ? 1e6 : 2e6;
  double weights = hl_json_get_real(reply, "weight_bytes", nan);
  double ports = hl_json_get_real(reply, "port_bytes_per_image", nan);
  double operators = hl_json_get_real(reply, "operator_bytes_per_image", nan);
  record->least_traffic_mb_per_step = (weights + batch * ports) / mb;
  record->operator_traffic_mb_per_step = (weights + batch * operators) / mb;
}

static void describe(const hl_session *s, const json_t *reply, hl_record *record) {
  const hl_configuration *c = s->configuration;
  take_text(&record->engine_version, reply, "engine_version");
  take_text(&record->input_shape, reply, "input_shape");
  take_text(&record->data, reply, "data");
  hl_device_describe(reply, record);
  record->parameters = hl_json_get_int(reply, "parameters", HL_INT_NULL);
  record->flops_per_image = hl_json_get_real(reply, "flops_per_image", (double)NAN);
  const char *source = hl_json_get_text(reply, "model_source", NULL);
  if (source) hl_record_note(record, "%s", source);
  describe_traffic(c, reply, record);
  if (s->unread[0])
    hl_record_note(record, "FLOPs%s not known: %s",
                   record->parameters == HL_INT_NULL ? " and parameters" : "", s->unread);
  const char *infinite = hl_json_get_text(reply, "infinite", NULL);
  if (infinite) hl_record_note(record, "%s", infinite);
  record->n_images = s->n_images;
  if (s->wraps)
    hl_record_note(record, "the batch is larger than the data (%" PRId64 " images), which repeats",
                   s->n_images);
  if (c->pipeline && c->batch_size > s->n_images)
    hl_record_note(record, "the batch is larger than the scan, which is one batch of %" PRId64,
                   s->n_images);
  if (s->partial_images)
    hl_record_note(record, "each pass ends with a partial batch of %" PRId64, s->partial_images);
  if (!hl_json_get_bool(reply, "model_cached", true))
    hl_record_note(record, "the model lies in memory: the cache directory cannot be written");
  if (c->train) hl_train_describe(reply, c, record);
  hl_progressive_configured(reply, record);
  if (c->simulated) hl_record_note(record, "simulated clock: these times are not measured");
}

/* Without a limit of the user's, a size that is run although it may not fit must not take the
 * machine's last memory. */
static uint64_t worker_limit(const hl_method_options *method) {
  if (method->memory_limit_mb) return (uint64_t)method->memory_limit_mb * 1000000u;
  return method->predict ? 0 : hl_process_memory_guard();
}

/* Asks a worker of its own, so that the row's memory is not that of calibrating: is the model
 * quantised, and if not, where is its 8-bit copy? */
static hl_status find_copy(const hl_row_context *context, const hl_configuration *configuration,
                           hl_session *session, hl_record *record, hl_error *error) {
  const hl_run_environment *environment = context->environment;
  hl_configuration c = hl_configuration_without_engine(configuration, 1);
  hl_process process;
  hl_message reply = {0};
  hl_status status = hl_process_start_guarded(environment, configuration, &process, error);
  if (status != HL_OK) return status;
  status = hl_process_configure(&process, &c, environment->cache_directory, read_s, &reply, error);
  bool quantized = status == HL_OK && hl_json_get_bool(reply.object, "quantized", false);
  hl_message_release(&reply);
  if (status == HL_OK && !quantized) {
    if (context->view->phase) context->view->phase(context->view->context, "quantising");
    status = hl_process_call(&process, "quantize", NULL, read_s, &reply, error);
    if (status == HL_OK) {
      session->copy = hl_strdup(hl_json_get_text(reply.object, "path", ""));
      if (!session->copy) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
      if (record)
        hl_record_note(record,
                       "int8: hotlap's 8-bit copy of the model, ranges from %" PRId64
                       " images of the row's data",
                       hl_json_get_int(reply.object, "images", 0));
    }
    hl_message_release(&reply);
  }
  return hl_process_end(&process, status, error);
}

static hl_status use_copy(const hl_row_context *context, const hl_configuration *configuration,
                          hl_session *session, hl_record *record, hl_error *error) {
  hl_status status = find_copy(context, configuration, session, record, error);
  if (status != HL_OK || !session->copy) return status;
  session->copied = malloc(sizeof *session->copied);
  if (!session->copied) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  *session->copied = *configuration;
  session->copied->model_file = session->copy;
  session->configuration = session->copied;
  return HL_OK;
}

/* Before the engine starts its threads, which would not be counted otherwise. */
static hl_status open_counters(hl_session *session, hl_record *record, hl_error *error) {
  hl_message reply;
  hl_status status =
      hl_process_call(&session->process, "counters", NULL, counters_s, &reply, error);
  if (status != HL_OK) return status;
  hl_counters_describe(reply.object, record);
  hl_message_release(&reply);
  return HL_OK;
}

/* A step is a pass over the scan: of so many batches. */
static void set_pass(hl_session *s) {
  int64_t batch = s->configuration->batch_size;
  int64_t batches = s->n_images < 1 ? 1 : (s->n_images + batch - 1) / batch;
  s->step_images = s->n_images;
  s->step_timeout_s = fmin(s->step_timeout_s * (double)batches, fmax(pass_s, s->step_timeout_s));
}

hl_status hl_session_open(const hl_row_context *context, const hl_configuration *configuration,
                          hl_session *session, hl_record *record, hl_error *error) {
  const hl_run_environment *environment = context->environment;
  const hl_method_options *method = context->method;
  *session = (hl_session){.configuration = configuration, .info = context->info};
  /* A step longer than twice the row's budget is taken for a hang. */
  session->step_timeout_s = 2 * method->max_time_s + 5;
  session->setup_s = method->setup_s > 0 ? method->setup_s : read_s;
  session->limit_bytes = (uint64_t)method->memory_limit_mb * 1000000u;
  if (strcmp(configuration->dtype, "int8") == 0) {
    hl_status found = use_copy(context, configuration, session, record, error);
    if (found != HL_OK) return found;
    configuration = session->configuration;
  }
  hl_launch launch;
  hl_ranks_place place = {0};
  hl_status status = hl_launch_init(environment, configuration, &launch, error);
  launch.memory_limit_bytes = worker_limit(method);
  launch.guards = method->memory_limit_mb == 0;
  launch.start_s = session->setup_s;
  if (status == HL_OK) status = hl_ranks_find(configuration, environment, &place, &launch, error);
  if (status == HL_OK) status = hl_process_start(&launch, &session->process, error);
  hl_ranks_place_release(&place);
  if (status != HL_OK) return status;
  session->started = true;
  session->process.setup_s = session->setup_s;
  session->clock_grain_ns =
      fmax(session->process.clock_read_ns, session->process.clock_resolution_ns);
  context->info->clock_read_ns = session->process.clock_read_ns;
  context->info->clock_resolution_ns = session->process.clock_resolution_ns;
  if (record && method->memory_limit_mb) {
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " MB (%s)", method->memory_limit_mb,
             hl_memory_limit_name(&session->process.limit));
    hl_record_set_text(&record->memory_limit, text);
  }
  if (record && method->counters) status = open_counters(session, record, error);
  if (status != HL_OK) return status;
  hl_message reply;
  /* A foreign model is loaded by it. */
  double configure_s = configuration->is_foreign ? session->setup_s : read_s;
  status = hl_process_configure(&session->process, configuration, environment->cache_directory,
                                configure_s, &reply, error);
  if (status != HL_OK) return status;
  session->n_images = hl_json_get_int(reply.object, "n_images", 0);
  session->pictures = hl_json_get_int(reply.object, "pictures", 0);
  session->partial_images = hl_json_get_int(reply.object, "partial_images", 0);
  session->classifier = hl_json_get_bool(reply.object, "classifier", false);
  session->step_images = session->configuration->batch_size;
  if (configuration->pipeline || configuration->progressive) set_pass(session);
  session->fixed_batch = hl_json_get_int(reply.object, "fixed_batch", 0);
  session->wraps = hl_json_get_bool(reply.object, "wraps", false);
  snprintf(session->reference_key, sizeof session->reference_key, "%s",
           hl_json_get_text(reply.object, "reference_key", ""));
  snprintf(session->not_a_number, sizeof session->not_a_number, "%s",
           hl_json_get_text(reply.object, "not_a_number", ""));
  snprintf(session->unread, sizeof session->unread, "%s",
           hl_json_get_text(reply.object, "unread", ""));
  session->patterns_per_image = hl_json_get_int(reply.object, "patterns_per_input", 1);
  if (record) describe(session, reply.object, record);
  if (record) hl_loader_describe(reply.object, configuration, record);
  take_notes(reply.object, record);
  hl_message_release(&reply);
  return HL_OK;
}

/* Each sample is a time, and together they are the slice. */
static bool samples_add_up(const hl_session_samples *s) {
  uint64_t sum = 0;
  for (size_t i = 0; i < s->count; i++)
    if (__builtin_add_overflow(sum, s->ns[i], &sum)) return false;
  return sum == s->elapsed_ns;
}

/* What the worker may still use: its limit, or what the machine has left. */
static double memory_headroom(const hl_session *s, const hl_row_context *context,
                              const json_t *reply) {
  if (context->method->memory_limit_mb) return (double)context->method->memory_limit_mb * 1e6;
  if (s->process.far) return hl_json_get_real(reply, "available_bytes", (double)INFINITY);
  uint64_t available = hl_memory_available(NULL);
  return available == UINT64_MAX ? (double)INFINITY : (double)available;
}

static hl_status check_plan(hl_session *s, const hl_row_context *context, const json_t *reply,
                            hl_record *record, hl_error *error) {
  if (!hl_json_get_bool(reply, "known", false)) return HL_OK;
  double planned = hl_json_get_real(reply, "weight_bytes", 0) +
                   hl_json_get_real(reply, "arena_bytes", 0) +
                   hl_json_get_real(reply, "io_bytes", 0);
  double flops = hl_json_get_real(reply, "executed_flops", 0);
  double traffic = hl_json_get_real(reply, "traffic_bytes", 0);
  double batch = (double)s->configuration->batch_size;
  if (record) {
    record->planned_memory_mb = planned / 1e6;
    if (flops > 0) record->executed_flops_per_image = flops / batch;
    if (traffic > 0) record->traffic_mb_per_step = traffic / 1e6;
  }
  s->planned_bytes = planned;
  double need = planned + (double)s->baseline_bytes, headroom = memory_headroom(s, context, reply);
  if (!context->method->predict || need <= headroom) return HL_OK;
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      HL_REASON_PREDICTED
                      ": the plan needs %.0f MB and %.0f MB may be used; --no-predict "
                      "runs it all the same",
                      need / 1e6, headroom / 1e6);
}

hl_status hl_session_load(hl_session *session, const hl_row_context *context, hl_record *record,
                          hl_error *error) {
  hl_message reply;
  int64_t idle_ms = record ? hl_energy_idle_ms(context->method, session->configuration->load) : 0;
  json_t *members = idle_ms ? json_pack("{s:I}", "idle_ms", (json_int_t)idle_ms) : NULL;
  double timeout_s = session->setup_s + (double)idle_ms / 1e3;
  hl_status status = hl_process_call(&session->process, "load", members, timeout_s, &reply, error);
  if (status != HL_OK) return status;
  session->baseline_bytes = (uint64_t)hl_json_get_int(reply.object, "baseline_bytes", 0);
  take_notes(reply.object, record);
  if (record) {
    record->load_ms = ms_of_ns(reply.object, "load_ns");
    hl_device_describe(reply.object, record);
    hl_energy_idle_fill(reply.object, record);
    record->baseline_memory_mb = (double)session->baseline_bytes / 1e6;
    if (!hl_json_get_bool(reply.object, "peak_reset", true))
      hl_record_note(record, "the peak of memory counts from the worker's start: this kernel does "
                             "not let it be reset");
  }
  hl_message_release(&reply);
  status = hl_process_call(&session->process, "plan", NULL, session->setup_s, &reply, error);
  if (status != HL_OK) return status;
  status = check_plan(session, context, reply.object, record, error);
  hl_message_release(&reply);
  return status;
}

hl_status hl_session_prepare(hl_session *session, hl_record *record, hl_error *error) {
  hl_message reply;
  hl_status status =
      hl_process_call(&session->process, "prepare", NULL, session->setup_s, &reply, error);
  if (status != HL_OK) return status;
  take_notes(reply.object, record);
  hl_pipeline_prepared(reply.object, record, &session->scan_mb);
  if (record) {
    record->prepare_ms = ms_of_ns(reply.object, "prepare_ns");
    record->compilation_time_ms = ms_of_ns(reply.object, "compile_ns");
    record->overhead_ns = hl_json_get_real(reply.object, "overhead_ns", (double)NAN);
  }
  hl_message_release(&reply);
  return HL_OK;
}

void hl_session_samples_release(hl_session_samples *samples) {
  hl_message_release(&samples->message);
  *samples = (hl_session_samples){0};
}

hl_status hl_session_run(hl_session *session, const hl_session_request *request,
                         hl_session_samples *ret_samples, hl_error *error) {
  /* However much is asked for, a request ends in time for a hang to be told from it. */
  uint64_t slice_ns = (uint64_t)(session->step_timeout_s * 1e9), max_ns = request->max_ns;
  uint64_t max_samples = request->max_samples < INT64_MAX ? request->max_samples : INT64_MAX;
  if (max_ns > slice_ns) max_ns = slice_ns;
  if (max_ns == 0) max_ns = 1; /* one step is run in any case */
  hl_session_samples s = {0};
  json_t *members =
      json_pack("{s:I, s:I, s:I, s:b, s:b, s:b, s:I}", "max_samples", (json_int_t)max_samples,
                "max_ns", (json_int_t)max_ns, "group", (json_int_t)request->group, "full_only",
                request->group > 1, "restart", request->restart, "part", request->part,
                "discard_steps", (json_int_t)request->discard_steps);
  double timeout_s = session->step_timeout_s + (double)max_ns / 1e9;
  hl_status status =
      hl_process_call(&session->process, "run", members, timeout_s, &s.message, error);
  if (status != HL_OK) return status;
  int64_t count = hl_json_get_int(s.message.object, "samples", -1);
  int64_t elapsed = hl_json_get_int(s.message.object, "elapsed_ns", -1);
  int64_t discarded = hl_json_get_int(s.message.object, "discarded_ns", 0);
  size_t bytes = s.message.byte_count; /* divided, as a product of what was read may overflow */
  if (count < 1 || elapsed < 0 || discarded < 0 || bytes % 16 || (uint64_t)count != bytes / 16) {
    hl_session_samples_release(&s);
    return hl_error_set(error, HL_BAD_DATA, "the worker's samples do not add up");
  }
  s.count = (size_t)count;
  s.elapsed_ns = (uint64_t)elapsed;
  s.discarded_ns = (uint64_t)discarded;
  s.ns = (const uint64_t *)(const void *)s.message.bytes; /* malloc'ed: aligned */
  s.images = s.ns + s.count;
  if (!samples_add_up(&s)) {
    hl_session_samples_release(&s);
    return hl_error_set(error, HL_BAD_DATA, "the worker's samples do not add up to its slice");
  }
  *ret_samples = s;
  return HL_OK;
}

/* Of a group that is the worker's alone; another's would count other processes, too. */
static double group_peak_mb(const hl_memory_limit *limit) {
  bool has_group = limit->kind == HL_LIMIT_CGROUP_1 || limit->kind == HL_LIMIT_CGROUP_2;
  if (!has_group) return (double)NAN;
  int version = limit->kind == HL_LIMIT_CGROUP_1 ? 1 : 2;
  uint64_t bytes = hl_cgroup_memory_of(NULL, version, limit->path).peak_bytes;
  return bytes == UINT64_MAX ? (double)NAN : (double)bytes / 1e6;
}

hl_status hl_session_peak(hl_session *session, hl_session_memory *ret_memory, hl_error *error) {
  hl_message reply;
  hl_status status = hl_process_call(&session->process, "memory", NULL, 20, &reply, error);
  if (status != HL_OK) return status;
  ret_memory->peak_bytes = (uint64_t)hl_json_get_int(reply.object, "peak_bytes", 0);
  ret_memory->device = hl_device_memory_read(reply.object);
  ret_memory->group_mb = group_peak_mb(&session->process.limit);
  double above = (double)ret_memory->peak_bytes - (double)session->baseline_bytes;
  ret_memory->above_base_mb = above > 0 ? above / 1e6 : 0;
  ret_memory->engine_mb = hl_json_get_bool(reply.object, "engine_known", false)
                              ? hl_json_get_real(reply.object, "engine_peak_bytes", 0) / 1e6
                              : (double)NAN;
  hl_message_release(&reply);
  if (session->limit_bytes == 0 || ret_memory->peak_bytes <= session->limit_bytes) return HL_OK;
  /* The kernel charges a shared page to who touched it first; the limit means all of the worker. */
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      "the worker's peak of %.0f MB is beyond the limit of %.0f MB",
                      (double)ret_memory->peak_bytes / 1e6, (double)session->limit_bytes / 1e6);
}

hl_status hl_session_fill_peak(hl_session *session, hl_record *record, hl_error *error) {
  hl_session_memory memory;
  hl_status status = hl_session_peak(session, &memory, error);
  if (status != HL_OK) return status;
  record->memory_mb = memory.above_base_mb;
  record->engine_memory_mb = memory.engine_mb;
  record->cgroup_memory_mb = memory.group_mb;
  hl_device_memory_fill(&memory.device, record);
  return HL_OK;
}

hl_status hl_session_device_time(hl_session *session, hl_record *record, hl_error *error) {
  int ordinals[HL_DEVICE_MOST];
  hl_message reply;
  if (session->configuration->pipeline || session->configuration->progressive)
    return HL_OK; /* events would be of a batch, not a pass */
  if (hl_device_ordinals(session->configuration->device, ordinals) == 0) return HL_OK;
  json_t *members = json_pack("{s:i}", "steps", HL_DEVICE_TIME_STEPS);
  hl_status status = hl_process_call(&session->process, "device_time", members,
                                     session->step_timeout_s * HL_DEVICE_TIME_STEPS, &reply, error);
  if (status != HL_OK) return status;
  hl_device_time_fill(reply.object, record);
  hl_message_release(&reply);
  return HL_OK;
}

hl_status hl_session_close(hl_session *session, hl_status cause, hl_error *error) {
  free(session->copied);
  free(session->copy);
  session->copied = NULL;
  session->copy = NULL;
  if (!session->started) return cause;
  session->started = false;
  return hl_process_end(&session->process, cause, error);
}
