/*
 * data/image.h - pictures from JPEG and PNG files, resized as Pillow does it.
 *
 *     hl_image image, small;
 *     hl_image_decode(bytes, count, "cat.jpg", &image, error);
 *     hl_image_resize(&image, 341, 256, (hl_image_crop){58, 16, 224, 224}, &small, error);
 *     hl_image_release(&image);
 *
 * Pixels are RGB, 8 bits a channel, as `PIL.Image.open(...).convert("RGB")` gives them: a grey
 * picture has three equal channels, transparency is dropped, of 16 bits the upper 8 count (Pillow
 * clips 16-bit grey instead), CMYK is taken as Adobe stores it. EXIF orientation is not applied, as
 * torchvision does not. Pure functions; thread-safe. `what` names the file in messages.
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

typedef struct hl_image {
  int32_t width, height;
  uint8_t *pixels; /* owned; rows of RGB */
} hl_image;

typedef struct hl_image_crop {
  int32_t x, y, width, height;
} hl_image_crop;

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

/* The part `crop` of the picture resized to `width` x `height`, equal to Pillow's
 * `resize((width, height), BILINEAR)`: a triangle filter, as wide as a pixel of the result where
 * that is smaller (antialiased), in fixed point, rows first. (Pillow 13 takes columns first where
 * they shrink much more, which differs by 1 at most.) INVALID_ARGUMENT for a crop outside of the
 * result, OUT_OF_MEMORY. */
hl_status hl_image_resize(const hl_image *image, int32_t width, int32_t height, hl_image_crop crop,
                          hl_image *ret_image, hl_error *error);

#endif
