/* Gradients of operators against central differences, in double by the reference functions. */
#include "graph/gradient.h"
#include "graph/operator.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * Inputs: "2x3" random in (-1, 1), "+2x3" in (0.2, 1.2), "*2x3" in (-3, 3), "z2x3" random with 0 as
 * its first and fourth, "" omitted, "=0.3" a
 * number that is constant, "i:1,2" constant integers, "i2x1:0,1" with a shape. Attributes:
 * "alpha=0.3 axis=1 perm=1,0 mode='edge' names=[a,b]"; a list of one ends with a comma.
 */
typedef struct gradient_case {
  const char *op, *inputs[8], *attributes;
  int64_t opset;
  size_t outputs;
} gradient_case;

#define CASE_OF(opset, outputs, op, attributes, ...)                                               \
  { op, {__VA_ARGS__}, attributes, opset, outputs }
#define CASE(...) CASE_OF(17, 1, __VA_ARGS__)

static const gradient_case cases[] = {
    CASE("Abs", "", "2x3"),
    CASE("Acos", "", "2x3"),
    CASE("Asin", "", "2x3"),
    CASE("Asinh", "", "2x3"),
    CASE("Atan", "", "2x3"),
    CASE("Atanh", "", "2x3"),
    CASE("Celu", "alpha=0.7", "2x3"),
    CASE("Cos", "", "2x3"),
    CASE("Cosh", "", "2x3"),
    CASE("Elu", "alpha=0.7", "2x3"),
    CASE("Erf", "", "2x3"),
    CASE("Exp", "", "2x3"),
    CASE_OF(20, 1, "Gelu", "", "2x3"),
    CASE_OF(20, 1, "Gelu", "approximate='tanh'", "2x3"),
    CASE("HardSigmoid", "alpha=0.9 beta=0.4", "3x9"),
    CASE("HardSwish", "", "2x3"),
    CASE("LeakyRelu", "alpha=0.2", "2x3"),
    CASE("Log", "", "+2x3"),
    CASE_OF(18, 1, "Mish", "", "2x3"),
    CASE("Neg", "", "2x3"),
    CASE("Reciprocal", "", "+2x3"),
    CASE("Relu", "", "2x3"),
    CASE("Selu", "", "2x3"),
    CASE("Shrink", "lambd=0.4 bias=0.1", "3x7"),
    CASE("Sigmoid", "", "2x3"),
    CASE("Sin", "", "2x3"),
    CASE("Sinh", "", "2x3"),
    CASE("Softplus", "", "2x3"),
    CASE("Softsign", "", "2x3"),
    CASE("Sqrt", "", "+2x3"),
    CASE("Tan", "", "2x3"),
    CASE("Tanh", "", "2x3"),
    CASE("ThresholdedRelu", "alpha=0.3", "3x7"),
    CASE("Identity", "", "2x3"),
    CASE("Floor", "", "2x3"),
    CASE("Add", "", "2x1x4", "3x1"),
    CASE("Sub", "", "2x3", "3"),
    CASE("Mul", "", "2x1x4", "3x1"),
    CASE("Div", "", "2x3", "+2x3"),
    CASE("Pow", "", "+2x3", "3"),
    CASE("Max", "", "2x3", "3", "2x1"),
    CASE("Min", "", "2x3", "3"),
    CASE("Sum", "", "2x3", "3", "1"),
    CASE("Mean", "", "2x3", "3", "1"),
    CASE("PRelu", "", "2x3x2", "3x1"),
    CASE("Clip", "", "3x7", "=-0.4", "=0.5"),
    CASE("MatMul", "", "2x3", "3x4"),
    CASE("MatMul", "", "2x1x2x3", "5x3x4"),
    CASE("MatMul", "", "3", "2x3x4"),
    CASE("MatMul", "", "2x4x3", "3"),
    CASE("MatMul", "", "3", "3"),
    CASE("Gemm", "", "2x3", "3x4", "4"),
    CASE("Gemm", "transA=1 transB=1 alpha=0.5 beta=0.25", "3x2", "4x3", "2x1"),
    CASE("Gemm", "transB=1 alpha=2.0", "2x3", "4x3", "1"),
    CASE("Gemm", "transA=1", "3x2", "3x4"),
    CASE("Einsum", "equation='ij,jk->ik'", "2x3", "3x4"),
    CASE("Einsum", "equation='bij,bjk,k->bi'", "2x2x3", "2x3x4", "4"),
    CASE("Einsum", "equation='ij->j'", "2x3"),
    CASE("Einsum", "equation='ij,k->i'", "2x3", "4"),
    CASE("DFT", "axis=1", "2x5x2"),
    CASE("DFT", "axis=1 onesided=1", "2x6x1"),
    CASE("DFT", "axis=1", "2x5x2", "i:4"),
    CASE("DFT", "axis=1 inverse=1", "2x5x1", "i:7"),
    CASE("DFT", "axis=1 inverse=1", "2x5x3x2"),

    CASE("Conv", "pads=1,0,1,1", "2x3x5x6", "4x3x3x2", "4"),
    CASE("Conv", "group=2 strides=2,3 pads=1,1,0,1 dilations=2,1", "1x4x7x6", "6x2x3x3", "6"),
    CASE("Conv", "strides=3, pads=1,1", "1x2x8", "3x2x3"),
    CASE("Conv", "strides=2,1,2", "1x1x4x3x5", "2x1x2x3x2", "2"),
    CASE("Conv", "auto_pad='SAME_UPPER' strides=2,2", "1x2x5x5", "3x2x3x3"),
    CASE("ConvTranspose", "strides=2,2 pads=1,1,1,1 output_padding=1,1", "2x3x4x3", "3x2x3x3", "2"),
    CASE("ConvTranspose", "group=2 strides=2,2", "1x4x3x3", "4x2x2x2"),
    CASE("ConvTranspose", "dilations=2, pads=1,2", "1x2x5", "2x3x3", "3"),
    CASE("MaxPool", "kernel_shape=3,2 strides=2,1 pads=1,0,1,1", "1x2x5x6"),
    CASE("MaxPool", "kernel_shape=2, strides=2, ceil_mode=1", "1x2x7"),
    CASE("AveragePool", "kernel_shape=3,2 strides=2,1 pads=1,0,1,1", "1x2x5x6"),
    CASE("AveragePool", "kernel_shape=3,2 pads=1,1,1,1 count_include_pad=1", "1x2x5x6"),
    CASE("GlobalAveragePool", "", "2x3x4x2"),
    CASE("GlobalMaxPool", "", "2x3x4x2"),
    CASE("ReduceSum", "keepdims=0", "2x3x4", "i:0,2"),
    CASE("ReduceSum", "", "2x3"),
    CASE("ReduceMean", "axes=1, keepdims=0", "2x3x4"),
    CASE("ReduceMean", "axes=-1,", "2x3x4"),
    CASE("ReduceMax", "axes=1,2 keepdims=0", "2x3x4"),
    CASE("ReduceMin", "axes=0,", "2x3x4"),
    CASE("ReduceL1", "axes=1,", "2x3"),
    CASE("ReduceL2", "axes=1, keepdims=0", "2x3"),
    CASE("ReduceSumSquare", "axes=0,", "2x3"),
    CASE("ReduceLogSum", "axes=1,", "+2x3"),
    CASE("ReduceLogSumExp", "axes=1, keepdims=0", "2x3"),
    CASE("CumSum", "", "2x3", "i1:1"),
    CASE("CumSum", "exclusive=1 reverse=1", "2x3", "i1:0"),
    CASE("Softmax", "axis=1", "2x3x4"),
    CASE_OF(11, 1, "Softmax", "", "2x3x4"),
    CASE("LogSoftmax", "", "2x3x4"),
    CASE("LayerNormalization", "", "2x3x4", "4", "4"),
    CASE("LayerNormalization", "axis=1", "2x3x4", "3x4"),
    CASE("InstanceNormalization", "", "2x3x4x2", "3", "3"),
    CASE_OF(18, 1, "GroupNormalization", "num_groups=2", "2x4x3", "2", "2"),
    CASE_OF(21, 1, "GroupNormalization", "num_groups=2", "2x4x3", "4", "4"),
    CASE("SoftmaxCrossEntropyLoss", "", "3x4", "i:0,3,1"),
    CASE("SoftmaxCrossEntropyLoss", "reduction='none'", "2x4x2", "i2x2:0,3,1,2"),
    CASE("SoftmaxCrossEntropyLoss", "reduction='sum' ignore_index=3", "3x4", "i:0,3,1"),
    CASE("NegativeLogLikelihoodLoss", "", "3x4", "i:0,3,1"),
    CASE("Reshape", "", "2x3", "i:3,2"),
    CASE("Flatten", "axis=1", "2x3x2"),
    CASE("Squeeze", "", "2x1x3", "i:1"),
    CASE("Unsqueeze", "", "2x3", "i:0,2"),
    CASE("Transpose", "perm=2,0,1", "2x3x4"),
    CASE("Transpose", "", "2x3x4"),
    CASE("Concat", "axis=-1", "2x3", "2x1", "2x2"),
    CASE_OF(17, 3, "Split", "axis=1", "2x6", "i:1,3,2"),
    CASE("Expand", "", "3x1", "i:2,3,4"),
    CASE("Tile", "", "2x3", "i:2,2"),
    CASE("Slice", "", "4x5", "i:3,1", "i:-9,5", "i:0,1", "i:-2,2"),
    CASE("Pad", "", "2x3", "i:1,0,1,2"),
    CASE("Pad", "", "2x3", "i:1,2,0,1", "=0.7"),
    CASE("Pad", "mode='reflect'", "2x3", "i:1,2,0,1"),
    CASE("Pad", "", "2x3", "i:-1,2,0,-1"),
    CASE("Gather", "", "4x3", "i2x2:1,3,1,0"),
    CASE("GatherElements", "", "3x3", "i2x3:1,2,0,2,0,0"),
    CASE("GatherND", "", "3x4", "i2x2:0,1,2,3"),
    CASE("DepthToSpace", "blocksize=2", "1x4x2x3"),
    CASE("Resize", "mode='linear'", "1x2x3x4", "", "", "i:1,2,5,7"),
    CASE("Resize", "mode='nearest'", "1x2x3x4", "", "", "i:1,2,6,8"),
    CASE("Resize", "mode='cubic' coordinate_transformation_mode='align_corners'", "1x1x4x4", "", "",
         "i:1,1,7,3"),
    CASE("GridSample", "", "2x2x4x3", "*2x3x2x2"),
    CASE("GridSample", "padding_mode='border' align_corners=1", "1x2x4x3", "*1x5x4x2"),
    CASE("GridSample", "padding_mode='reflection'", "1x1x4x3", "*1x5x4x2"),
    CASE("GridSample", "padding_mode='reflection' align_corners=1", "1x1x4x3", "*1x5x4x2"),
    CASE("GridSample", "mode='nearest'", "1x2x4x3", "1x3x2x2"),
    CASE("SpaceToDepth", "blocksize=2", "1x1x4x2"),

    CASE("Pow", "", "2x3", "i:3"),
    CASE("Pow", "", "2x3", "i:2,1,0"),
    CASE("Pow", "", "*2x3", "i:-2"),
    CASE("Pow", "", "2x3", "=3"),
    CASE("Mod", "fmod=1", "*2x3", "+3"),
    CASE("Clip", "", "3x7", "1", "1"),
    CASE("Clip", "", "3x7", "", "1"),
    CASE("Clip", "", "3x7", "1"),
    CASE("Pad", "", "2x3", "i:1,2,0,1", "1"),
    CASE("Pad", "", "2x3", "i:-1,2,0,-1", "1"),
    CASE("ReduceProd", "", "2x3"),
    CASE("ReduceProd", "axes=1,", "z2x3"),
    CASE("ReduceProd", "", "z2x3"),
    CASE("ReduceProd", "axes=0,2 keepdims=0", "2x3x4"),
    CASE_OF(18, 1, "ReduceProd", "", "2x3x4", "i:1"),
    CASE("LRN", "size=3 alpha=0.5 beta=0.6 bias=0.8", "2x5x3"),
    CASE("LRN", "size=4 alpha=2.0", "1x6x2x2"),
    CASE("LpNormalization", "axis=1", "2x3x2"),
    CASE("LpNormalization", "p=1", "2x3"),
    CASE("MeanVarianceNormalization", "", "2x3x2x2"),
    CASE("MeanVarianceNormalization", "axes=1,-1", "2x3x4"),
    CASE("Hardmax", "", "2x3"),
    CASE("GlobalLpPool", "", "2x3x4x2"),
    CASE("GlobalLpPool", "p=3", "2x2x3x2"),
    CASE("GlobalLpPool", "p=1", "2x2x3x2"),
    CASE("LpPool", "kernel_shape=3,2 strides=2,1 pads=1,0,1,1", "1x2x5x6"),
    CASE("LpPool", "kernel_shape=2, p=3", "1x2x5"),
    CASE("LpPool", "kernel_shape=2, p=1", "1x2x5"),
    CASE("Det", "", "3x3"),
    CASE("Det", "", "2x1x1"),
    CASE("Det", "", "2x2x4x4"),
    CASE_OF(18, 1, "Col2Im", "strides=2,2", "2x12x4", "i:4,4", "i:2,2"),
    CASE_OF(18, 1, "Col2Im", "pads=1,0,1,0 dilations=1,2", "1x8x10", "i:4,4", "i:2,2"),
    CASE_OF(20, 1, "AffineGrid", "", "2x2x3", "i:2,1,3,4"),
    CASE_OF(20, 1, "AffineGrid", "align_corners=1", "1x3x4", "i:1,1,2,3,4"),
    CASE("Trilu", "", "3x4"),
    CASE("Trilu", "upper=0", "2x3x3", "i1:-1"),
    CASE_OF(17, 1, "TopK", "", "2x6", "i:3"),
    CASE_OF(17, 1, "TopK", "axis=0 largest=0", "5x2", "i:2"),
    CASE_OF(10, 1, "TopK", "axis=0", "5x2", "i:2"),
    CASE_OF(18, 1, "ScatterElements", "axis=1", "2x5", "i2x2:1,3,0,4", "2x2"),
    CASE_OF(18, 1, "ScatterElements", "reduction='add'", "3x2", "i2x2:1,1,1,0", "2x2"),
    CASE_OF(18, 1, "ScatterND", "", "4x3", "i2x1:1,3", "2x3"),
    CASE_OF(18, 1, "ScatterND", "reduction='add'", "4x3", "i2x1:1,1", "2x3"),

    CASE_OF(17, 2, "RNN", "", "5x2x3", "1x4x3", "1x4x4", "1x8", "", "1x2x4"),
    CASE_OF(17, 2, "RNN", "activations=[Relu,Tanh] direction='bidirectional'", "5x2x3", "2x4x3",
            "2x4x4", "2x8", "i:5,3", "2x2x4"),
    CASE_OF(17, 1, "RNN", "direction='reverse' activations=[Sigmoid]", "3x2x3", "1x4x3", "1x4x4"),
    CASE_OF(17, 2, "GRU", "", "5x2x3", "1x12x3", "1x12x4", "1x24", "", "1x2x4"),
    CASE_OF(17, 2, "GRU", "linear_before_reset=1", "5x2x3", "1x12x3", "1x12x4", "1x24", "",
            "1x2x4"),
    CASE_OF(17, 2, "GRU", "linear_before_reset=1 direction='bidirectional'", "5x3x3", "2x12x3",
            "2x12x4", "2x24", "i:0,5,2", "2x3x4"),
    CASE_OF(17, 2, "GRU", "layout=1 direction='reverse'", "2x5x3", "1x12x3", "1x12x4", "1x24", "",
            "2x1x4"),
    CASE_OF(17, 2, "GRU", "clip=0.3 linear_before_reset=1", "4x2x3", "1x12x3", "1x12x4"),
    CASE_OF(17, 3, "LSTM", "", "5x2x3", "1x16x3", "1x16x4", "1x32", "", "1x2x4", "1x2x4"),
    CASE_OF(17, 3, "LSTM", "direction='bidirectional'", "5x2x3", "2x16x3", "2x16x4", "2x32",
            "i:3,5", "2x2x4", "2x2x4", "2x12"),
    CASE_OF(17, 3, "LSTM", "input_forget=1 layout=1", "2x5x3", "1x16x3", "1x16x4", "1x32", "",
            "2x1x4", "2x1x4", "1x12"),
    CASE_OF(17, 3, "LSTM", "clip=0.4 direction='reverse' activations=[Sigmoid,Relu,Sigmoid]",
            "5x2x3", "1x16x3", "1x16x4", "1x32", "", "1x2x4", "1x2x4"),
};

enum { MOST = 8 };

/* A case as a graph: real inputs, the loss, and the loss's gradients as outputs. */
typedef struct built {
  hl_graph *graph;
  hl_value_id reals[MOST];
  size_t real_count;
  double *data[MOST];
  hl_value_id loss;
} built;

static uint64_t state;
static double random_real(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

static int32_t read_dims(const char **at, int64_t *dims) {
  int32_t rank = 0;
  while (**at >= '0' && **at <= '9') {
    dims[rank++] = strtoll(*at, (char **)(uintptr_t)at, 10);
    if (**at == 'x') (*at)++;
  }
  return rank;
}

static hl_value_id integers(hl_graph *graph, const char *name, const char *text) {
  int64_t dims[HL_MAX_RANK] = {0}, values[64];
  int64_t count = 0;
  const char *at = text + 1;
  int32_t rank = read_dims(&at, dims);
  for (at++; *at; at += *at == ',') values[count++] = strtoll(at, (char **)(uintptr_t)&at, 10);
  if (rank == 0) dims[rank++] = count;
  return hl_graph_constant(graph, name, HL_INT64, rank, dims, values);
}

static hl_value_id make_input(built *b, size_t i, const char *text) {
  char name[16];
  snprintf(name, sizeof name, "x%zu", i);
  if (!*text) return -1;
  if (*text == 'i') return integers(b->graph, name, text);
  if (*text == '=')
    return hl_graph_constant(b->graph, name, HL_FLOAT64, 0, NULL,
                             &(double){strtod(text + 1, NULL)});
  bool positive = *text == '+', wide = *text == '*', zeros = *text == 'z';
  const char *at = text + (positive || wide || zeros);
  int64_t dims[HL_MAX_RANK] = {0}, count = 1;
  int32_t rank = read_dims(&at, dims);
  for (int32_t d = 0; d < rank; d++) count *= dims[d];
  double *data = malloc((size_t)count * sizeof *data);
  assert_non_null(data);
  for (int64_t k = 0; k < count; k++)
    data[k] = zeros && k % 3 == 0 ? 0
              : positive          ? 0.2 + random_real()
                                  : (wide ? 6 : 1.9) * (random_real() - 0.5);
  b->data[b->real_count] = data;
  b->reals[b->real_count] = hl_graph_input(b->graph, name, HL_FLOAT64, rank, dims);
  return b->reals[b->real_count++];
}

static void set_list(hl_graph *graph, hl_node *node, const char *key, const char *at) {
  int64_t values[16];
  size_t count = 0;
  for (; *at; at += *at == ',') values[count++] = strtoll(at, (char **)(uintptr_t)&at, 10);
  hl_node_set_ints(graph, node, key, values, count);
}

/* "Relu,Tanh]" */
static void set_texts(hl_graph *graph, hl_node *node, const char *key, char *text) {
  const char *values[8];
  size_t count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(text, ",]", &rest); word; word = strtok_r(NULL, ",]", &rest))
    values[count++] = word;
  hl_node_set_texts(graph, node, key, values, count);
}

static void set_attributes(hl_graph *graph, hl_node *node, const char *text) {
  char copy[160], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(word, '=');
    *value++ = '\0';
    if (*value == '\'') {
      value[strlen(value) - 1] = '\0';
      hl_node_set_text(graph, node, word, value + 1);
    } else if (*value == '[') {
      set_texts(graph, node, word, value + 1);
    } else if (strchr(value, ',')) {
      set_list(graph, node, word, value);
    } else if (strchr(value, '.')) {
      hl_node_set_real(graph, node, word, strtof(value, NULL));
    } else {
      hl_node_set_int(graph, node, word, strtoll(value, NULL, 10));
    }
  }
}

/* Sum over all outputs of the output times random numbers. */
static hl_value_id make_loss(hl_graph *graph, const hl_value_id *outputs, size_t count) {
  hl_value_id loss = -1;
  for (size_t i = 0; i < count; i++) {
    const hl_shape shape = graph->values[outputs[i]].shape;
    int64_t elements = hl_shape_elements(&shape);
    double *weights = malloc((size_t)(elements + 1) * sizeof *weights);
    assert_non_null(weights);
    for (int64_t k = 0; k < elements; k++) weights[k] = 0.5 + random_real();
    char name[32];
    snprintf(name, sizeof name, "weights%zu", i);
    hl_value_id w = hl_graph_constant(graph, name, HL_FLOAT64, shape.rank, shape.dims, weights);
    free(weights);
    hl_value_id term, both[2] = {outputs[i], w};
    snprintf(name, sizeof name, "product%zu", i);
    hl_graph_node(graph, "Mul", name, both, 2, &term, 1);
    snprintf(name, sizeof name, "sum%zu", i);
    hl_node_set_int(graph, hl_graph_node(graph, "ReduceSum", name, &term, 1, &term, 1), "keepdims",
                    0);
    snprintf(name, sizeof name, "total%zu", i);
    if (loss >= 0) hl_graph_node(graph, "Add", name, (hl_value_id[]){loss, term}, 2, &term, 1);
    loss = term;
  }
  return loss;
}

static void ok(hl_status status, const hl_error *error, const char *what) {
  if (status != HL_OK) fail_msg("%s: %s", what, error->msg);
}

static built build(const gradient_case *c) {
  built b = {0};
  hl_error error = {0};
  ok(hl_graph_new("case", &b.graph, &error), &error, c->op);
  b.graph->opset = c->opset;
  hl_value_id inputs[MOST], outputs[4];
  size_t count = 0, output_count = c->outputs;
  for (size_t i = 0; i < MOST && c->inputs[i]; i++)
    inputs[count++] = make_input(&b, i, c->inputs[i]);
  hl_node *node = hl_graph_node(b.graph, c->op, "node", inputs, count, outputs, output_count);
  set_attributes(b.graph, node, c->attributes);
  ok(hl_graph_resolve(b.graph, &error), &error, c->op);
  ok(hl_graph_infer(b.graph, &error), &error, c->op);
  b.loss = make_loss(b.graph, outputs, output_count);
  ok(hl_graph_resolve(b.graph, &error), &error, c->op);
  ok(hl_graph_infer(b.graph, &error), &error, c->op);
  return b;
}

static void evaluate(const built *b, hl_tensor_view *outputs) {
  hl_tensor_view inputs[MOST] = {{0}};
  hl_error error = {0};
  for (size_t i = 0; i < b->real_count; i++) {
    const hl_value *value = &b->graph->values[b->reals[i]];
    inputs[i] =
        (hl_tensor_view){.dtype = HL_FLOAT64, .rank = value->shape.rank, .data = b->data[i]};
    memcpy(inputs[i].dims, value->shape.dims, sizeof inputs[i].dims);
    inputs[i].bytes = (uint64_t)hl_shape_elements(&value->shape) * sizeof(double);
  }
  ok(hl_graph_evaluate(b->graph, inputs, outputs, &error), &error, "evaluate");
}

static double loss_of(const built *b) {
  hl_tensor_view outputs[MOST + 1] = {{0}};
  evaluate(b, outputs);
  double loss = *(double *)outputs[0].data;
  for (size_t i = 0; i < b->graph->output_count; i++) free(outputs[i].data);
  return loss;
}

/* The error of one input's gradient: largest difference over the largest difference quotient. */
static double error_of(const built *b, size_t input, const double *gradient) {
  const double step = 1e-5;
  double most = 0, worst = 0;
  int64_t count = hl_shape_elements(&b->graph->values[b->reals[input]].shape);
  for (int64_t i = 0; i < count; i++) {
    double *x = &b->data[input][i], kept = *x;
    *x = kept + step;
    double above = loss_of(b);
    *x = kept - step;
    double below = loss_of(b);
    *x = kept;
    double quotient = (above - below) / (2 * step);
    most = fmax(most, fabs(quotient));
    worst = fmax(worst, fabs(quotient - gradient[i]));
  }
  return most > 0 ? worst / most : worst;
}

static void check_case(const gradient_case *c) {
  hl_error error = {0};
  built b = build(c);
  hl_value_id gradients[MOST];
  ok(hl_graph_differentiate(b.graph, b.loss, b.reals, b.real_count, gradients, &error), &error,
     c->op);
  hl_graph_output(b.graph, b.loss);
  for (size_t i = 0; i < b.real_count; i++)
    if (gradients[i] >= 0) hl_graph_output(b.graph, gradients[i]);
  hl_tensor_view outputs[MOST + 1] = {{0}};
  evaluate(&b, outputs);
  size_t at = 1;
  for (size_t i = 0; i < b.real_count; i++) {
    const hl_value *value = &b.graph->values[b.reals[i]];
    int64_t count = hl_shape_elements(&value->shape);
    double *zeros = calloc((size_t)count, sizeof *zeros);
    const hl_tensor_view *given = gradients[i] >= 0 ? &outputs[at++] : NULL;
    if (given) {
      assert_int_equal(given->rank, value->shape.rank);
      assert_memory_equal(given->dims, value->shape.dims,
                          (size_t)given->rank * sizeof *given->dims);
    }
    double worst = error_of(&b, i, given ? given->data : zeros);
    free(zeros);
    if (!(worst < 1e-7))
      fail_msg("%s (%s): input %zu differs by %g", c->op, c->attributes, i, worst);
  }
  for (size_t i = 0; i < b.graph->output_count; i++) free(outputs[i].data);
  for (size_t i = 0; i < b.real_count; i++) free(b.data[i]);
  hl_graph_free(b.graph);
}

static void test_operators(void **context) {
  (void)context;
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    state = i + 1;
    check_case(&cases[i]);
  }
}

/* loss = sum(x x) + sum(x): a value that is used three times; y is not used at all. */
static void test_uses(void **context) {
  (void)context;
  hl_error error = {0};
  built b = {0};
  ok(hl_graph_new("uses", &b.graph, &error), &error, "new");
  hl_value_id x = make_input(&b, 0, "3"), y = make_input(&b, 1, "2"), product, sums[2];
  hl_graph_node(b.graph, "Mul", "product", (hl_value_id[]){x, x}, 2, &product, 1);
  hl_graph_node(b.graph, "ReduceSum", "first", &product, 1, &sums[0], 1);
  hl_graph_node(b.graph, "ReduceSum", "second", &x, 1, &sums[1], 1);
  hl_graph_node(b.graph, "Add", "loss", sums, 2, &b.loss, 1);
  ok(hl_graph_resolve(b.graph, &error), &error, "resolve");
  ok(hl_graph_infer(b.graph, &error), &error, "infer");
  hl_value_id gradients[2];
  ok(hl_graph_differentiate(b.graph, b.loss, (hl_value_id[]){x, y}, 2, gradients, &error), &error,
     "differentiate");
  assert_int_equal(gradients[1], -1);
  hl_graph_output(b.graph, gradients[0]);
  hl_tensor_view output = {0};
  evaluate(&b, &output);
  for (int i = 0; i < 3; i++)
    assert_true(fabs(((double *)output.data)[i] - (2 * b.data[0][i] + 1)) < 1e-15);
  free(output.data);
  free(b.data[0]);
  free(b.data[1]);
  hl_graph_free(b.graph);
}

static void refuse(const gradient_case *c, bool of_output, hl_status expected, const char *text) {
  hl_error error = {0};
  built b = build(c);
  hl_value_id gradients[MOST], loss = of_output ? hl_graph_find(b.graph, "node_out") : b.loss;
  assert_int_equal(hl_graph_differentiate(b.graph, loss, b.reals, b.real_count, gradients, &error),
                   expected);
  assert_non_null(strstr(error.msg, text));
  for (size_t i = 0; i < b.real_count; i++) free(b.data[i]);
  hl_graph_free(b.graph);
}

static void test_refusals(void **context) {
  (void)context;
  refuse(&(gradient_case)CASE("Relu", "", "2x3"), true, HL_INVALID_ARGUMENT, "one real number");
  refuse(&(gradient_case)CASE("Einsum", "equation='ii->i'", "3x3"), false, HL_UNIMPLEMENTED,
         "'node' (Einsum): the gradient of 'ii->i'");
  refuse(&(gradient_case)CASE_OF(10, 1, "Scatter", "", "2x3", "i2x1:1,0", "2x1"), false,
         HL_UNIMPLEMENTED, "no gradient");
  refuse(&(gradient_case)CASE_OF(18, 1, "ScatterND", "reduction='mul'", "4x3", "i2x1:1,3", "2x3"),
         false, HL_UNIMPLEMENTED, "reduction 'mul'");
}

/* Where a quotient or a power would make NaN of zeros. */
static void test_zeros(void **context) {
  (void)context;
  const gradient_case zero_cases[] = {
      CASE("ReduceL2", "axes=1, keepdims=0", "2x3"), CASE("LpNormalization", "", "2x3"),
      CASE("LpNormalization", "p=1", "2x3"),         CASE("GlobalLpPool", "p=3", "1x2x3"),
      CASE("LpPool", "kernel_shape=2,", "1x2x3"),    CASE("Pow", "", "2x3", "=0")};
  for (size_t i = 0; i < HL_COUNT(zero_cases); i++) {
    const gradient_case *c = &zero_cases[i];
    hl_error error = {0};
    built b = build(c);
    hl_value_id gradient;
    memset(b.data[0], 0, 6 * sizeof *b.data[0]);
    ok(hl_graph_differentiate(b.graph, b.loss, b.reals, 1, &gradient, &error), &error, c->op);
    hl_graph_output(b.graph, gradient);
    hl_tensor_view output = {0};
    evaluate(&b, &output);
    for (int k = 0; k < 6; k++)
      if (((double *)output.data)[k] != 0)
        fail_msg("%s of zeros: %g", c->op, ((double *)output.data)[k]);
    free(output.data);
    free(b.data[0]);
    hl_graph_free(b.graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators), cmocka_unit_test(test_uses),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_zeros)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
