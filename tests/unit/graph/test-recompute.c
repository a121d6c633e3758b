/* A step that computes activations again gives what the step that keeps them gives, to the bit. */
#include "graph/operator.h"
#include "graph/training.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 3, WIDTH = 8, DEPTH = 12 };

static void ok(hl_status status, const hl_error *error) {
  if (status != HL_OK) fail_msg("%s", error->msg);
}

/* DEPTH times relu(x w), dropout, and a sum with what came two before; every fourth has a Tanh. */
static hl_graph *network(void) {
  hl_error error = {0};
  hl_graph *g = NULL;
  ok(hl_graph_new("deep", &g, &error), &error);
  hl_value_id y = hl_graph_input(g, "x", HL_FLOAT32, 2, (int64_t[]){BATCH, WIDTH}), before = y;
  hl_value_id ratio = hl_graph_constant(g, "ratio", HL_FLOAT32, 0, NULL, &(float){0.25f});
  for (int i = 0; i < DEPTH; i++) {
    float w[WIDTH * WIDTH];
    char name[16];
    for (int k = 0; k < WIDTH * WIDTH; k++) w[k] = (float)((k * 37 + i * 11) % 23 - 11) / 20;
    snprintf(name, sizeof name, "w%d", i);
    hl_value_id weight = hl_graph_constant(g, name, HL_FLOAT32, 2, (int64_t[]){WIDTH, WIDTH}, w);
    hl_value_id last = y;
    hl_graph_node(g, "MatMul", "", (hl_value_id[]){y, weight}, 2, &y, 1);
    hl_graph_node(g, i % 4 == 3 ? "Tanh" : "Relu", "", &y, 1, &y, 1);
    hl_graph_node(g, "Dropout", "", (hl_value_id[]){y, ratio}, 2, &y, 1);
    hl_graph_node(g, "Add", "", (hl_value_id[]){y, before}, 2, &y, 1);
    before = last;
  }
  hl_graph_output(g, y);
  ok(hl_graph_resolve(g, &error), &error);
  ok(hl_graph_infer(g, &error), &error);
  return g;
}

static float step(hl_graph *graph, int64_t number) {
  float x[BATCH * WIDTH], target[BATCH * WIDTH], rate = 0.01f;
  for (int i = 0; i < BATCH * WIDTH; i++) {
    x[i] = (float)(i % 7 - 3) / 3;
    target[i] = (float)(i % 5) / 5;
  }
  hl_tensor_view inputs[4] = {
      {.dtype = HL_FLOAT32, .rank = 2, .dims = {BATCH, WIDTH}, .data = x, .bytes = sizeof x},
      {.dtype = HL_FLOAT32,
       .rank = 2,
       .dims = {BATCH, WIDTH},
       .data = target,
       .bytes = sizeof target},
      {.dtype = HL_FLOAT32, .data = &rate, .bytes = sizeof rate},
      {.dtype = HL_INT64, .data = &number, .bytes = sizeof number}};
  hl_tensor_view loss = {0};
  hl_error error = {0};
  ok(hl_graph_step(graph, inputs, &loss, &error), &error);
  float value = *(float *)loss.data;
  free(loss.data);
  return value;
}

/* Bytes of forward results that nodes of the backward pass read. */
static uint64_t kept(const hl_graph *g, size_t *ret_copies) {
  uint64_t bytes = 0;
  *ret_copies = 0;
  for (size_t v = 0; v < g->value_count; v++) {
    int32_t producer = g->values[v].producer;
    bool read = false;
    for (size_t n = 0; n < g->node_count; n++)
      for (size_t i = 0; i < g->nodes[n].input_count; i++)
        read = read || (g->nodes[n].is_gradient && g->nodes[n].phase == HL_PHASE_BACKWARD &&
                        g->nodes[n].inputs[i] == (hl_value_id)v);
    if (read && producer >= 0 && g->nodes[producer].phase == HL_PHASE_FORWARD)
      bytes += g->values[v].bytes;
  }
  for (size_t n = 0; n < g->node_count; n++)
    *ret_copies += !g->nodes[n].is_gradient && g->nodes[n].phase == HL_PHASE_BACKWARD;
  return bytes;
}

static void test_same(void **context) {
  (void)context;
  hl_error error = {0};
  hl_graph *net = network(), *steps[2] = {NULL, NULL};
  hl_training_spec spec = {.size = sizeof spec, .loss = HL_LOSS_MEAN_SQUARE, .seed = 3};
  spec.momentum = 0.5;
  for (int i = 0; i < 2; i++) {
    spec.recompute = (uint32_t)i;
    ok(hl_graph_training(net, &spec, &steps[i], &error), &error);
  }
  size_t copies[2];
  uint64_t all = kept(steps[0], &copies[0]), some = kept(steps[1], &copies[1]);
  assert_int_equal(copies[0], 0);
  assert_true(copies[1] > DEPTH);
  assert_true(some < all / 2);
  for (int64_t n = 1; n <= 4; n++) {
    float a = step(steps[0], n), b = step(steps[1], n);
    assert_memory_equal(&a, &b, sizeof a);
  }
  for (size_t v = 0; v < net->value_count; v++) {
    const hl_value *a = &steps[0]->values[v], *b = &steps[1]->values[v];
    if (a->kind == HL_VALUE_STATE) assert_memory_equal(a->data, b->data, a->bytes);
  }
  hl_graph_free(steps[0]);
  hl_graph_free(steps[1]);
  hl_graph_free(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
