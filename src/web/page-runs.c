#include "web/page.h"

#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 50 };

static void put_filter(hl_html *html, const hl_store_filter *filter) {
  hl_html_open(html, "form", "class", "filter", "role", "search", NULL);
  hl__web_field(html, "Model", "model", filter->model, NULL);
  hl__web_field(html, "Machine", "machine", filter->machine, NULL);
  hl_html_element(html, "button", "Filter", NULL);
  hl_html_close(html);
}

/* Which of two sides of a comparison a run is. */
static void put_choice(hl_html *html, const char *side, const char *title, const char *id) {
  hl_html_open(html, "td", NULL);
  hl_html_void(html, "input", "type", "radio", "form", "compare", "name", side, "value", id,
               "aria-label", title, NULL);
  hl_html_close(html);
}

static void put_best(hl_html *html, const hl_store_run *run) {
  char number[HL_NUMBER_BYTES];
  hl__web_number_cell(html, run->best_throughput_ips);
  hl_html_open(html, "td", NULL);
  if (isfinite(run->best_throughput_ips)) {
    hl_html_text(html, run->best_engine);
    hl_html_format(html, " at batch %s", hl_report_int(run->best_batch_size, "-", number));
  }
  hl_html_close(html);
}

static void put_models(hl_html *html, const char *models) {
  hl_html_open(html, "td", NULL);
  for (const char *at = models; at && *at;) {
    size_t length = strcspn(at, "\n");
    HL_CLEANUP(hl_free_pointer) char *name = hl_format("%.*s", (int)length, at);
    hl_text address = HL_TEXT_INIT;
    hl_text_append(&address, "/history?");
    hl__web_query(&address, "model", name);
    hl_html_element(html, "a", name, "href", address.data, NULL);
    hl_text_release(&address);
    at += length;
    if (*at) hl_html_text(html, "; ");
    at += *at == '\n';
  }
  hl_html_close(html);
}

/* As the store says, or "abandoned" where the process that wrote it is gone. */
static const char *state_of(hl_store *store, const hl_store_run *run, bool *ret_live) {
  hl_store_standing standing;
  *ret_live = run->state && strcmp(run->state, hl_run_state_name(HL_RUN_RUNNING)) == 0;
  bool told = *ret_live && hl_store_run_standing(store, run->id, &standing, NULL) == HL_OK;
  if (told && standing.abandoned) *ret_live = false;
  return told && standing.abandoned ? "abandoned" : run->state;
}

static void put_run(hl_html *html, hl_store *store, const hl_store_run *run) {
  bool live;
  const char *state = state_of(store, run, &live);
  hl_html_open(html, "tr", NULL);
  put_choice(html, "a", "baseline of the comparison", run->id);
  put_choice(html, "b", "compared with the baseline", run->id);
  hl__web_run_cell(html, run->id);
  hl_html_element(html, "td", run->created, NULL);
  hl_html_element(html, "td", state, "class", live ? "running" : NULL, NULL);
  hl_html_open(html, "td", "class", "number", NULL);
  hl_html_format(html, "%" PRId64 "/%" PRId64, run->passed_count, run->row_count);
  hl_html_close(html);
  put_best(html, run);
  hl_html_element(html, "td", run->machine_id, "title", run->cpu, NULL);
  put_models(html, run->models);
  hl_html_close(html);
}

static void put_table(hl_html *html, hl_store *store, const hl_store_runs *runs, size_t count) {
  static const hl__web_column columns[] = {
      {"A", false},       {"B", false},     {"Run", false},     {"Begun", false},
      {"State", false},   {"Passed", true}, {"Images/s", true}, {"Best by", false},
      {"Machine", false}, {"Models", false}};
  hl__web_table_begin(html, "runs", "Runs, the newest first", columns, HL_COUNT(columns));
  for (size_t i = 0; i < count; i++) put_run(html, store, &runs->items[i]);
  hl__web_table_end(html);
}

/* How many there are is only known of all runs: to count those of a model would take longer than to
 * show them. */
static void put_pager(hl_html *html, const hl_store_filter *filter, int64_t page, bool more,
                      int64_t count) {
  const int64_t to[] = {page > 1 ? page - 1 : 0, more ? page + 1 : 0};
  static const char *const words[] = {"Newer", "Older"};
  hl_html_open(html, "p", "class", "pager", NULL);
  if (!filter->model && !filter->machine)
    hl_html_format(html, "%" PRId64 " run%s, ", count, count == 1 ? "" : "s");
  hl_html_format(html, "page %" PRId64 " ", page);
  for (size_t i = 0; i < HL_COUNT(to); i++) {
    if (!to[i]) continue;
    char number[HL_NUMBER_BYTES];
    hl_text address = HL_TEXT_INIT;
    snprintf(number, sizeof number, "%" PRId64, to[i]);
    hl_text_append(&address, "/?");
    hl__web_query(&address, "model", filter->model);
    hl__web_query(&address, "machine", filter->machine);
    hl__web_query(&address, "page", number);
    hl_html_element(html, "a", words[i], "href", address.data, "rel", i ? "next" : "prev", NULL);
    hl_html_text(html, " ");
    hl_text_release(&address);
  }
  hl_html_close(html);
}

static void put_compare(hl_html *html) {
  hl_html_open(html, "form", "id", "compare", "action", "/compare", NULL);
  hl_html_element(html, "button", "Compare B with A", NULL);
  hl_html_text(html, " two runs of the same work, chosen in the columns A and B");
  hl_html_close(html);
}

hl_status hl__web_page_runs(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                            hl_error *error) {
  hl_store_filter filter = {.model = hl_web_parameter(target, "model"),
                            .machine = hl_web_parameter(target, "machine"),
                            .limit = PAGE + 1};
  hl_store *store;
  hl_store_runs runs = {0};
  int64_t count = 0, page = 1;
  hl_status status = hl__web_int(target, "page", 1, INT32_MAX, 1, &page, error);
  filter.skip = (page - 1) * PAGE;
  if (status == HL_OK) status = hl__web_store(web, &store, error);
  if (status == HL_OK) status = hl_store_runs_count(store, &count, error);
  if (status == HL_OK) status = hl_store_runs_list(store, &filter, &runs, error);
  if (status != HL_OK) return status;
  const hl__web_frame frame = {
      .web = web, .title = "Runs", .here = "/", .events = "/events", .follow = "swap"};
  hl_html html;
  hl__web_page_begin(&html, answer, &frame);
  hl_html_element(&html, "h1", "Runs", NULL);
  put_filter(&html, &filter);
  hl_html_open(&html, "div", "id", "swapped", NULL);
  if (runs.count)
    put_table(&html, store, &runs, runs.count > PAGE ? PAGE : runs.count);
  else
    hl_html_element(&html, "p", "No such runs. `hotlap sweep MODEL` makes one.", NULL);
  put_pager(&html, &filter, page, runs.count > PAGE, count);
  hl_html_close(&html);
  put_compare(&html);
  hl__web_page_end(&html, &frame);
  hl_store_runs_release(&runs);
  return HL_OK;
}
