#include "report/html-report.h"
#include "web/page.h"
#include "web/run.h"

#include <string.h>

static hl_status put_run(hl__web *web, hl_store *store, const char *id, hl__web_answer *answer,
                         hl_error *error) {
  hl__web_run run;
  hl_status status = hl__web_run_load(store, id, &run, error);
  if (status == HL_OK) {
    const hl_report_input input = hl__web_run_input(&run);
    HL_CLEANUP(hl_free_pointer) char *title = hl_report_html_title(&input);
    const hl__web_frame frame = {.web = web, .title = title ? title : id, .has_charts = true};
    hl_html html;
    hl__web_page_begin(&html, answer, &frame);
    hl_report_html_body(&html, &input); /* as in the page of `hotlap report --html` */
    hl__web_page_end(&html, &frame);
  }
  hl__web_run_release(&run);
  return status;
}

/* What goes on, and what is too much for a report, is shown as a table of rows; what has ended as a
 * report. */
hl_status hl__web_page_run(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                           hl_error *error) {
  hl_store *store;
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_store_standing standing;
  hl_status status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = hl_store_run_resolve(store, target->segments[1], &id, error);
  if (status == HL_OK) status = hl_store_run_standing(store, id, &standing, error);
  if (status != HL_OK) return status;
  bool live = strcmp(standing.state, hl_run_state_name(HL_RUN_RUNNING)) == 0;
  if (standing.rows > HL__WEB_RUN_ROWS || (live && !hl_web_parameter(target, "report")))
    return hl__web_page_live(web, store, id, &standing, answer, error);
  return put_run(web, store, id, answer, error);
}
