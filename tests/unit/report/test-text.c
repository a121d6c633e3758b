/* The table, the advice and the Markdown report, as people see them. */
#include "formats/csv.h"
#include "report/number.h"
#include "report/table.h"
#include "sample-records.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void numbers_have_four_digits(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0.000"},         {1, "1.000"},          {9.99949, "9.999"},
               {9.99996, "10.00"},   {12.345, "12.35"},     {999.96, "1000"},
               {123456.4, "123456"}, {0.012345, "0.01235"}, {0.000123456, "0.000123"},
               {1.5e-7, "1.50e-07"}, {-12.345, "-12.35"},   {5e13, "5.00e+13"}};
  char text[HL_NUMBER_BYTES];
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    assert_string_equal(hl_report_number(cases[i].value, "-", text), cases[i].text);
  assert_string_equal(hl_report_number((double)NAN, "-", text), "-");
  assert_string_equal(hl_report_number((double)INFINITY, "—", text), "—");
  static const struct {
    double value;
    const char *text;
  } percents[] = {{0.854, "0.85 %"}, {9.14, "9.1 %"},  {99.4, "99 %"},    {99.6, "100 %"},
                  {-130, "-130 %"},  {5321, "5321 %"}, {(double)NAN, "-"}};
  for (size_t i = 0; i < HL_COUNT(percents); i++)
    assert_string_equal(hl_report_percent(percents[i].value, text), percents[i].text);
  assert_string_equal(hl_report_half_width((hl_pair){99, 101}, 100, "-", text), "1.0");
  assert_string_equal(hl_report_half_width((hl_pair){(double)NAN, 1}, 100, "-", text), "-");
}

static void table_of_one_group(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 32);
  s.records.items[1].steady = 0;
  s.records.items[1].throughput_ci_ips.low = (double)NAN;
  hl_record_set_text(&s.records.items[1].stop, "budget_exhausted");
  sample_fail(&s, "native", 64, "OUT_OF_MEMORY", "no memory\nfor 5 MB");
  hl_text text = HL_TEXT_INIT;
  hl_report_table_write(&s.records, false, &text);
  hl_report_summary(&s.records, &text);
  assert_string_equal(
      text.data,
      "inference, mlp:a|b, native, float32, 2 threads, cpu\n"
      " Batch  images/s   ± %   p50 ms   p95 ms   p99 ms ms/image memory MB img/s/MB  steps\n"
      "     1     66.67   1.0    15.00    15.75    18.00    15.00     12.00    5.556    200\n"
      "    32     188.2     -    170.0    178.5    204.0    5.312     74.00    2.544    200  not "
      "steady, budget exhausted\n"
      "    64  OUT_OF_MEMORY: no memory for 5 MB\n"
      "3 rows: 2 passed, 1 OUT_OF_MEMORY\n");
  hl_text_release(&text);
  sample_release(&s);
}

static void table_shows_what_differs(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 8);
  sample_pass(&s, "onnxruntime", 8);
  hl_text text = HL_TEXT_INIT;
  hl_report_table_write(&s.records, true, &text);
  assert_non_null(strstr(text.data, "inference, mlp:a|b, float32, 2 threads, cpu\n"));
  assert_non_null(strstr(text.data, "Engine        Batch"));
  assert_non_null(strstr(text.data, "native            8"));
  assert_non_null(strstr(text.data, "onnxruntime       8"));
  assert_non_null(strstr(text.data, "\033[1m"));
  hl_text_release(&text);
  sample_release(&s);
}

/* Each model above its rows: long names take no column. */
static void table_has_a_heading_for_each_model(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 8);
  sample_pass(&s, "openvino", 8);
  sample_pass(&s, "native", 8);
  char longest[301];
  memset(longest, 'm', 300);
  longest[300] = '\0';
  hl_record_set_text(&s.records.items[2].model, longest);
  hl_text text = HL_TEXT_INIT, expected = HL_TEXT_INIT;
  hl_report_table_write(&s.records, false, &text);
  static const char numbers[] =
      "     8     160.0   1.0    50.00    52.50    60.00    6.250     26.00    6.154    200\n";
  hl_text_format(&expected,
                 "inference, float32, 2 threads, cpu\n"
                 "Engine     Batch  images/s   ± %%   p50 ms   p95 ms   p99 ms ms/image memory MB "
                 "img/s/MB  steps\n"
                 "mlp:a|b\nnative    %sopenvino  %s%s\nnative    %s",
                 numbers, numbers, longest, numbers);
  assert_string_equal(text.data, expected.data);
  hl_text_release(&text);
  hl_text_release(&expected);
  sample_release(&s);
}

/* Of a plan: each entry has a line, and each workload columns of its own, whatever came last. */
static void table_of_several_workloads(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  static const char *const entries[] = {"steps", "steps", "runs", "more"};
  for (size_t i = 0; i < HL_COUNT(entries); i++) {
    sample_pass(&s, "native", 8);
    hl_record_set_text(&s.records.items[i].entry, entries[i]);
  }
  hl_record_set_text(&s.records.items[1].workload, HL_WORKLOAD_MEMORY);
  hl_record_set_text(&s.records.items[2].workload, HL_WORKLOAD_TRAINING);
  s.records.items[2].first_loss = 0.25;
  hl_text text = HL_TEXT_INIT;
  hl_report_table_write(&s.records, false, &text);
  static const char *const parts[] = {
      "mlp:a|b, native, float32, 2 threads, cpu\n# steps: inference\n Batch  images/s",
      "    200\n# steps: memory\n Batch      mode  weights",
      "\n# runs: training\n Batch samples/s",
      "0.2500 ",
      "\n# more: inference\n Batch  images/s   ± %   p50 ms   p95 ms   p99 ms ms/image memory MB ",
      "img/s/MB  steps\n     8     160.0"};
  const char *at = text.data;
  for (size_t i = 0; i < HL_COUNT(parts); i++) {
    const char *found = strstr(at, parts[i]);
    if (!found) fail_msg("'%s' does not follow in:\n%s", parts[i], text.data);
    at = found;
  }
  hl_text_release(&text);
  sample_release(&s);
}

/* Native twice as fast as openvino at 1, by pairs, and not told apart at 8. */
static void make_engines(sample *s) {
  sample_init(s);
  for (int64_t b = 1; b <= 8; b *= 8) sample_pass(s, "native", b);
  for (int64_t b = 1; b <= 8; b *= 8) sample_pass(s, "openvino", b);
  hl_record *slow = &s->records.items[2];
  slow->latency_p50_ms *= 2;
  slow->throughput_ips /= 2;
  slow->throughput_ci_ips = (hl_pair){33, 33.6};
  slow->memory_mb = 8;
  sample_fail(s, "openvino", 16, "MISTRUSTED", "wrong");
  hl_comparison c;
  hl_comparison_init(&c);
  hl_record_set_text(&c.model, "mlp:a|b");
  hl_record_set_text(&c.a_engine, "native");
  hl_record_set_text(&c.a_dtype, "float32");
  hl_record_set_text(&c.a_device, "cpu");
  hl_record_set_text(&c.b_engine, "openvino");
  hl_record_set_text(&c.b_dtype, "float32");
  hl_record_set_text(&c.b_device, "cpu");
  hl_record_set_text(&c.verdict, "slower");
  c.batch_size = 1;
  c.threads = 2;
  c.ratio = 0.5;
  c.ci = (hl_pair){0.49, 0.51};
  c.pairs = 20;
  c.processes = 5;
  assert_int_equal(hl_comparisons_take(&s->comparisons, &c, NULL), HL_OK);
  sample_analyse(s);
}

static void engines_on_a_terminal(void **state) {
  (void)state;
  sample s;
  make_engines(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_engines(&s.engines, false, &text);
  assert_string_equal(
      text.data,
      "\n"
      "mlp:a|b\n"
      "Speed-up\n"
      "  Batch  Engine    over native              over openvino\n"
      "      1  native    1                        2.000 [1.961, 2.041]\n"
      "         openvino  0.500 [0.490, 0.510]     1\n"
      "      8  native    1                        ~1.000 [0.980, 1.020] ?\n"
      "         openvino  ~1.000 [0.980, 1.020] ?  1\n"
      "  above 1 is faster; ~ not paired; ? inconclusive\n"
      "Latency against throughput: no other row is better in both\n"
      "    p50 ms   images/s  memory MB  Batch  Engine\n"
      "     15.00      66.67      12.00      1  native\n"
      "     50.00      160.0      26.00      8  native\n"
      "     50.00      160.0      26.00      8  openvino\n"
      "Verdict\n"
      "  mlp:a|b: native is fastest at batch 1 (2.000x openvino [1.961, 2.041]), native and "
      "openvino cannot\n"
      "    be told apart at batch 8 (inconclusive: openvino ~1.000x native [0.980, 1.020])\n"
      "    least latency: native at batch 1, 15 ms\n"
      "    most throughput: native at batch 8, 160 images/s or openvino at batch 8, 160 images/s\n"
      "    openvino uses least memory at batch 1 (8 MB, next native 12 MB), native and openvino "
      "use least\n"
      "      memory at batch 8 (26 MB)\n"
      "- Not in it: openvino at batch 16 (MISTRUSTED)\n"
      "- ~ is not paired: these rows did not take turns, so what the machine did meanwhile is in "
      "the ratio\n");
  hl_text_release(&text);
  sample_release(&s);
}

static void expect_in_order(const char *text, const char *const *parts, size_t count);

static void engines_in_the_report(void **state) {
  (void)state;
  static const char *const parts[] = {
      "### Verdict\n\n- mlp:a\\|b: native is fastest at batch 1 (2.000x openvino \\[1.961, "
      "2.041\\])",
      "  - Not in it: openvino at batch 16 (MISTRUSTED).\n",
      "## Performance Metrics\n",
      "## Engines Side by Side\n\n### mlp:a\\|b\n",
      "| Batch Size | Engine | over native | over openvino |\n|---:|---|---|---|\n"
      "| 1 | native | 1 | 2.000 \\[1.961, 2.041\\] |\n"
      "| 1 | openvino | 0.500 \\[0.490, 0.510\\] | 1 |\n",
      "| Latency (ms) | Throughput (img/s) | Memory (MB) | Batch Size | Engine |\n"
      "|---:|---:|---:|---:|---|\n| 15.00 | 66.67 | 12.00 | 1 | native |\n",
      "## Recommendations\n",
  };
  sample s;
  make_engines(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_markdown(&s.input, NULL, &text);
  expect_in_order(text.data, parts, HL_COUNT(parts));
  size_t bottlenecks = 0;
  for (const char *at = text.data; (at = strstr(at, "peak FLOP/s and bandwidth")); at++)
    bottlenecks++;
  assert_int_equal(bottlenecks, s.analysis.group_count); /* told once for each group */
  hl_text_release(&text);
  sample_release(&s);
}

/* A type's gain and cost side by side, and colours on a terminal. */
static void types_on_a_terminal(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 1);
  hl_record *small = &s.records.items[1];
  hl_record_set_text(&small->dtype, "bfloat16");
  small->latency_p50_ms /= 2;
  small->throughput_ips *= 2;
  small->throughput_ci_ips = (hl_pair){132, 134.6};
  small->memory_mb = 9;
  small->output_error = 0.004;
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_engines(&s.engines, false, &text);
  assert_non_null(strstr(text.data, "Precision: each type against float32 on the same engine\n"
                                    "  Batch  Engine           Speed-up               Memory  "
                                    "Change MB  Output error  of float32 "
                                    "    Cosine   Top-1\n"
                                    "      1  native bfloat16  ~2.000 [1.960, 2.039]  0.7500     "
                                    "-3.000      0.004000           - "
                                    "         -       -\n"));
  assert_non_null(strstr(text.data,
                         "    p50 ms   images/s  memory MB  Batch  Engine           output "
                         "error\n     7.500      133.3      9.000      1  native bfloat16 "
                         "     0.004000\n"));
  assert_null(strchr(text.data, '\033'));
  hl_text_clear(&text);
  hl_report_engines(&s.engines, true, &text);
  assert_non_null(strstr(text.data, "\033[32m~2.000 [1.960, 2.039]"));
  hl_text_release(&text);
  sample_release(&s);
}

/* The column of speed-ups is as wide as the longest of them. */
static void types_with_wide_speedups(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 1);
  hl_record *slow = &s.records.items[1];
  hl_record_set_text(&slow->dtype, "int8");
  slow->latency_p50_ms *= 20;
  slow->throughput_ips /= 20;
  slow->throughput_ci_ips.low /= 20;
  slow->throughput_ci_ips.high /= 20;
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_engines(&s.engines, false, &text);
  const char *table = strstr(text.data, "Precision:");
  assert_non_null(table);
  const char *header = strchr(table, '\n') + 1, *row = strchr(header, '\n') + 1;
  const char *title = strstr(header, "  Memory"), *ends = strstr(row, "]");
  assert_true(title < row && ends - row > 45); /* wider than the column of usual ones */
  assert_int_equal(title - header, ends + 1 - row);
  assert_int_equal(row - header, strchr(row, '\n') + 1 - row);
  hl_text_release(&text);
  sample_release(&s);
}

/* A name from a file cannot move the cursor or end a line. */
static void table_is_safe_on_a_terminal(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_fail(&s, "native", 8, "CRASHED", "\033[2J\r\nboom");
  char *model = NULL;
  hl_text name = HL_TEXT_INIT;
  for (int i = 0; i < 200; i++) hl_text_append(&name, "é\n");
  model = hl_text_take(&name);
  hl_record_set_text(&s.records.items[0].model, model);
  hl_free_pointer(&model);
  hl_text text = HL_TEXT_INIT;
  hl_report_table_write(&s.records, false, &text);
  size_t lines = 0;
  for (const char *c = text.data; *c; c++) {
    lines += *c == '\n';
    assert_true((unsigned char)*c >= 0x20 || *c == '\n');
  }
  assert_int_equal(lines, 3);
  hl_text_release(&text);
  sample_release(&s);
}

static void advice_names_the_batch(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  for (int64_t b = 1; b <= 128; b *= 2) sample_pass(&s, "native", b);
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_advice(&s.analysis, false, &text);
  static const char first[] =
      "Batch size 64: 193.9 images/s [192.0, 195.9], 330.0 ms a step, 5.156 ms an image, 138.0 MB; "
      "2.909 times batch 1.\n";
  assert_int_equal(strncmp(text.data, first, sizeof first - 1), 0);
  assert_non_null(strstr(text.data, "T(b) = 10"));
  assert_non_null(strstr(text.data, "\n- "));
  hl_text_release(&text);
  sample_release(&s);
}

static void advice_without_a_passed_row(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_fail(&s, "native", 8, "CRASHED", "boom");
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_advice(&s.analysis, false, &text);
  assert_non_null(strstr(text.data, "No batch size can be recommended"));
  hl_text_release(&text);
  sample_release(&s);
}

static void expect_in_order(const char *text, const char *const *parts, size_t count) {
  const char *at = text;
  for (size_t i = 0; i < count; i++) {
    const char *found = strstr(at, parts[i]);
    if (!found) fail_msg("no '%s' at its place in:\n%s", parts[i], text);
    at = found + strlen(parts[i]);
  }
}

/* Of a sample that is complete, and is released. */
static void expect_report(sample *s, const char *const *parts, size_t count) {
  hl_text text = HL_TEXT_INIT;
  sample_analyse(s);
  hl_report_markdown(&s->input, NULL, &text);
  expect_in_order(text.data, parts, count);
  hl_text_release(&text);
  sample_release(s);
}

/* On the terminal as in the report, also where a larger size that ties measured a little faster. */
static void speedups_are_of_the_optimal_size(void **state) {
  (void)state;
  static const char *const parts[] = {"- **Speedup vs Batch=1**: 2.909 times at batch 64; 2.954 at "
                                      "batch 128, the fastest measured\n",
                                      "- **Speedup vs Batch=32**: 1.030 times at batch 64; 1.046 "
                                      "at batch 128, the fastest measured\n"};
  sample s;
  sample_init(&s);
  for (int64_t b = 1; b <= 128; b *= 2) sample_pass(&s, "native", b);
  expect_report(&s, parts, HL_COUNT(parts));
}

static void speedups_without_batch_1_name_the_smallest(void **state) {
  (void)state;
  static const char *const parts[] = {
      "- **Speedup vs Batch=1**: — (batch 1 has no row; 1.778 times batch 2, the smallest",
      "- **Speedup vs Batch=32**: —\n"};
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 2);
  sample_pass(&s, "native", 16);
  expect_report(&s, parts, HL_COUNT(parts));
}

static void report_has_its_sections(void **state) {
  (void)state;
  static const char *const parts[] = {
      "# mlp:a\\|b Inference Throughput Benchmark Report\n",
      "## Executive Summary\n",
      "- **Optimal Batch Size**: 32\n",
      "- **Maximum Throughput**: 188.2 images/second\n",
      "- **Memory at Optimal**: 74.00 MB\n",
      "- **Speedup vs Batch=1**: 2.824 times\n",
      "## Configuration\n",
      "- **Model**: mlp:a\\|b\n",
      "- **Dataset**: —\n",
      "- **Hardware**: cpu\n",
      "## Performance Metrics\n",
      "![Performance against batch size](performance_analysis.png)",
      "| Batch Size | Throughput (img/s) |",
      "\n| 1 | 66.67 | 1.0 | 12.00 | 15.00 |",
      "\n| **32** | 188.2 |",
      "## Recommendations\n",
      "- Speed: batch 32",
      "## Bottleneck Analysis\n",
      "**unknown**: ",
      "## Failed Rows\n",
      "| mlp:a\\|b | native | 64 | OUT_OF_MEMORY | too \\| big | `hotlap sweep 'mlp:a\\|b'` |\n",
      "## Machine and Versions\n",
      "- **CPU**: A \"CPU\" \\| 'x'\n",
      "- **hotlap**: 1.2.3\n",
      "## Method\n",
      "- **Percentiles**: linear\n",
      "## What the Numbers Mean\n",
  };
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 32);
  sample_fail(&s, "native", 64, "OUT_OF_MEMORY", "too | big");
  sample_analyse(&s);
  hl_text text = HL_TEXT_INIT;
  hl_report_markdown(&s.input, "performance_analysis.png", &text);
  expect_in_order(text.data, parts, HL_COUNT(parts));
  hl_text_clear(&text);
  hl_report_markdown(&s.input, NULL, &text);
  assert_null(strstr(text.data, "!["));
  hl_text_release(&text);
  sample_release(&s);
}

static void report_of_nothing(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    sample s;
    sample_init(&s);
    if (kind == 1) sample_fail(&s, "native", 8, "CRASHED", NULL);
    if (kind == 2) sample_pass(&s, "native", 8);
    if (kind == 2) sample_pass(&s, "other", 8);
    sample_analyse(&s);
    hl_text text = HL_TEXT_INIT;
    hl_report_markdown(&s.input, NULL, &text);
    assert_non_null(strstr(text.data, "## Bottleneck Analysis"));
    assert_null(strstr(text.data, "nan"));
    assert_null(strstr(text.data, "(null)"));
    if (kind == 2) assert_non_null(strstr(text.data, "### mlp:a\\|b, other"));
    hl_text_release(&text);
    sample_release(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_have_four_digits),
      cmocka_unit_test(table_of_one_group),
      cmocka_unit_test(table_shows_what_differs),
      cmocka_unit_test(table_is_safe_on_a_terminal),
      cmocka_unit_test(table_has_a_heading_for_each_model),
      cmocka_unit_test(table_of_several_workloads),
      cmocka_unit_test(engines_on_a_terminal),
      cmocka_unit_test(engines_in_the_report),
      cmocka_unit_test(types_on_a_terminal),
      cmocka_unit_test(types_with_wide_speedups),
      cmocka_unit_test(advice_names_the_batch),
      cmocka_unit_test(advice_without_a_passed_row),
      cmocka_unit_test(report_has_its_sections),
      cmocka_unit_test(speedups_are_of_the_optimal_size),
      cmocka_unit_test(speedups_without_batch_1_name_the_smallest),
      cmocka_unit_test(report_of_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
