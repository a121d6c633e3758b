#include "run/elsewhere.h"

#include "run/process.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ask_s = 60 };

/* One question to a worker of its own. */
static hl_status ask(const hl_run_environment *environment, const hl_launcher *launcher,
                     const char *verb, json_t *members, hl_message *ret_reply, hl_error *error) {
  const hl_configuration there = {.launcher = launcher};
  hl_launch launch;
  hl_process process;
  hl_status status = hl_launch_init(environment, &there, &launch, error);
  if (status == HL_OK) status = hl_process_start(&launch, &process, error);
  if (status != HL_OK) {
    json_decref(members);
    return status;
  }
  status = hl_process_call(&process, verb, members, ask_s, ret_reply, error);
  hl_status ended = hl_process_end(&process, status, error);
  return status == HL_OK ? HL_OK : ended;
}

static void take_text(char *to, size_t size, const json_t *reply, const char *key) {
  snprintf(to, size, "%s", hl_json_get_text(reply, key, ""));
}

static uint64_t take_bytes(const json_t *object, const char *key) {
  int64_t bytes = hl_json_get_int(object, key, 0);
  return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Those that CUDA shows there come first, as its numbers go. */
static void take_gpus(const json_t *reply, hl_gpu_set *gpus) {
  const json_t *list = json_object_get(reply, "gpus");
  int64_t visible = hl_json_get_int(reply, "visible_gpus", 0);
  size_t count = json_array_size(list);
  if (count > HL_GPU_MOST) count = HL_GPU_MOST;
  if (visible < 0 || (uint64_t)visible < count) count = visible < 0 ? 0 : (size_t)visible;
  for (size_t i = 0; i < count; i++) {
    const json_t *gpu = json_array_get(list, i);
    take_text(gpus->items[i].name, sizeof gpus->items[i].name, gpu, "name");
    gpus->items[i].memory_bytes = take_bytes(gpu, "memory_bytes");
  }
  gpus->count = (int)count;
  take_text(gpus->reason, sizeof gpus->reason, reply, "gpu_reason");
}

static hl_status read_machine(const json_t *reply, hl_machine *m, hl_error *error) {
  int64_t cores = hl_json_get_int(reply, "cores", 0);
  *m = (hl_machine){.cpu_quota = (double)NAN, .memory_limit_bytes = UINT64_MAX};
  if (cores < 1 || cores > HL_THREADS_LIMIT)
    return hl_error_set(error, HL_BAD_DATA, "the worker says that its machine has %lld cores",
                        (long long)cores);
  m->cores = m->allowed_cores = (int)cores;
  take_text(m->id, sizeof m->id, reply, "machine_id");
  take_text(m->cpu, sizeof m->cpu, reply, "cpu");
  take_text(m->os, sizeof m->os, reply, "os");
  take_text(m->kernel, sizeof m->kernel, reply, "kernel");
  take_text(m->isa, sizeof m->isa, reply, "isa");
  m->memory_bytes = take_bytes(reply, "memory_bytes");
  take_gpus(reply, &m->gpus);
  return HL_OK;
}

hl_status hl_elsewhere_machine(const hl_run_environment *environment, const hl_launcher *launcher,
                               hl_machine *ret_machine, hl_error *error) {
  hl_message reply = {0};
  hl_error failure = {0};
  hl_status status = ask(environment, launcher, "machine", NULL, &reply, &failure);
  if (status == HL_OK) status = read_machine(reply.object, ret_machine, &failure);
  hl_message_release(&reply);
  if (status == HL_OK) return status;
  bool own = status == HL_INTERRUPTED || status == HL_OUT_OF_MEMORY;
  return hl_error_set(error, own ? status : HL_UNAVAILABLE, "%s", failure.msg);
}

hl_status hl_elsewhere_limits(const hl_run_environment *environment, const hl_launcher *launcher,
                              int threads, hl_roofline *ret_limits, hl_error *error) {
  hl_message reply = {0};
  json_t *members = json_pack("{s:i}", "threads", threads);
  hl_status status = ask(environment, launcher, "limits", members, &reply, error);
  if (status != HL_OK) return status;
  double unknown = (double)NAN;
  *ret_limits = (hl_roofline){
      .threads = threads,
      .compute_gflops = hl_json_get_real(reply.object, "peak_gflops", unknown),
      .bfloat16_gflops = hl_json_get_real(reply.object, "peak_bfloat16_gflops", unknown),
      .bandwidth_gbs = hl_json_get_real(reply.object, "peak_bandwidth_gbs", unknown)};
  hl_message_release(&reply);
  return HL_OK;
}
