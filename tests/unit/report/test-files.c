/* Files of a report: names, plots of the right size, what happens where gnuplot or a disk fails. */
#include "base/file.h"
#include "report/gnuplot.h"
#include "report/load-plot.h"
#include "report/plot.h"
#include "sample-records.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char directory[64];

static int setup(void **state) {
  (void)state;
  strcpy(directory, "/tmp/hotlap-report-XXXXXX");
  return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

static bool have_gnuplot(void) {
  hl_text script = HL_TEXT_INIT, picture = HL_TEXT_INIT;
  hl_text_append(&script, "set terminal pngcairo size 10,10\nplot x\n");
  hl_status status = hl_gnuplot_run("gnuplot", &script, 20000, &picture, NULL);
  hl_text_release(&script);
  hl_text_release(&picture);
  return status == HL_OK;
}

static uint32_t u32(const char *at) {
  const unsigned char *b = (const unsigned char *)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* A little XML reader: tags nest, attributes are quoted, and there is one root. */
static void expect_xml(const char *text) {
  char stack[32][32];
  int depth = 0, roots = 0;
  for (const char *at = strchr(text, '<'); at; at = strchr(at, '<')) {
    const char *end = at[1] == '!' && at[2] == '-' ? strstr(at, "-->") : strchr(at, '>');
    if (at[1] == '!' && strncmp(at, "<![CDATA[", 9) == 0) end = strstr(at, "]]>");
    assert_non_null(end);
    size_t length = strcspn(at + 1 + (at[1] == '/'), " \t\r\n/>");
    const char *name = at + 1 + (at[1] == '/');
    if (at[1] == '/') {
      assert_true(depth > 0);
      depth--;
      assert_true(strlen(stack[depth]) == length && strncmp(stack[depth], name, length) == 0);
    } else if (at[1] != '!' && at[1] != '?' && end[-1] != '/') {
      assert_true(depth < 32 && length < 32);
      roots += depth == 0;
      snprintf(stack[depth++], 32, "%.*s", (int)length, name);
    }
    at = end;
  }
  assert_int_equal(depth, 0);
  assert_int_equal(roots, 1);
}

static void make_sample(sample *s) {
  sample_init(s);
  for (int64_t b = 1; b <= 64; b *= 2) sample_pass(s, "it's <b> & $x `date`", b);
  sample_pass(s, "onnx_runtime", 24);
  sample_fail(s, "onnx_runtime", 128, "OUT_OF_MEMORY", "x");
  hl_record_set_text(&s->info.cpu, "C'P\"U\n<x> & {/Bold y}");
  sample_analyse(s);
}

static void plots_have_their_size(void **state) {
  (void)state;
  if (!have_gnuplot()) skip();
  sample s;
  make_sample(&s);
  hl_text png = HL_TEXT_INIT, svg = HL_TEXT_INIT;
  hl_error error = {0};
  if (hl_plot_draw(&s.input, HL_PLOT_PNG, NULL, &png, &error) != HL_OK) fail_msg("%s", error.msg);
  assert_memory_equal(png.data, "\x89PNG\r\n\x1a\n", 8);
  assert_int_equal(u32(png.data + 16), 4500);
  assert_int_equal(u32(png.data + 20), 3000);
  assert_memory_equal(png.data + 37, "pHYs", 4);
  assert_int_equal(u32(png.data + 41), 11811); /* dots a metre: 300 DPI */
  assert_memory_equal(png.data + png.length - 8, "IEND", 4);
  if (hl_plot_draw(&s.input, HL_PLOT_SVG, NULL, &svg, &error) != HL_OK) fail_msg("%s", error.msg);

  expect_xml(svg.data);
  assert_non_null(strstr(svg.data, "Latency against throughput")); /* two groups */
  assert_null(strstr(svg.data, "Optimal operating region"));
  assert_non_null(strstr(svg.data, "OUT_OF_MEMORY"));
  assert_null(strstr(svg.data, ":Bold")); /* a font that no viewer has */
  assert_non_null(strstr(svg.data, "it's &lt;b> &amp; $x `date`"));
  hl_text_release(&png);
  hl_text_release(&svg);
  sample_release(&s);
}

/* A curve for each engine, and a ring where no other is better in both. */
static void plots_of_several_engines(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  for (int64_t b = 1; b <= 8; b *= 8) sample_pass(&s, "native", b);
  for (int64_t b = 1; b <= 8; b *= 8) sample_pass(&s, "openvino", b);
  for (size_t i = 2; i < 4; i++) { /* twice as slow */
    s.records.items[i].latency_p50_ms *= 2;
    s.records.items[i].throughput_ips /= 2;
    s.records.items[i].throughput_ci_ips.low /= 2;
    s.records.items[i].throughput_ci_ips.high /= 2;
  }
  sample_analyse(&s);
  hl_text script = HL_TEXT_INIT;
  hl_plot_script(&s.input, HL_PLOT_SVG, &script);
  assert_non_null(strstr(script.data, "set label 20 \"native\" at screen"));
  assert_non_null(strstr(script.data, "set label 21 \"openvino\" at screen"));
  assert_non_null(strstr(script.data, "$front << EOD\n15 66.6666667\n50 160\nNaN NaN\nEOD\n"));
  assert_non_null(strstr(script.data, "$s0 using 9:2 with linespoints"));
  assert_non_null(strstr(script.data, "$s1 using 1:9 with linespoints"));
  hl_text_release(&script);
  sample_release(&s);
}

static void add_load(sample *s, int64_t batch, double qps, const char *validity) {
  sample_pass(s, "native", batch);
  hl_record *r = &s->records.items[s->records.count - 1];
  hl_record_set_text(&r->workload, HL_WORKLOAD_LOAD);
  hl_record_set_text(&r->scenario, "Server");
  hl_record_set_text(&r->validity, validity);
  r->target_qps = qps;
  r->target_percentile = 99;
  r->target_latency_ms = 50;
  r->latency_p50_ms = 2;
  r->latency_p90_ms = 4;
  r->latency_p99_ms = 8;
}

static void add_rate(hl_record *r, double qps, double p99_ms, bool held) {
  hl_rate rate;
  hl_rate_init(&rate);
  rate.qps = qps;
  rate.latency_p50_ms = p99_ms / 4;
  rate.latency_p90_ms = p99_ms / 2;
  rate.latency_p99_ms = p99_ms;
  rate.held = held;
  assert_int_equal(hl_rates_take(&r->rates, &rate, NULL), HL_OK);
}

/* Load tests: every rate with what is said of it, the target and the largest rate. */
static void plots_of_load(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  add_load(&s, 8, 100, "VALID");
  hl_record *r = &s.records.items[0];
  r->max_qps = 100;
  add_rate(r, 50, 4, true);
  add_rate(r, 200, 400, false);
  sample_analyse(&s);
  hl_text script = HL_TEXT_INIT;
  hl_error error = {0};
  assert_int_equal(hl_load_plot_script(&s.input, &script, &error), HL_OK);
  assert_non_null(strstr(script.data, "$r0 << EOD\n50 1 2 4 0\n200 100 200 400 1\n100 2 4 8 2\n"));
  assert_non_null(strstr(script.data, "title \"p50\""));
  assert_non_null(strstr(script.data, "'target of p99: 50.00 ms'"));
  assert_non_null(strstr(script.data, "'largest rate: 100.0/s'"));
  assert_non_null(strstr(script.data, "title 'VALID'"));
  assert_null(strstr(script.data, "title 'INVALID'"));
  if (have_gnuplot()) {
    hl_text svg = HL_TEXT_INIT;
    if (hl_plot_draw(&s.input, HL_PLOT_SVG, NULL, &svg, &error) != HL_OK) fail_msg("%s", error.msg);
    expect_xml(svg.data);
    assert_non_null(strstr(svg.data, "Rate of arrivals"));
    assert_non_null(strstr(svg.data, "tried, target not held"));
    hl_text_release(&svg);
  }
  sample_release(&s);
  /* Of two servers the judged percentile of each. */
  sample_init(&s);
  add_load(&s, 8, 100, "QUICK");
  add_load(&s, 16, 100, "INVALID");
  sample_analyse(&s);
  hl_text_clear(&script);
  assert_int_equal(hl_load_plot_script(&s.input, &script, &error), HL_OK);
  assert_non_null(strstr(script.data, "batches of up to 16: p99\""));
  assert_null(strstr(script.data, ": p50\""));
  sample_release(&s);
  /* Nothing with a rate: no picture, and the reason. */
  sample_init(&s);
  add_load(&s, 8, (double)NAN, "VALID");
  sample_analyse(&s);
  hl_text_clear(&script);
  assert_int_equal(hl_load_plot_script(&s.input, &script, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "server scenario"));
  sample_release(&s);
  hl_text_release(&script);
}

/* Of more engines than are drawn, the best one is, and what failed has the colour of no curve. */
static void plots_of_many_engines(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  sample s;
  sample_init(&s);
  for (size_t i = 0; i < HL_COUNT(names); i++) sample_pass(&s, names[i], 1);
  hl_record *best = &s.records.items[HL_COUNT(names) - 1];
  best->latency_p50_ms /= 2;
  best->throughput_ips *= 2;
  best->throughput_ci_ips.low *= 2;
  best->throughput_ci_ips.high *= 2;
  sample_fail(&s, "i", 4, "UNIMPLEMENTED", "no such type");
  sample_analyse(&s);
  hl_text script = HL_TEXT_INIT;
  hl_plot_script(&s.input, HL_PLOT_SVG, &script);
  assert_non_null(strstr(script.data, "6 of 9 groups drawn"));
  assert_non_null(strstr(script.data, "set label 20 \"a\" at screen"));
  assert_non_null(strstr(script.data, "set label 24 \"e\" at screen"));
  assert_non_null(strstr(script.data, "set label 25 \"h\" at screen"));
  assert_non_null(strstr(script.data, "$front << EOD\n7.5 133.333333\nNaN NaN\nEOD\n"));
  assert_non_null(strstr(script.data, "\"UNIMPLEMENTED\""));
  assert_non_null(strstr(script.data, "tc rgb '#202020' front"));
  hl_text_release(&script);
  sample_release(&s);
}

/* Green lies behind sizes with 95 % of the best only, not behind what is between them. */
static void region_has_no_slow_size(void **state) {
  (void)state;
  static const double speeds[] = {50, 97, 90, 100};
  sample s;
  sample_init(&s);
  for (size_t i = 0; i < HL_COUNT(speeds); i++) {
    sample_pass(&s, "native", (int64_t)1 << i);
    s.records.items[i].throughput_ips = speeds[i];
  }
  sample_analyse(&s);
  hl_text script = HL_TEXT_INIT;
  hl_plot_script(&s.input, HL_PLOT_SVG, &script);
  assert_non_null(
      strstr(script.data, "object 1 rectangle from first 0.75, first 0 to first 1.25,"));
  assert_non_null(
      strstr(script.data, "object 2 rectangle from first 2.75, first 0 to first 3.25,"));
  assert_null(strstr(script.data, "object 3 rectangle"));
  assert_non_null(strstr(script.data, "unset object 2"));
  hl_text_release(&script);
  sample_release(&s);
}

/* One row, and rows of which nothing but the batch size and the throughput is known. */
static void plots_of_little(void **state) {
  (void)state;
  if (!have_gnuplot()) skip();
  for (int kind = 0; kind < 3; kind++) {
    sample s;
    sample_init(&s);
    sample_pass(&s, "native", 8);
    if (kind == 2) sample_pass(&s, "native", 100000);
    for (size_t i = 0; i < s.records.count && kind; i++) {
      hl_record bare, *r = &s.records.items[i];
      hl_record_init(&bare);
      bare.batch_size = r->batch_size;
      bare.throughput_ips = r->throughput_ips;
      bare.latency_mean_ms = r->latency_mean_ms;
      hl_record_set_text(&bare.outcome, "PASSED");
      hl_record_release(r);
      *r = bare;
    }
    sample_analyse(&s);
    hl_text png = HL_TEXT_INIT;
    hl_error error = {0};
    if (hl_plot_draw(&s.input, HL_PLOT_PNG, NULL, &png, &error) != HL_OK)
      fail_msg("%d: %s", kind, error.msg);
    hl_text_release(&png);
    sample_release(&s);
  }
}

static void gnuplot_can_fail(void **state) {
  (void)state;
  sample s;
  make_sample(&s);
  hl_text picture = HL_TEXT_INIT, script = HL_TEXT_INIT;
  hl_error error = {0};
  assert_int_equal(hl_plot_draw(&s.input, HL_PLOT_PNG, "/nonexistent/gnuplot", &picture, &error),
                   HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "Install it"));
  assert_int_equal(hl_gnuplot_run("false", &script, 5000, &picture, &error), HL_BAD_DATA);
  char slow[128];
  snprintf(slow, sizeof slow, "%s/slow", directory);
  static const char sleeps[] = "#!/bin/sh\nexec sleep 60\n";
  assert_int_equal(hl_file_write(slow, sleeps, sizeof sleeps - 1, NULL), HL_OK);
  assert_int_equal(chmod(slow, 0700), 0);
  assert_int_equal(hl_gnuplot_run(slow, &script, 100, &picture, &error), HL_TIMED_OUT);
  if (have_gnuplot()) {
    hl_text_append(&script, "set nonsense\n");
    assert_int_equal(hl_gnuplot_run("gnuplot", &script, 20000, &picture, &error), HL_BAD_DATA);
    assert_non_null(strstr(error.msg, "unrecognized option"));
  }
  assert_int_equal(picture.length, 0);
  hl_text_release(&picture);
  hl_text_release(&script);
  sample_release(&s);
  sample_init(&s);
  sample_fail(&s, "native", 8, "CRASHED", NULL);
  sample_analyse(&s);
  assert_int_equal(hl_plot_draw(&s.input, HL_PLOT_PNG, NULL, &picture, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "no row passed"));
  sample_release(&s);
}

static void files_have_their_names(void **state) {
  (void)state;
  sample s;
  make_sample(&s);
  char place[128];
  snprintf(place, sizeof place, "%s/a/b", directory);
  hl_text written = HL_TEXT_INIT;
  hl_error error = {0};
  hl_status status = hl_report_write(
      &s.input, place, HL_REPORT_JSON | HL_REPORT_CSV | HL_REPORT_MARKDOWN, &written, &error);
  if (status != HL_OK) fail_msg("%s", error.msg);
  hl_text expected = HL_TEXT_INIT;
  hl_text_format(&expected, "%s/benchmark_results.json\n%s/benchmark_results.csv\n%s/%s\n", place,
                 place, place, "BENCHMARK_REPORT.md");
  assert_string_equal(written.data, expected.data);
  hl_text_clear(&written);
  assert_int_equal(
      hl_report_write(&s.input, place, HL_REPORT_CSV | HL_REPORT_CSV_SUITE, &written, NULL), HL_OK);
  assert_non_null(strstr(written.data, "/benchmark_results_20261127_120000.csv\n"));
  hl_text_release(&expected);
  hl_text_release(&written);
  sample_release(&s);
}

/* One file that cannot be written does not cost the others. */
static void what_can_be_written_is(void **state) {
  (void)state;
  sample s;
  make_sample(&s);
  char path[128];
  hl_text written = HL_TEXT_INIT;
  hl_error error = {0};
  snprintf(path, sizeof path, "%s/benchmark_results.json/x", directory);
  assert_int_equal(hl_directory_make(path, NULL), HL_OK);
  assert_int_equal(
      hl_report_write(&s.input, directory, HL_REPORT_JSON | HL_REPORT_CSV, &written, &error),
      HL_IO);
  assert_non_null(strstr(error.msg, "benchmark_results.json"));
  assert_non_null(strstr(written.data, "benchmark_results.csv"));
  snprintf(path, sizeof path, "%s/benchmark_results.csv", directory);
  assert_int_equal(hl_report_write(&s.input, path, HL_REPORT_JSON, NULL, &error), HL_IO);
  hl_text_release(&written);
  sample_release(&s);
}

static void formats_are_words(void **state) {
  (void)state;
  static const struct {
    const char *list;
    hl_status status;
    unsigned formats;
  } cases[] = {{"json", HL_OK, HL_REPORT_JSON},
               {"json,csv", HL_OK, HL_REPORT_JSON | HL_REPORT_CSV},
               {" md , json ", HL_OK, HL_REPORT_JSON | HL_REPORT_MARKDOWN},
               {"png", HL_OK, HL_REPORT_PLOT},
               {"", HL_INVALID_ARGUMENT, 0},
               {" ,", HL_INVALID_ARGUMENT, 0},
               {"xml", HL_INVALID_ARGUMENT, 0},
               {"js", HL_INVALID_ARGUMENT, 0},
               {"json;csv", HL_INVALID_ARGUMENT, 0}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    unsigned formats = 0;
    assert_int_equal(hl_report_formats(cases[i].list, &formats, NULL), cases[i].status);
    assert_int_equal(formats, cases[i].formats);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plots_have_their_size),
      cmocka_unit_test(region_has_no_slow_size),
      cmocka_unit_test(plots_of_several_engines),
      cmocka_unit_test(plots_of_load),
      cmocka_unit_test(plots_of_many_engines),
      cmocka_unit_test(plots_of_little),
      cmocka_unit_test_setup_teardown(gnuplot_can_fail, setup, teardown),
      cmocka_unit_test_setup_teardown(files_have_their_names, setup, teardown),
      cmocka_unit_test_setup_teardown(what_can_be_written_is, setup, teardown),
      cmocka_unit_test(formats_are_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
