/* Other profilers' files: what becomes of their events, and what is refused. */
#include "formats/profile-read.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_profile *read_text(const char *text) {
  hl_profile *profile = NULL;
  hl_error error = {0};
  hl_status status = hl_profile_read_memory("x.json", text, strlen(text), &profile, &error);
  if (status != HL_OK) fail_msg("%s", error.msg);
  return profile;
}

static const hl_profile_operator *operator_of(const hl_profile *p, size_t event) {
  return &p->operators[p->events[event].operator];
}

static const char onnxruntime[] =
    "[\n"
    "{\"cat\":\"Session\",\"pid\":1,\"tid\":7,\"dur\":500,\"ts\":3,\"ph\":\"X\","
    "\"name\":\"model_loading_uri\",\"args\":{}},\n"
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":7,\"dur\":2,\"ts\":900,\"ph\":\"X\","
    "\"name\":\"folded_kernel_time\",\"args\":{\"op_name\":\"Add\"}},\n"
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":7,\"dur\":78,\"ts\":1010,\"ph\":\"X\","
    "\"name\":\"conv1_kernel_time\",\"args\":{\"op_name\":\"FusedConv\",\"parameter_size\":\"100\","
    "\"activation_size\":\"400\",\"output_size\":\"800\","
    "\"input_type_shape\":[{\"float\":[1,3,8,8]},{\"float\":[4,3,3,3]}],"
    "\"output_type_shape\":[{\"float\":[1,4,8,8]}]}},\n"
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":7,\"dur\":0,\"ts\":1088,\"ph\":\"X\","
    "\"name\":\"conv1_fence_after\",\"args\":{\"op_name\":\"FusedConv\"}},\n"
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":9,\"dur\":5,\"ts\":1090,\"ph\":\"X\","
    "\"name\":\"fc\\\"1\\u00e9_kernel_time\",\"args\":{\"op_name\":\"Gemm\","
    "\"input_type_shape\":[{\"float\":[2,10]},{\"float\":[10,7]}],"
    "\"output_type_shape\":[{\"float\":[2,7]}]}},\n"
    "{\"cat\":\"Session\",\"pid\":1,\"tid\":7,\"dur\":100,\"ts\":1000,\"ph\":\"X\","
    "\"name\":\"model_run\",\"args\":{}},\n"
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":7,\"dur\":70,\"ts\":2010,\"ph\":\"X\","
    "\"name\":\"conv1_kernel_time\",\"args\":{\"op_name\":\"FusedConv\",\"parameter_size\":\"100\","
    "\"activation_size\":\"400\",\"output_size\":\"800\","
    "\"input_type_shape\":[{\"float\":[1,3,8,8]},{\"float\":[4,3,3,3]}],"
    "\"output_type_shape\":[{\"float\":[1,4,8,8]}]}},\n"
    "{\"cat\":\"Session\",\"pid\":1,\"tid\":7,\"dur\":90,\"ts\":2000,\"ph\":\"X\","
    "\"name\":\"model_run\",\"args\":{}}\n"
    "]\n";

static void reads_onnxruntime(void **state) {
  (void)state;
  hl_profile *p = read_text(onnxruntime);
  assert_int_equal(p->step_count, 2);
  assert_int_equal(p->step_ns[0], 100000);
  assert_int_equal(p->step_start_ns[1] - p->step_start_ns[0], 1000000);
  assert_int_equal(p->event_count, 3); /* not what ran before the first step */
  assert_int_equal(p->operator_count, 2);
  const hl_profile_operator *conv = operator_of(p, 0);
  assert_string_equal(conv->name, "conv1");
  assert_string_equal(conv->kind, "FusedConv");
  assert_true(conv->flops == 2.0 * 4 * 64 * 27);
  assert_true(conv->bytes == 1300 && conv->memory_bytes == 800);
  assert_int_equal(p->events[1].step, 1);
  assert_int_equal(p->events[1].duration_ns, 70000);
  const hl_profile_operator *gemm = operator_of(p, 2);
  assert_string_equal(gemm->name, "fc\"1\xc3\xa9");
  assert_true(gemm->flops == 280 && isnan(gemm->bytes));
  assert_int_equal(p->events[2].thread, 1);
  assert_string_equal(p->engine, "onnxruntime");
  hl_profile_free(p);
}

#define TORCH(name, category, tid, ts, dur, args)                                                  \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid           \
  ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"

/* clang-format off */
static const char torch[] =
    "{\"schemaVersion\":1,\"traceEvents\":["
    TORCH("ProfilerStep#4", "user_annotation", 5, 100.5, 60, "") ","
    TORCH("conv1", "user_annotation", 5, 101, 20, "") ","
    TORCH("aten::conv2d", "cpu_op", 5, 102, 18, "\"Sequence number\":3,\"Fwd thread id\":0") ","
    TORCH("aten::convolution", "cpu_op", 5, 103, 16, "\"External id\":99999999999999999999") ","
    TORCH("autograd::engine::evaluate_function: ConvolutionBackward0", "cpu_op", 6, 130, 20,
          "\"Sequence number\":3,\"Fwd thread id\":1") ","
    TORCH("aten::convolution_backward", "cpu_op", 6, 131, 18, "") ","
    TORCH("Optimizer.step#Adam.step", "user_annotation", 5, 152, 8, "") ","
    TORCH("aten::_fused_adam_", "cpu_op", 5, 153, 6, "") ","
    TORCH("aten::ones", "cpu_op", 5, 10, 6, "") ","
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":1,\"name\":\"x\",\"pid\":1,\"tid\":5,\"ts\":1}]}";

static const char own[] =
    "{\"traceEvents\":["
    TORCH("ProfilerStep#0", "user_annotation", 0, 1.5, 9, "") ","
    TORCH("a", "cpu_op", 2, 2.001, 3.25,
          "\"kind\":\"Conv\",\"layer\":\"l\",\"phase\":\"forward\",\"step\":0,\"flops\":12.5")
    "],\"otherData\":{\"producer\":\"hotlap\",\"engine\":\"native\",\"complete\":false,"
    "\"reason\":\"it died\",\"batch_size\":4,\"threads\":2}}";
/* clang-format on */

static void reads_torch(void **state) {
  (void)state;
  hl_profile *p = read_text(torch);
  assert_int_equal(p->step_count, 1);
  assert_int_equal(p->step_ns[0], 60000);
  assert_int_equal(p->event_count, 7);
  static const struct {
    const char *name, *kind, *layer, *phase;
    int thread;
  } expected[] = {
      {"conv1", "span", "conv1", "", 0},
      {"aten::conv2d", "aten::conv2d", "conv1", "forward", 0},
      {"aten::convolution", "aten::convolution", "conv1", "forward", 0},
      {"Optimizer.step#Adam.step", "span", "", "optimizer", 0},
      {"aten::_fused_adam_", "aten::_fused_adam_", "", "optimizer", 0},
      {"autograd::engine::evaluate_function: ConvolutionBackward0",
       "autograd::engine::evaluate_function: ConvolutionBackward0", "conv1", "backward", 1},
      {"aten::convolution_backward", "aten::convolution_backward", "conv1", "backward", 1},
  };
  for (size_t i = 0; i < HL_COUNT(expected); i++) {
    const hl_profile_operator *o = operator_of(p, i);
    assert_string_equal(o->name, expected[i].name);
    assert_string_equal(o->kind, expected[i].kind);
    assert_string_equal(o->layer, expected[i].layer);
    assert_string_equal(o->phase, expected[i].phase);
    assert_int_equal(p->events[i].thread, expected[i].thread);
  }
  hl_profile_free(p);
}

static void reads_own(void **state) {
  (void)state;
  hl_profile *p = read_text(own);
  assert_string_equal(p->engine, "native");
  assert_false(p->complete);
  assert_string_equal(p->reason, "it died");
  assert_int_equal(p->batch_size, 4);
  assert_int_equal(p->event_count, 1);
  assert_int_equal(p->events[0].start_ns, 501); /* from the first event of the file */
  assert_int_equal(p->events[0].duration_ns, 3250);
  assert_string_equal(operator_of(p, 0)->phase, "forward");
  assert_true(operator_of(p, 0)->flops == 12.5);
  hl_profile_free(p);
}

static void refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"", "no valid JSON"},
      {"[{\"cat\":\"Node\"", "Is it whole?"},
      {"{}", "neither ONNX Runtime's profile"},
      {"[]", "neither"},
      {"[1,2]", "neither"},
      {"{\"traceEvents\":[]}", "holds no operator"},
      {"{\"traceEvents\":[3]}", "traceEvents[0]: no object"},
      {"[{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"a_kernel_time\",\"args\":{}}]",
       "[0].ts: a number of microseconds is missing"},
      {"[{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"a_kernel_time\",\"ts\":1,\"dur\":-2}]",
       "[0].dur: it is negative"},
      {"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1e300,\"dur\":1}]}", "no time"},
      {"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1e999,\"dur\":1}]}",
       "no valid JSON"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_profile *p = NULL;
    hl_error error = {0};
    assert_int_equal(
        hl_profile_read_memory("x.json", cases[i].text, strlen(cases[i].text), &p, &error),
        HL_BAD_DATA);
    assert_null(p);
    if (!strstr(error.msg, cases[i].said) || !strstr(error.msg, "x.json"))
      fail_msg("%s: %s", cases[i].text, error.msg);
  }
  char deep[200];
  memset(deep, '[', sizeof deep);
  hl_profile *p = NULL;
  hl_error error = {0};
  assert_int_equal(hl_profile_read_memory("x.json", deep, sizeof deep, &p, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "deeper than 64"));
  assert_int_equal(hl_profile_read_file("/nowhere/x.json", &p, &error), HL_NOT_FOUND);
}

/* Every prefix, and every file with a byte changed, is read or refused, and nothing else happens.
 */
static void survives_damage(void **state) {
  (void)state;
  const char *const documents[] = {onnxruntime, torch};
  for (size_t d = 0; d < HL_COUNT(documents); d++) {
    size_t length = strlen(documents[d]);
    char *copy = malloc(length);
    for (size_t i = 0; i < length; i++) {
      hl_profile *p = NULL;
      memcpy(copy, documents[d], length);
      copy[i] = (char)("0\"]{-e,\xff"[i % 8]);
      if (hl_profile_read_memory("x", copy, length, &p, NULL) == HL_OK) hl_profile_free(p);
      p = NULL;
      if (hl_profile_read_memory("x", documents[d], i, &p, NULL) == HL_OK) hl_profile_free(p);
    }
    free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads_onnxruntime),
                                     cmocka_unit_test(reads_torch), cmocka_unit_test(reads_own),
                                     cmocka_unit_test(refuses), cmocka_unit_test(survives_damage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
