#include "formats/png-grey.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>

/* With gamma left alone: 0.5 is 128, so that numbers can be read off. */
static unsigned char grey_of(float value) {
  if (!(value > 0)) return 0; /* NaN, too */
  return value >= 1 ? 255 : (unsigned char)lrintf(value * 255);
}

hl_status hl_png_grey(const float *pixels, int64_t height, int64_t width, hl_text *out,
                      hl_error *error) {
  enum { most = 1 << 20 };
  if (height < 1 || width < 1 || height > most || width > most)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a picture of %lld x %lld; sides are 1 to %d pixels", (long long)height,
                        (long long)width, (int)most);
  size_t count = (size_t)height * (size_t)width;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = PNG_FORMAT_GRAY};
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  unsigned char *grey = malloc(count), *file = malloc(bytes);
  bool ok = grey && file;
  for (size_t i = 0; ok && i < count; i++) grey[i] = grey_of(pixels[i]);
  ok = ok && png_image_write_to_memory(&image, file, &bytes, 0, grey, 0, NULL);
  if (ok) hl_text_append_n(out, (const char *)file, bytes);
  png_image_free(&image);
  free(grey);
  free(file);
  return ok && !out->failed ? HL_OK
                            : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a picture");
}
