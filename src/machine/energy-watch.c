#include "machine/energy-watch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double longest_period_s = 10;

struct hl_energy_watch {
  hl_rapl rapl;
  bool started, stop;
  pthread_t thread;
  pthread_mutex_t lock; /* for all below, and stop */
  pthread_cond_t wake;
  bool in_slice;
  hl_rapl_reading last;
  hl_rapl_energy sum;
};

/* Adds what was used since the last reading. Called with the lock held. */
static void advance(hl_energy_watch *w) {
  hl_rapl_reading now;
  hl_rapl_energy step;
  hl_rapl_read(&w->rapl, &now);
  hl_rapl_difference(&w->rapl, &w->last, &now, &step);
  w->sum.seconds += step.seconds;
  w->sum.package_j += step.package_j;
  w->sum.memory_j += step.memory_j;
  if (step.problem) w->sum.problem = step.problem;
  w->last = now;
}

static void *read_in_time(void *context) {
  hl_energy_watch *w = context;
  /* Twice as often as it takes: the thread may wake late. */
  double half = w->rapl.longest_s / 2, period = half < longest_period_s ? half : longest_period_s;
  pthread_mutex_lock(&w->lock);
  while (!w->stop) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)(period * 1e9);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&w->wake, &w->lock, &until);
    if (!w->stop && w->in_slice) advance(w);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

hl_status hl_energy_watch_open(const char *root, hl_energy_watch **ret_watch, hl_error *error) {
  hl_energy_watch *w = calloc(1, sizeof *w);
  if (!w) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to watch energy");
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&w->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&w->lock, NULL);
  hl_rapl_open(root, &w->rapl);
  int failed = w->rapl.count ? pthread_create(&w->thread, NULL, read_in_time, w) : 0;
  if (failed) {
    hl_energy_watch_close(w);
    errno = failed;
    return hl_error_errno(error, HL_UNAVAILABLE, "cannot start a thread to watch energy");
  }
  w->started = w->rapl.count > 0;
  *ret_watch = w;
  return HL_OK;
}

void hl_energy_watch_close(hl_energy_watch *watch) {
  if (!watch) return;
  if (watch->started) {
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
  }
  pthread_cond_destroy(&watch->wake);
  pthread_mutex_destroy(&watch->lock);
  free(watch);
}

void hl_energy_watch_begin(hl_energy_watch *watch) {
  if (!watch->started) return;
  pthread_mutex_lock(&watch->lock);
  watch->sum = (hl_rapl_energy){0};
  watch->in_slice = true;
  hl_rapl_read(&watch->rapl, &watch->last);
  pthread_mutex_unlock(&watch->lock);
}

void hl_energy_watch_end(hl_energy_watch *watch, hl_rapl_energy *ret_slice) {
  if (!watch->started) {
    *ret_slice =
        (hl_rapl_energy){.seconds = (double)NAN, .package_j = (double)NAN, .memory_j = (double)NAN};
    ret_slice->problem = watch->rapl.reason;
    return;
  }
  pthread_mutex_lock(&watch->lock);
  advance(watch);
  watch->in_slice = false;
  *ret_slice = watch->sum;
  pthread_mutex_unlock(&watch->lock);
}

double hl_energy_watch_idle(hl_energy_watch *watch, uint64_t duration_ns) {
  if (!watch->started) return (double)NAN;
  struct timespec left = {.tv_sec = (time_t)(duration_ns / 1000000000),
                          .tv_nsec = (long)(duration_ns % 1000000000)};
  hl_rapl_energy used;
  hl_energy_watch_begin(watch);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  hl_energy_watch_end(watch, &used);
  return used.seconds > 0 ? used.package_j / used.seconds : (double)NAN;
}
