/* Several engines on one model: matrices and fronts worked out by hand, or by brute force here. */
#include "analyse/engines.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

/* Without intervals the front is what it is in a textbook; brute force over 200 random sets. */
static void front_by_brute_force(void **state) {
  (void)state;
  uint64_t seed = 12345;
  for (int round = 0; round < 200; round++) {
    set_up s = {0};
    static const char *const engines[] = {"a", "b", "c"};
    for (size_t e = 0; e < 3; e++)
      for (int64_t b = 1; b <= 16; b *= 4) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        hl_record *r = add(&s, engines[e], b, (double)(1 + (seed >> 33) % 12), 100);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        r->throughput_ips = (double)(1 + (seed >> 33) % 12);
        r->latency_p50_ci_ms = r->throughput_ci_ips = (hl_pair){(double)NAN, (double)NAN};
      }
    const hl_engine_model *m = analyse(&s);
    assert_int_equal(m->point_count, 9);
    size_t on = 0;
    for (size_t i = 0; i < 9; i++) {
      const hl_engine_point *p = &m->points[i];
      bool beaten = false;
      for (size_t j = 0; j < s.records.count; j++) {
        const hl_record *q = &s.records.items[j];
        beaten |= q->latency_p50_ms <= p->latency_ms && q->throughput_ips >= p->throughput_ips &&
                  (q->latency_p50_ms < p->latency_ms || q->throughput_ips > p->throughput_ips);
      }
      if (p->on_front == beaten)
        fail_msg("round %d: %s at batch %d, %g ms, %g/s", round, m->members[p->member].name,
                 (int)p->batch_size, p->latency_ms, p->throughput_ips);
      if (i) assert_true(m->points[i - 1].latency_ms <= p->latency_ms);
      on += p->on_front;
    }
    assert_true(on >= 1);
    tear_down(&s);
  }
}

static bool is_on_front(const hl_engine_model *m, const char *name, int64_t batch) {
  for (size_t i = 0; i < m->point_count; i++)
    if (strcmp(m->members[m->points[i].member].name, name) == 0 && m->points[i].batch_size == batch)
      return m->points[i].on_front;
  fail_msg("no point %s, %d", name, (int)batch);
  return false;
}

/* Intervals that meet are ties, and pairs say more than intervals. */
static void front_with_intervals(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 10, 100);       /* 100/s */
  add(&s, "native", 8, 40, 100);       /* 200/s */
  add(&s, "native", 16, 79.6, 100);    /* 201/s: not surely more, surely later */
  add(&s, "openvino", 1, 10.15, 100);  /* ties with native's */
  add(&s, "openvino", 8, 40.4, 100);   /* would tie, but the pairs tell */
  add(&s, "onnxruntime", 8, 44, 100);  /* surely worse */
  add(&s, "onnxruntime", 32, 128, 90); /* 250/s */
  pair(&s, "native", "openvino", 8, 0.985, 0.005);
  const hl_engine_model *m = analyse(&s);
  assert_true(is_on_front(m, "native", 1) && is_on_front(m, "openvino", 1));
  assert_true(is_on_front(m, "native", 8) && !is_on_front(m, "openvino", 8));
  assert_false(is_on_front(m, "native", 16));
  assert_false(is_on_front(m, "onnxruntime", 8));
  assert_true(is_on_front(m, "onnxruntime", 32));
  assert_int_equal(m->best_latency_count, 2);
  assert_string_equal(m->members[m->best_latency[0]].name, "native");
  assert_int_equal(m->best_throughput_count, 1);
  assert_string_equal(m->members[m->best_throughput[0]].name, "onnxruntime");
  expect(m->verdict, "native and openvino cannot be told apart at batch 1 (inconclusive: openvino "
                     "~0.985x native [0.966, 1.005]), native is fastest at batch 8 (1.015x "
                     "openvino [1.010, 1.020])");
  expect(m->verdict, "least latency: native at batch 1, 10 ms or openvino at batch 1, 10.15 ms");
  expect(m->verdict, "most throughput: onnxruntime at batch 32, 250 images/s");
  tear_down(&s);
}

/* Verdicts of pairs in words; a ring of them has no winner and leaves no empty front. */
static void verdicts(void **state) {
  (void)state;
  set_up s = {0};
  for (int64_t b = 1; b <= 8; b *= 2) {
    add(&s, "native", b, 10 * (double)b, 100);
    add(&s, "openvino", b, 10 * (double)b, 100.5);
  }
  for (int64_t b = 1; b <= 8; b *= 2) pair(&s, "openvino", "native", b, 1.002, 0.004);
  const hl_engine_model *m = analyse(&s);
  expect(m->verdict, "native and openvino are equally fast at every batch size (equivalent within "
                     "1 %: openvino 0.998x native [0.994, 1.002] at batch 1, ");
  expect(m->verdict,
         "native and openvino use least memory at every batch size (100 MB at batch 1)");
  tear_down(&s);

  s = (set_up){0};
  for (int64_t b = 1; b <= 8; b *= 2) {
    add(&s, "native", b, 10, 100);
    add(&s, "openvino", b, 20, 100);
    pair(&s, "openvino", "native", b, 1 + 0.1 * (double)b, 0.02);
  }
  m = analyse(&s);
  expect(m->verdict, "native is fastest at every batch size (from 1.100x openvino [1.080, 1.120] "
                     "at batch 1 to 1.800x openvino [1.780, 1.820] at batch 8)");
  tear_down(&s);

  s = (set_up){0};
  static const char *const ring[] = {"a", "b", "c"};
  for (size_t i = 0; i < 3; i++) add(&s, ring[i], 4, 10, 100);
  for (size_t i = 0; i < 3; i++) pair(&s, ring[i], ring[(i + 1) % 3], 4, 1.5, 0.1);
  m = analyse(&s);
  expect(m->verdict, "a, b and c cannot be told apart at batch 4 (inconclusive)");
  size_t on = 0;
  for (size_t i = 0; i < m->point_count; i++) on += m->points[i].on_front;
  assert_true(on >= 1);
  tear_down(&s);
}

static void smaller_types(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 10, 100)->output_error = 2e-7;
  add(&s, "openvino", 1, 12, 120)->output_error = 3e-7;
  add_typed(&s, "native", "bfloat16", 1, 5, 60, "PASSED")->output_error = 0.004;
  add_typed(&s, "openvino", "int8", 1, 7, 50, "PASSED");
  hl_comparison *c = pair_typed(&s, "native", "float32", "native", "bfloat16", 1, 2, 0.05);
  c->cosine = 0.99998;
  c->top1 = 0.975;
  const hl_engine_model *m = analyse(&s);
  assert_int_equal(m->member_count, 4);
  assert_string_equal(m->members[2].name, "native bfloat16");
  assert_int_equal(m->precision_count, 2);
  const hl_engine_precision *p = &m->precisions[0];
  assert_int_equal(p->member, 2);
  assert_int_equal(p->reference, 0);
  assert_true(p->speedup.paired && close_to(p->speedup.ratio, 2));
  assert_true(close_to(p->memory_ratio, 0.6) && close_to(p->memory_change_mb, -40));
  assert_true(close_to(p->output_error, 0.004) && close_to(p->reference_output_error, 2e-7));
  assert_true(close_to(p->cosine, 0.99998) && close_to(p->top1, 0.975));
  p = &m->precisions[1];
  assert_int_equal(p->reference, 1);
  assert_true(!p->speedup.paired && close_to(p->speedup.ratio, 12.0 / 7) && isnan(p->cosine));
  expect(m->verdict, "resnet50: in float32 native float32 is fastest at batch 1 (~1.200x openvino "
                     "float32 [1.176, 1.224]); of all types native bfloat16 (output error 0.004) "
                     "is fastest at batch 1");
  expect(m->verdict, "least latency: native bfloat16 (output error 0.004) at batch 1, 5 ms");
  expect(m->verdict, "openvino int8 (output error unknown) uses least memory");
  expect(m->verdict, "native bfloat16 is 2.000x native float32 [1.950, 2.050] at batch 1, with 0.6 "
                     "times the memory, at an output error of 0.004 instead of 2e-07, cosine "
                     "0.99998, top-1 agreement 97.5 %");
  tear_down(&s);
}

/* Where all of the fastest are of one type, it is not told twice. */
static void one_type_is_fastest(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 10, 100);
  add(&s, "openvino", 1, 12, 120);
  add_typed(&s, "native", "bfloat16", 1, 5, 60, "PASSED");
  add_typed(&s, "openvino", "bfloat16", 1, 5, 50, "PASSED");
  const hl_engine_model *m = analyse(&s);
  expect(m->verdict, "in bfloat16 native bfloat16 (output error unknown) and openvino bfloat16 "
                     "(output error unknown) cannot be told apart at batch 1 (inconclusive: "
                     "openvino bfloat16 ~1.000x native bfloat16 [0.980, 1.020]); of all types the "
                     "same as in bfloat16; least");
  tear_down(&s);
}

/* What did not pass takes no part and is named; the baseline is the first with a row. */
static void rows_that_failed(void **state) {
  (void)state;
  set_up s = {0};
  add_typed(&s, "native", "float32", 1, 1, 1, "SKIPPED");
  add_typed(&s, "native", "float32", 8, 1, 1, "CRASHED");
  add(&s, "openvino", 1, 12, 90);
  add_typed(&s, "openvino", "float32", 8, 1, 1, "MISTRUSTED");
  add_typed(&s, "openvino", "float32", 16, 1, 1, "MISTRUSTED");
  add(&s, "onnxruntime", 1, 10, 100);
  hl_comparison *c = pair(&s, "openvino", "onnxruntime", 1, 1.2, 0.01);
  c->processes = 3;
  c->agree = 0;
  c->max_relative = 0.002;
  c->tolerance = 1e-4;
  const hl_engine_model *m = analyse(&s);
  assert_int_equal(m->baseline, 1);
  assert_int_equal(m->point_count, 2);
  expect(m->verdict, "onnxruntime is fastest at batch 1 (1.200x openvino [1.190, 1.210])");
  expect_remark(m, "The baseline is openvino: no row of native passed");
  expect_remark(m, "Not in it: native at batch 8 (CRASHED); native at batch 1 (SKIPPED); openvino "
                   "at batch 8, 16 (MISTRUSTED)");
  expect_remark(m, "differ by 0.002 at batch 1, more than the allowed 0.0001");
  expect_remark(m, "over 3 processes a side (fewer than 5)");
  tear_down(&s);
}

/* What has no tolerance is not said to be beyond one. */
static void outputs_that_disagree(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 12, 90);
  add(&s, "openvino", 1, 10, 100);
  hl_comparison *c = pair(&s, "native", "openvino", 1, 1.2, 0.01);
  c->agree = 0;
  c->max_relative = 0.3;
  c->tolerance = (double)NAN;
  c->cosine = 0.5;
  expect_remark(analyse(&s), "openvino disagree at batch 1: their cosine is 0.5000");
  tear_down(&s);
  s = (set_up){0};
  add(&s, "native", 1, 12, 90);
  add(&s, "openvino", 1, 10, 100);
  c = pair(&s, "native", "openvino", 1, 1.2, 0.01);
  c->agree = 0;
  c->max_relative = c->tolerance = c->cosine = (double)NAN;
  hl_record_set_text(&c->notes, "outputs not compared: 2 outputs; the reference has 1");
  expect_remark(analyse(&s), "disagree at batch 1: outputs not compared: 2 outputs");
  tear_down(&s);
}

/* Names come from files: none moves a cursor or ends a line. */
static void names_are_plain(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "a\033[2J", 1, 10, 100);
  add(&s, "b\n", 1, 12, 100);
  for (size_t i = 0; i < 2; i++) hl_record_set_text(&s.records.items[i].model, "x\ry");
  const hl_engine_model *m = analyse(&s);
  const char *const texts[] = {m->verdict, m->name, m->members[0].name, s.analysis.groups[0].name};
  for (size_t t = 0; t < HL_COUNT(texts); t++)
    for (const char *c = texts[t]; *c; c++) assert_true((unsigned char)*c >= 0x20);
  expect(m->verdict, "x y: a [2J is fastest at batch 1");
  tear_down(&s);
}

static void little_to_compare(void **state) {
  (void)state;
  set_up s = {0};
  add(&s, "native", 1, 10, 100);
  assert_null(analyse(&s)); /* one engine */
  tear_down(&s);
  s = (set_up){0};
  add(&s, "native", 1, 10, 100);
  add_typed(&s, "openvino", "float32", 1, 1, 1, "SKIPPED");
  expect(analyse(&s)->verdict, "only native has rows that passed");
  tear_down(&s);
  s = (set_up){0};
  add(&s, "native", 1, 10, 100);
  add(&s, "openvino", 2, 10, 100);
  expect(analyse(&s)->verdict, "no batch size was measured on two engines");
  tear_down(&s);
  s = (set_up){0};
  add_typed(&s, "native", "float32", 1, 1, 1, "CRASHED");
  add_typed(&s, "openvino", "float32", 1, 1, 1, "SKIPPED");
  expect(analyse(&s)->verdict, "no row passed");
  tear_down(&s);
}

/* More engines than are compared: said, not silent. */
static void many_engines(void **state) {
  (void)state;
  set_up s = {0};
  char name[16];
  for (int i = 0; i < 40; i++) {
    snprintf(name, sizeof name, "engine%d", i);
    add(&s, name, 1, 10 + i, 100);
  }
  const hl_engine_model *m = analyse(&s);
  assert_int_equal(m->member_count, HL_ENGINES_MEMBERS_MOST);
  expect(m->verdict, "engine0 is fastest at batch 1 (~1.100x engine1");
  expect_remark(m, "Only the first 32 of 40 engines are compared");
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paired_and_unpaired_ratios),
      cmocka_unit_test(front_by_brute_force),
      cmocka_unit_test(front_with_intervals),
      cmocka_unit_test(verdicts),
      cmocka_unit_test(smaller_types),
      cmocka_unit_test(one_type_is_fastest),
      cmocka_unit_test(rows_that_failed),
      cmocka_unit_test(outputs_that_disagree),
      cmocka_unit_test(little_to_compare),
      cmocka_unit_test(many_engines),
      cmocka_unit_test(names_are_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
