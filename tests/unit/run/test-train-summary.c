/* From steps to a row: what is first, what is steady, and whether the loader keeps up. */
#include "run/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 20, MS = 1000000 };

/* Steps of 10 ms of which the engine has 8 and `wait_ms` is waiting; the first takes 100. */
static hl_record summarise(size_t count, uint64_t wait_ms, uint64_t work_ms, int64_t threads,
                           int64_t needed) {
  hl_train_step steps[STEPS] = {{0}};
  for (size_t i = 0; i < count; i++) {
    hl_train_step *s = &steps[i];
    const uint64_t spans[HL_SPAN_COUNT] = {wait_ms * MS, 1 * MS, 3 * MS, 1 * MS, 3 * MS, 1 * MS};
    memcpy(s->spans_ns, spans, sizeof spans);
    s->total_ns = (9 + wait_ms) * MS;
    s->load_work_ns = work_ms * MS;
    s->step = (int64_t)i + 1;
    s->images = 4;
    s->loss = 1.0 / (double)(i + 1);
    s->learning_rate = 0.5;
  }
  steps[0].total_ns = 100 * MS;
  steps[0].spans_ns[HL_SPAN_FORWARD] = 90 * MS;
  hl_train_outcome outcome = {.steps = steps, .count = count, .elapsed_ns = 999 * MS};
  hl_record record;
  hl_record_init(&record);
  record.batch_size = 4;
  record.loader_threads = threads;
  record.loader_threads_needed = needed;
  hl_record_set_text(&record.stop, "done");
  hl_epoch epoch;
  hl_epoch_init(&epoch);
  epoch.whole = 1;
  epoch.loss = 0.25;
  assert_int_equal(hl_epochs_add(&record.epochs, &epoch, NULL), HL_OK);
  assert_int_equal(hl_train_summarise(&outcome, &record, NULL), HL_OK);
  return record;
}

static void first_and_steady_are_apart(void **state) {
  (void)state;
  hl_record r = summarise(STEPS, 1, 2, 1, 1);
  assert_true(r.first_call_ms == 100 && r.forward_first_ms == 90);
  assert_true(r.forward_ms == 3 && r.backward_ms == 3 && r.latency_mean_ms == 10);
  assert_true(r.warmup_iterations == 3 && r.warmup_ms == 120 && r.training_steps == STEPS);
  assert_true(r.measurement_iterations == STEPS - 3 && r.training_ms == 999);
  assert_true(fabs(r.throughput_ips - 400) < 1e-9);
  assert_true(r.first_loss == 1 && r.final_loss == 0.25 && r.best_loss == 0.25);
  assert_true(r.epochs_trained == 1 && r.step_loss_count == STEPS && r.step_losses[1] == 0.5f);
  hl_record_release(&r);
  r = summarise(1, 1, 2, 1, 1); /* the first is all there is */
  assert_true(r.warmup_iterations == 0 && r.measurement_iterations == 1);
  hl_record_release(&r);
  r = summarise(5, 1, 2, 1, 1);
  assert_true(r.warmup_iterations == 1 && r.latency_mean_ms == 10);
  hl_record_release(&r);
}

static void the_loader_is_judged(void **state) {
  (void)state;
  hl_record r = summarise(STEPS, 0, 1, 1, 1);
  assert_true(strncmp(r.data_verdict, "not the bottleneck", 18) == 0);
  hl_record_release(&r);
  r = summarise(STEPS, 11, 20, 1, 3); /* more than half of 20 ms is waiting */
  assert_true(r.data_wait_percent > 54 && r.data_wait_percent < 56 && r.data_work_ms == 20);
  assert_non_null(strstr(r.data_verdict, "the bottleneck: 55 %"));
  assert_non_null(strstr(r.data_verdict, "--loader-threads 3 would end it"));
  hl_record_release(&r);
  r = summarise(STEPS, 11, 20, 4, 3); /* threads enough, but no cores */
  assert_string_equal(r.data_verdict,
                      "the bottleneck: 55 % of the time is waiting for data; the work for a batch "
                      "is 20 ms, for which 4 threads are enough where each has a core of its own: "
                      "give fewer --threads, or end other programs");
  hl_record_release(&r);
  r = summarise(STEPS, 11, 5, 1, 1);
  assert_non_null(strstr(r.data_verdict, "is 5 ms, for which 1 thread is enough where it has a "));
  hl_record_release(&r);
  r = summarise(STEPS, 11, 20, 0, 3); /* loaded in the steps: all of it is waiting */
  assert_non_null(strstr(r.data_verdict, "--loader-threads 3 would end it"));
  hl_record_release(&r);
  r = summarise(STEPS, 11, 20, 1, 257); /* more than can be given */
  assert_non_null(strstr(r.data_verdict, "is 20 ms, too much for 256 threads"));
  hl_record_release(&r);
}

static void phases_that_are_not_told_are_null(void **state) {
  (void)state;
  hl_train_step step = {.total_ns = MS, .images = 4, .loss = 1};
  for (size_t s = HL_SPAN_FORWARD; s < HL_SPAN_COUNT; s++) step.spans_ns[s] = UINT64_MAX;
  hl_train_outcome outcome = {.steps = &step, .count = 1};
  hl_record r;
  hl_record_init(&r);
  r.batch_size = 4;
  assert_int_equal(hl_train_summarise(&outcome, &r, NULL), HL_OK);
  assert_true(isnan(r.forward_ms) && isnan(r.optimizer_first_ms) && r.data_load_ms == 0);
  assert_non_null(strstr(r.notes, "does not tell how long"));
  outcome.count = 0;
  assert_int_equal(hl_train_summarise(&outcome, &r, NULL), HL_INVALID_ARGUMENT);
  hl_record_release(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(first_and_steady_are_apart),
                                     cmocka_unit_test(the_loader_is_judged),
                                     cmocka_unit_test(phases_that_are_not_told_are_null)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
