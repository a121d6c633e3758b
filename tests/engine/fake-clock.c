/*
 * A clock_gettime to preload: in a worker, CLOCK_MONOTONIC jumps by FAKE_CLOCK_NS nanoseconds when
 * FAKE_CLOCK_AT_MS milliseconds have passed since the first read, or stands still if that is
 * "still".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t at_ns = -1, by_ns, first_ns;
static bool still;

static int64_t real_ns(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  char text[256] = "";
  FILE *file = fopen("/proc/self/cmdline", "r");
  size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\0') text[i] = ' ';
  const char *at = getenv("FAKE_CLOCK_AT_MS"), *by = getenv("FAKE_CLOCK_NS");
  if (!strstr(text, " worker") || !at) return;
  first_ns = real_ns();
  still = strcmp(at, "still") == 0;
  at_ns = still ? 0 : atoll(at) * 1000000;
  by_ns = by ? atoll(by) : 0;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) {
  if (id != CLOCK_MONOTONIC || at_ns < 0) return (int)syscall(SYS_clock_gettime, id, t);
  int64_t ns = still ? first_ns : real_ns();
  if (!still && ns - first_ns > at_ns) ns += by_ns;
  t->tv_sec = ns / 1000000000;
  t->tv_nsec = ns % 1000000000;
  return 0;
}
