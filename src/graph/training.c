/* Makes the graph of a training step: network, loss, gradients, updates. */
#include "graph/training.h"

#include "base/text.h"
#include "graph/graph-internal.h"
#include "graph/training-internal.h"
#include <stdlib.h>
#include <string.h>

/* -- the network in training mode ------------------------------------------------------------ */

static void train_batch_norm(hl_training *t, size_t index) {
  hl_graph *graph = t->graph;
  for (size_t i = 3; i < 5; i++) {
    hl_value_id statistic = graph->nodes[index].inputs[i];
    HL_CLEANUP(hl_free_pointer)
    char *name = hl_format("%s/next", graph->values[statistic].name);
    if (graph->values[statistic].kind == HL_VALUE_CONSTANT) hl_graph_make_state(graph, statistic);
    const char *next = hl_graph_free_name(graph, name ? name : "next");
    hl_graph_update_add(graph, statistic, hl_graph_node_output_add(graph, index, next));
  }
  hl_node_set_int(graph, &graph->nodes[index], "training_mode", 1);
}

/* Left as it is it would not drop anything, so whatever stands in the way fails the graph. */
static void train_dropout(hl_training *t, size_t index) {
  hl_node *node = &t->graph->nodes[index];
  const hl_value *ratio = hl_node_input(t->graph, node, 1);
  float share = hl_node_real(node, "ratio", 0.5f); /* ONNX's default */
  if (ratio && !ratio->data) {
    hl_graph_fail(t->graph, HL_UNIMPLEMENTED,
                  "node '%.90s' (Dropout): a ratio that is not known before the run", node->name);
    return;
  }
  if (ratio) {
    const hl_tensor_view view = hl_view_of(ratio);
    share = (float)hl_view_get(&view, 0);
  }
  hl_value_id *inputs = hl_arena_array(&t->graph->arena, 2, sizeof *inputs);
  if (!inputs) {
    hl_graph_fail(t->graph, HL_OUT_OF_MEMORY, "no memory for node '%s'", node->name);
    return;
  }
  inputs[0] = node->inputs[0];
  inputs[1] = t->step;
  node->op = "RandomDropout";
  node->domain = HL_OWN_DOMAIN;
  node->inputs = inputs;
  node->input_count = 2;
  node->output_count = 1;
  hl_node_set_real(t->graph, node, "ratio", share);
  hl_node_set_int(t->graph, node, "seed", (int64_t)(t->spec->seed + index));
}

static void train_network(hl_training *t) {
  size_t count = t->graph->node_count;
  for (size_t n = 0; n < count; n++) {
    if (strcmp(t->graph->nodes[n].op, "BatchNormalization") == 0) train_batch_norm(t, n);
    if (strcmp(t->graph->nodes[n].op, "Dropout") == 0) train_dropout(t, n);
  }
}

/* -- loss ------------------------------------------------------------------------------------ */

static hl_value_id sum_losses(hl_training *t, hl_error *error) {
  hl_graph *graph = t->graph;
  hl_value_id loss = -1;
  for (size_t i = 0; i < graph->output_count; i++) {
    hl_value_id x = graph->outputs[i];
    hl_shape shape;
    hl_dtype dtype;
    if (!hl_graph_target(t->spec->loss, &graph->values[x], &shape, &dtype)) {
      hl_error_set(error, HL_INVALID_ARGUMENT,
                   "output '%.90s' of %d dimensions does not fit this loss", graph->values[x].name,
                   graph->values[x].shape.rank);
      return -1;
    }
    HL_CLEANUP(hl_free_pointer) char *name = hl_format("target/%s", graph->values[x].name);
    const char *free_name = hl_graph_free_name(graph, name ? name : "target");
    hl_value_id target = hl_graph_input(graph, free_name, dtype, shape.rank, shape.dims);
    hl_value_id one = hl_training_loss(t, x, target);
    loss = loss < 0 ? one : T2("Add", loss, one);
  }
  return loss;
}

/* -- updates --------------------------------------------------------------------------------- */

/* The first node of the network that reads a weight. */
static const char *layer_of(const hl_training *t, hl_value_id weight) {
  for (size_t n = 0; n < t->graph->node_count; n++)
    for (size_t i = 0; i < t->graph->nodes[n].input_count; i++)
      if (t->graph->nodes[n].inputs[i] == weight)
        return hl_node_layer(t->graph, &t->graph->nodes[n]);
  return "";
}

/* Scales all gradients by min(1, clip / norm), as torch's clip_grad_norm_. Returns the norm. */
static hl_value_id clip(hl_training *t, hl_value_id *gradients, size_t count) {
  hl_value_id sum = -1;
  for (size_t i = 0; i < count; i++) {
    if (gradients[i] < 0) continue;
    hl_node *node = NULL;
    hl_value_id square = hl_gradient_node(&t->pen, "ReduceSumSquare", &gradients[i], 1, &node);
    hl_node_set_int(t->graph, node, "keepdims", 0);
    sum = sum < 0 ? square : T2("Add", sum, square);
  }
  hl_value_id norm = T1("Sqrt", sum);
  hl_value_id share = T2("Div", TNUMBER(t->spec->clip_norm), T2("Add", norm, TNUMBER(1e-6)));
  share = T2("Min", share, TNUMBER(1));
  for (size_t i = 0; i < count; i++)
    if (gradients[i] >= 0) gradients[i] = T2("Mul", gradients[i], share);
  return norm;
}

/* The name of a state is public (hotlap/engine.h): a value of the network gives way. A weight's
 * name is public, too. */
static void clear_name(hl_training *t, hl_value_id weight, const char *name) {
  hl_value_id other = hl_graph_find(t->graph, name);
  if (other < 0) return;
  hl_value_kind kind = t->graph->values[other].kind;
  if (kind == HL_VALUE_STATE || kind == HL_VALUE_CONSTANT)
    hl_graph_fail(
        t->graph, HL_INVALID_ARGUMENT,
        "the model has a tensor '%.90s', which is what the optimiser's state of '%.90s' is "
        "called; rename one of the two in the model",
        name, t->graph->values[weight].name);
  else
    hl_graph_rename(t->graph, other, hl_graph_free_name(t->graph, name));
}

/* A state of zeros like `weight`, "NAME/what". */
static hl_value_id moment(hl_training *t, hl_value_id weight, const char *what) {
  const hl_value *like = &t->graph->values[weight];
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s/%s", like->name, what);
  hl_shape shape = like->shape;
  hl_dtype dtype = like->dtype;
  if (name) clear_name(t, weight, name);
  return hl_graph_state(t->graph, name ? name : "", dtype, shape.rank, shape.dims);
}

/* The mean gradient of the submits of one update, as far as they have come. */
static hl_value_id accumulate(hl_training *t, hl_value_id weight, hl_value_id gradient) {
  if (t->spec->accumulate < 2) return gradient;
  hl_value_id sum = moment(t, weight, "gradient"), out = -1;
  hl_node *node = hl_gradient_own_node(&t->pen, "AccumulateGradient",
                                       (hl_value_id[]){sum, gradient, t->step}, 3, &out, 1);
  if (node) hl_node_set_int(t->graph, node, "accumulate", t->spec->accumulate);
  hl_graph_update_add(t->graph, sum, out);
  return out;
}

static void update(hl_training *t, hl_value_id weight, hl_value_id gradient) {
  bool sgd = t->spec->optimizer == HL_OPTIMIZER_SGD;
  hl_value_id outputs[3], states[3] = {weight, -1, -1};
  size_t count = sgd ? 2 : 3;
  states[1] = moment(t, weight, sgd ? "momentum" : "mean");
  if (!sgd) states[2] = moment(t, weight, "square");
  hl_value_id of_sgd[] = {weight, gradient, states[1], t->rate, t->hyper, t->step, t->loss};
  hl_value_id of_adam[] = {weight,  gradient, states[1], states[2],
                           t->rate, t->hyper, t->step,   t->loss};
  hl_node *node =
      sgd ? hl_gradient_own_node(&t->pen, "SgdStep", of_sgd, HL_COUNT(of_sgd), outputs, count)
          : hl_gradient_own_node(&t->pen, "AdamStep", of_adam, HL_COUNT(of_adam), outputs, count);
  if (node && t->spec->accumulate > 1)
    hl_node_set_int(t->graph, node, "accumulate", t->spec->accumulate);
  for (size_t i = 0; i < count; i++) hl_graph_update_add(t->graph, states[i], outputs[i]);
}

static hl_value_id hyper(hl_training *t) {
  const hl_training_spec *s = t->spec;
  double sgd[3] = {s->momentum, s->weight_decay, s->nesterov};
  double adam[5] = {s->beta1, s->beta2, s->epsilon, s->weight_decay,
                    s->optimizer == HL_OPTIMIZER_ADAMW};
  bool is_sgd = s->optimizer == HL_OPTIMIZER_SGD;
  return hl_graph_constant(t->graph, hl_graph_free_name(t->graph, "optimizer"), HL_FLOAT64, 1,
                           (int64_t[]){is_sgd ? 3 : 5}, is_sgd ? sgd : adam);
}

/* -- all of it ------------------------------------------------------------------------------- */

static hl_status infer(hl_graph *graph, hl_error *error) {
  hl_status status = hl_graph_status(graph, error);
  if (status == HL_OK) status = hl_graph_resolve(graph, error);
  return status == HL_OK ? hl_graph_infer(graph, error) : status;
}

/* The gradient, shown to the host before it is used. */
static hl_value_id announce(hl_training *t, hl_value_id weight, hl_value_id gradient) {
  if (!t->spec->gradient_ready) return gradient;
  hl_value_id out = -1;
  hl_node *node = hl_gradient_own_node(&t->pen, "GradientReady", (hl_value_id[]){gradient, t->step},
                                       2, &out, 1);
  if (!node) return -1;
  hl_node_set_text(t->graph, node, "weight", t->graph->values[weight].name);
  if (t->spec->accumulate > 1) hl_node_set_int(t->graph, node, "accumulate", t->spec->accumulate);
  return out;
}

/* What the gradients do to the weights. */
static hl_value_id add_updates(hl_training *t, const hl_value_id *weights, hl_value_id *gradients,
                               size_t count) {
  t->graph->pen_phase = HL_PHASE_OPTIMIZER;
  for (size_t i = 0; i < count; i++) {
    t->graph->pen_layer = layer_of(t, weights[i]);
    if (gradients[i] < 0) continue;
    gradients[i] = accumulate(t, weights[i], gradients[i]);
    gradients[i] = announce(t, weights[i], gradients[i]);
  }
  t->graph->pen_layer = "";
  hl_value_id norm = t->spec->clip_norm > 0 ? clip(t, gradients, count) : -1;
  for (size_t i = 0; i < count; i++) {
    t->graph->pen_layer = layer_of(t, weights[i]);
    if (gradients[i] >= 0) update(t, weights[i], gradients[i]);
  }
  t->graph->pen_phase = HL_PHASE_FORWARD;
  t->graph->pen_layer = NULL;
  return norm;
}

static hl_status finish(hl_training *t, const hl_value_id *weights, size_t count, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_value_id *gradients = calloc(count + 1, sizeof *gradients);
  if (!gradients) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for gradients");
  hl_status status = hl_graph_differentiate(t->graph, t->loss, weights, count, gradients, error);
  if (status != HL_OK) return status;
  size_t trained = 0;
  for (size_t i = 0; i < count; i++) trained += gradients[i] >= 0;
  if (trained == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "no weight of '%.90s' reaches an output by operators that have a gradient: "
                        "there is nothing to train",
                        t->graph->name);
  if (t->spec->recompute) status = hl_training_recompute(t->graph, error);
  if (status != HL_OK) return status;
  hl_value_id norm = add_updates(t, weights, gradients, count);
  t->graph->output_count = 0;
  hl_graph_rename(t->graph, t->loss, hl_graph_free_name(t->graph, "loss"));
  hl_graph_output(t->graph, t->loss);
  if (norm >= 0) {
    hl_graph_rename(t->graph, norm, hl_graph_free_name(t->graph, "gradient_norm"));
    hl_graph_output(t->graph, norm);
  }
  return infer(t->graph, error);
}

static hl_status build(hl_training *t, const bool *is_weight, size_t value_count, hl_error *error) {
  hl_graph *graph = t->graph;
  HL_CLEANUP(hl_free_pointer) hl_value_id *weights = calloc(value_count + 1, sizeof *weights);
  if (!weights) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a training step");
  size_t count = 0;
  for (size_t v = 0; v < value_count; v++) {
    if (!is_weight[v]) continue;
    weights[count++] = (hl_value_id)v;
    hl_graph_make_state(graph, (hl_value_id)v);
  }
  if (count == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.90s' has no weights to train", graph->name);
  size_t network_inputs = graph->input_count;
  t->rate = hl_graph_input(graph, hl_graph_free_name(graph, "learning_rate"), HL_FLOAT32, 0, NULL);
  t->step = hl_graph_input(graph, hl_graph_free_name(graph, "step"), HL_INT64, 0, NULL);
  t->hyper = hyper(t);
  train_network(t);
  hl_status status = infer(graph, error);
  if (status != HL_OK) return status;
  graph->pen_phase = HL_PHASE_LOSS;
  graph->pen_layer = "loss";
  t->loss = t->spec->loss == HL_LOSS_HOST ? hl_training_host_loss(t) : sum_losses(t, error);
  graph->pen_phase = HL_PHASE_FORWARD;
  graph->pen_layer = NULL;
  if (t->loss < 0) return graph->failed != HL_OK ? hl_graph_status(graph, error) : error->status;
  /* Targets go before rate and step. */
  size_t targets = graph->input_count - network_inputs - 2;
  memmove(graph->inputs + network_inputs, graph->inputs + network_inputs + 2,
          targets * sizeof *graph->inputs);
  graph->inputs[graph->input_count - 2] = t->rate;
  graph->inputs[graph->input_count - 1] = t->step;
  status = infer(graph, error);
  return status == HL_OK ? finish(t, weights, count, error) : status;
}

hl_status hl_graph_training(const hl_graph *network, const hl_training_spec *spec,
                            hl_graph **ret_step, hl_error *error) {
  hl_training t = {.spec = spec};
  HL_CLEANUP(hl_free_pointer) bool *is_weight = hl_graph_weights(network);
  if (!is_weight) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a training step");
  hl_status status = hl_graph_clone(network, &t.graph, error);
  if (status != HL_OK) return status;
  t.pen.graph = t.graph;
  status = build(&t, is_weight, network->value_count, error);
  if (status == HL_OK)
    *ret_step = t.graph;
  else
    hl_graph_free(t.graph);
  return status;
}
