/* Networks: counts, shapes, work and bytes. */
#include "base/error.h"
#include "models/models.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct expectation {
  const char *spec;
  int64_t parameters;
  double gflops; /* of one input; 0: not looked at */
  int32_t rank;  /* of the first input and of every output, without batch */
  int64_t input[4], output[4];
  const char *outputs[2];
} expectation;

/* Parameters and FLOPs are those of the networks' own projects. */
static const expectation expectations[] = {
    {"ptychopinn", 2252026, 1.44, 3, {1, 64, 64}, {1, 64, 64}, {"amplitude", "phase"}},
    {"ptychopinn:probe_big=on", 2331772, 0, 3, {1, 64, 64}, {1, 64, 64}, {"amplitude", "phase"}},
    {"ptychopinn:gridsize=2", 2257000, 0, 3, {4, 64, 64}, {4, 64, 64}, {"amplitude", "phase"}},
    {"ptychopinn:N=128", 4639770, 0, 3, {1, 128, 128}, {1, 128, 128}, {"amplitude", "phase"}},
    {"ptychopinn:N=128,gridsize=2",
     4643880,
     0,
     3,
     {4, 128, 128},
     {4, 128, 128},
     {"amplitude", "phase"}},
    {"ptychopinn-memory", 4643880, 0, 3, {4, 128, 128}, {4, 128, 128}, {"amplitude", "phase"}},
    {"ptychopinn-memory:probe_big=on",
     4667056,
     0,
     3,
     {4, 128, 128},
     {4, 128, 128},
     {"amplitude", "phase"}},
    {"resnet50", 25557032, 8.17, 3, {3, 224, 224}, {1000}, {"logits"}},
    {"vit_b_16", 86567656, 35.1, 3, {3, 224, 224}, {1000}, {"logits"}},
    {"dynunet", 342321, 1.54, 4, {1, 16, 32, 32}, {1, 16, 32, 32}, {"logits"}},
    {"dynunet:dims=2", 119825, 0, 3, {1, 64, 64}, {1, 64, 64}, {"logits"}},
    {"dynunet:patch=8x16x12", 342321, 0, 4, {1, 8, 16, 12}, {1, 8, 16, 12}, {"logits"}},
    {"transformer_encoder", 18914304, 5.03, 2, {128, 512}, {128, 512}, {"output"}},
    {"transformer_encoder:layers=1", 3152384, 0, 2, {128, 512}, {128, 512}, {"output"}},
    {"mlp", 25175040, 0.0503, 1, {1024}, {1024}, {"output"}},
    {"mlp:hidden_dim=512", 1312768, 0, 1, {1024}, {1024}, {"output"}},
    {"mlp:dims=784-100-10", 79510, 0, 1, {784}, {10}, {"output"}},
    {"linear", 524800, 0, 1, {1024}, {512}, {"output"}},
    {"layer_norm", 1024, 0, 1, {512}, {512}, {"output"}},
    {"activation", 0, 0, 1, {512}, {512}, {"output"}},
    {"activation:kind=gelu,hidden=7", 0, 0, 1, {7}, {7}, {"output"}},
    {"activation:kind=tanh", 0, 0, 1, {512}, {512}, {"output"}},
    {"activation:kind=sigmoid", 0, 0, 1, {512}, {512}, {"output"}},
    {"multihead_attention", 1050624, 0, 2, {128, 512}, {128, 512}, {"output"}},
    {"weighted_sum", 0, 0, 1, {512}, {512}, {"output"}},
    {"gaussian", 0, 0, 1, {512}, {1}, {"output"}},
    {"soft_product", 0, 0, 1, {512}, {512}, {"output"}},
    {"transformer_encoder_layer", 3152384, 0.839, 2, {128, 512}, {128, 512}, {"output"}},
    {"gru", 3151872, 0.805, 2, {128, 512}, {128, 512}, {"output"}},
    {"gru:input_dim=5,hidden_dim=3,layers=3,tokens=1", 234, 0, 2, {1, 5}, {1, 3}, {"output"}},
    {"fft", 0, 57624e-9, 4, {7, 7, 7, 2}, {7, 7, 7, 2}, {"output"}},
    {"fft:size=4", 0, 0, 4, {4, 4, 4, 2}, {4, 4, 4, 2}, {"output"}},
    {"prism_generator", 2797431, 0, 3, {512, 1, 1}, {1, 512, 512}, {"image"}},
    {"prism_generator:size=64,object=64,activation=sigmoid",
     43855,
     0,
     3,
     {64, 1, 1},
     {1, 64, 64},
     {"image"}},
};

static void check_shape(const char *spec, const hl_value *value, int64_t batch,
                        const int64_t dims[4]) {
  int32_t rank = 0;
  while (rank < 4 && dims[rank]) rank++;
  if (value->shape.rank != rank + 1 || value->shape.dims[0] != batch || value->dtype != HL_FLOAT32)
    fail_msg("%s: '%s' has rank %d and batch %lld", spec, value->name, (int)value->shape.rank,
             (long long)value->shape.dims[0]);
  for (int32_t i = 0; i < rank; i++) assert_int_equal(value->shape.dims[i + 1], dims[i]);
}

static void check_batch(const expectation *e, hl_graph *graph, int64_t batch) {
  hl_error error = {0};
  if (hl_graph_bind_batch(graph, batch, &error) != HL_OK || hl_graph_infer(graph, &error) != HL_OK)
    fail_msg("%s at batch %lld: %s", e->spec, (long long)batch, error.msg);
  for (size_t i = 0; i < graph->input_count; i++)
    check_shape(e->spec, &graph->values[graph->inputs[i]], batch, e->input);
  size_t outputs = e->outputs[1] ? 2 : 1;
  assert_int_equal(graph->output_count, outputs);
  for (size_t i = 0; i < outputs; i++) {
    const hl_value *value = &graph->values[graph->outputs[i]];
    assert_string_equal(value->name, e->outputs[i]);
    check_shape(e->spec, value, batch, e->output);
  }
  double gflops = hl_graph_flops(graph) / (double)batch / 1e9;
  if (e->gflops > 0 && fabs(gflops / e->gflops - 1) > 0.02)
    fail_msg("%s at batch %lld: %.4f GFLOP an input, not %.4f", e->spec, (long long)batch, gflops,
             e->gflops);
}

static void networks(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(expectations); i++) {
    const expectation *e = &expectations[i];
    hl_graph *graph = NULL;
    hl_error error = {0};
    if (hl_models_build(e->spec, 42, &graph, &error) != HL_OK)
      fail_msg("%s: %s", e->spec, error.msg);
    for (size_t j = 0; j < graph->input_count; j++) {
      const hl_value *input = &graph->values[graph->inputs[j]];
      assert_int_equal(input->shape.dims[0], -1);
      assert_string_equal(input->symbols[0], "batch");
    }
    if (hl_graph_parameters(graph) != e->parameters)
      fail_msg("%s: %lld parameters, not %lld", e->spec, (long long)hl_graph_parameters(graph),
               (long long)e->parameters);
    for (int64_t batch = 1; batch <= 3; batch += 2) {
      hl_graph *copy = NULL;
      assert_int_equal(hl_graph_clone(graph, &copy, &error), HL_OK);
      check_batch(e, copy, batch);
      hl_graph_free(copy);
    }
    hl_graph_free(graph);
  }
}

/* FNV-1a over every constant, in order. */
static uint64_t digest(const char *spec, uint64_t seed) {
  hl_graph *graph = NULL;
  assert_int_equal(hl_models_build(spec, seed, &graph, NULL), HL_OK);
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < graph->value_count; i++) {
    const hl_value *value = &graph->values[i];
    if (value->kind != HL_VALUE_CONSTANT) continue;
    const unsigned char *bytes = value->data;
    for (uint64_t j = 0; j < value->bytes; j++) hash = (hash ^ bytes[j]) * 0x100000001B3u;
  }
  hl_graph_free(graph);
  return hash;
}

static void bytes(void **state) {
  (void)state;
  static const char *const specs[] = {"ptychopinn", "dynunet", "mlp:dims=64-64-64",
                                      "multihead_attention", "layer_norm"};
  for (size_t i = 0; i < HL_COUNT(specs); i++) {
    assert_true(digest(specs[i], 42) == digest(specs[i], 42));
    assert_true(digest(specs[i], 42) != digest(specs[i], 43));
  }
  assert_true(digest("ptychopinn:N=128,gridsize=2", 7) == digest("ptychopinn-memory", 7));
  /* On every machine, and for ever: stored results name a network by its specification and seed. */
  assert_int_equal(digest("dynunet", 42), 0x59C12BBCD47EF4E9u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(networks),
      cmocka_unit_test(bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
