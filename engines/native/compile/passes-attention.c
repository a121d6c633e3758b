/* softmax(scale * q k' + mask) v, found from its Softmax, with the transposes around it. */
#include "compile/attention.h"
#include "compile/passes.h"
#include <string.h>

/* A (batch, heads, x, y) value as a strided view of the value it was moved from. */
typedef struct moved {
  hl_value_id value;
  int64_t offset, strides[4];
} moved;

static void dense_strides(const hl_value *value, int64_t *strides) {
  int64_t stride = 1;
  for (int i = value->shape.rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= value->shape.dims[i];
  }
}

/* Looks through a Transpose. */
static hl_native_node *through_transpose(hl_native_ir *ir, moved *m) {
  hl_native_node *node = hl_native_ir_writer(ir, m->value);
  int64_t order[HL_MAX_RANK], strides[HL_MAX_RANK];
  if (!node || strcmp(node->op, "Transpose") != 0) return node;
  if (hl_node_ints(node->source, "perm", order, HL_MAX_RANK) != 4) return NULL;
  dense_strides(hl_native_value(ir, node->inputs[0]), strides);
  for (int i = 0; i < 4; i++) m->strides[i] = strides[order[i]];
  m->value = node->inputs[0];
  return hl_native_ir_writer(ir, m->value);
}

/* Looks through a Split of the last axis: rows of `part` floats lie `whole` floats apart. */
static void through_split(hl_native_ir *ir, moved *m, const hl_native_node *split) {
  const hl_value *x = hl_native_value(ir, split->inputs[0]);
  const hl_value *y = hl_native_value(ir, m->value);
  int rank = x->shape.rank;
  int64_t axis = hl_node_int(split->source, "axis", 0);
  if (axis != -1 && axis != rank - 1) return;
  int64_t part = y->shape.dims[rank - 1], whole = x->shape.dims[rank - 1], offset = 0;
  for (size_t i = 0; i < split->output_count && split->outputs[i] != m->value; i++)
    offset += hl_native_value(ir, split->outputs[i])->shape.dims[rank - 1];
  for (int i = 0; i < 4; i++) {
    if (m->strides[i] % part == 0)
      m->strides[i] = m->strides[i] / part * whole;
    else if (m->strides[i] > part)
      return;
  }
  m->offset = offset;
  m->value = split->inputs[0];
}

static bool read_moved(hl_native_ir *ir, hl_value_id value, moved *m) {
  const hl_value *x = hl_native_value(ir, value);
  if (!x || x->shape.rank != 4 || x->dtype != HL_FLOAT32) return false;
  *m = (moved){.value = value};
  dense_strides(x, m->strides);
  const hl_native_node *node = through_transpose(ir, m);
  if (node && strcmp(node->op, "Reshape") == 0) {
    moved inner = *m;
    inner.value = node->inputs[0];
    node = hl_native_ir_writer(ir, inner.value);
    /* A view of the Reshape's input costs nothing; one of the Split's input saves a copy. */
    if (node && strcmp(node->op, "Split") == 0) {
      through_split(ir, &inner, node);
      if (inner.value == node->inputs[0]) *m = inner;
    }
  }
  return true;
}

/* Walks from the Softmax's input to the product of queries and keys. */
static hl_native_node *find_scores(hl_native_ir *ir, hl_value_id at, float *scale,
                                   hl_value_id *mask) {
  *scale = 1.0f;
  *mask = -1;
  for (int i = 0; i < 4; i++) {
    hl_native_node *node = hl_native_ir_writer(ir, at);
    if (!node || ir->uses[at] != 1 || node->input_count != 2) return NULL;
    if (strcmp(node->op, "MatMul") == 0) return node;
    float c;
    if (strcmp(node->op, "Add") == 0 && *mask < 0 && *scale == 1.0f) {
      hl_native_node *left = hl_native_ir_writer(ir, node->inputs[0]);
      size_t side = left && (strcmp(left->op, "MatMul") == 0 || strcmp(left->op, "Mul") == 0 ||
                             strcmp(left->op, "Div") == 0)
                        ? 0
                        : 1;
      *mask = node->inputs[1 - side];
      at = node->inputs[side];
    } else if (strcmp(node->op, "Div") == 0 && hl_native_scalar(ir, node->inputs[1], &c)) {
      *scale /= c;
      at = node->inputs[0];
    } else if (strcmp(node->op, "Mul") == 0) {
      size_t side = hl_native_scalar(ir, node->inputs[1], &c) ? 0 : 1;
      if (side == 1 && !hl_native_scalar(ir, node->inputs[0], &c)) return NULL;
      *scale *= c;
      at = node->inputs[side];
    } else {
      return NULL;
    }
  }
  return NULL;
}

static hl_native_heads heads_of(const moved *m, int token, int dim) {
  return (hl_native_heads){.offset = m->offset,
                           .batch = m->strides[0],
                           .head = m->strides[1],
                           .token = m->strides[token],
                           .dim = m->strides[dim]};
}

static bool read_mask(const hl_native_ir *ir, hl_value_id mask, hl_native_attention *a) {
  if (mask < 0) return true;
  const hl_value *value = hl_native_value(ir, mask);
  int rank = value->shape.rank;
  if (value->dtype != HL_FLOAT32 || rank < 1 || rank > 4) return false;
  if (value->shape.dims[rank - 1] != a->keys) return false;
  const int64_t full[] = {a->batch, a->heads, a->queries};
  int64_t strides[HL_MAX_RANK];
  dense_strides(value, strides);
  for (int i = 0; i < 3; i++) {
    int at = i - (4 - rank);
    int64_t extent = at < 0 ? 1 : value->shape.dims[at];
    if (extent != 1 && extent != full[i]) return false;
    a->mask[i] = extent == 1 ? 0 : strides[at];
  }
  return true;
}

/* Four agreeing shapes: q (B,H,T,d), k' (B,H,d,K), v (B,H,K,d). */
static bool read_shapes(const hl_native_ir *ir, const hl_native_node *scores,
                        const hl_native_node *context, hl_native_attention *a) {
  const hl_value *q = hl_native_value(ir, scores->inputs[0]);
  const hl_value *k = hl_native_value(ir, scores->inputs[1]);
  const hl_value *v = hl_native_value(ir, context->inputs[1]);
  if (q->shape.rank != 4 || k->shape.rank != 4 || v->shape.rank != 4) return false;
  a->batch = q->shape.dims[0];
  a->heads = q->shape.dims[1];
  a->queries = q->shape.dims[2];
  a->width = q->shape.dims[3];
  a->keys = k->shape.dims[3];
  for (int i = 0; i < 2; i++)
    if (k->shape.dims[i] != q->shape.dims[i] || v->shape.dims[i] != q->shape.dims[i]) return false;
  return v->shape.dims[2] == a->keys && v->shape.dims[3] == a->width && a->keys > 0;
}

/* The result in the order its only reader wants, if that is the transpose back. */
static hl_value_id result_of(hl_native_ir *ir, const hl_native_node *context,
                             hl_native_attention *a) {
  hl_native_node *back = hl_native_ir_reader(ir, context->outputs[0]);
  int64_t order[HL_MAX_RANK];
  static const int64_t swap[] = {0, 2, 1, 3};
  a->out_batch = a->heads * a->queries * a->width;
  if (back && strcmp(back->op, "Transpose") == 0 &&
      hl_node_ints(back->source, "perm", order, HL_MAX_RANK) == 4 &&
      memcmp(order, swap, sizeof(swap)) == 0) {
    a->out_head = a->width;
    a->out_token = a->heads * a->width;
    back->dead = true;
    return back->outputs[0];
  }
  a->out_head = a->queries * a->width;
  a->out_token = a->width;
  return context->outputs[0];
}

static bool match(hl_native_ir *ir, const hl_native_node *softmax) {
  const hl_value *x = hl_native_value(ir, softmax->inputs[0]);
  int64_t axis = hl_node_int(softmax->source, "axis", ir->graph->opset < 13 ? 1 : -1);
  if (x->shape.rank != 4 || (axis != -1 && axis != 3)) return false;
  hl_native_node *context = hl_native_ir_reader(ir, softmax->outputs[0]);
  if (!context || strcmp(context->op, "MatMul") != 0 || context->inputs[0] != softmax->outputs[0])
    return false;
  hl_native_attention a = {0};
  hl_value_id mask;
  const hl_native_node *scores = find_scores(ir, softmax->inputs[0], &a.scale, &mask);
  moved q, k, v;
  if (!scores || !read_shapes(ir, scores, context, &a) || !read_mask(ir, mask, &a)) return false;
  if (!read_moved(ir, scores->inputs[0], &q) || !read_moved(ir, scores->inputs[1], &k) ||
      !read_moved(ir, context->inputs[1], &v))
    return false;
  a.parts[0] = heads_of(&q, 2, 3);
  a.parts[1] = heads_of(&k, 3, 2);
  a.parts[2] = heads_of(&v, 2, 3);
  hl_value_id *inputs = hl_arena_array(&ir->arena, 5, sizeof(*inputs));
  hl_native_attention *kept = hl_arena_alloc(&ir->arena, sizeof(a));
  if (!inputs || !kept) return false;
  hl_native_set_result(ir, context, result_of(ir, context, &a));
  *kept = a;
  inputs[0] = q.value;
  inputs[1] = k.value;
  inputs[2] = v.value;
  inputs[3] = mask;
  context->inputs = inputs;
  context->input_count = mask >= 0 ? 4 : 3;
  context->op = "Attention";
  context->attention = kept;
  return true;
}

hl_status hl_native_pass_attention(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++)
    if (!ir->nodes[i].dead && strcmp(ir->nodes[i].op, "Softmax") == 0 && match(ir, &ir->nodes[i])) {
      hl_status status = hl_native_ir_sweep(ir, error);
      if (status != HL_OK) return status;
    }
  return hl_graph_status(ir->graph, error);
}
