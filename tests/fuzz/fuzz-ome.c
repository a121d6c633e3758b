/* Whatever describes the pages of a TIFF: an error, or an order in which each plane has a page of
 * its own. */
#include "driver.h"

#include "data/tiff-order.h"
#include <stdlib.h>
#include <string.h>

enum { pages_most = 4096 };

static void check_pages(const hl__tiff_order *o, int64_t pages) {
  static unsigned char seen[pages_most];
  if (o->depth < 1 || o->channels < 1 || o->times < 1) abort();
  if (o->depth * o->channels * o->times != pages) abort();
  memset(seen, 0, sizeof seen);
  for (int64_t t = 0; t < o->times; t++)
    for (int64_t c = 0; c < o->channels; c++)
      for (int64_t z = 0; z < o->depth; z++) {
        int64_t page = z * o->step_z + c * o->step_channel + t * o->step_time;
        if (page < 0 || page >= pages || seen[page]++) abort();
      }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hl__tiff_order order;
  hl_error error = {0};
  if (size < 1) return 0;
  int64_t pages = 1 + data[0] % 16;
  char *text = malloc(size); /* without the first byte, and terminated */
  if (!text) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';
  hl_status status = hl__tiff_find_order(text, pages, 4, 5, &order, &error);
  free(text);
  if (status == HL_OK)
    check_pages(&order, pages);
  else if (error.status != status || !error.msg[0])
    abort();
  return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

size_t hl_fuzz_seed(size_t index, uint8_t *ret_data, size_t capacity) {
  /* The first byte: pages less one. */
  static const char *const seeds[] = {
      "\x0b<?xml version=\"1.0\"?><OME><Image><Pixels DimensionOrder=\"XYCZT\" SizeX=\"5\" "
      "SizeY='4' "
      "SizeZ=\"3\" SizeC=\"2\" SizeT=\"2\"><TiffData FirstZ=\"1\" FirstC=\"1\" FirstT=\"1\" "
      "IFD=\"9\"/></Pixels></Image></OME>",
      "\x05<o:OME xmlns:o=\"x\"><!-- <Pixels --><o:Pixels SizeX = '5' SizeY = '4' SizeZ='6' "
      "SizeC='1' "
      "SizeT='1'\n DimensionOrder='XYTZC' /></o:OME>",
      "\x05ImageJ=1.54\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n",
      "\x05ImageJ=1.54\nimages=6\nframes=6\n",
  };
  if (index >= HL_COUNT(seeds) || strlen(seeds[index]) > capacity) return 0;
  memcpy(ret_data, seeds[index], strlen(seeds[index]));
  return strlen(seeds[index]);
}
