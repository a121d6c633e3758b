/* What this process may use: CPUs, quota, container, virtual machine. */
#include "machine/noise-internal.h"
#include <math.h>
#include <stdio.h>

static void affinity(hl__look *at) {
  static const hl__remedy remedy = {
      "affinity",
      "others may use the caches and the memory bandwidth that this process shares with them",
      "compare only with runs of the same mask; this shows it", "taskset -pc $$"};
  const hl_machine *m = at->machine;
  hl__noise_add(at, hl__noise_when(m->allowed_cpus < m->total_cpus, HL_NOISE_NOTE), &remedy,
                "This process may use %d of %d logical CPUs.", m->allowed_cpus, m->total_cpus);
}

static void quota(hl__look *at) {
  static const hl__remedy remedy = {
      "quota",
      "all threads stop for the rest of a period (often 100 ms) once its CPU time is used: p99 is "
      "that pause",
      "give whole CPUs instead of a share: a static CPU policy in Kubernetes, or of Docker",
      "docker run --cpuset-cpus 0-1 ... (instead of --cpus)"};
  double cpus = at->machine->cpu_quota;
  if (isnan(cpus)) return;
  hl__noise_add(
      at, hl__noise_when(cpus < at->machine->allowed_cpus, HL_NOISE_WARNING), &remedy,
      "The control group limits CPU time to %.2f CPUs; %d may be used, and --threads is %d.", cpus,
      at->machine->allowed_cpus, at->machine->cores);
}

static void throttling(hl__look *at) {
  static const hl__remedy remedy = {"throttling",
                                    "the control group's CPU quota held this process back",
                                    "raise the quota, or give whole CPUs", NULL};
  if (!at->probe || isnan(at->probe->interval.throttled_s)) return;
  double seconds = at->probe->interval.throttled_s;
  hl__noise_add(at, hl__noise_when(seconds > 0, HL_NOISE_WARNING), &remedy,
                "Throttled for %.1f ms during the probe.", seconds * 1e3);
}

static void container(hl__look *at) {
  static const hl__remedy remedy = {"container",
                                    "limits come from outside and neighbours share the machine",
                                    "record the container's limits with the result", NULL};
  if (at->machine->container[0])
    hl__noise_add(at, HL_NOISE_NOTE, &remedy, "In a container: %s.", at->machine->container);
}

static void hypervisor(hl__look *at) {
  static const hl__remedy remedy = {
      "hypervisor", "the host may take CPUs away (steal) and neighbours share caches and bandwidth",
      "compare only within one machine, with interleaved pairs, and watch steal",
      "hotlap compare A B"};
  if (at->machine->hypervisor[0])
    hl__noise_add(at, HL_NOISE_NOTE, &remedy, "A virtual machine (%s).", at->machine->hypervisor);
}

static void memory_limit(hl__look *at) {
  static const hl__remedy remedy = {
      "memory-limit", "beyond it the kernel kills the process",
      "large batches may end as OUT_OF_MEMORY although the machine has more: raise the limit",
      "docker run --memory ..."};
  if (at->machine->memory_limit_bytes == UINT64_MAX) return;
  hl__noise_add(
      at, HL_NOISE_NOTE, &remedy, "The control group limits memory to %.2f GB of %.2f GB.",
      (double)at->machine->memory_limit_bytes * 1e-9, (double)at->machine->memory_bytes * 1e-9);
}

void hl__noise_limits(hl__look *look) {
  static void (*const checks[])(hl__look *) = {affinity,  quota,      throttling,
                                               container, hypervisor, memory_limit};
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](look);
}
