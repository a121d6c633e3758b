/* What can be done to a result before it is stored is done by the node that computes it. */
#include "compile/passes.h"
#include <string.h>

static bool same_shape(const hl_value *a, const hl_value *b) {
  return a->shape.rank == b->shape.rank &&
         memcmp(a->shape.dims, b->shape.dims, (size_t)a->shape.rank * sizeof(int64_t)) == 0;
}

static bool is_one_of(const hl_native_node *node, const char *const *ops, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(node->op, ops[i]) == 0) return true;
  return false;
}

/* Is it a product that lower/linear.c takes? */
static bool is_product(const hl_native_ir *ir, const hl_native_node *node) {
  const hl_value *x = hl_native_value(ir, node->inputs[0]);
  const hl_value *w = hl_native_value(ir, node->inputs[1]);
  if (w->shape.rank != 2 || x->shape.rank < 2) return false;
  if (strcmp(node->op, "Gemm") != 0) return true;
  int64_t n = w->shape.dims[hl_node_int(node->source, "transB", 0) != 0 ? 0 : 1];
  const hl_value *bias = hl_native_value(ir, hl_native_input(node, 2));
  bool vector = !bias || (bias->shape.rank > 0 && hl_shape_elements(&bias->shape) == n &&
                          bias->shape.dims[bias->shape.rank - 1] == n);
  return vector && hl_node_int(node->source, "transA", 0) == 0 &&
         hl_node_real(node->source, "alpha", 1.0f) == 1.0f &&
         hl_node_real(node->source, "beta", 1.0f) == 1.0f;
}

/* Is the transposed convolution lowered as a convolution, by turned weights? */
static bool is_turned_convolution(const hl_native_ir *ir, const hl_native_node *node) {
  int64_t strides[HL_MAX_RANK], over[HL_MAX_RANK];
  size_t count = hl_node_ints(node->source, "strides", strides, HL_MAX_RANK);
  for (size_t i = 0; i < count; i++)
    if (strides[i] != 1) return false;
  count = hl_node_ints(node->source, "output_padding", over, HL_MAX_RANK);
  for (size_t i = 0; i < count; i++)
    if (over[i] != 0) return false;
  return !hl_native_known(ir, node->inputs[1]) && hl_node_int(node->source, "group", 1) == 1;
}

/* Convolutions and products with a matrix on oneDNN take any chain. A ConvTranspose would, too, but
 * oneDNN 3.2 does what follows it element by element in its reference code, up to ten times slower
 * than the product itself: a step of its own is better. */
static bool takes_posts(const hl_native_ir *ir, const hl_native_node *node) {
  static const char *const products[] = {"Gemm", "MatMul"};
  if (ir->graph->values[node->outputs[0]].dtype != HL_FLOAT32) return false;
  if (is_one_of(node, products, HL_COUNT(products))) return is_product(ir, node);
  return strcmp(node->op, "Conv") == 0 ||
         (strcmp(node->op, "ConvTranspose") == 0 && is_turned_convolution(ir, node));
}

/* Our normalisation takes a sum, then a ReLU. */
static bool takes_sum_and_relu(const hl_native_node *node) {
  if (strcmp(node->op, "InstanceNormalization") == 0) return true;
  return strcmp(node->op, "BatchNormalization") == 0 &&
         hl_node_int(node->source, "training_mode", 0) != 0;
}

static size_t index_of(const hl_native_ir *ir, const hl_native_node *node) {
  return (size_t)(node - ir->nodes);
}

/* The living writer of a value, if it is the last of an Add's inputs to be computed. */
static hl_native_node *later_writer(hl_native_ir *ir, const hl_native_node *add, size_t input) {
  hl_native_node *writer = hl_native_ir_writer(ir, add->inputs[input]);
  hl_native_node *other = hl_native_ir_writer(ir, add->inputs[1 - input]);
  if (!writer || (other && index_of(ir, other) > index_of(ir, writer))) return NULL;
  return writer;
}

/* The node gives the other's result instead of its own. */
static void absorb(hl_native_ir *ir, hl_native_node *node, hl_native_node *other) {
  ir->uses[node->outputs[0]] = 0;
  hl_native_set_result(ir, node, other->outputs[0]);
  other->dead = true;
}

/* Is the constant a bias of the node's result (one number a channel)? */
static bool is_bias(const hl_native_ir *ir, const hl_native_node *node, hl_value_id constant) {
  const hl_value *bias = hl_native_value(ir, constant);
  const hl_value *y = hl_native_value(ir, node->outputs[0]);
  bool state = bias->kind == HL_VALUE_STATE && bias->shape.rank == 1;
  if ((!hl_native_known(ir, constant) && !state) || bias->dtype != HL_FLOAT32) return false;
  bool channels_first = strncmp(node->op, "Conv", 4) == 0;
  int axis = channels_first ? 1 : y->shape.rank - 1;
  if (node->input_count > 2 && node->inputs[2] >= 0) return false;
  if (bias->shape.rank > y->shape.rank || bias->shape.rank < y->shape.rank - axis) return false;
  int missing = y->shape.rank - bias->shape.rank;
  for (int i = 0; i < bias->shape.rank; i++) {
    int64_t want = i + missing == axis ? y->shape.dims[axis] : 1;
    if (bias->shape.dims[i] != want) return false;
  }
  return true;
}

/* Bias as input 2: the convolution's and our products' third input is a vector. */
static bool add_bias(hl_native_ir *ir, hl_native_node *node, hl_value_id constant) {
  const hl_value *bias = hl_native_value(ir, constant);
  int64_t count = hl_shape_elements(&bias->shape);
  hl_value_id vector = constant;
  if (bias->shape.rank != 1) {
    float *data;
    vector = hl_native_constant(ir, bias->name, 1, &count, &data);
    if (vector < 0) return false;
    memcpy(data, ir->graph->values[constant].data, (size_t)count * sizeof(float));
  }
  hl_native_set_bias(node, vector);
  return true;
}

static bool fuse_add(hl_native_ir *ir, hl_native_node *node, hl_native_node *add, size_t input) {
  hl_value_id other = add->inputs[1 - input];
  if (other == add->inputs[input]) return false;
  if (takes_posts(ir, node) && node->post_count == 0 && node->input_count <= 3 &&
      is_bias(ir, node, other)) {
    /* the spare slot holds one more input than the node came with */
    if (node->source->input_count < 2 || node->source->input_count + 1 < 3) return false;
    if (!add_bias(ir, node, other)) return false;
    absorb(ir, node, add);
    return true;
  }
  const hl_value *x = hl_native_value(ir, other), *y = hl_native_value(ir, node->outputs[0]);
  if (!same_shape(x, y) || x->dtype != HL_FLOAT32 || hl_native_known(ir, other)) return false;
  if (x->kind == HL_VALUE_STATE) return false;
  if (takes_sum_and_relu(node) ? node->post_count > 0 : !takes_posts(ir, node)) return false;
  if (node->post_count == HL_NATIVE_MAX_POSTS || later_writer(ir, add, input) != node) return false;
  node->posts[node->post_count++] = (hl_native_post){.kind = HL_POST_ADD, .operand = other};
  absorb(ir, node, add);
  return true;
}

static bool fuse_function(hl_native_ir *ir, hl_native_node *node, hl_native_node *function) {
  hl_native_post post = {.kind = HL_POST_ELTWISE, .operand = -1};
  size_t input;
  if (node->post_count == HL_NATIVE_MAX_POSTS) return false;
  if (!hl_native_eltwise(ir, function, &post.algorithm, &post.alpha, &post.beta, &input))
    return false;
  if (function->inputs[input] != node->outputs[0]) return false;
  if (!same_shape(hl_native_value(ir, function->outputs[0]), hl_native_value(ir, node->outputs[0])))
    return false;
  if (takes_sum_and_relu(node)) {
    bool relu = post.algorithm == dnnl_eltwise_relu;
    bool last = node->post_count > 0 && node->posts[node->post_count - 1].kind == HL_POST_ELTWISE;
    if (!relu || last) return false;
  } else if (!takes_posts(ir, node)) {
    return false;
  }
  node->posts[node->post_count++] = post;
  absorb(ir, node, function);
  return true;
}

static bool fuse_next(hl_native_ir *ir, hl_native_node *node) {
  hl_native_node *next = hl_native_ir_reader(ir, node->outputs[0]);
  if (!next || next->output_count != 1 || next->post_count > 0) return false;
  for (size_t i = 0; i < ir->graph->output_count; i++)
    if (ir->graph->outputs[i] == node->outputs[0]) return false;
  if (fuse_function(ir, node, next)) return true;
  if (strcmp(next->op, "Add") != 0 || next->input_count != 2) return false;
  size_t input = next->inputs[0] == node->outputs[0] ? 0 : 1;
  return fuse_add(ir, node, next, input);
}

hl_status hl_native_pass_posts(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    bool sum_and_relu = !node->dead && takes_sum_and_relu(node);
    if (node->dead || (node->output_count != 1 && !sum_and_relu)) continue;
    if (!sum_and_relu && !takes_posts(ir, node)) continue;
    while (fuse_next(ir, node)) {
    }
  }
  return hl_graph_status(ir->graph, error);
}
