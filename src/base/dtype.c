#include "base/dtype.h"

#include "base/error.h"
#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
    [HL_DTYPE_NONE] = {"unknown", 0},  [HL_FLOAT32] = {"float32", 4},
    [HL_UINT8] = {"uint8", 1},         [HL_INT8] = {"int8", 1},
    [HL_UINT16] = {"uint16", 2},       [HL_INT16] = {"int16", 2},
    [HL_INT32] = {"int32", 4},         [HL_INT64] = {"int64", 8},
    [HL_STRING] = {"string", 0},       [HL_BOOL] = {"bool", 1},
    [HL_FLOAT16] = {"float16", 2},     [HL_FLOAT64] = {"float64", 8},
    [HL_UINT32] = {"uint32", 4},       [HL_UINT64] = {"uint64", 8},
    [HL_COMPLEX64] = {"complex64", 8}, [HL_COMPLEX128] = {"complex128", 16},
    [HL_BFLOAT16] = {"bfloat16", 2},
};

size_t hl_dtype_bytes(hl_dtype dtype) {
  return (size_t)dtype < HL_COUNT(dtypes) ? dtypes[dtype].bytes : 0;
}

const char *hl_dtype_name(hl_dtype dtype) {
  return (size_t)dtype < HL_COUNT(dtypes) ? dtypes[dtype].name : "unknown";
}

hl_dtype hl_dtype_from_name(const char *name) {
  for (size_t i = 1; i < HL_COUNT(dtypes); i++)
    if (strcmp(dtypes[i].name, name) == 0) return (hl_dtype)i;
  return HL_DTYPE_NONE;
}

bool hl_dtype_is_float(hl_dtype dtype) {
  return dtype == HL_FLOAT32 || dtype == HL_FLOAT64 || dtype == HL_FLOAT16 || dtype == HL_BFLOAT16;
}
