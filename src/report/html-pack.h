/*
 * report/html-pack.h - a long text of which most repeats, as the JSON and the CSV file of a run do,
 * in less room, for a page that carries it along (inside src/report only).
 *
 *     hl_html_pack(json.data, '\n', &out);     {"separator": "\n", "pieces": [...]}
 *
 * The text is its pieces with the separator between them: lines, or the cells of a CSV file. Of
 * `pieces` each is
 *   -n     from here on a piece is like the one n before it: that of the row before
 *   n      as many pieces that equal the ones that they are like
 *   "X"    the piece that this one is like, up to its value (what follows the first `": `, or
 *          spaces at its beginning), then X
 *   ["X"]  X
 * A row of 280 metrics takes 9 KB as JSON, and so packed what differs from the row before.
 * `unpacked` of page/page.js is the way back.
 */
#ifndef HL_REPORT_HTML_PACK_H
#define HL_REPORT_HTML_PACK_H

#include "base/text.h"

/* Appends the document. `separator` is a line's end or, for CSV, a comma. Without memory `out` has
 * failed. */
void hl_html_pack(const char *text, char separator, hl_text *out);

#endif
