#include "data/image-internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* These two need stdio's FILE. */
#include <jerror.h>
#include <jpeglib.h>

#if !defined(LIBJPEG_TURBO_VERSION)
#error "parts of pictures are read, which libjpeg-turbo alone can"
#endif

enum {
  scans_max = 500, /* a progressive file may ask for any number of passes over all pixels */
  denominator = 8  /* of libjpeg's scales */
};

/* All that lives over a longjmp of libjpeg's. */
typedef struct reader {
  struct jpeg_decompress_struct jpeg; /* first, as the error's */
  struct jpeg_error_mgr error;
  struct jpeg_progress_mgr progress;
  jmp_buf jump;
  bool is_cut; /* the data ended too early */
  char message[JMSG_LENGTH_MAX];
  hl_image image;
  unsigned char *inks; /* a row of CMYK */
} reader;

static reader *reader_of(j_common_ptr jpeg) {
  return (reader *)(void *)jpeg;
}

static void on_error(j_common_ptr jpeg) {
  reader *r = reader_of(jpeg);
  jpeg->err->format_message(jpeg, r->message);
  longjmp(r->jump, 1);
}

/* libjpeg goes on after most faults and fills in grey. Where the end is missing that is a broken
 * file; other warnings are of pictures that every reader shows. */
static void on_message(j_common_ptr jpeg, int level) {
  reader *r = reader_of(jpeg);
  int code = jpeg->err->msg_code;
  if (level >= 0 || r->is_cut || (code != JWRN_JPEG_EOF && code != JWRN_HIT_MARKER)) return;
  jpeg->err->format_message(jpeg, r->message);
  r->is_cut = true;
}

static void on_progress(j_common_ptr jpeg) {
  reader *r = reader_of(jpeg);
  if (!jpeg->is_decompressor || r->jpeg.input_scan_number <= scans_max) return;
  snprintf(r->message, sizeof r->message, "it has more than %d scans", scans_max);
  longjmp(r->jump, 1);
}

static bool open_reader(reader *r, const void *data, size_t bytes) {
  r->jpeg.err = jpeg_std_error(&r->error);
  r->error.error_exit = on_error;
  r->error.emit_message = on_message;
  r->progress.progress_monitor = on_progress;
  if (setjmp(r->jump)) return false;
  jpeg_create_decompress(&r->jpeg);
  r->jpeg.progress = &r->progress;
  jpeg_mem_src(&r->jpeg, data, (unsigned long)bytes);
  jpeg_read_header(&r->jpeg, TRUE);
  return true;
}

static hl_status failed(const reader *r, const char *what, hl_error *error) {
  if (r->error.msg_code == JERR_OUT_OF_MEMORY && !r->is_cut)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory to read a JPEG", what);
  return hl_error_set(error, HL_BAD_DATA, "%s is a broken JPEG: %s. Write it again, or remove it",
                      what, r->message);
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

/* -- which pixels ----------------------------------------------------------------------------- */

/* The least of 8, 4, 2 and 1 eighths that leaves as many pixels as the result has. */
static unsigned scale_for(const reader *r, const hl_image_cut *cut) {
  unsigned scale = denominator;
  while (scale > 1 &&
         (uint64_t)r->jpeg.image_width * (scale / 2) >= (uint64_t)cut->width * denominator &&
         (uint64_t)r->jpeg.image_height * (scale / 2) >= (uint64_t)cut->height * denominator)
    scale /= 2;
  return scale;
}

/* Of [low, high) of `whole` pixels, wider by `margin`. */
static void widen(int32_t low, int32_t high, int32_t margin, int32_t whole, int32_t *ret_start,
                  int32_t *ret_length) {
  low = low > margin ? low - margin : 0;
  high = high < whole - margin ? high + margin : whole;
  *ret_start = low;
  *ret_length = high - low;
}

/* What resizing to `cut` reads, with a block of pixels around it: its edge is interpolated from
 * what lies beyond. */
static hl_image_crop part_for(const reader *r, const hl_image_cut *cut) {
  int32_t width = (int32_t)r->jpeg.output_width, height = (int32_t)r->jpeg.output_height;
  int32_t margin = r->jpeg.max_h_samp_factor * DCTSIZE, low, high, unused;
  const hl_image_crop *crop = &cut->crop;
  hl_image_crop part;
  hl__filter_reach(width, cut->width, crop->x, &low, &unused);
  hl__filter_reach(width, cut->width, crop->x + crop->width - 1, &unused, &high);
  widen(low, high, margin, width, &part.x, &part.width);
  margin = r->jpeg.max_v_samp_factor * DCTSIZE;
  hl__filter_reach(height, cut->height, crop->y, &low, &unused);
  hl__filter_reach(height, cut->height, crop->y + crop->height - 1, &unused, &high);
  widen(low, high, margin, height, &part.y, &part.height);
  return part;
}

/* Of other kinds all is read, which libjpeg does in one way only. */
static bool can_read_part(reader *r) {
  const struct jpeg_decompress_struct *j = &r->jpeg;
  return !j->progressive_mode && !jpeg_has_multiple_scans(&r->jpeg) &&
         j->out_color_space == JCS_RGB;
}

/* -- reading ---------------------------------------------------------------------------------- */

static bool begin(reader *r, const hl_image_cut *cut, hl_image_decoding decoding) {
  struct jpeg_decompress_struct *j = &r->jpeg;
  if (setjmp(r->jump)) return false;
  bool is_cmyk = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
  j->out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  j->scale_num = cut && decoding == HL_IMAGE_SCALED ? scale_for(r, cut) : denominator;
  j->scale_denom = denominator;
  jpeg_start_decompress(j);
  return true;
}

/* Makes the image, of the part where there is one: libjpeg widens it to its blocks. */
static hl_status make_image(reader *r, const hl_image_crop *part, const char *what,
                            hl_error *error) {
  struct jpeg_decompress_struct *j = &r->jpeg;
  int64_t whole_width = j->output_width, whole_height = j->output_height;
  JDIMENSION x = 0, width = j->output_width;
  if (part) {
    x = (JDIMENSION)part->x;
    width = (JDIMENSION)part->width;
    if (setjmp(r->jump)) return failed(r, what, error);
    jpeg_crop_scanline(j, &x, &width);
  }
  hl_status status =
      hl__image_new(width, part ? part->height : whole_height, what, &r->image, error);
  if (status != HL_OK) return status;
  r->image.x = (int32_t)x;
  r->image.y = part ? part->y : 0;
  r->image.whole_width = (int32_t)whole_width;
  r->image.whole_height = (int32_t)whole_height;
  r->inks = j->out_color_space == JCS_CMYK ? malloc((size_t)width * 4) : NULL;
  if (j->out_color_space == JCS_CMYK && !r->inks)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for its pixels", what);
  return HL_OK;
}

static bool read_rows(reader *r) {
  struct jpeg_decompress_struct *j = &r->jpeg;
  size_t width = (size_t)r->image.width;
  if (setjmp(r->jump)) return false;
  if (r->image.y > 0) jpeg_skip_scanlines(j, (JDIMENSION)r->image.y);
  JDIMENSION end = (JDIMENSION)(r->image.y + r->image.height);
  while (j->output_scanline < end) {
    uint8_t *to =
        r->image.pixels + (j->output_scanline - (size_t)r->image.y) * width * HL_IMAGE_CHANNELS;
    JSAMPROW row = r->inks ? r->inks : to;
    if (jpeg_read_scanlines(j, &row, 1) != 1) continue;
    if (r->inks) from_cmyk(r->inks, width, to);
  }
  if (j->output_scanline == j->output_height) jpeg_finish_decompress(j);
  return true;
}

static hl_status decode(reader *r, const char *what, const hl_image_cut *cut,
                        hl_image_decoding decoding, hl_error *error) {
  const struct jpeg_decompress_struct *j = &r->jpeg;
  hl_status status = hl__image_check_size(j->image_width, j->image_height, what, error);
  if (status != HL_OK) return status;
  if (!begin(r, cut, decoding)) return failed(r, what, error);
  hl_image_crop part = {0};
  bool is_part = cut && can_read_part(r);
  if (is_part) part = part_for(r, cut);
  status = make_image(r, is_part ? &part : NULL, what, error);
  if (status != HL_OK) return status;
  return read_rows(r) && !r->is_cut ? HL_OK : failed(r, what, error);
}

hl_status hl__image_decode_jpeg(const void *data, size_t bytes, const char *what,
                                const hl_image_cut *cut, hl_image_decoding decoding,
                                hl_image *ret_image, hl_error *error) {
  reader r = {0};
  hl_status status = open_reader(&r, data, bytes) ? decode(&r, what, cut, decoding, error)
                                                  : failed(&r, what, error);
  jpeg_destroy_decompress(&r.jpeg);
  free(r.inks);
  if (status != HL_OK)
    hl_image_release(&r.image);
  else
    *ret_image = r.image;
  return status;
}

hl_status hl__image_size_jpeg(const void *data, size_t bytes, const char *what, int32_t *ret_width,
                              int32_t *ret_height, hl_error *error) {
  reader r = {0};
  hl_status status = open_reader(&r, data, bytes) ? HL_OK : failed(&r, what, error);
  if (status == HL_OK)
    status = hl__image_check_size(r.jpeg.image_width, r.jpeg.image_height, what, error);
  *ret_width = (int32_t)r.jpeg.image_width;
  *ret_height = (int32_t)r.jpeg.image_height;
  jpeg_destroy_decompress(&r.jpeg);
  return status;
}
