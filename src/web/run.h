/*
 * web/run.h - a run of the store with what is derived from it (inside src/web only).
 */
#ifndef HL_WEB_RUN_H
#define HL_WEB_RUN_H

#include "report/report.h"
#include "web/internal.h"

typedef struct hl__web_run {
  hl_run_info info;
  hl_records records;
  hl_comparisons comparisons;
  hl_analysis analysis;
  hl_engines engines;
} hl__web_run;

/* LIMIT: the run has more than HL__WEB_RUN_ROWS rows, with which nobody is to wait for one page. */
hl_status hl__web_run_check(hl_store *store, const char *id, hl_error *error);

/* `text` is what a person typed: an id, the start of one, "latest". Release it in any case. */
hl_status hl__web_run_load(hl_store *store, const char *text, hl__web_run *ret_run,
                           hl_error *error);
void hl__web_run_release(hl__web_run *run);
hl_report_input hl__web_run_input(const hl__web_run *run);

#endif
