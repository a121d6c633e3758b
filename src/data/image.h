/*
 * data/image.h - pictures from JPEG and PNG files, resized as Pillow does it.
 *
 *     hl_image image, small;
 *     hl_image_cut cut = {341, 256, {58, 16, 224, 224}};
 *     hl_image_decode_for(bytes, count, "cat.jpg", &cut, HL_IMAGE_EXACT, &image, error);
 *     hl_image_resize(&image, &cut, &small, error);
 *     hl_image_release(&image);
 *
 * Pixels are RGB, 8 bits a channel, as `PIL.Image.open(...).convert("RGB")` gives them: a grey
 * picture has three equal channels, transparency is dropped, of 16 bits the upper 8 count (but grey
 * of 16 bits is clipped at 255, as Pillow does it), CMYK is taken as Adobe stores it. EXIF
 * orientation is not applied, as torchvision does not. Pure functions; thread-safe. `what` names
 * the file in messages.
 */
#ifndef HL_DATA_IMAGE_H
#define HL_DATA_IMAGE_H

#include "base/error.h"
#include <stdbool.h>

/* Where Pillow stops, too, as such a picture may be a decompression bomb. */
#define HL_IMAGE_PIXELS_MAX 178956970
#define HL_IMAGE_FILE_MAX ((size_t)1 << 30)
enum { HL_IMAGE_CHANNELS = 3 };

typedef enum hl_image_kind { HL_IMAGE_NONE, HL_IMAGE_JPEG, HL_IMAGE_PNG } hl_image_kind;

/* A picture, or a part of it. */
typedef struct hl_image {
  int32_t width, height;             /* of the pixels that are here, */
  int32_t x, y;                      /* which begin at this place */
  int32_t whole_width, whole_height; /* of a picture of this size */
  uint8_t *pixels;                   /* owned; rows of RGB; HL_IMAGE_PADDING bytes may be read and
                                        written behind them */
} hl_image;

enum { HL_IMAGE_PADDING = 64 };

typedef struct hl_image_crop {
  int32_t x, y, width, height;
} hl_image_crop;

/* The whole picture becomes width x height pixels, of which `crop` is wanted. */
typedef struct hl_image_cut {
  int32_t width, height;
  hl_image_crop crop;
} hl_image_cut;

typedef enum hl_image_decoding {
  HL_IMAGE_EXACT,
  HL_IMAGE_SCALED /* JPEG by a smaller inverse transform: 1/2, 1/4 or 1/8 of the pixels a side, the
                     smallest that is not below the size that is wanted; other files are exact */
} hl_image_decoding;

/* By the first bytes, whatever the file is called. */
hl_image_kind hl_image_kind_of(const void *data, size_t bytes);

/* Whether the file's end is there, judged by its end marker. Pictures that go on behind it, or hold
 * it within, are judged whole. Cheap; decoding says more. */
bool hl_image_has_end(const void *tail, size_t bytes, hl_image_kind kind);

/* BAD_DATA (no such picture, broken, truncated), LIMIT (HL_IMAGE_PIXELS_MAX), OUT_OF_MEMORY.
 * Release the result. */
hl_status hl_image_decode(const void *data, size_t bytes, const char *what, hl_image *ret_image,
                          hl_error *error);
void hl_image_release(hl_image *image); /* a zeroed one is fine */

/* Width and height that the file declares. BAD_DATA, LIMIT. */
hl_status hl_image_size(const void *data, size_t bytes, const char *what, int32_t *ret_width,
                        int32_t *ret_height, hl_error *error);

/* As hl_image_decode, but the result may be only the part that hl_image_resize reads for `cut`, and
 * damage to the file where nothing is read may stay unseen; a file whose end is missing is always
 * read whole. With HL_IMAGE_SCALED the whole is smaller than the file says. INVALID_ARGUMENT for a
 * crop outside of the result. */
hl_status hl_image_decode_for(const void *data, size_t bytes, const char *what,
                              const hl_image_cut *cut, hl_image_decoding decoding,
                              hl_image *ret_image, hl_error *error);

/* The cut of the picture's resized form, equal to Pillow's `resize((width, height), BILINEAR)` and
 * `crop`: a triangle filter, as wide as a pixel of the result where that is smaller (antialiased),
 * in fixed point, rows first. (Pillow 13 takes columns first where they shrink much more, which
 * differs by 1 at most.) INVALID_ARGUMENT for a crop outside of the result or of the part that is
 * there, OUT_OF_MEMORY. */
hl_status hl_image_resize(const hl_image *image, const hl_image_cut *cut, hl_image *ret_image,
                          hl_error *error);

#endif
