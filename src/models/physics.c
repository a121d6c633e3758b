#include "models/physics.h"

#include "models/network.h"
#include <math.h>
#include <string.h>

enum { least_opset = 13, most_patterns = 64 };
static const double pi = 3.14159265358979323846;

/* -- does it fit? ---------------------------------------------------------------------------- */

static bool is_patches(const hl_port *port, const char *name, int64_t patterns, int64_t size) {
  return strcmp(port->name, name) == 0 && port->dtype == HL_FLOAT32 && port->rank == 4 &&
         port->dims[1] == patterns && port->dims[2] == size && port->dims[3] == size;
}

bool hl_physics_fits(const hl_port *inputs, size_t input_count, const hl_port *outputs,
                     size_t output_count, int64_t *ret_size, int64_t *ret_gridsize) {
  if (input_count != 1 || output_count != 2 || inputs->rank != 4) return false;
  int64_t patterns = inputs->dims[1], size = inputs->dims[3], grid = 1;
  if (patterns < 1 || patterns > most_patterns || size < 4 || size % 4) return false;
  while (grid * grid < patterns) grid++;
  size_t phase = strcmp(outputs[0].name, "amplitude") == 0;
  if (grid * grid != patterns || !is_patches(inputs, "diffraction", patterns, size) ||
      !is_patches(&outputs[1 - phase], "amplitude", patterns, size) ||
      !is_patches(&outputs[phase], "phase", patterns, size))
    return false;
  *ret_size = size;
  *ret_gridsize = grid;
  return true;
}

/* -- writing it down ------------------------------------------------------------------------- */

#define OP1(op, name, a) hl_net_op1(n, op, "physics/" name, a)
#define OP2(op, name, a, b) hl_net_op2(n, op, "physics/" name, a, b)
#define NUMBER(name, x) hl_net_scalar(n, "physics/" name, (float)(x))

static hl_value_id as_float(hl_network *n, const char *name, hl_value_id integers) {
  hl_value_id x;
  hl_node *node = hl_net_node(n, "Cast", hl_name(n, "%s.cast", name), &integers, 1, &x);
  hl_node_set_int(n->graph, node, "to", HL_FLOAT32);
  return x;
}

static int64_t *integers(hl_network *n, const char *name, int32_t rank, const int64_t *dims,
                         hl_value_id *ret_value) {
  *ret_value = hl_graph_constant(n->graph, name, HL_INT64, rank, dims, NULL);
  return hl_graph_data(n->graph, *ret_value);
}

static hl_value_id turned(hl_network *n, const char *name, hl_value_id x, const int64_t perm[4]) {
  hl_value_id out;
  hl_node *node = hl_net_node(n, "Transpose", name, &x, 1, &out);
  hl_node_set_ints(n->graph, node, "perm", perm, 4);
  return out;
}

static hl_value_id joined(hl_network *n, const char *name, hl_value_id a, hl_value_id b) {
  hl_value_id out;
  hl_node *node = hl_net_node(n, "Concat", name, (hl_value_id[]){a, b}, 2, &out);
  hl_node_set_int(n->graph, node, "axis", 3);
  return out;
}

/* In halves of `part` along an axis. */
static void split(hl_network *n, const char *name, hl_value_id x, int64_t axis, int64_t part,
                  hl_value_id ret_halves[2]) {
  hl_value_id sizes = hl_net_ints(n, hl_name(n, "%s.sizes", name), 2, (int64_t[]){part, part});
  hl_node *node =
      hl_graph_node(n->graph, "Split", name, (hl_value_id[]){x, sizes}, 2, ret_halves, 2);
  hl_node_set_int(n->graph, node, "axis", axis);
}

/* Over the patterns of a group. */
static hl_value_id group_sum(hl_network *n, const char *name, hl_value_id x) {
  hl_value_id axes = hl_net_ints(n, hl_name(n, "%s.axes", name), 1, (int64_t[]){1});
  return hl_net_op2(n, "ReduceSum", name, x, axes);
}

typedef struct wave {
  hl_value_id re, im;
} wave;

/* -- one object of a group's patches --------------------------------------------------------- */

/* Bilinear translation is a matrix along each axis: element (i, u) is max(0, 1 - |i - u - pad - d|)
 * for pixel i of the canvas, u of the patch and d = -relative. With `transposed` it goes back. */
static hl_value_id hat(hl_network *n, const char *name, hl_value_id relative, int64_t canvas,
                       int64_t size, bool transposed) {
  int64_t rows = transposed ? size : canvas, columns = transposed ? canvas : size;
  hl_value_id k;
  int64_t *data =
      integers(n, hl_name(n, "%s.pixels", name), 4, (int64_t[]){1, 1, rows, columns}, &k);
  for (int64_t r = 0; data && r < rows; r++)
    for (int64_t c = 0; c < columns; c++)
      data[r * columns + c] = (transposed ? c - r : r - c) - (canvas - size) / 2;
  hl_value_id x =
      hl_net_op2(n, "Add", hl_name(n, "%s.distance", name), as_float(n, name, k), relative);
  x = hl_net_op1(n, "Abs", hl_name(n, "%s.abs", name), x);
  hl_value_id one = hl_net_scalar(n, hl_name(n, "%s.one", name), 1);
  x = hl_net_op2(n, "Sub", hl_name(n, "%s.sub", name), one, x);
  return hl_net_op1(n, "Relu", hl_name(n, "%s.relu", name), x);
}

typedef struct translation {
  hl_value_id rows, rows_back, columns, columns_back;
} translation;

static translation translations(hl_network *n, int64_t patterns, int64_t canvas, int64_t size) {
  static const int64_t perm[] = {0, 3, 1, 2};
  hl_value_id halves[2] = {-1, -1};
  hl_value_id positions = hl_net_input(n, HL_PHYSICS_POSITIONS, 4, (int64_t[]){-1, 1, 2, patterns});
  positions = turned(n, "physics/positions", positions, perm); /* (batch, g^2, 1, 2) */
  split(n, "physics/position", positions, 3, 1, halves);
  return (translation){.rows = hat(n, "physics/rows", halves[1], canvas, size, false),
                       .rows_back = hat(n, "physics/rows_back", halves[1], canvas, size, true),
                       .columns = hat(n, "physics/columns", halves[0], canvas, size, false),
                       .columns_back =
                           hat(n, "physics/columns_back", halves[0], canvas, size, true)};
}

static hl_value_id between(hl_network *n, const char *name, hl_value_id left, hl_value_id x,
                           hl_value_id right) {
  x = hl_net_op2(n, "MatMul", hl_name(n, "%s.rows", name), left, x);
  return hl_net_op2(n, "MatMul", hl_name(n, "%s.columns", name), x, right);
}

/* How many patches' central squares, moved along, lie on each pixel. */
static hl_value_id coverage(hl_network *n, const translation *t, int64_t size) {
  static const int64_t swap[] = {0, 1, 3, 2};
  hl_value_id k;
  int64_t *data = integers(n, "physics/centre", 2, (int64_t[]){size, 1}, &k);
  for (int64_t u = 0; data && u < size; u++) data[u] = u >= size / 4 && u < size - size / 4;
  hl_value_id centre = as_float(n, "physics/centre", k);
  hl_value_id rows = OP2("MatMul", "covered_rows", t->rows, centre);
  hl_value_id columns = OP2("MatMul", "covered_columns", t->columns, centre);
  columns = turned(n, "physics/covered_turned", columns, swap);
  hl_value_id sum = group_sum(n, "physics/coverage", OP2("Mul", "covered", rows, columns));
  return OP2("Add", "coverage_more", sum, NUMBER("least_coverage", 0.001));
}

static hl_value_id merge(hl_network *n, const char *name, const translation *t, hl_value_id x,
                         hl_value_id covered) {
  x = between(n, hl_name(n, "physics/merge.%s", name), t->rows, x, t->columns_back);
  x = group_sum(n, hl_name(n, "physics/object.%s", name), x);
  x = hl_net_op2(n, "Div", hl_name(n, "physics/canvas.%s", name), x, covered);
  return between(n, hl_name(n, "physics/cut.%s", name), t->rows_back, x, t->columns);
}

static wave merged(hl_network *n, const hl_physics *p, wave patches) {
  int64_t canvas = p->size + 4 * (p->gridsize - 1) + 10;
  const translation t = translations(n, p->gridsize * p->gridsize, canvas, p->size);
  hl_value_id covered = coverage(n, &t, p->size);
  return (wave){merge(n, "re", &t, patches.re, covered), merge(n, "im", &t, patches.im, covered)};
}

/* -- the detector ---------------------------------------------------------------------------- */

/* A part of the probe as integers times one number: more bits than a float has. */
static hl_value_id probe_part(hl_network *n, const char *name, const hl_physics *p, bool imaginary,
                              double unit) {
  hl_value_id k;
  int64_t pixels = p->size * p->size;
  int64_t *data = integers(n, name, 2, (int64_t[]){p->size, p->size}, &k);
  for (int64_t i = 0; data && i < pixels; i++)
    data[i] = llround((double)(imaginary ? cimagf(p->probe[i]) : crealf(p->probe[i])) / unit);
  hl_value_id scale = hl_net_scalar(n, hl_name(n, "%s.unit", name), (float)unit);
  return hl_net_op2(n, "Mul", hl_name(n, "%s.scaled", name), as_float(n, name, k), scale);
}

static wave illuminated(hl_network *n, const hl_physics *p, wave x) {
  double most = 0;
  for (int64_t i = 0; i < p->size * p->size; i++)
    most = fmax(most, (double)fmaxf(fabsf(crealf(p->probe[i])), fabsf(cimagf(p->probe[i]))));
  double unit = (double)(float)(most > 0 ? most * 0x1p-30 : 1);
  hl_value_id re = probe_part(n, "physics/probe.re", p, false, unit);
  hl_value_id im = probe_part(n, "physics/probe.im", p, true, unit);
  return (wave){
      OP2("Sub", "wave.re", OP2("Mul", "wave.rr", x.re, re), OP2("Mul", "wave.ii", x.im, im)),
      OP2("Add", "wave.im", OP2("Mul", "wave.ri", x.re, im), OP2("Mul", "wave.ir", x.im, re))};
}

/*
 * The transform of one axis, orthonormal, with the zero frequency in the middle, on complex numbers
 * as (re 0 ... re N-1, im 0 ... im N-1): re' = re cos + im sin, im' = -re sin + im cos of the angle
 * 2 pi j k / N. Angles are counted in quarters of 1 / N of a turn, a sine is a cosine.
 */
static hl_value_id fourier(hl_network *n, int64_t size) {
  const int64_t turn = 4 * size;
  hl_value_id k;
  int64_t *data = integers(n, "physics/quarters", 2, (int64_t[]){2 * size, 2 * size}, &k);
  for (int64_t row = 0; data && row < 2 * size; row++)
    for (int64_t column = 0; column < 2 * size; column++) {
      int64_t j = row % size, frequency = (column % size + size - size / 2) % size;
      int64_t quarter = (column >= size) - (row >= size); /* -1: sine, 1: minus sine */
      data[row * 2 * size + column] = (4 * j * frequency + quarter * size + turn) % turn;
    }
  hl_value_id x = OP2("Mul", "radians", as_float(n, "physics/quarters", k),
                      NUMBER("quarter", 2 * pi / (double)turn));
  return OP2("Mul", "fourier", OP1("Cos", "cosines", x),
             NUMBER("orthonormal", 1 / sqrt((double)size)));
}

static hl_value_id detected(hl_network *n, wave x, int64_t size, double background) {
  static const int64_t swap[] = {0, 1, 3, 2};
  hl_value_id matrix = fourier(n, size), halves[2] = {-1, -1};
  hl_value_id y = OP2("MatMul", "lines", joined(n, "physics/wave", x.re, x.im), matrix);
  y = turned(n, "physics/turned", y, swap); /* (..., re and im of frequencies, rows) */
  split(n, "physics/turned_parts", y, 2, size, halves);
  y = OP2("MatMul", "columns_of", joined(n, "physics/turned_wave", halves[0], halves[1]), matrix);
  split(n, "physics/far_field", OP2("Mul", "squares", y, y), 3, size, halves);
  y = OP2("Add", "squared", halves[0], halves[1]);
  y = OP2("Add", "observed", y, NUMBER("background", background));
  return turned(n, "physics/pattern", y, swap);
}

hl_status hl_physics_append(hl_graph *network, const hl_physics *physics, hl_error *error) {
  if (network->opset < least_opset)
    return hl_error_set(
        error, HL_INVALID_ARGUMENT,
        "the physics of a pattern needs ONNX opset %d, and the model has %d; export "
        "it with a newer one",
        least_opset, (int)network->opset);
  hl_network net = {.graph = network}, *n = &net;
  hl_value_id amplitude = hl_graph_find(network, "amplitude");
  hl_value_id phase = hl_graph_find(network, "phase");
  for (size_t i = 0; i < network->output_count; i++)
    network->values[network->outputs[i]].is_output = false;
  network->output_count = 0;
  wave x = {OP2("Mul", "re", amplitude, OP1("Cos", "cos", phase)),
            OP2("Mul", "im", amplitude, OP1("Sin", "sin", phase))};
  if (physics->gridsize > 1) x = merged(n, physics, x);
  hl_value_id y = detected(n, illuminated(n, physics, x), physics->size, physics->background);
  hl_net_output(
      n, y, HL_PHYSICS_OUTPUT, 4,
      (int64_t[]){-1, physics->gridsize * physics->gridsize, physics->size, physics->size});
  return hl_graph_status(network, error);
}
