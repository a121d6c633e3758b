/* Counters: the kernel's own where this machine has them, and a fake kernel for the rest: groups,
 * turns, denials. */
#include "fake-tree.h"
#include "machine/counters.h"
#include "machine/perf-events.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static bool is_software(hl_perf_event e) {
  return e >= HL_PERF_TASK_CLOCK;
}

/* -- the kernel's counters ----------------------------------------------------------------------
 */

static void spin(double seconds) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  double until = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
  while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < until)
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

enum { touched_pages = 5000 };

/* Faults on so many pages, and works. */
static void *work(void *context) {
  (void)context;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = touched_pages * page;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < bytes; i += page) memory[i] = 1;
  munmap(memory, bytes);
  spin(0.2);
  return NULL;
}

static void threads_count_as_getrusage_says(void **state) {
  (void)state;
  hl_perf perf;
  hl_perf_open(NULL, NULL, &perf);
  if (perf.fds[HL_PERF_TASK_CLOCK] < 0 || perf.fds[HL_PERF_PAGE_FAULTS] < 0) {
    hl_perf_release(&perf);
    skip();
  }
  hl_counter_source source;
  hl_counters first, last, rusage;
  hl_perf_reading before, after;
  hl_perf_counts counts;
  pthread_t threads[2];
  hl_counter_source_init(&source, NULL);
  hl_perf_read(&perf, &before);
  hl_counters_read(&source, &first);
  for (size_t i = 0; i < HL_COUNT(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
  work(NULL);
  for (size_t i = 0; i < HL_COUNT(threads); i++) pthread_join(threads[i], NULL);
  hl_counters_read(&source, &last);
  hl_perf_read(&perf, &after);
  hl_counters_difference(&first, &last, &rusage);
  hl_counter_source_release(&source);
  hl_perf_difference(&perf, &before, &after, &counts);
  double cpu_ns = (double)(rusage.user_ns + rusage.system_ns);
  double faults = (double)(rusage.minor_faults + rusage.major_faults);
  print_message("task clock %.0f, getrusage %.0f ns; faults %.0f, %.0f; switches %g, moves %g\n",
                counts.values[HL_PERF_TASK_CLOCK], cpu_ns, counts.values[HL_PERF_PAGE_FAULTS],
                faults, counts.values[HL_PERF_CONTEXT_SWITCHES], counts.values[HL_PERF_MIGRATIONS]);
  /* What a hypervisor gave to others is time of the task clock and none of getrusage's. */
  double stolen_ns = rusage.steal_s > 0 ? rusage.steal_s * 1e9 : 0;
  assert_true(cpu_ns >= 0.55e9);
  assert_true(fabs(counts.values[HL_PERF_TASK_CLOCK] - cpu_ns) < 0.05 * cpu_ns + stolen_ns);
  assert_true(faults >= 3 * touched_pages);
  assert_true(fabs(counts.values[HL_PERF_PAGE_FAULTS] / faults - 1) < 0.01);
  if (perf.user_only)
    assert_true(isnan(counts.values[HL_PERF_CONTEXT_SWITCHES]));
  else
    assert_true(counts.values[HL_PERF_CONTEXT_SWITCHES] >= 1); /* joining waits */
  assert_true(counts.running > 0);
  hl_perf_release(&perf);
}

static void an_interval_without_work_is_empty(void **state) {
  (void)state;
  hl_perf perf;
  hl_perf_reading now;
  hl_perf_counts counts;
  hl_perf_open(NULL, NULL, &perf);
  hl_perf_read(&perf, &now);
  hl_perf_difference(&perf, &now, &now, &counts);
  for (int e = 0; e < HL_PERF_EVENTS; e++) assert_true(isnan(counts.values[e]));
  hl_perf_release(&perf);
  hl_perf_read(&perf, &now); /* of what is closed nothing is known */
  for (int e = 0; e < HL_PERF_EVENTS; e++) assert_false(now.known[e]);
}

/* -- a kernel of our own ------------------------------------------------------------------------
 */

enum { most_fds = 64, first_fd = 1000 };

static struct {
  int kernel_errno, hardware_errno, cache_errno, all_errno, group_errno; /* 0: granted */
  int opened, closed, attempts;
  struct perf_event_attr attributes[most_fds];
  int groups[most_fds];
  uint64_t value[most_fds], enabled[most_fds], running[most_fds];
  bool cut_short;
} fake;

static int fake_refuse(int number) {
  errno = number;
  return -1;
}

static int fake_open(const struct perf_event_attr *a, int group_fd) {
  fake.attempts++;
  bool hardware = a->type != PERF_TYPE_SOFTWARE;
  if (fake.all_errno) return fake_refuse(fake.all_errno);
  if (fake.kernel_errno && !a->exclude_kernel) return fake_refuse(fake.kernel_errno);
  if (fake.hardware_errno && hardware) return fake_refuse(fake.hardware_errno);
  if (fake.cache_errno && a->type == PERF_TYPE_HW_CACHE) return fake_refuse(fake.cache_errno);
  if (fake.group_errno && group_fd >= 0) return fake_refuse(fake.group_errno);
  assert_true(a->size == sizeof *a && a->inherit && !a->disabled);
  assert_int_equal(a->read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
  assert_true(fake.opened < most_fds);
  fake.attributes[fake.opened] = *a;
  fake.groups[fake.opened] = group_fd;
  return first_fd + fake.opened++;
}

static ssize_t fake_read(int fd, void *buffer, size_t size) {
  size_t i = (size_t)(fd - first_fd);
  const uint64_t all[3] = {fake.value[i], fake.enabled[i], fake.running[i]};
  if (size < sizeof all) return fake_refuse(ENOSPC);
  memcpy(buffer, all, sizeof all);
  return fake.cut_short ? 8 : (ssize_t)sizeof all;
}

static int fake_close(int fd) {
  assert_true(fd >= first_fd && fd < first_fd + fake.opened);
  fake.closed++;
  return 0;
}

static const hl_perf_calls fake_calls = {fake_open, fake_read, fake_close};

static int clear_fake(void **state) {
  (void)state;
  memset(&fake, 0, sizeof fake);
  return 0;
}

/* Advances an event by a count that had `running` of `enabled` nanoseconds. */
static void advance(const hl_perf *perf, hl_perf_event e, uint64_t value, uint64_t enabled,
                    uint64_t running) {
  size_t i = (size_t)(perf->fds[e] - first_fd);
  fake.value[i] += value;
  fake.enabled[i] += enabled;
  fake.running[i] += running;
}

static void counts_are_scaled_by_their_turns(void **state) {
  (void)state;
  hl_perf perf;
  hl_perf_reading before, after;
  hl_perf_counts counts;
  char text[512];
  hl_perf_open(&fake_calls, NULL, &perf);
  assert_false(perf.user_only);
  hl_perf_explain(&perf, text, sizeof text);
  assert_string_equal(text, "");
  /* Before: of another share, which must not mix with what comes. */
  for (int e = 0; e < HL_PERF_EVENTS; e++) advance(&perf, (hl_perf_event)e, 77, 1000, 900);
  hl_perf_read(&perf, &before);
  advance(&perf, HL_PERF_CYCLES, 3000, 1000000, 1000000);
  advance(&perf, HL_PERF_INSTRUCTIONS, 6000, 1000000, 1000000);
  advance(&perf, HL_PERF_BRANCHES, 500, 1000000, 250000);    /* 2000 */
  advance(&perf, HL_PERF_BRANCH_MISSES, 5, 1000000, 250000); /* 20 */
  advance(&perf, HL_PERF_LLC_LOADS, 0, 1000000, 500000);     /* none */
  advance(&perf, HL_PERF_LLC_MISSES, 0, 1000000, 0);         /* no turn */
  advance(&perf, HL_PERF_DTLB_MISSES, 40, 1000000, 1000001); /* a rounding of the kernel's */
  advance(&perf, HL_PERF_TASK_CLOCK, 900000, 1000000, 1000000);
  hl_perf_read(&perf, &after);
  hl_perf_difference(&perf, &before, &after, &counts);
  assert_true(counts.values[HL_PERF_CYCLES] == 3000);
  assert_true(counts.values[HL_PERF_INSTRUCTIONS] == 6000);
  assert_true(counts.values[HL_PERF_BRANCHES] == 2000);
  assert_true(counts.values[HL_PERF_BRANCH_MISSES] == 20);
  assert_true(counts.values[HL_PERF_LLC_LOADS] == 0);
  assert_true(isnan(counts.values[HL_PERF_LLC_MISSES]));
  assert_true(counts.values[HL_PERF_DTLB_MISSES] == 40);
  assert_true(counts.values[HL_PERF_TASK_CLOCK] == 900000);
  assert_true(isnan(counts.values[HL_PERF_MIGRATIONS])); /* no time passed for it */
  assert_true(counts.running == 0.25);
  fake.value[perf.fds[HL_PERF_CYCLES] - first_fd] = 1; /* back */
  hl_perf_read(&perf, &after);
  hl_perf_difference(&perf, &before, &after, &counts);
  assert_true(isnan(counts.values[HL_PERF_CYCLES]));
  fake.cut_short = true;
  hl_perf_read(&perf, &after);
  hl_perf_difference(&perf, &before, &after, &counts);
  assert_true(isnan(counts.values[HL_PERF_INSTRUCTIONS]) && isnan(counts.running));
  hl_perf_release(&perf);
  assert_int_equal(fake.closed, fake.opened);
}

static void quotients_are_of_one_group(void **state) {
  (void)state;
  static const hl_perf_event pairs[][2] = {{HL_PERF_CYCLES, HL_PERF_INSTRUCTIONS},
                                           {HL_PERF_BRANCHES, HL_PERF_BRANCH_MISSES},
                                           {HL_PERF_LLC_LOADS, HL_PERF_LLC_MISSES}};
  hl_perf perf;
  hl_perf_open(&fake_calls, NULL, &perf);
  assert_int_equal(fake.opened, HL_PERF_EVENTS);
  int members = 0;
  for (size_t i = 0; i < HL_COUNT(pairs); i++)
    assert_int_equal(fake.groups[perf.fds[pairs[i][1]] - first_fd], perf.fds[pairs[i][0]]);
  for (int i = 0; i < fake.opened; i++) members += fake.groups[i] >= 0;
  assert_int_equal(members, HL_COUNT(pairs));
  assert_string_equal(hl_perf_event_name(HL_PERF_LLC_MISSES), "llc_misses");
  const struct perf_event_attr *llc = &fake.attributes[perf.fds[HL_PERF_LLC_MISSES] - first_fd];
  assert_int_equal(llc->type, PERF_TYPE_HW_CACHE);
  assert_int_equal(llc->config, 0x10002); /* man perf_event_open: LL 2, read 0 << 8, miss 1 << 16 */
  hl_perf_release(&perf);
}

static void a_group_that_does_not_fit_is_taken_apart(void **state) {
  (void)state;
  hl_perf perf;
  fake.group_errno = EINVAL;
  hl_perf_open(&fake_calls, NULL, &perf);
  for (int e = 0; e < HL_PERF_EVENTS; e++) assert_true(perf.fds[e] >= 0);
  hl_perf_release(&perf);
}

static void a_hidden_kernel_leaves_user_mode(void **state) {
  (void)state;
  fake_tree tree;
  hl_perf perf;
  char text[512];
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/sys/kernel/perf_event_paranoid", "2\n");
  fake.kernel_errno = EACCES;
  hl_perf_open(&fake_calls, tree.root, &perf);
  assert_true(perf.user_only);
  for (int e = 0; e < HL_PERF_EVENTS; e++)
    assert_int_equal(perf.fds[e] < 0, e == HL_PERF_CONTEXT_SWITCHES || e == HL_PERF_MIGRATIONS);
  for (int i = 0; i < fake.opened; i++)
    assert_true(fake.attributes[i].exclude_kernel && fake.attributes[i].exclude_hv);
  hl_perf_explain(&perf, text, sizeof text);
  assert_string_equal(text, "context_switches, migrations: they happen in the kernel, which is "
                            "hidden (kernel.perf_event_paranoid is 2): sudo sysctl "
                            "kernel.perf_event_paranoid=1");
  hl_perf_release(&perf);
  assert_int_equal(fake.closed, fake.opened);
  fake_tree_release(&tree);
}

static const struct {
  const char *what, *paranoid;
  int all_errno, hardware_errno, cache_errno;
  const char *says;
} refusals[] = {
    {"a virtual machine", "1\n", 0, ENOENT, 0,
     "hardware counters: this processor does not count them, or a virtual machine hides its "
     "counters"},
    {"no events of caches", "1\n", 0, 0, ENOENT,
     "llc_loads, llc_misses, dtlb_misses: this processor does not count them, or a virtual machine "
     "hides its counters"},
    {"Debian's paranoia", "3\n", EACCES, 0, 0,
     "kernel.perf_event_paranoid is 3: sudo sysctl kernel.perf_event_paranoid=1, or 2"},
    {"a container", "2\n", EPERM, 0, 0, "docker run --cap-add PERFMON"},
    {"a container that shows no setting", NULL, EPERM, 0, 0, "docker run --cap-add PERFMON"},
    {"seccomp", "2\n", ENOSYS, 0, 0, "has no perf_event_open"},
    {"too many files", "1\n", EMFILE, 0, 0, "ulimit -n"},
    {"something else", "1\n", EIO, 0, 0, "perf_event_open: Input/output error"},
};

static void refusals_name_the_remedy(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(refusals); i++) {
    fake_tree tree;
    hl_perf perf;
    char text[512];
    clear_fake(NULL);
    fake_tree_init(&tree);
    if (refusals[i].paranoid)
      fake_tree_file(&tree, "/proc/sys/kernel/perf_event_paranoid", refusals[i].paranoid);
    fake.all_errno = refusals[i].all_errno;
    fake.hardware_errno = refusals[i].hardware_errno;
    fake.cache_errno = refusals[i].cache_errno;
    hl_perf_open(&fake_calls, tree.root, &perf);
    for (int e = 0; e < HL_PERF_EVENTS; e++)
      if (is_software((hl_perf_event)e))
        assert_int_equal(perf.fds[e] < 0, refusals[i].all_errno != 0);
    hl_perf_explain(&perf, text, sizeof text);
    if (!strstr(text, refusals[i].says)) fail_msg("%s: %s", refusals[i].what, text);
    assert_null(strstr(text, "hidden"));
    hl_perf_release(&perf);
    fake_tree_release(&tree);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_count_as_getrusage_says),
      cmocka_unit_test(an_interval_without_work_is_empty),
      cmocka_unit_test_setup(counts_are_scaled_by_their_turns, clear_fake),
      cmocka_unit_test_setup(quotients_are_of_one_group, clear_fake),
      cmocka_unit_test_setup(a_group_that_does_not_fit_is_taken_apart, clear_fake),
      cmocka_unit_test_setup(a_hidden_kernel_leaves_user_mode, clear_fake),
      cmocka_unit_test_setup(refusals_name_the_remedy, clear_fake)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
