#include "machine/perf-events.h"
#include "base/text.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct event_row {
  const char *name;
  uint32_t type;
  uint64_t config;
  hl_perf_event leader; /* of its group; itself: it leads */
} event_row;

#define HARDWARE(name, config, leader)                                                             \
  { name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, leader }
#define CACHE(name, cache, result, leader)                                                         \
  {                                                                                                \
    name, PERF_TYPE_HW_CACHE,                                                                      \
        PERF_COUNT_HW_CACHE_##cache | (uint64_t)PERF_COUNT_HW_CACHE_OP_READ << 8 |                 \
            (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16,                                   \
        leader                                                                                     \
  }
#define SOFTWARE(name, config, id)                                                                 \
  { name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, id }

/* A group is small enough for a processor with four counters of which the kernel's watchdog has
 * one; cycles and instructions often have counters of their own beside them. */
static const event_row events[HL_PERF_EVENTS] = {
    [HL_PERF_CYCLES] = HARDWARE("cycles", CPU_CYCLES, HL_PERF_CYCLES),
    [HL_PERF_INSTRUCTIONS] = HARDWARE("instructions", INSTRUCTIONS, HL_PERF_CYCLES),
    [HL_PERF_BRANCHES] = HARDWARE("branches", BRANCH_INSTRUCTIONS, HL_PERF_BRANCHES),
    [HL_PERF_BRANCH_MISSES] = HARDWARE("branch_misses", BRANCH_MISSES, HL_PERF_BRANCHES),
    [HL_PERF_CACHE_MISSES] = HARDWARE("cache_misses", CACHE_MISSES, HL_PERF_CACHE_MISSES),
    [HL_PERF_LLC_LOADS] = CACHE("llc_loads", LL, ACCESS, HL_PERF_LLC_LOADS),
    [HL_PERF_LLC_MISSES] = CACHE("llc_misses", LL, MISS, HL_PERF_LLC_LOADS),
    [HL_PERF_DTLB_MISSES] = CACHE("dtlb_misses", DTLB, MISS, HL_PERF_DTLB_MISSES),
    [HL_PERF_TASK_CLOCK] = SOFTWARE("task_clock", TASK_CLOCK, HL_PERF_TASK_CLOCK),
    [HL_PERF_PAGE_FAULTS] = SOFTWARE("page_faults", PAGE_FAULTS, HL_PERF_PAGE_FAULTS),
    [HL_PERF_CONTEXT_SWITCHES] =
        SOFTWARE("context_switches", CONTEXT_SWITCHES, HL_PERF_CONTEXT_SWITCHES),
    [HL_PERF_MIGRATIONS] = SOFTWARE("migrations", CPU_MIGRATIONS, HL_PERF_MIGRATIONS),
};

/* An errno that the kernel does not give: it would count these, and always find 0, since they
 * happen in the kernel. */
enum { error_kernel_hidden = -1 };

static bool happens_in_kernel(hl_perf_event e) {
  return e == HL_PERF_CONTEXT_SWITCHES || e == HL_PERF_MIGRATIONS;
}

const char *hl_perf_event_name(hl_perf_event event) {
  return events[event].name;
}

static int kernel_open(const struct perf_event_attr *attributes, int group_fd) {
  return (int)syscall(SYS_perf_event_open, attributes, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

static const hl_perf_calls kernel_calls = {kernel_open, read, close};

static void open_event(hl_perf *p, hl_perf_event e) {
  const event_row *what = &events[e];
  struct perf_event_attr attributes = {.type = what->type,
                                       .size = sizeof attributes,
                                       .config = what->config,
                                       .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                      PERF_FORMAT_TOTAL_TIME_RUNNING,
                                       .inherit = 1,
                                       .exclude_kernel = p->user_only,
                                       .exclude_hv = p->user_only};
  int group_fd = what->leader == e ? -1 : p->fds[what->leader];
  int fd = p->calls->open(&attributes, group_fd);
  if (fd < 0 && errno == EINVAL && group_fd >= 0) fd = p->calls->open(&attributes, -1);
  p->fds[e] = fd < 0 ? -1 : fd;
  p->errors[e] = fd < 0 ? errno : 0;
}

static bool is_denied(int error) {
  return error == EACCES || error == EPERM;
}

/* Opens all; whether one was denied. */
static bool open_all(hl_perf *p) {
  bool denied = false;
  for (int e = 0; e < HL_PERF_EVENTS; e++) {
    if (p->user_only && happens_in_kernel((hl_perf_event)e)) {
      p->fds[e] = -1;
      p->errors[e] = error_kernel_hidden;
      continue;
    }
    open_event(p, (hl_perf_event)e);
    denied = denied || is_denied(p->errors[e]);
  }
  return denied;
}

static int64_t read_paranoid(const char *root) {
  char text[32];
  int64_t value;
  if (!hl_sysfs_text(root, text, sizeof text, "/proc/sys/kernel/perf_event_paranoid") ||
      hl_parse_int(text, INT32_MIN, INT32_MAX, "paranoid", &value, NULL) != HL_OK)
    return INT64_MIN;
  return value;
}

void hl_perf_open(const hl_perf_calls *calls, const char *root, hl_perf *ret_perf) {
  hl_perf *p = ret_perf;
  *p = (hl_perf){.calls = calls ? calls : &kernel_calls, .paranoid = read_paranoid(root)};
  if (!open_all(p)) return;
  hl_perf_release(p);
  p->user_only = true;
  open_all(p);
  for (int e = 0; e < HL_PERF_EVENTS; e++)
    if (p->fds[e] >= 0) return;
  for (int e = 0; e < HL_PERF_EVENTS; e++) /* hidden is no more than all the others are */
    if (p->errors[e] == error_kernel_hidden) p->errors[e] = p->errors[HL_PERF_TASK_CLOCK];
}

void hl_perf_release(hl_perf *perf) {
  /* Members before their leader: without it they would become leaders first. */
  for (int e = HL_PERF_EVENTS - 1; e >= 0; e--)
    if (perf->fds[e] >= 0) {
      perf->calls->close(perf->fds[e]);
      perf->fds[e] = -1;
    }
}

void hl_perf_read(const hl_perf *perf, hl_perf_reading *ret_reading) {
  for (int e = 0; e < HL_PERF_EVENTS; e++) {
    ret_reading->known[e] = false;
    if (perf->fds[e] < 0) continue;
    ssize_t n;
    do n = perf->calls->read(perf->fds[e], &ret_reading->events[e], sizeof ret_reading->events[e]);
    while (n < 0 && errno == EINTR);
    ret_reading->known[e] = n == (ssize_t)sizeof ret_reading->events[e];
  }
}

void hl_perf_difference(const hl_perf *perf, const hl_perf_reading *before,
                        const hl_perf_reading *after, hl_perf_counts *ret_counts) {
  ret_counts->running = (double)NAN;
  for (int e = 0; e < HL_PERF_EVENTS; e++) {
    double *value = &ret_counts->values[e];
    *value = (double)NAN;
    if (perf->fds[e] < 0 || !before->known[e] || !after->known[e]) continue;
    double count = (double)(after->events[e].value - before->events[e].value);
    double enabled = (double)(after->events[e].enabled_ns - before->events[e].enabled_ns);
    double running = (double)(after->events[e].running_ns - before->events[e].running_ns);
    /* It had no turn: that is no count, rather than a count of none. */
    if (!(running > 0) || after->events[e].value < before->events[e].value) continue;
    double share = running < enabled ? running / enabled : 1;
    *value = share < 1 ? count / share : count;
    ret_counts->running = fmin(ret_counts->running, share);
  }
}

const char *hl_perf_scope(const hl_perf *perf) {
  for (int e = 0; e < HL_PERF_EVENTS; e++)
    if (perf->fds[e] >= 0) return perf->user_only ? "user mode" : "user mode and kernel";
  return NULL;
}

/* -- why an event is not counted -------------------------------------------------------------- */

static const char *remedy(const hl_perf *p, int error, char *text, size_t size) {
  switch (error) {
  case error_kernel_hidden:
    snprintf(text, size,
             "they happen in the kernel, which is hidden (kernel.perf_event_paranoid is %" PRId64
             "): sudo sysctl kernel.perf_event_paranoid=1",
             p->paranoid);
    return text;
  case EACCES:
  case EPERM:
    if (p->paranoid > 2)
      snprintf(text, size,
               "kernel.perf_event_paranoid is %" PRId64
               ": sudo sysctl kernel.perf_event_paranoid=1, or 2 for user mode alone",
               p->paranoid);
    else
      snprintf(text, size,
               "the system call is denied, as containers do: docker run --cap-add PERFMON, or a "
               "seccomp profile with perf_event_open");
    return text;
  case ENOSYS:
    return "this kernel, or a container's seccomp profile, has no perf_event_open";
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
  case EINVAL:
    return "this processor does not count them, or a virtual machine hides its counters";
  case EMFILE:
    return "too many open files (ulimit -n)";
  default:
    snprintf(text, size, "perf_event_open: %s", strerror(error));
    return text;
  }
}

static bool same_class(hl_perf_event a, hl_perf_event b) {
  return (events[a].type == PERF_TYPE_SOFTWARE) == (events[b].type == PERF_TYPE_SOFTWARE);
}

/* "hardware counters" where all of a class failed alike, else the names. */
static void name_events(const hl_perf *p, hl_perf_event first, hl_text *out) {
  bool all = true;
  for (int e = 0; e < HL_PERF_EVENTS; e++)
    all = all && (p->errors[e] == p->errors[first] || !same_class((hl_perf_event)e, first));
  if (all && events[first].type != PERF_TYPE_SOFTWARE) {
    hl_text_append(out, "hardware counters");
    return;
  }
  for (int e = (int)first; e < HL_PERF_EVENTS; e++)
    if (p->errors[e] == p->errors[first] && same_class((hl_perf_event)e, first))
      hl_text_format(out, "%s%s", e > (int)first ? ", " : "", events[e].name);
}

static bool is_told(const hl_perf *p, int e) {
  for (int earlier = 0; earlier < e; earlier++)
    if (p->errors[earlier] == p->errors[e] && same_class((hl_perf_event)earlier, (hl_perf_event)e))
      return true;
  return false;
}

void hl_perf_explain(const hl_perf *perf, char *ret_text, size_t size) {
  hl_text all = HL_TEXT_INIT;
  char text[256];
  for (int e = 0; e < HL_PERF_EVENTS; e++) {
    if (perf->errors[e] == 0 || is_told(perf, e)) continue;
    if (all.length) hl_text_append(&all, "; ");
    name_events(perf, (hl_perf_event)e, &all);
    hl_text_format(&all, ": %s", remedy(perf, perf->errors[e], text, sizeof text));
  }
  snprintf(ret_text, size, "%s", all.data);
  hl_text_release(&all);
}
