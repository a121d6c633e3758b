/* The suites' 22 columns first, quoting by RFC 4180, unknown is empty. */
#include "formats/csv.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char suite_header[] =
    "timestamp,framework,model,device,device_type,batch_size,input_shape,dtype,warmup_iterations,"
    "measurement_iterations,latency_p50_ms,latency_p95_ms,latency_p99_ms,latency_mean_ms,"
    "latency_std_ms,latency_min_ms,latency_max_ms,throughput_ips,memory_mb,compilation_time_ms,"
    "git_commit,notes";

static void suite_columns_are_exact(void **state) {
  (void)state;
  hl_record record;
  hl_record_init(&record);
  hl_record_set_text(&record.timestamp, "2026-11-27T12:00:00Z");
  hl_record_set_text(&record.framework, "pytorch");
  hl_record_set_text(&record.model, "resnet50");
  record.batch_size = 8;
  record.latency_p50_ms = 1.25;
  hl_record_set_text(&record.notes, "a, \"b\"\nc");
  hl_records records = {.items = &record, .count = 1};
  hl_text out = HL_TEXT_INIT;
  hl_csv_write(&records, HL_CSV_SUITE, &out);
  hl_text expected = HL_TEXT_INIT;
  hl_text_format(
      &expected, "%s\n%s\n", suite_header,
      "2026-11-27T12:00:00Z,pytorch,resnet50,,,8,,,,,1.25,,,,,,,,,,,\"a, \"\"b\"\"\nc\"");
  assert_string_equal(out.data, expected.data);
  hl_text_release(&expected);
  hl_text_release(&out);
  hl_record_release(&record);
}

static void full_file_has_every_metric_once(void **state) {
  (void)state;
  hl_records none = {0};
  hl_text out = HL_TEXT_INIT;
  hl_csv_write(&none, HL_CSV_ALL, &out);
  assert_int_equal(strncmp(out.data, suite_header, sizeof suite_header - 1), 0);
  size_t columns = 1;
  for (const char *c = out.data; *c; c++) columns += *c == ',';
  assert_int_equal(columns, hl_metric_count);
  assert_int_equal(out.data[out.length - 1], '\n');
  for (size_t i = 0; i < hl_metric_count; i++) {
    hl_text whole = HL_TEXT_INIT, cell = HL_TEXT_INIT;
    hl_text_format(&whole, ",%.*s,", (int)out.length - 1, out.data);
    hl_text_format(&cell, ",%s,", hl_metrics[i].key);
    const char *first = strstr(whole.data, cell.data);
    assert_non_null(first);
    assert_null(strstr(first + 1, cell.data));
    hl_text_release(&whole);
    hl_text_release(&cell);
  }
  hl_text_release(&out);
}

static void cells_are_quoted_where_needed(void **state) {
  (void)state;
  static const struct {
    const char *text, *cell;
  } cases[] = {{NULL, ""},         {"", ""},           {"plain text", "plain text"},
               {"a,b", "\"a,b\""}, {"\"", "\"\"\"\""}, {"a\r\nb", "\"a\r\nb\""},
               {"é|*", "é|*"},     {"1 2", "1 2"}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text out = HL_TEXT_INIT;
    hl_csv_cell(&out, cases[i].text);
    assert_string_equal(out.data, cases[i].cell);
    hl_text_release(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suite_columns_are_exact),
      cmocka_unit_test(full_file_has_every_metric_once),
      cmocka_unit_test(cells_are_quoted_where_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
