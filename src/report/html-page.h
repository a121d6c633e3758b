/*
 * report/html-page.h - what stands around a page: its head, policy, style and scripts.
 *
 *     hl_page page = {.title = "mlp"};             // one file with all in it
 *     hl_page_begin(&html, &page);
 *     hl_report_html_body(&html, &input);
 *     hl_page_end(&html, &page);
 *
 * It carries a Content-Security-Policy that allows its own style and scripts, by their digests,
 * pictures within it, and nothing else: it asks no network, whatever stands in it.
 */
#ifndef HL_REPORT_HTML_PAGE_H
#define HL_REPORT_HTML_PAGE_H

#include "report/html-writer.h"

typedef struct hl_page {
  const char *title; /* anybody's text; " - hotlap" is added */
  bool has_charts;   /* Chart.js too, 200 kB */
} hl_page;

/* What the head of any page of hotlap's begins with; <head> is open. */
void hl_page_head(hl_html *html, const char *title);

/* Up to <main>, which is open. */
void hl_page_begin(hl_html *html, const hl_page *page);
/* Closes all that is open. */
void hl_page_end(hl_html *html, const hl_page *page);

#endif
