/*
 * report/html-writer.h - HTML into an hl_text, in which no value can become markup.
 *
 *     hl_html html;
 *     hl_html_init(&html, &text);
 *     hl_html_open(&html, "tr", "class", "failed", NULL);
 *     hl_html_element(&html, "td", record->model, NULL);
 *     hl_html_close(&html);
 *
 * Names of elements and attributes are the program's own and are written as they are; texts and
 * values of attributes may be anybody's: & < > " ' become references, what is not UTF-8 and control
 * characters (but for tab and line end) U+FFFD. That makes a value safe as text and as an
 * attribute, not as a script, a style or an address: never give href or src a stranger's text
 * (javascript: stays what it is), and data to scripts only by hl_html_json.
 */
#ifndef HL_REPORT_HTML_WRITER_H
#define HL_REPORT_HTML_WRITER_H

#include "base/text.h"
#include "report/assets.h"

enum { HL_HTML_MAX_DEPTH = 64 };

typedef struct hl_html {
  hl_text *out;
  int depth;
  const char *open[HL_HTML_MAX_DEPTH]; /* names of the elements that are open; borrowed */
} hl_html;

/* Attributes: pairs of name and value, then NULL. A value that is NULL leaves its attribute out; ""
 * is the value of one that is on, as `hidden`. */
#if defined __GNUC__
#define HL_HTML_ATTRIBUTES __attribute__((sentinel))
#else
#define HL_HTML_ATTRIBUTES
#endif

void hl_html_init(hl_html *html, hl_text *out);
/* <!doctype html> */
void hl_html_doctype(hl_html *html);
/* <name attributes>, to be closed; deeper than HL_HTML_MAX_DEPTH `out` has failed. A line end
 * stands before an element that is a block of the page (table, tr, section, p, ...). */
void hl_html_open(hl_html *html, const char *name, ...) HL_HTML_ATTRIBUTES;
void hl_html_close(hl_html *html); /* the innermost that is open; nothing without one */
void hl_html_close_to(hl_html *html, int depth); /* until so many are open */
/* An element without an end: meta, input, br. */
void hl_html_void(hl_html *html, const char *name, ...) HL_HTML_ATTRIBUTES;
/* <name attributes>text</name>; a NULL text is none. */
void hl_html_element(hl_html *html, const char *name, const char *text, ...) HL_HTML_ATTRIBUTES;
void hl_html_text(hl_html *html, const char *text); /* NULL: nothing */
void hl_html_format(hl_html *html, const char *format, ...) HL_PRINTF(2, 3);

/* <script type="application/json" id="ID">: `json` is a valid document, in which < > & U+2028 and
 * U+2029 become \u escapes, so that it says the same and ends no script. */
void hl_html_json(hl_html *html, const char *id, const char *json);
/* The same escapes alone, for JSON that goes elsewhere into a page. */
void hl_html_json_escape(const char *json, hl_text *out);

/* An asset within the page, <script> or <style>; its `sha256` is what the policy allows. */
void hl_html_asset(hl_html *html, const hl_asset *asset);

/* The text of hl_html_text for anything else that is made by hand. */
void hl_html_escape(const char *text, hl_text *out);

#endif
