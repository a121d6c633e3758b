/* The report of a test matrix: places by the entries' names, whatever these are. */
#include "report/matrix-pages.h"
#include "sample-records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_record *last(sample *s) {
  return &s->records.items[s->records.count - 1];
}

static void pass(sample *s, const char *entry, int64_t batch) {
  sample_pass(s, "native", batch);
  hl_record_set_text(&last(s)->entry, entry);
}

static void absent(sample *s, const char *entry, int64_t batch) {
  sample_fail(s, "native", batch, "SKIPPED", "no GPU | here");
  hl_record_set_text(&last(s)->entry, entry);
}

static void entries_are_taken_apart(void **unused) {
  (void)unused;
  hl__matrix_place p;
  static const char *const others[] = {
      "",       "a",      "a/b/c",    "a/b/c/d/e",
      "a//c/d", "a/b/c/", "/a/b/c/d", "a/b/c/0123456789012345678901234567890123456789"};
  assert_true(hl__matrix_place_of("small/standard/cpu_baseline/throughput", &p));
  assert_string_equal(p.parts[HL__DATASET], "small");
  assert_string_equal(p.parts[HL__SCENARIO], "throughput");
  assert_false(hl__matrix_place_of(NULL, &p));
  for (size_t i = 0; i < HL_COUNT(others); i++) assert_false(hl__matrix_place_of(others[i], &p));
}

static void scenarios_are_answered(void **unused) {
  (void)unused;
  sample s;
  sample_init(&s);
  for (int64_t b = 1; b <= 64; b *= 2) pass(&s, "few/a/cpu/throughput", b);
  for (int64_t b = 1; b <= 4; b *= 2) pass(&s, "few/a/cpu/latency", b);
  for (int64_t b = 1; b <= 4; b *= 2) pass(&s, "many/a/cpu/throughput", b);
  for (int64_t b = 1; b <= 4; b *= 2) absent(&s, "few/a/gpu/throughput", b);
  pass(&s, "alone", 1); /* of an entry that no matrix made */
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_markdown(&s.input, "performance_analysis.png", &text);
  const char *matrix = strstr(text.data, "## Test Matrix"),
             *results = strstr(text.data, "## Results");
  assert_true(matrix && results && matrix < results);
  /* T(b) = 10 + 5 b ms: 194 images/s at batch 64, of 67 at batch 1. */
  assert_non_null(strstr(matrix, "| few | a | cpu | native | **64** | 193.9 |"));
  assert_non_null(strstr(matrix, "| few | a | gpu | native | SKIPPED: no GPU \\| here |"));
  assert_non_null(strstr(matrix, "### Data set many, model a\n\n![Performance against batch size]"
                                 "(performance_many_a.png)"));
  assert_non_null(strstr(results, "### few/a/gpu/throughput\n\n3 rows SKIPPED: no GPU \\| here"));
  assert_non_null(strstr(results, "| native | 1, 2, 4 | SKIPPED |"));
  assert_null(strstr(matrix, "alone |"));
  hl_text_release(&text);
  sample_release(&s);
}

static void pages_are_of_data_and_model(void **unused) {
  (void)unused;
  sample s;
  hl__matrix_pages pages;
  sample_init(&s);
  pass(&s, "a/b_c/cpu/throughput", 1);
  sample_analyse(&s);
  assert_int_equal(hl__matrix_pages_make(&s.analysis, &pages, NULL), HL_OK);
  assert_int_equal(pages.count, 0); /* it would be the picture that there is */
  sample_release(&s);
  sample_init(&s);
  pass(&s, "a/b_c/cpu/throughput", 1);
  pass(&s, "a/b_c/gpu/throughput", 1);
  pass(&s, "a/b_c/gpu/latency", 1); /* not of a page: throughput answers */
  pass(&s, "a_b/c/cpu/latency", 1); /* has no other there */
  sample_analyse(&s);
  assert_int_equal(hl__matrix_pages_make(&s.analysis, &pages, NULL), HL_OK);
  assert_int_equal(pages.count, 2);
  assert_int_equal(pages.items[0].analysis.group_count, 2);
  assert_string_equal(pages.items[0].name, "performance_a_b_c");
  assert_int_equal(pages.items[1].analysis.group_count, 1);
  assert_string_equal(pages.items[1].name, "performance_a_b_c_2"); /* else one file for both */
  hl__matrix_pages_release(&pages);
  sample_release(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(entries_are_taken_apart),
                                     cmocka_unit_test(scenarios_are_answered),
                                     cmocka_unit_test(pages_are_of_data_and_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
