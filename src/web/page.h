/*
 * web/page.h - the frame of the dashboard's pages, and what their parts share (inside src/web
 * only).
 *
 *     hl_html html;
 *     hl__web_page_begin(&html, answer, &(hl__web_frame){.title = "Runs", .here = "/"});
 *     hl_html_element(&html, "p", "…", NULL);
 *     hl__web_page_end(&html);
 *
 * Texts of a store go through the writer alone, and into an address only by hl__web_address.
 */
#ifndef HL_WEB_PAGE_H
#define HL_WEB_PAGE_H

#include "report/html-writer.h"
#include "web/internal.h"

typedef struct hl__web_frame {
  const hl__web *web;
  const char *title;
  const char *here;   /* the entry of the navigation that this is, or NULL */
  const char *events; /* address of the events that the page follows, or NULL */
  const char *follow; /* what it does with them: "swap" or "rows" */
  bool has_charts;
} hl__web_frame;

/* Up to an open <main>. */
void hl__web_page_begin(hl_html *html, hl__web_answer *answer, const hl__web_frame *frame);
void hl__web_page_end(hl_html *html, const hl__web_frame *frame);

/* A page with one sentence and, for who has no token, a form that takes it. */
void hl__web_page_refuse(const hl__web *web, hl__web_answer *ret_answer, unsigned status,
                         const char *sentence, bool asks_token);

/* Appends "name=value&" with the value escaped for an address; nothing where it is NULL. */
void hl__web_query(hl_text *address, const char *name, const char *value);
/* Appends a part of a path. */
void hl__web_escape(hl_text *address, const char *value);

/* A table that page.js sorts, up to the rows; then its end. */
typedef struct hl__web_column {
  const char *title;
  bool is_number;
} hl__web_column;
void hl__web_table_begin(hl_html *html, const char *id, const char *caption,
                         const hl__web_column *columns, size_t count);
void hl__web_table_end(hl_html *html);

/* A labelled field of a form. */
void hl__web_field(hl_html *html, const char *label, const char *name, const char *value,
                   const char *list);
/* A cell with a number to sort by; a dash where it is NaN. */
void hl__web_number_cell(hl_html *html, double value);
/* A cell with a whole number; a dash where it is HL_INT_NULL. */
void hl__web_int_cell(hl_html *html, int64_t value);
/* A cell with a link to a run. */
void hl__web_run_cell(hl_html *html, const char *id);

/* A whole number among the parameters. */
hl_status hl__web_int(const hl_web_target *target, const char *name, int64_t least, int64_t most,
                      int64_t initial, int64_t *ret_value, hl_error *error);

#endif
