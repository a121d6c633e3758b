/* From the worker's replies to the row: energy and counters of slices, and what is not known. */
#include "run/counters.h"
#include "run/energy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
    fail_msg("%.17g is not %.17g", value, expected);
}

static json_t *parse(const char *text) {
  json_t *object = json_loads(text, 0, NULL);
  assert_non_null(object);
  return object;
}

static void add_energy(hl_energy_totals *totals, const char *text) {
  json_t *reply = parse(text);
  hl_energy_totals_add(totals, reply);
  json_decref(reply);
}

/* 1000 images in 10 s. */
static void make_record(hl_record *record, double idle_w) {
  hl_record_init(record);
  record->throughput_ips = 100;
  record->measured_ms = 10000;
  record->idle_w = idle_w;
}

static void energy_of_slices_adds_up(void **state) {
  (void)state;
  hl_energy_totals totals = {0};
  hl_record r;
  add_energy(&totals, "{\"energy_s\": 4, \"energy_j\": 900, \"dram_energy_j\": 20}");
  add_energy(&totals, "{\"energy_s\": 6.5, \"energy_j\": 1200, \"dram_energy_j\": 30, "
                      "\"energy_reason\": null}");
  make_record(&r, 40);
  hl_energy_fill(&totals, "--min-time 10", &r);
  assert_near(r.energy_j, 2100);
  assert_near(r.dram_energy_j, 50);
  assert_near(r.power_w, 200);
  assert_near(r.images_per_joule, 1000.0 / 2100);
  assert_near(r.energy_per_image_j, (2100 - 40 * 10.5) / 1000);
  assert_null(r.energy_reason);
  hl_record_release(&r);
}

static void energy_that_is_not_known_says_why(void **state) {
  (void)state;
  static const char good[] = "{\"energy_s\": 6, \"energy_j\": 600, \"dram_energy_j\": null}";
  static const struct {
    const char *slices[2], *says;
    double idle_w;
    bool has_energy;
  } cases[] = {
      {{good, good}, "not measured before", (double)NAN, true},
      {{good, good}, "drew as much", 100, true},
      {{good, "{\"energy_s\": 1, \"energy_j\": 100}"}, "7.0 s were measured", 10, false},
      {{good, "{\"energy_s\": 6, \"energy_j\": null, \"energy_reason\": \"a counter went back\"}"},
       "a counter went back",
       10,
       false},
      {{good, "{}"}, "did not say", 10, false},
      {{"{\"energy_reason\": \"a virtual machine\"}", "{\"energy_reason\": \"later\"}"},
       "a virtual machine",
       10,
       false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_energy_totals totals = {0};
    hl_record r;
    for (size_t k = 0; k < 2; k++) add_energy(&totals, cases[i].slices[k]);
    make_record(&r, cases[i].idle_w);
    hl_energy_fill(&totals, "--min-time 10", &r);
    assert_int_equal(isfinite(r.energy_j) != 0, cases[i].has_energy);
    assert_int_equal(isfinite(r.power_w) != 0, cases[i].has_energy);
    assert_true(isnan(r.energy_per_image_j) && isnan(r.dram_energy_j));
    assert_non_null(r.energy_reason);
    if (!strstr(r.energy_reason, cases[i].says)) fail_msg("%zu: %s", i, r.energy_reason);
    hl_record_release(&r);
  }
}

static void idling_is_measured_for_rows_that_are_long_enough(void **state) {
  (void)state;
  assert_int_equal(hl_energy_idle_ms(&(hl_method_options){.min_time_s = 9.99}, NULL), 0);
  assert_int_equal(hl_energy_idle_ms(&(hl_method_options){.min_time_s = 10}, NULL), 1000);
  const hl_method_options method = {.min_time_s = 0.2};
  assert_int_equal(hl_energy_idle_ms(&method, &(hl_load_spec){.mode = "quick"}), 1000);
  assert_int_equal(hl_energy_idle_ms(&method, &(hl_load_spec){.duration_s = 9}), 0);
}

static void counts_become_counts_of_a_step(void **state) {
  (void)state;
  static const char *const slices[] = {
      "{\"counters\": {\"cycles\": 3000, \"instructions\": 6000, \"branches\": 1000, "
      "\"branch_misses\": 10, \"cache_misses\": 5, \"llc_loads\": 90, \"llc_misses\": 9, "
      "\"dtlb_misses\": 2, \"task_clock\": 7e6, \"page_faults\": 0, \"context_switches\": 4, "
      "\"migrations\": 1}, \"counters_running\": 0.25}",
      "{\"counters\": {\"cycles\": 1000, \"instructions\": 4000, \"branches\": 1000, "
      "\"branch_misses\": 30, \"cache_misses\": 5, \"llc_loads\": 10, \"llc_misses\": null, "
      "\"dtlb_misses\": 2, \"task_clock\": 1e6, \"page_faults\": 0, \"context_switches\": 0, "
      "\"migrations\": 1}, \"counters_running\": 0.5}"};
  hl_counter_totals totals;
  hl_record r;
  hl_counter_totals_init(&totals);
  for (size_t i = 0; i < 2; i++) {
    json_t *reply = parse(slices[i]);
    hl_counter_totals_add(&totals, reply);
    json_decref(reply);
  }
  hl_record_init(&r);
  hl_counters_fill(&totals, 10, &r);
  assert_near(r.cycles_per_step, 400);
  assert_near(r.instructions_per_step, 1000);
  assert_near(r.ipc, 2.5);
  assert_near(r.branch_miss_percent, 2);
  assert_near(r.cache_misses_per_step, 1);
  assert_near(r.llc_loads_per_step, 10);
  assert_true(isnan(r.llc_misses_per_step)); /* half of the slices is no count */
  assert_near(r.dtlb_misses_per_step, 0.4);
  assert_near(r.task_clock_ms_per_step, 0.8);
  assert_near(r.page_faults_per_step, 0);
  assert_near(r.context_switches_per_step, 0.4);
  assert_near(r.migrations_per_step, 0.2);
  assert_near(r.counters_running_percent, 25);
  hl_record_release(&r);
}

static void without_counters_all_is_null(void **state) {
  (void)state;
  hl_counter_totals totals;
  hl_record r;
  json_t *reply = parse("{\"counters\": null, \"counters_running\": null}");
  hl_counter_totals_init(&totals);
  hl_counter_totals_add(&totals, reply);
  json_decref(reply);
  hl_record_init(&r);
  hl_counters_fill(&totals, 10, &r);
  assert_true(isnan(r.ipc) && isnan(r.cycles_per_step) && isnan(r.task_clock_ms_per_step));
  assert_true(isnan(r.branch_miss_percent) && isnan(r.counters_running_percent));
  hl_record_release(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_of_slices_adds_up),
      cmocka_unit_test(energy_that_is_not_known_says_why),
      cmocka_unit_test(idling_is_measured_for_rows_that_are_long_enough),
      cmocka_unit_test(counts_become_counts_of_a_step),
      cmocka_unit_test(without_counters_all_is_null)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
