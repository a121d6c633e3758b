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

hl_status hl__image_check_size(int64_t width, int64_t height, const char *what, hl_error *error) {
  if (width < 1 || height < 1)
    return hl_error_set(error, HL_BAD_DATA, "%s: a picture of %" PRId64 " x %" PRId64 " pixels",
                        what, width, height);
  if (width > HL_IMAGE_PIXELS_MAX || height > HL_IMAGE_PIXELS_MAX / width)
    return hl_error_set(error, HL_LIMIT,
                        "%s declares %" PRId64 " x %" PRId64 " pixels; the limit is %d. Scale the "
                        "picture down",
                        what, width, height, HL_IMAGE_PIXELS_MAX);
  return HL_OK;
}

hl_status hl__image_new(int64_t width, int64_t height, const char *what, hl_image *ret_image,
                        hl_error *error) {
  hl_status status = hl__image_check_size(width, height, what, error);
  if (status != HL_OK) return status;
  hl_image image = {.width = (int32_t)width, .height = (int32_t)height};
  image.whole_width = image.width;
  image.whole_height = image.height;
  size_t bytes = (size_t)width * (size_t)height * HL_IMAGE_CHANNELS;
  image.pixels = malloc(bytes + HL_IMAGE_PADDING);
  if (!image.pixels)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for %zu bytes of pixels", what,
                        bytes);
  memset(image.pixels + bytes, 0, HL_IMAGE_PADDING);
  *ret_image = image;
  return HL_OK;
}

static hl_status no_picture(const char *what, size_t bytes, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "%s is neither a JPEG nor a PNG%s", what,
                      bytes ? "" : " (it is empty)");
}

/* Of a PNG the header is always at the same place, with the most significant byte first. */
static hl_status size_png(const void *data, size_t bytes, const char *what, int32_t *ret_width,
                          int32_t *ret_height, hl_error *error) {
  enum { width_at = 16, header_end = 24 };
  const unsigned char *b = data;
  if (bytes < header_end)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s is a broken PNG: it ends too early. Write it again, or remove it",
                        what);
  uint32_t sides[2];
  for (int i = 0; i < 2; i++, b += 4)
    sides[i] = (uint32_t)b[width_at] << 24 | (uint32_t)b[width_at + 1] << 16 |
               (uint32_t)b[width_at + 2] << 8 | b[width_at + 3];
  hl_status status = hl__image_check_size(sides[0], sides[1], what, error);
  if (status != HL_OK) return status;
  *ret_width = (int32_t)sides[0];
  *ret_height = (int32_t)sides[1];
  return HL_OK;
}

hl_status hl_image_size(const void *data, size_t bytes, const char *what, int32_t *ret_width,
                        int32_t *ret_height, hl_error *error) {
  switch (hl_image_kind_of(data, bytes)) {
  case HL_IMAGE_JPEG:
    return hl__image_size_jpeg(data, bytes, what, ret_width, ret_height, error);
  case HL_IMAGE_PNG:
    return size_png(data, bytes, what, ret_width, ret_height, error);
  case HL_IMAGE_NONE:
    break;
  }
  return no_picture(what, bytes, error);
}

static hl_status decode(const void *data, size_t bytes, const char *what, const hl_image_cut *cut,
                        hl_image_decoding decoding, hl_image *ret_image, hl_error *error) {
  switch (hl_image_kind_of(data, bytes)) {
  case HL_IMAGE_JPEG:
    return hl__image_decode_jpeg(data, bytes, what, cut, decoding, ret_image, error);
  case HL_IMAGE_PNG:
    return hl__image_decode_png(data, bytes, what, false, ret_image, error);
  case HL_IMAGE_NONE:
    break;
  }
  return no_picture(what, bytes, error);
}

hl_status hl_image_decode(const void *data, size_t bytes, const char *what, hl_image *ret_image,
                          hl_error *error) {
  return decode(data, bytes, what, NULL, HL_IMAGE_EXACT, ret_image, error);
}

hl_status hl_image_decode_for(const void *data, size_t bytes, const char *what,
                              const hl_image_cut *cut, hl_image_decoding decoding,
                              hl_image *ret_image, hl_error *error) {
  hl_status status = hl__image_check_cut(cut, error);
  if (status != HL_OK) return status;
  const size_t tail = bytes < 16 ? bytes : 16;
  if (!hl_image_has_end((const char *)data + bytes - tail, tail, hl_image_kind_of(data, bytes))) {
    hl_image whole = {0}; /* only to see whether it is a picture at all */
    status = decode(data, bytes, what, NULL, HL_IMAGE_EXACT, &whole, error);
    if (status == HL_OK && decoding == HL_IMAGE_EXACT)
      *ret_image = whole;
    else
      hl_image_release(&whole);
    if (status != HL_OK || decoding == HL_IMAGE_EXACT) return status;
  }
  return decode(data, bytes, what, cut, decoding, ret_image, error);
}

void hl_image_release(hl_image *image) {
  free(image->pixels);
  *image = (hl_image){0};
}
