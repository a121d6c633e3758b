/* A pipeline's image: when a row is mistrusted, and what its stages come to. */
#include "run/image.h"
#include "run/pipeline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void other_images_are_mistrusted(void **state) {
  (void)state;
  static const struct {
    const char *dtype;
    double error;
    bool trusted;
  } cases[] = {{"float32", 0, true},      {"float32", 9e-4, true},     {"float32", 1.1e-3, false},
               {"float16", 4e-3, true},   {"float16", 6e-3, false},    {"bfloat16", 2.9e-2, true},
               {"bfloat16", 4e-2, false}, {"int8", 0.09, true},        {"int8", 0.2, false},
               {"float32", NAN, true},    {"float32", INFINITY, false}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_record record;
    hl_record_init(&record);
    hl_record_set_text(&record.outcome, "PASSED");
    hl_record_set_text(&record.dtype, cases[i].dtype);
    record.reconstruction_error = cases[i].error;
    hl_row_judge_image(&record);
    assert_int_equal(hl_record_passed(&record), cases[i].trusted);
    if (!cases[i].trusted) {
      assert_string_equal(record.outcome, "MISTRUSTED");
      assert_non_null(strstr(record.reason, "image differs"));
    }
    hl_record_release(&record);
  }
}

static void add(hl_pipeline_totals *totals, const char *text, uint64_t passes) {
  json_t *reply = json_loads(text, 0, NULL);
  assert_non_null(reply);
  hl_pipeline_totals_add(totals, reply, passes);
  json_decref(reply);
}

static void stages_are_means_of_passes(void **state) {
  (void)state;
  hl_record record;
  hl_pipeline_totals totals = {0};
  hl_record_init(&record);
  hl_record_set_text(&record.workload, HL_WORKLOAD_PIPELINE);
  add(&totals,
      "{\"stage_ns\": {\"preprocess\": 2e6, \"predict\": 6e7, \"merge\": 0, \"reassemble\": 4e6}}",
      2);
  add(&totals,
      "{\"stage_ns\": {\"preprocess\": 4e6, \"predict\": 6e7, \"merge\": 0, \"reassemble\": 2e6}}",
      1);
  json_t *prepared = json_loads(
      "{\"stage_bytes\": {\"preprocess\": 8e6, \"reassemble\": 3e6}, \"scan_bytes\": 6e6}", 0,
      NULL);
  double before_mb = 0;
  hl_pipeline_prepared(prepared, &record, &before_mb);
  json_decref(prepared);
  record.memory_mb = 50;
  hl_pipeline_fill(&totals, before_mb, &record);
  assert_float_equal(record.stage_preprocess_ms, 2, 1e-12);
  assert_float_equal(record.stage_predict_ms, 40, 1e-12);
  assert_float_equal(record.stage_reassemble_ms, 2, 1e-12);
  assert_float_equal(record.stage_beside_predict_percent, 10, 1e-12);
  assert_true(isnan(record.stage_merge_ms));
  /* Of 50 MB since the model was loaded 2 are inputs that wait, and 3 the image's. */
  assert_float_equal(record.stage_predict_mb, 45, 1e-12);
  hl_record_release(&record);
}

static void other_workloads_have_no_stages(void **state) {
  (void)state;
  hl_record record;
  hl_pipeline_totals totals = {0};
  hl_record_init(&record);
  hl_record_set_text(&record.workload, HL_WORKLOAD_INFERENCE);
  add(&totals, "{}", 3);
  hl_pipeline_fill(&totals, 0, &record);
  assert_true(isnan(record.stage_predict_ms) && isnan(record.stage_predict_mb));
  hl_record_release(&record);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(other_images_are_mistrusted),
                                     cmocka_unit_test(stages_are_means_of_passes),
                                     cmocka_unit_test(other_workloads_have_no_stages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
