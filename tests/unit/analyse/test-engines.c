/* Several engines on one model: matrices and fronts worked out by hand, or by brute force here. */
#include "analyse/engines.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct set_up {
  hl_records records;
  hl_comparisons comparisons;
  hl_analysis analysis;
  hl_engines engines;
} set_up;

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* A row of `ms` a step, with intervals of +-1 % of throughput and latency. */
static hl_record *add_typed(set_up *s, const char *engine, const char *dtype, int64_t batch,
                            double ms, double memory_mb, const char *outcome) {
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.workload, "inference");
  hl_record_set_text(&r.model, "resnet50");
  hl_record_set_text(&r.engine, engine);
  hl_record_set_text(&r.dtype, dtype);
  hl_record_set_text(&r.device, "cpu");
  hl_record_set_text(&r.outcome, outcome);
  r.threads = 2;
  r.batch_size = batch;
  r.latency_p50_ms = r.latency_mean_ms = ms;
  r.latency_p50_ci_ms = (hl_pair){0.99 * ms, 1.01 * ms};
  r.throughput_ips = 1000 * (double)batch / ms;
  r.throughput_ci_ips = (hl_pair){0.99 * r.throughput_ips, 1.01 * r.throughput_ips};
  r.memory_mb = memory_mb;
  assert_int_equal(hl_records_take(&s->records, &r, NULL), HL_OK);
  return &s->records.items[s->records.count - 1];
}

static hl_record *add(set_up *s, const char *engine, int64_t batch, double ms, double memory_mb) {
  return add_typed(s, engine, "float32", batch, ms, memory_mb, "PASSED");
}

static hl_comparison *pair_typed(set_up *s, const char *a, const char *a_dtype, const char *b,
                                 const char *b_dtype, int64_t batch, double ratio, double half) {
  hl_comparison c;
  hl_comparison_init(&c);
  hl_record_set_text(&c.model, "resnet50");
  hl_record_set_text(&c.a_engine, a);
  hl_record_set_text(&c.b_engine, b);
  hl_record_set_text(&c.a_dtype, a_dtype);
  hl_record_set_text(&c.b_dtype, b_dtype);
  hl_record_set_text(&c.a_device, "cpu");
  hl_record_set_text(&c.b_device, "cpu");
  c.batch_size = batch;
  c.threads = 2;
  c.ratio = ratio;
  c.ci = (hl_pair){ratio - half, ratio + half};
  c.pairs = 20;
  c.processes = 1;
  c.agree = 1;
  const char *verdict = c.ci.low >= 0.99 && c.ci.high <= 1.01 ? "equivalent"
                        : c.ci.low > 1                        ? "faster"
                        : c.ci.high < 1                       ? "slower"
                                                              : "inconclusive";
  hl_record_set_text(&c.verdict, verdict);
  assert_int_equal(hl_comparisons_take(&s->comparisons, &c, NULL), HL_OK);
  return &s->comparisons.items[s->comparisons.count - 1];
}

static hl_comparison *pair(set_up *s, const char *a, const char *b, int64_t batch, double ratio,
                           double half) {
  return pair_typed(s, a, "float32", b, "float32", batch, ratio, half);
}

static const hl_engine_model *analyse(set_up *s) {
  assert_int_equal(hl_analysis_make(&s->records, NULL, &s->analysis, NULL), HL_OK);
  assert_int_equal(hl_engines_make(&s->analysis, &s->records, &s->comparisons, &s->engines, NULL),
                   HL_OK);
  return s->engines.count ? &s->engines.models[0] : NULL;
}

static void tear_down(set_up *s) {
  hl_engines_release(&s->engines);
  hl_analysis_release(&s->analysis);
  hl_comparisons_release(&s->comparisons);
  hl_records_release(&s->records);
}

static void expect(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("no '%s' in: %s", part, text);
}

static void expect_remark(const hl_engine_model *m, const char *part) {
  for (size_t i = 0; i < m->remark_count; i++)
    if (strstr(m->remarks[i], part)) return;
  fail_msg("no remark has '%s'; the first is: %s", part, m->remark_count ? m->remarks[0] : "none");
}

static void paired_and_unpaired_ratios(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 10, 100);
  add(&s, "native", 8, 40, 150);
  add(&s, "openvino", 1, 12, 90);
  add(&s, "openvino", 8, 50, 95);
  pair(&s, "native", "openvino", 1, 0.8, 0.02);
  const hl_engine_model *m = analyse(&s);
  assert_non_null(m);
  assert_int_equal(s.engines.count, 1);
  assert_string_equal(m->members[0].name, "native");
  assert_int_equal(m->baseline, 0);
  assert_int_equal(m->batch_count, 2);
  /* The pairs say 0.8, not the rows' 10 / 12. */
  const hl_engine_ratio *r = hl_engines_ratio(m, 0, 0, 1);
  assert_true(r->paired && close_to(r->ratio, 0.8) && close_to(r->ci.low, 0.78));
  assert_int_equal(r->verdict, HL_VERDICT_SLOWER);
  assert_int_equal(r->pairs, 20);
  r = hl_engines_ratio(m, 0, 1, 0);
  assert_true(r->paired && close_to(r->ratio, 1.25) && close_to(r->ci.low, 1 / 0.82));
  assert_true(close_to(r->ci.high, 1 / 0.78));
  assert_int_equal(r->verdict, HL_VERDICT_FASTER);
  /* 160/s +- 1 % against 200/s +- 1 %. */
  r = hl_engines_ratio(m, 1, 0, 1);
  assert_false(r->paired);
  assert_true(close_to(r->ratio, 0.8) && close_to(r->ci.low, 0.8 * 0.99 / 1.01));
  assert_true(close_to(r->ci.high, 0.8 * 1.01 / 0.99));
  assert_int_equal(r->verdict, HL_VERDICT_SLOWER);
  assert_int_equal(r->pairs, HL_INT_NULL);
  assert_true(isnan(hl_engines_ratio(m, 0, 1, 1)->ratio));
  hl_text text = HL_TEXT_INIT;
  hl_engines_ratio_text(hl_engines_ratio(m, 0, 0, 1), &text);
  hl_text_char(&text, '|');
  hl_engines_ratio_text(hl_engines_ratio(m, 1, 0, 1), &text);
  assert_string_equal(text.data, "0.800 [0.780, 0.820]|~0.800 [0.784, 0.816]");
  hl_text_release(&text);
  expect(m->verdict, "resnet50: native is fastest at every batch size (1.250x openvino [1.220, "
                     "1.282] at batch 1, ~1.250x openvino [1.225, 1.275] at batch 8)");
  expect(m->verdict, "; openvino uses least memory at every batch size (90 MB at batch 1, next "
                     "native 100 MB)");
  expect_remark(m, "~ is not paired");
  expect_remark(m, "single process");
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paired_and_unpaired_ratios),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
