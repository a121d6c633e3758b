/* Records: null until known, in the table's order, copied deeply, told as text and JSON. */
#include "record/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_new_record_is_null(void **state) {
  (void)state;
  hl_record r;
  hl_record_init(&r);
  for (size_t i = 0; i < hl_metric_count; i++) {
    assert_true(hl_record_is_null(&r, &hl_metrics[i]));
    hl_text text = HL_TEXT_INIT;
    hl_record_field_text(&r, &hl_metrics[i], &text);
    assert_string_equal(text.data, "");
    hl_text_release(&text);
    assert_ptr_equal(hl_metric_find(hl_metrics[i].key), &hl_metrics[i]);
    assert_true(hl_metrics[i].title[0] && hl_metrics[i].doc[0]);
  }
  assert_null(hl_metric_find("no_such_metric"));
  assert_false(hl_record_passed(&r));
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_record_write_json(&r, &json);
  hl_json_end(&json);
  assert_non_null(strstr(text.data, "\"throughput_ips\":null"));
  assert_non_null(strstr(text.data, "\"batch_size\":null"));
  assert_non_null(strstr(text.data, "\"steady\":null"));
  assert_non_null(strstr(text.data, "\"latency_p50_ci_ms\":null"));
  assert_non_null(strstr(text.data, "\"notes\":\"\""));
  const char *at = text.data; /* the order of the table */
  for (size_t i = 0; i < hl_metric_count; i++) {
    HL_CLEANUP(hl_free_pointer) char *member = hl_format("\"%s\":", hl_metrics[i].key);
    at = strstr(at, member);
    assert_non_null(at);
  }
  hl_text_release(&text);
  hl_record_release(&r);
}

static void fields_are_told_exactly(void **state) {
  (void)state;
  hl_record r;
  hl_record_init(&r);
  r.batch_size = 8;
  r.throughput_ips = 0.1;
  r.steady = 0;
  r.latency_p50_ci_ms = (hl_pair){1.5, 2};
  r.latency_p95_ci_ms = (hl_pair){1.5, (double)NAN}; /* half an interval is none */
  r.latency_p99_ms = (double)INFINITY;
  hl_record_set_text(&r.model, "a,\"b\"");
  static const struct {
    const char *key, *text;
  } cases[] = {{"batch_size", "8"},       {"throughput_ips", "0.1"},
               {"steady", "false"},       {"latency_p50_ci_ms", "1.5 2"},
               {"latency_p95_ci_ms", ""}, {"latency_p99_ms", ""},
               {"model", "a,\"b\""}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    hl_record_field_text(&r, hl_metric_find(cases[i].key), &text);
    assert_string_equal(text.data, cases[i].text);
    hl_text_release(&text);
  }
  hl_record_release(&r);
}

static void fields_are_copied_deeply(void **state) {
  (void)state;
  hl_record from, to;
  hl_record_init(&from);
  hl_record_init(&to);
  from.batch_size = 8;
  from.throughput_ips = 0.1;
  from.steady = 1;
  from.latency_p50_ci_ms = (hl_pair){1.5, 2};
  hl_record_set_text(&from.model, "mlp");
  hl_record_set_text(&to.engine, "native"); /* null in `from` */
  to.threads = 4;
  hl_fields_copy(&from, &to, hl_metrics, hl_metric_count);
  assert_ptr_not_equal(from.model, to.model);
  hl_record_release(&from);
  assert_string_equal(to.model, "mlp");
  assert_null(to.engine);
  assert_int_equal(to.batch_size, 8);
  assert_true(to.threads == HL_INT_NULL && to.throughput_ips == 0.1 && to.steady == 1);
  assert_true(to.latency_p50_ci_ms.low == 1.5 && to.latency_p50_ci_ms.high == 2);
  hl_record_release(&to);
}

static void notes_are_sentences(void **state) {
  (void)state;
  hl_record r;
  hl_record_init(&r);
  hl_record_note(&r, "first %d", 1);
  hl_record_note(&r, "second");
  assert_string_equal(r.notes, "first 1; second");
  char long_text[5000];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = '\0';
  hl_record_note(&r, "%s", long_text); /* cut, not lost */
  assert_true(strlen(r.notes) > 1000);
  hl_record_release(&r);
}

static void a_list_takes_what_records_hold(void **state) {
  (void)state;
  hl_records list = {0};
  for (int i = 0; i < 40; i++) {
    hl_record one;
    hl_record_init(&one);
    hl_record_set_text(&one.outcome, "SKIPPED");
    hl_record_set_text(&one.outcome, "PASSED");
    one.sample_count = 2;
    one.samples_ns = malloc(2 * sizeof *one.samples_ns);
    assert_non_null(one.samples_ns);
    one.samples_ns[0] = 5;
    one.samples_ns[1] = 6;
    one.batch_size = i;
    assert_int_equal(hl_records_take(&list, &one, NULL), HL_OK);
    assert_null(one.outcome); /* moved */
    hl_record_release(&one);
  }
  assert_int_equal(list.count, 40);
  assert_true(hl_record_passed(&list.items[39]));
  assert_int_equal(list.items[39].samples_ns[1], 6);
  assert_int_equal(list.items[39].batch_size, 39);
  hl_records_release(&list);
  hl_records_release(&list);
}

static void outcomes_have_names(void **state) {
  (void)state;
  for (int i = HL_PASSED; i <= HL_TIME_OUT; i++) {
    hl_outcome outcome = HL_FAILED;
    assert_true(hl_outcome_from_name(hl_outcome_name((hl_outcome)i), &outcome));
    assert_int_equal(outcome, i);
  }
  hl_outcome outcome = HL_PASSED;
  assert_false(hl_outcome_from_name("passed", &outcome));
  assert_false(hl_outcome_from_name(NULL, &outcome));
  static const struct {
    hl_status status;
    const char *name;
  } cases[] = {{HL_OK, "PASSED"},
               {HL_OUT_OF_MEMORY, "OUT_OF_MEMORY"},
               {HL_UNIMPLEMENTED, "UNIMPLEMENTED"},
               {HL_TIMED_OUT, "TIMED_OUT"},
               {HL_CRASHED, "CRASHED"},
               {HL_UNAVAILABLE, "SKIPPED"},
               {HL_BAD_DATA, "FAILED"},
               {HL_INTERNAL, "FAILED"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    assert_string_equal(hl_outcome_name(hl_outcome_from_status(cases[i].status)), cases[i].name);
}

static void run_information_starts_empty(void **state) {
  (void)state;
  hl_run_info info;
  hl_run_info_init(&info);
  assert_null(info.id);
  assert_true(isnan(info.max_time_s) && isnan(info.overhead_ns) && isnan(info.peak_gflops));
  assert_true(info.cores == HL_INT_NULL && info.memory_limit_mb == HL_INT_NULL);
  info.id = hl_strdup("x");
  info.gpus = hl_strdup("y");
  hl_run_info_release(&info);
  assert_null(info.id);
  hl_run_info_release(&info);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_record_is_null),           cmocka_unit_test(fields_are_told_exactly),
      cmocka_unit_test(fields_are_copied_deeply),       cmocka_unit_test(notes_are_sentences),
      cmocka_unit_test(a_list_takes_what_records_hold), cmocka_unit_test(outcomes_have_names),
      cmocka_unit_test(run_information_starts_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
