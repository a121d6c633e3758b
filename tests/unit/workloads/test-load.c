/* Load on a server that only notes what it is asked. */
#include "base/clock.h"
#include "workloads/load.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { DATA = 10 };

typedef struct server {
  pthread_mutex_t lock;
  uint64_t samples, batches, stall_at, stall_ns, fail_at;
  uint32_t largest;
  uint64_t seen[DATA], first_ids[32];
  uint64_t instances_seen;
} server;

static hl_status serve(void *context, uint32_t instance, const uint64_t *samples, uint32_t count,
                       hl_error *error) {
  server *s = context;
  pthread_mutex_lock(&s->lock);
  uint64_t batch = s->batches++;
  for (uint32_t i = 0; i < count; i++) {
    if (s->samples + i < 32) s->first_ids[s->samples + i] = samples[i];
    if (samples[i] < DATA) s->seen[samples[i]]++;
  }
  s->samples += count;
  if (count > s->largest) s->largest = count;
  s->instances_seen |= (uint64_t)1 << instance;
  pthread_mutex_unlock(&s->lock);
  if (s->fail_at && batch + 1 == s->fail_at)
    return hl_error_set(error, HL_INTERNAL, "as the test wants");
  if (s->stall_ns && (s->stall_at == 0 || batch + 1 == s->stall_at)) {
    struct timespec stall = {.tv_nsec = (long)s->stall_ns};
    nanosleep(&stall, NULL);
  }
  return HL_OK;
}

static hl_load_result run(server *s, const hl_load_request *request) {
  pthread_mutex_init(&s->lock, NULL);
  const hl_load_server what = {.context = s, .samples = DATA, .serve = serve};
  hl_load_result result;
  assert_int_equal(hl_load_run(&what, request, &result, NULL), HL_OK);
  assert_int_equal(result.parts[HL_LOAD_LATENCY].count, result.queries);
  assert_int_equal(result.batches, s->batches);
  return result;
}

static void test_single_stream(void **state) {
  (void)state;
  server s = {0}, again = {0};
  const hl_load_request request = {.scenario = HL_LOAD_SINGLE_STREAM,
                                   .min_queries = 1000,
                                   .samples_per_query = 1,
                                   .instances = 1,
                                   .max_batch = 8,
                                   .seed = 42};
  hl_load_result result = run(&s, &request);
  assert_int_equal(result.queries, 1000);
  assert_int_equal(s.samples, 1000);
  assert_int_equal(s.largest, 1); /* the next query comes when the last is done */
  for (int i = 0; i < DATA; i++) assert_in_range(s.seen[i], 50, 150);
  assert_int_equal(result.latency_count, 1000);
  hl_load_result_release(&result);
  result = run(&again, &request);
  assert_memory_equal(s.first_ids, again.first_ids, sizeof s.first_ids); /* the seed decides */
  hl_load_result_release(&result);
}

static void test_multi_stream(void **state) {
  (void)state;
  server s = {0};
  const hl_load_request request = {.scenario = HL_LOAD_MULTI_STREAM,
                                   .min_queries = 50,
                                   .samples_per_query = 8,
                                   .instances = 1,
                                   .max_batch = 1};
  hl_load_result result = run(&s, &request);
  assert_int_equal(result.queries, 50);
  assert_int_equal(s.samples, 400);
  assert_int_equal(s.largest, 8);
  hl_load_result_release(&result);
}

static void test_offline(void **state) {
  (void)state;
  server s = {0};
  const hl_load_request request = {.scenario = HL_LOAD_OFFLINE,
                                   .min_queries = 1003,
                                   .samples_per_query = 1,
                                   .instances = 3,
                                   .max_batch = 64};
  hl_load_result result = run(&s, &request);
  assert_int_equal(result.queries, 1003);
  assert_int_equal(s.samples, 1003);
  assert_int_equal(s.largest, 64);
  assert_int_equal(result.batches, 16);
  /* All are there from the start, so the last one's latency is the whole run. */
  assert_int_equal(result.parts[HL_LOAD_LATENCY].max, result.duration_ns);
  hl_load_result_release(&result);
}

/* The number of arrivals of a Poisson process of rate 20000 in 0.25 s: 5000, deviation 71. */
static void test_server_rate(void **state) {
  (void)state;
  server s = {0};
  const hl_load_request request = {.scenario = HL_LOAD_SERVER,
                                   .qps = 20000,
                                   .min_ns = 250000000,
                                   .samples_per_query = 1,
                                   .instances = 2,
                                   .max_batch = 4,
                                   .seed = 3};
  hl_load_result result = run(&s, &request);
  assert_in_range(result.queries, 5000 - 5 * 71, 5000 + 5 * 71);
  /* The last is the first that arrives after the time, so that the run is never too short. */
  assert_in_range(result.arrivals_ns, 250000000, 260000000);
  assert_true(result.duration_ns >= result.arrivals_ns);
  assert_true(s.largest <= 4);
  assert_int_equal(result.unserved, 0);
  hl_load_result_release(&result);
}

/* A server that hesitates once: the queries that were due meanwhile waited, and say so. */
static void test_coordinated_omission(void **state) {
  (void)state;
  server s = {.stall_at = 20, .stall_ns = 100000000};
  const hl_load_request request = {.scenario = HL_LOAD_SERVER,
                                   .qps = 2000,
                                   .min_ns = 300000000,
                                   .samples_per_query = 1,
                                   .instances = 1,
                                   .max_batch = 1,
                                   .seed = 5};
  hl_load_result result = run(&s, &request);
  /* About 200 were due during the stall; half of them waited 50 ms and more. */
  assert_true(hl_histogram_above(&result.parts[HL_LOAD_LATENCY], 50000000) > 60);
  assert_true(hl_histogram_above(&result.parts[HL_LOAD_QUEUE], 50000000) > 60);
  assert_true(hl_histogram_above(&result.parts[HL_LOAD_SERVE], 50000000) <= 1 + 5);
  assert_true(result.serve_ns >= 100000000 && result.serve_ns <= result.duration_ns);
  hl_load_result_release(&result);
}

/* With time to wait, queries are served together: the parts of the latency add up. */
static void test_batching(void **state) {
  (void)state;
  server s = {0};
  const hl_load_request request = {.scenario = HL_LOAD_SERVER,
                                   .qps = 5000,
                                   .min_ns = 200000000,
                                   .samples_per_query = 1,
                                   .instances = 1,
                                   .max_batch = 1000,
                                   .timeout_ns = 20000000,
                                   .seed = 6};
  hl_load_result result = run(&s, &request);
  assert_true(result.batches <= 15); /* 200 ms of batches of 20 ms */
  assert_true(s.largest >= 50);
  assert_true(result.parts[HL_LOAD_BATCH].max >= 19000000);
  double parts = result.parts[HL_LOAD_QUEUE].sum + result.parts[HL_LOAD_BATCH].sum +
                 result.parts[HL_LOAD_SERVE].sum;
  assert_true(fabs(parts - result.parts[HL_LOAD_LATENCY].sum) <
              1e-6 * result.parts[HL_LOAD_LATENCY].sum + 1);
  hl_load_result_release(&result);
}

/* Far too slow a server: the run ends at its limit, and the rest is counted. */
static void test_overload(void **state) {
  (void)state;
  server s = {.stall_ns = 10000000};
  const hl_load_request request = {.scenario = HL_LOAD_SERVER,
                                   .qps = 10000,
                                   .min_ns = 200000000,
                                   .max_ns = 300000000,
                                   .samples_per_query = 1,
                                   .instances = 1,
                                   .max_batch = 1,
                                   .seed = 7};
  hl_load_result result = run(&s, &request);
  assert_true(result.queries <= 31);
  assert_in_range(result.queries + result.unserved, 2000 - 5 * 45, 2000 + 5 * 45);
  assert_true(result.behind_ns > 200000000); /* 30 of 2000 were served: the next was due at 3 ms */
  assert_true(result.serve_ns > result.duration_ns / 10 * 9);
  hl_load_result_release(&result);
}

/* A rate that nobody can keep up with: the same memory, and an end that does not take for ever. */
static void test_any_rate(void **state) {
  (void)state;
  server s = {0};
  const hl_load_request request = {.scenario = HL_LOAD_SERVER,
                                   .qps = 1e9,
                                   .min_ns = 100000000000,
                                   .max_ns = 200000000,
                                   .samples_per_query = 1,
                                   .instances = 1,
                                   .max_batch = 1,
                                   .seed = 8};
  uint64_t begin = hl_clock_ns();
  hl_load_result result = run(&s, &request);
  assert_true(hl_clock_ns() - begin < 50000000000u);
  /* 2e8 were due when it was cut off. */
  assert_true(fabs((double)(result.queries + result.unserved) - 2e8) < 2e6);
  assert_true(result.behind_ns > 100000000);
  hl_load_result_release(&result);
}

static void test_failure(void **state) {
  (void)state;
  server s = {.fail_at = 3};
  pthread_mutex_init(&s.lock, NULL);
  const hl_load_server what = {.context = &s, .samples = DATA, .serve = serve};
  hl_load_request request = {.scenario = HL_LOAD_OFFLINE,
                             .min_queries = 100000,
                             .samples_per_query = 1,
                             .instances = 2,
                             .max_batch = 1};
  hl_load_result result;
  hl_error error = {0};
  assert_int_equal(hl_load_run(&what, &request, &result, &error), HL_INTERNAL);
  assert_non_null(strstr(error.msg, "as the test wants"));
  assert_true(s.batches < 1000);
  request.instances = 0;
  assert_int_equal(hl_load_run(&what, &request, &result, &error), HL_INVALID_ARGUMENT);
  request.instances = 1;
  request.max_batch = 0;
  assert_int_equal(hl_load_run(&what, &request, &result, &error), HL_INVALID_ARGUMENT);
  request.max_batch = 1;
  request.scenario = HL_LOAD_SERVER;
  request.qps = (double)NAN;
  assert_int_equal(hl_load_run(&what, &request, &result, &error), HL_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_single_stream),
                                     cmocka_unit_test(test_multi_stream),
                                     cmocka_unit_test(test_offline),
                                     cmocka_unit_test(test_server_rate),
                                     cmocka_unit_test(test_coordinated_omission),
                                     cmocka_unit_test(test_batching),
                                     cmocka_unit_test(test_overload),
                                     cmocka_unit_test(test_any_rate),
                                     cmocka_unit_test(test_failure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
