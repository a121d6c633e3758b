/* Whatever the bytes of a TIFF: an error, or planes within bounds. */
#include "driver.h"

#include "base/dtype.h"
#include "base/file.h"
#include "data/tiff.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t volume_max = 1 << 20;

static void check_error(hl_status status, const hl_error *error) {
  if (error->status != status || !error->msg[0]) abort();
}

static void read_all(hl_tiff *tiff) {
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  if (s->times < 1 || s->channels < 1 || s->depth < 1 || s->height < 1 || s->width < 1) abort();
  uint64_t bytes = (uint64_t)(s->depth * s->height * s->width) * hl_dtype_bytes(s->dtype);
  if (bytes > volume_max || s->times * s->channels > 64) return;
  unsigned char *volume = malloc((size_t)bytes); /* so that ASan sees a byte too many */
  for (int64_t i = 0; volume && i < s->times * s->channels; i++) {
    hl_error error = {0};
    hl_status status = hl_tiff_read(tiff, i / s->channels, i % s->channels, volume, &error);
    if (status != HL_OK) check_error(status, &error);
  }
  free(volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl_tiff *tiff = NULL;
  hl_error error = {0};
  hl_status status = hl_tiff_open_memory(data, size, "input", &tiff, &error);
  if (status != HL_OK) {
    check_error(status, &error);
    return 0;
  }
  read_all(tiff);
  hl_tiff_free(tiff);
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------- */

/* What hotlap writes itself. */
static size_t put_written(uint8_t *to, size_t capacity, hl_dtype dtype, bool packed) {
  static unsigned char pixels[4 * 9 * 7 * 4];
  char name[] = "/tmp/hotlap-fuzz-tiff-XXXXXX";
  int fd = mkstemp(name);
  if (fd < 0) abort();
  close(fd);
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)(i * i / 7);
  hl_tensor_view volume = {.dtype = dtype, .rank = 3, .dims = {4, 9, 7}, .data = pixels};
  volume.bytes = 4 * 9 * 7 * hl_dtype_bytes(dtype);
  char *data = NULL;
  size_t bytes = 0;
  if (hl_tiff_write(name, &volume, packed, NULL) != HL_OK ||
      hl_file_read(name, capacity, &data, &bytes, NULL) != HL_OK)
    abort();
  unlink(name);
  memcpy(to, data, bytes);
  free(data);
  return bytes;
}

static void put_entry(uint8_t **at, uint16_t tag, uint16_t kind, uint32_t count, uint32_t value) {
  memcpy(*at, &tag, 2);
  memcpy(*at + 2, &kind, 2);
  memcpy(*at + 4, &count, 4);
  memcpy(*at + 8, &value, 4);
  *at += 12;
}

/* Four pages of 4 x 4 bytes with a description, by hand; `tiled` of one tile each. */
static size_t put_described(uint8_t *to, const char *description, bool tiled) {
  enum { pages = 4, entries = 10 };
  const uint32_t pixels = 8, text = pixels + 256, length = (uint32_t)strlen(description) + 1;
  const uint32_t first = (text + length + 1) & ~1u;
  const uint32_t page_bytes = 2 + 12 * entries + 4;
  memcpy(to, "II*\0", 4);
  memcpy(to + 4, &first, 4);
  for (uint32_t i = 0; i < 256; i++) to[pixels + i] = (uint8_t)i;
  memcpy(to + text, description, length);
  uint8_t *at = to + first;
  for (uint32_t p = 0; p < pages; p++) {
    uint16_t count = entries;
    uint32_t next = p + 1 < pages ? first + (p + 1) * page_bytes : 0;
    memcpy(at, &count, 2);
    at += 2;
    put_entry(&at, 256, 4, 1, 4);
    put_entry(&at, 257, 4, 1, 4);
    put_entry(&at, 258, 3, 1, 8);
    put_entry(&at, 259, 3, 1, 1);
    put_entry(&at, 262, 3, 1, 1);
    put_entry(&at, 270, 2, length, text);
    put_entry(&at, tiled ? 322 : 273, 4, 1, tiled ? 16 : pixels);
    put_entry(&at, tiled ? 323 : 278, 4, 1, tiled ? 16 : 4);
    put_entry(&at, tiled ? 324 : 279, 4, 1, tiled ? pixels : 16);
    put_entry(&at, tiled ? 325 : 284, tiled ? 4 : 3, 1, tiled ? 256 : 1);
    memcpy(at, &next, 4);
    at += 4;
  }
  return (size_t)(at - to);
}

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  switch (index) {
  case 0:
    return put_written(ret_data, capacity, HL_UINT8, false);
  case 1:
    return put_written(ret_data, capacity, HL_FLOAT32, true);
  case 2:
    return put_written(ret_data, capacity, HL_UINT16, true);
  case 3:
    return put_described(ret_data,
                         "<?xml version=\"1.0\"?><OME><Image><Pixels DimensionOrder=\"XYCZT\" "
                         "SizeX=\"4\" SizeY='4' SizeZ=\"2\" SizeC=\"2\" SizeT=\"1\"><TiffData "
                         "FirstZ=\"1\" FirstC=\"1\" IFD=\"3\"/></Pixels></Image></OME>",
                         false);
  case 4:
    return put_described(ret_data, "ImageJ=1.54\nimages=4\nchannels=2\nslices=2\n", true);
  default:
    return 0;
  }
}
