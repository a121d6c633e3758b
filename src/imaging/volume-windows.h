/*
 * imaging/volume-windows.h - a prediction of a whole volume by a network that takes patches.
 *
 *     hl_windows_options options = HL_WINDOWS_DEFAULTS;
 *     options.roi = (hl_volume_shape){16, 32, 32};
 *     hl_windows_predict(&options, shape, image, network, context, prediction, error);
 *
 * or, where the caller steps itself (to time each part):
 *
 *     hl_windows *windows;
 *     hl_windows_new(&options, shape, &windows, error);
 *     for (int64_t i = 0; i < hl_windows_count(windows); i += n) {
 *       n = min(batch, count - i);
 *       hl_windows_gather(windows, image, i, n, inputs);
 *       ... outputs = network(inputs) ...
 *       hl_windows_scatter(windows, outputs, i, n);
 *     }
 *     hl_windows_finish(windows, prediction);
 *     hl_windows_free(windows);
 *
 * As MONAI's SlidingWindowInferer: windows of `roi` at distances of floor(roi (1 - overlap)), at
 * least 1, the last of an axis moved back to end with the volume; out = sum(w y) / sum(w) over the
 * windows of a voxel. w is 1, or a Gaussian around the window's centre with standard deviation
 * sigma * roi on each axis, raised to at least max(its smallest value, 1e-3). A volume smaller
 * than the window on an axis is padded there with `fill`, half of it before (rounded down), and the
 * prediction is cut back. Different windows sets may be used by different threads.
 */
#ifndef HL_IMAGING_VOLUME_WINDOWS_H
#define HL_IMAGING_VOLUME_WINDOWS_H

#include "imaging/volume.h"

typedef struct hl_windows_options {
  hl_volume_shape roi; /* a window */
  int64_t batch;       /* windows of one call, at least 1: sw_batch_size */
  double overlap;      /* of neighbours, as a part of the window: 0 to below 1 */
  bool gaussian;
  double sigma; /* of the Gaussian, in windows; above 0 */
  float fill;
} hl_windows_options;

/* CytoDL's inference_args; `roi` has to be set. */
#define HL_WINDOWS_DEFAULTS                                                                        \
  { .batch = 1, .overlap = 0, .gaussian = true, .sigma = 0.125 }

typedef struct hl_windows hl_windows;

/* INVALID_ARGUMENT names the option; LIMIT for more than 2^31 windows; OUT_OF_MEMORY. */
hl_status hl_windows_new(const hl_windows_options *options, hl_volume_shape shape,
                         hl_windows **ret_windows, hl_error *error);
void hl_windows_free(hl_windows *windows);

int64_t hl_windows_count(const hl_windows *windows);

/* How many it would have, without the memory of them. INVALID_ARGUMENT, LIMIT. */
hl_status hl_windows_foretell(const hl_windows_options *options, hl_volume_shape shape,
                              int64_t *ret_count, hl_error *error);

/* Copies windows `first` to `first + count - 1` to ret_inputs[count * roi]. */
void hl_windows_gather(const hl_windows *windows, const float *volume, int64_t first, int64_t count,
                       float *ret_inputs);

/* Adds what the network made of them. */
void hl_windows_scatter(hl_windows *windows, const float *outputs, int64_t first, int64_t count);

/* The prediction, of the volume's shape, from all windows scattered so far (each once); the sums
 * are cleared for the next volume of this shape. */
void hl_windows_finish(hl_windows *windows, float *ret_volume);

/* What a network makes of `count` windows (at most `batch`), of the same size. */
typedef hl_status (*hl_windows_network)(void *context, int64_t count, const float *inputs,
                                        float *ret_outputs, hl_error *error);

/* The whole of it; a status of the network ends it. */
hl_status hl_windows_predict(const hl_windows_options *options, hl_volume_shape shape,
                             const float *volume, hl_windows_network network, void *context,
                             float *ret_volume, hl_error *error);

#endif
