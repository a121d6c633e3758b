#include "workloads/weights.h"

#include "base/hash.h"
#include "base/text.h"
#include "data/array.h"
#include <float.h>
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

/* Positions of the first NaN and the first +Inf, -1 for none. */
typedef struct oddities {
  int64_t nan, infinite;
} oddities;

static oddities find_oddities(const hl_value *value) {
  hl_tensor_view view = {.dtype = value->dtype, .data = (void *)(uintptr_t)value->data};
  int64_t count = hl_shape_elements(&value->shape);
  bool singles = value->dtype == HL_FLOAT32;
  const float *floats = value->data;
  oddities found = {-1, -1};
  for (int64_t i = 0; hl_dtype_is_float(value->dtype) && i < count; i++) {
    double x = singles ? (double)floats[i] : hl_array_at(&view, i);
    if (x <= DBL_MAX) continue; /* finite or -Inf */
    int64_t *to = isnan(x) ? &found.nan : &found.infinite;
    if (*to < 0) *to = i;
    if (found.nan >= 0) break;
  }
  return found;
}

static bool say(char **to, const char *what, const char *meaning, const hl_value *value,
                int64_t at) {
  if (*to || at < 0) return true;
  *to = hl_format("the weights '%.100s' hold %s (element %" PRId64 "), %s", value->name, what, at,
                  meaning);
  return *to != NULL;
}

hl_status hl_weights_examine(const hl_graph *graph, uint64_t *hash, char **ret_nan,
                             char **ret_infinite, hl_error *error) {
  *ret_nan = *ret_infinite = NULL;
  for (size_t i = 0; i < graph->value_count; i++) {
    const hl_value *value = &graph->values[i];
    if (value->kind != HL_VALUE_CONSTANT || !value->data) continue;
    uint64_t sum = sum_of(value->data, value->bytes);
    *hash = hl_hash_bytes(*hash, &sum, sizeof sum);
    oddities found = find_oddities(value);
    if (!say(ret_nan, "NaN", "so that outputs mean nothing: export the model again", value,
             found.nan) ||
        !say(ret_infinite, "+Inf", "which few networks mean: their outputs may be infinite or NaN",
             value, value->shape.rank > 0 ? found.infinite : -1))
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  }
  return HL_OK;
}
