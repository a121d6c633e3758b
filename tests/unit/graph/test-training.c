/* The graph of a training step: its inputs and states, dropout, what it refuses. */
#include "graph/operator.h"
#include "graph/training.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void ok(hl_status status, const hl_error *error) {
  if (status != HL_OK) fail_msg("%s", error->msg);
}

enum { WIDTH = 4000 };

/* y = Dropout(x w): w is one row, so that y shows which elements were kept. */
static hl_graph *dropout_network(void) {
  hl_error error = {0};
  hl_graph *graph = NULL;
  ok(hl_graph_new("dropout", &graph, &error), &error);
  hl_value_id y = hl_graph_input(graph, "x", HL_FLOAT32, 2, (int64_t[]){1, 1});
  float *w = malloc(WIDTH * sizeof *w);
  for (int i = 0; i < WIDTH; i++) w[i] = 1;
  hl_value_id weight = hl_graph_constant(graph, "w", HL_FLOAT32, 2, (int64_t[]){1, WIDTH}, w);
  hl_value_id ratio = hl_graph_constant(graph, "ratio", HL_FLOAT32, 0, NULL, &(float){0.25f});
  free(w);
  hl_graph_node(graph, "MatMul", "product", (hl_value_id[]){y, weight}, 2, &y, 1);
  hl_graph_node(graph, "Dropout", "drop", (hl_value_id[]){y, ratio}, 2, &y, 1);
  hl_graph_rename(graph, y, "y");
  hl_graph_output(graph, y);
  ok(hl_graph_resolve(graph, &error), &error);
  ok(hl_graph_infer(graph, &error), &error);
  return graph;
}

/* One step of gradient descent on mean |y - 9|; y is 0 or 4/3, so that each weight's gradient is
 * -4/3 / WIDTH if it was kept, else 0. Returns the weights. */
static const float *run(hl_graph *step, int64_t number) {
  float x = 1, rate = 1, *target = malloc(WIDTH * sizeof *target);
  for (int i = 0; i < WIDTH; i++) target[i] = 9;
  hl_tensor_view inputs[4] = {
      {.dtype = HL_FLOAT32, .rank = 2, .dims = {1, 1}, .data = &x, .bytes = sizeof x},
      {.dtype = HL_FLOAT32, .rank = 2, .dims = {1, WIDTH}, .data = target, .bytes = WIDTH * 4},
      {.dtype = HL_FLOAT32, .data = &rate, .bytes = sizeof rate},
      {.dtype = HL_INT64, .data = &number, .bytes = sizeof number}};
  hl_tensor_view loss = {0};
  hl_error error = {0};
  ok(hl_graph_step(step, inputs, &loss, &error), &error);
  free(loss.data);
  free(target);
  return step->values[hl_graph_find(step, "w")].data;
}

static void test_dropout(void **context) {
  (void)context;
  hl_error error = {0};
  hl_graph *network = dropout_network();
  const hl_training_spec spec = {.loss = HL_LOSS_MEAN_ABSOLUTE, .seed = 3};
  bool kept[2][WIDTH];
  int count[3] = {0}, same = 0;
  for (int s = 0; s < 3; s++) { /* steps 1, 2 and 1 again, each from the same weights */
    hl_graph *step = NULL;
    ok(hl_graph_training(network, &spec, &step, &error), &error);
    assert_int_equal(step->input_count, 4);
    const float *w = run(step, s == 1 ? 2 : 1);
    for (int i = 0; i < WIDTH; i++) {
      bool is = w[i] != 1.0f;
      assert_true(fabsf(w[i] - (is ? 1 + 4.0f / 3 / WIDTH : 1)) < 1e-6f);
      count[s] += is;
      if (s < 2) kept[s][i] = is;
      if (s == 2) assert_int_equal(is, kept[0][i]);
    }
    hl_graph_free(step);
  }
  for (int i = 0; i < WIDTH; i++) same += kept[0][i] == kept[1][i];
  /* Binomial: 3000 +- 27.4 are kept, 2500 +- 31 agree; five deviations. */
  assert_in_range(count[0], 3000 - 137, 3000 + 137);
  assert_in_range(count[1], 3000 - 137, 3000 + 137);
  assert_in_range(same, 2500 - 155, 2500 + 155);
  const float *w = network->values[hl_graph_find(network, "w")].data;
  assert_true(w[0] == 1.0f); /* the network itself is as it was */
  hl_graph_free(network);
}

static void test_refusals(void **context) {
  (void)context;
  hl_error error = {0};
  hl_graph *network = NULL, *step = NULL;
  ok(hl_graph_new("none", &network, &error), &error);
  hl_value_id y = hl_graph_input(network, "x", HL_FLOAT32, 1, (int64_t[]){3});
  hl_graph_node(network, "Relu", "relu", &y, 1, &y, 1);
  hl_graph_output(network, y);
  ok(hl_graph_resolve(network, &error), &error);
  ok(hl_graph_infer(network, &error), &error);
  hl_training_spec spec = {.loss = HL_LOSS_MEAN_SQUARE};
  assert_int_equal(hl_graph_training(network, &spec, &step, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "no weights"));
  hl_graph_free(network);
  network = dropout_network();
  spec.loss = HL_LOSS_DICE_CROSS_ENTROPY;
  assert_int_equal(hl_graph_training(network, &spec, &step, &error), HL_INVALID_ARGUMENT);
  assert_non_null(strstr(error.msg, "'y' of 2 dimensions does not fit"));
  hl_graph_free(network);
}

/* Not inference's identity, and not a ratio of our own. */
static void test_unknown_ratio(void **context) {
  (void)context;
  hl_error error = {0};
  hl_graph *network = dropout_network(), *step = NULL;
  const hl_value_id ratio = hl_graph_input(network, "given", HL_FLOAT32, 0, NULL);
  for (size_t n = 0; n < network->node_count; n++)
    if (strcmp(network->nodes[n].op, "Dropout") == 0) network->nodes[n].inputs[1] = ratio;
  ok(hl_graph_infer(network, &error), &error);
  const hl_training_spec spec = {.loss = HL_LOSS_MEAN_SQUARE};
  assert_int_equal(hl_graph_training(network, &spec, &step, &error), HL_UNIMPLEMENTED);
  assert_non_null(strstr(error.msg, "'drop' (Dropout): a ratio that is not known"));
  hl_graph_free(network);
}

static void test_names(void **context) {
  (void)context;
  hl_loss loss;
  hl_optimizer optimizer;
  assert_true(hl_loss_from_name("l1", &loss) && loss == HL_LOSS_MEAN_ABSOLUTE);
  assert_false(hl_loss_from_name("hinge", &loss));
  assert_true(hl_optimizer_from_name("adamw", &optimizer) && optimizer == HL_OPTIMIZER_ADAMW);
  assert_false(hl_optimizer_from_name("", &optimizer));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dropout), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_unknown_ratio), cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
