#include "workloads/outputs.h"

#include "base/dtype.h"
#include "data/array.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What float32 tells apart. */
static const int64_t exact_integers = INT64_C(1) << 24;

static float number_at(const hl_tensor_view *view, int64_t index) {
  if (view->dtype == HL_INT64) {
    int64_t value = ((const int64_t *)view->data)[index];
    if (value <= -exact_integers || value >= exact_integers)
      value = (int64_t)((uint64_t)value & (uint64_t)(exact_integers - 1));
    return (float)value;
  }
  double value = hl_array_at(view, index);
  if (!hl_dtype_is_float(view->dtype) && fabs(value) >= (double)exact_integers)
    value = fmod(value, (double)exact_integers);
  return (float)value;
}

/* The part of `view` at position 0 of dimension `axis`, or all of it for -1. */
static void copy_part(const hl_tensor_view *view, int32_t axis, float *to) {
  int64_t before = 1, after = 1, along = axis < 0 ? 1 : view->dims[axis];
  for (int32_t i = 0; i < view->rank; i++) {
    if (i < axis) before *= view->dims[i];
    if (i > axis) after *= view->dims[i];
  }
  for (int64_t b = 0; b < before; b++) {
    int64_t from = b * along * after;
    if (view->dtype == HL_FLOAT32)
      memcpy(to + b * after, (const float *)view->data + from, (size_t)after * sizeof *to);
    else
      for (int64_t i = 0; i < after; i++) to[b * after + i] = number_at(view, from + i);
  }
}

hl_status hl_output_append(const hl_model_file *file, size_t output, const hl_tensor_view *view,
                           int64_t images, float **values, size_t *used, size_t *ret_count,
                           hl_error *error) {
  int64_t elements = 0, together = file->fixed_batch ? file->fixed_batch : 1;
  int32_t axis = hl_model_file_output_axis(file, output);
  *ret_count = 0;
  if (hl_dtype_bytes(view->dtype) == 0 || !hl_array_count(view->rank, view->dims, &elements))
    return HL_OK;
  if (images == together)
    axis = -1;
  else if (axis < 0 || axis >= view->rank || view->dims[axis] != images)
    return HL_OK; /* nothing that belongs to one image */
  size_t count = (size_t)(axis < 0 ? elements : elements / images);
  float *grown = realloc(*values, (*used + count + 1) * sizeof *grown);
  if (!grown) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for outputs");
  if (count) copy_part(view, axis, grown + *used);
  *values = grown;
  *used += count;
  *ret_count = count;
  return HL_OK;
}
