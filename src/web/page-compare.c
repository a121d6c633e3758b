#include "analyse/stored.h"
#include "report/number.h"
#include "report/stored.h"
#include "web/page.h"
#include "web/run.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16 };

/* As the command `hotlap compare` has them. */
static const double alpha = 0.05, margin = HL_EQUIVALENT_WITHIN;

typedef struct side {
  hl_run_info info;
  hl_records records;
  size_t *rows;
  hl_stored_run run;
  char *operand;
} side;

typedef struct compared {
  side sides[2];
  hl_stored found;
  bool made;
} compared;

static void release(compared *c) {
  if (c->made) hl_stored_release(&c->found);
  for (size_t i = 0; i < 2; i++) {
    hl_run_info_release(&c->sides[i].info);
    hl_records_release(&c->sides[i].records);
    free(c->sides[i].rows);
    free(c->sides[i].operand);
  }
}

/* Rows by words of a text, "batch=8 engine=native". */
static hl_status select_rows(side *s, const char *text, hl_error *error) {
  const char *words[WORDS];
  size_t count = 0;
  HL_CLEANUP(hl_free_pointer) char *copy = hl_strdup(text ? text : "");
  char *rest = NULL;
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison");
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    if (count == WORDS)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "more than %d words select rows", WORDS);
    words[count++] = word;
  }
  return hl_stored_select(&s->records, words, count, &s->rows, &s->run.row_count, error);
}

static hl_status load_side(hl_store *store, const char *run, const char *rows, side *s,
                           hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_run_info info;
  hl_records records;
  hl_status status = hl_store_run_resolve(store, run, &id, error);
  if (status == HL_OK) status = hl__web_run_check(store, id, error);
  if (status == HL_OK) status = hl_store_run_load(store, id, &info, &records, error);
  if (status != HL_OK) return status;
  hl_run_info_release(&s->info);
  s->info = info;
  s->records = records;
  s->operand = rows ? hl_format("run:%s %s", id, rows) : hl_format("run:%s", id);
  status = s->operand ? select_rows(s, rows, error)
                      : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison");
  s->run.info = &s->info;
  s->run.records = &s->records;
  s->run.rows = s->rows;
  return status;
}

static hl_status compare(hl_store *store, const hl_web_target *target, compared *c,
                         hl_error *error) {
  static const char *const runs[] = {"a", "b"}, *const rows[] = {"rows_a", "rows_b"};
  hl_status status = HL_OK;
  for (size_t i = 0; i < 2; i++) hl_run_info_init(&c->sides[i].info);
  for (size_t i = 0; i < 2 && status == HL_OK; i++) {
    const char *run = hl_web_parameter(target, runs[i]);
    status = run ? load_side(store, run, hl_web_parameter(target, rows[i]), &c->sides[i], error)
                 : hl_error_set(error, HL_INVALID_ARGUMENT, "%s=RUN is missing", runs[i]);
  }
  const hl_stored_options options = {.alpha = alpha,
                                     .margin = margin,
                                     .seed = 42,
                                     .force = hl_web_parameter(target, "force") != NULL};
  if (status != HL_OK) return status;
  status = hl_stored_compare(&c->sides[0].run, &c->sides[1].run, &options, &c->found, error);
  c->made = status == HL_OK;
  return status == HL_UNAVAILABLE ? HL_NOT_FOUND : status; /* no row passed: the store is well */
}

/* ---- the page ---- */

static void put_form(hl_html *html, const hl_web_target *target) {
  hl_html_open(html, "form", "class", "filter", NULL);
  hl__web_field(html, "Baseline A", "a", hl_web_parameter(target, "a"), NULL);
  hl__web_field(html, "its rows", "rows_a", hl_web_parameter(target, "rows_a"), NULL);
  hl__web_field(html, "B", "b", hl_web_parameter(target, "b"), NULL);
  hl__web_field(html, "its rows", "rows_b", hl_web_parameter(target, "rows_b"), NULL);
  hl_html_open(html, "label", NULL);
  hl_html_void(html, "input", "type", "checkbox", "name", "force", "value", "1", "checked",
               hl_web_parameter(target, "force") ? "" : NULL, NULL);
  hl_html_text(html, " also what is not the same work");
  hl_html_close(html);
  hl_html_element(html, "button", "Compare", NULL);
  hl_html_close(html);
  hl_html_element(html, "p",
                  "Runs are ids, starts of them, or latest; rows are chosen by words such as "
                  "batch=8 engine=native.",
                  "class", "note", NULL);
}

static void put_side(hl_html *html, const char *name, const side *s) {
  hl_html_open(html, "div", NULL);
  hl_html_element(html, "dt", name, NULL);
  hl_html_open(html, "dd", NULL);
  hl_html_text(html, s->operand);
  hl_html_format(html, ", %s", s->info.created ? s->info.created : "time unknown");
  hl_html_close(html);
  hl_html_close(html);
}

static void put_what(hl_html *html, const hl_record *r) {
  char number[HL_NUMBER_BYTES];
  hl_html_open(html, "td", NULL);
  hl_html_format(html, "%s, %s, %s, batch %s", r->model ? r->model : "-",
                 r->engine ? r->engine : "-", r->dtype ? r->dtype : "-",
                 hl_report_int(r->batch_size, "-", number));
  hl_html_close(html);
}

static void put_pair(hl_html *html, const compared *c, size_t i) {
  const hl_comparison *v = &c->found.comparisons.items[i];
  const hl_stored_pair *pair = &c->found.pairs[i];
  char mde[HL_NUMBER_BYTES];
  hl_html_open(html, "tr", NULL);
  put_what(html, &c->sides[0].records.items[pair->a]);
  put_what(html, &c->sides[1].records.items[pair->b]);
  hl_html_element(html, "td", v->verdict ? v->verdict : "-", NULL);
  hl__web_number_cell(html, v->ratio);
  hl__web_number_cell(html, v->ci.low);
  hl__web_number_cell(html, v->ci.high);
  hl_html_element(html, "td", hl_report_percent(100 * v->mde, mde), "class", "number", NULL);
  hl_html_element(html, "td", v->notes ? v->notes : "", NULL);
  hl_html_close(html);
}

static void put_left(hl_html *html, const compared *c) {
  if (!c->found.left_count) return;
  hl_html_element(html, "h2", "Not compared", NULL);
  hl_html_open(html, "ul", NULL);
  for (size_t i = 0; i < c->found.left_count; i++) {
    const hl_stored_left *left = &c->found.left[i];
    const hl_record *r = &c->sides[left->is_b].records.items[left->row];
    char number[HL_NUMBER_BYTES];
    hl_html_open(html, "li", NULL);
    hl_html_format(html, "%c: %s, %s, batch %s: %s", left->is_b ? 'B' : 'A',
                   r->model ? r->model : "-", r->engine ? r->engine : "-",
                   hl_report_int(r->batch_size, "-", number), left->reason);
    hl_html_close(html);
  }
  hl_html_close(html);
}

static void put_notes(hl_html *html, const compared *c) {
  hl_html_open(html, "p", "class", "note", NULL);
  hl_html_format(html,
                 "Ratio: time of A / time of B, above 1 B is faster; by medians of contiguous "
                 "batches of steps, corrected for %zu rows (Holm, alpha %g). MDE: least detectable "
                 "effect.",
                 c->found.comparisons.count, alpha);
  hl_html_close(html);
  hl_html_open(html, "p", "class", "note", NULL);
  hl_html_format(html, "The verdicts are %s.", hl_report_stored_warning);
  hl_html_close(html);
  for (const char *line = c->found.notes; line && *line;) {
    size_t length = strcspn(line, "\n");
    hl_html_open(html, "p", "class", "note", NULL);
    hl_html_format(html, "%.*s", (int)length, line);
    hl_html_close(html);
    line += length + (line[length] == '\n');
  }
}

static void put_result(hl_html *html, const compared *c) {
  static const hl__web_column columns[] = {
      {"A", false},   {"B", false}, {"Verdict on B", false}, {"Ratio", true},
      {"from", true}, {"to", true}, {"MDE", true},           {"Notes", false}};
  hl_html_open(html, "dl", "class", "facts", NULL);
  put_side(html, "A, the baseline", &c->sides[0]);
  put_side(html, "B", &c->sides[1]);
  hl_html_close(html);
  hl__web_table_begin(html, "compared", "Rows that measure the same work", columns,
                      HL_COUNT(columns));
  for (size_t i = 0; i < c->found.comparisons.count; i++) put_pair(html, c, i);
  hl__web_table_end(html);
  put_left(html, c);
  put_notes(html, c);
}

/* What cannot be compared is no error of the page: it says why, below the form. */
hl_status hl__web_page_compare(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                               hl_error *error) {
  const hl__web_frame frame = {.web = web, .title = "Comparison", .here = "/compare"};
  hl_store *store;
  hl_status status = hl__web_store(web, &store, error);
  if (status != HL_OK) return status;
  compared c = {0};
  hl_error why = {0};
  bool asked = hl_web_parameter(target, "a") || hl_web_parameter(target, "b");
  if (asked) status = compare(store, target, &c, &why);
  hl_html html;
  hl__web_page_begin(&html, answer, &frame);
  hl_html_element(&html, "h1", "Comparison", NULL);
  put_form(&html, target);
  if (asked && status == HL_OK) put_result(&html, &c);
  if (status != HL_OK)
    hl_html_element(&html, "p", why.msg, "class", "failed", "role", "alert", NULL);
  hl__web_page_end(&html, &frame);
  release(&c);
  return HL_OK;
}

hl_status hl__web_api_compare(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                              hl_error *error) {
  hl_store *store;
  hl_status status = hl__web_store(web, &store, error);
  if (status != HL_OK) return status;
  compared c = {0};
  status = compare(store, target, &c, error);
  if (status == HL_OK) {
    const hl_report_stored report = {.operands = {c.sides[0].operand, c.sides[1].operand},
                                     .runs = {&c.sides[0].run, &c.sides[1].run},
                                     .found = &c.found,
                                     .margin = margin,
                                     .alpha = alpha};
    hl_report_stored_json(&report, &answer->body);
    answer->type = "application/json";
  }
  release(&c);
  return status;
}
