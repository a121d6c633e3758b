#include "imaging/volume-windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { axes = 3 };

struct hl_windows {
  int64_t batch;
  float fill;
  int64_t side[axes], roi[axes];    /* of the volume and of a window */
  int64_t before[axes];             /* padding before the volume */
  int64_t step[axes], number[axes]; /* between windows, and how many on an axis */
  int64_t voxels, window_voxels, count;
  float *weights;     /* of a window */
  float *sum, *total; /* of w y and of w, in the volume; `total` does not depend on values */
};

/* As MONAI's _get_scan_interval and dense_patch_slices: windows until one reaches the end. */
static void place(hl_windows *w, int axis, double overlap) {
  int64_t roi = w->roi[axis], side = w->side[axis] > roi ? w->side[axis] : roi;
  w->before[axis] = (side - w->side[axis]) / 2;
  int64_t step = side == roi ? roi : (int64_t)((double)roi * (1 - overlap));
  w->step[axis] = step > 0 ? step : 1;
  w->number[axis] = (side - roi + w->step[axis] - 1) / w->step[axis] + 1;
}

/* First voxel of window number `index` of an axis; below 0 within the padding. */
static int64_t start(const hl_windows *w, int axis, int64_t index) {
  int64_t side = w->side[axis] > w->roi[axis] ? w->side[axis] : w->roi[axis];
  int64_t at = index * w->step[axis], last = side - w->roi[axis];
  return (at < last ? at : last) - w->before[axis];
}

static void window_start(const hl_windows *w, int64_t index, int64_t ret_at[axes]) {
  ret_at[2] = start(w, 2, index % w->number[2]);
  index /= w->number[2];
  ret_at[1] = start(w, 1, index % w->number[1]);
  ret_at[0] = start(w, 0, index / w->number[1]);
}

/* exp(-x^2 / 2 s^2) at distance `index` - centre. */
static float gauss(int64_t index, int64_t roi, double sigma) {
  double x = (double)index - (double)(roi - 1) / 2, s = sigma * (double)roi;
  return (float)exp(-x * x / (2 * s * s));
}

static void weigh(hl_windows *w, const hl_windows_options *o) {
  float smallest = 1;
  int64_t i = 0;
  for (int64_t z = 0; z < w->roi[0]; z++)
    for (int64_t y = 0; y < w->roi[1]; y++) {
      float plane = o->gaussian ? gauss(z, w->roi[0], o->sigma) * gauss(y, w->roi[1], o->sigma) : 1;
      for (int64_t x = 0; x < w->roi[2]; x++, i++) {
        w->weights[i] = o->gaussian ? plane * gauss(x, w->roi[2], o->sigma) : 1;
        smallest = fminf(smallest, w->weights[i]);
      }
    }
  float least = fmaxf(smallest, 1e-3f);
  for (i = 0; i < w->window_voxels; i++) w->weights[i] = fmaxf(w->weights[i], least);
}

/* What of a row of a window at `at` lies in the volume: [*ret_first, *ret_end) of the window. */
static void inside(const hl_windows *w, int axis, int64_t at, int64_t *ret_first,
                   int64_t *ret_end) {
  *ret_first = at < 0 ? -at : 0;
  *ret_end = w->side[axis] - at < w->roi[axis] ? w->side[axis] - at : w->roi[axis];
}

/* Adds weights times `outputs` (1 if NULL) of one window to `to`. */
static void add_window(const hl_windows *w, int64_t index, const float *outputs, float *to) {
  int64_t at[axes], first[axes], end[axes];
  window_start(w, index, at);
  for (int i = 0; i < axes; i++) inside(w, i, at[i], &first[i], &end[i]);
  for (int64_t z = first[0]; z < end[0]; z++)
    for (int64_t y = first[1]; y < end[1]; y++) {
      int64_t row = (z * w->roi[1] + y) * w->roi[2];
      int64_t out = ((at[0] + z) * w->side[1] + at[1] + y) * w->side[2] + at[2];
      if (outputs)
        for (int64_t x = first[2]; x < end[2]; x++)
          to[out + x] += w->weights[row + x] * outputs[row + x];
      else
        for (int64_t x = first[2]; x < end[2]; x++) to[out + x] += w->weights[row + x];
    }
}

static hl_status check_options(const hl_windows_options *o, hl_error *error) {
  if (o->batch < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "sw_batch_size %" PRId64 ": give 1 window a call or more", o->batch);
  if (!(o->overlap >= 0 && o->overlap < 1))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "overlap %g of windows: give a number from 0 to below 1", o->overlap);
  if (o->gaussian && !(o->sigma > 0 && o->sigma <= 1e6))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "sigma %g of a window: give a number above 0",
                        o->sigma);
  if (!isfinite(o->fill))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "windows are padded with a finite number");
  return HL_OK;
}

static hl_status count_windows(hl_windows *w, hl_error *error) {
  if (__builtin_mul_overflow(w->number[0], w->number[1], &w->count) ||
      __builtin_mul_overflow(w->count, w->number[2], &w->count) || w->count > INT32_MAX)
    return hl_error_set(error, HL_LIMIT,
                        "%" PRId64 " x %" PRId64 " x %" PRId64
                        " windows (z, y, x): more than 2^31. Give a smaller overlap",
                        w->number[0], w->number[1], w->number[2]);
  return HL_OK;
}

/* All but the memory. */
static hl_status lay_out(const hl_windows_options *o, hl_volume_shape shape,
                         hl_windows *ret_windows, hl_error *error) {
  hl_windows *w = ret_windows;
  *w = (hl_windows){.batch = o->batch,
                    .fill = o->fill,
                    .side = {shape.depth, shape.height, shape.width},
                    .roi = {o->roi.depth, o->roi.height, o->roi.width}};
  hl_status status = check_options(o, error);
  if (status == HL_OK) status = hl_volume_count(shape, "volume", &w->voxels, error);
  if (status == HL_OK) status = hl_volume_count(o->roi, "window", &w->window_voxels, error);
  if (status != HL_OK) return status;
  for (int i = 0; i < axes; i++) place(w, i, o->overlap);
  return count_windows(w, error);
}

hl_status hl_windows_foretell(const hl_windows_options *options, hl_volume_shape shape,
                              int64_t *ret_count, hl_error *error) {
  hl_windows w;
  hl_status status = lay_out(options, shape, &w, error);
  if (status == HL_OK) *ret_count = w.count;
  return status;
}

hl_status hl_windows_new(const hl_windows_options *o, hl_volume_shape shape,
                         hl_windows **ret_windows, hl_error *error) {
  hl_windows *w = calloc(1, sizeof *w);
  if (!w) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for windows");
  hl_status status = lay_out(o, shape, w, error);
  if (status == HL_OK) {
    w->weights = calloc((size_t)w->window_voxels, sizeof *w->weights);
    w->sum = calloc((size_t)w->voxels, sizeof *w->sum);
    w->total = calloc((size_t)w->voxels, sizeof *w->total);
    if (!w->weights || !w->sum || !w->total)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for windows of a volume");
  }
  if (status != HL_OK) {
    hl_windows_free(w);
    return status;
  }
  weigh(w, o);
  for (int64_t i = 0; i < w->count; i++) add_window(w, i, NULL, w->total);
  *ret_windows = w;
  return HL_OK;
}

void hl_windows_free(hl_windows *w) {
  if (!w) return;
  free(w->weights);
  free(w->sum);
  free(w->total);
  free(w);
}

int64_t hl_windows_count(const hl_windows *w) {
  return w->count;
}

static void gather_one(const hl_windows *w, const float *volume, int64_t index, float *to) {
  int64_t at[axes], first[axes], end[axes];
  window_start(w, index, at);
  bool whole = true;
  for (int i = 0; i < axes; i++) {
    inside(w, i, at[i], &first[i], &end[i]);
    whole = whole && first[i] == 0 && end[i] == w->roi[i];
  }
  if (!whole)
    for (int64_t i = 0; i < w->window_voxels; i++) to[i] = w->fill;
  for (int64_t z = first[0]; z < end[0]; z++)
    for (int64_t y = first[1]; y < end[1]; y++)
      memcpy(to + (z * w->roi[1] + y) * w->roi[2] + first[2],
             volume + (((at[0] + z) * w->side[1] + at[1] + y) * w->side[2] + at[2] + first[2]),
             (size_t)(end[2] - first[2]) * sizeof *to);
}

void hl_windows_gather(const hl_windows *w, const float *volume, int64_t first, int64_t count,
                       float *ret_inputs) {
  for (int64_t i = 0; i < count; i++)
    gather_one(w, volume, first + i, ret_inputs + i * w->window_voxels);
}

void hl_windows_scatter(hl_windows *w, const float *outputs, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    add_window(w, first + i, outputs + i * w->window_voxels, w->sum);
}

void hl_windows_finish(hl_windows *w, float *ret_volume) {
  for (int64_t i = 0; i < w->voxels; i++) ret_volume[i] = w->sum[i] / w->total[i];
  memset(w->sum, 0, (size_t)w->voxels * sizeof *w->sum);
}

hl_status hl_windows_predict(const hl_windows_options *o, hl_volume_shape shape,
                             const float *volume, hl_windows_network network, void *context,
                             float *ret_volume, hl_error *error) {
  hl_windows *w = NULL;
  hl_status status = hl_windows_new(o, shape, &w, error);
  if (!w) return status;
  int64_t most = w->batch < w->count ? w->batch : w->count;
  size_t values = 0;
  float *inputs = NULL, *outputs = NULL;
  if (!__builtin_mul_overflow((size_t)most, (size_t)w->window_voxels, &values)) {
    inputs = calloc(values, sizeof *inputs);
    outputs = calloc(values, sizeof *outputs);
  }
  if (!inputs || !outputs)
    status =
        hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %" PRId64 " windows a call", most);
  for (int64_t i = 0; i < w->count && status == HL_OK; i += most) {
    int64_t n = w->count - i < most ? w->count - i : most;
    hl_windows_gather(w, volume, i, n, inputs);
    status = network(context, n, inputs, outputs, error);
    if (status == HL_OK) hl_windows_scatter(w, outputs, i, n);
  }
  if (status == HL_OK) hl_windows_finish(w, ret_volume);
  free(inputs);
  free(outputs);
  hl_windows_free(w);
  return status;
}
