#include "machine/roofline.h"
#include "base/clock.h"
#include "machine/roofline-kernels.h"
#include "machine/sysfs.h"
#include "machine/topology.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_THREADS = 1024,
  PASSES = 7,                 /* of each kind; the best counts */
  COMPUTE_PASS_NS = 15000000, /* so that all passes take about 100 ms */
  CALIBRATION_REPEATS = 50
};
static const uint64_t triad_max_bytes = 256u << 20;

/* Passes of one kind follow each other, in this order; the last only with a kernel for it. */
enum { FLOAT32, TRIAD, BFLOAT16, KINDS };

typedef struct team team;

typedef struct worker {
  pthread_t thread;
  team *team;
  float *a, *b, *c; /* this thread's part of the triad */
  uint64_t start_ns[KINDS * PASSES], end_ns[KINDS * PASSES];
} worker;

struct team {
  const hl_roofline_kernel *kernels[KINDS]; /* of the products, or NULL */
  size_t repeat[KINDS];                     /* products in one pass */
  size_t floats;                            /* of each array of one thread */
  pthread_barrier_t barrier;
  pthread_mutex_t gate; /* held until it is known that all threads started */
  bool go;
};

typedef struct panels {
  _Alignas(64) float a[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_ROWS];
  _Alignas(64) float b[HL_ROOFLINE_DEPTH * HL_ROOFLINE_MAX_COLUMNS];
  _Alignas(64) float c[HL_ROOFLINE_MAX_ROWS * HL_ROOFLINE_MAX_COLUMNS];
} panels;

/* Normal numbers whose sums stay normal: denormals and infinities run at other speeds. */
static void panels_fill(panels *p) {
  for (size_t i = 0; i < HL_COUNT(p->a); i++) p->a[i] = i % 2 ? 1e-3f : -1e-3f;
  for (size_t i = 0; i < HL_COUNT(p->b); i++) p->b[i] = 1.0f + (float)(i % 7) * 0.125f;
  for (size_t i = 0; i < HL_COUNT(p->c); i++) p->c[i] = 1.0f;
}

HL_ROOFLINE_PLAIN static void triad(float *restrict a, const float *restrict b,
                                    const float *restrict c, float s, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

HL_ROOFLINE_PLAIN static void fill(float *to, float value, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = value;
}

static void *work(void *argument) {
  worker *self = argument;
  team *team_ = self->team;
  pthread_mutex_lock(&team_->gate);
  bool go = team_->go;
  pthread_mutex_unlock(&team_->gate);
  if (!go) return NULL;

  panels p;
  panels_fill(&p);
  fill(self->a, 0, team_->floats); /* first touch puts the pages near this thread */
  fill(self->b, 1, team_->floats);
  fill(self->c, 2, team_->floats);
  for (int pass = 0; pass < KINDS * PASSES; pass++) {
    int kind = pass / PASSES;
    const hl_roofline_kernel *kernel = team_->kernels[kind];
    if (kind != TRIAD && !kernel) continue;
    pthread_barrier_wait(&team_->barrier);
    self->start_ns[pass] = hl_clock_ns();
    if (kernel)
      kernel->product(p.a, p.b, p.c, team_->repeat[kind]);
    else
      triad(self->a, self->b, self->c, 3.0f, team_->floats);
    self->end_ns[pass] = hl_clock_ns();
  }
  return NULL;
}

static size_t calibrate(const hl_roofline_kernel *kernel) {
  panels p;
  panels_fill(&p);
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 5; i++) { /* vector units may start slowly */
    uint64_t start = hl_clock_ns();
    kernel->product(p.a, p.b, p.c, CALIBRATION_REPEATS);
    uint64_t taken = hl_clock_ns() - start;
    if (taken < best) best = taken;
  }
  return (size_t)(CALIBRATION_REPEATS * (double)COMPUTE_PASS_NS / (double)(best ? best : 1)) + 1;
}

/* Four times the last-level caches, all instances, but at most what we allow ourselves. */
static uint64_t triad_size(void) {
  hl_machine machine;
  uint64_t bytes = triad_max_bytes;
  if (hl_machine_read_at(NULL, &machine, NULL)) return bytes;
  for (int i = 0; i < machine.cache_count; i++)
    if (machine.caches[i].bytes == hl_machine_last_cache_bytes(&machine) &&
        machine.caches[i].shared_by > 0) {
      int instances =
          (machine.total_cpus + machine.caches[i].shared_by - 1) / machine.caches[i].shared_by;
      bytes = 4 * machine.caches[i].bytes * (uint64_t)instances;
    }
  if (bytes < (uint64_t)48 << 20) bytes = (uint64_t)48 << 20;
  return bytes < triad_max_bytes ? bytes : triad_max_bytes;
}

/* From the first thread's start to the last one's end, the shortest of the passes of a kind. */
static double best_seconds(const worker *workers, int threads, int kind) {
  uint64_t best = UINT64_MAX;
  for (int pass = kind * PASSES; pass < (kind + 1) * PASSES; pass++) {
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < threads; i++) {
      if (workers[i].start_ns[pass] < start) start = workers[i].start_ns[pass];
      if (workers[i].end_ns[pass] > end) end = workers[i].end_ns[pass];
    }
    if (end - start < best) best = end - start;
  }
  return (double)best * 1e-9;
}

static hl_status run_team(team *team_, worker *workers, int threads, hl_error *error) {
  if (pthread_barrier_init(&team_->barrier, NULL, (unsigned)threads) != 0)
    return hl_error_set(error, HL_UNAVAILABLE, "cannot make a barrier for %d threads", threads);
  pthread_mutex_init(&team_->gate, NULL);
  pthread_mutex_lock(&team_->gate);
  int started = 0, failure = 0;
  while (started < threads && !failure) {
    failure = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
    if (!failure) started++;
  }
  team_->go = !failure;
  pthread_mutex_unlock(&team_->gate);
  for (int i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
  pthread_mutex_destroy(&team_->gate);
  pthread_barrier_destroy(&team_->barrier);
  errno = failure;
  return failure ? hl_error_errno(error, HL_UNAVAILABLE, "cannot start thread %d of %d",
                                  started + 1, threads)
                 : HL_OK;
}

static double gflops(const team *team_, const worker *workers, int threads, int kind) {
  const hl_roofline_kernel *kernel = team_->kernels[kind];
  if (!kernel) return (double)NAN;
  double flops = (double)kernel->flops * kernel->rows * kernel->columns * HL_ROOFLINE_DEPTH *
                 (double)team_->repeat[kind] * threads;
  return flops / best_seconds(workers, threads, kind) * 1e-9;
}

hl_status hl_roofline_measure(int threads, hl_roofline *ret_roofline, hl_error *error) {
  if (threads < 1 || threads > MAX_THREADS)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%d threads; expected 1 to %d", threads,
                        MAX_THREADS);
  uint64_t bytes = triad_size();
  size_t floats = (size_t)(bytes / 12 / (uint64_t)threads) & ~(size_t)63;
  team team_ = {
      .kernels =
          {[FLOAT32] = hl_roofline_kernel_best(), [BFLOAT16] = hl_roofline_kernel_bfloat16()},
      .floats = floats};
  size_t array_bytes = floats * sizeof(float) * (size_t)threads;
  worker *workers = calloc((size_t)threads, sizeof *workers);
  float *arrays = aligned_alloc(4096, (3 * array_bytes + 4095) & ~(size_t)4095);
  hl_status status = HL_OK;
  if (!workers || !arrays)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the triad's arrays (%zu MB)",
                          3 * array_bytes / 1000000);
  if (!status) {
    for (int i = 0; i < threads; i++) {
      float *mine = arrays + 3 * floats * (size_t)i;
      workers[i].team = &team_;
      workers[i].a = mine, workers[i].b = mine + floats, workers[i].c = mine + 2 * floats;
    }
    for (int kind = 0; kind < KINDS; kind++)
      if (team_.kernels[kind]) team_.repeat[kind] = calibrate(team_.kernels[kind]);
    status = run_team(&team_, workers, threads, error);
  }
  if (!status) {
    double moved = 16.0 * (double)floats * threads;
    *ret_roofline =
        (hl_roofline){.compute_gflops = gflops(&team_, workers, threads, FLOAT32),
                      .bfloat16_gflops = gflops(&team_, workers, threads, BFLOAT16),
                      .bandwidth_gbs = moved / best_seconds(workers, threads, TRIAD) * 1e-9,
                      .threads = threads,
                      .isa = team_.kernels[FLOAT32]->isa,
                      .triad_bytes = 3 * array_bytes};
  }
  free(arrays);
  free(workers);
  return status;
}
