#include "base/parallel.h"
#include "imaging/reconstruction-quality.h"
#include "numeric/complex-make.h"
#include "numeric/fft.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { max_parts = 16 };
static const double light_needed = 0.99;

/* Sums over a pattern; `used` if enough of the probe falls on covered pixels. */
typedef struct sums {
  double product, computed, measured;
  bool used;
} sums;

typedef struct job {
  const hl_canvas *canvas;
  const hl_diffraction *measured;
  double light; /* of the probe */
  hl_fft *fft[max_parts];
  float complex *wave[max_parts];
  sums *sums;
} job;

/* The canvas at (x, y), in its pixels, bilinear; false where a pixel that counts is not covered. */
static bool sample(const hl_canvas *canvas, double x, double y, float complex *ret) {
  double left = floor(x), top = floor(y);
  float fx = (float)(x - left), fy = (float)(y - top);
  if (!(left >= 0 && top >= 0 && left + (fx > 0) < (double)canvas->width &&
        top + (fy > 0) < (double)canvas->height))
    return false;
  int64_t at = (int64_t)top * canvas->width + (int64_t)left;
  int64_t down = fy > 0 ? canvas->width : 0, right = fx > 0 ? 1 : 0;
  const float *w = canvas->weights + at;
  const float least = (float)HL_CANVAS_COVERED;
  if (w[0] < least || w[right] < least || w[down] < least || w[down + right] < least) return false;
  const float complex *p = canvas->pixels + at;
  *ret = (1 - fy) * ((1 - fx) * p[0] + fx * p[right]) +
         fy * ((1 - fx) * p[down] + fx * p[down + right]);
  return true;
}

/* The exit wave of a pattern; what is not covered is taken as the mean of what is. False if too
 * much of the light falls there. */
static bool exit_wave(const job *j, int64_t pattern, float complex *wave) {
  const hl_diffraction *m = j->measured;
  int64_t n = m->size, covered = 0;
  double left = m->x[pattern] - (double)(n / 2) - j->canvas->x, light = 0;
  double top = m->y[pattern] - (double)(n / 2) - j->canvas->y;
  double complex mean = 0;
  for (int64_t i = 0; i < n * n; i++) {
    float complex v, probe = m->probe[i];
    bool here = sample(j->canvas, left + (double)(i % n), top + (double)(i / n), &v);
    wave[i] = here ? v : hl_complexf(NAN, 0);
    if (!here) continue;
    covered++;
    mean += (double complex)v;
    light += (double)(crealf(probe) * crealf(probe) + cimagf(probe) * cimagf(probe));
  }
  if (!(light >= light_needed * j->light)) return false;
  float complex fill = (float complex)(mean / (double)covered);
  for (int64_t i = 0; i < n * n; i++) {
    bool missing = isnan(crealf(wave[i])) && cimagf(wave[i]) == 0;
    wave[i] = m->probe[i] * (missing ? fill : wave[i]);
  }
  return true;
}

static void judge(void *context, int part, int parts) {
  const job *j = context;
  const hl_diffraction *m = j->measured;
  int64_t n = m->size;
  float complex *wave = j->wave[part];
  for (int64_t i = part; i < m->count; i += parts) {
    sums s = {.used = exit_wave(j, i, wave)};
    if (s.used) {
      const float *amplitude = m->amplitude + i * n * n;
      hl_fft2(j->fft[part], HL_FFT_FORWARD | HL_FFT_ORTHONORMAL, wave, 1);
      hl_fft_shift(wave, 1, (size_t)n, (size_t)n);
      for (int64_t p = 0; p < n * n; p++) {
        double computed = (double)cabsf(wave[p]), measured = (double)amplitude[p];
        s.product += computed * measured;
        s.computed += computed * computed;
        s.measured += measured * measured;
      }
    }
    j->sums[i] = s;
  }
}

static hl_status prepare(job *j, int parts, hl_error *error) {
  const hl_diffraction *m = j->measured;
  for (int64_t i = 0; i < m->size * m->size; i++) {
    double complex p = (double complex)m->probe[i];
    j->light += creal(p * conj(p));
  }
  j->sums = calloc((size_t)m->count, sizeof *j->sums);
  bool failed = !j->sums;
  for (int i = 0; i < parts && !failed; i++) {
    hl_status status = hl_fft_new((size_t)m->size, (size_t)m->size, &j->fft[i], error);
    if (status != HL_OK) return status;
    j->wave[i] = calloc((size_t)(m->size * m->size), sizeof *j->wave[i]);
    failed = !j->wave[i];
  }
  return failed ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compute diffraction") : HL_OK;
}

static hl_status add_up(const job *j, double *ret_residual, int64_t *ret_used, hl_error *error) {
  sums all = {0};
  int64_t used = 0;
  for (int64_t i = 0; i < j->measured->count; i++) {
    const sums *s = &j->sums[i];
    used += s->used;
    all.product += s->product;
    all.computed += s->computed;
    all.measured += s->measured;
  }
  if (used == 0)
    return hl_error_set(
        error, HL_BAD_DATA,
        "of no pattern does the probe fall, to %.0f %% of its light, on pixels that "
        "the reconstruction covers: the scan is too small to judge it by",
        100 * light_needed);
  if (!(all.computed > 0 && all.measured > 0 && isfinite(all.computed)))
    return hl_error_set(error, HL_BAD_DATA,
                        "the reconstruction of %" PRId64 " patterns is %s, so it has no residual",
                        used, isfinite(all.computed) ? "dark" : "not finite");
  *ret_used = used;
  /* With the s that makes it least: product / computed. */
  *ret_residual = fmax(0, 1 - all.product * all.product / (all.computed * all.measured));
  return HL_OK;
}

hl_status hl_diffraction_residual(const hl_canvas *canvas, const hl_diffraction *measured,
                                  int threads, double *ret_residual, int64_t *ret_used,
                                  hl_error *error) {
  if (measured->count < 1 || measured->size < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a residual needs at least one pattern");
  job j = {.canvas = canvas, .measured = measured};
  int parts = threads < 1 ? 1 : threads > max_parts ? max_parts : threads;
  hl_status status = prepare(&j, parts, error);
  if (status == HL_OK) {
    hl_parallel(parts, judge, &j);
    status = add_up(&j, ret_residual, ret_used, error);
  }
  for (int i = 0; i < parts; i++) {
    hl_fft_free(j.fft[i]);
    free(j.wave[i]);
  }
  free(j.sums);
  return status;
}
