/*
 * data/npy.h - the .npy format of numpy, versions 1 to 3, read strictly and written as version 1.
 *
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. The header is a
 * Python dict literal; it is parsed by a small parser of just that shape and never evaluated.
 * Object arrays hold pickles, which are programs: they are never read.
 *
 * Pure functions; thread-safe. `what` names the array in messages ("x.npz: array 'diff3d'").
 */
#ifndef HL_DATA_NPY_H
#define HL_DATA_NPY_H

#include "base/error.h"
#include <stdbool.h>

/* A longer header than this belongs to no numeric array. */
#define HL_NPY_HEADER_MAX ((size_t)64 << 10)

typedef struct hl_npy_header {
  char type[32];  /* the type as the file writes it: "<f4", "|O"; "[...]" if structured */
  hl_dtype dtype; /* HL_DTYPE_NONE: a type hotlap does not read */
  bool swapped;   /* bytes are in the other order than this machine's */
  bool fortran;   /* column-major */
  int32_t rank;
  int64_t dims[HL_MAX_RANK];
  int64_t count;       /* elements */
  uint64_t data_bytes; /* of the elements in the file; 0 if dtype is HL_DTYPE_NONE */
  size_t header_bytes; /* where the elements begin */
} hl_npy_header;

/* Bytes of the whole header from the first 12 bytes of a file; BAD_DATA if it is no .npy, LIMIT
 * beyond HL_NPY_HEADER_MAX. */
hl_status hl_npy_header_size(const void *data, size_t bytes, const char *what, size_t *ret_bytes,
                             hl_error *error);

/* Parses a header; `bytes` >= hl_npy_header_size. BAD_DATA, LIMIT (rank above HL_MAX_RANK, a shape
 * beyond 2^63 bytes). An unreadable type is no error here: see hl_npy_check_type. */
hl_status hl_npy_header_parse(const void *data, size_t bytes, const char *what,
                              hl_npy_header *ret_header, hl_error *error);

/* UNIMPLEMENTED, with the reason and the remedy, if elements of this type cannot be read. */
hl_status hl_npy_check_type(const hl_npy_header *header, const char *what, hl_error *error);

/* Turns `data`, the header's data_bytes as they were in the file, into native byte order and
 * row-major order, in place (a column-major array needs as much memory again). OUT_OF_MEMORY. */
hl_status hl_npy_to_native(const hl_npy_header *header, void *data, hl_error *error);

/* Writes the version 1 header of a native, row-major array. `ret_text` needs HL_NPY_WRITE_MAX
 * bytes; returns the length, a multiple of 64. */
enum { HL_NPY_WRITE_MAX = 512 };
size_t hl_npy_header_write(const hl_tensor_view *array, char ret_text[HL_NPY_WRITE_MAX]);

#endif
