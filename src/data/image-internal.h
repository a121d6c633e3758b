/* Shared by the readers of pictures. */
#ifndef HL_DATA_IMAGE_INTERNAL_H
#define HL_DATA_IMAGE_INTERNAL_H

#include "data/image.h"

hl_status hl__image_decode_jpeg(const void *data, size_t bytes, const char *what,
                                hl_image *ret_image, hl_error *error);
hl_status hl__image_decode_png(const void *data, size_t bytes, const char *what,
                               hl_image *ret_image, hl_error *error);

/* A picture without contents. LIMIT beyond HL_IMAGE_PIXELS_MAX, BAD_DATA for an empty one. */
hl_status hl__image_new(int64_t width, int64_t height, const char *what, hl_image *ret_image,
                        hl_error *error);

#endif
