/*
 * report/assets.h - the files of a page, within the program: scripts and the style sheet.
 *
 *     const hl_asset *script = hl_asset_find("page.js");
 *     if (script) fwrite(script->data, 1, script->length, file);
 *
 * Written by embed.py when hotlap is built, from src/report/page and from Chart.js (MIT licence,
 * which its first line names). Everything is static, constant, and may be read by any thread.
 */
#ifndef HL_REPORT_ASSETS_H
#define HL_REPORT_ASSETS_H

#include <stddef.h>

typedef struct hl_asset {
  const char *name, *type; /* "page.js", "text/javascript": a MIME type, UTF-8 */
  size_t length;           /* bytes */
  const char *sha256; /* of the bytes, in base64: what a Content-Security-Policy and an ETag take */
  const char *data;   /* `length` bytes and a NUL */
} hl_asset;

/* chart.js, hotlap.css and page.js; dashboard.css and dashboard.js are of the dashboard alone. A
 * page takes them in the order style, chart.js, page.js. */
extern const hl_asset hl_assets[];
extern const size_t hl_asset_count;

/* By its whole name; NULL if there is none. */
const hl_asset *hl_asset_find(const char *name);

#endif
