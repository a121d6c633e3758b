/* Growth of memory: numbers that are known, rows in any order, pairs by configuration. */
#include "analyse/memory.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void add(hl_records *records, const char *model, const char *mode, int64_t batch,
                int64_t parameters, double planned, double measured) {
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.workload, HL_WORKLOAD_MEMORY);
  hl_record_set_text(&r.outcome, "PASSED");
  hl_record_set_text(&r.engine, "native");
  hl_record_set_text(&r.dtype, "float32");
  hl_record_set_text(&r.model, model);
  hl_record_set_text(&r.mode, mode);
  r.batch_size = batch;
  r.threads = 2;
  r.parameters = parameters;
  r.planned_memory_mb = planned;
  r.memory_mb = measured;
  assert_int_equal(hl_records_take(records, &r, NULL), HL_OK);
}

static void near(double a, double b) {
  if (!(fabs(a - b) <= 1e-9 * fmax(1, fabs(b)))) fail_msg("%g is not %g", a, b);
}

/* Planned 10 + 2 b exactly; measured bends: 20, 24, 40, 100. */
static void test_growth(void **state) {
  (void)state;
  hl_records records = {0};
  add(&records, "m", "inference", 8, 100, 26, 100);
  add(&records, "m", "inference", 1, 100, 12, 20);
  add(&records, "other", "inference", 4, 100, 999, 999);
  add(&records, "m", "inference", 4, 100, 18, 40);
  add(&records, "m", "inference", 2, 100, 14, 24);
  hl_memory_analysis a;
  assert_int_equal(hl_memory_analyse(&records, &a, NULL), HL_OK);
  assert_int_equal(a.growth_count, 2);
  const hl_memory_growth *planned = &a.growths[0], *measured = &a.growths[1];
  assert_int_equal(planned->measure, HL_MEMORY_PLANNED);
  assert_int_equal(planned->count, 4);
  near(planned->line.a0, 10);
  near(planned->line.a1, 2);
  near(planned->line.r_squared, 1);
  assert_true(planned->constant && planned->linear && planned->deviation < 1e-12);
  near(planned->step_low, 2);
  near(planned->step_high, 2);
  near(planned->share_low, 26.0 / 8);
  near(planned->share_high, 12);
  /* least squares by hand: x 1 2 4 8, y 20 24 40 100: a1 = 338/28.75, a0 = 46 - 3.75 a1 */
  near(measured->line.a1, 338 / 28.75);
  near(measured->line.a0, 46 - 3.75 * 338 / 28.75);
  near(measured->step_low, 4);
  near(measured->step_high, 15);
  assert_false(measured->constant || measured->linear);
  assert_int_equal(a.pair_count, 0);
  hl_memory_analysis_release(&a);
  hl_records_release(&records);
}

static void test_pairs(void **state) {
  (void)state;
  hl_records records = {0};
  add(&records, "m", "training", 2, 100, 70, 90);
  add(&records, "m", "training", 1, 100, 60, 80);
  add(&records, "m", "inference", 1, 100, 10, 20);
  add(&records, "n", "inference", 2, 100, 11, 21); /* another model */
  add(&records, "m", "inference", 2, 100, 14, 0);
  add(&records, "n", "training", 4, 100, 1, 1); /* no inference of it */
  hl_memory_analysis a;
  assert_int_equal(hl_memory_analyse(&records, &a, NULL), HL_OK);
  assert_int_equal(a.pair_count, 2);
  assert_int_equal(a.pairs[0].inference->batch_size, 2);
  near(a.pairs[0].planned, 5);
  assert_true(isnan(a.pairs[0].measured)); /* nothing was measured: no ratio */
  assert_int_equal(a.pairs[1].inference->batch_size, 1);
  near(a.pairs[1].planned, 6);
  near(a.pairs[1].measured, 4);
  hl_memory_analysis_release(&a);
  hl_records_release(&records);
}

/* 4 bytes a parameter above 1 MB; at batch 4, which all models have, not at 8, which one has. */
static void test_sizes(void **state) {
  (void)state;
  hl_records records = {0};
  const int64_t parameters[] = {1000000, 2000000, 4000000};
  for (int i = 0; i < 3; i++) {
    char name[16];
    snprintf(name, sizeof name, "m:size=%d", i);
    for (int64_t batch = 1; batch <= 4; batch *= 4)
      add(&records, name, "training", batch, parameters[i], 1 + (double)parameters[i] * 4e-6,
          (double)NAN);
  }
  add(&records, "m:size=1", "training", 8, 2000000, 99, 99);
  add(&records, "another", "training", 4, 3000000, 50, 50);
  hl_memory_analysis a;
  assert_int_equal(hl_memory_analyse(&records, &a, NULL), HL_OK);
  assert_int_equal(a.size_count, 1); /* nothing measured */
  assert_int_equal(a.sizes[0].first->batch_size, 4);
  assert_int_equal(a.sizes[0].count, 3);
  near(a.sizes[0].line.a0, 1);
  near(a.sizes[0].line.a1 * 1e6, 4);
  hl_memory_analysis_release(&a);
  hl_records_release(&records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth), cmocka_unit_test(test_pairs),
                                     cmocka_unit_test(test_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
