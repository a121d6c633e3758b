#include "web/run.h"

hl_status hl__web_run_check(hl_store *store, const char *id, hl_error *error) {
  hl_store_standing standing;
  hl_status status = hl_store_run_standing(store, id, &standing, error);
  if (status != HL_OK || standing.rows <= HL__WEB_RUN_ROWS) return status;
  return hl_error_set(error, HL_LIMIT,
                      "run %.100s has %lld rows; here at most %d are read at once. `hotlap report "
                      "%.100s --html` makes a page of all, and `hotlap compare` compares them",
                      id, (long long)standing.rows, HL__WEB_RUN_ROWS, id);
}

hl_status hl__web_run_load(hl_store *store, const char *text, hl__web_run *ret_run,
                           hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl__web_run *r = ret_run;
  *r = (hl__web_run){0};
  hl_run_info_init(&r->info);
  hl_status status = hl_store_run_resolve(store, text, &id, error);
  if (status == HL_OK) status = hl__web_run_check(store, id, error);
  if (status == HL_OK) status = hl_store_run_load(store, id, &r->info, &r->records, error);
  if (status == HL_OK) status = hl_store_comparisons_load(store, id, &r->comparisons, error);
  if (status == HL_OK) status = hl_analysis_make(&r->records, &r->info, &r->analysis, error);
  if (status == HL_OK)
    status = hl_engines_make(&r->analysis, &r->records, &r->comparisons, &r->engines, error);
  return status;
}

void hl__web_run_release(hl__web_run *run) {
  hl_engines_release(&run->engines);
  hl_comparisons_release(&run->comparisons);
  hl_analysis_release(&run->analysis);
  hl_records_release(&run->records);
  hl_run_info_release(&run->info);
}

hl_report_input hl__web_run_input(const hl__web_run *run) {
  return (hl_report_input){.info = &run->info,
                           .records = &run->records,
                           .analysis = &run->analysis,
                           .engines = &run->engines,
                           .comparisons = &run->comparisons};
}
