/*
 * data/tiff.h - stacks of planes in TIFF files, as microscopes and ImageJ write them.
 *
 *     hl_tiff *tiff;
 *     hl_tiff_open("cells.ome.tif", &tiff, error);
 *     const hl_tiff_shape *shape = hl_tiff_get_shape(tiff);        (1 time, 2 channels, 65 x 624 x
 * 924) hl_tiff_read(tiff, 0, 1, volume, error);                     (channel 1, in z, y, x)
 *     hl_tiff_free(tiff);
 *
 * Pages are planes of one size and type; 8, 16 or 32-bit integers or floats of 16, 32 or 64 bits,
 * one value a pixel, in strips or tiles, of any compression that libtiff reads. What the pages mean
 * is said by OME-XML (Size* and DimensionOrder, https://docs.openmicroscopy.org/ome-model) or by
 * ImageJ (channels, slices, frames); without either they are z.
 *
 * Files are hostile: nothing is mapped, sizes are bounded before memory is asked for, a chain of
 * pages that leads back is an error. An object is not thread-safe.
 */
#ifndef HL_DATA_TIFF_H
#define HL_DATA_TIFF_H

#include "base/error.h"
#include <stdbool.h>

enum { HL_TIFF_PAGES_MAX = 1 << 20 };

typedef struct hl_tiff_shape {
  int64_t times, channels, depth, height, width; /* each >= 1 */
  hl_dtype dtype;
  const char *order;       /* who says what pages mean: "OME-XML, XYZCT", "ImageJ", "pages are z" */
  const char *compression; /* "none", "LZW", ... */
} hl_tiff_shape;

typedef struct hl_tiff hl_tiff;

/* Whether the first bytes are those of a TIFF or BigTIFF. */
bool hl_tiff_is(const void *data, size_t bytes);

/* Looks at every page. NOT_FOUND, IO, BAD_DATA (broken, pages that differ, an OME-XML that is not
 * of these pages), UNIMPLEMENTED (colour, types, an order of planes that is not known), LIMIT (16
 * GiB unpacked, HL_TIFF_PAGES_MAX pages, a decompression bomb), OUT_OF_MEMORY. */
hl_status hl_tiff_open(const char *path, hl_tiff **ret_tiff, hl_error *error);

/* The same for bytes in memory, which must outlive the object. `name` stands in messages. */
hl_status hl_tiff_open_memory(const void *data, size_t bytes, const char *name, hl_tiff **ret_tiff,
                              hl_error *error);
void hl_tiff_free(hl_tiff *tiff);

const hl_tiff_shape *hl_tiff_get_shape(const hl_tiff *tiff);

/* Reads the volume (depth, height, width) of a time and channel into `ret_data`, native byte order.
 * BAD_DATA names page and place. */
hl_status hl_tiff_read(hl_tiff *tiff, int64_t time, int64_t channel, void *ret_data,
                       hl_error *error);

/* Writes `volume`, (z, y, x) or (y, x) of uint8, uint16 or float32, with one page for each z;
 * deflated if `packed`. BigTIFF where 4 GB do not do. Atomic; the same volume gives the same bytes.
 * INVALID_ARGUMENT, IO, OUT_OF_MEMORY. */
hl_status hl_tiff_write(const char *path, const hl_tensor_view *volume, bool packed,
                        hl_error *error);

#endif
