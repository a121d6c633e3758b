/* Replies of a worker to the row's numbers, its note and its unknowns. */
#include "run/row-noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A second of a quiet machine. */
static json_t *quiet(void) {
  return json_pack("{s:i, s:i, s:i, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
                   "interval_ns", 1000000000, "minor_faults", 3, "major_faults", 0, "user_ns", 9e8,
                   "system_ns", 1e7, "voluntary_switches", 20, "involuntary_switches", 10,
                   "steal_s", 0.0, "cpu_s", 2.0, "throttled_s", 0.0, "wait_s", 0.001,
                   "pressure_cpu_s", 0.01, "pressure_memory_s", 0.0, "pressure_io_s", 0.5,
                   "canary_lost", 0.001);
}

static void is_near(double value, double expected) {
  if (!(fabs(value - expected) < 1e-9)) fail_msg("%.12g is not %.12g", value, expected);
}

static void slices_are_summed(void **state) {
  (void)state;
  hl_row_noise noise = {0};
  hl_record record;
  hl_record_init(&record);
  json_t *reply = quiet();
  hl_row_noise_add(&noise, reply);
  json_object_set_new(reply, "interval_ns", json_integer(3000000000));
  json_object_set_new(reply, "canary_lost", json_real(0.005));
  hl_row_noise_add(&noise, reply);
  hl_row_noise_fill(&noise, 40, false, &record);
  is_near(record.voluntary_switches_per_step, 1);
  is_near(record.involuntary_switches_per_step, .5);
  is_near(record.minor_faults_per_step, .15);
  is_near(record.user_ms_per_step, 45);
  is_near(record.wait_percent, .05);
  is_near(record.pressure_cpu_percent, .5);
  is_near(record.pressure_io_percent, 25);
  is_near(record.canary_lost_percent, .4); /* weighted by the slices' lengths */
  is_near(record.throttled_ms, 0);
  is_near(record.steal_percent, 0);
  assert_null(record.noise_unknown);
  assert_null(record.notes); /* quiet */
  hl_record_release(&record);
  json_decref(reply);
}

/* Each bound: just below and just beyond. */
static void bounds_are_told(void **state) {
  (void)state;
  static const struct {
    const char *key, *label;
    double below, beyond;
  } cases[] = {{"steal_s", "steal", .019, .03},
               {"throttled_s", "throttled", 0, .001},
               {"wait_s", "waiting for a CPU", .009, .02},
               {"pressure_cpu_s", "CPU pressure", .049, .06},
               {"pressure_memory_s", "memory pressure", .009, .02},
               {"canary_lost", "canary", .019, .03}};
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    for (int beyond = 0; beyond < 3; beyond++) {
      hl_row_noise noise = {0};
      hl_record record;
      json_t *reply = quiet();
      json_object_set_new(reply, cases[i].key,
                          json_real(beyond ? cases[i].beyond : cases[i].below));
      hl_record_init(&record);
      hl_row_noise_add(&noise, reply);
      hl_row_noise_fill(&noise, 1, beyond == 2, &record); /* 2: simulated */
      if (beyond == 1) {
        assert_non_null(record.notes);
        assert_int_equal(strncmp(record.notes, "disturbed: ", 11), 0);
        assert_int_equal(strncmp(record.notes + 11, cases[i].label, strlen(cases[i].label)), 0);
      } else {
        assert_null(record.notes);
        assert_true((beyond == 2) == (bool)isnan(record.canary_lost_percent));
      }
      hl_record_release(&record);
      json_decref(reply);
    }
}

static void unknown_is_null_with_its_reason(void **state) {
  (void)state;
  hl_row_noise noise = {0};
  hl_record record;
  json_t *reply = quiet();
  hl_record_init(&record);
  hl_row_noise_add(&noise, reply);
  json_object_set_new(reply, "throttled_s", json_null()); /* known once, then no more */
  json_object_set_new(reply, "noise_unknown", json_string("throttling: no group"));
  json_object_del(reply, "canary_lost");
  hl_row_noise_add(&noise, reply);
  hl_row_noise_fill(&noise, 2, false, &record);
  assert_true(isnan(record.throttled_ms) && isnan(record.canary_lost_percent));
  is_near(record.wait_percent, .1);
  assert_string_equal(record.noise_unknown, "throttling: no group");
  assert_null(record.notes);
  hl_record_release(&record);
  json_decref(reply);

  hl_row_noise none = {0};
  hl_record_init(&record);
  hl_row_noise_fill(&none, 2, false, &record); /* no slice: nothing is known, not 0 */
  assert_true(isnan(record.minor_faults_per_step) && isnan(record.steal_percent));
  hl_record_release(&record);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(slices_are_summed),
                                     cmocka_unit_test(bounds_are_told),
                                     cmocka_unit_test(unknown_is_null_with_its_reason)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
