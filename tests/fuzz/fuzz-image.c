/* Whatever the bytes of a picture: an error, or pixels of the size that is said. */
#include "driver.h"

#include "data/image-source.h"
#include "data/image.h"
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* It needs stdio's FILE. */
#include <jpeglib.h>

static const int64_t pixels_max = 1 << 20;

static void check_error(hl_status status, const hl_error *error) {
  if (error->status != status || !error->msg[0]) abort();
}

static void scale(const uint8_t *data, size_t size) {
  static const hl_port port = {"x", HL_FLOAT32, 4, {-1, 3, 14, 14}};
  float values[3 * 14 * 14];
  hl_error error = {0};
  for (int decoding = HL_IMAGE_EXACT; decoding <= HL_IMAGE_SCALED; decoding++) {
    hl_status status =
        hl_image_to_input(data, size, "input", &port, (hl_image_decoding)decoding, values, &error);
    if (status != HL_OK) check_error(status, &error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_image image = {0};
  hl_error error = {0};
  int32_t columns = 0, rows = 0;
  if (hl_image_size(data, size, "input", &columns, &rows, &error) == HL_OK &&
      (int64_t)columns * rows <= pixels_max)
    scale(data, size); /* also where only a part is whole */
  hl_status status = hl_image_decode(data, size, "input", &image, &error);
  if (status != HL_OK) {
    check_error(status, &error);
    return 0;
  }
  int64_t pixels = (int64_t)image.width * image.height;
  volatile uint8_t sum = 0;
  for (int64_t i = 0; i < pixels * HL_IMAGE_CHANNELS; i++) sum = (uint8_t)(sum + image.pixels[i]);
  hl_image_release(&image);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------- */

enum { width = 21, height = 17 };

static void fill(unsigned char *pixels, size_t count) {
  for (size_t i = 0; i < count; i++) pixels[i] = (unsigned char)(i * i / 5);
}

typedef struct jpeg_kind {
  J_COLOR_SPACE space;
  int samples; /* of a pixel */
  int factor;  /* luma samples for one of chroma, across and down */
  bool is_progressive;
} jpeg_kind;

static size_t put_jpeg(uint8_t *to, size_t capacity, jpeg_kind kind) {
  unsigned char pixels[width * height * 4], *jpeg = NULL;
  unsigned long bytes = 0;
  struct jpeg_compress_struct c = {0};
  struct jpeg_error_mgr manager; /* whose own way is to exit: the input is ours */
  fill(pixels, sizeof pixels);
  c.err = jpeg_std_error(&manager);
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &jpeg, &bytes);
  c.image_width = width;
  c.image_height = height;
  c.input_components = kind.samples;
  c.in_color_space = kind.space;
  jpeg_set_defaults(&c);
  c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = kind.factor;
  if (kind.is_progressive) jpeg_simple_progression(&c);
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < height) {
    JSAMPROW row = pixels + c.next_scanline * (size_t)(width * kind.samples);
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  if (bytes > capacity) abort();
  memcpy(to, jpeg, bytes);
  free(jpeg);
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
    return put_jpeg(ret_data, capacity, (jpeg_kind){JCS_RGB, 3, 2, false});
  case 1:
    return put_jpeg(ret_data, capacity, (jpeg_kind){JCS_RGB, 3, 1, true});
  case 2:
    return put_jpeg(ret_data, capacity, (jpeg_kind){JCS_CMYK, 4, 1, false});
  case 3:
    return put_jpeg(ret_data, capacity, (jpeg_kind){JCS_GRAYSCALE, 1, 1, false});
  case 4:
    return put_png(ret_data, capacity, PNG_FORMAT_RGB);
  case 5:
    return put_png(ret_data, capacity, PNG_FORMAT_RGBA);
  case 6:
    return put_png(ret_data, capacity, PNG_FORMAT_RGB_COLORMAP);
  case 7:
    return put_png(ret_data, capacity, PNG_FORMAT_LINEAR_Y);
  case 8:
    return put_png(ret_data, capacity, PNG_FORMAT_LINEAR_RGB_ALPHA);
  default:
    return 0;
  }
}
