#include "machine/counters.h"
#include "base/clock.h"
#include "machine/cgroup.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Lines of processors come first in /proc/stat; about 90 bytes each. */
enum { STAT_BYTES = 48 << 10 };

static int open_at(const char *root, const char *directory, const char *name) {
  char path[HL_SYSFS_PATH];
  int n = snprintf(path, sizeof path, "%s%s%s", root ? root : "", directory, name);
  if (n < 0 || n >= (int)sizeof path) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A quota may be set for any group that the process's lies in. */
static void open_groups(const char *root, hl_counter_source *source) {
  hl_cgroup group;
  if (!hl_cgroup_find(root, "cpu", &group)) return;
  source->cgroup_version = group.version;
  do {
    int fd = open_at(root, group.path, "/cpu.stat");
    if (fd >= 0) source->throttle_fds[source->group_count++] = fd;
  } while (source->group_count < HL_COUNTER_GROUPS && hl_cgroup_parent(&group));
}

void hl_counter_source_init(hl_counter_source *ret_source, const char *root) {
  static const char *const pressures[HL_PRESSURES] = {"cpu", "memory", "io"};
  char status[4096], list[1024];
  *ret_source = (hl_counter_source){.ticks_per_second = sysconf(_SC_CLK_TCK)};
  if (!hl_sysfs_text(root, status, sizeof status, "/proc/self/status") ||
      !hl_sysfs_field_text(status, "Cpus_allowed_list", ':', list, sizeof list) ||
      !hl_cpu_set_parse(list, &ret_source->cpus))
    memset(&ret_source->cpus, 0xff, sizeof ret_source->cpus);
  ret_source->stat_fd = open_at(root, "/proc/stat", "");
  ret_source->schedstat_fd = open_at(root, "/proc/self/schedstat", "");
  for (size_t i = 0; i < HL_PRESSURES; i++)
    ret_source->pressure_fds[i] = open_at(root, "/proc/pressure/", pressures[i]);
  open_groups(root, ret_source);
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void hl_counter_source_release(hl_counter_source *source) {
  close_fd(&source->stat_fd);
  close_fd(&source->schedstat_fd);
  for (size_t i = 0; i < HL_PRESSURES; i++) close_fd(&source->pressure_fds[i]);
  for (int i = 0; i < source->group_count; i++) close_fd(&source->throttle_fds[i]);
  source->group_count = 0;
}

static bool read_fd(int fd, char *text, size_t size) {
  if (fd < 0) return false;
  ssize_t n;
  do n = pread(fd, text, size - 1, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return false;
  text[n] = 0;
  return true;
}

/* Adds the processors' lines: cpuN user nice system idle iowait irq softirq steal guest... (guest
 * time is in user time already). */
static void read_steal(const hl_counter_source *source, hl_counters *counters) {
  char text[STAT_BYTES];
  uint64_t steal = 0, total = 0;
  int cpus = 0;
  if (!read_fd(source->stat_fd, text, sizeof text)) return;
  for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
    if (isdigit((unsigned char)line[3])) {
      char *at;
      long cpu = strtol(line + 3, &at, 10);
      uint64_t states[8] = {0};
      for (size_t i = 0; i < HL_COUNT(states); i++) states[i] = strtoull(at, &at, 10);
      if (cpu < HL_SYSFS_MAX_CPUS && hl_cpu_set_has(&source->cpus, (int)cpu)) {
        for (size_t i = 0; i < HL_COUNT(states); i++) total += states[i];
        steal += states[7];
        cpus++;
      }
    }
    line = strchr(line, '\n');
    if (line) line++;
  }
  if (cpus == 0 || source->ticks_per_second <= 0) return;
  counters->cpus = cpus;
  counters->tick_s = 1 / (double)source->ticks_per_second;
  counters->steal_s = (double)steal / (double)source->ticks_per_second;
  counters->cpu_s = (double)total / (double)source->ticks_per_second;
}

/* The sum over the groups: each holds back what lies in it. */
static void read_throttling(const hl_counter_source *source, hl_counters *counters) {
  char text[2048];
  uint64_t value;
  bool two = source->cgroup_version == 2;
  for (int i = 0; i < source->group_count; i++) {
    if (!read_fd(source->throttle_fds[i], text, sizeof text) ||
        !hl_sysfs_field(text, two ? "throttled_usec" : "throttled_time", &value))
      continue; /* version 2's root has none */
    double seconds = (double)value * (two ? 1e-6 : 1e-9);
    counters->throttled_s =
        isnan(counters->throttled_s) ? seconds : counters->throttled_s + seconds;
  }
}

static void read_pressure(const hl_counter_source *source, hl_counters *counters) {
  for (size_t i = 0; i < HL_PRESSURES; i++) {
    char text[512];
    if (!read_fd(source->pressure_fds[i], text, sizeof text) || strncmp(text, "some", 4) != 0)
      continue;
    const char *total = strstr(text, "total=");
    if (total) counters->pressure_s[i] = (double)strtoull(total + 6, NULL, 10) * 1e-6;
  }
}

/* "ran waited slices": nanoseconds of the first thread (kernel documentation, sched-stats). */
static void read_waiting(const hl_counter_source *source, hl_counters *counters) {
  char text[128];
  unsigned long long ran, waited;
  if (read_fd(source->schedstat_fd, text, sizeof text) &&
      sscanf(text, "%llu %llu", &ran, &waited) == 2)
    counters->wait_s = (double)waited * 1e-9;
}

static uint64_t ns_of(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void hl_counters_read(const hl_counter_source *source, hl_counters *ret_counters) {
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage);
  *ret_counters = (hl_counters){.time_ns = hl_clock_ns(),
                                .user_ns = ns_of(usage.ru_utime),
                                .system_ns = ns_of(usage.ru_stime),
                                .minor_faults = (uint64_t)usage.ru_minflt,
                                .major_faults = (uint64_t)usage.ru_majflt,
                                .voluntary_switches = (uint64_t)usage.ru_nvcsw,
                                .involuntary_switches = (uint64_t)usage.ru_nivcsw,
                                .steal_s = NAN,
                                .cpu_s = NAN,
                                .throttled_s = NAN,
                                .wait_s = NAN,
                                .pressure_s = {NAN, NAN, NAN}};
  read_steal(source, ret_counters);
  read_throttling(source, ret_counters);
  read_pressure(source, ret_counters);
  read_waiting(source, ret_counters);
}

static uint64_t less(uint64_t after, uint64_t before) {
  return after > before ? after - before : 0;
}

/* NaN stays NaN. */
static double less_real(double after, double before) {
  double difference = after - before;
  return difference < 0 ? 0 : difference;
}

void hl_counters_difference(const hl_counters *before, const hl_counters *after,
                            hl_counters *ret_interval) {
  *ret_interval = (hl_counters){
      .time_ns = less(after->time_ns, before->time_ns),
      .user_ns = less(after->user_ns, before->user_ns),
      .system_ns = less(after->system_ns, before->system_ns),
      .minor_faults = less(after->minor_faults, before->minor_faults),
      .major_faults = less(after->major_faults, before->major_faults),
      .voluntary_switches = less(after->voluntary_switches, before->voluntary_switches),
      .involuntary_switches = less(after->involuntary_switches, before->involuntary_switches),
      .steal_s = less_real(after->steal_s, before->steal_s),
      .cpu_s = less_real(after->cpu_s, before->cpu_s),
      .throttled_s = less_real(after->throttled_s, before->throttled_s),
      .wait_s = less_real(after->wait_s, before->wait_s),
      .cpus = after->cpus,
      .tick_s = after->tick_s};
  for (size_t i = 0; i < HL_PRESSURES; i++)
    ret_interval->pressure_s[i] = less_real(after->pressure_s[i], before->pressure_s[i]);
}

double hl_counters_steal_fraction(const hl_counters *interval) {
  return interval->cpu_s > 0 ? interval->steal_s / interval->cpu_s : NAN;
}

double hl_counters_steal_least(const hl_counters *interval) {
  double seconds = (double)interval->time_ns * 1e-9 * interval->cpus;
  if (isnan(interval->steal_s) || !(seconds > 0)) return NAN;
  double sure = interval->steal_s - interval->cpus * interval->tick_s;
  return sure > 0 ? fmin(sure / seconds, 1) : 0;
}

void hl_counters_unknown(const hl_counters *reading, char *ret_text, size_t size) {
  const struct {
    bool unknown;
    const char *what;
  } parts[] = {
      {isnan(reading->steal_s), "steal: no /proc/stat"},
      {isnan(reading->throttled_s), "throttling: no control group of the cpu controller is seen"},
      {isnan(reading->wait_s), "waiting: no /proc/self/schedstat"},
      {isnan(reading->pressure_s[HL_PRESSURE_CPU]),
       "pressure: no /proc/pressure (kernels before 4.20, or booted with psi=0)"}};
  size_t used = 0;
  if (size) ret_text[0] = '\0';
  for (size_t i = 0; i < HL_COUNT(parts); i++) {
    if (!parts[i].unknown || used >= size) continue;
    int n = snprintf(ret_text + used, size - used, "%s%s", used ? "; " : "", parts[i].what);
    if (n > 0) used += (size_t)n;
  }
}
