/*
 * data/picture.h - one grey picture of floats from a file, whatever it holds.
 *
 *     float *picture;
 *     hl_text notes = HL_TEXT_INIT;
 *     status = hl_picture_read("europa.jpg", 128, &picture, &notes, error);
 *     ...
 *     free(picture);
 *
 * JPEG, PNG and TIFF. What is done to get there is said in `notes`, in sentences: colour becomes
 * luminance (0.299 R + 0.587 G + 0.114 B, as Pillow's "L"), transparency is dropped, of 16 bits the
 * upper 8 count (of a TIFF all do), CMYK is taken as Adobe stores it, of several frames, pages or
 * channels the first is used, of a picture that is not square the middle. Sides become `side`
 * pixels by the mean of what a pixel covers. Values are 0 for black to 1 for white; of a TIFF of
 * floats from its least to its largest value.
 */
#ifndef HL_DATA_PICTURE_H
#define HL_DATA_PICTURE_H

#include "base/error.h"
#include "base/text.h"

enum { HL_PICTURE_SIDE_MAX = 8192 };

/* Whether the file begins as one that hl_picture_read may read, without decoding it: NOT_FOUND, IO,
 * INVALID_ARGUMENT for what is no file, BAD_DATA, UNIMPLEMENTED as below. */
hl_status hl_picture_check(const char *path, hl_error *error);

/* (side, side), row-major; free() it. NOT_FOUND, IO, BAD_DATA (no picture, broken; not finite),
 * UNIMPLEMENTED (another format, named; a TIFF of colours), LIMIT, INVALID_ARGUMENT for a side
 * beyond 1..HL_PICTURE_SIDE_MAX, OUT_OF_MEMORY. */
hl_status hl_picture_read(const char *path, int64_t side, float **ret_picture, hl_text *notes,
                          hl_error *error);

/* The middle square of (height, width) values, resized by the mean of what a pixel covers. Pure. */
hl_status hl_picture_resize(const float *values, int64_t height, int64_t width, int64_t side,
                            float *ret_picture, hl_error *error);

#endif
