/*
 * bench/monitor - nanoseconds of a call of hl_monitor_log_inference, with 1, 2, 4, ... threads.
 *
 *     build/tests/bench/bench-monitor [FOLDER]        a log is written in FOLDER (default: none)
 *
 * Each thread logs bursts of 1000 records and then waits until the monitor has drained them, since
 * a ring that is full refuses within less time than it takes; the time of a burst is that of its
 * calls, the clock's two reads included. Told are the median and the 99th percentile of the bursts'
 * means, and the same for a loop that does nothing but read the clock as the call itself does once.
 */
#include <hotlap/hotlap.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 1000, BURSTS = 400, MOST_THREADS = 64 };

typedef struct job {
  hl_monitor *monitor;
  pthread_barrier_t *barrier;
  bool flushes;
  double ns[BURSTS];
  size_t refused;
} job;

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *run(void *argument) {
  job *j = argument;
  for (int b = 0; b < BURSTS; b++) {
    pthread_barrier_wait(j->barrier);
    double start = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < BURST; i++)
      j->refused += j->monitor ? !hl_monitor_log_inference(j->monitor, 32, 0.0125, 812.5)
                               : now_ns(CLOCK_REALTIME) < 0;
    j->ns[b] = (now_ns(CLOCK_MONOTONIC) - start) / BURST;
    /* All have ended their burst; then the first flushes. */
    pthread_barrier_wait(j->barrier);
    if (j->flushes) hl_monitor_flush(j->monitor, NULL);
  }
  return NULL;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const char *name, hl_monitor *monitor, int threads) {
  static job jobs[MOST_THREADS];
  static double all[MOST_THREADS * BURSTS];
  pthread_t ids[MOST_THREADS];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  size_t refused = 0;
  for (int i = 0; i < threads; i++) {
    jobs[i] = (job){.monitor = monitor, .barrier = &barrier, .flushes = monitor && i == 0};
    pthread_create(&ids[i], NULL, run, &jobs[i]);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    memcpy(all + i * BURSTS, jobs[i].ns, sizeof jobs[i].ns);
    refused += jobs[i].refused;
  }
  pthread_barrier_destroy(&barrier);
  size_t n = (size_t)threads * BURSTS;
  qsort(all, n, sizeof *all, ascending);
  printf("%-10s %3d thread%s  median %7.1f ns  p99 %8.1f ns  refused %zu\n", name, threads,
         threads == 1 ? " " : "s", all[n / 2], all[n * 99 / 100], refused);
}

int main(int argc, char **argv) {
  char path[4096];
  hl_monitor_config config = HL_MONITOR_CONFIG;
  if (argc > 1) {
    snprintf(path, sizeof path, "%s/bench-monitor.jsonl", argv[1]);
    config.path = path;
  }
  hl_error error = {0};
  hl_monitor *monitor;
  if (hl_monitor_new(&config, &monitor, &error)) {
    fprintf(stderr, "%s\n", error.msg);
    return 1;
  }
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  for (int threads = 1; threads <= 2 * processors && threads <= MOST_THREADS; threads *= 2) {
    measure("clock", NULL, threads);
    measure("monitor", monitor, threads);
  }
  hl_monitor_free(monitor);
  return 0;
}
