#include "imaging/reconstruction-quality.h"

#include "imaging/covered-rectangle.h"
#include "imaging/fourier-ring.h"
#include "imaging/quality.h"
#include "numeric/complex-make.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { max_rounds = 20 };

/* The rectangle of both, cut out and side by side. */
typedef struct pair {
  hl_rectangle at;
  float complex *mine, *truth;
  float *amplitude, *true_amplitude;
} pair;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compare a reconstruction");
}

static void release(pair *p) {
  free(p->mine);
  free(p->truth);
  free(p->amplitude);
  free(p->true_amplitude);
}

void hl_reconstruction_quality_release(hl_reconstruction_quality *q) {
  free(q->frc);
  free(q->half_bit);
  q->frc = q->half_bit = NULL;
}

void hl_truth_on_canvas(const hl_canvas *canvas, const float complex *truth, int64_t height,
                        int64_t width, float complex *ret_truth) {
  double left = floor(canvas->x), top = floor(canvas->y);
  float fx = (float)(canvas->x - left), fy = (float)(canvas->y - top);
  for (int64_t r = 0; r < canvas->height; r++)
    for (int64_t c = 0; c < canvas->width; c++) {
      double y = top + (double)r, x = left + (double)c;
      float complex *to = ret_truth + r * canvas->width + c;
      *to = hl_complexf(NAN, NAN);
      if (!(y >= 0 && x >= 0 && y + (fy > 0) < (double)height && x + (fx > 0) < (double)width))
        continue;
      const float complex *at = truth + (int64_t)y * width + (int64_t)x;
      int64_t down = fy > 0 ? width : 0, right = fx > 0 ? 1 : 0; /* 0: it does not count */
      *to = (1 - fy) * ((1 - fx) * at[0] + fx * at[right]) +
            fy * ((1 - fx) * at[down] + fx * at[down + right]);
    }
}

/* --- the rectangle ----------------------------------------------------------------------- */

static hl_status find_rectangle(const hl_canvas *canvas, const float complex *truth,
                                hl_rectangle *ret, hl_error *error) {
  int64_t pixels = canvas->height * canvas->width, covered = 0, known = 0;
  bool *mask = calloc((size_t)pixels, sizeof *mask);
  int64_t *scratch = calloc(2 * (size_t)canvas->width + 2, sizeof *scratch);
  if (mask && scratch) {
    for (int64_t i = 0; i < pixels; i++) {
      bool is_covered = canvas->weights[i] >= (float)HL_CANVAS_COVERED;
      mask[i] = is_covered && !isnan(crealf(truth[i]));
      covered += is_covered;
      known += mask[i];
    }
    *ret = hl_largest_rectangle(mask, canvas->height, canvas->width, HL_QUALITY_MIN_SIDE, scratch,
                                scratch + canvas->width + 1);
  }
  bool failed = !mask || !scratch;
  free(mask);
  free(scratch);
  if (failed) return no_memory(error);
  if (ret->width > 0) return HL_OK;
  return hl_error_set(
      error, HL_BAD_DATA,
      "no %d x %d pixels of the reconstruction are covered without a gap and have a "
      "truth: of %" PRId64 " pixels %" PRId64 " are covered, and %" PRId64
      " of these lie on the true object. Scan more densely, or give positions in "
      "pixels of the object",
      HL_QUALITY_MIN_SIDE, HL_QUALITY_MIN_SIDE, pixels, covered, known);
}

static hl_status cut_out(const hl_canvas *canvas, const float complex *truth, pair *p,
                         hl_error *error) {
  size_t count = (size_t)(p->at.height * p->at.width);
  p->mine = calloc(count, sizeof *p->mine);
  p->truth = calloc(count, sizeof *p->truth);
  p->amplitude = calloc(count, sizeof *p->amplitude);
  p->true_amplitude = calloc(count, sizeof *p->true_amplitude);
  if (!p->mine || !p->truth || !p->amplitude || !p->true_amplitude) return no_memory(error);
  double light = 0, expected = 0;
  for (int64_t r = 0; r < p->at.height; r++)
    for (int64_t c = 0; c < p->at.width; c++) {
      int64_t from = (p->at.top + r) * canvas->width + p->at.left + c, to = r * p->at.width + c;
      float complex v = canvas->pixels[from];
      if (!isfinite(crealf(v)) || !isfinite(cimagf(v)))
        return hl_error_set(error, HL_BAD_DATA,
                            "the reconstruction is not finite at [%" PRId64 ", %" PRId64 "]",
                            p->at.top + r, p->at.left + c);
      p->mine[to] = v;
      p->truth[to] = truth[from];
      light += (double)cabsf(v);
      expected += (double)cabsf(truth[from]);
    }
  if (light > 0 && expected > 0) return HL_OK;
  return hl_error_set(error, HL_BAD_DATA, "the %s is zero wherever both are known",
                      light > 0 ? "true object" : "reconstruction");
}

/* --- ambiguities ------------------------------------------------------------------------- */

/* The phase that brings mine to the truth: constant + x column + y row, of the rectangle. */
typedef struct ramp {
  double constant, x, y;
} ramp;

static double complex apart(const pair *p, const ramp *by, int64_t r, int64_t c) {
  int64_t i = r * p->at.width + c;
  return (double complex)p->truth[i] * conj((double complex)p->mine[i]) *
         cexp(-I * (by->constant + by->x * (double)c + by->y * (double)r));
}

/* How the phase turns from one pixel to the next, on average: right for any slope below a half
 * turn. */
static void start_ramp(const pair *p, ramp *ret) {
  double complex along = 0, down = 0, all = 0;
  ramp none = {0};
  for (int64_t r = 0; r < p->at.height; r++)
    for (int64_t c = 0; c < p->at.width; c++) {
      double complex here = apart(p, &none, r, c);
      if (c + 1 < p->at.width) along += apart(p, &none, r, c + 1) * conj(here);
      if (r + 1 < p->at.height) down += apart(p, &none, r + 1, c) * conj(here);
    }
  *ret = (ramp){0, carg(along), carg(down)};
  for (int64_t r = 0; r < p->at.height; r++)
    for (int64_t c = 0; c < p->at.width; c++) all += apart(p, ret, r, c);
  ret->constant = carg(all);
}

/* Solves the symmetric m x = v of three unknowns (Cramer's rule); false if it has no solution. */
static bool solve(const double m[6], const double v[3], double x[3]) {
  double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5]; /* a b c / b d e / c e f */
  double ca = d * f - e * e, cb = c * e - b * f, cc = b * e - c * d;
  double determinant = a * ca + b * cb + c * cc;
  if (!(fabs(determinant) > 1e-12 * fabs(a * d * f))) return false;
  x[0] = (ca * v[0] + cb * v[1] + cc * v[2]) / determinant;
  x[1] = (cb * v[0] + (a * f - c * c) * v[1] + (b * c - a * e) * v[2]) / determinant;
  x[2] = (cc * v[0] + (b * c - a * e) * v[1] + (a * d - b * b) * v[2]) / determinant;
  return true;
}

/* One round of least squares of the phase that is left, weighted by both amplitudes; returns how
 * much the ramp moved over the rectangle, in radians. */
static double mend_ramp(const pair *p, ramp *by) {
  double m[6] = {0}, v[3] = {0}, step[3] = {0};
  double middle_x = (double)(p->at.width - 1) / 2, middle_y = (double)(p->at.height - 1) / 2;
  for (int64_t r = 0; r < p->at.height; r++)
    for (int64_t c = 0; c < p->at.width; c++) {
      double complex left = apart(p, by, r, c);
      double w = cabs(left), phase = carg(left);
      double x = (double)c - middle_x, y = (double)r - middle_y;
      m[0] += w;
      m[1] += w * x;
      m[2] += w * y;
      m[3] += w * x * x;
      m[4] += w * x * y;
      m[5] += w * y * y;
      v[0] += w * phase;
      v[1] += w * x * phase;
      v[2] += w * y * phase;
    }
  if (!solve(m, v, step)) return 0;
  by->constant += step[0] - step[1] * middle_x - step[2] * middle_y;
  by->x += step[1];
  by->y += step[2];
  return fabs(step[0]) + fabs(step[1]) * middle_x + fabs(step[2]) * middle_y;
}

/* Takes the ambiguities from mine, and says what they were. */
static void align(pair *p, hl_reconstruction_quality *q) {
  ramp by;
  start_ramp(p, &by);
  for (int i = 0; i < max_rounds && mend_ramp(p, &by) > 1e-9; i++) continue;
  double product = 0, square = 0;
  int64_t count = p->at.height * p->at.width;
  for (int64_t i = 0; i < count; i++) {
    double mine = cabs((double complex)p->mine[i]);
    product += mine * cabs((double complex)p->truth[i]);
    square += mine * mine;
  }
  double scale = product / square;
  for (int64_t r = 0; r < p->at.height; r++)
    for (int64_t c = 0; c < p->at.width; c++) {
      int64_t i = r * p->at.width + c;
      double phase = by.constant + by.x * (double)c + by.y * (double)r;
      p->mine[i] = (float complex)((double complex)p->mine[i] * scale * cexp(I * phase));
    }
  q->ramp_x = by.x;
  q->ramp_y = by.y;
  q->factor =
      scale * cexp(I * (by.constant - by.x * (double)p->at.left - by.y * (double)p->at.top));
}

/* --- numbers ----------------------------------------------------------------------------- */

static double phase_error(const pair *p) {
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < p->at.height * p->at.width; i++) {
    double complex truth = (double complex)p->truth[i];
    double w = creal(truth * conj(truth)), phase = carg((double complex)p->mine[i] * conj(truth));
    sum += w * phase * phase;
    weights += w;
  }
  return sqrt(sum / weights);
}

static hl_status measure(pair *p, hl_reconstruction_quality *q, hl_error *error) {
  int64_t count = p->at.height * p->at.width;
  float largest = 0;
  for (int64_t i = 0; i < count; i++) {
    p->amplitude[i] = cabsf(p->mine[i]);
    p->true_amplitude[i] = cabsf(p->truth[i]);
    if (p->true_amplitude[i] > largest) largest = p->true_amplitude[i];
  }
  q->amplitude_psnr_db = hl_quality_psnr(p->amplitude, p->true_amplitude, count, (double)largest);
  q->phase_error_rad = phase_error(p);
  hl_status status = hl_quality_ssim(p->amplitude, p->true_amplitude, p->at.height, p->at.width,
                                     (double)largest, HL_SSIM_CROP, &q->amplitude_ssim, error);
  if (status != HL_OK) return status;
  q->rings = hl_fourier_rings(p->at.height, p->at.width);
  q->frc = calloc((size_t)q->rings, sizeof *q->frc);
  q->half_bit = calloc((size_t)q->rings, sizeof *q->half_bit);
  if (!q->frc || !q->half_bit) return no_memory(error);
  status = hl_fourier_ring_correlation(p->mine, p->truth, p->at.height, p->at.width, q->frc,
                                       q->half_bit, error);
  if (status != HL_OK) return status;
  q->frc_half = hl_fourier_ring_crossing(q->frc, NULL, 0.5, q->rings, p->at.height, p->at.width);
  q->frc_half_bit =
      hl_fourier_ring_crossing(q->frc, q->half_bit, 0, q->rings, p->at.height, p->at.width);
  return HL_OK;
}

hl_status hl_reconstruction_compare(const hl_canvas *canvas, const float complex *truth,
                                    int64_t height, int64_t width,
                                    hl_reconstruction_quality *ret_quality, hl_error *error) {
  pair p = {0};
  hl_reconstruction_quality q = {0};
  float complex *here = calloc((size_t)canvas->height * (size_t)canvas->width, sizeof *here);
  if (!here) return no_memory(error);
  hl_truth_on_canvas(canvas, truth, height, width, here);
  hl_status status = find_rectangle(canvas, here, &p.at, error);
  if (status == HL_OK) status = cut_out(canvas, here, &p, error);
  free(here);
  if (status == HL_OK) {
    q.top = p.at.top;
    q.left = p.at.left;
    q.height = p.at.height;
    q.width = p.at.width;
    align(&p, &q);
    status = measure(&p, &q, error);
  }
  release(&p);
  if (status == HL_OK)
    *ret_quality = q;
  else
    hl_reconstruction_quality_release(&q);
  return status;
}
