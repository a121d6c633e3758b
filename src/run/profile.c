#include "run/profile.h"

#include "protocol/messages.h"
#include "record/profile-log.h"
#include "run/elsewhere.h"
#include "run/process.h"
#include "statistics/paired.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *workload_of(const hl_configuration *c) {
  return c->train         ? "training"
         : c->pipeline    ? "pipeline"
         : c->progressive ? "progressive"
                          : "inference";
}

static const char *keep(hl_profile *p, const char *text) {
  const char *copy = hl_arena_text(&p->arena, text ? text : "");
  return copy ? copy : "";
}

static void describe(hl_profile *p, const hl_configuration *c) {
  p->workload = keep(p, workload_of(c));
  p->model = keep(p, c->model);
  p->engine = keep(p, c->engine);
  p->dtype = keep(p, c->dtype);
  p->device = keep(p, c->device);
  p->source = keep(p, "hotlap profile");
  p->batch_size = c->batch_size;
  p->threads = c->threads;
}

/* Until the network is ready. */
static hl_status begin(hl_process *process, const hl_run_environment *environment,
                       const hl_profile_request *q, hl_profile *p, hl_error *error) {
  static const char *const verbs[] = {"load", "plan", "prepare"};
  hl_message reply = {0};
  hl_status status = hl_process_configure(process, q->configuration, environment->cache_directory,
                                          q->setup_s, &reply, error);
  if (status != HL_OK) return status;
  p->engine_version = keep(p, hl_json_get_text(reply.object, "engine_version", ""));
  p->batch_size = hl_json_get_int(reply.object, "fixed_batch", 0);
  if (p->batch_size == 0) p->batch_size = q->configuration->batch_size;
  hl_message_release(&reply);
  for (size_t i = 0; i < HL_COUNT(verbs) && status == HL_OK; i++) {
    status = hl_process_call(process, verbs[i], NULL, q->setup_s, &reply, error);
    if (status == HL_OK) hl_message_release(&reply);
  }
  return status;
}

/* Time with the profiler over time without, of the pairs of steps. */
static hl_status compare_steps(hl_profile *p, const uint64_t *profiled, const uint64_t *plain,
                               size_t pairs, hl_error *error) {
  enum { most = 4096 };
  size_t n = pairs < most ? pairs : most, kept = 0;
  double *ratios = malloc((n + 1) * sizeof *ratios);
  if (!ratios) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for steps");
  for (size_t i = 0; i < n; i++)
    if (profiled[i] && plain[i]) ratios[kept++] = log((double)profiled[i] / (double)plain[i]);
  hl_paired paired;
  hl_status status = hl_paired_estimate(ratios, kept, &paired, error);
  if (status == HL_OK) {
    p->overhead = exp(paired.estimate);
    p->overhead_low = exp(paired.low);
    p->overhead_high = exp(paired.high);
    p->overhead_pairs = (int64_t)kept;
  }
  free(ratios);
  return status;
}

/* Of a worker on another machine, behind the `first` bytes. */
static hl_status take_log(const hl_message *reply, size_t first, int log, hl_error *error) {
  int64_t bytes = hl_json_get_int(reply->object, "log_bytes", 0);
  if (bytes == 0) return HL_OK;
  if (bytes < 0 || (uint64_t)bytes > reply->byte_count - first ||
      (uint64_t)bytes > HL_PROFILE_LOG_BYTES)
    return hl_error_set(error, HL_BAD_DATA, "the worker's profile has not the bytes it says");
  if (pwrite(log, reply->bytes + first, (size_t)bytes, 0) == bytes) return HL_OK;
  return hl_error_errno(error, HL_IO, "cannot keep a profile in memory");
}

static hl_status read_reply(const hl_message *reply, int log, hl_profile *p, hl_error *error) {
  int64_t profiled = hl_json_get_int(reply->object, "profiled_steps", 0);
  int64_t plain = hl_json_get_int(reply->object, "plain_steps", 0);
  int64_t room = (int64_t)(reply->byte_count / sizeof(uint64_t));
  if (profiled < 0 || plain < 0 || profiled > room || plain > room - profiled)
    return hl_error_set(error, HL_BAD_DATA, "the worker's profile has not the bytes it says");
  hl_status status = take_log(reply, (size_t)(profiled + plain) * sizeof(uint64_t), log, error);
  if (status != HL_OK) return status;
  int64_t pairs = profiled < plain ? profiled : plain;
  const uint64_t *ns = (const uint64_t *)(const void *)reply->bytes;
  return pairs ? compare_steps(p, ns, ns + profiled, (size_t)pairs, error) : HL_OK;
}

static hl_status profile_steps(hl_process *process, const hl_profile_request *q, int log,
                               hl_profile *p, hl_error *error) {
  HL_CLEANUP(hl_free_pointer)
  char *path = hl_format("/proc/%d/fd/%d", (int)getpid(), log);
  json_t *members = path ? json_object() : NULL;
  if (!members) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  /* Memory is shared on one machine only; from another the log comes with the reply. */
  hl_json_set_text(members, "log", process->far ? NULL : path);
  hl_json_set_int(members, "max_steps", (uint64_t)q->max_steps);
  hl_json_set_int(members, "max_ns", (uint64_t)(q->max_s * 1e9));
  hl_json_set_int(members, "warmup", (uint64_t)q->warmup);
  hl_json_set_bool(members, "compare", q->compares);
  hl_message reply = {0};
  hl_status status =
      hl_process_call(process, "profile", members, q->max_s + q->step_s, &reply, error);
  if (status == HL_OK) {
    status = read_reply(&reply, log, p, error);
    hl_message_release(&reply);
  }
  return status;
}

static hl_status in_worker(const hl_run_environment *environment, const hl_profile_request *q,
                           int log, hl_profile *p, hl_error *error) {
  hl_process process;
  hl_status status = hl_process_start_guarded(environment, q->configuration, &process, error);
  if (status != HL_OK) return status;
  status = begin(&process, environment, q, p, error);
  if (status == HL_OK) status = profile_steps(&process, q, log, p, error);
  return hl_process_end(&process, status, error);
}

hl_status hl_profile_run(const hl_run_environment *environment, const hl_profile_request *request,
                         hl_profile **ret_profile, hl_error *error) {
  hl_profile *p = NULL;
  hl_error failure = {0}, spoilt = {0};
  int log = -1;
  *ret_profile = NULL;
  hl_status status = hl_profile_new(&p, error);
  if (status != HL_OK) return status;
  *ret_profile = p;
  describe(p, request->configuration);
  status = hl_profile_log_create(HL_PROFILE_LOG_BYTES, &log, &failure);
  if (status == HL_OK) status = in_worker(environment, request, log, p, &failure);
  hl_status read = log >= 0 ? hl_profile_log_read(log, p, &spoilt) : HL_OK;
  if (log >= 0) close(log);
  if (status == HL_OK && read != HL_OK) {
    status = read;
    failure = spoilt;
  }
  p->complete = status == HL_OK;
  if (status == HL_OK) return status;
  p->reason = keep(p, failure.msg);
  if (error) *error = failure;
  return status;
}

void hl_profile_measure_limits(const hl_run_environment *environment, const hl_launcher *launcher,
                               hl_profile *profile) {
  hl_roofline roofline;
  int threads = profile->threads > 0 && profile->threads <= 1024 ? (int)profile->threads : 1;
  if (strcmp(profile->device, "cpu") != 0) return;
  hl_status status = launcher ? hl_elsewhere_limits(environment, launcher, threads, &roofline, NULL)
                              : hl_roofline_measure(threads, &roofline, NULL);
  if (status != HL_OK) return;
  bool narrow = strcmp(profile->dtype, "bfloat16") == 0 && !isnan(roofline.bfloat16_gflops);
  profile->peak_gflops = narrow ? roofline.bfloat16_gflops : roofline.compute_gflops;
  profile->bandwidth_gbs = roofline.bandwidth_gbs;
}
