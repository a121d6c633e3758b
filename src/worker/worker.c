#include "worker/worker.h"

#include "base/clock.h"
#include "base/dtype.h"
#include "machine/memory.h"
#include "protocol/messages.h"
#include "worker/about.h"
#include "worker/compilations.h"
#include "worker/control.h"
#include "worker/describe.h"
#include "worker/device.h"
#include "worker/energy.h"
#include "worker/feed.h"
#include "worker/foreign.h"
#include "worker/host.h"
#include "worker/load.h"
#include "worker/memory.h"
#include "worker/noise.h"
#include "worker/outputs.h"
#include "worker/perf.h"
#include "worker/pipeline.h"
#include "worker/predict.h"
#include "worker/profile.h"
#include "worker/progressive.h"
#include "worker/python.h"
#include "worker/ranks.h"
#include "worker/room.h"
#include "worker/timed-loop.h"
#include "worker/train.h"
#include "workloads/reference.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_samples = 1 << 16 };

typedef struct worker {
  hl_channel channel;
  hl_control control;
  hl_arena arena;    /* of the configuration */
  json_t *configure; /* the message whose strings the configuration uses */
  hl_configuration configuration;
  hl_model_file file;
  hl_inference inference;
  hl_worker_device device;
  hl_worker_energy energy;
  hl_worker_perf perf;
  json_t *counters; /* that request, for an interpreter to repeat; or NULL */
  bool is_open, is_loaded, is_prepared;
  hl_worker_noise noise;
  hl_worker_baseline baseline; /* before the model was loaded */
  hl_worker_foreign foreign;
  uint64_t *sample_ns, *sample_images; /* most_samples each */
  hl_worker_load load;
  hl_worker_train train; /* of a training run, in place of `inference` */
  hl_ranks ranks;
  hl_prediction *prediction;
  hl_pipeline *pipeline;       /* of one, else NULL: `inference` is its network */
  hl_progressive *progressive; /* of progressive imaging, else NULL, the same */
  bool quit;
} worker;

typedef struct verb {
  const char *name;
  /* Fills `reply`; `ret_bytes` (malloc'ed) is attached to it. */
  hl_status (*run)(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                   size_t *ret_byte_count, hl_error *error);
} verb;

static hl_status verb_hello(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error) {
  (void)w, (void)ret_bytes, (void)ret_byte_count;
  return hl_worker_hello(request, reply, error);
}

/* Tests have a tree of their own for what the kernel tells of energy and counters. */
static const char *system_root(void) {
  return getenv("HOTLAP_TEST_ROOT");
}

static hl_status verb_counters(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                               size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  json_decref(w->counters);
  w->counters = json_deep_copy(request);
  if (w->is_open) /* its threads would not be counted */
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'counters' came after 'configure'");
  return hl_worker_perf_open(&w->perf, system_root(), reply, error);
}

static bool trains(const worker *w) {
  return w->configuration.train != NULL;
}

/* Of whichever workload there is. */
static const hl_engine_ops *engine_of(const worker *w, hl_engine **ret_engine) {
  *ret_engine = trains(w) ? w->train.training.engine : w->inference.engine;
  return trains(w) ? &w->train.training.ops : &w->inference.ops;
}

static void describe_data(const worker *w, json_t *reply) {
  const hl_inference *in = &w->inference;
  const hl_training_data *data = &w->train.training.data;
  char key[17] = "";
  if (!trains(w)) snprintf(key, sizeof key, "%016llx", (unsigned long long)hl_reference_key(in));
  hl_json_set_text(reply, "data", trains(w) ? data->description : in->dataset->description);
  hl_json_set_int(reply, "n_images", (uint64_t)(trains(w) ? data->source->count : in->data_images));
  if (!trains(w)) hl_worker_describe_pictures(in->dataset, reply);
  hl_json_set_bool(reply, "wraps", in->wraps);
  hl_json_set_int(reply, "partial_images", (uint64_t)in->partial.images);
  hl_json_set_text(reply, "reference_key", key);
  if (trains(w)) hl_worker_train_configured(&w->train, reply);
  if (w->progressive) hl_worker_progressive_describe(w->progressive, reply);
}

static void describe(worker *w, json_t *reply) {
  hl_engine *engine;
  const hl_engine_ops *ops = engine_of(w, &engine);
  hl_worker_describe_model(&w->file, w->configuration.batch_size, reply);
  describe_data(w, reply);
  hl_json_set_text(reply, "engine_name", ops->name);
  hl_json_set_text(reply, "engine_version", ops->version());
}

static hl_status open_model(worker *w, hl_error *error) {
  if (w->configuration.is_foreign) /* nothing is known of it before it is loaded */
    return hl_worker_foreign_open(&w->foreign, &w->configuration, &w->file, error);
  return hl_model_file_open(
      &w->configuration, hl_json_get_text(w->configure, "cache_directory", NULL), &w->file, error);
}

static hl_status open_workload(worker *w, hl_error *error) {
  const hl_configuration *c = &w->configuration;
  if (trains(w))
    return hl_training_open(c, &w->file, hl_worker_host(), hl_ranks_training(&w->ranks),
                            &w->train.training, error);
  if (c->pipeline)
    return hl_pipeline_open(c, &w->file, hl_worker_host(),
                            hl_json_get_text(w->configure, "cache_directory", NULL), &w->inference,
                            &w->pipeline, error);
  hl_status status = hl_inference_open(c, &w->file, hl_worker_host(), &w->inference, error);
  if (status != HL_OK || !c->progressive) return status;
  status = hl_progressive_open(c, &w->file, &w->inference, &w->progressive, error);
  if (status != HL_OK) hl_inference_release(&w->inference);
  return status;
}

static hl_status verb_configure(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                                size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  if (w->is_open)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "this worker is configured already");
  json_decref(w->configure); /* of an attempt that failed */
  hl_model_file_release(&w->file);
  w->configure = json_deep_copy(request);
  if (!w->configure) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  hl_status status = hl_message_to_configuration(w->configure, &w->arena, &w->configuration, error);
  if (status == HL_OK) /* in which this request comes again */
    status = hl_worker_enter_python(&w->configuration, w->ranks.peers ? NULL : &w->channel,
                                    w->counters, request, error);
  if (status == HL_OK) hl_ranks_threads(&w->ranks, &w->configuration);
  if (status == HL_OK) status = open_model(w, error);
  const json_t *volumes = json_object_get(w->configure, "volumes");
  if (status == HL_OK && json_is_object(volumes) && !trains(w))
    status = hl_worker_volumes_cut(volumes, &w->file, &w->configuration, reply, error);
  if (status == HL_OK)
    status = hl_room_check(&w->configuration, &w->file, hl_memory_available(NULL), error);
  if (status == HL_OK)
    status = hl_worker_device_open(&w->device, w->configuration.device, reply, error);
  if (status == HL_OK) status = hl_worker_energy_open(&w->energy, system_root(), error);
  if (status == HL_OK) status = open_workload(w, error);
  if (status != HL_OK) return status;
  w->is_open = true;
  describe(w, reply);
  hl_ranks_describe(&w->ranks, reply);
  return HL_OK;
}

static hl_status need(bool ready, const char *verb_name, hl_error *error) {
  if (ready) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "'%s' came before what it needs", verb_name);
}

static hl_status need_inference(const worker *w, bool ready, const char *verb_name,
                                hl_error *error) {
  if (trains(w))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%s' is not for a training run", verb_name);
  return need(ready, verb_name, error);
}

static hl_status verb_load(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                           size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need(w->is_open && !w->is_loaded, "load", error);
  if (status != HL_OK) return status;
  status = hl_worker_check_type(&w->file, &w->configuration, error);
  if (status != HL_OK) return status;
  status = hl_worker_energy_idle(&w->energy, request, reply, error);
  if (status != HL_OK) return status;
  hl_worker_device_start(&w->device, reply);
  bool reset = w->file.foreign ? w->foreign.peak_was_reset : hl_memory_peak_reset(NULL) == HL_OK;
  if (w->file.foreign)
    w->baseline = hl_worker_foreign_baseline(&w->foreign);
  else
    hl_worker_baseline_read(&w->baseline);
  uint64_t start = hl_clock_ns() - w->foreign.load_ns;
  status = trains(w) ? hl_training_load(&w->train.training, error)
                     : hl_inference_load(&w->inference, error);
  if (status != HL_OK) return status;
  w->is_loaded = true;
  hl_json_set_int(reply, "load_ns", hl_clock_ns() - start);
  hl_json_set_int(reply, "baseline_bytes", w->baseline.memory.resident_bytes);
  hl_json_set_bool(reply, "peak_reset", reset);
  return HL_OK;
}

static hl_status verb_export(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                             size_t *ret_byte_count, hl_error *error) {
  (void)reply, (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need(w->is_open && !w->is_loaded, "export", error);
  return status == HL_OK ? hl_worker_export(&w->file, request, error) : status;
}

static hl_status verb_plan(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                           size_t *ret_byte_count, hl_error *error) {
  (void)request, (void)ret_bytes, (void)ret_byte_count;
  hl_program_plan plan;
  bool known = false;
  hl_status status = need(w->is_loaded, "plan", error);
  if (status == HL_OK)
    status = trains(w) ? hl_training_plan(&w->train.training, &plan, &known, error)
                       : hl_inference_plan(&w->inference, &plan, &known, error);
  if (status != HL_OK) return status;
  if (w->pipeline) plan.io_bytes += hl_pipeline_planned_bytes(w->pipeline);
  hl_program_plan training = {0};
  if (w->progressive && known)
    status = hl_progressive_plan(w->progressive, &training, &known, error);
  if (status != HL_OK) return status;
  plan.arena_bytes += training.arena_bytes;
  plan.io_bytes += training.io_bytes;
  hl_worker_describe_plan(&plan, known, reply);
  return HL_OK;
}

static hl_status verb_allocations(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                                  size_t *ret_byte_count, hl_error *error) {
  (void)request;
  hl_status status = need(w->is_loaded, "allocations", error);
  if (status != HL_OK) return status;
  hl_engine *engine;
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  const hl_training *t = &w->train.training;
  const hl_inference *in = &w->inference;
  const hl_program_spec spec =
      trains(w) ? hl_training_specify(t, w->configuration.batch_size, ports, &how)
                : hl_inference_specify(in, in->full.images, ports);
  return hl_worker_allocations(engine_of(w, &engine), trains(w) ? t->model : in->model, &spec,
                               reply, ret_bytes, ret_byte_count, error);
}

static hl_status verb_prepare(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error) {
  (void)request, (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need(w->is_loaded && !w->is_prepared, "prepare", error);
  if (status != HL_OK) return status;
  double overhead_ns = (double)NAN;
  /* Before there are batches in memory: it is not to be in the peak. */
  if (trains(w)) status = hl_worker_train_overhead(&w->train.training, &overhead_ns, error);
  if (status != HL_OK) return status;
  uint64_t start = hl_clock_ns();
  status = trains(w) ? hl_training_prepare(&w->train.training, error)
                     : hl_inference_prepare(&w->inference, error);
  if (status != HL_OK) return status;
  if (w->pipeline) status = hl_pipeline_prepare(w->pipeline, error);
  if (status != HL_OK) return status;
  if (w->pipeline) hl_worker_pipeline_describe(w->pipeline, reply);
  if (w->progressive) status = hl_progressive_prepare(w->progressive, error);
  if (status != HL_OK) return status;
  hl_json_set_int(reply, "prepare_ns", hl_clock_ns() - start);
  if (!trains(w)) status = hl_timed_overhead(&w->inference, &overhead_ns, error);
  if (status != HL_OK) return status;
  w->is_prepared = true;
  hl_engine *engine;
  hl_worker_describe_program(engine_of(w, &engine),
                             trains(w) ? w->train.training.program : w->inference.full.program,
                             reply);
  hl_json_set_real(reply, "overhead_ns", overhead_ns);
  return HL_OK;
}

static hl_status verb_run(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                          size_t *ret_byte_count, hl_error *error) {
  hl_status status = need_inference(w, w->is_prepared, "run", error);
  if (status != HL_OK) return status;
  int64_t max_samples = hl_json_get_int(request, "max_samples", most_samples);
  int64_t max_ns = hl_json_get_int(request, "max_ns", INT64_MAX);
  int64_t group = hl_json_get_int(request, "group", 1);
  int64_t discard = hl_json_get_int(request, "discard_steps", 0);
  uint64_t discarded_ns = 0;
  if (max_samples < 1 || max_ns < 1 || group < 1 || group > 1000000 || discard < 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "run: a number is out of range");
  if (hl_json_get_bool(request, "restart", false)) w->inference.offset = 0;
  w->inference.full_only = hl_json_get_bool(request, "full_only", false);
  const hl_timed_request slice = {
      .max_samples = (uint64_t)(max_samples < most_samples ? max_samples : most_samples),
      .max_ns = (uint64_t)max_ns,
      .group = (uint32_t)group};
  hl_timed_result result;
  hl_pipeline_times times = {0};
  hl_progressive_times stages = {0};
  hl_worker_noise_prepare(&w->noise);
  status = hl_timed_discard(&w->inference, (uint64_t)discard, &discarded_ns, error);
  if (status != HL_OK) return status;
  const hl_worker_compilations before =
      hl_worker_compilations_begin(&w->inference.ops, w->inference.engine);
  hl_worker_device_begin(&w->device);
  hl_worker_energy_begin(&w->energy);
  hl_worker_noise_begin(&w->noise);
  hl_worker_perf_begin(&w->perf);
  status =
      w->pipeline ? hl_worker_pipeline_run(w->pipeline, &w->configuration, &slice, w->sample_ns,
                                           w->sample_images, &result, &times, error)
      : w->progressive
          ? hl_worker_progressive_run(w->progressive, &w->configuration, &slice,
                                      hl_json_get_bool(request, "part", false), w->sample_ns,
                                      w->sample_images, &result, &stages, error)
          : hl_timed_run(&w->inference, &slice, w->sample_ns, w->sample_images, &result, error);
  hl_worker_perf_end(&w->perf, reply);
  hl_worker_noise_end(&w->noise);
  hl_worker_energy_end(&w->energy, reply);
  if (status == HL_OK)
    status = hl_worker_noise_clock(&w->noise, w->sample_ns, (size_t)result.samples, reply, error);
  if (status != HL_OK) return status;
  hl_worker_compilations_end(&before, reply);
  if (w->pipeline) hl_worker_pipeline_report(&times, reply);
  if (w->progressive) hl_worker_progressive_report(w->progressive, &stages, reply);
  hl_json_set_int(reply, "samples", result.samples);
  hl_json_set_int(reply, "elapsed_ns", result.elapsed_ns);
  hl_json_set_int(reply, "discarded_ns", discarded_ns);
  hl_worker_device_end(&w->device, reply);
  hl_worker_noise_report(&w->noise, result.elapsed_ns, reply);
  return hl_timed_attach(w->sample_ns, w->sample_images, result.samples, ret_bytes, ret_byte_count,
                         error);
}

static hl_status verb_profile(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error) {
  const hl_worker_profile what = {.inference = trains(w) ? NULL : &w->inference,
                                  .pipeline = w->pipeline,
                                  .progressive = w->progressive,
                                  .training = trains(w) ? &w->train.training : NULL};
  hl_status status = need(w->is_prepared, "profile", error);
  return status == HL_OK
             ? hl_worker_profile_run(&what, request, reply, ret_bytes, ret_byte_count, error)
             : status;
}

static hl_status verb_scenario(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                               size_t *ret_byte_count, hl_error *error) {
  hl_status status = need_inference(w, w->is_loaded, "scenario", error);
  if (status != HL_OK) return status;
  return hl_worker_load_run(&w->load, &w->inference, &w->noise, &w->energy, request, reply,
                            ret_bytes, ret_byte_count, error);
}

static hl_status verb_train(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error) {
  hl_status status = need(trains(w) && w->is_prepared, "train", error);
  if (status != HL_OK) return status;
  status = hl_worker_train_run(&w->train, &w->noise, &w->energy, request, reply, ret_bytes,
                               ret_byte_count, error);
  if (status == HL_OK) hl_ranks_report(&w->ranks, &w->train.training, reply);
  return status;
}

static hl_status verb_output(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                             size_t *ret_byte_count, hl_error *error) {
  (void)request;
  hl_status status = need_inference(w, w->is_prepared, "output", error);
  return status == HL_OK ? hl_worker_outputs(&w->inference, reply, ret_bytes, ret_byte_count, error)
                         : status;
}

static hl_status verb_reference(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                                size_t *ret_byte_count, hl_error *error) {
  (void)request;
  hl_status status = need_inference(w, w->is_open, "reference", error);
  return status == HL_OK
             ? hl_worker_reference(&w->inference, reply, ret_bytes, ret_byte_count, error)
             : status;
}

/* The 8-bit copy of a float32 model, made once for model and data and kept in the cache. */
static hl_status verb_quantize(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                               size_t *ret_byte_count, hl_error *error) {
  (void)request, (void)ret_bytes, (void)ret_byte_count;
  const char *cache = hl_json_get_text(w->configure, "cache_directory", NULL);
  hl_status status = need_inference(w, w->is_open, "quantize", error);
  return status == HL_OK ? hl_worker_quantize(&w->configuration, &w->file, cache, reply, error)
                         : status;
}

static hl_status verb_volumes(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need(w->is_prepared && !w->prediction, "volumes", error);
  return status == HL_OK ? hl_worker_volumes(&w->inference, request, reply, &w->prediction, error)
                         : status;
}

static hl_status verb_predict(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need(w->prediction, "predict", error);
  return status == HL_OK ? hl_worker_predict(w->prediction, request, reply, error) : status;
}

static hl_status verb_image(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error) {
  hl_status status = need((w->pipeline || w->progressive) && w->is_prepared, "image", error);
  if (status == HL_OK && w->progressive)
    return hl_worker_progressive_image(w->progressive, request, reply, ret_bytes, ret_byte_count,
                                       error);
  return status == HL_OK
             ? hl_worker_pipeline_image(w->pipeline, reply, ret_bytes, ret_byte_count, error)
             : status;
}

static hl_status verb_memory(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                             size_t *ret_byte_count, hl_error *error) {
  (void)request, (void)ret_bytes, (void)ret_byte_count;
  hl_engine *engine;
  const hl_engine_ops *ops = engine_of(w, &engine);
  hl_status status =
      hl_worker_memory(ops, w->is_loaded ? engine : NULL, &w->baseline, reply, error);
  if (status == HL_OK) hl_worker_device_memory(&w->device, reply);
  return status;
}

static hl_status verb_device_time(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                                  size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need_inference(w, w->is_prepared, "device_time", error);
  return status == HL_OK ? hl_worker_device_time(&w->device, &w->inference, request, reply, error)
                         : status;
}

static hl_status verb_feed(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                           size_t *ret_byte_count, hl_error *error) {
  (void)ret_bytes, (void)ret_byte_count;
  hl_status status = need_inference(w, w->is_prepared, "feed", error);
  return status == HL_OK ? hl_worker_feed(&w->inference, request, reply, error) : status;
}

static hl_status verb_quit(worker *w, const json_t *request, json_t *reply, void **ret_bytes,
                           size_t *ret_byte_count, hl_error *error) {
  (void)request, (void)reply, (void)ret_bytes, (void)ret_byte_count, (void)error;
  w->quit = true;
  return HL_OK;
}

static const verb verbs[] = {
    {"hello", verb_hello},
    {"counters", verb_counters},
    {"configure", verb_configure},
    {"load", verb_load},
    {"plan", verb_plan},
    {"allocations", verb_allocations},
    {"prepare", verb_prepare},
    {"run", verb_run},
    {"image", verb_image},
    {"output", verb_output},
    {"reference", verb_reference},
    {"volumes", verb_volumes},
    {"predict", verb_predict},
    {"memory", verb_memory},
    {"device_time", verb_device_time},
    {"feed", verb_feed},
    {"quantize", verb_quantize},
    {"profile", verb_profile},
    {"scenario", verb_scenario},
    {"train", verb_train},
    {"export", verb_export},
    {"quit", verb_quit},
};

static const verb *find_verb(const char *name) {
  for (size_t i = 0; i < HL_COUNT(verbs); i++)
    if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
  return NULL;
}

static hl_status serve(worker *w, const json_t *request, hl_error *error) {
  json_t *reply = json_object();
  if (!reply) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reply");
  json_t *id = json_object_get(request, "id");
  if (id) json_object_set(reply, "id", id);
  const char *name = hl_json_get_text(request, "verb", "");
  const verb *v = find_verb(name);
  void *bytes = NULL;
  size_t byte_count = 0;
  hl_error failure = {0};
  bool speaks = hl_ranks_speaks(&w->ranks);
  if (speaks) hl_control_begin(&w->control, request);
  hl_status status = v ? v->run(w, request, reply, &bytes, &byte_count, &failure)
                       : hl_worker_about(name, request, reply, &failure);
  status = hl_ranks_agree(&w->ranks, status, reply, &failure);
  hl_json_set_bool(reply, "ok", status == HL_OK);
  if (status != HL_OK) {
    free(bytes);
    bytes = NULL;
    byte_count = 0;
    failure.status = status;
  }
  hl_worker_host_reply(reply, status == HL_OK ? NULL : &failure);
  if (speaks) hl_control_answer(&w->control);
  status = speaks ? hl_channel_send(&w->channel, reply, bytes, byte_count, error) : HL_OK;
  json_decref(reply);
  free(bytes);
  return status;
}

/* No page faults while timing. */
static void touch_samples(worker *w) {
  memset(w->sample_ns, 1, most_samples * sizeof *w->sample_ns);
  memset(w->sample_images, 1, most_samples * sizeof *w->sample_images);
}

static hl_status begin(worker *w, hl_error *error) {
  signal(SIGPIPE, SIG_IGN);
  w->file.memory_fd = -1;
  hl_worker_host()->prefixes = hl_engine_prefixes();
  hl_arena_init(&w->arena, 1 << 20);
  hl_worker_noise_init(&w->noise);
  w->sample_ns = calloc(most_samples, sizeof *w->sample_ns);
  w->sample_images = calloc(most_samples, sizeof *w->sample_images);
  if (!w->sample_ns || !w->sample_images)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  touch_samples(w);
  return HL_OK;
}

/* The process ends here: engines' threads and the control thread need no orderly end. */
static void serve_all(worker *w, hl_status status, hl_error *error) {
  while (status == HL_OK && !w->quit) {
    hl_message message;
    status = hl_ranks_next(&w->ranks, &w->control, &message, error);
    if (status == HL_OK) status = serve(w, message.object, error);
    hl_message_release(&message);
  }
  if (status != HL_OK) fprintf(stderr, "hotlap worker: %s\n", error->msg);
  _exit(status == HL_OK ? 0 : 1);
}

static worker the_worker; /* large, and lives as long as the process */

int hl_worker_main(const char *peers) {
  hl_error error = {0};
  hl_status status = begin(&the_worker, &error);
  worker *w = &the_worker;
  if (status == HL_OK) status = hl_worker_move_streams(&w->channel, &error);
  if (status == HL_OK) status = hl_ranks_join(peers, &w->ranks, &error);
  if (status == HL_OK && hl_ranks_speaks(&w->ranks))
    status = hl_control_start(&w->control, &w->channel, w->ranks.peers ? hl_ranks_tell_late : NULL,
                              &w->ranks, &error);
  serve_all(w, status, &error);
  return 1;
}

/* The request `counters` was answered by the process before. */
static hl_status repeat_counters(worker *w, const json_t *request, hl_error *error) {
  json_t *reply = json_object();
  hl_status status = reply ? verb_counters(w, request, reply, NULL, NULL, error)
                           : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reply");
  json_decref(reply);
  return status;
}

int hl_worker_resume(const hl_worker_handover *handover) {
  hl_error error = {0};
  json_t *counters = NULL, *configure = NULL;
  worker *w = &the_worker;
  hl_status status = begin(w, &error);
  if (status == HL_OK)
    status = hl_worker_take_requests(handover->requests, &counters, &configure, &error);
  hl_channel_init(&w->channel, handover->in, handover->out);
  if (status == HL_OK) status = hl_control_start(&w->control, &w->channel, NULL, NULL, &error);
  if (status == HL_OK) status = hl_worker_tell_state(&w->channel, "begun", &error);
  if (status == HL_OK && counters) status = repeat_counters(w, counters, &error);
  if (status == HL_OK) status = serve(w, configure, &error);
  json_decref(counters);
  json_decref(configure);
  serve_all(w, status, &error);
  return 1;
}
