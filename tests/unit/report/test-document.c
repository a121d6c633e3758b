/* The JSON document has the contract's keys in the contract's order and is always valid JSON. */
#include "sample-records.h"
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static json_t *document(const sample *s) {
  hl_text text = HL_TEXT_INIT;
  hl_report_json(&s->input, &text);
  assert_false(text.failed);
  assert_int_equal(text.data[text.length - 1], '\n');
  json_error_t error;
  json_t *json = json_loads(text.data, JSON_REJECT_DUPLICATES, &error);
  if (!json) fail_msg("line %d: %s", error.line, error.text);
  hl_text_release(&text);
  return json;
}

/* `keys` are in the object in this order, whatever else is. */
static void expect_keys(const json_t *object, const char *const *keys, size_t count) {
  void *at = json_object_iter((json_t *)(uintptr_t)object);
  for (size_t i = 0; i < count; i++) {
    while (at && strcmp(json_object_iter_key(at), keys[i]) != 0)
      at = json_object_iter_next((json_t *)(uintptr_t)object, at);
    if (!at) fail_msg("no key '%s' after '%s'", keys[i], i ? keys[i - 1] : "");
  }
}
#define EXPECT_KEYS(object, ...)                                                                   \
  do {                                                                                             \
    static const char *const keys_[] = {__VA_ARGS__};                                              \
    expect_keys(object, keys_, HL_COUNT(keys_));                                                   \
  } while (0)

static void contract_keys_in_order(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 32);
  sample_fail(&s, "native", 64, "OUT_OF_MEMORY", "no \"memory\"\n\x01");
  sample_analyse(&s);
  json_t *json = document(&s);
  EXPECT_KEYS(json, "schema", "hotlap_version", "created", "machine", "method", "rows", "analysis");
  assert_string_equal(json_string_value(json_object_get(json, "schema")), "hotlap.results/1");
  const json_t *machine = json_object_get(json, "machine");
  EXPECT_KEYS(machine, "cpu", "cores", "memory_bytes", "gpus", "id");
  assert_true(json_is_array(json_object_get(machine, "gpus")));
  assert_string_equal(json_string_value(json_object_get(machine, "cpu")), "A \"CPU\" | 'x'");
  const json_t *method = json_object_get(json, "method");
  EXPECT_KEYS(method, "warmup", "percentiles", "max_time_s", "overhead_ns");
  assert_true(json_is_null(json_object_get(method, "overhead_ns")));
  const json_t *rows = json_object_get(json, "rows");
  assert_int_equal(json_array_size(rows), 3);
  EXPECT_KEYS(json_array_get(rows, 0), "outcome", "reason", "workload", "engine", "framework",
              "model", "parameters", "dtype", "batch_size", "threads", "device", "device_type",
              "input_shape", "warmup_iterations", "measurement_iterations", "steady",
              "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_mean_ms",
              "latency_std_ms", "latency_min_ms", "latency_max_ms", "latency_p50_ci_ms",
              "throughput_ips", "latency_per_image_ms", "memory_mb", "planned_memory_mb",
              "efficiency", "first_call_ms", "prepare_ms", "compilation_time_ms", "git_commit",
              "notes", "reproduce");
  const json_t *row = json_array_get(rows, 2);
  assert_true(json_is_null(json_object_get(row, "latency_p50_ms")));
  assert_true(json_is_null(json_object_get(row, "latency_p50_ci_ms")));
  assert_true(json_is_null(json_object_get(row, "parameters")));
  assert_string_equal(json_string_value(json_object_get(row, "notes")), "");
  assert_string_equal(json_string_value(json_object_get(row, "reason")), "no \"memory\"\n\x01");
  const json_t *analysis = json_object_get(json, "analysis");
  EXPECT_KEYS(analysis, "optimal_batch_size", "max_throughput_ips", "speedup_vs_batch_1",
              "speedup_vs_batch_32", "fit", "memory_fit", "max_batch_size", "plateau_batch_size",
              "bottleneck", "recommendations");
  assert_int_equal(json_integer_value(json_object_get(analysis, "optimal_batch_size")), 32);
  json_decref(json);
  sample_release(&s);
}

static void warmup_is_a_number_where_it_is_one(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_analyse(&s);
  json_t *json = document(&s);
  const json_t *warmup = json_object_get(json_object_get(json, "method"), "warmup");
  assert_string_equal(json_string_value(warmup), "auto");
  json_decref(json);
  hl_record_set_text(&s.info.warmup, "12");
  json = document(&s);
  warmup = json_object_get(json_object_get(json, "method"), "warmup");
  assert_int_equal(json_integer_value(warmup), 12);
  json_decref(json);
  sample_release(&s);
}

/* No rows, none that passed, one alone, and groups: always a document. */
static void few_rows(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    sample s;
    sample_init(&s);
    if (kind == 1) sample_fail(&s, "native", 8, "CRASHED", NULL);
    if (kind >= 2) sample_pass(&s, "native", 8);
    if (kind == 3) sample_pass(&s, "onnxruntime", 8);
    sample_analyse(&s);
    json_t *json = document(&s);
    assert_int_equal(json_array_size(json_object_get(json, "rows")),
                     (size_t)(kind ? kind == 3 ? 2 : 1 : 0));
    const json_t *analysis = json_object_get(json, "analysis");
    assert_int_equal(json_is_array(analysis), kind == 3);
    if (kind < 2) assert_true(json_is_null(json_object_get(analysis, "optimal_batch_size")));
    json_decref(json);
    sample_release(&s);
  }
}

static void infinities_are_null(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 8);
  s.records.items[0].latency_std_ms = (double)INFINITY;
  s.records.items[0].latency_p95_ci_ms = (hl_pair){1, (double)NAN};
  s.info.peak_gflops = -(double)INFINITY;
  sample_analyse(&s);
  json_t *json = document(&s);
  const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
  assert_true(json_is_null(json_object_get(row, "latency_std_ms")));
  assert_true(json_is_null(json_object_get(row, "latency_p95_ci_ms")));
  json_decref(json);
  sample_release(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contract_keys_in_order),
      cmocka_unit_test(warmup_is_a_number_where_it_is_one),
      cmocka_unit_test(few_rows),
      cmocka_unit_test(infinities_are_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
