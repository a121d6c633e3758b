/* Shared by the files that open and write TIFF. */
#ifndef HL_DATA_TIFF_INTERNAL_H
#define HL_DATA_TIFF_INTERNAL_H

#include "data/tiff.h"
#include <tiffio.h>

/* What libtiff said last about a file: it is silent otherwise. */
typedef struct hl__tiff_message {
  char text[160];
} hl__tiff_message;

/* Options for an open: `message` takes errors, and must outlive the file; a single allocation of
 * libtiff's is bounded. Free them with TIFFOpenOptionsFree. NULL without memory. */
TIFFOpenOptions *hl__tiff_options(hl__tiff_message *message, uint64_t max_alloc_bytes);

/* Where libtiff reads: a file by its descriptor, or bytes in memory. */
typedef struct hl__tiff_stream {
  int fd; /* -1: memory */
  const unsigned char *data;
  uint64_t bytes, at;
} hl__tiff_stream;

/* NULL, with `message` set, where it is no TIFF. `stream` is borrowed. */
TIFF *hl__tiff_open_stream(hl__tiff_stream *stream, const char *name, TIFFOpenOptions *options);

#endif
