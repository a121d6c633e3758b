#include "imaging/telescope-internal.h"

#include "numeric/random.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_pixels = 8192 };

static hl_status check(const hl_telescope_spec *s, hl_error *error) {
  if (s->image < 2 || s->image > most_pixels || s->image % 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an image of %" PRId64 " pixels a side: an even number from 2 to %d",
                        s->image, most_pixels);
  if (s->object < 1 || s->object > s->image)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an object of %" PRId64 " pixels in an image of %" PRId64
                        ": 1 to as many as the image has",
                        s->object, s->image);
  if (!(s->radius > 0 && s->radius <= (double)s->image / 2))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an aperture's radius of %g: above 0 and at most %" PRId64
                        ", half of the image",
                        s->radius, s->image / 2);
  if (!(s->snr >= 0) || isinf(s->snr))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a signal-to-noise ratio of %g: above 0, or 0 for no noise", s->snr);
  return HL_OK;
}

hl_status hl_telescope_new(const hl_telescope_spec *spec, hl_telescope **ret_telescope,
                           hl_error *error) {
  hl_status status = check(spec, error);
  if (status != HL_OK) return status;
  hl_telescope *t = calloc(1, sizeof *t);
  if (!t) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a telescope");
  t->spec = *spec;
  t->n = (size_t)spec->image;
  t->pixels = t->n * t->n;
  t->truth = calloc(t->pixels, sizeof *t->truth);
  t->mask = calloc(t->pixels, 1);
  t->opening = calloc(t->pixels, 1);
  t->field = calloc(t->pixels, sizeof *t->field);
  t->other = calloc(t->pixels, sizeof *t->other);
  t->sum = calloc(t->pixels, sizeof *t->sum);
  t->spectrum = calloc(t->pixels, sizeof *t->spectrum);
  if (!t->truth || !t->mask || !t->opening || !t->field || !t->other || !t->sum || !t->spectrum)
    status = hl_error_set(error, HL_OUT_OF_MEMORY,
                          "no memory for a telescope of %" PRId64 " x %" PRId64 " pixels",
                          spec->image, spec->image);
  if (status == HL_OK)
    status = hl_measurement_cache_new(
        spec->options & HL_TELESCOPE_MEASUREMENT_CACHE ? spec->cache_bytes : 0, (int64_t)t->pixels,
        &t->cache, error);
  if (status == HL_OK && !(t->team = hl_team_new(spec->threads)))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a telescope's threads");
  if (status == HL_OK)
    *ret_telescope = t;
  else
    hl_telescope_free(t);
  return status;
}

void hl_telescope_free(hl_telescope *telescope) {
  hl_telescope *t = telescope;
  if (!t) return;
  hl_measurement_cache_free(t->cache);
  hl_fft_free(t->fft);
  hl_pruned_fft_free(t->pruned);
  hl_band_dft_free(t->narrow);
  hl_band_dft_free(t->wide);
  hl_team_free(t->team);
  free(t->band);
  free(t->band_slope);
  free(t->grid);
  free(t->truth);
  free(t->mask);
  free(t->opening);
  free(t->field);
  free(t->other);
  free(t->sum);
  free(t->spectrum);
  free(t->apertures);
  free(t);
}

void hl_telescope_set_truth(hl_telescope *telescope, const float *picture, uint64_t version) {
  memcpy(telescope->truth, picture, telescope->pixels * sizeof *picture);
  telescope->version = version;
  telescope->has_spectrum = false;
}

void hl_telescope_forget(hl_telescope *telescope) {
  if (telescope->cache) hl_measurement_cache_clear(telescope->cache);
  telescope->has_spectrum = false;
}

void hl_telescope_restart(hl_telescope *telescope) {
  telescope->aperture_count = 0;
  telescope->box = (hl_aperture_box){0};
  memset(telescope->mask, 0, telescope->pixels);
}

/* -- the cumulative mask ---------------------------------------------------------------------- */

static hl_aperture_box join(hl_aperture_box a, hl_aperture_box b) {
  if (a.height <= 0 || a.width <= 0) return b;
  if (b.height <= 0 || b.width <= 0) return a;
  int64_t top = a.top < b.top ? a.top : b.top, left = a.left < b.left ? a.left : b.left;
  int64_t below = a.top + a.height > b.top + b.height ? a.top + a.height : b.top + b.height;
  int64_t right = a.left + a.width > b.left + b.width ? a.left + a.width : b.left + b.width;
  return (hl_aperture_box){top, left, below - top, right - left};
}

/* No disc reaches the plane from farther than its side: a radius is at most half of that. */
hl_status hl__telescope_check(const hl_telescope *t, hl_aperture aperture, hl_error *error) {
  double most = (double)t->n;
  if (fabs(aperture.row) <= most && fabs(aperture.column) <= most) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "an aperture at row %g, column %g lies far outside of the image: %g from the "
                      "middle is the most",
                      aperture.row, aperture.column, most);
}

hl_status hl_telescope_add(hl_telescope *telescope, hl_aperture aperture, hl_error *error) {
  hl_telescope *t = telescope;
  hl_status status = hl__telescope_check(t, aperture, error);
  if (status != HL_OK) return status;
  if (t->aperture_count == t->aperture_capacity) {
    size_t wanted = t->aperture_capacity ? 2 * t->aperture_capacity : 64;
    hl_aperture *grown = realloc(t->apertures, wanted * sizeof *grown);
    if (!grown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for apertures");
    t->apertures = grown;
    t->aperture_capacity = wanted;
  }
  t->apertures[t->aperture_count++] = aperture;
  t->box = join(t->box, hl_aperture_bounds(aperture, t->spec.radius, t->spec.image));
  if (t->spec.options & HL_TELESCOPE_INCREMENTAL_MASK)
    hl_aperture_add(t->mask, t->spec.image, aperture, t->spec.radius);
  return HL_OK;
}

void hl__telescope_make_mask(hl_telescope *t) {
  if (t->spec.options & HL_TELESCOPE_INCREMENTAL_MASK) return;
  memset(t->mask, 0, t->pixels);
  for (size_t i = 0; i < t->aperture_count; i++)
    hl_aperture_add(t->mask, t->spec.image, t->apertures[i], t->spec.radius);
}

const uint8_t *hl_telescope_mask(hl_telescope *telescope) {
  hl__telescope_make_mask(telescope);
  return telescope->mask;
}

/* -- measurements ----------------------------------------------------------------------------- */

/* g is of (seed, sample, half), so that it does not hang on what the cache held. */
static void add_noise(const hl_telescope *t, int64_t sample, int half, float *amplitude) {
  if (t->spec.snr <= 0) return;
  hl_random random;
  hl_random_init(&random, t->spec.seed ^ hl_random_stream("telescope noise"),
                 2 * (uint64_t)sample + (uint64_t)half);
  double factor = 1 / sqrt(t->spec.snr);
  for (size_t i = 0; i < t->pixels; i++) {
    double a = (double)amplitude[i], noisy = a * a + a * hl_random_normal(&random) * factor;
    amplitude[i] = noisy > 0 ? (float)noisy : 0;
  }
}

hl_status hl_telescope_measure_old(hl_telescope *telescope, int64_t sample,
                                   const float *reconstruction, float *ret_old, hl_error *error) {
  hl_status status = hl__telescope_see_old(telescope, reconstruction, ret_old, error);
  if (status == HL_OK) add_noise(telescope, sample, 0, ret_old);
  return status;
}

hl_status hl_telescope_measure_new(hl_telescope *telescope, int64_t sample, hl_aperture aperture,
                                   float *ret_new, hl_error *error) {
  hl_telescope *t = telescope;
  bool caches = t->spec.options & HL_TELESCOPE_MEASUREMENT_CACHE;
  hl_measurement_key key = {.object = 1,
                            .version = t->version,
                            .row = aperture.row,
                            .column = aperture.column,
                            .radius = t->spec.radius};
  hl_status status = hl__telescope_check(t, aperture, error);
  if (status != HL_OK) return status;
  if (!caches || !hl_measurement_cache_get(t->cache, &key, ret_new)) {
    status = hl__telescope_see_new(t, aperture, ret_new, error);
    if (status == HL_OK && caches) hl_measurement_cache_put(t->cache, &key, ret_new);
  }
  if (status == HL_OK) add_noise(t, sample, 1, ret_new);
  return status;
}

hl_status hl_telescope_measure(hl_telescope *telescope, int64_t sample, hl_aperture aperture,
                               const float *reconstruction, float *ret_old, float *ret_new,
                               hl_error *error) {
  hl_status status = hl_telescope_measure_old(telescope, sample, reconstruction, ret_old, error);
  if (status != HL_OK) return status;
  return hl_telescope_measure_new(telescope, sample, aperture, ret_new, error);
}

double hl__telescope_l1_of(const hl_residual_sums *sums, size_t pixels, double *ret_scale) {
  *ret_scale = sums->target > 0 ? 1 / sums->target : sums->amplitude > 0 ? 1 / (double)pixels : 0;
  return sums->difference * *ret_scale;
}

double hl__telescope_l1(const float *a, const float *m, size_t pixels, double *ret_scale) {
  hl_residual_sums sums = {0, 0, 0};
  for (size_t i = 0; i < pixels; i++) {
    sums.difference += fabs((double)a[i] - (double)m[i]);
    sums.target += fabs((double)m[i]);
    sums.amplitude += fabs((double)a[i]);
  }
  return hl__telescope_l1_of(&sums, pixels, ret_scale);
}

void hl_telescope_count(const hl_telescope *telescope, hl_telescope_counts *ret_counts) {
  const hl_telescope *t = telescope;
  *ret_counts = t->counts;
  ret_counts->plan_bytes = hl__telescope_plan_bytes(t);
  hl_measurement_cache_count(t->cache, &ret_counts->measurements);
  ret_counts->open_pixels = 0;
  for (size_t i = 0; i < t->pixels; i++) ret_counts->open_pixels += t->mask[i];
  ret_counts->bytes = t->pixels * (sizeof *t->truth + 4 * sizeof *t->field + 2) +
                      ret_counts->measurements.bytes + ret_counts->plan_bytes +
                      ret_counts->grid_bytes;
}
