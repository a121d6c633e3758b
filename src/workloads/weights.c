#include "workloads/weights.h"

#include "base/hash.h"
#include "base/text.h"
#include "data/array.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A sum, as it has to keep up with memory: the files may be large. */
static uint64_t sum_of(const void *data, uint64_t bytes) {
  uint64_t sum = 0, word;
  uint64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    memcpy(&word, (const char *)data + i, 8);
    sum += word ^ (word >> 29);
  }
  word = 0;
  if (i < bytes) memcpy(&word, (const char *)data + i, (size_t)(bytes - i));
  return sum + word;
}

static bool is_nan_at(const hl_tensor_view *view, int64_t i) {
  if (view->dtype == HL_FLOAT32) return isnan(((const float *)view->data)[i]);
  return isnan(hl_array_at(view, i));
}

/* Position of the first NaN, or -1. */
static int64_t first_nan(const hl_value *value) {
  hl_tensor_view view = {.dtype = value->dtype, .data = (void *)(uintptr_t)value->data};
  int64_t count = hl_shape_elements(&value->shape);
  for (int64_t i = 0; hl_dtype_is_float(value->dtype) && i < count; i++)
    if (is_nan_at(&view, i)) return i;
  return -1;
}

hl_status hl_weights_examine(const hl_graph *graph, uint64_t *hash, char **ret_problem,
                             hl_error *error) {
  *ret_problem = NULL;
  for (size_t i = 0; i < graph->value_count; i++) {
    const hl_value *value = &graph->values[i];
    if (value->kind != HL_VALUE_CONSTANT || !value->data) continue;
    uint64_t sum = sum_of(value->data, value->bytes);
    *hash = hl_hash_bytes(*hash, &sum, sizeof sum);
    int64_t at = *ret_problem ? -1 : first_nan(value);
    if (at < 0) continue;
    *ret_problem = hl_format("the weights '%.100s' hold NaN (element %" PRId64
                             "), so that outputs mean nothing: export the model again",
                             value->name, at);
    if (!*ret_problem) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  }
  return HL_OK;
}
