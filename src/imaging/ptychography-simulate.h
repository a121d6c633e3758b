/*
 * imaging/ptychography-simulate.h - a simulated ptychography scan.
 *
 *     hl_ptychography_options options = HL_PTYCHOGRAPHY_DEFAULTS;
 *     options.count = 1000;
 *     hl_ptychography_simulation *scan;
 *     hl_ptychography_simulate(&options, &scan, error);
 *     ...
 *     hl_ptychography_simulation_free(scan);
 *
 * A procedural object (Siemens star, discs, smooth random phase) is scanned by a defocused probe
 * (circular aperture, quadratic phase). A pattern is the far field of the probe times the object's
 * patch, as PtychoPINN computes it:
 *
 *     amplitude = sqrt(fftshift(|FFT2(probe * patch)|^2 / (h * w)))
 *
 * The probe is scaled so that patterns have `photons` photons on average (by Parseval the sum over
 * a pattern is that over the exit wave), so the squared noise-free amplitude is the expected count
 * of each pixel, and the noise is Poisson's. Pure function of its options; thread-safe.
 */
#ifndef HL_IMAGING_PTYCHOGRAPHY_SIMULATE_H
#define HL_IMAGING_PTYCHOGRAPHY_SIMULATE_H

#include "base/error.h"
#include <complex.h>
#include <stdbool.h>

typedef enum hl_scan_path { HL_SCAN_FERMAT, HL_SCAN_RASTER } hl_scan_path;

typedef struct hl_ptychography_options {
  int64_t size;  /* N: pixels of a pattern's side, even, 16 to 1024 */
  int64_t count; /* patterns, 1 to 1000000 */
  hl_scan_path path;
  double
      overlap; /* of neighbouring probe positions, as a part of the probe's diameter, 0 to 0.95 */
  double photons; /* of a pattern on average, 1 to 1e12 */
  bool noise;
  uint64_t seed;
} hl_ptychography_options;

#define HL_PTYCHOGRAPHY_DEFAULTS                                                                   \
  { .size = 64, .count = 512, .overlap = 0.7, .photons = 1e9, .noise = true, .seed = 42 }

typedef struct hl_ptychography_simulation {
  int64_t count, size;
  float *amplitude;      /* (count, N, N), zero frequency at [N/2, N/2] */
  double *x, *y;         /* centres of the patches in the object, whole pixels */
  float complex *probe;  /* (N, N), centred at [N/2, N/2] */
  int64_t height, width; /* of the object */
  float complex *object; /* patch i is rows y[i]-N/2 to y[i]+N/2, columns the same of x[i] */
} hl_ptychography_simulation;

/* INVALID_ARGUMENT names the option; LIMIT if the patterns need more than 16 GiB. */
hl_status hl_ptychography_simulate(const hl_ptychography_options *options,
                                   hl_ptychography_simulation **ret_simulation, hl_error *error);
void hl_ptychography_simulation_free(hl_ptychography_simulation *simulation);

/* A centred, unscaled defocused probe of size x size; its diameter is HL_PROBE_DIAMETER * size. */
#define HL_PROBE_DIAMETER 0.4
hl_status hl_ptychography_probe(int64_t size, float complex *ret_probe, hl_error *error);

/* A complex object of height x width; `scale` is the size of a probe's patch in pixels. */
hl_status hl_ptychography_object(int64_t height, int64_t width, int64_t scale, uint64_t seed,
                                 float complex *ret_object, hl_error *error);

#endif
