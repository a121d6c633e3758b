/*
 * GRU, LSTM and RNN on oneDNN's primitives, which run a whole sequence in one step.
 *
 * Weights have to be known, because oneDNN wants them in a layout of its own; where they are not,
 * as in training, training-recurrent.c follows. Left to the reference: lengths of sequences, the
 * layout with the batch first, clipping, coupled gates, peepholes, other activations than torch's.
 */
#include "lower/recurrent.h"
#include <string.h>

/* All directions of an RNN have the same activation, which oneDNN knows; the others have their own.
 */
static bool read_activations(const hl_node *node, hl_native_cell *c) {
  static const struct {
    const char *name;
    dnnl_alg_kind_t algorithm;
  } known[] = {
      {"Tanh", dnnl_eltwise_tanh}, {"Relu", dnnl_eltwise_relu}, {"Sigmoid", dnnl_eltwise_logistic}};
  static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
  const hl_attribute *a = hl_node_attribute(node, "activations");
  c->activation = dnnl_eltwise_tanh;
  if (!a) return true;
  size_t each = c->kind == 'L' ? 3 : c->kind == 'G' ? 2 : 1;
  for (size_t i = 0; i < a->count; i++) {
    const char *name = c->kind == 'R' ? a->texts[0] : usual[i % each];
    if (strcmp(a->texts[i], name) != 0) return false;
    for (size_t k = 0; k < HL_COUNT(known); k++)
      if (strcmp(known[k].name, a->texts[i]) == 0) c->activation = known[k].algorithm;
  }
  return true; /* others than the three were refused when shapes were inferred */
}

bool hl_native_cell_read(const hl_native_builder *b, const hl_native_node *node,
                         hl_native_cell *c) {
  const hl_node *source = node->source;
  const hl_value *x = hl_native_in_value(b, node, HL_CELL_X);
  const hl_value *w = hl_native_in_value(b, node, HL_CELL_W);
  const hl_value *r = hl_native_in_value(b, node, HL_CELL_R);
  const char *direction = hl_node_text(source, "direction", "forward");
  if (!hl_native_float(b, node) || hl_node_int(source, "layout", 0) != 0 ||
      hl_node_attribute(source, "clip") || hl_node_int(source, "input_forget", 0) != 0 ||
      hl_native_input(node, HL_CELL_LENGTHS) >= 0 || hl_native_input(node, HL_CELL_P) >= 0)
    return false;
  *c = (hl_native_cell){.kind = node->op[0],
                        .before_reset = hl_node_int(source, "linear_before_reset", 0) != 0,
                        .steps = x->shape.dims[0],
                        .batch = x->shape.dims[1],
                        .inputs = w->shape.dims[2],
                        .hidden = r->shape.dims[2],
                        .directions = r->shape.dims[0]};
  c->gates = c->kind == 'L' ? 4 : c->kind == 'G' ? 3 : 1;
  c->direction = c->directions == 2                  ? dnnl_bidirectional_concat
                 : strcmp(direction, "reverse") == 0 ? dnnl_unidirectional_right2left
                                                     : dnnl_unidirectional_left2right;
  return c->steps > 0 && c->batch > 0 && c->inputs > 0 && c->hidden > 0 &&
         read_activations(source, c);
}

/* What oneDNN's primitives can do of it. */
static bool is_known(const hl_native_builder *b, const hl_native_node *node,
                     const hl_native_cell *c) {
  hl_value_id bias = hl_native_input(node, HL_CELL_B);
  if ((bias >= 0 && !hl_native_known(b->ir, bias)) ||
      !hl_native_known(b->ir, node->inputs[HL_CELL_W]) ||
      !hl_native_known(b->ir, node->inputs[HL_CELL_R]))
    return false;
  /* It takes both states of an LSTM or none. */
  return c->kind != 'L' ||
         (hl_native_input(node, HL_CELL_H) >= 0) == (hl_native_input(node, HL_CELL_C) >= 0);
}

/* The place in ONNX's order (i, o, f, c) of a gate of oneDNN's LSTM (i, f, c, o); others agree. */
static int64_t gate_of(const hl_native_cell *c, int64_t gate) {
  static const int64_t order[] = {0, 2, 3, 1};
  return c->kind == 'L' ? order[gate] : gate;
}

/* Weights (directions, gates x hidden, columns) with the gates in oneDNN's order. */
static hl_value_id ordered(hl_native_builder *b, const hl_native_cell *c, hl_value_id id,
                           int64_t columns) {
  if (c->kind != 'L') return id;
  hl_value value = *hl_native_value(b->ir, id);
  float *data = NULL;
  hl_value_id made = hl_native_constant(b->ir, value.name, 3, value.shape.dims, &data);
  if (made < 0) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  size_t part = (size_t)(c->hidden * columns) * sizeof *data;
  for (int64_t i = 0; i < c->directions * c->gates; i++) {
    int64_t from = i / c->gates * c->gates + gate_of(c, i % c->gates);
    memcpy((char *)data + (size_t)i * part, (const char *)value.data + (size_t)from * part, part);
  }
  return made;
}

/* The sum of both biases; where a GRU resets after its product, the one in that product apart. */
static hl_value_id joined_bias(hl_native_builder *b, const hl_native_cell *c, hl_value_id id,
                               int64_t parts) {
  hl_value given = {0};
  if (id >= 0) given = *hl_native_value(b->ir, id);
  float *data = NULL;
  int64_t dims[] = {c->directions, parts, c->hidden}, rows = c->gates * c->hidden;
  hl_value_id made = hl_native_constant(b->ir, "bias", 3, dims, &data);
  if (made < 0) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  for (int64_t d = 0; d < c->directions && id >= 0; d++)
    for (int64_t p = 0; p < parts; p++)
      for (int64_t j = 0; j < c->hidden; j++) {
        bool apart = parts > c->gates && p >= 2;
        int64_t row = gate_of(c, p < c->gates ? p : 2) * c->hidden + j;
        float of_x = hl_native_element(&given, 2 * d * rows + row);
        float of_h = hl_native_element(&given, (2 * d + 1) * rows + row);
        data[(d * parts + p) * c->hidden + j] = !apart ? of_x + of_h : p == 2 ? of_x : of_h;
      }
  return made;
}

typedef struct descs {
  dnnl_memory_desc_t x, y, h, h_in, c_in, h_out, c_out, w, r, bias;
} descs;

static dnnl_primitive_desc_t describe(hl_native_builder *b, const hl_native_cell *c,
                                      const descs *m) {
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!attr || b->failed != HL_OK) return NULL;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_engine_t engine = b->engine->dnnl;
  const dnnl_prop_kind_t kind = dnnl_forward_inference;
  if (c->kind == 'L')
    dnnl_lstm_forward_primitive_desc_create(&pd, engine, kind, c->direction, m->x, m->h_in, m->c_in,
                                            m->w, m->r, NULL, NULL, m->bias, m->y, m->h_out,
                                            m->c_out, 0, attr);
  else if (c->kind == 'G' && c->before_reset)
    dnnl_lbr_gru_forward_primitive_desc_create(&pd, engine, kind, c->direction, m->x, m->h_in, m->w,
                                               m->r, m->bias, m->y, m->h_out, 0, attr);
  else if (c->kind == 'G')
    dnnl_gru_forward_primitive_desc_create(&pd, engine, kind, c->direction, m->x, m->h_in, m->w,
                                           m->r, m->bias, m->y, m->h_out, 0, attr);
  else
    dnnl_vanilla_rnn_forward_primitive_desc_create(&pd, engine, kind, c->activation, c->direction,
                                                   m->x, m->h_in, m->w, m->r, m->bias, m->y,
                                                   m->h_out, 0, 0, 0, attr);
  dnnl_primitive_attr_destroy(attr);
  return pd;
}

/* Weights that lie as (directions, gates, hidden, columns), in the layout that the primitive wants;
 * its dimensions are (layers, directions, columns, gates, hidden). */
static int32_t add_weights(hl_native_builder *b, const hl_native_cell *c, dnnl_primitive_desc_t pd,
                           int which, hl_value_id id, int64_t columns,
                           dnnl_memory_desc_t *ret_desc) {
  const_dnnl_memory_desc_t found = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, which);
  if (!found || dnnl_memory_desc_clone(ret_desc, found) != dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN does not say which layout it wants");
    return -1;
  }
  hl_native_md_keep(b, *ret_desc);
  const int64_t rows = c->gates * c->hidden;
  const int64_t dims[] = {1, c->directions, columns, c->gates, c->hidden};
  const int64_t strides[] = {c->directions * rows * columns, rows * columns, 1, c->hidden * columns,
                             columns};
  hl_native_recipe recipe = HL_NATIVE_RECIPE(ordered(b, c, id, columns));
  if (b->failed != HL_OK) return -1;
  recipe.source = hl_native_md_strides(b, 5, dims, strides);
  return hl_native_weight_in(b, &recipe, *ret_desc);
}

/* oneDNN puts both directions of a step side by side, ONNX the batch between them. */
static void part_directions(hl_native_builder *b, const hl_native_cell *c, int32_t from,
                            int32_t to) {
  const int64_t dims[] = {c->steps, c->directions, c->batch, c->hidden};
  const int64_t row = c->directions * c->hidden;
  const int64_t strides[] = {c->batch * row, c->hidden, row, 1};
  hl_native_reorder(b, "Transpose", from, hl_native_md_strides(b, 4, dims, strides), to,
                    hl_native_md_of(b, 4, dims, HL_LAYOUT_PLAIN));
}

bool hl_native_lower_recurrent(hl_native_builder *b, const hl_native_node *node) {
  hl_native_cell c;
  if (!hl_native_cell_read(b, node, &c) || !is_known(b, node, &c)) return false;
  const int64_t parts = c.gates + (c.kind == 'G' && c.before_reset);
  const int64_t across = c.directions * c.hidden;
  const int64_t state[] = {1, c.directions, c.batch, c.hidden};
  bool begins = hl_native_input(node, HL_CELL_H) >= 0;
  dnnl_memory_desc_t h = hl_native_md_of(b, 4, state, HL_LAYOUT_PLAIN);
  descs m = {.x = hl_native_md_of(b, 3, (int64_t[]){c.steps, c.batch, c.inputs}, HL_LAYOUT_PLAIN),
             .y = hl_native_md_of(b, 3, (int64_t[]){c.steps, c.batch, across}, HL_LAYOUT_PLAIN),
             .h_in = begins ? h : NULL,
             .c_in = begins ? h : NULL,
             .h_out = hl_native_wanted(b, node, 1) || hl_native_wanted(b, node, 2) ? h : NULL,
             .c_out = hl_native_wanted(b, node, 1) || hl_native_wanted(b, node, 2) ? h : NULL,
             .w = hl_native_md_any_as(
                 b, 5, (int64_t[]){1, c.directions, c.inputs, c.gates, c.hidden}, HL_FLOAT32),
             .r = hl_native_md_any_as(
                 b, 5, (int64_t[]){1, c.directions, c.hidden, c.gates, c.hidden}, HL_FLOAT32),
             .bias = hl_native_md_of(b, 4, (int64_t[]){1, c.directions, parts, c.hidden},
                                     HL_LAYOUT_PLAIN)};
  dnnl_primitive_desc_t pd = describe(b, &c, &m);
  if (!pd) return false;
  dnnl_memory_desc_t w_desc = NULL, r_desc = NULL;
  int32_t w = add_weights(b, &c, pd, 0, node->inputs[HL_CELL_W], c.inputs, &w_desc);
  int32_t r = add_weights(b, &c, pd, 1, node->inputs[HL_CELL_R], c.hidden, &r_desc);
  hl_value_id bias = joined_bias(b, &c, hl_native_input(node, HL_CELL_B), parts);
  int32_t x = hl_native_in(b, node->inputs[HL_CELL_X], HL_LAYOUT_PLAIN);
  if (b->failed != HL_OK) {
    dnnl_primitive_desc_destroy(pd);
    return false;
  }
  hl_native_recipe as_it_is = HL_NATIVE_RECIPE(bias);
  int32_t offsets = hl_native_weight_in(b, &as_it_is, NULL);
  int32_t h_in = begins ? hl_native_in(b, node->inputs[HL_CELL_H], HL_LAYOUT_PLAIN) : -1;
  int32_t c_in =
      begins && c.kind == 'L' ? hl_native_in(b, node->inputs[HL_CELL_C], HL_LAYOUT_PLAIN) : -1;
  uint64_t y_bytes = (uint64_t)(c.steps * c.batch * across) * sizeof(float);
  uint64_t state_bytes = (uint64_t)(c.batch * across) * sizeof(float);
  bool direct = hl_native_wanted(b, node, 0) && c.directions == 1;
  int32_t y =
      direct ? hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN) : hl_native_scratch(b, y_bytes);
  int32_t last[2] = {-1, -1};
  for (size_t i = 0; i < 2 && m.h_out; i++)
    last[i] = hl_native_wanted(b, node, i + 1)
                  ? hl_native_out(b, node->outputs[i + 1], HL_LAYOUT_PLAIN)
                  : hl_native_scratch(b, state_bytes);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, x, DNNL_ARG_SRC_LAYER, m.x);
  hl_native_arg_add(b, step, w, DNNL_ARG_WEIGHTS_LAYER, w_desc);
  hl_native_arg_add(b, step, r, DNNL_ARG_WEIGHTS_ITER, r_desc);
  hl_native_arg_add(b, step, offsets, DNNL_ARG_BIAS, m.bias);
  hl_native_arg_add(b, step, y, DNNL_ARG_DST_LAYER, m.y);
  if (begins) hl_native_arg_add(b, step, h_in, DNNL_ARG_SRC_ITER, h);
  if (c_in >= 0) hl_native_arg_add(b, step, c_in, DNNL_ARG_SRC_ITER_C, h);
  if (m.h_out) hl_native_arg_add(b, step, last[0], DNNL_ARG_DST_ITER, h);
  if (m.h_out && c.kind == 'L') hl_native_arg_add(b, step, last[1], DNNL_ARG_DST_ITER_C, h);
  if (hl_native_wanted(b, node, 0) && !direct)
    part_directions(b, &c, y, hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN));
  return true;
}
