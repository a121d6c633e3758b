#include <hotlap/hotlap.h>

#include "base/clock.h"
#include "monitor/events.h"
#include "monitor/log.h"
#include "monitor/ring.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 4096, FLUSH_MOST_S = 10 };

struct hl_monitor {
  hl_ring *ring;
  _Atomic uint64_t invalid;
  sem_t wake; /* posted where the ring is half full, to flush and to end */
  _Atomic bool ending;
  pid_t owner; /* the process that has the thread */
  pthread_t thread;
  bool forgotten; /* freed within on_event: the thread frees it at its end */
  uint32_t flush_ms;
  /* What follows is the thread's; under the lock where others read it. */
  hl_log log;
  hl_inference *chunk; /* CHUNK of them */
  hl_text lines;
  hl_events *events;
  uint64_t told_dropped;
  pthread_mutex_t lock;
  pthread_cond_t drained;
  uint64_t written, failed_lines;
  hl_error failure; /* of the first line since the last flush that could not be written */
};

const char *hl_version(void) {
  return HL_VERSION;
}

bool hl_monitor_log_inference(hl_monitor *monitor, uint32_t batch_size, double elapsed_s,
                              double memory_mb) {
  if (batch_size == 0 || !(elapsed_s > 0) || isinf(elapsed_s)) {
    atomic_fetch_add_explicit(&monitor->invalid, 1, memory_order_relaxed);
    return false;
  }
  const hl_inference record = {.time_ns = hl_clock_wall_ns(),
                               .elapsed_s = elapsed_s,
                               .memory_mb = memory_mb,
                               .batch_size = batch_size};
  hl_ring_answer answer = hl_ring_push(monitor->ring, &record);
  if (answer == HL_RING_HALF) sem_post(&monitor->wake);
  return answer != HL_RING_FULL;
}

static int by_time(const void *a, const void *b) {
  uint64_t x = ((const hl_inference *)a)->time_ns, y = ((const hl_inference *)b)->time_ns;
  return (x > y) - (x < y);
}

static void append(hl_monitor *m, size_t lines) {
  hl_error error = {0};
  hl_status status = m->lines.failed
                         ? hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for lines of the log")
                         : hl_log_append(&m->log, m->lines.data, m->lines.length, &error);
  m->lines.failed = false;
  if (!status) return;
  pthread_mutex_lock(&m->lock);
  m->failed_lines += lines;
  if (!m->failure.status) m->failure = error;
  pthread_mutex_unlock(&m->lock);
}

/* Whether there may be more. */
static bool drain(hl_monitor *m) {
  size_t n = hl_ring_drain(m->ring, m->chunk, CHUNK);
  uint64_t dropped = hl_ring_dropped(m->ring) - m->told_dropped;
  qsort(m->chunk, n, sizeof *m->chunk, by_time);
  for (size_t i = 0; i < n; i++) hl_events_add(m->events, &m->chunk[i], &m->lines);
  if (dropped) hl_events_dropped(m->events, dropped, &m->lines);
  m->told_dropped += dropped;
  hl_events_tick(m->events, &m->lines);
  if (m->log.fd >= 0 && (m->lines.length || m->lines.failed)) append(m, n + (dropped > 0));
  hl_text_clear(&m->lines);
  if (n) {
    pthread_mutex_lock(&m->lock);
    m->written += n;
    pthread_cond_broadcast(&m->drained);
    pthread_mutex_unlock(&m->lock);
  }
  return n == CHUNK;
}

static void release(hl_monitor *m, bool is_owner) {
  hl_events_free(m->events, is_owner);
  if (is_owner) hl_log_unlock(&m->log);
  hl_log_close(&m->log);
  hl_ring_free(m->ring);
  free(m->chunk);
  hl_text_release(&m->lines);
  free(m);
}

static void end(hl_monitor *m) {
  sem_destroy(&m->wake);
  pthread_cond_destroy(&m->drained);
  pthread_mutex_destroy(&m->lock);
  release(m, true);
}

static void *watch(void *argument) {
  hl_monitor *m = argument;
  for (;;) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t at = (uint64_t)until.tv_nsec + (uint64_t)m->flush_ms * 1000000u;
    until.tv_sec += (time_t)(at / 1000000000u);
    until.tv_nsec = (long)(at % 1000000000u);
    while (sem_clockwait(&m->wake, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
    }
    bool ending = atomic_load(&m->ending); /* before: what was pushed until then is taken */
    while (drain(m)) {
    }
    if (ending) break;
  }
  if (m->forgotten) end(m);
  return NULL;
}

static hl_status configure(const hl_monitor_config *given, hl_monitor_config *ret,
                           hl_error *error) {
  *ret = (hl_monitor_config){.size = sizeof *ret};
  if (given) {
    if (given->size < sizeof given->size || given->size > 4096)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "a monitor's configuration has size %u; begin with HL_MONITOR_CONFIG",
                          given->size);
    memcpy(ret, given, given->size < sizeof *ret ? given->size : sizeof *ret);
  }
  if (!ret->flush_ms) ret->flush_ms = 100;
  if (!ret->rotate_bytes) ret->rotate_bytes = (uint64_t)64 << 20;
  if (!ret->rotate_keep) ret->rotate_keep = 8;
  if (!ret->ring_records) ret->ring_records = 65536;
  if (ret->flush_ms > 60000)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "flush_ms %u; 60000 at most", ret->flush_ms);
  if (ret->rotate_keep > 1000)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "rotate_keep %u; 1000 at most",
                        ret->rotate_keep);
  if (ret->rotate_bytes < 4096)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "rotate_bytes %llu; 4096 at least",
                        (unsigned long long)ret->rotate_bytes);
  return HL_OK;
}

/* Signals are for the program's own threads. */
static int start_thread(hl_monitor *m) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&m->thread, NULL, watch, m);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed;
}

static hl_status open_all(hl_monitor *m, const hl_monitor_config *config, hl_error *error) {
  m->chunk = malloc(CHUNK * sizeof *m->chunk);
  if (!m->chunk) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a monitor");
  hl_status status = hl_events_new(config, &m->events, error);
  if (!status) status = hl_ring_new(config->ring_records, &m->ring, error);
  if (status || !config->path) return status;
  HL_CLEANUP(hl_text_release) hl_text header = HL_TEXT_INIT;
  hl_events_header(m->events, &header);
  return hl_log_open(config->path, config->rotate_bytes, config->rotate_keep, header.data, &m->log,
                     error);
}

hl_status hl_monitor_new(const hl_monitor_config *config, hl_monitor **ret_monitor,
                         hl_error *error) {
  hl_monitor_config complete;
  hl_status status = configure(config, &complete, error);
  if (status) return status;
  hl_monitor *m = calloc(1, sizeof *m);
  if (!m) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a monitor");
  m->log.fd = -1;
  m->lines = (hl_text)HL_TEXT_INIT;
  m->flush_ms = complete.flush_ms;
  m->owner = getpid();
  if ((status = open_all(m, &complete, error))) {
    release(m, true);
    return status;
  }
  pthread_mutex_init(&m->lock, NULL);
  pthread_cond_init(&m->drained, NULL);
  sem_init(&m->wake, 0, 0);
  int failed = start_thread(m);
  if (failed) {
    release(m, true);
    errno = failed;
    return hl_error_errno(error, HL_UNAVAILABLE, "cannot start the monitor's thread");
  }
  *ret_monitor = m;
  return HL_OK;
}

hl_status hl_monitor_flush(hl_monitor *m, hl_error *error) {
  if (getpid() != m->owner)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "the monitor's thread is in the process that forked this one. Remedy: a "
                        "monitor for each process");
  if (pthread_equal(pthread_self(), m->thread))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a monitor cannot be flushed from its on_event, which the log waits for");
  uint64_t target = hl_ring_pushed(m->ring);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += FLUSH_MOST_S;
  sem_post(&m->wake);
  int failed = 0;
  pthread_mutex_lock(&m->lock);
  while (m->written < target && failed == 0)
    failed = pthread_cond_timedwait(&m->drained, &m->lock, &until);
  hl_error failure = m->failure;
  m->failure = (hl_error){0};
  pthread_mutex_unlock(&m->lock);
  if (failed)
    return hl_error_set(error, HL_TIMED_OUT, "the monitor has not written all after %d s",
                        FLUSH_MOST_S);
  if (failure.status && error) *error = failure;
  return failure.status;
}

void hl_monitor_get_stats(hl_monitor *m, hl_monitor_stats *ret_stats) {
  hl_monitor_stats stats = {.size = ret_stats->size};
  pthread_mutex_lock(&m->lock);
  stats.written = m->written;
  stats.failed_writes = m->failed_lines;
  pthread_mutex_unlock(&m->lock);
  hl_events_counts(m->events, &stats);
  stats.logged = hl_ring_pushed(m->ring);
  stats.dropped = hl_ring_dropped(m->ring);
  stats.invalid = atomic_load_explicit(&m->invalid, memory_order_relaxed);
  memcpy(ret_stats, &stats, stats.size < sizeof stats ? stats.size : sizeof stats);
}

void hl_monitor_free(hl_monitor *m) {
  if (!m) return;
  if (getpid() != m->owner) {
    release(m, false);
    return;
  }
  pthread_t thread = m->thread;
  atomic_store(&m->ending, true);
  if (pthread_equal(pthread_self(), thread)) { /* which cannot wait for itself */
    m->forgotten = true;
    hl_events_silence(m->events);
    sem_post(&m->wake);
    pthread_detach(thread);
    return;
  }
  sem_post(&m->wake);
  pthread_join(thread, NULL);
  end(m);
}
