/*
 * data/array.h - owned dense row-major arrays, and conversion between element types.
 *
 * An owned array is an hl_tensor_view whose `name` (may be NULL) and `data` are from malloc and
 * belong to the holder:
 *
 *     hl_tensor_view array = {0};
 *     hl_npz_read(npz, "diff3d", &array, error);
 *     ...
 *     hl_array_release(&array);
 *
 * Pure functions of their arguments; thread-safe.
 */
#ifndef HL_DATA_ARRAY_H
#define HL_DATA_ARRAY_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"

/* Frees name and data and zeroes the struct; NULL and a zeroed struct are allowed. */
void hl_array_release(hl_tensor_view *array);

/* Elements of a shape; false if a dimension is negative or the product exceeds INT64_MAX. */
bool hl_array_count(int32_t rank, const int64_t *dims, int64_t *ret_count);

/* An owned zeroed array; `name` is copied. LIMIT for an impossible shape, OUT_OF_MEMORY. */
hl_status hl_array_new(const char *name, hl_dtype dtype, int32_t rank, const int64_t *dims,
                       hl_tensor_view *ret_array, hl_error *error);

/* Appends "(516, 128, 128)". A dimension of -1 is written "any". */
void hl_array_format_shape(hl_text *text, int32_t rank, const int64_t *dims);

/* The real element number `index` (bools are 0 or 1). For complex types the modulus. */
double hl_array_at(const hl_tensor_view *array, int64_t index);

/* A copy of `array` with elements of type `to`, real or complex as the source is. BAD_DATA, with
 * `what` (e.g. "x.npz: array 'ids'") and the position, if a value cannot be represented in an
 * integer type; UNIMPLEMENTED from complex to real. Conversion to a smaller float type rounds. */
hl_status hl_array_convert(const hl_tensor_view *array, hl_dtype to, const char *what,
                           hl_tensor_view *ret_array, hl_error *error);

/* BAD_DATA, with `what` and the position of the first one, if a value is NaN or infinite. */
hl_status hl_array_check_finite(const hl_tensor_view *array, const char *what, hl_error *error);

/* Appends the position of element `index` in a shape: "[3, 0, 17]". */
void hl_array_format_index(hl_text *text, int32_t rank, const int64_t *dims, int64_t index);

/* IEEE 754 binary16 bits to float (exact) and back (round to nearest, ties to even). */
float hl_half_to_float(uint16_t bits);
uint16_t hl_half_from_float(float value);

#endif
