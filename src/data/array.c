#include "data/array.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hl_array_release(hl_tensor_view *array) {
  if (!array) return;
  free((void *)(uintptr_t)array->name);
  free(array->data);
  *array = (hl_tensor_view){0};
}

bool hl_array_count(int32_t rank, const int64_t *dims, int64_t *ret_count) {
  int64_t count = 1;
  bool empty = false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, dims[i], &count))
      return false;
  }
  *ret_count = empty ? 0 : count;
  return true;
}

hl_status hl_array_new(const char *name, hl_dtype dtype, int32_t rank, const int64_t *dims,
                       hl_tensor_view *ret_array, hl_error *error) {
  int64_t count = 0;
  size_t bytes = 0, item = hl_dtype_bytes(dtype);
  if (item == 0 || rank < 0 || rank > HL_MAX_RANK || !hl_array_count(rank, dims, &count) ||
      __builtin_mul_overflow((size_t)count, item, &bytes) || bytes > PTRDIFF_MAX)
    return hl_error_set(error, HL_LIMIT, "array '%s': impossible shape or type", name ? name : "");
  hl_tensor_view array = {.dtype = dtype, .rank = rank, .bytes = bytes};
  for (int32_t i = 0; i < rank; i++) array.dims[i] = dims[i];
  array.name = hl_strdup(name);
  array.data = calloc(bytes ? bytes : 1, 1);
  if (!array.data || (name && !array.name)) {
    hl_array_release(&array);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for array '%s' of %zu bytes",
                        name ? name : "", bytes);
  }
  *ret_array = array;
  return HL_OK;
}

void hl_array_format_shape(hl_text *text, int32_t rank, const int64_t *dims) {
  hl_text_char(text, '(');
  for (int32_t i = 0; i < rank; i++) {
    if (i) hl_text_append(text, ", ");
    if (dims[i] < 0)
      hl_text_append(text, "any");
    else
      hl_text_format(text, "%" PRId64, dims[i]);
  }
  hl_text_append(text, rank == 1 ? ",)" : ")");
}

void hl_array_format_index(hl_text *text, int32_t rank, const int64_t *dims, int64_t index) {
  int64_t at[HL_MAX_RANK] = {0};
  for (int32_t i = rank - 1; i >= 0; i--) {
    int64_t size = dims[i] > 0 ? dims[i] : 1;
    at[i] = index % size;
    index /= size;
  }
  hl_text_char(text, '[');
  for (int32_t i = 0; i < rank; i++) hl_text_format(text, "%s%" PRId64, i ? ", " : "", at[i]);
  hl_text_char(text, ']');
}

float hl_half_to_float(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  float value;
  if (exponent == 31)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    value = ldexpf((float)mantissa, -24);
  else
    value = ldexpf((float)(mantissa + 1024), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

uint16_t hl_half_from_float(float value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  if (isnan(value)) return (uint16_t)(sign | 0x7e00);
  float size = fabsf(value);
  if (size >= 65520.0f) return (uint16_t)(sign | 0x7c00);
  if (size < 0x1p-14f) return (uint16_t)(sign | (uint16_t)lrintf(size * 0x1p24f));
  int exponent;
  float fraction = frexpf(size, &exponent); /* in [0.5, 1) */
  long mantissa = lrintf(fraction * 2048.0f);
  /* A mantissa rounded up to 2048 carries into the exponent by itself. */
  return (uint16_t)(sign | (uint16_t)(((exponent + 13) << 10) + mantissa));
}

static float bfloat16_to_float(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* Round to nearest, ties to even; NaN stays one. */
static uint16_t bfloat16_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value)) return (uint16_t)((bits >> 16) | 0x40);
  return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/* long double holds every int64, uint64 and double exactly on the machines we build for. */
static long double load(const hl_tensor_view *array, int64_t i) {
  const void *d = array->data;
  switch (array->dtype) {
  case HL_FLOAT32:
    return ((const float *)d)[i];
  case HL_FLOAT64:
    return ((const double *)d)[i];
  case HL_FLOAT16:
    return hl_half_to_float(((const uint16_t *)d)[i]);
  case HL_BFLOAT16:
    return bfloat16_to_float(((const uint16_t *)d)[i]);
  case HL_UINT8:
    return ((const uint8_t *)d)[i];
  case HL_INT8:
    return ((const int8_t *)d)[i];
  case HL_UINT16:
    return ((const uint16_t *)d)[i];
  case HL_INT16:
    return ((const int16_t *)d)[i];
  case HL_INT32:
    return ((const int32_t *)d)[i];
  case HL_INT64:
    return ((const int64_t *)d)[i];
  case HL_UINT32:
    return ((const uint32_t *)d)[i];
  case HL_UINT64:
    return ((const uint64_t *)d)[i];
  case HL_BOOL:
    return ((const uint8_t *)d)[i] != 0;
  case HL_COMPLEX64:
    return cabsf(((const float complex *)d)[i]);
  case HL_COMPLEX128:
    return cabs(((const double complex *)d)[i]);
  default:
    return 0;
  }
}

double hl_array_at(const hl_tensor_view *array, int64_t index) {
  return (double)load(array, index);
}

/* Writes a value; false if the (integer) type cannot represent it. */
static bool store(const hl_tensor_view *array, int64_t i, long double v) {
  void *d = array->data;
#define INTEGER(type, low, high)                                                                   \
  if (!(v >= (long double)(low) && v <= (long double)(high)) || (long double)(type)v != v)         \
    return false;                                                                                  \
  ((type *)d)[i] = (type)v;                                                                        \
  return true
  switch (array->dtype) {
  case HL_FLOAT32:
    ((float *)d)[i] = (float)v;
    return true;
  case HL_FLOAT64:
    ((double *)d)[i] = (double)v;
    return true;
  case HL_FLOAT16:
    ((uint16_t *)d)[i] = hl_half_from_float((float)v);
    return true;
  case HL_BFLOAT16:
    ((uint16_t *)d)[i] = bfloat16_from_float((float)v);
    return true;
  case HL_UINT8:
    INTEGER(uint8_t, 0, UINT8_MAX);
  case HL_INT8:
    INTEGER(int8_t, INT8_MIN, INT8_MAX);
  case HL_UINT16:
    INTEGER(uint16_t, 0, UINT16_MAX);
  case HL_INT16:
    INTEGER(int16_t, INT16_MIN, INT16_MAX);
  case HL_INT32:
    INTEGER(int32_t, INT32_MIN, INT32_MAX);
  case HL_INT64:
    INTEGER(int64_t, INT64_MIN, INT64_MAX);
  case HL_UINT32:
    INTEGER(uint32_t, 0, UINT32_MAX);
  case HL_UINT64:
    INTEGER(uint64_t, 0, UINT64_MAX);
  case HL_BOOL:
    INTEGER(uint8_t, 0, 1);
  default:
    return false;
  }
#undef INTEGER
}

static bool is_complex(hl_dtype dtype) {
  return dtype == HL_COMPLEX64 || dtype == HL_COMPLEX128;
}

static void convert_complex(const hl_tensor_view *from, const hl_tensor_view *to, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (to->dtype == HL_COMPLEX64)
      ((float complex *)to->data)[i] = (float complex)((const double complex *)from->data)[i];
    else
      ((double complex *)to->data)[i] = ((const float complex *)from->data)[i];
}

static hl_status convert_real(const hl_tensor_view *from, const hl_tensor_view *to, int64_t count,
                              const char *what, hl_error *error) {
  for (int64_t i = 0; i < count; i++) {
    long double value = load(from, i);
    if (store(to, i, value)) continue;
    hl_text at = HL_TEXT_INIT;
    hl_array_format_index(&at, from->rank, from->dims, i);
    hl_error_set(error, HL_BAD_DATA, "%s holds %Lg at %s, which is no %s", what, value, at.data,
                 hl_dtype_name(to->dtype));
    hl_text_release(&at);
    return HL_BAD_DATA;
  }
  return HL_OK;
}

/* The first NaN or infinity at or after 0, or `count`. Branch-free inner loops for the common
 * types, because whole scans pass through here. */
static int64_t first_not_finite(const hl_tensor_view *array, int64_t count) {
  int64_t i = 0;
  if (array->dtype == HL_FLOAT32) {
    const float *v = array->data;
    while (i < count && isfinite(v[i])) i++;
  } else if (array->dtype == HL_FLOAT64) {
    const double *v = array->data;
    while (i < count && isfinite(v[i])) i++;
  } else if (array->dtype == HL_COMPLEX64) {
    const float *v = array->data;
    while (i < 2 * count && isfinite(v[i])) i++;
    i /= 2;
  } else if (array->dtype == HL_COMPLEX128) {
    const double *v = array->data;
    while (i < 2 * count && isfinite(v[i])) i++;
    i /= 2;
  } else if (array->dtype == HL_FLOAT16 || array->dtype == HL_BFLOAT16) {
    while (i < count && isfinite((double)load(array, i))) i++;
  } else {
    i = count;
  }
  return i;
}

/* What float64 holds and the other type does not, as 1e300. */
static hl_status check_held(const hl_tensor_view *from, const hl_tensor_view *to, const char *what,
                            hl_error *error) {
  int64_t count = 0;
  hl_array_count(to->rank, to->dims, &count);
  int64_t i = first_not_finite(to, count);
  while (i < count && (isfinite(hl_array_at(to, i)) || !isfinite((double)load(from, i)))) i++;
  if (i >= count) return HL_OK;
  hl_text at = HL_TEXT_INIT;
  hl_array_format_index(&at, from->rank, from->dims, i);
  hl_error_set(error, HL_LIMIT, "%s holds %g at %s, more than %s can hold. Scale it first", what,
               (double)load(from, i), at.data, hl_dtype_name(to->dtype));
  hl_text_release(&at);
  return HL_LIMIT;
}

hl_status hl_array_convert(const hl_tensor_view *array, hl_dtype to, const char *what,
                           hl_tensor_view *ret_array, hl_error *error) {
  if (is_complex(array->dtype) != is_complex(to))
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s is %s and cannot become %s", what,
                        hl_dtype_name(array->dtype), hl_dtype_name(to));
  hl_tensor_view result;
  hl_status status = hl_array_new(array->name, to, array->rank, array->dims, &result, error);
  if (status != HL_OK) return status;
  int64_t count = 0;
  hl_array_count(array->rank, array->dims, &count);
  if (array->dtype == to)
    memcpy(result.data, array->data, result.bytes);
  else if (is_complex(to))
    convert_complex(array, &result, count);
  else
    status = convert_real(array, &result, count, what, error);
  if (status == HL_OK && array->dtype == HL_FLOAT64)
    status = check_held(array, &result, what, error);
  if (status != HL_OK)
    hl_array_release(&result);
  else
    *ret_array = result;
  return status;
}

hl_status hl_array_check_finite(const hl_tensor_view *array, const char *what, hl_error *error) {
  int64_t count = 0;
  hl_array_count(array->rank, array->dims, &count);
  int64_t i = first_not_finite(array, count);
  if (i >= count) return HL_OK;
  hl_text at = HL_TEXT_INIT;
  hl_array_format_index(&at, array->rank, array->dims, i);
  hl_error_set(error, HL_BAD_DATA,
               "%s holds %s at %s. Remove or mask such values first, e.g. with "
               "numpy.nan_to_num",
               what, isnan((double)load(array, i)) ? "NaN" : "an infinity", at.data);
  hl_text_release(&at);
  return HL_BAD_DATA;
}
