/* base/dtype.h - element types (hl_dtype, hotlap/engine.h): size and name. Pure; thread-safe. */
#ifndef HL_BASE_DTYPE_H
#define HL_BASE_DTYPE_H

#include <hotlap/engine.h>
#include <stdbool.h>

size_t hl_dtype_bytes(hl_dtype dtype);         /* of one element; 0 for strings and unknown */
const char *hl_dtype_name(hl_dtype dtype);     /* "float32"; "unknown" */
hl_dtype hl_dtype_from_name(const char *name); /* HL_DTYPE_NONE if unknown */
bool hl_dtype_is_float(hl_dtype dtype);        /* real: float32, float64, float16, bfloat16 */

#endif
