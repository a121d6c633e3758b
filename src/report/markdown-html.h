/*
 * report/markdown-html.h - the Markdown that hotlap itself writes, as HTML, so that a page says
 * what the reports say, in the same words.
 *
 *     hl_markdown_html(text.data, "", &html);
 *
 * Knows headings, paragraphs, lists of two levels, tables, fenced code, bold, code spans, and the
 * escapes of formats/markdown.h; a picture, which lies in a file of its own, is left out. Whatever
 * else stands there is text. No text becomes markup, whatever is in it.
 */
#ifndef HL_REPORT_MARKDOWN_HTML_H
#define HL_REPORT_MARKDOWN_HTML_H

#include "report/html-writer.h"

/* Each heading of the second level begins a <section>, whose id is `prefix` and its words; headings
 * of the first level are left out. Tables can be sorted (class "sortable"). */
void hl_markdown_html(const char *markdown, const char *prefix, hl_html *html);

#endif
