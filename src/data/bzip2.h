/*
 * data/bzip2.h - unpacks a bzip2 stream into memory, within bounds. Thread-safe.
 */
#ifndef HL_DATA_BZIP2_H
#define HL_DATA_BZIP2_H

#include "base/error.h"
#include <stdbool.h>

/* True if the bytes begin a bzip2 stream. */
bool hl_bzip2_is(const void *data, size_t bytes);

/* Unpacks one or several concatenated streams; free() the result. LIMIT beyond `max_bytes`, or
 * when the output exceeds HL_BZIP2_FREE_BYTES and is more than `max_ratio` times the input read so
 * far (a decompression bomb); BAD_DATA for a damaged or truncated stream; OUT_OF_MEMORY. */
#define HL_BZIP2_FREE_BYTES ((size_t)256 << 20)
hl_status hl_bzip2_unpack(const void *data, size_t bytes, const char *name, size_t max_bytes,
                          double max_ratio, void **ret_data, size_t *ret_bytes, hl_error *error);

#endif
