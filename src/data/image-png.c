#include "data/image-internal.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { chunk_bytes_max = 8 << 20, chunks_max = 1000 }; /* of text and the like, which is not used */

/* All that lives over a longjmp of libpng's. */
typedef struct reader {
  png_structp png;
  png_infop info;
  const unsigned char *at;
  size_t left;
  char message[128];
  png_bytep *rows;
  bool upper; /* of grey, too */
  bool is_grey16;
  hl_image image;
} reader;

static void on_error(png_structp png, png_const_charp message) {
  reader *r = png_get_error_ptr(png);
  snprintf(r->message, sizeof r->message, "%s", message);
  longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t bytes) {
  reader *r = png_get_io_ptr(png);
  if (bytes > r->left) png_error(png, "it ends too early");
  memcpy(to, r->at, bytes);
  r->at += bytes;
  r->left -= bytes;
}

/* Whatever the file has becomes 8 bits of red, green and blue; grey of 16 bits stays for
 * clip_grey. */
static void set_up(reader *r) {
  png_set_user_limits(r->png, HL_IMAGE_PIXELS_MAX, HL_IMAGE_PIXELS_MAX);
  png_set_chunk_malloc_max(r->png, chunk_bytes_max);
  png_set_chunk_cache_max(r->png, chunks_max);
  png_set_read_fn(r->png, r, read_bytes);
  png_read_info(r->png, r->info);
  r->is_grey16 = !r->upper && png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_GRAY &&
                 png_get_bit_depth(r->png, r->info) == 16;
  png_set_expand(r->png);
  png_set_strip_alpha(r->png);
  if (!r->is_grey16) png_set_strip_16(r->png);
  if (!r->is_grey16) png_set_gray_to_rgb(r->png);
  png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
}

static bool read_header(reader *r) {
  if (setjmp(png_jmpbuf(r->png))) return false;
  set_up(r);
  return true;
}

static bool read_pixels(reader *r) {
  if (setjmp(png_jmpbuf(r->png))) return false;
  png_read_image(r->png, r->rows);
  png_read_end(r->png, NULL);
  return true;
}

/* As Pillow: what is above 255 becomes white. A row's values stand at its start, and grow in place
 * from the last on. */
static void clip_grey(hl_image *image) {
  for (int32_t y = 0; y < image->height; y++) {
    uint8_t *row = image->pixels + (size_t)y * (size_t)image->width * HL_IMAGE_CHANNELS;
    for (size_t x = (size_t)image->width; x-- > 0;) {
      uint8_t value = row[2 * x] ? 255 : row[2 * x + 1];
      for (int c = 0; c < HL_IMAGE_CHANNELS; c++) row[HL_IMAGE_CHANNELS * x + (size_t)c] = value;
    }
  }
}

static hl_status decode(reader *r, const char *what, hl_error *error) {
  hl_status status = HL_OK;
  if (read_header(r)) {
    size_t width = png_get_image_width(r->png, r->info);
    size_t height = png_get_image_height(r->png, r->info);
    status = hl__image_new((int64_t)width, (int64_t)height, what, &r->image, error);
    if (status != HL_OK) return status;
    size_t stride = width * HL_IMAGE_CHANNELS;
    if (png_get_rowbytes(r->png, r->info) != (r->is_grey16 ? width * 2 : stride))
      return hl_error_set(error, HL_INTERNAL, "%s: libpng does not give RGB", what);
    r->rows = calloc(height, sizeof *r->rows);
    if (!r->rows) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for its rows", what);
    for (size_t y = 0; y < height; y++) r->rows[y] = r->image.pixels + y * stride;
    if (read_pixels(r)) {
      if (r->is_grey16) clip_grey(&r->image);
      return HL_OK;
    }
  }
  return hl_error_set(error, HL_BAD_DATA, "%s is a broken PNG: %s. Write it again, or remove it",
                      what, r->message);
}

hl_status hl__image_decode_png(const void *data, size_t bytes, const char *what, bool upper,
                               hl_image *ret_image, hl_error *error) {
  reader r = {.at = data, .left = bytes, .upper = upper};
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
  r.info = r.png ? png_create_info_struct(r.png) : NULL;
  hl_status status =
      r.info ? decode(&r, what, error)
             : hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory to read a PNG", what);
  png_destroy_read_struct(&r.png, &r.info, NULL);
  free(r.rows);
  if (status != HL_OK)
    hl_image_release(&r.image);
  else
    *ret_image = r.image;
  return status;
}
