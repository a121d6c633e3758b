/* Whether what optimisations make of a measurement is what the baseline's transforms make of it. */
#include "workloads/progressive-internal.h"

#include <math.h>
#include <stdlib.h>

enum { PLAIN_VISITS = 2 };

bool hl__progressive_compares(const hl_progressive *p) {
  return p->visit % p->check_every == 0;
}

/* max|a - b| / max|b| into *worst; a NaN is infinite. */
static void differ(const float *a, const float *b, size_t count, double *worst) {
  double most = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    double d = fabs((double)a[i] - (double)b[i]), v = fabs((double)b[i]);
    if (isnan(d)) d = (double)INFINITY;
    if (d > most) most = d;
    if (v > largest) largest = v;
  }
  double error = most > 0 ? most / largest : 0;
  if (error > *worst) *worst = error;
}

/* Root of the sum of squares of a - b over that of b: where |a - m| of a pixel is nothing but
 * rounding, the sign that its slope has is, too, which the largest difference would be of. */
static void differ_in_all(const float *a, const float *b, size_t count, double *worst) {
  double squares = 0, of_b = 0;
  for (size_t i = 0; i < count; i++) {
    double d = (double)a[i] - (double)b[i];
    squares += d * d;
    of_b += (double)b[i] * (double)b[i];
  }
  double error = squares > 0 ? sqrt(squares / of_b) : 0;
  if (isnan(squares)) error = (double)INFINITY;
  if (error > *worst) *worst = error;
}

hl_status hl__progressive_compare(hl_progressive *p, const float *picture, const float *gradient,
                                  hl_error *error) {
  hl_telescope_losses losses;
  hl_aperture aperture = hl__progressive_aperture(p);
  hl_status status = hl_telescope_measure(p->plain, p->visit, aperture, picture, p->plain_old,
                                          p->plain_new, error);
  if (status != HL_OK) return status;
  differ(p->seen_old, p->plain_old, p->pixels, &p->check_error);
  differ(p->seen_new, p->plain_new, p->pixels, &p->check_error);
  if (!gradient) return HL_OK;
  /* Of its own measurements: what was seen of the same picture through the same mask cancels. */
  status = hl_telescope_loss(p->plain, aperture, picture, p->plain_old, p->plain_new, &losses,
                             p->plain_gradient, error);
  if (status == HL_OK) differ_in_all(gradient, p->plain_gradient, p->pixels, &p->gradient_error);
  return status;
}

/* What the cache has by now. */
static hl_status compare_again(hl_progressive *p, int64_t visits, hl_error *error) {
  hl_status status = HL_OK;
  for (p->visit = 0; p->visit < visits && status == HL_OK; p->visit++) {
    if (!hl__progressive_compares(p)) continue;
    status = hl_telescope_measure(p->telescope, p->visit, hl__progressive_aperture(p), p->picture,
                                  p->seen_old, p->seen_new, error);
    if (status == HL_OK) status = hl__progressive_compare(p, p->picture, NULL, error);
  }
  return status;
}

/* Its telescope is the definition itself: the same code on the same numbers. Two samples tell, and
 * a pass of a hundred is not made once more. */
static bool measures_plainly(const hl_progressive *p) {
  const unsigned any = HL_OPTIMIZE_GRID_CACHE | HL_OPTIMIZE_FFT_PLAN_CACHE |
                       HL_OPTIMIZE_MEASUREMENT_CACHE | HL_OPTIMIZE_KEPT_SPECTRUM |
                       HL_OPTIMIZE_MATRIX_DFT | HL_OPTIMIZE_REAL_INPUT |
                       HL_OPTIMIZE_INCREMENTAL_MASK;
  return !(p->spec->optimizations & any);
}

static hl_status check(hl_progressive *p, int64_t visits, hl_error *error) {
  hl_progressive_times times = {0};
  hl_telescope_spec spec = {.image = p->image,
                            .object = p->object,
                            .radius = p->spec->radius,
                            .snr = isnan(p->spec->snr_db) ? 0 : pow(10, p->spec->snr_db / 10),
                            .seed = (uint64_t)p->configuration->seed,
                            .threads = (int)p->configuration->threads};
  hl_status status = hl_telescope_new(&spec, &p->plain, error);
  if (status != HL_OK) return status;
  hl_telescope_set_truth(p->plain, p->truth, 1);
  p->plain_old = calloc(p->pixels, sizeof(float));
  p->plain_new = calloc(p->pixels, sizeof(float));
  p->plain_gradient = calloc(p->pixels, sizeof(float));
  if (!p->plain_old || !p->plain_new || !p->plain_gradient)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a check");
  p->times = &times;
  status = hl__progressive_run(p, visits, error);
  return status == HL_OK ? compare_again(p, visits, error) : status;
}

hl_status hl_progressive_check(hl_progressive *progressive, int64_t most, double *ret_measurement,
                               double *ret_gradient, hl_error *error) {
  hl_progressive *p = progressive;
  int64_t visits = p->spec->samples;
  if (measures_plainly(p) && visits > PLAIN_VISITS) visits = PLAIN_VISITS;
  p->check_every = (visits + most - 1) / most;
  p->check_error = p->gradient_error = 0;
  hl_status status = check(p, visits, error);
  hl_telescope_free(p->plain);
  free(p->plain_old);
  free(p->plain_new);
  free(p->plain_gradient);
  p->plain = NULL;
  p->plain_old = p->plain_new = p->plain_gradient = NULL;
  *ret_measurement = p->check_error;
  *ret_gradient = p->gradient_error;
  return status;
}
