#include "worker/about.h"

#include "base/clock.h"
#include "base/text.h"
#include "machine/limit.h"
#include "machine/memory.h"
#include "machine/roofline.h"
#include "machine/topology.h"
#include "protocol/channel.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* -- hello ------------------------------------------------------------------------------------- */

static hl_status check_protocol(const json_t *request, hl_error *error) {
  int64_t protocol = hl_json_get_int(request, "protocol", 0);
  if (protocol == HL_PROTOCOL_VERSION) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE,
                      "the runner speaks protocol %lld, this worker (hotlap %s) %d",
                      (long long)protocol, HL_VERSION, HL_PROTOCOL_VERSION);
}

/* Whether anything can be had under this limit: a sanitizer's reservations alone are beyond any. */
static bool leaves_room(uint64_t bytes) {
  enum { probe_bytes = 1 << 20 };
  struct rlimit old;
  if (getrlimit(RLIMIT_DATA, &old) != 0) return false;
  const struct rlimit tried = {.rlim_cur = bytes, .rlim_max = old.rlim_max};
  if (bytes < old.rlim_max && setrlimit(RLIMIT_DATA, &tried) != 0) return false;
  void *probe = mmap(NULL, probe_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  setrlimit(RLIMIT_DATA, &old);
  if (probe != MAP_FAILED) munmap(probe, probe_bytes);
  return probe != MAP_FAILED;
}

/* A runner on another machine cannot put this process under a limit; a group would need somebody to
 * remove it. */
static hl_status limit_memory(const json_t *request, hl_error *error) {
  int64_t bytes = hl_json_get_int(request, "memory_limit_bytes", 0);
  uint64_t available = hl_memory_available(NULL);
  bool guards = bytes < 0;
  if (guards) bytes = available == UINT64_MAX ? 0 : (int64_t)(available / 100 * 95);
  if (bytes == 0) return HL_OK;
  if (!leaves_room((uint64_t)bytes) && guards) return HL_OK;
  hl_memory_limit limit;
  hl_status status = hl_memory_limit_prepare_data((uint64_t)bytes, &limit, error);
  if (status == HL_OK && !leaves_room((uint64_t)bytes))
    status = hl_error_set(error, HL_UNAVAILABLE,
                          "the worker has mapped more than the limit of %lld MB before it has "
                          "begun: RLIMIT_DATA, which is what there is behind a launcher, counts "
                          "also what is only reserved",
                          (long long)(bytes / 1000000));
  if (status == HL_OK && (errno = hl_memory_limit_enter(&limit)) != 0)
    status = hl_error_errno(error, HL_UNAVAILABLE, "cannot limit this worker's memory");
  return status;
}

/* Of this side's user; the runner's has another home. NULL: everything lies in memory. */
static char *cache_directory(void) {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (base && base[0] == '/') return hl_format("%s/hotlap", base);
  return home && home[0] == '/' ? hl_format("%s/.cache/hotlap", home) : NULL;
}

hl_status hl_worker_hello(const json_t *request, json_t *reply, hl_error *error) {
  hl_status status = check_protocol(request, error);
  if (status == HL_OK) status = limit_memory(request, error);
  if (status != HL_OK) return status;
  hl_clock_cost cost = hl_clock_calibrate();
  if (isinf(cost.resolution_ns))
    return hl_error_set(error, HL_IO,
                        "the clock stands still or runs backwards, so that nothing can be timed; "
                        "see /sys/devices/system/clocksource/clocksource0");
  HL_CLEANUP(hl_free_pointer) char *cache = cache_directory();
  hl_json_set_int(reply, "protocol", HL_PROTOCOL_VERSION);
  hl_json_set_text(reply, "hotlap_version", HL_VERSION);
  hl_json_set_int(reply, "pid", (uint64_t)getpid());
  hl_json_set_real(reply, "clock_read_ns", cost.read_ns);
  hl_json_set_real(reply, "clock_resolution_ns", cost.resolution_ns);
  hl_json_set_text(reply, "cache_directory", cache);
  return HL_OK;
}

/* -- where it runs ----------------------------------------------------------------------------- */

static json_t *describe_gpus(const hl_gpu_set *gpus) {
  json_t *list = json_array();
  for (int i = 0; list && i < gpus->count; i++) {
    json_t *gpu = json_object();
    hl_json_set_text(gpu, "name", gpus->items[i].name);
    hl_json_set_int(gpu, "memory_bytes", gpus->items[i].memory_bytes);
    json_array_append_new(list, gpu);
  }
  return list;
}

static hl_status about_machine(const json_t *request, json_t *reply, hl_error *error) {
  (void)request;
  hl_machine machine;
  hl_status status = hl_machine_read(&machine, error);
  if (status != HL_OK) return status;
  int visible = hl_gpu_visible(&machine.gpus, getenv("CUDA_VISIBLE_DEVICES"));
  hl_json_set_text(reply, "machine_id", machine.id);
  hl_json_set_text(reply, "cpu", machine.cpu);
  hl_json_set_text(reply, "os", machine.os);
  hl_json_set_text(reply, "kernel", machine.kernel);
  hl_json_set_text(reply, "isa", machine.isa);
  hl_json_set_int(reply, "cores", (uint64_t)machine.cores);
  hl_json_set_int(reply, "memory_bytes", machine.memory_bytes);
  json_object_set_new(reply, "gpus", describe_gpus(&machine.gpus));
  hl_json_set_int(reply, "visible_gpus", (uint64_t)visible);
  hl_json_set_text(reply, "gpu_reason", machine.gpus.reason);
  hl_machine_release(&machine);
  return HL_OK;
}

static hl_status about_limits(const json_t *request, json_t *reply, hl_error *error) {
  int64_t threads = hl_json_get_int(request, "threads", 1);
  hl_roofline roofline;
  if (threads < 1 || threads > 1024)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "limits: a number is out of range");
  hl_status status = hl_roofline_measure((int)threads, &roofline, error);
  if (status != HL_OK) return status;
  hl_json_set_real(reply, "peak_gflops", roofline.compute_gflops);
  hl_json_set_real(reply, "peak_bfloat16_gflops", roofline.bfloat16_gflops);
  hl_json_set_real(reply, "peak_bandwidth_gbs", roofline.bandwidth_gbs);
  return HL_OK;
}

static const struct {
  const char *name;
  hl_status (*run)(const json_t *request, json_t *reply, hl_error *error);
} verbs[] = {{"machine", about_machine}, {"limits", about_limits}};

hl_status hl_worker_about(const char *verb, const json_t *request, json_t *reply, hl_error *error) {
  for (size_t i = 0; i < HL_COUNT(verbs); i++)
    if (strcmp(verbs[i].name, verb) == 0) return verbs[i].run(request, reply, error);
  return hl_error_set(error, HL_INVALID_ARGUMENT, "no verb '%s'", verb);
}
