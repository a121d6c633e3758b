/*
 * report/html-page.h - what stands around a page: its head, policy, style and scripts.
 *
 *     hl_page page = {.title = "mlp"};             // one file with all in it
 *     hl_page_begin(&html, &page);
 *     hl_report_html_body(&html, &input);
 *     hl_page_end(&html, &page);
 *
 * A page in one file carries a Content-Security-Policy that allows its own style and scripts, by
 * their digests, pictures within it, and nothing else: it asks no network, whatever stands in it.
 * A page that is served names the assets by address and leaves the policy to the server.
 */
#ifndef HL_REPORT_HTML_PAGE_H
#define HL_REPORT_HTML_PAGE_H

#include "report/html-writer.h"

typedef struct hl_page {
  const char *title;  /* anybody's text; " - hotlap" is added */
  const char *assets; /* NULL: within the page; else the folder's address, "/assets/" */
  bool has_charts;    /* Chart.js too, 200 kB */
} hl_page;

/* Up to <main>, which is open. */
void hl_page_begin(hl_html *html, const hl_page *page);
/* Closes all that is open. */
void hl_page_end(hl_html *html, const hl_page *page);

#endif
