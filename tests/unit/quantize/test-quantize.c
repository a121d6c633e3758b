/* Which nodes and values are quantised, and what is refused. */
#include "graph/operator.h"
#include "quantize/quantize.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_graph *fresh(int64_t opset) {
  hl_graph *graph;
  assert_int_equal(hl_graph_new("test", &graph, NULL), HL_OK);
  graph->opset = opset;
  return graph;
}

static hl_value_id op(hl_graph *graph, const char *name, const char *kind, hl_value_id a,
                      hl_value_id b) {
  hl_value_id out = -1, inputs[] = {a, b};
  hl_graph_node(graph, kind, name, inputs, b < 0 ? 1 : 2, &out, 1);
  return out;
}

static hl_value_id conv(hl_graph *graph, const char *name, hl_value_id x, float weight) {
  float data[4] = {weight, 0, 0, -weight / 2};
  char w[32];
  snprintf(w, sizeof w, "%s.w", name);
  return op(graph, name, "Conv", x,
            hl_graph_constant(graph, w, HL_FLOAT32, 4, (int64_t[]){2, 2, 1, 1}, data));
}

static hl_value_id picture(hl_graph *graph) {
  return hl_graph_input(graph, "x", HL_FLOAT32, 4, (int64_t[]){-1, 2, 4, 4});
}

static size_t count(const hl_graph *graph, const char *kind) {
  size_t n = 0;
  for (size_t i = 0; i < graph->node_count; i++) n += strcmp(graph->nodes[i].op, kind) == 0;
  return n;
}

/* Ranges of [-1, 1], those of ReLUs and what they are united with [0, 1]. */
static hl_graph *quantize(const hl_graph *graph, float low, hl_quantize_summary *summary) {
  hl_quantizer *q;
  hl_range ranges[64];
  hl_graph *result;
  hl_error error = {0};
  if (hl_quantizer_new(graph, &q, &error) != HL_OK) fail_msg("%s", error.msg);
  assert_true(hl_quantizer_places(q) <= 64);
  for (size_t i = 0; i < hl_quantizer_places(q); i++) ranges[i] = (hl_range){low, 1};
  if (hl_quantizer_finish(q, ranges, &result, summary, &error) != HL_OK) fail_msg("%s", error.msg);
  hl_quantizer_free(q);
  assert_int_equal(hl_graph_bind_batch(result, 1, NULL), HL_OK);
  if (hl_graph_infer(result, &error) != HL_OK) fail_msg("%s", error.msg);
  return result;
}

static void a_chain_with_a_residual_sum(void **state) {
  (void)state;
  hl_graph *graph = fresh(17);
  hl_value_id x = picture(graph);
  hl_value_id a = op(graph, "relu1", "Relu", conv(graph, "c1", x, 1), -1);
  hl_value_id b = op(graph, "add", "Add", conv(graph, "c2", a, 2), a);
  hl_value_id c = op(graph, "relu2", "Relu", b, -1);
  hl_graph_output(graph, conv(graph, "c3", c, 0.5f));
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  hl_quantize_summary summary;
  hl_graph *cut = quantize(graph, 0, &summary);
  assert_int_equal(summary.convolutions, 3);
  assert_int_equal(summary.sums, 1);
  assert_int_equal(summary.left, 0);
  assert_int_equal(count(cut, "Relu"), 0); /* the zero point 0 does their work */
  assert_int_equal(count(cut, "QuantizeLinear"), 5);
  assert_int_equal(count(cut, "DequantizeLinear"), 5 + 3);
  assert_string_equal(cut->values[cut->outputs[0]].name, "c3_out");
  hl_graph_free(cut);
  hl_graph *kept = quantize(graph, -1, &summary);
  assert_int_equal(count(kept, "Relu"), 2);
  hl_graph_free(kept);
  hl_graph_free(graph);
}

/* A quantised copy computes nearly what the network does. */
static void numbers(void **state) {
  (void)state;
  hl_graph *graph = fresh(17);
  hl_value_id x = picture(graph);
  hl_graph_output(graph, op(graph, "relu", "Relu", conv(graph, "c", x, 0.75f), -1));
  assert_int_equal(hl_graph_resolve(graph, NULL), HL_OK);
  hl_quantize_summary summary;
  hl_graph *copy = quantize(graph, -1, &summary);
  float data[32];
  for (int i = 0; i < 32; i++) data[i] = (float)(i - 16) / 16;
  hl_tensor_view in = {.name = "x",
                       .dtype = HL_FLOAT32,
                       .rank = 4,
                       .dims = {1, 2, 4, 4},
                       .data = data,
                       .bytes = sizeof data},
                 out[2] = {{0}};
  assert_int_equal(hl_graph_bind_batch(graph, 1, NULL), HL_OK);
  assert_int_equal(hl_graph_infer(graph, NULL), HL_OK);
  assert_int_equal(hl_graph_evaluate(graph, &in, &out[0], NULL), HL_OK);
  assert_int_equal(hl_graph_evaluate(copy, &in, &out[1], NULL), HL_OK);
  for (int i = 0; i < 32; i++) {
    float a = ((float *)out[0].data)[i], b = ((float *)out[1].data)[i];
    assert_true(fabsf(a - b) <= 0.01f);
  }
  free(out[0].data);
  free(out[1].data);
  hl_graph_free(copy);
  hl_graph_free(graph);
}

static void refused(hl_graph *graph, const char *part) {
  hl_quantizer *q = NULL;
  hl_error error = {0};
  assert_int_equal(hl_quantizer_new(graph, &q, &error), HL_UNIMPLEMENTED);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in '%s'", part, error.msg);
  hl_graph_free(graph);
}

static void what_cannot_be_quantised(void **state) {
  (void)state;
  hl_graph *graph = fresh(17);
  hl_graph_output(graph, op(graph, "relu", "Relu", picture(graph), -1));
  refused(graph, "nothing to quantise");
  graph = fresh(11);
  hl_graph_output(graph, conv(graph, "c", picture(graph), 1));
  refused(graph, "opset 11");
  graph = fresh(17);
  float scale = 1;
  hl_value_id s = hl_graph_constant(graph, "s", HL_FLOAT32, 0, NULL, &scale);
  hl_graph_output(graph, op(graph, "q", "QuantizeLinear", conv(graph, "c", picture(graph), 1), s));
  refused(graph, "quantised already");
}

static void weights_that_are_not_finite(void **state) {
  (void)state;
  hl_graph *graph = fresh(17);
  hl_graph_output(graph, conv(graph, "c", picture(graph), (float)NAN));
  hl_quantizer *q;
  hl_graph *result = NULL;
  hl_quantize_summary summary;
  hl_error error = {0};
  const hl_range ranges[8] = {{0, 1}};
  assert_int_equal(hl_quantizer_new(graph, &q, NULL), HL_OK);
  assert_int_equal(hl_quantizer_finish(q, ranges, &result, &summary, &error), HL_BAD_DATA);
  assert_non_null(strstr(error.msg, "c.w"));
  assert_null(result);
  hl_quantizer_free(q);
  hl_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_with_a_residual_sum), cmocka_unit_test(numbers),
      cmocka_unit_test(what_cannot_be_quantised), cmocka_unit_test(weights_that_are_not_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
