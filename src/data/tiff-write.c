#include "base/dtype.h"
#include "base/file.h"
#include "data/array.h"
#include "data/tiff-internal.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Beyond this a classic TIFF, whose offsets have 32 bits, might not do. */
static const uint64_t classic_max = (uint64_t)4000 << 20;
enum { strip_bytes = 256 << 10, deflate_level = 6 };

typedef struct stack {
  int64_t depth, height, width;
  uint16_t bits, format;
  uint64_t row_bytes, page_bytes;
} stack;

static hl_status check(const char *path, const hl_tensor_view *v, stack *ret, hl_error *error) {
  bool is_float = v->dtype == HL_FLOAT32;
  int64_t count = 0;
  if ((v->rank != 2 && v->rank != 3) ||
      (!is_float && v->dtype != HL_UINT8 && v->dtype != HL_UINT16) ||
      !hl_array_count(v->rank, v->dims, &count) || count == 0 || v->dims[v->rank - 1] > INT32_MAX ||
      v->dims[v->rank - 2] > INT32_MAX || (uint64_t)count * hl_dtype_bytes(v->dtype) != v->bytes)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.200s: a TIFF is written of (z, y, x) or (y, x) values of uint8, uint16 "
                        "or float32, not of %s with %d dimensions",
                        path, hl_dtype_name(v->dtype), v->rank);
  *ret = (stack){.depth = v->rank == 3 ? v->dims[0] : 1,
                 .height = v->dims[v->rank - 2],
                 .width = v->dims[v->rank - 1],
                 .bits = (uint16_t)(8 * hl_dtype_bytes(v->dtype)),
                 .format = is_float ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT};
  ret->row_bytes = (uint64_t)ret->width * ret->bits / 8;
  ret->page_bytes = ret->row_bytes * (uint64_t)ret->height;
  return HL_OK;
}

/* The tags of a page; false if libtiff refuses one. */
static bool describe_page(TIFF *file, const stack *s, uint32_t rows, bool packed) {
  bool done = TIFFSetField(file, TIFFTAG_IMAGEWIDTH, (uint32_t)s->width) &&
              TIFFSetField(file, TIFFTAG_IMAGELENGTH, (uint32_t)s->height) &&
              TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, s->bits) &&
              TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1) &&
              TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, s->format) &&
              TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) &&
              TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
              TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, rows) &&
              TIFFSetField(file, TIFFTAG_SOFTWARE, "hotlap " HL_VERSION) &&
              TIFFSetField(file, TIFFTAG_COMPRESSION,
                           packed ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE);
  return done && (!packed || TIFFSetField(file, TIFFTAG_ZIPQUALITY, deflate_level));
}

static bool write_page(TIFF *file, const stack *s, const unsigned char *data, bool packed) {
  uint64_t rows = strip_bytes / s->row_bytes;
  if (rows < 1) rows = 1;
  if (rows > (uint64_t)s->height) rows = (uint64_t)s->height;
  if (!describe_page(file, s, (uint32_t)rows, packed)) return false;
  uint32_t strip = 0;
  for (uint64_t at = 0; at < s->page_bytes; strip++) {
    uint64_t left = s->page_bytes - at, bytes = rows * s->row_bytes;
    if (bytes > left) bytes = left;
    /* libtiff does not change what it writes, but for bytes that it swaps: none here. */
    void *from = (void *)(uintptr_t)(data + at);
    if (TIFFWriteEncodedStrip(file, strip, from, (tmsize_t)bytes) < 0) return false;
    at += bytes;
  }
  return TIFFWriteDirectory(file);
}

static hl_status write_pages(int fd, const char *path, const hl_tensor_view *volume, const stack *s,
                             bool packed, hl_error *error) {
  hl__tiff_message message = {{0}};
  TIFFOpenOptions *options = hl__tiff_options(&message, 0);
  int own = dup(fd); /* TIFFClose closes it */
  bool is_big = volume->bytes > classic_max;
  TIFF *file = options && own >= 0 ? TIFFFdOpenExt(own, path, is_big ? "w8" : "w", options) : NULL;
  bool done = file != NULL;
  if (!file && own >= 0) close(own);
  for (int64_t z = 0; z < s->depth && done; z++) {
    const unsigned char *data = (const unsigned char *)volume->data + (uint64_t)z * s->page_bytes;
    done = write_page(file, s, data, packed);
  }
  if (file) TIFFClose(file);
  if (options) TIFFOpenOptionsFree(options);
  if (done && !message.text[0]) return HL_OK;
  return hl_error_errno(error, HL_IO, "cannot write '%.200s' (%s)", path,
                        message.text[0] ? message.text : "libtiff");
}

hl_status hl_tiff_write(const char *path, const hl_tensor_view *volume, bool packed,
                        hl_error *error) {
  stack s = {0};
  hl_new_file file;
  hl_status status = check(path, volume, &s, error);
  if (status == HL_OK) status = hl_file_begin(path, &file, error);
  if (status != HL_OK) return status;
  return hl_file_end(&file, write_pages(file.fd, path, volume, &s, packed, error), error);
}
