#include "data/picture.h"

#include "base/dtype.h"
#include "base/file.h"
#include "data/image-internal.h"
#include "data/tiff.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- size ------------------------------------------------------------------------------------- */

/* What pixel `i` of `side` covers of `length` values from `first` on: [low, high) with shares of
 * the first and the last. */
typedef struct reach {
  int64_t low, high;
  double first_share, last_share;
} reach;

static reach reach_of(int64_t i, int64_t side, int64_t length) {
  double scale = (double)length / (double)side;
  double from = (double)i * scale, to = fmin((double)(i + 1) * scale, (double)length);
  reach r = {.low = (int64_t)floor(from), .high = (int64_t)ceil(to)};
  if (r.high > length) r.high = length;
  if (r.low >= r.high) r.low = r.high - 1;
  r.first_share = (double)(r.low + 1) - from;
  r.last_share = to - (double)(r.high - 1);
  if (r.high == r.low + 1) r.first_share = r.last_share = 1;
  return r;
}

static double share(const reach *r, int64_t at) {
  return at == r->low ? r->first_share : at == r->high - 1 ? r->last_share : 1;
}

/* The mean of `row` over what `r` covers. */
static double mean_over(const double *row, const reach *r) {
  double sum = 0, weight = 0;
  for (int64_t x = r->low; x < r->high; x++) {
    sum += share(r, x) * row[x];
    weight += share(r, x);
  }
  return sum / weight;
}

/* The mean of rows over what `r` covers, column by column. */
static void mean_rows(const float *square, int64_t stride, int64_t length, const reach *r,
                      double *ret_row) {
  double weight = 0;
  memset(ret_row, 0, (size_t)length * sizeof *ret_row);
  for (int64_t y = r->low; y < r->high; y++) {
    double w = share(r, y);
    for (int64_t x = 0; x < length; x++) ret_row[x] += w * (double)square[y * stride + x];
    weight += w;
  }
  for (int64_t x = 0; x < length; x++) ret_row[x] /= weight;
}

hl_status hl_picture_resize(const float *values, int64_t height, int64_t width, int64_t side,
                            float *ret_picture, hl_error *error) {
  int64_t length = height < width ? height : width;
  const float *square = values + (height - length) / 2 * width + (width - length) / 2;
  double *row = calloc((size_t)length + 1, sizeof *row);
  if (!row) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to resize a picture");
  for (int64_t i = 0; i < side; i++) {
    reach rows = reach_of(i, side, length);
    mean_rows(square, width, length, &rows, row);
    for (int64_t j = 0; j < side; j++) {
      reach columns = reach_of(j, side, length);
      ret_picture[i * side + j] = (float)mean_over(row, &columns);
    }
  }
  free(row);
  return HL_OK;
}

/* -- formats ---------------------------------------------------------------------------------- */

typedef struct grey {
  int64_t height, width;
  float *values; /* owned */
} grey;

static void say(hl_text *notes, const char *sentence) {
  if (notes->length) hl_text_append(notes, "; ");
  hl_text_append(notes, sentence);
}

static uint32_t big_endian(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* What a PNG's header and the chunks before its pixels say. */
static void note_png(const unsigned char *data, size_t bytes, hl_text *notes) {
  if (bytes < 33) return;
  if (data[24] == 16) say(notes, "16 bits a channel: the upper 8 are used");
  if (data[25] & 4) say(notes, "transparency is dropped");
  for (size_t at = 8; at + 12 <= bytes && memcmp(data + at + 4, "IDAT", 4) != 0;) {
    if (memcmp(data + at + 4, "acTL", 4) == 0)
      say(notes, "animated: the picture that viewers without animation show is used");
    size_t length = big_endian(data + at);
    if (length > bytes - at - 12) return;
    at += length + 12;
  }
}

/* Components that a JPEG's frame header declares; 0: none found. */
static int jpeg_components(const unsigned char *data, size_t bytes) {
  for (size_t at = 2; at + 10 <= bytes && data[at] == 0xFF;) {
    unsigned marker = data[at + 1];
    if (marker == 0xFF) {
      at++;
      continue;
    }
    bool frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return data[at + 9];
    at += 2 + ((size_t)data[at + 2] << 8 | data[at + 3]);
  }
  return 0;
}

/* As Pillow's "L". */
static float luminance(const uint8_t *rgb) {
  return (float)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16) / 255.0f;
}

static hl_status read_image(const unsigned char *data, size_t bytes, const char *path, grey *ret,
                            hl_text *notes, hl_error *error) {
  hl_image image = {0};
  bool is_png = hl_image_kind_of(data, bytes) == HL_IMAGE_PNG;
  hl_status status = is_png ? hl__image_decode_png(data, bytes, path, true, &image, error)
                            : hl_image_decode(data, bytes, path, &image, error);
  if (status != HL_OK) return status;
  if (is_png) note_png(data, bytes, notes);
  if (!is_png && jpeg_components(data, bytes) == 4) say(notes, "CMYK is taken as Adobe stores it");
  size_t count = (size_t)image.width * (size_t)image.height;
  bool colour = false;
  ret->height = image.height;
  ret->width = image.width;
  ret->values = malloc(count * sizeof *ret->values);
  for (size_t i = 0; ret->values && i < count; i++) {
    const uint8_t *rgb = image.pixels + i * HL_IMAGE_CHANNELS;
    colour = colour || rgb[0] != rgb[1] || rgb[1] != rgb[2];
    ret->values[i] = luminance(rgb);
  }
  if (colour) say(notes, "colour becomes luminance");
  hl_image_release(&image);
  if (!ret->values) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for it", path);
  return HL_OK;
}

static double value_at(const void *values, hl_dtype dtype, size_t i) {
  switch (dtype) {
  case HL_UINT8:
    return ((const uint8_t *)values)[i] / 255.0;
  case HL_INT8:
    return (((const int8_t *)values)[i] + 128) / 255.0;
  case HL_UINT16:
    return ((const uint16_t *)values)[i] / 65535.0;
  case HL_INT16:
    return (((const int16_t *)values)[i] + 32768) / 65535.0;
  case HL_FLOAT32:
    return (double)((const float *)values)[i];
  case HL_FLOAT64:
    return ((const double *)values)[i];
  default:
    return (double)NAN;
  }
}

/* Floats from their least to their largest value. */
static hl_status spread(grey *g, const char *path, hl_text *notes, hl_error *error) {
  size_t count = (size_t)(g->height * g->width);
  float low = g->values[0], high = low;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(g->values[i]))
      return hl_error_set(error, HL_BAD_DATA,
                          "%s: the pixel in row %zu, column %zu is not finite. Replace it", path,
                          i / (size_t)g->width, i % (size_t)g->width);
    low = fminf(low, g->values[i]);
    high = fmaxf(high, g->values[i]);
  }
  double range = high > low ? (double)high - (double)low : 1; /* it may be no float */
  for (size_t i = 0; i < count; i++)
    g->values[i] = (float)(((double)g->values[i] - (double)low) / range);
  say(notes, "floats are scaled from their least to their largest value");
  return HL_OK;
}

static hl_status read_plane(hl_tiff *tiff, const char *path, grey *ret, hl_text *notes,
                            hl_error *error) {
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  bool is_float = s->dtype == HL_FLOAT32 || s->dtype == HL_FLOAT64;
  if (!is_float && s->dtype != HL_UINT8 && s->dtype != HL_INT8 && s->dtype != HL_UINT16 &&
      s->dtype != HL_INT16)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: its pixels are of a type that makes no picture here. Write 8 or 16 "
                        "bits, or floats of 32",
                        path);
  int64_t plane = s->height * s->width;
  size_t item = hl_dtype_bytes(s->dtype);
  void *volume = malloc((size_t)(s->depth * plane) * item);
  ret->height = s->height;
  ret->width = s->width;
  ret->values = malloc((size_t)plane * sizeof *ret->values);
  hl_status status = volume && ret->values
                         ? hl_tiff_read(tiff, 0, 0, volume, error)
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for it", path);
  if (status == HL_OK) {
    if (s->times * s->channels * s->depth > 1) say(notes, "of several pages the first is used");
    for (size_t i = 0; i < (size_t)plane; i++)
      ret->values[i] = (float)value_at(volume, s->dtype, i);
    if (is_float) status = spread(ret, path, notes, error);
  }
  free(volume);
  return status;
}

static hl_status read_tiff(const void *data, size_t bytes, const char *path, grey *ret,
                           hl_text *notes, hl_error *error) {
  hl_tiff *tiff = NULL;
  hl_status status = hl_tiff_open_memory(data, bytes, path, &tiff, error);
  if (status == HL_OK) status = read_plane(tiff, path, ret, notes, error);
  hl_tiff_free(tiff);
  return status;
}

/* Formats that people try, by their first bytes. */
static hl_status refuse(const unsigned char *data, size_t bytes, const char *path,
                        hl_error *error) {
  const char *format = bytes >= 6 && memcmp(data, "GIF8", 4) == 0        ? "a GIF"
                       : bytes >= 12 && memcmp(data + 8, "WEBP", 4) == 0 ? "a WebP"
                       : bytes >= 2 && memcmp(data, "BM", 2) == 0        ? "a BMP"
                       : bytes >= 12 && memcmp(data + 4, "ftyp", 4) == 0 ? "a HEIF or AVIF"
                       : bytes == 0                                      ? "empty"
                                                                         : NULL;
  if (format)
    return hl_error_set(error, bytes ? HL_UNIMPLEMENTED : HL_BAD_DATA,
                        "%s is %s: a picture is a JPEG, a PNG or a TIFF. Convert it", path, format);
  return hl_error_set(error, HL_BAD_DATA, "%s is no picture: a JPEG, a PNG or a TIFF is read",
                      path);
}

static hl_status read_any(const unsigned char *data, size_t bytes, const char *path, grey *ret,
                          hl_text *notes, hl_error *error) {
  if (hl_image_kind_of(data, bytes) != HL_IMAGE_NONE)
    return read_image(data, bytes, path, ret, notes, error);
  if (hl_tiff_is(data, bytes)) return read_tiff(data, bytes, path, ret, notes, error);
  return refuse(data, bytes, path, error);
}

static hl_status fit(const grey *g, const char *path, int64_t side, float **ret_picture,
                     hl_text *notes, hl_error *error) {
  float *picture = malloc((size_t)(side * side) * sizeof *picture);
  hl_status status = picture
                         ? hl_picture_resize(g->values, g->height, g->width, side, picture, error)
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for it", path);
  if (status != HL_OK) {
    free(picture);
    return status;
  }
  if (g->height != g->width) say(notes, "its middle square is used");
  if (g->height != side || g->width != side) {
    if (notes->length) hl_text_append(notes, "; ");
    hl_text_format(notes, "%" PRId64 " x %" PRId64 " pixels become %" PRId64 " x %" PRId64,
                   g->width, g->height, side, side);
  }
  *ret_picture = picture;
  return HL_OK;
}

hl_status hl_picture_check(const char *path, hl_error *error) {
  unsigned char first[16];
  struct stat st;
  /* O_NONBLOCK: a pipe without a writer is not waited for. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool there = fd >= 0 && fstat(fd, &st) == 0;
  hl_status status = HL_OK;
  if (!there) {
    status =
        hl_error_errno(error, errno == ENOENT ? HL_NOT_FOUND : HL_IO, "cannot read '%s'", path);
  } else if (!S_ISREG(st.st_mode)) {
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "%s is %s: a picture is a file", path,
                          S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
  } else {
    ssize_t bytes = read(fd, first, sizeof first);
    size_t count = bytes > 0 ? (size_t)bytes : 0;
    if (hl_image_kind_of(first, count) == HL_IMAGE_NONE && !hl_tiff_is(first, count))
      status = refuse(first, count, path, error);
  }
  if (fd >= 0) close(fd);
  return status;
}

hl_status hl_picture_read(const char *path, int64_t side, float **ret_picture, hl_text *notes,
                          hl_error *error) {
  if (side < 1 || side > HL_PICTURE_SIDE_MAX)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a picture of %" PRId64 " pixels a side: 1 to %d are possible", side,
                        HL_PICTURE_SIDE_MAX);
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, HL_IMAGE_FILE_MAX, &data, &bytes, error);
  if (status != HL_OK) return status;
  grey g = {0};
  status = read_any((const unsigned char *)data, bytes, path, &g, notes, error);
  free(data);
  if (status == HL_OK) status = fit(&g, path, side, ret_picture, notes, error);
  free(g.values);
  return status;
}
