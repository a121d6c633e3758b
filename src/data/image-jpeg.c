#include "data/image-internal.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

static hl_status failed(tjhandle handle, const char *what, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "%s is a broken JPEG: %s. Write it again, or remove it",
                      what, tjGetErrorStr2(handle));
}

/* libjpeg goes on after most faults and fills in grey. Where the end is missing that is a broken
 * file; other warnings are of pictures that every reader shows. */
static hl_status judge(tjhandle handle, int result, const char *what, hl_error *error) {
  if (result == 0) return HL_OK;
  if (tjGetErrorCode(handle) == TJERR_WARNING && !strcasestr(tjGetErrorStr2(handle), "premature"))
    return HL_OK;
  return failed(handle, what, error);
}

/* As Pillow: the file holds the complements of the inks, as Adobe writes them. */
static void from_cmyk(const unsigned char *from, size_t count, uint8_t *to) {
  for (size_t i = 0; i < count; i++, from += 4, to += 3)
    for (int c = 0; c < 3; c++) {
      int product = (255 - from[c]) * from[3] + 128; /* divided by 255 with rounding */
      int value = from[3] - ((product + (product >> 8)) >> 8);
      to[c] = (uint8_t)(value < 0 ? 0 : value);
    }
}

static hl_status decompress(tjhandle handle, const void *data, unsigned long bytes,
                            const char *what, hl_image *ret_image, hl_error *error) {
  int width = 0, height = 0, subsampling = 0, space = 0;
  if (tjDecompressHeader3(handle, data, bytes, &width, &height, &subsampling, &space) != 0 ||
      width < 1 || height < 1)
    return failed(handle, what, error);
  hl_image image = {0};
  hl_status status = hl__image_new(width, height, what, &image, error);
  if (status != HL_OK) return status;
  bool is_cmyk = space == TJCS_CMYK || space == TJCS_YCCK;
  size_t pixels = (size_t)width * (size_t)height;
  HL_CLEANUP(hl_free_pointer) unsigned char *inks = is_cmyk ? malloc(pixels * 4) : NULL;
  if (is_cmyk && !inks) {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for its pixels", what);
  } else {
    int result = tjDecompress2(handle, data, bytes, is_cmyk ? inks : image.pixels, width, 0, height,
                               is_cmyk ? TJPF_CMYK : TJPF_RGB, TJFLAG_LIMITSCANS);
    status = judge(handle, result, what, error);
  }
  if (status == HL_OK && is_cmyk) from_cmyk(inks, pixels, image.pixels);
  if (status != HL_OK)
    hl_image_release(&image);
  else
    *ret_image = image;
  return status;
}

hl_status hl__image_decode_jpeg(const void *data, size_t bytes, const char *what,
                                hl_image *ret_image, hl_error *error) {
  tjhandle handle = tjInitDecompress();
  if (!handle) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory to read a JPEG", what);
  hl_status status = decompress(handle, data, bytes, what, ret_image, error);
  tjDestroy(handle);
  return status;
}
