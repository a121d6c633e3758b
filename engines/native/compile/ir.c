#include "compile/ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_CAP ((size_t)256 << 20)

hl_status hl_native_ir_init(hl_native_ir *ir, hl_graph *graph, hl_error *error) {
  *ir = (hl_native_ir){.graph = graph};
  hl_arena_init(&ir->arena, ARENA_CAP);
  ir->nodes = hl_arena_array(&ir->arena, graph->node_count, sizeof(*ir->nodes));
  if (!ir->nodes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the model");
  for (size_t i = 0; i < graph->node_count; i++) {
    const hl_node *source = &graph->nodes[i];
    hl_native_node *node = &ir->nodes[i];
    node->source = source;
    node->op = source->op;
    node->scale = -1;
    node->input_count = source->input_count;
    node->output_count = source->output_count;
    /* one spare input: a pass may give a node a bias */
    node->inputs = hl_arena_array(&ir->arena, source->input_count + 1, sizeof(hl_value_id));
    node->outputs = hl_arena_array(&ir->arena, source->output_count + 1, sizeof(hl_value_id));
    if (!node->inputs || !node->outputs)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the model");
    memcpy(node->inputs, source->inputs, source->input_count * sizeof(hl_value_id));
    memcpy(node->outputs, source->outputs, source->output_count * sizeof(hl_value_id));
  }
  ir->node_count = graph->node_count;
  return hl_native_ir_sweep(ir, error);
}

void hl_native_ir_release(hl_native_ir *ir) {
  free(ir->uses);
  hl_arena_release(&ir->arena);
  *ir = (hl_native_ir){0};
}

static void count(hl_native_ir *ir, hl_value_id value) {
  if (value >= 0) ir->uses[value]++;
}

static bool is_read(const hl_native_ir *ir, const hl_native_node *node) {
  for (size_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] >= 0 && ir->uses[node->outputs[i]] > 0) return true;
  return false;
}

hl_status hl_native_ir_sweep(hl_native_ir *ir, hl_error *error) {
  size_t need = ir->graph->value_count;
  if (ir->use_capacity < need) {
    int32_t *more = realloc(ir->uses, need * sizeof(*more));
    if (!more) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the model");
    ir->uses = more;
    ir->use_capacity = need;
  }
  if (need > 0) memset(ir->uses, 0, need * sizeof(*ir->uses));
  for (size_t i = 0; i < ir->graph->output_count; i++) count(ir, ir->graph->outputs[i]);
  for (size_t i = 0; i < ir->graph->update_count; i++) count(ir, ir->graph->updates[i].value);
  for (size_t v = 0; v < ir->graph->value_count; v++)
    if (ir->graph->values[v].is_apart) ir->uses[v]++;
  for (size_t i = ir->node_count; i-- > 0;) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead) continue;
    if (!is_read(ir, node)) {
      node->dead = true;
      continue;
    }
    for (size_t k = 0; k < node->input_count; k++) count(ir, node->inputs[k]);
    for (int k = 0; k < node->post_count; k++)
      if (node->posts[k].kind != HL_POST_ELTWISE) count(ir, node->posts[k].operand);
  }
  return HL_OK;
}

static bool reads(const hl_native_node *node, hl_value_id value) {
  for (size_t k = 0; k < node->input_count; k++)
    if (node->inputs[k] == value) return true;
  for (int k = 0; k < node->post_count; k++)
    if (node->posts[k].kind != HL_POST_ELTWISE && node->posts[k].operand == value) return true;
  return false;
}

hl_native_node *hl_native_ir_reader(hl_native_ir *ir, hl_value_id value) {
  if (value < 0 || ir->uses[value] != 1) return NULL;
  for (size_t i = 0; i < ir->node_count; i++)
    if (!ir->nodes[i].dead && reads(&ir->nodes[i], value)) return &ir->nodes[i];
  return NULL;
}

hl_native_node *hl_native_ir_writer(hl_native_ir *ir, hl_value_id value) {
  if (value < 0) return NULL;
  /* `producer` stays right except where a pass moved a result to another node. */
  int32_t producer = ir->graph->values[value].producer;
  for (size_t n = 0; n <= ir->node_count; n++) {
    size_t i = n == 0 ? (size_t)(producer < 0 ? 0 : producer) : n - 1;
    if (i >= ir->node_count || ir->nodes[i].dead) continue;
    for (size_t k = 0; k < ir->nodes[i].output_count; k++)
      if (ir->nodes[i].outputs[k] == value) return &ir->nodes[i];
  }
  return NULL;
}

void hl_native_ir_redirect(hl_native_ir *ir, hl_value_id from, hl_value_id to) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    for (size_t k = 0; k < node->input_count; k++)
      if (node->inputs[k] == from) node->inputs[k] = to;
    for (int k = 0; k < node->post_count; k++)
      if (node->posts[k].operand == from) node->posts[k].operand = to;
  }
  for (size_t i = 0; i < ir->graph->output_count; i++)
    if (ir->graph->outputs[i] == from) ir->graph->outputs[i] = to;
  for (size_t i = 0; i < ir->graph->update_count; i++)
    if (ir->graph->updates[i].value == from) ir->graph->updates[i].value = to;
}

void hl_native_set_bias(hl_native_node *node, hl_value_id bias) {
  while (node->input_count < 3) node->inputs[node->input_count++] = -1;
  node->inputs[2] = bias;
}

void hl_native_set_result(hl_native_ir *ir, hl_native_node *node, hl_value_id value) {
  node->outputs[0] = value;
  ir->graph->values[value].producer = (int32_t)(node - ir->nodes);
}

bool hl_native_known(const hl_native_ir *ir, hl_value_id value) {
  return value >= 0 && ir->graph->values[value].data != NULL;
}

float hl_native_element(const hl_value *value, int64_t i) {
  float x;
  memcpy(&x, (const char *)value->data + (size_t)i * sizeof(x), sizeof(x));
  return x;
}

bool hl_native_scalar(const hl_native_ir *ir, hl_value_id id, float *ret) {
  if (!hl_native_known(ir, id)) return false;
  const hl_value *value = &ir->graph->values[id];
  if (value->dtype != HL_FLOAT32 || hl_shape_elements(&value->shape) != 1) return false;
  *ret = hl_native_element(value, 0);
  return true;
}

int hl_native_integers(const hl_native_ir *ir, hl_value_id id, int64_t *ret, int capacity) {
  if (!hl_native_known(ir, id)) return -1;
  const hl_value *value = &ir->graph->values[id];
  int64_t count = hl_shape_elements(&value->shape);
  if (count < 0 || count > capacity) return -1;
  for (int64_t i = 0; i < count; i++) {
    const char *at = (const char *)value->data;
    if (value->dtype == HL_INT64) {
      memcpy(&ret[i], at + (size_t)i * 8, 8);
    } else if (value->dtype == HL_INT32) {
      int32_t x;
      memcpy(&x, at + (size_t)i * 4, 4);
      ret[i] = x;
    } else {
      return -1;
    }
  }
  return (int)count;
}

hl_value_id hl_native_constant(hl_native_ir *ir, const char *name, int32_t rank,
                               const int64_t *dims, float **ret_data) {
  char unique[256];
  snprintf(unique, sizeof(unique), "%.200s#%zu", name, ir->graph->value_count);
  hl_value_id id = hl_graph_constant(ir->graph, unique, HL_FLOAT32, rank, dims, NULL);
  if (id < 0) return -1;
  *ret_data = hl_graph_data(ir->graph, id);
  return *ret_data ? id : -1;
}

/* Functions without parameters. */
static const struct {
  const char *op;
  dnnl_alg_kind_t algorithm;
  float alpha, beta;
} plain_functions[] = {
    {"Relu", dnnl_eltwise_relu, 0.0f, 0.0f},
    {"Sigmoid", dnnl_eltwise_logistic, 0.0f, 0.0f},
    {"Tanh", dnnl_eltwise_tanh, 0.0f, 0.0f},
    {"Gelu", dnnl_eltwise_gelu_erf, 0.0f, 0.0f},
    {"GeluTanh", dnnl_eltwise_gelu_tanh, 0.0f, 0.0f},
    {"Swish", dnnl_eltwise_swish, 1.0f, 0.0f},
    {"Exp", dnnl_eltwise_exp, 0.0f, 0.0f},
    {"Sqrt", dnnl_eltwise_sqrt, 0.0f, 0.0f},
    {"Abs", dnnl_eltwise_abs, 0.0f, 0.0f},
    {"Log", dnnl_eltwise_log, 0.0f, 0.0f},
    {"Neg", dnnl_eltwise_linear, -1.0f, 0.0f},
    {"Reciprocal", dnnl_eltwise_pow, 1.0f, -1.0f},
    {"Softplus", dnnl_eltwise_soft_relu, 1.0f, 0.0f},
    {"HardSwish", dnnl_eltwise_hardswish, 1.0f / 6.0f, 0.5f},
};

/* A node with one known number: x+c, x-c, c-x, x*c, x/c, x^c. */
static bool with_number(const hl_native_ir *ir, const hl_native_node *node, dnnl_alg_kind_t *alg,
                        float *alpha, float *beta, size_t *input) {
  if (node->input_count != 2) return false;
  float c;
  size_t at = hl_native_scalar(ir, node->inputs[1], &c) ? 0 : 1;
  if (at == 1 && !hl_native_scalar(ir, node->inputs[0], &c)) return false;
  const hl_value *x = hl_native_value(ir, node->inputs[at]);
  const hl_value *y = hl_native_value(ir, node->outputs[0]);
  const hl_value *number = hl_native_value(ir, node->inputs[1 - at]);
  if (x->data || x->dtype != HL_FLOAT32 || number->shape.rank > x->shape.rank || !y) return false;
  *alg = dnnl_eltwise_linear;
  *alpha = 1.0f;
  *beta = 0.0f;
  *input = at;
  if (strcmp(node->op, "Add") == 0) {
    *beta = c;
  } else if (strcmp(node->op, "Mul") == 0) {
    *alpha = c;
  } else if (strcmp(node->op, "Sub") == 0) {
    *alpha = at == 0 ? 1.0f : -1.0f;
    *beta = at == 0 ? -c : c;
  } else if (strcmp(node->op, "Div") == 0) {
    if (at == 1)
      *alg = dnnl_eltwise_pow, *alpha = c, *beta = -1.0f;
    else
      *alpha = 1.0f / c;
  } else if (strcmp(node->op, "Pow") == 0 && at == 0 && (c == 2.0f || c == 0.5f || c == -1.0f)) {
    *alg = c == 2.0f ? dnnl_eltwise_square : c == 0.5f ? dnnl_eltwise_sqrt : dnnl_eltwise_pow;
    *beta = c == -1.0f ? -1.0f : 0.0f;
  } else {
    return false;
  }
  return true;
}

static bool clip(const hl_native_ir *ir, const hl_native_node *node, float *low, float *high) {
  *low = -3.402823466e38f;
  *high = 3.402823466e38f;
  if (hl_native_input(node, 1) >= 0 && !hl_native_scalar(ir, node->inputs[1], low)) return false;
  if (hl_native_input(node, 2) >= 0 && !hl_native_scalar(ir, node->inputs[2], high)) return false;
  *low = hl_node_real(node->source, "min", *low);
  *high = hl_node_real(node->source, "max", *high);
  return *low <= *high;
}

bool hl_native_eltwise(const hl_native_ir *ir, const hl_native_node *node, dnnl_alg_kind_t *alg,
                       float *alpha, float *beta, size_t *input) {
  *input = 0;
  const hl_value *x = hl_native_value(ir, hl_native_input(node, 0));
  if (!x || x->dtype != HL_FLOAT32) return false;
  for (size_t i = 0; i < HL_COUNT(plain_functions); i++)
    if (strcmp(node->op, plain_functions[i].op) == 0) {
      *alg = plain_functions[i].algorithm;
      *alpha = plain_functions[i].alpha;
      *beta = plain_functions[i].beta;
      return true;
    }
  *beta = 0.0f;
  if (strcmp(node->op, "LeakyRelu") == 0) {
    *alg = dnnl_eltwise_relu;
    *alpha = hl_node_real(node->source, "alpha", 0.01f);
  } else if (strcmp(node->op, "Elu") == 0) {
    *alg = dnnl_eltwise_elu;
    *alpha = hl_node_real(node->source, "alpha", 1.0f);
  } else if (strcmp(node->op, "HardSigmoid") == 0) {
    *alg = dnnl_eltwise_hardsigmoid;
    *alpha = hl_node_real(node->source, "alpha", 0.2f);
    *beta = hl_node_real(node->source, "beta", 0.5f);
  } else if (strcmp(node->op, "Clip") == 0) {
    *alg = dnnl_eltwise_clip_v2;
    return clip(ir, node, alpha, beta);
  } else {
    return with_number(ir, node, alg, alpha, beta, input);
  }
  return true;
}
