/* Self-attention, the transformer encoder of torch's default layer, and ViT-B/16. */
#include "models/network.h"

#include <math.h>

/* Queries and keys of this much more than unit deviation: scores then have a deviation near 2 and
 * a token listens to a handful of others. */
#define GAIN_ATTENTION 1.4

/* (batch, tokens, width) to (batch, heads, ...) with axes ordered by `perm`. */
static hl_value_id split_heads(hl_network *n, const char *name, hl_value_id x, int64_t tokens,
                               int64_t heads, int64_t head_width, const int64_t perm[4]) {
  hl_value_id shape =
      hl_net_ints(n, hl_name(n, "%s.shape", name), 4, (int64_t[]){0, tokens, heads, head_width});
  hl_value_id y = hl_net_op2(n, "Reshape", hl_name(n, "%s.heads", name), x, shape);
  hl_node *node = hl_net_node(n, "Transpose", hl_name(n, "%s.transpose", name), &y, 1, &y);
  hl_node_set_ints(n->graph, node, "perm", perm, 4);
  return y;
}

static hl_value_id softmax(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id output;
  hl_node *node = hl_net_node(n, "Softmax", name, &x, 1, &output);
  hl_node_set_int(n->graph, node, "axis", -1);
  return output;
}

hl_value_id hl_net_attention(hl_network *n, const char *name, hl_value_id x, int64_t tokens,
                             int64_t width, int64_t heads, double gain) {
  static const int64_t plain[] = {0, 2, 1, 3}, transposed[] = {0, 2, 3, 1};
  int64_t head_width = width / heads;
  hl_value_id all =
      hl_net_project(n, hl_name(n, "%s.in_proj", name), x, width, 3 * width, GAIN_ATTENTION);
  hl_value_id parts[3] = {-1, -1, -1};
  hl_node *split =
      hl_graph_node(n->graph, "Split", hl_name(n, "%s.split", name), &all, 1, parts, 3);
  hl_node_set_int(n->graph, split, "axis", -1);
  hl_value_id q =
      split_heads(n, hl_name(n, "%s.query", name), parts[0], tokens, heads, head_width, plain);
  hl_value_id k =
      split_heads(n, hl_name(n, "%s.key", name), parts[1], tokens, heads, head_width, transposed);
  hl_value_id v =
      split_heads(n, hl_name(n, "%s.value", name), parts[2], tokens, heads, head_width, plain);
  hl_value_id scale =
      hl_net_scalar(n, hl_name(n, "%s.factor", name), (float)(1 / sqrt((double)head_width)));
  hl_value_id y = hl_net_op2(n, "MatMul", hl_name(n, "%s.scores", name), q, k);
  y = hl_net_op2(n, "Mul", hl_name(n, "%s.scaled", name), y, scale);
  y = softmax(n, hl_name(n, "%s.softmax", name), y);
  y = hl_net_op2(n, "MatMul", hl_name(n, "%s.context", name), y, v);
  hl_node *back = hl_net_node(n, "Transpose", hl_name(n, "%s.back", name), &y, 1, &y);
  hl_node_set_ints(n->graph, back, "perm", plain, 4);
  hl_value_id shape =
      hl_net_ints(n, hl_name(n, "%s.merge.shape", name), 3, (int64_t[]){0, tokens, width});
  y = hl_net_op2(n, "Reshape", hl_name(n, "%s.merge", name), y, shape);
  return hl_net_project(n, hl_name(n, "%s.out_proj", name), y, width, width, gain);
}

/* Adds a branch to the stream that it came from. */
static hl_value_id add(hl_network *n, const char *name, hl_value_id x, hl_value_id branch) {
  return hl_net_op2(n, "Add", name, x, branch);
}

/* -- transformer_encoder, multihead_attention ------------------------------------------------- */

hl_status hl_check_attention(hl_model_spec *spec, hl_error *error) {
  if (hl_model_int(spec, "hidden") % hl_model_int(spec, "heads"))
    return hl_model_refuse(spec, "heads", "a divisor of hidden", error);
  double hidden = hl_model_real(spec, "hidden");
  return hl_model_limit(spec, 4 * hidden * (hidden + 1), error);
}

static hl_status check_layers(hl_model_spec *spec, double layers, hl_error *error) {
  hl_status status = hl_check_attention(spec, error);
  if (status != HL_OK) return status;
  double hidden = hl_model_real(spec, "hidden"), ff = hl_model_real(spec, "ff");
  double layer = 4 * hidden * (hidden + 1) + 2 * hidden * ff + ff + 5 * hidden;
  return hl_model_limit(spec, layers * layer, error);
}

hl_status hl_check_transformer(hl_model_spec *spec, hl_error *error) {
  return check_layers(spec, hl_model_real(spec, "layers"), error);
}

hl_status hl_check_transformer_layer(hl_model_spec *spec, hl_error *error) {
  return check_layers(spec, 1, error);
}

/* Normalisation after each residual sum (norm_first=False) and ReLU. */
static void build_layers(hl_network *n, int64_t layers) {
  int64_t tokens = hl_model_int(n->spec, "tokens"), width = hl_model_int(n->spec, "hidden");
  int64_t heads = hl_model_int(n->spec, "heads"), ff = hl_model_int(n->spec, "ff");
  hl_value_id x = hl_net_input(n, "input", 3, (int64_t[]){-1, tokens, width});
  for (int64_t i = 0; i < layers; i++) {
    const char *layer = hl_name(n, "layers.%d", (int)i);
    hl_value_id y =
        hl_net_attention(n, hl_name(n, "%s.self_attn", layer), x, tokens, width, heads, 1);
    x = add(n, hl_name(n, "%s.residual1", layer), x, y);
    x = hl_net_layer_norm(n, hl_name(n, "%s.norm1", layer), x, width, 1e-5f);
    y = hl_net_project(n, hl_name(n, "%s.linear1", layer), x, width, ff, HL_GAIN_LINEAR);
    y = hl_net_op1(n, "Relu", hl_name(n, "%s.relu", layer), y);
    y = hl_net_project(n, hl_name(n, "%s.linear2", layer), y, ff, width, HL_GAIN_RELU);
    x = add(n, hl_name(n, "%s.residual2", layer), x, y);
    x = hl_net_layer_norm(n, hl_name(n, "%s.norm2", layer), x, width, 1e-5f);
  }
  hl_net_output(n, x, "output", 3, (int64_t[]){-1, tokens, width});
}

void hl_build_transformer_encoder(hl_network *n) {
  build_layers(n, hl_model_int(n->spec, "layers"));
}

void hl_build_transformer_encoder_layer(hl_network *n) {
  build_layers(n, 1);
}

void hl_build_multihead_attention(hl_network *n) {
  int64_t tokens = hl_model_int(n->spec, "tokens"), width = hl_model_int(n->spec, "hidden");
  hl_value_id x = hl_net_input(n, "input", 3, (int64_t[]){-1, tokens, width});
  x = hl_net_attention(n, "attn", x, tokens, width, hl_model_int(n->spec, "heads"), 1);
  hl_net_output(n, x, "output", 3, (int64_t[]){-1, tokens, width});
}

/* -- vit_b_16 --------------------------------------------------------------------------------- */

#define VIT_WIDTH 768
#define VIT_HEADS 12
#define VIT_LAYERS 12
#define VIT_MLP 3072
#define VIT_PATCH 16
#define VIT_PATCHES 196 /* (224 / 16)^2 */
#define VIT_TOKENS (VIT_PATCHES + 1)
#define VIT_EPSILON 1e-6f
/* Of what a branch adds to the stream, so that 24 of them do not drown what came before. */
#define VIT_BRANCH 0.5

/* The class token, once for each image of the batch: (batch, 1, width). */
static hl_value_id class_token(hl_network *n, hl_value_id x) {
  hl_value_id token = hl_net_random(n, "class_token", 3, (int64_t[]){1, 1, VIT_WIDTH}, 0, 1);
  hl_value_id shape = hl_net_op1(n, "Shape", "class_token.shape", x);
  hl_value_id zero = hl_net_ints(n, "class_token.zero", 1, (int64_t[]){0});
  hl_value_id batch = hl_net_op2(n, "Gather", "class_token.batch", shape, zero);
  hl_value_id rest = hl_net_ints(n, "class_token.rest", 2, (int64_t[]){1, VIT_WIDTH});
  hl_value_id target;
  hl_node *concat =
      hl_net_node(n, "Concat", "class_token.target", (hl_value_id[]){batch, rest}, 2, &target);
  hl_node_set_int(n->graph, concat, "axis", 0);
  return hl_net_op2(n, "Expand", "class_token.expand", token, target);
}

/* Patches to tokens, the class token before them, positions added: (batch, 197, 768). */
static hl_value_id embed(hl_network *n, hl_value_id image) {
  hl_value_id x = hl_net_conv(n, "conv_proj", image,
                              &(hl_conv){.spatial = 2,
                                         .in = 3,
                                         .out = VIT_WIDTH,
                                         .kernel = VIT_PATCH,
                                         .stride = VIT_PATCH,
                                         .gain = HL_GAIN_LINEAR,
                                         .bias = true});
  hl_value_id shape = hl_net_ints(n, "patches.shape", 3, (int64_t[]){0, VIT_WIDTH, VIT_PATCHES});
  x = hl_net_op2(n, "Reshape", "patches", x, shape);
  hl_node *node = hl_net_node(n, "Transpose", "tokens", &x, 1, &x);
  hl_node_set_ints(n->graph, node, "perm", (int64_t[]){0, 2, 1}, 3);
  hl_value_id parts[] = {class_token(n, image), x};
  node = hl_net_node(n, "Concat", "with_class", parts, 2, &x);
  hl_node_set_int(n->graph, node, "axis", 1);
  hl_value_id positions =
      hl_net_random(n, "encoder.pos_embedding", 3, (int64_t[]){1, VIT_TOKENS, VIT_WIDTH}, 0, 0.2);
  return hl_net_op2(n, "Add", "with_positions", x, positions);
}

/* torchvision's vit_b_16: normalisation before each branch, GELU. */
void hl_build_vit_b_16(hl_network *n) {
  hl_value_id x = embed(n, hl_net_input(n, "input", 4, (int64_t[]){-1, 3, 224, 224}));
  for (int i = 0; i < VIT_LAYERS; i++) {
    const char *layer = hl_name(n, "encoder.layers.%d", i);
    hl_value_id y = hl_net_layer_norm(n, hl_name(n, "%s.ln_1", layer), x, VIT_WIDTH, VIT_EPSILON);
    y = hl_net_attention(n, hl_name(n, "%s.self_attention", layer), y, VIT_TOKENS, VIT_WIDTH,
                         VIT_HEADS, VIT_BRANCH);
    x = add(n, hl_name(n, "%s.residual1", layer), x, y);
    y = hl_net_layer_norm(n, hl_name(n, "%s.ln_2", layer), x, VIT_WIDTH, VIT_EPSILON);
    y = hl_net_project(n, hl_name(n, "%s.mlp.0", layer), y, VIT_WIDTH, VIT_MLP, HL_GAIN_LINEAR);
    y = hl_net_gelu(n, hl_name(n, "%s.mlp.gelu", layer), y);
    y = hl_net_project(n, hl_name(n, "%s.mlp.3", layer), y, VIT_MLP, VIT_WIDTH,
                       VIT_BRANCH * HL_GAIN_RELU);
    x = add(n, hl_name(n, "%s.residual2", layer), x, y);
  }
  x = hl_net_layer_norm(n, "encoder.ln", x, VIT_WIDTH, VIT_EPSILON);
  hl_value_id zero = hl_graph_constant(n->graph, "class", HL_INT64, 0, NULL, &(int64_t){0});
  hl_node *node = hl_net_node(n, "Gather", "class_only", (hl_value_id[]){x, zero}, 2, &x);
  hl_node_set_int(n->graph, node, "axis", 1);
  x = hl_net_linear(n, "heads.head", x, VIT_WIDTH, 1000, HL_GAIN_LINEAR);
  hl_net_output(n, x, "logits", 2, (int64_t[]){-1, 1000});
}
