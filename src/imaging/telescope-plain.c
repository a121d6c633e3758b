/* The definition: transforms of the whole plane, with their shifts. */
#include "imaging/telescope-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hl_status hl__telescope_plan(hl_telescope *t, hl_error *error) {
  if (t->fft) {
    t->counts.plan_hits++;
    return HL_OK;
  }
  t->counts.plan_misses++;
  return hl_fft_new(t->n, t->n, &t->fft, error);
}

void hl__telescope_plan_done(hl_telescope *t) {
  if (t->spec.options & HL_TELESCOPE_PLAN_CACHE) return;
  hl_fft_free(t->fft);
  hl_pruned_fft_free(t->pruned);
  hl_band_dft_free(t->narrow);
  hl_band_dft_free(t->wide);
  t->fft = NULL;
  t->pruned = NULL;
  t->narrow = t->wide = NULL;
}

/* Coordinates of every pixel, as meshgrid makes them. */
static hl_status make_grid(hl_telescope *t, hl_error *error) {
  if (t->grid) {
    t->counts.grid_hits++;
    return HL_OK;
  }
  t->counts.grid_misses++;
  t->grid = malloc(2 * t->pixels * sizeof *t->grid);
  if (!t->grid) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for coordinates");
  float *rows = t->grid, *columns = t->grid + t->pixels;
  for (size_t i = 0; i < t->n; i++)
    for (size_t j = 0; j < t->n; j++) {
      rows[i * t->n + j] = (float)i - (float)(t->n / 2);
      columns[i * t->n + j] = (float)j - (float)(t->n / 2);
    }
  t->counts.grid_bytes = 2 * t->pixels * sizeof *t->grid;
  return HL_OK;
}

hl_status hl__telescope_opening(hl_telescope *t, hl_aperture aperture, hl_error *error) {
  hl_status status = make_grid(t, error);
  if (status != HL_OK) return status;
  const float *rows = t->grid, *columns = t->grid + t->pixels;
  double radius2 = t->spec.radius * t->spec.radius;
  for (size_t i = 0; i < t->pixels; i++) {
    double y = (double)rows[i] - aperture.row, x = (double)columns[i] - aperture.column;
    t->opening[i] = x * x + y * y <= radius2;
  }
  if (!(t->spec.options & HL_TELESCOPE_GRID_CACHE)) {
    free(t->grid);
    t->grid = NULL;
    t->counts.grid_bytes = 0;
  }
  return HL_OK;
}

hl_status hl__telescope_transform(hl_telescope *t, float complex *field, unsigned direction,
                                  hl_error *error) {
  hl_status status = hl__telescope_plan(t, error);
  if (status != HL_OK) return status;
  hl_fft_unshift(field, 1, t->n, t->n);
  hl_fft2(t->fft, direction | HL_FFT_ORTHONORMAL, field, 1);
  hl_fft_shift(field, 1, t->n, t->n);
  hl__telescope_plan_done(t);
  return HL_OK;
}

hl_status hl__telescope_spectrum(hl_telescope *t, const float *picture, float complex *ret_spectrum,
                                 hl_error *error) {
  for (size_t i = 0; i < t->pixels; i++) ret_spectrum[i] = picture[i];
  return hl__telescope_transform(t, ret_spectrum, HL_FFT_FORWARD, error);
}

/* field = F(mask spectrum), not flipped. */
static hl_status through(hl_telescope *t, const float complex *spectrum, const uint8_t *mask,
                         float complex *field, hl_error *error) {
  for (size_t i = 0; i < t->pixels; i++) field[i] = mask[i] ? spectrum[i] : 0;
  return hl__telescope_transform(t, field, HL_FFT_FORWARD, error);
}

/* Both axes flipped: the last pixel is the first. */
static void amplitude_of(const float complex *field, size_t pixels, float *ret_amplitude) {
  for (size_t i = 0; i < pixels; i++) {
    float re = crealf(field[i]), im = cimagf(field[i]);
    ret_amplitude[pixels - 1 - i] = sqrtf(re * re + im * im);
  }
}

static hl_status see(hl_telescope *t, const float *picture, const uint8_t *mask,
                     float *ret_amplitude, hl_error *error) {
  hl_status status = hl__telescope_spectrum(t, picture, t->other, error);
  if (status == HL_OK) status = through(t, t->other, mask, t->field, error);
  if (status == HL_OK) amplitude_of(t->field, t->pixels, ret_amplitude);
  return status;
}

hl_status hl__telescope_plain_see_old(hl_telescope *t, const float *picture, float *ret_amplitude,
                                      hl_error *error) {
  hl__telescope_make_mask(t);
  return see(t, picture, t->mask, ret_amplitude, error);
}

hl_status hl__telescope_plain_see_new(hl_telescope *t, hl_aperture aperture, float *ret_amplitude,
                                      hl_error *error) {
  hl_status status = hl__telescope_opening(t, aperture, error);
  if (status == HL_OK && !(t->spec.options & HL_TELESCOPE_KEPT_SPECTRUM))
    return see(t, t->truth, t->opening, ret_amplitude, error);
  if (status == HL_OK && !t->has_spectrum)
    status = hl__telescope_spectrum(t, t->truth, t->spectrum, error);
  if (status != HL_OK) return status;
  t->has_spectrum = true;
  status = through(t, t->spectrum, t->opening, t->field, error);
  if (status == HL_OK) amplitude_of(t->field, t->pixels, ret_amplitude);
  return status;
}

/* field = w = d loss / d a times the field's direction; the amplitude's flip undone. */
static void turn_back(float complex *field, const float *amplitude, const float *measured,
                      double scale, size_t pixels) {
  for (size_t i = 0; i < pixels; i++) {
    float a = amplitude[pixels - 1 - i], m = measured[pixels - 1 - i];
    float s = a > m ? (float)scale : a < m ? -(float)scale : 0;
    field[i] = a > 0 ? field[i] * (s / a) : 0;
  }
}

/* The adjoint of F M F is F* M F*. */
hl_status hl__telescope_one_loss(hl_telescope *t, const float *image, const uint8_t *mask,
                                 const float *measured, double *ret_loss, float *ret_gradient,
                                 hl_error *error) {
  float *amplitude = malloc(t->pixels * sizeof *amplitude);
  if (!amplitude) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a loss");
  double scale = 0;
  hl_status status = see(t, image, mask, amplitude, error);
  if (status == HL_OK) *ret_loss = hl__telescope_l1(amplitude, measured, t->pixels, &scale);
  if (status == HL_OK && ret_gradient) {
    turn_back(t->field, amplitude, measured, scale, t->pixels);
    status = hl__telescope_transform(t, t->field, HL_FFT_INVERSE, error);
    for (size_t i = 0; i < t->pixels; i++)
      if (!mask[i]) t->field[i] = 0;
    if (status == HL_OK) status = hl__telescope_transform(t, t->field, HL_FFT_INVERSE, error);
    for (size_t i = 0; i < t->pixels; i++) ret_gradient[i] += crealf(t->field[i]);
  }
  free(amplitude);
  return status;
}

void hl__telescope_clear_outside(const hl_telescope *t, float *picture) {
  size_t n = t->n, object = (size_t)t->spec.object, first = n / 2 - object / 2;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      if (i < first || i >= first + object || j < first || j >= first + object)
        picture[i * n + j] = 0;
}

hl_status hl__telescope_plain_loss(hl_telescope *t, hl_aperture aperture, const float *image,
                                   const float *measured_old, const float *measured_new,
                                   hl_telescope_losses *ret_losses, float *ret_gradient,
                                   hl_error *error) {
  if (ret_gradient) memset(ret_gradient, 0, t->pixels * sizeof *ret_gradient);
  hl__telescope_make_mask(t);
  hl_status status = HL_OK;
  ret_losses->old_loss = 0;
  if (measured_old)
    status = hl__telescope_one_loss(t, image, t->mask, measured_old, &ret_losses->old_loss,
                                    ret_gradient, error);
  if (status == HL_OK) status = hl__telescope_opening(t, aperture, error);
  if (status == HL_OK)
    status = hl__telescope_one_loss(t, image, t->opening, measured_new, &ret_losses->new_loss,
                                    ret_gradient, error);
  if (status == HL_OK && ret_gradient) hl__telescope_clear_outside(t, ret_gradient);
  return status;
}
