#include "workloads/load.h"

#include "base/clock.h"
#include "base/text.h"
#include "numeric/random.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Streams of random numbers. */
enum { stream_arrivals = 1, stream_samples = 2 };

/* A sleep may take this much longer; the rest is waited for with open eyes. */
enum { wake_early_ns = 100000 };

/* The queue, which all instances share; only the holder of `lock` touches what is below it. */
typedef struct queue {
  const hl_load_server *server;
  const hl_load_request *request;
  uint64_t *latencies; /* by number of the query; each is written by the one that served it */
  pthread_mutex_t lock;
  pthread_mutex_t gate; /* held until it is known whether all threads could be made */
  bool cancelled;
  pthread_barrier_t ready; /* all instances are warm, then: the clock runs */
  hl_random arrivals, samples;
  double next_ns;     /* intended start of the next query, after `start` */
  double last_ns;     /* of the one before it */
  uint64_t taken;     /* queries */
  uint64_t behind_ns; /* how late the last query was taken */
  uint64_t start_ns;
  bool ended;
  hl_status failed;
  hl_error error;
} queue;

/* What one thread saw. */
typedef struct instance {
  queue *queue;
  uint32_t number;
  pthread_t thread;
  uint64_t queries, batches, serve_ns, last_ns, last_intended_ns;
  hl_histogram parts[HL_LOAD_PARTS];
  uint64_t *ids, *intended; /* of a batch */
} instance;

/* A batch that an instance took. */
typedef struct batch {
  uint64_t first; /* number of its first query */
  uint32_t count;
  uint64_t taken_ns; /* when the first of them was taken */
} batch;

static inline void pause_a_moment(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static void wait_until(uint64_t when_ns) {
  uint64_t now = hl_clock_ns();
  if (when_ns > now + 2 * wake_early_ns) {
    uint64_t wake = when_ns - wake_early_ns;
    struct timespec at = {.tv_sec = (time_t)(wake / 1000000000u),
                          .tv_nsec = (long)(wake % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
  }
  while (hl_clock_ns() < when_ns) pause_a_moment();
}

/* -- arrivals ------------------------------------------------------------------------------- */

static uint64_t intended_ns(const queue *q) {
  return q->start_ns + (uint64_t)q->next_ns;
}

static void advance(queue *q) {
  q->taken++;
  q->last_ns = q->next_ns;
  if (q->request->scenario == HL_LOAD_SERVER)
    q->next_ns += -log(hl_random_uniform(&q->arrivals)) * 1e9 / q->request->qps;
}

/* Whether there is another query. Of Server the time is that of the arrival before it, else now. */
static bool has_next(const queue *q, uint64_t now) {
  const hl_load_request *r = q->request;
  if (q->ended || q->failed != HL_OK) return false;
  double at = r->scenario == HL_LOAD_SERVER ? q->last_ns : (double)(now - q->start_ns);
  if (r->scenario == HL_LOAD_OFFLINE) return q->taken < r->min_queries;
  return q->taken < r->min_queries || at < (double)r->min_ns;
}

static void take(queue *q, instance *in, batch *b) {
  in->intended[b->count] = intended_ns(q);
  uint32_t per_query = q->request->samples_per_query;
  for (uint32_t i = 0; i < per_query; i++)
    in->ids[b->count * per_query + i] = hl_random_below(&q->samples, q->server->samples);
  b->count++;
  advance(q);
}

/* Server: waits for a query, then for others to serve with it. */
static void fill_batch(queue *q, instance *in, batch *b) {
  const hl_load_request *r = q->request;
  uint64_t now = hl_clock_ns(), first = intended_ns(q);
  if (now < first) {
    wait_until(first);
    now = hl_clock_ns();
    hl_histogram_add(&in->parts[HL_LOAD_LATE], now - first);
  }
  uint64_t close_ns = first + r->timeout_ns;
  q->behind_ns = now - first;
  b->taken_ns = now;
  take(q, in, b);
  while (b->count < r->max_batch && has_next(q, now)) {
    uint64_t next = intended_ns(q);
    if (next > now) {
      if (next > close_ns) break;
      wait_until(next);
      now = hl_clock_ns();
    }
    take(q, in, b);
  }
  /* A batch that is not full starts when its time is up, not before: nobody knows the future. */
  if (b->count < r->max_batch && now < close_ns && has_next(q, now)) wait_until(close_ns);
}

static bool next_batch(queue *q, instance *in, batch *ret_batch) {
  const hl_load_request *r = q->request;
  batch b = {0};
  pthread_mutex_lock(&q->lock);
  uint64_t now = b.taken_ns = hl_clock_ns();
  if (r->max_ns && now - q->start_ns >= r->max_ns) q->ended = true;
  bool any = has_next(q, now);
  b.first = q->taken;
  if (any && r->scenario == HL_LOAD_SERVER)
    fill_batch(q, in, &b);
  else if (any) {
    if (r->scenario != HL_LOAD_OFFLINE) q->next_ns = (double)(now - q->start_ns);
    uint32_t most = r->scenario == HL_LOAD_OFFLINE ? r->max_batch : 1;
    while (b.count < most && has_next(q, now)) take(q, in, &b);
  }
  pthread_mutex_unlock(&q->lock);
  *ret_batch = b;
  return any;
}

/* -- serving -------------------------------------------------------------------------------- */

static void account(queue *q, instance *in, const batch *b, uint64_t begin_ns, uint64_t end_ns) {
  for (uint32_t i = 0; i < b->count; i++) {
    uint64_t intended = in->intended[i], latency = end_ns - intended;
    uint64_t seen = b->taken_ns > intended ? b->taken_ns : intended;
    hl_histogram_add(&in->parts[HL_LOAD_LATENCY], latency);
    hl_histogram_add(&in->parts[HL_LOAD_QUEUE], seen - intended);
    hl_histogram_add(&in->parts[HL_LOAD_BATCH], begin_ns - seen);
    hl_histogram_add(&in->parts[HL_LOAD_SERVE], end_ns - begin_ns);
    if (b->first + i < HL_LOAD_MOST_SAMPLES) q->latencies[b->first + i] = latency;
  }
  in->queries += b->count;
  in->batches++;
  in->serve_ns += end_ns - begin_ns;
  in->last_ns = end_ns;
  in->last_intended_ns = in->intended[b->count - 1];
}

static void fail(queue *q, hl_status status, const hl_error *failure) {
  pthread_mutex_lock(&q->lock);
  if (q->failed == HL_OK) {
    q->failed = status;
    q->error = *failure;
  }
  pthread_mutex_unlock(&q->lock);
}

static void warm_up(queue *q, const instance *in) {
  hl_error failure = {0};
  hl_status status = HL_OK;
  if (q->server->warm) status = q->server->warm(q->server->context, in->number, &failure);
  if (status != HL_OK) fail(q, status, &failure);
  pthread_barrier_wait(&q->ready);
  if (in->number == 0) q->start_ns = hl_clock_ns();
  pthread_barrier_wait(&q->ready);
}

static void *serve(void *context) {
  instance *in = context;
  queue *q = in->queue;
  batch b;
  warm_up(q, in);
  while (next_batch(q, in, &b)) {
    hl_error failure = {0};
    uint64_t begin = hl_clock_ns();
    hl_status status = q->server->serve(q->server->context, in->number, in->ids,
                                        b.count * q->request->samples_per_query, &failure);
    if (status == HL_OK)
      account(q, in, &b, begin, hl_clock_ns());
    else
      fail(q, status, &failure);
  }
  return NULL;
}

/* A thread's first steps: there is no run without all threads. */
static void *enter(void *context) {
  instance *in = context;
  pthread_mutex_lock(&in->queue->gate);
  bool cancelled = in->queue->cancelled;
  pthread_mutex_unlock(&in->queue->gate);
  return cancelled ? NULL : serve(in);
}

/* -- a run ---------------------------------------------------------------------------------- */

static hl_status check(const hl_load_server *server, const hl_load_request *r, hl_error *error) {
  const char *what = NULL;
  if (r->instances < 1 || r->instances > HL_LOAD_MOST_INSTANCES) what = "instances";
  if (r->max_batch < 1 || r->max_batch > HL_LOAD_MOST_BATCH) what = "the largest batch";
  if (r->samples_per_query < 1 || r->samples_per_query > HL_LOAD_MOST_BATCH)
    what = "samples a query";
  if (r->scenario == HL_LOAD_SERVER && !(r->qps > 0 && r->qps <= 1e9)) what = "the rate";
  if (r->min_queries == 0 && (r->min_ns == 0 || r->scenario == HL_LOAD_OFFLINE))
    what = "the length";
  if (server->samples == 0) what = "samples of the data set";
  return what ? hl_error_set(error, HL_INVALID_ARGUMENT, "load: %s out of range", what) : HL_OK;
}

static bool parts_init(hl_histogram parts[HL_LOAD_PARTS]) {
  bool good = true;
  for (size_t i = 0; i < HL_LOAD_PARTS; i++) good = hl_histogram_init(&parts[i]) && good;
  return good;
}

static void parts_release(hl_histogram parts[HL_LOAD_PARTS]) {
  for (size_t i = 0; i < HL_LOAD_PARTS; i++) hl_histogram_release(&parts[i]);
}

static bool instance_init(instance *in, queue *q, uint32_t number) {
  const hl_load_request *r = q->request;
  *in = (instance){.queue = q, .number = number};
  in->ids = calloc((size_t)r->max_batch * r->samples_per_query, sizeof *in->ids);
  in->intended = calloc(r->max_batch, sizeof *in->intended);
  return parts_init(in->parts) && in->ids && in->intended;
}

static void instance_release(instance *in) {
  parts_release(in->parts);
  free(in->ids);
  free(in->intended);
}

static void merge(const instance *in, hl_load_result *result, uint64_t start_ns) {
  for (size_t i = 0; i < HL_LOAD_PARTS; i++) hl_histogram_merge(&result->parts[i], &in->parts[i]);
  result->queries += in->queries;
  result->batches += in->batches;
  result->serve_ns += in->serve_ns;
  if (in->queries == 0) return;
  uint64_t lasted = in->last_ns - start_ns, arrived = in->last_intended_ns - start_ns;
  if (lasted > result->duration_ns) result->duration_ns = lasted;
  if (arrived > result->arrivals_ns) result->arrivals_ns = arrived;
}

/* Arrivals that were due when the run was cut off: drawn on, unless there are so many that this
 * would take as long as the run. */
static uint64_t count_unserved(queue *q) {
  static const double most_drawn = 1 << 24;
  const hl_load_request *r = q->request;
  if (!q->ended || r->scenario != HL_LOAD_SERVER) return 0;
  double left_ns = fmin((double)r->min_ns, (double)r->max_ns) - q->next_ns;
  double mean = left_ns * r->qps / 1e9;
  if (mean > most_drawn) return (uint64_t)mean;
  uint64_t before = q->taken;
  while (q->next_ns < (double)r->max_ns &&
         (q->taken < r->min_queries || q->last_ns < (double)r->min_ns))
    advance(q);
  return q->taken - before;
}

/* Of a run that was cut off the next query in line waits since it was due. */
static uint64_t behind_ns(const queue *q) {
  double max_ns = (double)q->request->max_ns;
  if (q->request->scenario != HL_LOAD_SERVER) return 0;
  bool waits = q->ended && q->next_ns < max_ns;
  return waits ? (uint64_t)(max_ns - q->next_ns) : q->behind_ns;
}

void hl_load_result_release(hl_load_result *result) {
  parts_release(result->parts);
  free(result->latencies);
  *result = (hl_load_result){0};
}

/* The first instance runs in the calling thread. */
static hl_status run_instances(queue *q, instance *instances, hl_error *error) {
  uint32_t count = q->request->instances, started = 1;
  if (q->request->scenario == HL_LOAD_SERVER) { /* the first arrival is random as well */
    advance(q);
    q->last_ns = 0;
    q->taken = 0;
  }
  pthread_mutex_lock(&q->gate);
  int failed = 0;
  for (; started < count && !failed; started += !failed)
    failed = pthread_create(&instances[started].thread, NULL, enter, &instances[started]);
  q->cancelled = failed != 0;
  pthread_barrier_init(&q->ready, NULL, count);
  pthread_mutex_unlock(&q->gate);
  if (!failed) serve(&instances[0]);
  for (uint32_t i = 1; i < started; i++) pthread_join(instances[i].thread, NULL);
  pthread_barrier_destroy(&q->ready);
  if (!failed) return HL_OK;
  errno = failed;
  return hl_error_errno(error, HL_IO, "cannot start thread %u of the load", started);
}

hl_status hl_load_run(const hl_load_server *server, const hl_load_request *request,
                      hl_load_result *ret_result, hl_error *error) {
  hl_status status = check(server, request, error);
  if (status != HL_OK) return status;
  queue q = {.server = server, .request = request};
  pthread_mutex_init(&q.lock, NULL);
  pthread_mutex_init(&q.gate, NULL);
  hl_random_init(&q.arrivals, request->seed, stream_arrivals);
  hl_random_init(&q.samples, request->seed, stream_samples);
  hl_load_result result = {0};
  bool good = parts_init(result.parts);
  instance *instances = calloc(request->instances, sizeof *instances);
  q.latencies = result.latencies = calloc(HL_LOAD_MOST_SAMPLES, sizeof *q.latencies);
  good = good && instances && q.latencies;
  for (uint32_t i = 0; good && i < request->instances; i++)
    good = instance_init(&instances[i], &q, i);
  if (good) {
    memset(q.latencies, 1, HL_LOAD_MOST_SAMPLES * sizeof *q.latencies); /* no page faults later */
    status = run_instances(&q, instances, error);
    for (uint32_t i = 0; i < request->instances; i++) merge(&instances[i], &result, q.start_ns);
    result.behind_ns = behind_ns(&q);
    result.unserved = count_unserved(&q);
    result.latency_count =
        result.queries < HL_LOAD_MOST_SAMPLES ? (size_t)result.queries : HL_LOAD_MOST_SAMPLES;
    if (request->scenario != HL_LOAD_SERVER) result.arrivals_ns = 0;
    if (status == HL_OK && q.failed != HL_OK) {
      status = q.failed;
      if (error) *error = q.error;
    }
  } else {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a load of %u instances",
                          request->instances);
  }
  for (uint32_t i = 0; instances && i < request->instances; i++) instance_release(&instances[i]);
  free(instances);
  pthread_mutex_destroy(&q.gate);
  pthread_mutex_destroy(&q.lock);
  if (status != HL_OK)
    hl_load_result_release(&result);
  else
    *ret_result = result;
  return status;
}
