#include "data/tiff.h"

#include "base/dtype.h"
#include "base/text.h"
#include "data/tiff-internal.h"
#include "data/tiff-order.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t file_bytes_max = (uint64_t)64 << 30, volume_bytes_max = (uint64_t)16 << 30;
/* As for npz: what unpacks to more than this times its size is suspect, if it is large. */
static const uint64_t spare_bytes = (uint64_t)64 << 20; /* beyond what a file's size explains */
static const uint64_t ratio_max = 200, ratio_free_bytes = (uint64_t)256 << 20;

struct hl_tiff {
  char *name;
  hl__tiff_stream stream;
  hl__tiff_message message;
  TIFFOpenOptions *options;
  TIFF *file;
  uint64_t *pages; /* offset of each page's directory */
  int64_t page_count, page_capacity;
  uint64_t page_bytes;
  hl__tiff_order order;
  hl_tiff_shape shape;
};

bool hl_tiff_is(const void *data, size_t bytes) {
  static const char *const starts[] = {"II*\0", "MM\0*", "II+\0", "MM\0+"};
  for (size_t i = 0; i < HL_COUNT(starts) && bytes >= 4; i++)
    if (memcmp(data, starts[i], 4) == 0) return true;
  return false;
}

void hl_tiff_free(hl_tiff *tiff) {
  if (!tiff) return;
  if (tiff->file) TIFFClose(tiff->file);
  if (tiff->options) TIFFOpenOptionsFree(tiff->options);
  if (tiff->stream.fd >= 0) close(tiff->stream.fd);
  free(tiff->pages);
  free(tiff->name);
  free(tiff);
}

const hl_tiff_shape *hl_tiff_get_shape(const hl_tiff *tiff) {
  return &tiff->shape;
}

/* -- pages ------------------------------------------------------------------------------------- */

static const struct {
  uint16_t format, bits;
  hl_dtype dtype;
} types[] = {
    {SAMPLEFORMAT_UINT, 8, HL_UINT8},      {SAMPLEFORMAT_UINT, 16, HL_UINT16},
    {SAMPLEFORMAT_UINT, 32, HL_UINT32},    {SAMPLEFORMAT_INT, 8, HL_INT8},
    {SAMPLEFORMAT_INT, 16, HL_INT16},      {SAMPLEFORMAT_INT, 32, HL_INT32},
    {SAMPLEFORMAT_IEEEFP, 16, HL_FLOAT16}, {SAMPLEFORMAT_IEEEFP, 32, HL_FLOAT32},
    {SAMPLEFORMAT_IEEEFP, 64, HL_FLOAT64},
};

static const char *compression_name(uint16_t compression) {
  switch (compression) {
  case COMPRESSION_NONE:
    return "none";
  case COMPRESSION_LZW:
    return "LZW";
  case COMPRESSION_ADOBE_DEFLATE:
  case COMPRESSION_DEFLATE:
    return "deflate";
  case COMPRESSION_PACKBITS:
    return "PackBits";
  case COMPRESSION_LZMA:
    return "LZMA";
  case COMPRESSION_ZSTD:
    return "Zstandard";
  default:
    return "other";
  }
}

static hl_status broken(const hl_tiff *t, int64_t page, const char *reason, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "%s: page %" PRId64 ": %s. Is it whole? Write it again",
                      t->name, page, t->message.text[0] ? t->message.text : reason);
}

/* Size and type of the page that libtiff stands at. */
static hl_status read_shape(const hl_tiff *t, int64_t page, hl_tiff_shape *ret, hl_error *error) {
  uint32_t width = 0, height = 0;
  uint16_t samples = 1, bits = 1, format = SAMPLEFORMAT_UINT, compression = COMPRESSION_NONE;
  if (!TIFFGetField(t->file, TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(t->file, TIFFTAG_IMAGELENGTH, &height) || width == 0 || height == 0)
    return broken(t, page, "it has no size", error);
  TIFFGetFieldDefaulted(t->file, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(t->file, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(t->file, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(t->file, TIFFTAG_COMPRESSION, &compression);
  if (samples != 1)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: page %" PRId64 " has %u values a pixel (colour); volumes have one. "
                        "Save its channels as pages",
                        t->name, page, samples);
  if (!TIFFIsCODECConfigured(compression))
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: page %" PRId64 " has compression %u, which libtiff here cannot read. "
                        "Save it uncompressed, or with deflate",
                        t->name, page, compression);
  *ret = (hl_tiff_shape){
      .width = width, .height = height, .compression = compression_name(compression)};
  for (size_t i = 0; i < HL_COUNT(types); i++)
    if (types[i].format == format && types[i].bits == bits) ret->dtype = types[i].dtype;
  if (ret->dtype == HL_DTYPE_NONE)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: page %" PRId64 " has %u bits of sample format %u a pixel; integers of "
                        "8, 16 or 32 bits and floats are read. Save it as uint8, uint16 or float32",
                        t->name, page, bits, format);
  return HL_OK;
}

static hl_status check_bytes(hl_tiff *t, hl_error *error) {
  const hl_tiff_shape *s = &t->shape;
  uint64_t bytes = 0;
  /* Both sides are below 2^32 and an item is 8 bytes at most. */
  if (__builtin_mul_overflow((uint64_t)s->width * (uint64_t)s->height, hl_dtype_bytes(s->dtype),
                             &t->page_bytes) ||
      __builtin_mul_overflow(t->page_bytes, (uint64_t)t->page_count, &bytes) ||
      bytes > volume_bytes_max)
    return hl_error_set(error, HL_LIMIT,
                        "%s declares %" PRId64 " pages of %" PRId64 " x %" PRId64
                        " %s values; the limit is %" PRIu64 " GiB. Save a part of it",
                        t->name, t->page_count, s->height, s->width, hl_dtype_name(s->dtype),
                        volume_bytes_max >> 30);
  if (bytes > ratio_free_bytes && bytes / ratio_max > t->stream.bytes)
    return hl_error_set(error, HL_LIMIT,
                        "%s would unpack %" PRIu64 " bytes to %" PRIu64 " (more than %" PRIu64
                        " : 1); it looks like a decompression bomb. If it is not, save it "
                        "uncompressed",
                        t->name, t->stream.bytes, bytes, ratio_max);
  return HL_OK;
}

static hl_status add_page(hl_tiff *t, hl_error *error) {
  if (t->page_count == HL_TIFF_PAGES_MAX)
    return hl_error_set(error, HL_LIMIT, "%s has more than %d pages. Save a part of it", t->name,
                        HL_TIFF_PAGES_MAX);
  if (t->page_count == t->page_capacity) {
    int64_t capacity = t->page_capacity ? t->page_capacity * 2 : 64;
    uint64_t *pages = realloc(t->pages, (size_t)capacity * sizeof *pages);
    if (!pages) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for pages", t->name);
    t->pages = pages;
    t->page_capacity = capacity;
  }
  t->pages[t->page_count++] = TIFFCurrentDirOffset(t->file);
  return HL_OK;
}

/* Walks through all pages, which must be alike. Reduced copies (pyramids) are left out. */
static hl_status list_pages(hl_tiff *t, hl_error *error) {
  hl_status status = HL_OK;
  int64_t page = 0;
  do {
    uint32_t kind = 0;
    hl_tiff_shape shape = {0};
    TIFFGetFieldDefaulted(t->file, TIFFTAG_SUBFILETYPE, &kind);
    if (kind & FILETYPE_REDUCEDIMAGE) continue;
    status = read_shape(t, page, &shape, error);
    if (status == HL_OK && page == 0) t->shape = shape;
    if (status == HL_OK && (shape.width != t->shape.width || shape.height != t->shape.height ||
                            shape.dtype != t->shape.dtype))
      status = hl_error_set(error, HL_BAD_DATA,
                            "%s: page %" PRId64 " is of %" PRId64 " x %" PRId64
                            " %s values, but the first of %" PRId64 " x %" PRId64
                            " %s. Save pages of one size and type",
                            t->name, page, shape.height, shape.width, hl_dtype_name(shape.dtype),
                            t->shape.height, t->shape.width, hl_dtype_name(t->shape.dtype));
    if (status == HL_OK) status = add_page(t, error);
    page++;
  } while (status == HL_OK && TIFFReadDirectory(t->file));
  if (status == HL_OK && t->message.text[0]) status = broken(t, page, "", error);
  /* libtiff takes a chain that leads back for its end. */
  if (status == HL_OK && !TIFFLastDirectory(t->file))
    status = broken(t, page, "the chain of pages leads back to an earlier one", error);
  if (status == HL_OK && t->page_count == 0) status = broken(t, 0, "it has no pages", error);
  return status;
}

static hl_status find_order(hl_tiff *t, hl_error *error) {
  char *description = NULL;
  if (!TIFFSetSubDirectory(t->file, t->pages[0])) return broken(t, 0, "it cannot be read", error);
  if (!TIFFGetField(t->file, TIFFTAG_IMAGEDESCRIPTION, &description)) description = NULL;
  hl_status status = hl__tiff_find_order(description, t->page_count, t->shape.height,
                                         t->shape.width, &t->order, error);
  if (status != HL_OK) {
    hl_error_prefix(error, "%s", t->name);
    return status;
  }
  t->shape.times = t->order.times;
  t->shape.channels = t->order.channels;
  t->shape.depth = t->order.depth;
  t->shape.order = t->order.text;
  return HL_OK;
}

/* -- opening ----------------------------------------------------------------------------------- */

static hl_status start(hl_tiff *t, hl_error *error) {
  /* What it reads at a time is no more than there is. */
  t->options = hl__tiff_options(&t->message, t->stream.bytes + spare_bytes);
  if (!t->options) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", t->name);
  t->file = hl__tiff_open_stream(&t->stream, t->name, t->options);
  if (!t->file)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s cannot be read as a TIFF: %s. Is it whole? Write it again", t->name,
                        t->message.text[0] ? t->message.text : "it is cut short");
  hl_status status = list_pages(t, error);
  if (status == HL_OK) status = check_bytes(t, error);
  return status == HL_OK ? find_order(t, error) : status;
}

static hl_tiff *new_tiff(const char *name) {
  hl_tiff *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->stream.fd = -1;
  t->name = hl_strdup(name);
  if (t->name) return t;
  free(t);
  return NULL;
}

static hl_status open_file(hl_tiff *t, const char *path, hl_error *error) {
  struct stat st;
  t->stream.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (t->stream.fd < 0)
    return hl_error_errno(error, errno == ENOENT ? HL_NOT_FOUND : HL_IO, "cannot open '%.300s'",
                          path);
  if (fstat(t->stream.fd, &st) != 0 || !S_ISREG(st.st_mode))
    return hl_error_set(error, HL_BAD_DATA, "'%.300s' is not a regular file", path);
  if ((uint64_t)st.st_size > file_bytes_max)
    return hl_error_set(error, HL_LIMIT, "'%.300s' has more than %" PRIu64 " GiB", path,
                        file_bytes_max >> 30);
  t->stream.bytes = (uint64_t)st.st_size;
  return HL_OK;
}

static hl_status finish(hl_tiff *t, hl_status status, hl_tiff **ret_tiff, hl_error *error) {
  if (status == HL_OK) status = start(t, error);
  if (status != HL_OK)
    hl_tiff_free(t);
  else
    *ret_tiff = t;
  return status;
}

hl_status hl_tiff_open(const char *path, hl_tiff **ret_tiff, hl_error *error) {
  hl_tiff *t = new_tiff(path);
  if (!t) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read '%.300s'", path);
  return finish(t, open_file(t, path, error), ret_tiff, error);
}

hl_status hl_tiff_open_memory(const void *data, size_t bytes, const char *name, hl_tiff **ret_tiff,
                              hl_error *error) {
  hl_tiff *t = new_tiff(name);
  if (!t) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to read '%.300s'", name);
  t->stream = (hl__tiff_stream){.fd = -1, .data = data, .bytes = bytes};
  return finish(t, HL_OK, ret_tiff, error);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Strips are whole rows, one behind the other. */
static bool read_strips(hl_tiff *t, unsigned char *to) {
  uint64_t done = 0;
  for (uint32_t i = 0; done < t->page_bytes; i++) {
    if (i >= TIFFNumberOfStrips(t->file)) return false;
    tmsize_t n = TIFFReadEncodedStrip(t->file, i, to + done, (tmsize_t)(t->page_bytes - done));
    if (n <= 0) return false;
    done += (uint64_t)n;
  }
  return true;
}

static bool read_tiles(hl_tiff *t, unsigned char *to) {
  uint32_t tile_width = 0, tile_height = 0;
  size_t item = hl_dtype_bytes(t->shape.dtype);
  int64_t width = t->shape.width, height = t->shape.height;
  TIFFGetField(t->file, TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField(t->file, TIFFTAG_TILELENGTH, &tile_height);
  tmsize_t bytes = TIFFTileSize(t->file);
  if (tile_width == 0 || tile_height == 0 || bytes <= 0 ||
      (uint64_t)bytes != (uint64_t)tile_width * tile_height * item ||
      ((uint64_t)bytes > spare_bytes && (uint64_t)bytes / 4 > t->page_bytes))
    return false;
  HL_CLEANUP(hl_free_pointer) unsigned char *tile = malloc((size_t)bytes);
  if (!tile) return false;
  for (int64_t y = 0; y < height; y += tile_height)
    for (int64_t x = 0; x < width; x += tile_width) {
      uint32_t i = TIFFComputeTile(t->file, (uint32_t)x, (uint32_t)y, 0, 0);
      if (TIFFReadEncodedTile(t->file, i, tile, bytes) != bytes) return false;
      int64_t columns = width - x < tile_width ? width - x : tile_width;
      int64_t rows = height - y < tile_height ? height - y : tile_height;
      for (int64_t r = 0; r < rows; r++)
        memcpy(to + (size_t)((y + r) * width + x) * item, tile + (size_t)r * tile_width * item,
               (size_t)columns * item);
    }
  return true;
}

hl_status hl_tiff_read(hl_tiff *tiff, int64_t time, int64_t channel, void *ret_data,
                       hl_error *error) {
  const hl__tiff_order *o = &tiff->order;
  if (time < 0 || time >= o->times || channel < 0 || channel >= o->channels)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s has %" PRId64 " channel%s and %" PRId64 " time%s, counted from 0; "
                        "there is no channel %" PRId64 " at time %" PRId64,
                        tiff->name, o->channels, o->channels == 1 ? "" : "s", o->times,
                        o->times == 1 ? "" : "s", channel, time);
  for (int64_t z = 0; z < o->depth; z++) {
    int64_t page = z * o->step_z + channel * o->step_channel + time * o->step_time;
    unsigned char *to = (unsigned char *)ret_data + (uint64_t)z * tiff->page_bytes;
    tiff->message.text[0] = '\0';
    if (!TIFFSetSubDirectory(tiff->file, tiff->pages[page]) ||
        !(TIFFIsTiled(tiff->file) ? read_tiles(tiff, to) : read_strips(tiff, to)))
      return broken(tiff, page, "its pixels are not all there", error);
  }
  return HL_OK;
}
