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
  return open(path, O_RDONLY | O_CLOEXEC);
}

void hl_counter_source_init(hl_counter_source *ret_source, const char *root) {
  char status[4096], list[1024];
  hl_cgroup group;
  *ret_source = (hl_counter_source){.throttle_fd = -1};
  ret_source->ticks_per_second = sysconf(_SC_CLK_TCK);
  if (!hl_sysfs_text(root, status, sizeof status, "/proc/self/status") ||
      !hl_sysfs_field_text(status, "Cpus_allowed_list", ':', list, sizeof list) ||
      !hl_cpu_set_parse(list, &ret_source->cpus))
    memset(&ret_source->cpus, 0xff, sizeof ret_source->cpus);
  ret_source->stat_fd = open_at(root, "/proc/stat", "");
  ret_source->pressure_fd = open_at(root, "/proc/pressure/cpu", "");
  if (hl_cgroup_find(root, "cpu", &group)) {
    ret_source->cgroup_version = group.version;
    ret_source->throttle_fd = open_at(root, group.path, "/cpu.stat");
  }
}

void hl_counter_source_release(hl_counter_source *source) {
  const int fds[] = {source->stat_fd, source->throttle_fd, source->pressure_fd};
  for (size_t i = 0; i < HL_COUNT(fds); i++)
    if (fds[i] >= 0) close(fds[i]);
  source->stat_fd = source->throttle_fd = source->pressure_fd = -1;
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
  bool found = false;
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
        found = true;
      }
    }
    line = strchr(line, '\n');
    if (line) line++;
  }
  if (!found || source->ticks_per_second <= 0) return;
  counters->steal_s = (double)steal / (double)source->ticks_per_second;
  counters->cpu_s = (double)total / (double)source->ticks_per_second;
}

static void read_throttling(const hl_counter_source *source, hl_counters *counters) {
  char text[2048];
  uint64_t value;
  if (!read_fd(source->throttle_fd, text, sizeof text)) return;
  if (source->cgroup_version == 2 ? hl_sysfs_field(text, "throttled_usec", &value)
                                  : hl_sysfs_field(text, "throttled_time", &value))
    counters->throttled_s = (double)value * (source->cgroup_version == 2 ? 1e-6 : 1e-9);
}

static void read_pressure(const hl_counter_source *source, hl_counters *counters) {
  char text[512];
  if (!read_fd(source->pressure_fd, text, sizeof text) || strncmp(text, "some", 4) != 0) return;
  const char *total = strstr(text, "total=");
  if (total) counters->pressure_s = (double)strtoull(total + 6, NULL, 10) * 1e-6;
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
                                .pressure_s = NAN};
  read_steal(source, ret_counters);
  read_throttling(source, ret_counters);
  read_pressure(source, ret_counters);
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
      .pressure_s = less_real(after->pressure_s, before->pressure_s)};
}

double hl_counters_steal_fraction(const hl_counters *interval) {
  return interval->cpu_s > 0 ? interval->steal_s / interval->cpu_s : NAN;
}
