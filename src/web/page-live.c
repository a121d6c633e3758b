#include "web/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 1000 }; /* of a page; of a run that goes on more come as events */

static void put_text(hl_html *html, const char *text) {
  hl_html_element(html, "td", text ? text : "-", NULL);
}

/* The cells are those that dashboard.js makes of an event. */
static void put_row(void *context, const hl_store_brief *row) {
  hl_html *html = context;
  char id[24];
  bool passed = row->outcome && strcmp(row->outcome, "PASSED") == 0;
  snprintf(id, sizeof id, "%" PRId64, row->row_id);
  hl_html_open(html, "tr", "data-row", id, "class", passed ? NULL : "failed", NULL);
  hl_html_element(html, "td", row->outcome, "title", row->reason, NULL);
  put_text(html, row->model);
  put_text(html, row->engine);
  put_text(html, row->dtype);
  put_text(html, row->device);
  hl__web_int_cell(html, row->threads);
  hl__web_int_cell(html, row->batch_size);
  hl__web_number_cell(html, row->throughput_ips);
  hl__web_number_cell(html, row->latency_p50_ms);
  hl__web_number_cell(html, row->latency_p99_ms);
  hl__web_number_cell(html, row->memory_mb);
  hl_html_close(html);
}

static void put_state(hl_html *html, const hl_store_standing *standing, const char *id) {
  hl_text address = HL_TEXT_INIT;
  hl_text_append(&address, "/runs/");
  hl__web_escape(&address, id);
  hl_text_append(&address, "?report=1");
  hl_html_open(html, "p", NULL);
  hl_html_element(html, "strong", standing->abandoned ? "abandoned" : standing->state, "id",
                  "state", NULL);
  hl_html_text(html, standing->abandoned ? ": the process that measured is gone; " : ": ");
  hl_html_open(html, "span", "id", "progress", NULL);
  hl_html_format(html, "%" PRId64 " row%s, %" PRId64 " passed", standing->rows,
                 standing->rows == 1 ? "" : "s", standing->passed);
  hl_html_close(html);
  hl_html_text(html, ". ");
  if (standing->rows <= HL__WEB_RUN_ROWS)
    hl_html_element(html, "a", "Report so far", "href", address.data, NULL);
  else
    hl_html_format(
        html, "Too many for a report here: `hotlap report %s --html` makes a page of all.", id);
  hl_html_close(html);
  hl_text_release(&address);
}

hl_status hl__web_page_live(hl__web *web, hl_store *store, const char *id,
                            const hl_store_standing *standing, hl__web_answer *answer,
                            hl_error *error) {
  static const hl__web_column columns[] = {
      {"Outcome", false}, {"Model", false},  {"Engine", false},  {"Type", false},
      {"Device", false},  {"Threads", true}, {"Batch", true},    {"Images/s", true},
      {"p50 ms", true},   {"p99 ms", true},  {"Memory MB", true}};
  hl_text events = HL_TEXT_INIT;
  hl_text_append(&events, "/runs/");
  hl__web_escape(&events, id);
  hl_text_append(&events, "/events");
  bool live = strcmp(standing->state, hl_run_state_name(HL_RUN_RUNNING)) == 0;
  const hl__web_frame frame = {
      .web = web, .title = id, .events = live ? events.data : NULL, .follow = "rows"};
  const char *caption = standing->rows > ROWS ? "The first 1000 rows, in the order of measuring"
                                              : "Rows, in the order of measuring";
  hl_html html;
  hl__web_page_begin(&html, answer, &frame);
  hl_html_open(&html, "h1", NULL);
  hl_html_format(&html, "Run %s", id);
  hl_html_close(&html);
  put_state(&html, standing, id);
  hl__web_table_begin(&html, "live-rows", caption, columns, HL_COUNT(columns));
  hl_status status = hl_store_rows_follow(store, id, 0, ROWS, put_row, &html, error);
  hl__web_page_end(&html, &frame);
  hl_text_release(&events);
  return status;
}
