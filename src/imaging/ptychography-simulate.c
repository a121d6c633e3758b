#include "imaging/ptychography-simulate.h"

#include "numeric/fft.h"
#include "numeric/random.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { margin = 2 /* pixels around the outermost patches */ };

static const double pi = 3.14159265358979323846;
static const double golden_angle = 137.508 * 3.14159265358979323846 / 180;
static const uint64_t max_bytes = (uint64_t)16 << 30;

void hl_ptychography_simulation_free(hl_ptychography_simulation *s) {
  if (!s) return;
  free(s->amplitude);
  free(s->x);
  free(s->y);
  free(s->probe);
  free(s->object);
  free(s);
}

static hl_status check_options(const hl_ptychography_options *o, hl_error *error) {
  if (o->size < 16 || o->size > 1024 || o->size % 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "size %" PRId64 ": give an even number from 16 to 1024", o->size);
  if (o->count < 1 || o->count > 1000000)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%" PRId64 " images: give a number from 1 to 1000000", o->count);
  if (!(o->overlap >= 0 && o->overlap <= 0.95))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "overlap %g: give a number from 0 to 0.95",
                        o->overlap);
  if (!(o->photons >= 1 && o->photons <= 1e12))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "photons %g: give a number from 1 to 1e12",
                        o->photons);
  uint64_t bytes = (uint64_t)o->count * (uint64_t)(o->size * o->size) * sizeof(float);
  if (bytes > max_bytes)
    return hl_error_set(error, HL_LIMIT,
                        "%" PRId64 " patterns of %" PRId64 " x %" PRId64 " need %" PRIu64
                        " bytes; the limit is %" PRIu64 ". Give fewer images or a smaller size",
                        o->count, o->size, o->size, bytes, max_bytes);
  return HL_OK;
}

/* One position per step^2 of area, in whole pixels, so that patches need no interpolation. */
static void place(const hl_ptychography_options *o, double *x, double *y) {
  double step = fmax(1, (1 - o->overlap) * HL_PROBE_DIAMETER * (double)o->size);
  int64_t columns = (int64_t)ceil(sqrt((double)o->count));
  for (int64_t i = 0; i < o->count; i++) {
    if (o->path == HL_SCAN_RASTER) {
      x[i] = round(step * (double)(i % columns));
      y[i] = round(step * (double)(i / columns));
    } else {
      double radius = step * sqrt((double)i / pi), angle = golden_angle * (double)i;
      x[i] = round(radius * cos(angle));
      y[i] = round(radius * sin(angle));
    }
  }
}

/* Moves coordinates so that all patches lie in the object; returns the object's side. */
static int64_t fit(double *v, int64_t count, int64_t size) {
  double low = v[0], high = v[0];
  for (int64_t i = 1; i < count; i++) {
    low = fmin(low, v[i]);
    high = fmax(high, v[i]);
  }
  for (int64_t i = 0; i < count; i++) v[i] += (double)(size / 2 + margin) - low;
  return (int64_t)(high - low) + size + 2 * margin;
}

/* probe * patch into `wave`; returns its energy. */
static double exit_wave(const hl_ptychography_simulation *s, int64_t image, float complex *wave) {
  int64_t n = s->size, top = (int64_t)s->y[image] - n / 2, left = (int64_t)s->x[image] - n / 2;
  double energy = 0;
  for (int64_t r = 0; r < n; r++)
    for (int64_t c = 0; c < n; c++) {
      float complex v = s->probe[r * n + c] * s->object[(top + r) * s->width + left + c];
      wave[r * n + c] = v;
      energy += (double)(crealf(v) * crealf(v) + cimagf(v) * cimagf(v));
    }
  return energy;
}

/* Scales the probe so that patterns have `photons` on average. */
static void expose(hl_ptychography_simulation *s, double photons, float complex *wave) {
  double energy = 0;
  for (int64_t i = 0; i < s->count; i++) energy += exit_wave(s, i, wave);
  float factor = (float)sqrt(photons * (double)s->count / energy);
  for (int64_t i = 0; i < s->size * s->size; i++) s->probe[i] *= factor;
}

static void diffract(hl_ptychography_simulation *s, const hl_ptychography_options *o, hl_fft *fft,
                     float complex *wave) {
  size_t n = (size_t)s->size, pixels = n * n;
  uint64_t stream = hl_random_stream("ptychography noise");
  for (int64_t i = 0; i < s->count; i++) {
    float *to = s->amplitude + (size_t)i * pixels;
    exit_wave(s, i, wave);
    hl_fft2(fft, HL_FFT_FORWARD | HL_FFT_ORTHONORMAL, wave, 1);
    hl_fft_shift(wave, 1, n, n);
    /* A stream for each pattern: the first images are the same however many there are. */
    hl_random random;
    hl_random_init(&random, o->seed, stream + (uint64_t)i);
    for (size_t p = 0; p < pixels; p++) {
      double re = crealf(wave[p]), im = cimagf(wave[p]), expected = re * re + im * im;
      to[p] = (float)sqrt(o->noise ? hl_random_poisson(&random, expected) : expected);
    }
  }
}

static hl_status run(const hl_ptychography_options *o, hl_ptychography_simulation *s,
                     hl_error *error) {
  size_t count = (size_t)o->count, pixels = (size_t)(o->size * o->size);
  s->count = o->count;
  s->size = o->size;
  s->x = calloc(count, sizeof *s->x);
  s->y = calloc(count, sizeof *s->y);
  s->amplitude = malloc(count * pixels * sizeof *s->amplitude);
  s->probe = calloc(pixels, sizeof *s->probe);
  if (!s->x || !s->y || !s->amplitude || !s->probe)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu patterns", count);
  place(o, s->x, s->y);
  s->width = fit(s->x, s->count, s->size);
  s->height = fit(s->y, s->count, s->size);
  s->object = calloc((size_t)s->height * (size_t)s->width, sizeof *s->object);
  if (!s->object) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the object");
  hl_status status = hl_ptychography_probe(s->size, s->probe, error);
  if (status == HL_OK)
    status = hl_ptychography_object(s->height, s->width, s->size, o->seed, s->object, error);
  if (status != HL_OK) return status;
  hl_fft *fft = NULL;
  status = hl_fft_new((size_t)s->size, (size_t)s->size, &fft, error);
  if (status != HL_OK) return status;
  float complex *wave = calloc(pixels, sizeof *wave);
  if (wave) {
    expose(s, o->photons, wave);
    diffract(s, o, fft, wave);
  } else {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a wave");
  }
  free(wave);
  hl_fft_free(fft);
  return status;
}

hl_status hl_ptychography_simulate(const hl_ptychography_options *options,
                                   hl_ptychography_simulation **ret_simulation, hl_error *error) {
  hl_status status = check_options(options, error);
  if (status != HL_OK) return status;
  hl_ptychography_simulation *s = calloc(1, sizeof *s);
  if (!s) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the simulation");
  status = run(options, s, error);
  if (status != HL_OK)
    hl_ptychography_simulation_free(s);
  else
    *ret_simulation = s;
  return status;
}
