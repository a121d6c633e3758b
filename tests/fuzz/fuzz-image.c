/* Whatever the bytes of a picture: an error, or pixels of the size that is said. */
#include "driver.h"

#include "data/image-source.h"
#include "data/image.h"
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

static const int64_t pixels_max = 1 << 20;

static void check_error(hl_status status, const hl_error *error) {
  if (error->status != status || !error->msg[0]) abort();
}

static void scale(const uint8_t *data, size_t size) {
  static const hl_port port = {"x", HL_FLOAT32, 4, {-1, 3, 14, 14}};
  float values[3 * 14 * 14];
  hl_error error = {0};
  hl_status status = hl_image_to_input(data, size, "input", &port, values, &error);
  if (status != HL_OK) check_error(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_image image = {0};
  hl_error error = {0};
  hl_status status = hl_image_decode(data, size, "input", &image, &error);
  if (status != HL_OK) {
    check_error(status, &error);
    return 0;
  }
  int64_t pixels = (int64_t)image.width * image.height;
  volatile uint8_t sum = 0;
  for (int64_t i = 0; i < pixels * HL_IMAGE_CHANNELS; i++) sum = (uint8_t)(sum + image.pixels[i]);
  hl_image_release(&image);
  if (pixels <= pixels_max) scale(data, size);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------- */

enum { width = 21, height = 17 };

static void fill(unsigned char *pixels, size_t count) {
  for (size_t i = 0; i < count; i++) pixels[i] = (unsigned char)(i * i / 5);
}

static size_t put_jpeg(uint8_t *to, size_t capacity, int format, int subsampling, int flags) {
  unsigned char pixels[width * height * 4], *jpeg = NULL;
  unsigned long bytes = 0;
  fill(pixels, sizeof pixels);
  tjhandle handle = tjInitCompress();
  if (!handle || tjCompress2(handle, pixels, width, 0, height, format, &jpeg, &bytes, subsampling,
                             80, flags) != 0)
    abort();
  if (bytes > capacity) abort();
  memcpy(to, jpeg, bytes);
  tjFree(jpeg);
  tjDestroy(handle);
  return bytes;
}

static size_t put_png(uint8_t *to, size_t capacity, png_uint_32 format) {
  unsigned char pixels[width * height * 8], colours[256 * 4];
  png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
  size_t bytes = capacity;
  image.format = format;
  image.colormap_entries = format & PNG_FORMAT_FLAG_COLORMAP ? 200 : 0;
  fill(pixels, sizeof pixels);
  fill(colours, sizeof colours);
  if (format & PNG_FORMAT_FLAG_COLORMAP)
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] %= 200;
  if (!png_image_write_to_memory(&image, to, &bytes, 0, pixels, 0, colours)) abort();
  return bytes;
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  switch (index) {
  case 0:
    return put_jpeg(ret_data, capacity, TJPF_RGB, TJSAMP_420, 0);
  case 1:
    return put_jpeg(ret_data, capacity, TJPF_RGB, TJSAMP_444, TJFLAG_PROGRESSIVE);
  case 2:
    return put_jpeg(ret_data, capacity, TJPF_CMYK, TJSAMP_444, 0);
  case 3:
    return put_jpeg(ret_data, capacity, TJPF_GRAY, TJSAMP_GRAY, 0);
  case 4:
    return put_png(ret_data, capacity, PNG_FORMAT_RGB);
  case 5:
    return put_png(ret_data, capacity, PNG_FORMAT_RGBA);
  case 6:
    return put_png(ret_data, capacity, PNG_FORMAT_RGB_COLORMAP);
  case 7:
    return put_png(ret_data, capacity, PNG_FORMAT_LINEAR_Y);
  default:
    return 0;
  }
}
