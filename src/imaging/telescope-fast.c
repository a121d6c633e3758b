/* Only what is not zero, and not the mirror of something else; else by the definition. */
#include "imaging/telescope-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A square of the plane around what a mask opens: for numeric/band-dft.h. */
typedef struct window {
  ptrdiff_t top, left;
  size_t side;
} window;

static bool has(const hl_telescope *t, unsigned option) {
  return (t->spec.options & option) != 0;
}

static bool prunes(const hl_telescope *t) {
  return has(t, HL_TELESCOPE_REAL_INPUT) && t->n % HL_PRUNED_MULTIPLE == 0;
}

/* Of an aperture: an odd number that holds it wherever its centre lies. */
static size_t narrow_side(const hl_telescope *t) {
  return 2 * (size_t)floor(t->spec.radius + 0.5) + 1;
}

/* The products cost n^2 x side, a pruned transform as much as about an eighth of the plane. */
static size_t wide_side(const hl_telescope *t) {
  return t->n / 8 | 1;
}

static bool narrow_pays(const hl_telescope *t) {
  return has(t, HL_TELESCOPE_MATRIX_DFT) && narrow_side(t) <= t->n / 4;
}

static bool wide_pays(const hl_telescope *t) {
  int64_t side = (int64_t)wide_side(t);
  return has(t, HL_TELESCOPE_MATRIX_DFT) && t->box.height <= side && t->box.width <= side;
}

static window narrow_window(const hl_telescope *t, hl_aperture aperture) {
  size_t side = narrow_side(t);
  ptrdiff_t from = (ptrdiff_t)t->n / 2 - (ptrdiff_t)side / 2;
  return (window){from + (ptrdiff_t)lround(aperture.row), from + (ptrdiff_t)lround(aperture.column),
                  side};
}

static window wide_window(const hl_telescope *t) {
  return (window){(ptrdiff_t)t->box.top, (ptrdiff_t)t->box.left, wide_side(t)};
}

static bool in_plane(const hl_telescope *t, ptrdiff_t row, ptrdiff_t column) {
  ptrdiff_t n = (ptrdiff_t)t->n;
  return row >= 0 && row < n && column >= 0 && column < n;
}

/* -- plans ------------------------------------------------------------------------------------ */

static hl_status have_pruned(hl_telescope *t, hl_error *error) {
  if (t->pruned) {
    t->counts.plan_hits++;
    return HL_OK;
  }
  t->counts.plan_misses++;
  return hl_pruned_fft_new(t->n, (size_t)t->spec.object, t->team, &t->pruned, error);
}

static hl_status have_band(hl_telescope *t, hl_band_dft **band, size_t side, hl_error *error) {
  size_t larger = narrow_side(t) > wide_side(t) ? narrow_side(t) : wide_side(t);
  if (!t->band) t->band = calloc(larger * larger, sizeof *t->band);
  if (!t->band_slope) t->band_slope = calloc(larger * larger, sizeof *t->band_slope);
  if (!t->band || !t->band_slope)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a band of frequencies");
  if (*band) {
    t->counts.plan_hits++;
    return HL_OK;
  }
  t->counts.plan_misses++;
  return hl_band_dft_new(t->n, side, t->team, band, error);
}

uint64_t hl__telescope_plan_bytes(const hl_telescope *t) {
  uint64_t bytes = t->fft ? hl_fft_bytes(t->fft) : 0;
  if (t->pruned) bytes += hl_pruned_fft_bytes(t->pruned);
  if (t->narrow) bytes += hl_band_dft_bytes(t->narrow);
  if (t->wide) bytes += hl_band_dft_bytes(t->wide);
  return bytes;
}

/* -- spectra ---------------------------------------------------------------------------------- */

static const float *object_of(const hl_telescope *t, const float *picture) {
  size_t first = t->n / 2 - (size_t)t->spec.object / 2;
  return picture + first * t->n + first;
}

/* Of a picture: kept in the pruned plan, or else whole in t->other. */
static hl_status transform_object(hl_telescope *t, const float *picture, hl_error *error) {
  if (!prunes(t)) return hl__telescope_spectrum(t, picture, t->other, error);
  hl_status status = have_pruned(t, error);
  if (status == HL_OK) hl_pruned_fft_object(t->pruned, object_of(t, picture), t->n);
  return status;
}

/* t->band = the window of `whole`, or where NULL of what transform_object left. */
static void cut(hl_telescope *t, window w, const float complex *whole) {
  if (!whole && prunes(t)) {
    hl_pruned_fft_cut(t->pruned, w.top, w.left, w.side, t->band);
    return;
  }
  if (!whole) whole = t->other;
  for (size_t i = 0; i < w.side; i++)
    for (size_t k = 0; k < w.side; k++) {
      ptrdiff_t row = w.top + (ptrdiff_t)i, column = w.left + (ptrdiff_t)k;
      t->band[i * w.side + k] =
          in_plane(t, row, column) ? whole[(size_t)row * t->n + (size_t)column] : 0;
    }
}

/* 0 where the aperture is closed. */
static void close_narrow(const hl_telescope *t, hl_aperture aperture, window w,
                         float complex *band) {
  double radius2 = t->spec.radius * t->spec.radius;
  for (size_t i = 0; i < w.side; i++)
    for (size_t k = 0; k < w.side; k++) {
      ptrdiff_t row = w.top + (ptrdiff_t)i, column = w.left + (ptrdiff_t)k;
      double y = (double)(row - (ptrdiff_t)(t->n / 2)) - aperture.row;
      double x = (double)(column - (ptrdiff_t)(t->n / 2)) - aperture.column;
      if (!in_plane(t, row, column) || x * x + y * y > radius2) band[i * w.side + k] = 0;
    }
}

static void close_wide(const hl_telescope *t, window w, float complex *band) {
  for (size_t i = 0; i < w.side; i++)
    for (size_t k = 0; k < w.side; k++) {
      ptrdiff_t row = w.top + (ptrdiff_t)i, column = w.left + (ptrdiff_t)k;
      if (!in_plane(t, row, column) || !t->mask[(size_t)row * t->n + (size_t)column])
        band[i * w.side + k] = 0;
    }
}

/* -- what is seen ----------------------------------------------------------------------------- */

static hl_status see_old(hl_telescope *t, const float *picture, float *ret_amplitude,
                         hl_error *error) {
  hl_status status = transform_object(t, picture, error);
  if (status == HL_OK && wide_pays(t)) {
    window w = wide_window(t);
    status = have_band(t, &t->wide, w.side, error);
    if (status != HL_OK) return status;
    cut(t, w, NULL);
    close_wide(t, w, t->band);
    hl_band_dft_amplitude(t->wide, t->band, HL_BAND_FLIP, ret_amplitude);
  } else if (status == HL_OK) {
    hl_pruned_fft_amplitude(t->pruned, t->mask, HL_PRUNED_FLIP, ret_amplitude);
  }
  return status;
}

hl_status hl__telescope_see_old(hl_telescope *t, const float *picture, float *ret_amplitude,
                                hl_error *error) {
  hl__telescope_make_mask(t);
  if (!prunes(t) && !wide_pays(t))
    return hl__telescope_plain_see_old(t, picture, ret_amplitude, error);
  if (t->box.height <= 0) {
    memset(ret_amplitude, 0, t->pixels * sizeof *ret_amplitude);
    return HL_OK;
  }
  hl_status status = see_old(t, picture, ret_amplitude, error);
  hl__telescope_plan_done(t);
  return status;
}

/* The truth's spectrum is asked for before the band's plan: without a cache of plans it is freed.
 */
static hl_status see_band(hl_telescope *t, hl_aperture aperture, float *ret_amplitude,
                          hl_error *error) {
  bool keeps = has(t, HL_TELESCOPE_KEPT_SPECTRUM);
  hl_status status = HL_OK;
  if (!keeps) {
    status = transform_object(t, t->truth, error);
  } else if (!t->has_spectrum) {
    status = hl__telescope_spectrum(t, t->truth, t->spectrum, error);
    t->has_spectrum = status == HL_OK;
  }
  window w = narrow_window(t, aperture);
  if (status == HL_OK) status = have_band(t, &t->narrow, w.side, error);
  if (status != HL_OK) return status;
  cut(t, w, keeps ? t->spectrum : NULL);
  close_narrow(t, aperture, w, t->band);
  hl_band_dft_amplitude(t->narrow, t->band, HL_BAND_FLIP, ret_amplitude);
  return HL_OK;
}

hl_status hl__telescope_see_new(hl_telescope *t, hl_aperture aperture, float *ret_amplitude,
                                hl_error *error) {
  hl_status status = HL_OK;
  if (narrow_pays(t)) {
    status = see_band(t, aperture, ret_amplitude, error);
  } else if (prunes(t) && !has(t, HL_TELESCOPE_KEPT_SPECTRUM)) {
    status = transform_object(t, t->truth, error);
    if (status == HL_OK) status = hl__telescope_opening(t, aperture, error);
    if (status == HL_OK)
      hl_pruned_fft_amplitude(t->pruned, t->opening, HL_PRUNED_FLIP, ret_amplitude);
  } else {
    return hl__telescope_plain_see_new(t, aperture, ret_amplitude, error);
  }
  hl__telescope_plan_done(t);
  return status;
}

/* -- losses ----------------------------------------------------------------------------------- */

/* The loss of t->band, closed where it is to be; its slope, closed too, in t->band_slope. */
static double band_loss(hl_telescope *t, hl_band_dft *dft, const float *measured,
                        double *ret_scale) {
  hl_residual_sums sums;
  hl_band_dft_residual(dft, t->band, HL_BAND_FLIP, measured, &sums, t->band_slope);
  return hl__telescope_l1_of(&sums, t->pixels, ret_scale);
}

/* Adds scale x t->band_slope to the slope of the picture's spectrum: in the pruned plan, or else in
 * t->field. */
static void add_slope(hl_telescope *t, window w, double scale) {
  if (prunes(t)) {
    hl_pruned_fft_add(t->pruned, w.top, w.left, w.side, t->band_slope, (float)scale);
    return;
  }
  for (size_t i = 0; i < w.side; i++)
    for (size_t k = 0; k < w.side; k++) {
      ptrdiff_t row = w.top + (ptrdiff_t)i, column = w.left + (ptrdiff_t)k;
      if (in_plane(t, row, column))
        t->field[(size_t)row * t->n + (size_t)column] +=
            (float)scale * t->band_slope[i * w.side + k];
    }
}

static hl_status wide_loss(hl_telescope *t, const float *measured, double *ret_loss,
                           hl_error *error) {
  window w = wide_window(t);
  double scale = 0;
  hl_status status = have_band(t, &t->wide, w.side, error);
  if (status != HL_OK) return status;
  cut(t, w, NULL);
  close_wide(t, w, t->band);
  *ret_loss = band_loss(t, t->wide, measured, &scale);
  close_wide(t, w, t->band_slope);
  add_slope(t, w, scale);
  return HL_OK;
}

/* `factor` is what the slope there is will be multiplied with. */
static hl_status narrow_loss(hl_telescope *t, hl_aperture aperture, const float *measured,
                             double factor, double *ret_loss, hl_error *error) {
  window w = narrow_window(t, aperture);
  double scale = 0;
  hl_status status = have_band(t, &t->narrow, w.side, error);
  if (status != HL_OK) return status;
  cut(t, w, NULL);
  close_narrow(t, aperture, w, t->band);
  *ret_loss = band_loss(t, t->narrow, measured, &scale);
  close_narrow(t, aperture, w, t->band_slope);
  add_slope(t, w, scale / factor);
  return HL_OK;
}

/* One loss through a mask by the pruned plan: its slope, to be multiplied with *ret_factor. */
static double pruned_loss(hl_telescope *t, const uint8_t *mask, const float *measured,
                          double *ret_factor) {
  hl_residual_sums sums;
  double scale = 0;
  hl_pruned_fft_residual(t->pruned, mask, HL_PRUNED_FLIP, measured, &sums);
  double loss = hl__telescope_l1_of(&sums, t->pixels, &scale);
  *ret_factor = scale > 0 ? scale : 1; /* else the slope is 0 */
  return loss;
}

static void add_object(hl_telescope *t, double factor, float *gradient) {
  size_t side = (size_t)t->spec.object, first = t->n / 2 - side / 2;
  float *part = (float *)t->sum, *to = gradient + first * t->n + first;
  hl_pruned_fft_gradient(t->pruned, (float)factor, part, side);
  for (size_t i = 0; i < side; i++)
    for (size_t k = 0; k < side; k++) to[i * t->n + k] += part[i * side + k];
}

static hl_status loss_by_pruned(hl_telescope *t, hl_aperture aperture, const float *image,
                                const float *old, const float *new, hl_telescope_losses *ret_losses,
                                float *gradient, hl_error *error) {
  double factor = 1;
  hl_status status = transform_object(t, image, error);
  if (status != HL_OK) return status;
  ret_losses->old_loss = 0;
  if (!old || wide_pays(t)) {
    hl_residual_sums none;
    hl_pruned_fft_residual(t->pruned, NULL, 0, new, &none);
    if (old) status = wide_loss(t, old, &ret_losses->old_loss, error);
  } else {
    ret_losses->old_loss = pruned_loss(t, t->mask, old, &factor);
  }
  if (status == HL_OK && narrow_pays(t)) {
    status = narrow_loss(t, aperture, new, factor, &ret_losses->new_loss, error);
  } else if (status == HL_OK) {
    if (gradient) add_object(t, factor, gradient);
    status = hl__telescope_opening(t, aperture, error);
    if (status == HL_OK) ret_losses->new_loss = pruned_loss(t, t->opening, new, &factor);
  }
  if (status == HL_OK && gradient) add_object(t, factor, gradient);
  return status;
}

/* Transforms of the whole plane, but only a band of the picture's spectrum is looked at. */
static hl_status loss_by_band(hl_telescope *t, hl_aperture aperture, const float *image,
                              const float *old, const float *new, hl_telescope_losses *ret_losses,
                              float *gradient, hl_error *error) {
  hl_status status = HL_OK;
  ret_losses->old_loss = 0;
  if (old && !wide_pays(t))
    status = hl__telescope_one_loss(t, image, t->mask, old, &ret_losses->old_loss, gradient, error);
  if (status == HL_OK) status = transform_object(t, image, error);
  memset(t->field, 0, t->pixels * sizeof *t->field);
  if (status == HL_OK && old && wide_pays(t))
    status = wide_loss(t, old, &ret_losses->old_loss, error);
  if (status == HL_OK) status = narrow_loss(t, aperture, new, 1, &ret_losses->new_loss, error);
  if (status == HL_OK && gradient) {
    status = hl__telescope_transform(t, t->field, HL_FFT_INVERSE, error);
    for (size_t i = 0; i < t->pixels; i++) gradient[i] += crealf(t->field[i]);
    hl__telescope_clear_outside(t, gradient);
  }
  return status;
}

hl_status hl_telescope_loss(hl_telescope *telescope, hl_aperture aperture, const float *image,
                            const float *measured_old, const float *measured_new,
                            hl_telescope_losses *ret_losses, float *ret_gradient, hl_error *error) {
  hl_telescope *t = telescope;
  hl_status status = hl__telescope_check(t, aperture, error);
  if (status != HL_OK) return status;
  if (!prunes(t) && !narrow_pays(t))
    return hl__telescope_plain_loss(t, aperture, image, measured_old, measured_new, ret_losses,
                                    ret_gradient, error);
  hl__telescope_make_mask(t);
  if (ret_gradient) memset(ret_gradient, 0, t->pixels * sizeof *ret_gradient);
  status = (prunes(t) ? loss_by_pruned : loss_by_band)(
      t, aperture, image, measured_old, measured_new, ret_losses, ret_gradient, error);
  hl__telescope_plan_done(t);
  return status;
}
