/*
 * data/scan-inputs.h - a ptychography scan as inputs of a network, batch by batch.
 *
 *     hl_scan_inputs *inputs;
 *     hl_scan_inputs_new(scan, gridsize * gridsize, seed, HL_SCAN_PHOTONS, &inputs, error);
 *     for (int64_t i = 0; i < inputs->count; i += n) {
 *       hl_scan_inputs_patterns(inputs, i, n, diffraction);   // (n, channels, N, N) float32
 *       hl_scan_inputs_positions(inputs, i, n, relative);     // (n, channels, 2)
 *     }
 *     ... inputs->x[i], inputs->y[i]: where input i lies ...
 *     hl_scan_inputs_free(inputs);
 *
 * As PtychoPINN prepares a scan: patterns times hl_scan_normalise_factor; with one channel each
 * pattern is an input, with more an input is a group of a position's nearest neighbours
 * (data/neighbours.h). A function of the scan and the seed; read by any number of threads.
 */
#ifndef HL_DATA_SCAN_INPUTS_H
#define HL_DATA_SCAN_INPUTS_H

#include "data/ptychography.h"

typedef struct hl_scan_inputs {
  const hl_scan *scan; /* borrowed */
  int channels;
  int64_t count;    /* inputs: as many as patterns */
  int64_t *members; /* [count][channels]: the patterns of each input */
  double *x, *y;    /* mean position of each input's patterns; NULL without positions */
  double factor;    /* that amplitudes are multiplied with */
} hl_scan_inputs;

/* BAD_DATA where more than one channel has no positions, or the patterns are dark;
 * INVALID_ARGUMENT where there are fewer than channels + 1 of them; OUT_OF_MEMORY. */
hl_status hl_scan_inputs_new(const hl_scan *scan, int channels, uint64_t seed, double photons,
                             hl_scan_inputs **ret_inputs, hl_error *error);
void hl_scan_inputs_free(hl_scan_inputs *inputs); /* NULL is fine */

/* Groups and places once more, into the same memory: what a pass over a scan begins with. */
hl_status hl_scan_inputs_group(hl_scan_inputs *inputs, uint64_t seed, hl_error *error);

/* A pattern that is elsewhere, normalised; ret may be the pattern itself. */
void hl_scan_inputs_normalise(const hl_scan_inputs *inputs, const float *pattern, float *ret);

/* Patterns of inputs `first` to `first + n - 1`, which exist, into ret[n][channels][N][N]. */
void hl_scan_inputs_patterns(const hl_scan_inputs *inputs, int64_t first, int64_t n, float *ret);

/* Their relative positions -(coordinate - mean of the group), x and y, into ret[n][channels][2];
 * zeros without positions. */
void hl_scan_inputs_positions(const hl_scan_inputs *inputs, int64_t first, int64_t n, double *ret);

#endif
