/* What rows reconstructed, as pictures within the page. */
#include "formats/png-grey.h"
#include "report/html-internal.h"
#include "report/number.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MOST = 12 };

static void put_base64(const unsigned char *bytes, size_t count, hl_text *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    uint32_t three = (uint32_t)bytes[i] << 16;
    if (i + 1 < count) three |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < count) three |= bytes[i + 2];
    hl_text_char(out, digits[three >> 18]);
    hl_text_char(out, digits[three >> 12 & 63]);
    hl_text_char(out, i + 1 < count ? digits[three >> 6 & 63] : '=');
    hl_text_char(out, i + 2 < count ? digits[three & 63] : '=');
  }
}

/* "data:image/png;base64,..." */
static hl_status data_address(const hl_thumbnail *t, hl_text *out) {
  size_t count = (size_t)(t->height * t->width);
  HL_CLEANUP(hl_free_pointer) float *values = malloc(count * sizeof *values);
  hl_text png = HL_TEXT_INIT;
  if (!values) return HL_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; i++) values[i] = (float)t->grey[i] / 255.0f;
  hl_status status = hl_png_grey(values, t->height, t->width, &png, NULL);
  hl_text_append(out, "data:image/png;base64,");
  if (status == HL_OK) put_base64((const unsigned char *)png.data, png.length, out);
  hl_text_release(&png);
  return status;
}

static void put_picture(hl_html *html, const hl_thumbnail *t) {
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES], width[24], height[24];
  hl_text address = HL_TEXT_INIT;
  const char *title = hl_thumbnail_title(t->kind);
  if (data_address(t, &address) == HL_OK && !address.failed) {
    snprintf(width, sizeof width, "%" PRId64, t->width);
    snprintf(height, sizeof height, "%" PRId64, t->height);
    hl_html_open(html, "figure", NULL);
    hl_html_void(html, "img", "src", address.data, "alt", title, "width", width, "height", height,
                 NULL);
    hl_html_element(html, "figcaption", title, NULL);
    hl_html_open(html, "p", "class", "note", NULL);
    hl_html_format(html, "Black is %s, white %s.", hl_report_number(t->low, "—", low),
                   hl_report_number(t->high, "—", high));
    hl_html_close_to(html, html->depth - 2);
  }
  hl_text_release(&address);
}

static void put_row(hl_html *html, const hl_record *r, const hl_thumbnails *all) {
  hl_html_open(html, "h3", NULL);
  hl_html_format(html, "%s, %s%s%s", r->model ? r->model : "?", r->engine ? r->engine : "?",
                 r->dtype ? ", " : "", r->dtype ? r->dtype : "");
  if (r->optimizations) hl_html_format(html, ", optimised: %s", r->optimizations);
  hl_html_close(html);
  hl_html_open(html, "div", "class", "pictures", NULL);
  for (size_t i = 0; i < all->count; i++) put_picture(html, &all->items[i]);
  hl_html_close(html);
}

static bool has_pictures(const hl_record *r) {
  return r->thumbnails || r->reconstruction || r->pictures;
}

/* Whether an earlier row was shown that would look the same. */
static bool is_repeated(const hl_records *records, size_t row) {
  const hl_record *r = &records->items[row];
  for (size_t i = 0; i < row; i++) {
    const hl_record *other = &records->items[i];
    if (has_pictures(other) && hl_text_same(other->model, r->model) &&
        hl_text_same(other->engine, r->engine) && hl_text_same(other->dtype, r->dtype) &&
        hl_text_same(other->imaging_scenario, r->imaging_scenario) &&
        hl_text_same(other->optimizations, r->optimizations))
      return true;
  }
  return false;
}

void hl__html_pictures(hl_html *html, const hl_records *records) {
  size_t shown = 0;
  for (size_t i = 0; i < records->count && shown < ROWS_MOST; i++) {
    const hl_record *r = &records->items[i];
    if (!has_pictures(r) || is_repeated(records, i)) continue;
    hl_thumbnails *made = r->thumbnails ? NULL : hl_thumbnails_make(r);
    const hl_thumbnails *all = r->thumbnails ? r->thumbnails : made;
    if (all && shown++ == 0) {
      hl_html_open(html, "section", "id", "pictures", NULL);
      hl_html_element(html, "h2", "Pictures", NULL);
    }
    if (all) put_row(html, r, all);
    hl_thumbnails_free(made);
  }
  if (shown) hl_html_close(html);
}
