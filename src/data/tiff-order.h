/* What the pages of a TIFF are, by the text in its first page. */
#ifndef HL_DATA_TIFF_ORDER_H
#define HL_DATA_TIFF_ORDER_H

#include "base/error.h"

/* Of a page, the number is z * step_z + channel * step_channel + time * step_time. */
typedef struct hl__tiff_order {
  int64_t times, channels, depth;
  int64_t step_time, step_channel, step_z;
  char text[40]; /* as hl_tiff_shape's `order` */
} hl__tiff_order;

/* `description` is the first page's ImageDescription or NULL; height and width are for OME-XML to
 * agree with. Errors do not name the file. */
hl_status hl__tiff_find_order(const char *description, int64_t pages, int64_t height, int64_t width,
                              hl__tiff_order *ret_order, hl_error *error);

#endif
