#include "analyse/duration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* T(b) = 2 + 3 b ms, setting up 100 + 10 b ms, 1 s of warming up and 200 steps. */
static void add(hl_records *records, int64_t batch, const char *outcome) {
  hl_record r;
  hl_error error = {0};
  hl_record_init(&r);
  hl_record_set_text(&r.outcome, outcome);
  hl_record_set_text(&r.workload, HL_WORKLOAD_INFERENCE);
  hl_record_set_text(&r.model, "mlp");
  hl_record_set_text(&r.engine, "native");
  hl_record_set_text(&r.dtype, "float32");
  hl_record_set_text(&r.device_id, "cpu");
  r.threads = 2;
  r.batch_size = batch;
  r.latency_mean_ms = 2 + 3 * (double)batch;
  r.load_ms = 50;
  r.prepare_ms = 10 * (double)batch;
  r.first_call_ms = 50;
  r.warmup_ms = 1000;
  r.measurement_iterations = 200;
  assert_int_equal(hl_records_take(records, &r, &error), HL_OK);
  hl_record_release(&r);
}

static const hl_duration_query usual = {.model = "mlp",
                                        .engine = "native",
                                        .dtype = "float32",
                                        .device = "cpu",
                                        .threads = 2,
                                        .batch_size = 16,
                                        .warmup_steps = -1,
                                        .min_time_s = 0.2,
                                        .max_time_s = 30};

static void is(const hl_records *records, const hl_duration_query *q, double seconds) {
  assert_true(fabs(hl_duration_estimate(records, q) - seconds) < 1e-9);
}

static void steps_come_from_the_line(void **unused) {
  (void)unused;
  hl_records records = {0};
  hl_duration_query q = usual;
  assert_true(isnan(hl_duration_estimate(&records, &q)));
  add(&records, 4, "PASSED");
  assert_true(isnan(hl_duration_estimate(&records, &q))); /* one size is no line */
  add(&records, 8, "PASSED");
  add(&records, 16, "FAILED"); /* tells nothing */
  q.steps = 10;
  q.warmup_steps = 5; /* T(16) = 50 ms, setting up 260 ms */
  is(&records, &q, 0.26 + 15 * 0.05);
  q.warmup_steps = -1;
  is(&records, &q, 0.26 + 1 + 10 * 0.05);
  q.max_time_s = 0.5; /* binds, but a step is not broken off */
  is(&records, &q, 0.26 + 0.55);
  q = usual; /* as the method decides: 1 s + 200 x 20 ms (mean of 14 and 26) */
  is(&records, &q, 0.26 + 1 + 4);
  q.batch_size = 8; /* one that was measured: its own */
  is(&records, &q, 0.18 + 1 + 5.2);
  q.threads = 1;
  assert_true(isnan(hl_duration_estimate(&records, &q)));
  hl_records_release(&records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_come_from_the_line)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
