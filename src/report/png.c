#include "report/gnuplot.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* PNG's checksum (ISO 3309), bit by bit: it covers 13 bytes here. */
static uint32_t crc_of(const unsigned char *bytes, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

static void put_u32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

void hl_png_set_dpi(hl_text *png, double dots_per_inch) {
  /* The signature and IHDR, which is always first, take 8 + 25 bytes. */
  enum { HEAD_BYTES = 33, PHYS_BYTES = 21 };
  if (png->length < HEAD_BYTES || memcmp(png->data, "\x89PNG\r\n\x1a\n", 8) != 0) return;
  unsigned char chunk[PHYS_BYTES];
  uint32_t per_metre = (uint32_t)lround(dots_per_inch / 0.0254);
  put_u32(chunk, 9);
  memcpy(chunk + 4, "pHYs", 4);
  put_u32(chunk + 8, per_metre);
  put_u32(chunk + 12, per_metre);
  chunk[16] = 1; /* the unit is the metre */
  put_u32(chunk + 17, crc_of(chunk + 4, 13));
  size_t length = png->length;
  hl_text_append_n(png, (const char *)chunk, PHYS_BYTES); /* makes the room */
  if (png->failed) return;
  memmove(png->data + HEAD_BYTES + PHYS_BYTES, png->data + HEAD_BYTES, length - HEAD_BYTES);
  memcpy(png->data + HEAD_BYTES, chunk, PHYS_BYTES);
}
