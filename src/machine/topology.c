#include "machine/topology.h"
#include "base/hash.h"
#include "machine/cgroup.h"
#include "machine/sysfs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One processor's block of /proc/cpuinfo, flags included. */
enum { CPUINFO_BYTES = 16 << 10 };

/* The words of the flags line that kernels of neural networks are chosen by. */
static const char *const isa_words[] = {
    "sse4_2",      "avx",         "f16c",        "fma",      "avx2",     "avx512f",  "avx512bw",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8",
    "asimd",       "asimddp",     "sve",         "i8mm",     "bf16"};

static const struct {
  const char *mark, *name;
} hypervisors[] = {{"KVMKVMKVM", "KVM"},    {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
                   {"XenVMMXenVMM", "Xen"}, {"TCGTCGTCGTCG", "QEMU"},    {"ACRNACRNACRN", "ACRN"}};

static bool has_word(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += length)
    if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
  return false;
}

/* CPUID leaf 0x40000000 holds the hypervisor's signature. */
static void read_hypervisor(hl_machine *machine) {
  const char *name = "unknown";
#if defined(__x86_64__)
  unsigned int a = 0x40000000u, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  unsigned int words[3] = {b, c, d};
  for (size_t i = 0; i < HL_COUNT(hypervisors); i++)
    if (memcmp(words, hypervisors[i].mark, strnlen(hypervisors[i].mark, sizeof words)) == 0)
      name = hypervisors[i].name;
#else
  (void)hypervisors;
#endif
  snprintf(machine->hypervisor, sizeof machine->hypervisor, "%s", name);
}

static void read_cpu(const char *root, hl_machine *machine) {
  char text[CPUINFO_BYTES], flags[8192] = "", part[24], implementer[24];
  hl_sysfs_text(root, text, sizeof text, "/proc/cpuinfo");
  if (!hl_sysfs_field_text(text, "model name", ':', machine->cpu, sizeof machine->cpu)) {
    if (hl_sysfs_field_text(text, "CPU implementer", ':', implementer, sizeof implementer) &&
        hl_sysfs_field_text(text, "CPU part", ':', part, sizeof part))
      snprintf(machine->cpu, sizeof machine->cpu, "ARM implementer %s part %s", implementer, part);
    else
      snprintf(machine->cpu, sizeof machine->cpu, "unknown");
  }
  if (!hl_sysfs_field_text(text, "flags", ':', flags, sizeof flags))
    hl_sysfs_field_text(text, "Features", ':', flags, sizeof flags);
  size_t used = 0;
  for (size_t i = 0; i < HL_COUNT(isa_words); i++) {
    if (!has_word(flags, isa_words[i])) continue;
    int n = snprintf(machine->isa + used, sizeof machine->isa - used, "%s%s", used ? " " : "",
                     isa_words[i]);
    if (n < 0 || (size_t)n >= sizeof machine->isa - used) break;
    used += (size_t)n;
  }
  if (has_word(flags, "hypervisor")) read_hypervisor(machine);
}

/* Reads a processor list from a file; the numbers 0..count-1 of nothing else are known. */
static bool read_set(const char *root, const char *path, hl_cpu_set *ret_set) {
  char list[1024];
  return hl_sysfs_text(root, list, sizeof list, "%s", path) && hl_cpu_set_parse(list, ret_set) &&
         hl_cpu_set_count(ret_set) > 0;
}

/* A core is known by its lowest-numbered logical CPU that is in the set: CPUs whose siblings of a
 * lower number are in the set, too, are not counted again. */
static int count_cores(const char *root, const hl_cpu_set *set) {
  int cores = 0;
  for (int cpu = 0; cpu < HL_SYSFS_MAX_CPUS; cpu++) {
    char list[256];
    hl_cpu_set siblings;
    if (!hl_cpu_set_has(set, cpu)) continue;
    bool first = true;
    if (hl_sysfs_text(root, list, sizeof list,
                      "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu) &&
        hl_cpu_set_parse(list, &siblings))
      for (int other = 0; other < cpu && first; other++)
        first = !(hl_cpu_set_has(&siblings, other) && hl_cpu_set_has(set, other));
    cores += first;
  }
  return cores;
}

static void read_cpus(const char *root, hl_machine *machine, int *ret_first) {
  char status[4096], list[1024];
  hl_cpu_set online, allowed;
  bool has_online = read_set(root, "/sys/devices/system/cpu/online", &online);
  bool has_allowed = hl_sysfs_text(root, status, sizeof status, "/proc/self/status") &&
                     hl_sysfs_field_text(status, "Cpus_allowed_list", ':', list, sizeof list) &&
                     hl_cpu_set_parse(list, &allowed);
  if (!has_online && !has_allowed) {
    memset(&online, 0, sizeof online);
    online.words[0] = 1;
  }
  if (!has_online && has_allowed) online = allowed;
  if (!has_allowed) allowed = online;
  /* The mask may name processors that are not there. */
  for (size_t i = 0; i < HL_COUNT(allowed.words); i++) allowed.words[i] &= online.words[i];
  machine->total_cpus = hl_cpu_set_count(&online);
  machine->total_cores = count_cores(root, &online);
  machine->allowed_cpus = hl_cpu_set_count(&allowed);
  machine->allowed_cores = count_cores(root, &allowed);
  machine->cpu_quota = hl_cgroup_cpu_quota(root);
  machine->cores = machine->allowed_cores;
  if (machine->cpu_quota < machine->cores) machine->cores = (int)machine->cpu_quota;
  if (machine->cores < 1) machine->cores = 1;
  *ret_first = 0;
  for (int cpu = HL_SYSFS_MAX_CPUS - 1; cpu >= 0; cpu--)
    if (hl_cpu_set_has(&allowed, cpu)) *ret_first = cpu;
}

static void read_caches(const char *root, int cpu, hl_machine *machine) {
  for (int index = 0; machine->cache_count < HL_MACHINE_MAX_CACHES; index++) {
    char type[32], size[32], list[1024];
    uint64_t level;
    hl_cpu_set shared;
    const char *base = "/sys/devices/system/cpu/cpu";
    if (!hl_sysfs_u64(root, &level, "%s%d/cache/index%d/level", base, cpu, index) ||
        !hl_sysfs_text(root, type, sizeof type, "%s%d/cache/index%d/type", base, cpu, index) ||
        !hl_sysfs_text(root, size, sizeof size, "%s%d/cache/index%d/size", base, cpu, index))
      return;
    char *unit;
    unsigned long long bytes = strtoull(size, &unit, 10);
    if (*unit == 'K') bytes <<= 10;
    if (*unit == 'M') bytes <<= 20;
    hl_cache *cache = &machine->caches[machine->cache_count++];
    *cache = (hl_cache){(int)level, type[0] == 'D' ? 'd' : type[0] == 'I' ? 'i' : 'u', bytes, 1};
    if (hl_sysfs_text(root, list, sizeof list, "%s%d/cache/index%d/shared_cpu_list", base, cpu,
                      index) &&
        hl_cpu_set_parse(list, &shared))
      cache->shared_by = hl_cpu_set_count(&shared);
  }
}

static void read_memory(const char *root, hl_machine *machine) {
  char text[4096];
  uint64_t kib = 0;
  hl_cpu_set nodes;
  if (hl_sysfs_text(root, text, sizeof text, "/proc/meminfo"))
    hl_sysfs_field(text, "MemTotal", &kib);
  machine->memory_bytes = kib * 1024;
  machine->memory_limit_bytes = hl_cgroup_memory_read(root).limit_bytes;
  if (machine->memory_limit_bytes > machine->memory_bytes)
    machine->memory_limit_bytes =
        UINT64_MAX; /* a limit above the machine's memory limits nothing */
  machine->numa_nodes = 1;
  if (read_set(root, "/sys/devices/system/node/online", &nodes))
    machine->numa_nodes = hl_cpu_set_count(&nodes);
}

static void read_system(const char *root, hl_machine *machine) {
  char text[4096];
  if (!hl_sysfs_text(root, text, sizeof text, "/etc/os-release") ||
      !hl_sysfs_field_text(text, "PRETTY_NAME", '=', machine->os, sizeof machine->os))
    snprintf(machine->os, sizeof machine->os, "Linux");
  char release[80];
  hl_sysfs_text(root, release, sizeof release, "/proc/sys/kernel/osrelease");
  snprintf(machine->kernel, sizeof machine->kernel, "Linux %s", release);

  const char *container = "";
  if (hl_sysfs_exists(root, "/.dockerenv")) container = "docker";
  if (hl_sysfs_exists(root, "/run/.containerenv")) container = "podman";
  if (hl_sysfs_text(root, text, sizeof text, "/run/systemd/container") && text[0]) container = text;
  char groups[4096];
  if (hl_sysfs_text(root, groups, sizeof groups, "/proc/self/cgroup")) {
    if (!*container && strstr(groups, "/docker")) container = "docker";
    if (!*container && strstr(groups, "/lxc")) container = "lxc";
    if (strstr(groups, "/kubepods")) container = "kubernetes";
  }
  if (hl_sysfs_exists(root, "/var/run/secrets/kubernetes.io")) container = "kubernetes";
  snprintf(machine->container, sizeof machine->container, "%.23s", container);
}

/* Not the allowed cores or the limits: the same machine has the same id in every container. */
static void make_id(const char *root, hl_machine *machine) {
  char hardware[256], machine_id[64];
  uint64_t gib = (machine->memory_bytes + (1u << 29)) >> 30;
  snprintf(hardware, sizeof hardware, "%s|%d|%llu|", machine->cpu, machine->total_cores,
           (unsigned long long)gib);
  hl_sysfs_text(root, machine_id, sizeof machine_id, "/etc/machine-id");
  uint64_t id = hl_hash_text(hl_hash_text(HL_HASH_START, hardware), machine_id);
  snprintf(machine->id, sizeof machine->id, "%016llx", (unsigned long long)id);
}

hl_status hl_machine_read_at(const char *root, hl_machine *ret_machine, hl_error *error) {
  int first = 0;
  if (!hl_sysfs_exists(root, "/proc/self/status") && !hl_sysfs_exists(root, "/proc/cpuinfo"))
    return hl_error_set(error, HL_IO, "/proc is not mounted. Mount it: mount -t proc proc /proc");
  memset(ret_machine, 0, sizeof *ret_machine);
  read_cpu(root, ret_machine);
  read_cpus(root, ret_machine, &first);
  read_caches(root, first, ret_machine);
  read_memory(root, ret_machine);
  read_system(root, ret_machine);
  make_id(root, ret_machine);
  return HL_OK;
}

hl_status hl_machine_read(hl_machine *ret_machine, hl_error *error) {
  hl_status status = hl_machine_read_at(NULL, ret_machine, error);
  if (!status) hl_gpu_list(NULL, 5, &ret_machine->gpus);
  return status;
}

void hl_machine_release(hl_machine *machine) {
  memset(machine, 0, sizeof *machine);
}

uint64_t hl_machine_last_cache_bytes(const hl_machine *machine) {
  uint64_t bytes = 0;
  int level = 0;
  for (int i = 0; i < machine->cache_count; i++)
    if (machine->caches[i].kind != 'i' && machine->caches[i].level > level) {
      level = machine->caches[i].level;
      bytes = machine->caches[i].bytes;
    }
  return bytes;
}
