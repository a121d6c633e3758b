#include "machine/twins.h"

#include "base/clock.h"
#include "base/splitmix.h"
#include "machine/canary.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { turn_steps = 8, spins_before_yield = 20000 };
static const double step_ns = 1e6;

/* One team of threads for both loops, so that nothing but the turn tells them apart. */
typedef struct team {
  atomic_uint step, done; /* begun, and threads that have ended their part */
  atomic_bool ends;
  int helpers;
  uint64_t pieces; /* of a step, each thread */
} team;

static void wait_a_little(unsigned *spins) {
  if (++*spins % spins_before_yield == 0) sched_yield();
}

static void work(const team *t) {
  for (uint64_t i = 0; i < t->pieces; i++) hl_canary_piece();
}

static void *help(void *argument) {
  team *t = argument;
  unsigned seen = 0, spins = 0;
  while (!atomic_load(&t->ends)) {
    if (atomic_load(&t->step) == seen) {
      wait_a_little(&spins);
      continue;
    }
    seen++;
    work(t);
    atomic_fetch_add(&t->done, 1);
  }
  return NULL;
}

static double run_step(team *t) {
  unsigned spins = 0;
  uint64_t start = hl_clock_ns();
  atomic_store(&t->done, 0);
  atomic_fetch_add(&t->step, 1);
  work(t);
  while (atomic_load(&t->done) < (unsigned)t->helpers) wait_a_little(&spins);
  return (double)(hl_clock_ns() - start);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The logarithm of the median step. */
static double run_turn(team *t) {
  double ns[turn_steps];
  for (size_t i = 0; i < turn_steps; i++) ns[i] = run_step(t);
  qsort(ns, turn_steps, sizeof *ns, by_value);
  return log((ns[turn_steps / 2 - 1] + ns[turn_steps / 2]) / 2);
}

static size_t run_pairs(team *t, size_t pairs, uint64_t max_ns, double *ret_log_ratios) {
  uint64_t start = hl_clock_ns(), random = start;
  size_t count = 0;
  run_turn(t); /* threads and clock wake up */
  while (count < pairs && hl_clock_ns() - start < max_ns) {
    bool swapped = hl_splitmix(&random) >> 63;
    double first = run_turn(t), second = run_turn(t);
    ret_log_ratios[count++] = swapped ? second - first : first - second;
  }
  return count;
}

hl_status hl_twins_run(int threads, size_t pairs, uint64_t max_ns, double *ret_log_ratios,
                       size_t *ret_pairs, hl_error *error) {
  if (threads < 1 || threads > HL_TWINS_THREADS || pairs == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "1 to %d threads are timed, not %d",
                        HL_TWINS_THREADS, threads);
  team t = {.pieces = 1};
  hl_canary canary;
  hl_canary_init(&canary);
  if (canary.least_ns && canary.least_ns < UINT64_MAX)
    t.pieces = (uint64_t)ceil(step_ns / (double)canary.least_ns);
  pthread_t ids[HL_TWINS_THREADS] = {0};
  hl_status status = HL_OK;
  for (; t.helpers < threads - 1 && status == HL_OK; t.helpers++)
    if (pthread_create(&ids[t.helpers], NULL, help, &t) != 0) {
      status = hl_error_set(error, HL_UNAVAILABLE, "no thread %d of %d can be started",
                            t.helpers + 2, threads);
      break;
    }
  if (status == HL_OK) *ret_pairs = run_pairs(&t, pairs, max_ns, ret_log_ratios);
  atomic_store(&t.ends, true);
  for (int i = 0; i < t.helpers; i++) pthread_join(ids[i], NULL);
  return status;
}
