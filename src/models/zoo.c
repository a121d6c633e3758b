/* NeuralLayers' single layers. */
#include "models/network.h"

#include <math.h>
#include <string.h>

/* Inputs and outputs (batch, hidden). */
static void vector_output(hl_network *n, hl_value_id value) {
  hl_net_output(n, value, "output", 2, (int64_t[]){-1, hl_model_int(n->spec, "hidden")});
}

static hl_value_id vector_input(hl_network *n, const char *name) {
  return hl_net_input(n, name, 2, (int64_t[]){-1, hl_model_int(n->spec, "hidden")});
}

hl_status hl_check_linear(hl_model_spec *spec, hl_error *error) {
  double in = hl_model_real(spec, "input_dim"), out = hl_model_real(spec, "hidden_dim");
  return hl_model_limit(spec, (in + 1) * out, error);
}

void hl_build_linear(hl_network *n) {
  int64_t in = hl_model_int(n->spec, "input_dim"), out = hl_model_int(n->spec, "hidden_dim");
  hl_value_id x = hl_net_input(n, "input", 2, (int64_t[]){-1, in});
  x = hl_net_linear(n, "linear", x, in, out, HL_GAIN_LINEAR);
  hl_net_output(n, x, "output", 2, (int64_t[]){-1, out});
}

void hl_build_layer_norm(hl_network *n) {
  hl_value_id x = vector_input(n, "input");
  x = hl_net_layer_norm(n, "norm", x, hl_model_int(n->spec, "hidden"), 1e-5f);
  vector_output(n, x);
}

void hl_build_activation(hl_network *n) {
  static const struct {
    const char *kind, *op;
  } kinds[] = {{"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}};
  const char *kind = hl_model_text(n->spec, "kind");
  hl_value_id x = vector_input(n, "input"), y = -1;
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (strcmp(kinds[i].kind, kind) == 0) y = hl_net_op1(n, kinds[i].op, kind, x);
  vector_output(n, y < 0 ? hl_net_gelu(n, kind, x) : y);
}

/* 0.4 a + 0.3 b + 0.2 c + 0.1 d */
void hl_build_weighted_sum(hl_network *n) {
  static const float weights[] = {0.4f, 0.3f, 0.2f, 0.1f};
  hl_value_id sum = -1;
  for (int i = 0; i < 4; i++) {
    hl_value_id x = vector_input(n, hl_name(n, "input%d", i + 1));
    hl_value_id weight = hl_net_scalar(n, hl_name(n, "weight%d", i + 1), weights[i]);
    x = hl_net_op2(n, "Mul", hl_name(n, "mul%d", i + 1), x, weight);
    sum = i ? hl_net_op2(n, "Add", hl_name(n, "add%d", i), sum, x) : x;
  }
  vector_output(n, sum);
}

/* exp(-|x|^2 / (2 phi^2)) */
void hl_build_gaussian(hl_network *n) {
  double phi = hl_model_real(n->spec, "phi");
  hl_value_id x = vector_input(n, "input");
  hl_value_id y = hl_net_op2(n, "Mul", "square", x, x);
  hl_value_id axes = hl_net_ints(n, "axes", 1, (int64_t[]){1});
  y = hl_net_op2(n, "ReduceSum", "sum", y, axes);
  y = hl_net_op2(n, "Mul", "scale", y, hl_net_scalar(n, "factor", (float)(-0.5 / (phi * phi))));
  y = hl_net_op1(n, "Exp", "exp", y);
  hl_net_output(n, y, "output", 2, (int64_t[]){-1, 1});
}

/* a b / sqrt(1 + a^2 + b^2) */
void hl_build_soft_product(hl_network *n) {
  hl_value_id a = vector_input(n, "a"), b = vector_input(n, "b");
  hl_value_id product = hl_net_op2(n, "Mul", "product", a, b);
  hl_value_id squares = hl_net_op2(n, "Add", "squares", hl_net_op2(n, "Mul", "a_square", a, a),
                                   hl_net_op2(n, "Mul", "b_square", b, b));
  squares = hl_net_op2(n, "Add", "plus_one", squares, hl_net_scalar(n, "one", 1));
  hl_value_id root = hl_net_op1(n, "Sqrt", "root", squares);
  vector_output(n, hl_net_op2(n, "Div", "quotient", product, root));
}

/* -- gru -------------------------------------------------------------------------------------- */

hl_status hl_check_gru(hl_model_spec *spec, hl_error *error) {
  double in = hl_model_real(spec, "input_dim"), width = hl_model_real(spec, "hidden_dim");
  double layers = hl_model_real(spec, "layers");
  double weights = 3 * width * (in + width + 2) + (layers - 1) * 3 * width * (2 * width + 2);
  return hl_model_limit(spec, weights, error);
}

static hl_value_id transpose(hl_network *n, const char *name, hl_value_id x, const int64_t *order,
                             size_t rank) {
  hl_node *node = hl_net_node(n, "Transpose", name, &x, 1, &x);
  hl_node_set_ints(n->graph, node, "perm", order, rank);
  return x;
}

/* x and the result are (tokens, batch, width). The state begins as zeros. */
static hl_value_id gru_layer(hl_network *n, const char *name, hl_value_id x, int64_t in,
                             int64_t width) {
  hl_value_id inputs[] = {
      x,
      hl_net_random(n, hl_name(n, "%s.W", name), 3, (int64_t[]){1, 3 * width, in}, 0,
                    1 / sqrt((double)in)),
      hl_net_random(n, hl_name(n, "%s.R", name), 3, (int64_t[]){1, 3 * width, width}, 0,
                    1 / sqrt((double)width)),
      hl_net_random(n, hl_name(n, "%s.B", name), 2, (int64_t[]){1, 6 * width}, 0, 0.05)};
  hl_node *node = hl_net_node(n, "GRU", name, inputs, 4, &x);
  hl_node_set_int(n->graph, node, "hidden_size", width);
  hl_node_set_int(n->graph, node, "linear_before_reset", 1); /* as torch and cuDNN have it */
  hl_value_id direction = hl_net_ints(n, hl_name(n, "%s.direction", name), 1, (int64_t[]){1});
  return hl_net_op2(n, "Squeeze", hl_name(n, "%s.squeeze", name), x, direction);
}

/* torch.nn.GRU with batch_first: every token's state of the last layer. ONNX's own layout=1 is not
 * used, because ONNX Runtime refuses it. */
void hl_build_gru(hl_network *n) {
  static const int64_t swap[] = {1, 0, 2};
  int64_t in = hl_model_int(n->spec, "input_dim"), width = hl_model_int(n->spec, "hidden_dim");
  int64_t tokens = hl_model_int(n->spec, "tokens");
  hl_value_id x = hl_net_input(n, "input", 3, (int64_t[]){-1, tokens, in});
  x = transpose(n, "tokens_first", x, swap, 3);
  for (int64_t i = 0; i < hl_model_int(n->spec, "layers"); i++)
    x = gru_layer(n, hl_name(n, "gru.%d", (int)i), x, i ? width : in, width);
  x = transpose(n, "batch_first", x, swap, 3);
  hl_net_output(n, x, "output", 3, (int64_t[]){-1, tokens, width});
}

/* -- fft -------------------------------------------------------------------------------------- */

/*
 * The matrix of a transform along one axis, (2 size, 2 size) because a complex number is a pair:
 * element (2 j + c, 2 k + d) is the cosine of 2 pi jk / size, a quarter turn further for imaginary
 * from real and back for real from imaginary. It is made in the graph from integers, so that nobody
 * takes it for parameters; every engine computes it once, when it loads the network.
 */
static hl_value_id fft_matrix(hl_network *n, int64_t size) {
  const int64_t turn = 4 * size;
  hl_value_id angles =
      hl_graph_constant(n->graph, "quarters", HL_INT64, 2, (int64_t[]){2 * size, 2 * size}, NULL);
  int64_t *data = hl_graph_data(n->graph, angles);
  for (int64_t row = 0; data && row < 2 * size; row++)
    for (int64_t column = 0; column < 2 * size; column++)
      data[row * 2 * size + column] =
          (4 * (row / 2) * (column / 2) + (column % 2 - row % 2 + 4) * size) % turn;
  hl_value_id x;
  hl_node *node = hl_net_node(n, "Cast", "angles", &angles, 1, &x);
  hl_node_set_int(n->graph, node, "to", HL_FLOAT32);
  double unit = 2 * 3.14159265358979323846 / (double)turn;
  x = hl_net_op2(n, "Mul", "radians", x, hl_net_scalar(n, "unit", (float)unit));
  return hl_net_op1(n, "Cos", "matrix", x);
}

/* NeuralLayers' layer 5: fftn over three axes, unscaled. Complex numbers are the last axis. Each
 * round transforms the last of the three axes and puts it first; after three they are back. */
void hl_build_fft(hl_network *n) {
  static const int64_t rotate[] = {0, 3, 1, 2, 4};
  int64_t size = hl_model_int(n->spec, "size"), dims[] = {-1, size, size, size, 2};
  hl_value_id matrix = fft_matrix(n, size), x = hl_net_input(n, "input", 5, dims);
  hl_value_id lines = hl_net_ints(n, "lines", 3, (int64_t[]){0, size * size, 2 * size});
  hl_value_id cube = hl_net_ints(n, "cube", 5, (int64_t[]){0, size, size, size, 2});
  for (int i = 0; i < 3; i++) {
    x = hl_net_op2(n, "Reshape", hl_name(n, "lines%d", i), x, lines);
    x = hl_net_op2(n, "MatMul", hl_name(n, "dft%d", i), x, matrix);
    x = hl_net_op2(n, "Reshape", hl_name(n, "cube%d", i), x, cube);
    x = transpose(n, hl_name(n, "rotate%d", i), x, rotate, 5);
  }
  hl_net_output(n, x, "output", 5, dims);
}
