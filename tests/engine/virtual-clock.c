/*
 * A clock of its own to preload: in a worker no time passes but 2 µs with each read of a clock,
 * and what a sleep asks for, which ends at once. What is measured is then the same each time,
 * however busy the machine, and seconds of sleep take none. The runner's clock stays real.
 *
 * With VIRTUAL_CLOCK=FILE (16 bytes of zeros) all processes share one such clock, for commands that
 * sleep and are timed. Only the runner's own sleeps, between two looks at others, stay real then.
 *
 * With VIRTUAL_CLOCK_JUMP="SLEEPS NS" the monotonic clock alone jumps by so many nanoseconds after
 * so many sleeps; with "still" it stands.
 *
 * Who waits for another with a limit (pthread_cond_timedwait) waits as long as the clock says is
 * left, in real time.
 *
 * Sleeps of one thread at a time: those of two would be added up. And each step must read the clock
 * or sleep (null.spin_ns, faulty.step_us): what is computed takes no time, and no budget ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const int64_t tick_ns = 2000, second_ns = 1000000000;

typedef struct course {
  _Atomic int64_t began_ns;  /* by the monotonic clock */
  _Atomic int64_t passed_ns; /* since then */
} course;

static course own, *shared = &own;
static bool reads, sleeps; /* whether they are virtual here */
static bool still;
static _Atomic int64_t sleeps_left = INT64_MAX; /* until the jump */
static int64_t jump_ns;

static int64_t ns_of(const struct timespec *t) {
  return (int64_t)t->tv_sec * second_ns + t->tv_nsec;
}

static bool is_virtual(clockid_t id) {
  return reads && (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME);
}

static bool share(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  void *memory =
      fd < 0 ? MAP_FAILED : mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED) return false;
  shared = memory;
  return true;
}

static void plan_jump(const char *text) {
  long long after = 0, by = 0;
  still = strcmp(text, "still") == 0;
  if (still || sscanf(text, "%lld %lld", &after, &by) != 2) return;
  sleeps_left = after;
  jump_ns = by;
}

__attribute__((constructor)) static void begin(void) {
  char text[4096] = "";
  FILE *file = fopen("/proc/self/cmdline", "r");
  size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  size_t first = strlen(text) + 1;
  const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
  const char *path = getenv("VIRTUAL_CLOCK");
  bool is_worker = first < n && strcmp(&text[first], "worker") == 0;
  reads = path ? share(path) : is_worker;
  sleeps = reads && (is_worker || strcmp(name, "hotlap") != 0);
  if (reads && getenv("VIRTUAL_CLOCK_JUMP")) plan_jump(getenv("VIRTUAL_CLOCK_JUMP"));
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  int64_t none = 0;
  atomic_compare_exchange_strong(&shared->began_ns, &none, ns_of(&now));
}

static bool is_time(const struct timespec *t) {
  return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < second_ns;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t) {
  if (!is_virtual(id)) return (int)syscall(SYS_clock_gettime, id, t);
  int64_t ns = shared->began_ns + atomic_fetch_add(&shared->passed_ns, tick_ns);
  if (id == CLOCK_MONOTONIC && sleeps_left <= 0) ns += jump_ns;
  if (id == CLOCK_MONOTONIC && still) ns = shared->began_ns;
  t->tv_sec = ns / second_ns;
  t->tv_nsec = ns % second_ns;
  return 0;
}

/* Returns an error number, as the standard has it. */
EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec *t,
                           struct timespec *left) {
  if (!sleeps || !is_time(t) || (flags & TIMER_ABSTIME && !is_virtual(id)))
    return syscall(SYS_clock_nanosleep, id, flags, t, left) == 0 ? 0 : errno;
  atomic_fetch_sub(&sleeps_left, 1);
  if (!(flags & TIMER_ABSTIME)) {
    atomic_fetch_add(&shared->passed_ns, ns_of(t));
    return 0;
  }
  int64_t until = ns_of(t) - shared->began_ns, now = shared->passed_ns;
  while (now < until && !atomic_compare_exchange_weak(&shared->passed_ns, &now, until)) {
  }
  return 0;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *left) {
  int failed = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
  if (failed) errno = failed;
  return failed ? -1 : 0;
}

EXPORT int usleep(useconds_t us) {
  const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
  return nanosleep(&t, NULL);
}

/* The kernel waits until a time of its own clock: one of this clock could be long past there, and
 * who waits again and again would never rest. Whose clock a condition has is not said, but the
 * system's stands at decades. */
EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *t) {
  static const time_t years_s = 1000000000;
  if (!is_time(t)) return EINVAL;
  if (t->tv_sec > years_s) return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, t);
  struct timespec until = *t;
  if (reads) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    int64_t ns = ns_of(&now) + ns_of(t) - shared->began_ns - shared->passed_ns;
    until.tv_sec = ns > 0 ? ns / second_ns : 0;
    until.tv_nsec = ns > 0 ? ns % second_ns : 0;
  }
  return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}
