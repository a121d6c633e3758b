/* The procedural object and the probe of a simulated scan. */
#include "imaging/ptychography-simulate.h"

#include "numeric/fft.h"
#include "numeric/random.h"
#include <math.h>
#include <stdlib.h>

enum { wave_count = 24, disc_count = 40, star_spokes = 18 };

static const double pi = 3.14159265358979323846;

/* A plane wave cos(p + q) as tables over rows and columns: cos p cos q - sin p sin q. */
typedef struct wave_tables {
  float *row_cos, *row_sin, *column_cos, *column_sin;
} wave_tables;

static void fill_wave(float *ret_cos, float *ret_sin, int64_t count, double frequency,
                      double phase) {
  for (int64_t i = 0; i < count; i++) {
    double angle = 2 * pi * frequency * (double)i + phase;
    ret_cos[i] = (float)cos(angle);
    ret_sin[i] = (float)sin(angle);
  }
}

/* Adds a smooth random field of unit deviation: waves of 1/2 to 4 patches length. */
static void add_waves(float *field, int64_t height, int64_t width, int64_t scale, hl_random *random,
                      const wave_tables *t) {
  float weight = sqrtf(2.0f / wave_count);
  for (int w = 0; w < wave_count; w++) {
    double length = (double)scale * exp2(3 * hl_random_uniform(random) - 1);
    double direction = 2 * pi * hl_random_uniform(random);
    double phase = 2 * pi * hl_random_uniform(random);
    fill_wave(t->row_cos, t->row_sin, height, sin(direction) / length, phase);
    fill_wave(t->column_cos, t->column_sin, width, cos(direction) / length, 0);
    for (int64_t r = 0; r < height; r++)
      for (int64_t c = 0; c < width; c++)
        field[r * width + c] +=
            weight * (t->row_cos[r] * t->column_cos[c] - t->row_sin[r] * t->column_sin[c]);
  }
}

/* 1 inside, 0 outside, one pixel of transition; `depth` is the distance to the edge in pixels. */
static float edge(double depth) {
  return depth <= -0.5 ? 0.0f : depth >= 0.5 ? 1.0f : (float)(depth + 0.5);
}

static void draw_star(float *shapes, int64_t height, int64_t width) {
  double radius = 0.38 * (double)(height < width ? height : width);
  for (int64_t r = 0; r < height; r++)
    for (int64_t c = 0; c < width; c++) {
      double dy = (double)(r - height / 2), dx = (double)(c - width / 2), d = hypot(dx, dy);
      if (d > radius + 1 || d < 2) continue;
      /* Distance along the circle to the nearest edge of a spoke. */
      double spoke = sin(star_spokes * atan2(dy, dx));
      float inside = edge(asin(spoke) / star_spokes * d) * edge(radius - d);
      if (inside > shapes[r * width + c]) shapes[r * width + c] = inside;
    }
}

static void draw_disc(float *shapes, int64_t height, int64_t width, int64_t scale,
                      hl_random *random) {
  double cy = hl_random_uniform(random) * (double)height;
  double cx = hl_random_uniform(random) * (double)width;
  double radius = (double)scale * (0.04 + 0.1 * hl_random_uniform(random));
  float strength = (float)(0.4 + 0.6 * hl_random_uniform(random));
  int64_t first_row = (int64_t)fmax(0, cy - radius - 1), first = (int64_t)fmax(0, cx - radius - 1);
  for (int64_t r = first_row; r < height && (double)r <= cy + radius + 1; r++)
    for (int64_t c = first; c < width && (double)c <= cx + radius + 1; c++) {
      float inside = strength * edge(radius - hypot((double)c - cx, (double)r - cy));
      if (inside > shapes[r * width + c]) shapes[r * width + c] = inside;
    }
}

hl_status hl_ptychography_object(int64_t height, int64_t width, int64_t scale, uint64_t seed,
                                 float complex *ret_object, hl_error *error) {
  size_t pixels = (size_t)height * (size_t)width;
  float *shapes = calloc(pixels, sizeof(float)), *phase = calloc(pixels, sizeof(float));
  float *lines = calloc((size_t)(height + width), 2 * sizeof(float));
  hl_status status = HL_OK;
  if (shapes && phase && lines) {
    wave_tables t = {lines, lines + height, lines + 2 * height, lines + 2 * height + width};
    hl_random random;
    hl_random_init(&random, seed, hl_random_stream("ptychography object"));
    add_waves(phase, height, width, scale, &random, &t);
    draw_star(shapes, height, width);
    for (int i = 0; i < disc_count; i++) draw_disc(shapes, height, width, scale, &random);
    /* A sample that absorbs up to half and shifts the phase by about a radian. */
    for (size_t i = 0; i < pixels; i++)
      ret_object[i] = (1.0f - 0.45f * shapes[i]) *
                      cexpf((0.9f * shapes[i] + 0.35f * phase[i]) * (float complex)_Complex_I);
  } else {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an object of %zu pixels", pixels);
  }
  free(shapes);
  free(phase);
  free(lines);
  return status;
}

/* A ray of frequency k lands at defocus * k pixels, so an aperture of radius size / 8 becomes a
 * disc of radius defocus * size / 8 = HL_PROBE_DIAMETER / 2 * size. */
hl_status hl_ptychography_probe(int64_t size, float complex *ret_probe, hl_error *error) {
  hl_fft *fft = NULL;
  hl_status status = hl_fft_new((size_t)size, (size_t)size, &fft, error);
  if (status != HL_OK) return status;
  double aperture = (double)size / 8, defocus = 4 * HL_PROBE_DIAMETER;
  for (int64_t r = 0; r < size; r++)
    for (int64_t c = 0; c < size; c++) {
      double ky = (double)(r - size / 2), kx = (double)(c - size / 2), k2 = kx * kx + ky * ky;
      double angle = pi * defocus * k2 / (double)size;
      float open = edge(aperture - sqrt(k2));
      ret_probe[r * size + c] = open * (float complex)cexp(angle * (double complex)_Complex_I);
    }
  hl_fft_unshift(ret_probe, 1, (size_t)size, (size_t)size);
  hl_fft2(fft, HL_FFT_INVERSE | HL_FFT_ORTHONORMAL, ret_probe, 1);
  hl_fft_shift(ret_probe, 1, (size_t)size, (size_t)size);
  hl_fft_free(fft);
  return HL_OK;
}
