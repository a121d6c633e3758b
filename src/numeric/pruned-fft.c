#include "numeric/pruned-fft.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "numeric/pruned-fft-internal.h"

enum { LANES = HL__FFT_LANES };

struct hl_pruned_fft {
  hl__pruned_plan plan;
  const hl__pruned_kernels *kernels;
  hl_team *team;
  int threads;
  size_t bytes;
  float *memory;  /* of all the plan's arrays and the scratch */
  float *scratch; /* [threads][4][length][LANES] */
};

static size_t scratch_size(const hl__pruned_plan *p) {
  return 4 * p->length * LANES;
}

/* Everything in one block, in multiples of 64 bytes; measured first with `base` NULL. */
static size_t lay_out(hl_pruned_fft *f, float *base) {
  hl__pruned_plan *p = &f->plan;
  size_t column = 2 * LANES, at = 0, lines = p->n / LANES;
  size_t counts[] = {p->blocks * column * 2 * LANES * p->groups, p->blocks * column * p->n,
                     p->blocks * column * p->n, 2 * lines * p->blocks * column * LANES,
                     (size_t)f->threads * scratch_size(p)};
  float **to[] = {&p->rows, &p->spectrum, &p->slope, &p->field, &f->scratch};
  for (size_t i = 0; i < HL_COUNT(counts); i++) {
    *to[i] = base ? base + at : NULL;
    at += counts[i];
  }
  return at * sizeof *base;
}

static hl_status check(size_t n, size_t object, hl_error *error) {
  if (n == 0 || n > HL_PRUNED_MAX_IMAGE || object == 0 || object > n)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an object of %zu x %zu in a picture of %zu x %zu: give one that fits, and "
                        "a picture of up to %d pixels a side",
                        object, object, n, n, HL_PRUNED_MAX_IMAGE);
  if (n % HL_PRUNED_MULTIPLE)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "a pruned transform of %zu x %zu: only multiples of %d a side", n, n,
                        HL_PRUNED_MULTIPLE);
  return HL_OK;
}

hl_status hl_pruned_fft_new(size_t n, size_t object, hl_team *team, hl_pruned_fft **ret_fft,
                            hl_error *error) {
  hl_status status = check(n, object, error);
  if (status != HL_OK) return status;
  hl_pruned_fft *f = calloc(1, sizeof *f);
  if (f) {
    f->team = team;
    f->threads = hl_team_size(team);
    f->kernels = hl__pruned_kernels_select();
    hl__pruned_plan *p = &f->plan;
    *p = (hl__pruned_plan){.n = n,
                           .object = object,
                           .half = n / 2,
                           .groups = (object + 2 * LANES - 1) / (2 * LANES),
                           .blocks = n / 2 / LANES + 1,
                           .axis = hl__fft_axis_new(n),
                           .lines = hl__fft_kernels_select()};
    p->open = calloc(2 * p->blocks, sizeof *p->open);
    p->sums = calloc(n / LANES, sizeof *p->sums);
    if (p->axis) {
      p->length = hl__fft_axis_scratch(p->axis);
      f->bytes = lay_out(f, NULL);
      f->memory = hl_pages_new(f->bytes);
    }
  }
  if (!f || !f->memory || !f->plan.open || !f->plan.sums) {
    hl_pruned_fft_free(f);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a pruned transform of %zu x %zu", n,
                        n);
  }
  (void)lay_out(f, f->memory);
  *ret_fft = f;
  return HL_OK;
}

void hl_pruned_fft_free(hl_pruned_fft *fft) {
  if (!fft) return;
  hl__fft_axis_free(fft->plan.axis);
  free(fft->plan.open);
  free(fft->plan.sums);
  free(fft->memory);
  free(fft);
}

size_t hl_pruned_fft_bytes(const hl_pruned_fft *fft) {
  return fft->bytes + sizeof *fft;
}

void hl__pruned_fft_use(hl_pruned_fft *fft, const hl__pruned_kernels *kernels) {
  fft->kernels = kernels;
}

/* Up to three steps, each of blocks that are taken by whoever is free. */
typedef struct task {
  const hl_pruned_fft *fft;
  hl__pruned_job job;
  struct {
    hl__pruned_step *run;
    size_t count;
  } steps[3];
} task;

#define STEP(n)                                                                                    \
  static void step_##n(void *context, size_t block, int part) {                                    \
    const task *t = context;                                                                       \
    t->steps[n].run(&t->job, block, t->fft->scratch + (size_t)part * scratch_size(t->job.plan));   \
  }
STEP(0)
STEP(1)
STEP(2)

static void enter(void *context, hl_team *team, int part) {
  static void (*const blocks[])(void *, size_t, int) = {step_0, step_1, step_2};
  const task *t = context;
  for (int i = 0; i < 3 && t->steps[i].run; i++)
    hl_team_loop(team, i, t->steps[i].count, blocks[i], context, part);
}

void hl_pruned_fft_object(hl_pruned_fft *fft, const float *pixels, size_t stride) {
  const hl__pruned_plan *p = &fft->plan;
  task t = {.fft = fft,
            .job = {.plan = p, .pixels = pixels, .stride = stride},
            .steps = {{fft->kernels->rows_in, p->groups}, {fft->kernels->columns_in, p->blocks}}};
  hl_team_run(fft->team, enter, &t);
}

void hl_pruned_fft_amplitude(hl_pruned_fft *fft, const uint8_t *mask, unsigned flags,
                             float *ret_amplitude) {
  const hl__pruned_plan *p = &fft->plan;
  task t = {
      .fft = fft,
      .job = {.plan = p,
              .mask = mask,
              .flip = (flags & HL_PRUNED_FLIP) != 0,
              .amplitude = ret_amplitude},
      .steps = {{fft->kernels->mask_in, 2 * p->blocks}, {fft->kernels->picture, p->n / LANES}}};
  hl_team_run(fft->team, enter, &t);
}

void hl_pruned_fft_residual(hl_pruned_fft *fft, const uint8_t *mask, unsigned flags,
                            const float *target, hl_residual_sums *ret_sums) {
  const hl__pruned_plan *p = &fft->plan;
  *ret_sums = (hl_residual_sums){0};
  if (!mask) {
    memset(p->slope, 0, p->blocks * 2 * LANES * p->n * sizeof *p->slope);
    return;
  }
  task t = {
      .fft = fft,
      .job = {.plan = p, .mask = mask, .flip = (flags & HL_PRUNED_FLIP) != 0, .target = target},
      .steps = {{fft->kernels->mask_in, 2 * p->blocks},
                {fft->kernels->picture, p->n / LANES},
                {fft->kernels->mask_back, p->blocks}}};
  hl_team_run(fft->team, enter, &t);
  for (size_t i = 0; i < p->n / LANES; i++) {
    ret_sums->difference += p->sums[i].difference;
    ret_sums->target += p->sums[i].target;
    ret_sums->amplitude += p->sums[i].amplitude;
  }
}

void hl_pruned_fft_gradient(hl_pruned_fft *fft, float factor, float *ret_pixels, size_t stride) {
  const hl__pruned_plan *p = &fft->plan;
  task t = {
      .fft = fft,
      .job = {.plan = p, .gradient = ret_pixels, .stride = stride, .factor = factor},
      .steps = {{fft->kernels->columns_back, p->blocks}, {fft->kernels->rows_back, p->groups}}};
  hl_team_run(fft->team, enter, &t);
}

/* Where the plane's number (row, column) lies among the columns that are kept; what is kept may be
 * its conjugate, of the mirrored place. -1 outside of the plane. */
static ptrdiff_t kept(const hl__pruned_plan *p, ptrdiff_t row, ptrdiff_t column,
                      int *ret_mirrored) {
  ptrdiff_t n = (ptrdiff_t)p->n, half = (ptrdiff_t)p->half;
  if (row < 0 || row >= n || column < 0 || column >= n) return -1;
  ptrdiff_t u = row - half, v = column - half;
  *ret_mirrored = v < 0;
  if (v < 0) u = -u, v = -v;
  if (u < 0) u += n;
  return v / LANES * 2 * LANES * n + u * LANES + v % LANES;
}

void hl_pruned_fft_cut(const hl_pruned_fft *fft, ptrdiff_t top, ptrdiff_t left, size_t band,
                       float complex *ret_band) {
  const hl__pruned_plan *p = &fft->plan;
  float *to = (float *)ret_band;
  for (size_t i = 0; i < band; i++)
    for (size_t k = 0; k < band; k++, to += 2) {
      int mirrored = 0;
      ptrdiff_t at = kept(p, top + (ptrdiff_t)i, left + (ptrdiff_t)k, &mirrored);
      float im = at < 0 ? 0 : p->spectrum[at + LANES * (ptrdiff_t)p->n];
      to[0] = at < 0 ? 0 : p->spectrum[at];
      to[1] = mirrored ? -im : im;
    }
}

void hl_pruned_fft_add(hl_pruned_fft *fft, ptrdiff_t top, ptrdiff_t left, size_t band,
                       const float complex *gradient, float scale) {
  const hl__pruned_plan *p = &fft->plan;
  const float *from = (const float *)gradient;
  for (size_t i = 0; i < band; i++)
    for (size_t k = 0; k < band; k++, from += 2) {
      int mirrored = 0;
      ptrdiff_t at = kept(p, top + (ptrdiff_t)i, left + (ptrdiff_t)k, &mirrored);
      if (at < 0) continue;
      p->slope[at] += scale * from[0];
      p->slope[at + LANES * (ptrdiff_t)p->n] += scale * (mirrored ? -from[1] : from[1]);
    }
}
