#include "data/tiff-order.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { value_max = 64, sides_max = 1 << 20 };

/* -- XML, as much as is needed: elements and their attributes ---------------------------------- */

/* The next start tag called `name`, with any prefix, from `at` on; behind the name. Comments are
 * skipped. NULL where there is none. */
static const char *find_element(const char *at, const char *name) {
  size_t length = strlen(name);
  for (; (at = strchr(at, '<')); at++) {
    if (strncmp(at, "<!--", 4) == 0) {
      at = strstr(at, "-->");
      if (!at) return NULL;
      continue;
    }
    const char *tag = at + 1, *end = tag + strcspn(tag, " \t\r\n/>"), *local = tag;
    for (const char *c = tag; c < end; c++)
      if (*c == ':') local = c + 1;
    if ((size_t)(end - local) == length && memcmp(local, name, length) == 0) return end;
  }
  return NULL;
}

/* The value of an attribute of the tag whose attributes begin at `at`; false if it is not there. */
static bool find_attribute(const char *at, const char *name, char ret_value[value_max]) {
  while (*at && *at != '>' && *at != '<') {
    at += strspn(at, " \t\r\n/");
    size_t length = strcspn(at, "= \t\r\n/><");
    const char *key = at;
    at += length;
    at += strspn(at, " \t\r\n");
    if (*at != '=') {
      if (length == 0) return false;
      continue;
    }
    at++;
    at += strspn(at, " \t\r\n");
    char quote = *at;
    if (quote != '"' && quote != '\'') return false;
    const char *value = ++at;
    at = strchr(at, quote);
    if (!at) return false;
    if (length == strlen(name) && memcmp(key, name, length) == 0) {
      size_t bytes = (size_t)(at - value);
      if (bytes >= value_max) return false;
      memcpy(ret_value, value, bytes);
      ret_value[bytes] = '\0';
      return true;
    }
    at++;
  }
  return false;
}

static hl_status find_number(const char *at, const char *name, int64_t min, int64_t *ret_value,
                             hl_error *error) {
  char value[value_max];
  if (!find_attribute(at, name, value))
    return hl_error_set(error, HL_BAD_DATA, "its OME-XML has no %s for its pixels", name);
  return hl_parse_int(value, min, sides_max, name, ret_value, error);
}

/* -- OME --------------------------------------------------------------------------------------- */

static hl_status set_order(const char *order, hl__tiff_order *o, hl_error *error) {
  int64_t step = 1;
  bool is_known = strlen(order) == 5 && strncmp(order, "XY", 2) == 0;
  o->step_z = o->step_channel = o->step_time = 0;
  for (int i = 2; i < 5 && is_known; i++) {
    int64_t *of = order[i] == 'Z'   ? &o->step_z
                  : order[i] == 'C' ? &o->step_channel
                  : order[i] == 'T' ? &o->step_time
                                    : NULL;
    is_known = of && *of == 0;
    if (!is_known) break;
    *of = step;
    step *= order[i] == 'Z' ? o->depth : order[i] == 'C' ? o->channels : o->times;
  }
  if (is_known) return HL_OK;
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "its OME-XML has DimensionOrder '%.20s'; known are XY and then Z, C and T in "
                      "any order. Write the file again, for instance with tifffile",
                      order);
}

/* Where TiffData elements say which page is which plane it must be the one of DimensionOrder. */
static hl_status check_planes(const char *pixels, const hl__tiff_order *o, hl_error *error) {
  const char *end = strstr(pixels, "Pixels>");
  for (const char *at = pixels; (at = find_element(at, "TiffData"));) {
    char value[value_max];
    int64_t at_z = 0, at_channel = 0, at_time = 0, page = 0;
    if (end && at > end) break;
    if (!find_attribute(at, "IFD", value)) continue;
    bool is_number = hl_parse_int(value, 0, INT32_MAX, "IFD", &page, NULL) == HL_OK;
    if (find_attribute(at, "FirstZ", value))
      is_number &= hl_parse_int(value, 0, sides_max, "FirstZ", &at_z, NULL) == HL_OK;
    if (find_attribute(at, "FirstC", value))
      is_number &= hl_parse_int(value, 0, sides_max, "FirstC", &at_channel, NULL) == HL_OK;
    if (find_attribute(at, "FirstT", value))
      is_number &= hl_parse_int(value, 0, sides_max, "FirstT", &at_time, NULL) == HL_OK;
    int64_t expected = at_z * o->step_z + at_channel * o->step_channel + at_time * o->step_time;
    if (!is_number || page != expected)
      return hl_error_set(error, HL_UNIMPLEMENTED,
                          "its OME-XML lists planes in an order of its own (TiffData puts plane "
                          "%" PRId64 " in page %" PRId64 "). Write the file again, for instance "
                          "with tifffile",
                          expected, page);
  }
  return HL_OK;
}

static hl_status read_ome(const char *pixels, int64_t pages, int64_t height, int64_t width,
                          hl__tiff_order *o, hl_error *error) {
  char order[value_max];
  int64_t x = 0, y = 0;
  if (!find_attribute(pixels, "DimensionOrder", order))
    return hl_error_set(error, HL_BAD_DATA, "its OME-XML has no DimensionOrder");
  hl_status status = find_number(pixels, "SizeX", 1, &x, error);
  if (status == HL_OK) status = find_number(pixels, "SizeY", 1, &y, error);
  if (status == HL_OK) status = find_number(pixels, "SizeZ", 1, &o->depth, error);
  if (status == HL_OK) status = find_number(pixels, "SizeC", 1, &o->channels, error);
  if (status == HL_OK) status = find_number(pixels, "SizeT", 1, &o->times, error);
  if (status == HL_OK) status = set_order(order, o, error);
  if (status != HL_OK) return status;
  /* Each is at most 2^20, so that the product fits. */
  if (o->depth * o->channels * o->times != pages || x != width || y != height)
    return hl_error_set(error, HL_BAD_DATA,
                        "its OME-XML is of %" PRId64 " planes (Z %" PRId64 ", C %" PRId64
                        ", T %" PRId64 ") of %" PRId64 " x %" PRId64 "; the file has %" PRId64
                        " pages of %" PRId64 " x %" PRId64
                        ". Is it one of several files, or truncated?",
                        o->depth * o->channels * o->times, o->depth, o->channels, o->times, y, x,
                        pages, height, width);
  snprintf(o->text, sizeof o->text, "OME-XML, %.10s", order);
  return check_planes(pixels, o, error);
}

/* -- ImageJ ------------------------------------------------------------------------------------ */

/* The number of "key=N" at the start of a line; 1 where there is none. */
static int64_t find_line(const char *text, const char *key) {
  size_t length = strlen(key);
  int64_t value = 1;
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, key, length) != 0 || line[length] != '=') continue;
    char number[value_max];
    snprintf(number, sizeof number, "%.*s", (int)strcspn(line + length + 1, "\r\n"),
             line + length + 1);
    if (hl_parse_int(number, 1, sides_max, key, &value, NULL) == HL_OK) return value;
  }
  return 1;
}

/* Its hyperstacks are in the order XYCZT. */
static hl_status read_imagej(const char *text, int64_t pages, hl__tiff_order *o, hl_error *error) {
  int64_t images = find_line(text, "images");
  o->channels = find_line(text, "channels");
  o->depth = find_line(text, "slices");
  o->times = find_line(text, "frames");
  if (o->channels * o->depth * o->times == 1) o->depth = images;
  if (o->channels * o->depth * o->times != pages)
    return hl_error_set(error, HL_BAD_DATA,
                        "ImageJ says that it has %" PRId64 " planes (%" PRId64 " channels, %" PRId64
                        " slices, %" PRId64 " frames); the file has %" PRId64
                        " pages. Save it again in ImageJ (stacks of more than 4 GB: as OME-TIFF)",
                        o->channels * o->depth * o->times, o->channels, o->depth, o->times, pages);
  o->step_channel = 1;
  o->step_z = o->channels;
  o->step_time = o->channels * o->depth;
  snprintf(o->text, sizeof o->text, "ImageJ, XYCZT");
  return HL_OK;
}

hl_status hl__tiff_find_order(const char *description, int64_t pages, int64_t height, int64_t width,
                              hl__tiff_order *ret_order, hl_error *error) {
  hl__tiff_order o = {.times = 1, .channels = 1, .depth = pages, .step_z = 1};
  hl_status status = HL_OK;
  const char *ome = description ? find_element(description, "OME") : NULL;
  const char *pixels = ome ? find_element(ome, "Pixels") : NULL;
  snprintf(o.text, sizeof o.text, "pages are z");
  if (pixels)
    status = read_ome(pixels, pages, height, width, &o, error);
  else if (description && strncmp(description, "ImageJ=", 7) == 0)
    status = read_imagej(description, pages, &o, error);
  if (status == HL_OK) *ret_order = o;
  return status;
}
