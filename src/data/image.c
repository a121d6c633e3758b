#include "data/image.h"

#include "data/image-internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

hl_image_kind hl_image_kind_of(const void *data, size_t bytes) {
  if (bytes >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0) return HL_IMAGE_JPEG;
  if (bytes >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0) return HL_IMAGE_PNG;
  return HL_IMAGE_NONE;
}

bool hl_image_has_end(const void *tail, size_t bytes, hl_image_kind kind) {
  const char *marker = kind == HL_IMAGE_JPEG ? "\xff\xd9" : "IEND\xae\x42\x60\x82";
  size_t length = kind == HL_IMAGE_JPEG ? 2 : 8;
  return bytes >= length && memcmp((const char *)tail + bytes - length, marker, length) == 0;
}

hl_status hl__image_new(int64_t width, int64_t height, const char *what, hl_image *ret_image,
                        hl_error *error) {
  if (width < 1 || height < 1)
    return hl_error_set(error, HL_BAD_DATA, "%s: a picture of %" PRId64 " x %" PRId64 " pixels",
                        what, width, height);
  if (width > HL_IMAGE_PIXELS_MAX || height > HL_IMAGE_PIXELS_MAX / width)
    return hl_error_set(error, HL_LIMIT,
                        "%s declares %" PRId64 " x %" PRId64 " pixels; the limit is %d. Scale the "
                        "picture down",
                        what, width, height, HL_IMAGE_PIXELS_MAX);
  hl_image image = {.width = (int32_t)width, .height = (int32_t)height};
  size_t bytes = (size_t)width * (size_t)height * HL_IMAGE_CHANNELS;
  image.pixels = malloc(bytes);
  if (!image.pixels)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for %zu bytes of pixels", what,
                        bytes);
  *ret_image = image;
  return HL_OK;
}

hl_status hl_image_decode(const void *data, size_t bytes, const char *what, hl_image *ret_image,
                          hl_error *error) {
  switch (hl_image_kind_of(data, bytes)) {
  case HL_IMAGE_JPEG:
    return hl__image_decode_jpeg(data, bytes, what, ret_image, error);
  case HL_IMAGE_PNG:
    return hl__image_decode_png(data, bytes, what, ret_image, error);
  default:
    return hl_error_set(error, HL_BAD_DATA, "%s is neither a JPEG nor a PNG%s", what,
                        bytes ? "" : " (it is empty)");
  }
}

void hl_image_release(hl_image *image) {
  free(image->pixels);
  *image = (hl_image){0};
}
