/* Einsum and Det. */
#include "graph/operator-kit.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Einsum ------------------------------------------------------------------------------------ */

enum { LETTERS = 52, LABELS = LETTERS + HL_MAX_RANK, MAX_TERMS = 16 };

/* A label is a letter, or a dimension of "..." counted from its end. */
typedef struct term {
  int32_t rank;
  int label[HL_MAX_RANK];
} term;

typedef struct einsum {
  size_t term_count;
  term terms[MAX_TERMS], out;
  int64_t dims[LABELS]; /* 0 where a label is not used; -1 unknown */
  bool used[LABELS], dots[LABELS];
} einsum;

static int letter(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static hl_status bad_equation(const hl_node *node, hl_error *error) {
  return hl_op_fail(node, HL_BAD_DATA, error, "the equation '%.60s' does not fit the inputs",
                    hl_node_text(node, "equation", ""));
}

static bool add_label(term *t, int label) {
  if (t->rank >= HL_MAX_RANK) return false;
  t->label[t->rank++] = label;
  return true;
}

/* Reads one term up to ',', '-' or the end; `dots` is how many dimensions "..." has. */
static bool read_term(const char **at, int32_t dots, term *ret) {
  *ret = (term){0};
  bool seen = false;
  for (; **at && **at != ',' && **at != '-'; ++*at) {
    if (isspace((unsigned char)**at)) continue;
    if (**at == '.') {
      if (seen || strncmp(*at, "...", 3) != 0) return false;
      seen = true;
      *at += 2;
      for (int32_t d = 0; d < dots; d++)
        if (!add_label(ret, LETTERS + HL_MAX_RANK - dots + d)) return false;
    } else if (letter(**at) < 0 || !add_label(ret, letter(**at))) {
      return false;
    }
  }
  return true;
}

/* The letters of a term, without those of "...". */
static int32_t count_letters(const char *at) {
  int32_t count = 0;
  for (; *at && *at != ',' && *at != '-'; at++) count += letter(*at) >= 0;
  return count;
}

static bool has_dots(const char *at) {
  for (; *at && *at != ',' && *at != '-'; at++)
    if (*at == '.') return true;
  return false;
}

static bool bind(einsum *e, const term *t, const hl_shape *shape) {
  for (int32_t d = 0; d < t->rank; d++) {
    int label = t->label[d];
    int64_t have = e->dims[label], dim = shape->dims[d];
    bool spread = label >= LETTERS && (have == 1 || dim == 1);
    if (e->used[label] && have >= 0 && dim >= 0 && have != dim && !spread) return false;
    if (!e->used[label] || have < 0 || (spread && dim != 1)) e->dims[label] = dim;
    e->used[label] = true;
  }
  return true;
}

/* Without "->": first "...", then the letters that come once, in order. */
static bool implicit_output(einsum *e, int32_t dots) {
  int count[LABELS] = {0};
  for (size_t i = 0; i < e->term_count; i++)
    for (int32_t d = 0; d < e->terms[i].rank; d++) count[e->terms[i].label[d]]++;
  e->out = (term){0};
  for (int32_t d = 0; d < dots; d++)
    if (!add_label(&e->out, LETTERS + HL_MAX_RANK - dots + d)) return false;
  for (int i = 0; i < LETTERS; i++)
    if (count[i] == 1 && !add_label(&e->out, i)) return false;
  return true;
}

static hl_status parse(const hl_node *node, const hl_shape *shapes, size_t count, einsum *ret,
                       hl_error *error) {
  const char *at = hl_node_text(node, "equation", "");
  int32_t most_dots = 0;
  *ret = (einsum){.term_count = count};
  if (count > MAX_TERMS)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "more than %d inputs", MAX_TERMS);
  for (size_t i = 0; i < count; i++) {
    int32_t dots = shapes[i].rank - count_letters(at);
    if (dots < 0 || (dots > 0 && !has_dots(at)) || !read_term(&at, dots, &ret->terms[i]) ||
        !bind(ret, &ret->terms[i], &shapes[i]) || (*at == ',') != (i + 1 < count))
      return bad_equation(node, error);
    if (dots > most_dots) most_dots = dots;
    if (*at == ',') at++;
  }
  bool ok = true;
  if (*at == '\0') {
    ok = implicit_output(ret, most_dots);
  } else {
    ok = strncmp(at, "->", 2) == 0;
    at += ok ? 2 : 0;
    ok = ok && read_term(&at, most_dots, &ret->out) && *at == '\0';
  }
  bool seen[LABELS] = {false};
  for (int32_t d = 0; ok && d < ret->out.rank; d++) {
    int label = ret->out.label[d];
    ok = ret->used[label] && !seen[label];
    seen[label] = true;
  }
  return ok ? HL_OK : bad_equation(node, error);
}

static hl_status parse_graph(const hl_graph *graph, const hl_node *node, einsum *ret,
                             hl_error *error) {
  hl_shape shapes[MAX_TERMS];
  for (size_t i = 0; i < node->input_count && i < MAX_TERMS; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    if (!value) return hl_op_fail(node, HL_BAD_DATA, error, "input number %zu is missing", i + 1);
    shapes[i] = value->shape;
  }
  return parse(node, shapes, node->input_count, ret, error);
}

hl_status hl_infer_einsum(hl_graph *graph, hl_node *node, hl_error *error) {
  einsum e = {0};
  int64_t dims[HL_MAX_RANK];
  hl_status status = parse_graph(graph, node, &e, error);
  if (status != HL_OK) return status;
  for (int32_t d = 0; d < e.out.rank; d++) dims[d] = e.dims[e.out.label[d]];
  hl_op_set(hl_node_output(graph, node, 0), hl_node_input(graph, node, 0)->dtype, e.out.rank, dims);
  return HL_OK;
}

double hl_flops_einsum(const hl_graph *graph, const hl_node *node) {
  einsum e = {0};
  if (parse_graph(graph, node, &e, NULL) != HL_OK) return 0;
  double flops = 2;
  for (int i = 0; i < LABELS; i++)
    if (e.used[i]) flops *= (double)e.dims[i];
  return flops;
}

/* The labels in the order in which the sum walks: those of the output, then those summed over. */
typedef struct walk {
  int32_t rank;
  int64_t dims[LABELS], strides[MAX_TERMS][LABELS];
  int64_t results, each; /* output elements, and terms summed for each */
} walk;

static bool plan_walk(const einsum *e, const hl_tensor_view *inputs, walk *ret) {
  int order[LABELS];
  bool placed[LABELS] = {false};
  *ret = (walk){.results = 1, .each = 1};
  for (int32_t d = 0; d < e->out.rank; d++) {
    order[ret->rank++] = e->out.label[d];
    placed[e->out.label[d]] = true;
  }
  int32_t outer = ret->rank;
  for (int i = 0; i < LABELS; i++)
    if (e->used[i] && !placed[i]) order[ret->rank++] = i;
  for (int32_t d = 0; d < ret->rank; d++) {
    ret->dims[d] = e->dims[order[d]];
    int64_t *product = d < outer ? &ret->results : &ret->each;
    if (__builtin_mul_overflow(*product, ret->dims[d], product)) return false;
  }
  for (size_t i = 0; i < e->term_count; i++) {
    int64_t own[HL_MAX_RANK], of_label[LABELS] = {0};
    hl_view_strides(&inputs[i], own);
    for (int32_t k = 0; k < e->terms[i].rank; k++) /* a label twice is a diagonal */
      if (inputs[i].dims[k] != 1) of_label[e->terms[i].label[k]] += own[k];
    for (int32_t d = 0; d < ret->rank; d++) ret->strides[i][d] = of_label[order[d]];
  }
  return true;
}

/* Steps the index over all labels, and the offset of every input with it. */
static void step(const walk *w, size_t terms, int64_t *index, int64_t *offsets) {
  for (int32_t d = w->rank - 1; d >= 0; d--) {
    for (size_t i = 0; i < terms; i++) offsets[i] += w->strides[i][d];
    if (++index[d] < w->dims[d]) return;
    for (size_t i = 0; i < terms; i++) offsets[i] -= w->strides[i][d] * w->dims[d];
    index[d] = 0;
  }
}

hl_status hl_evaluate_einsum(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  einsum e = {0};
  walk w;
  hl_shape shapes[MAX_TERMS];
  for (size_t i = 0; i < node->input_count && i < MAX_TERMS; i++)
    shapes[i] = hl_view_shape(&inputs[i]);
  hl_status status = parse(node, shapes, node->input_count, &e, error);
  if (status != HL_OK) return status;
  if (!plan_walk(&e, inputs, &w))
    return hl_op_fail(node, HL_LIMIT, error, "the sum has too many terms");
  int64_t index[LABELS] = {0}, offsets[MAX_TERMS] = {0};
  for (int64_t r = 0; r < w.results; r++) {
    double sum = 0;
    for (int64_t s = 0; s < w.each; s++) {
      double product = 1;
      for (size_t i = 0; i < e.term_count; i++) product *= hl_view_get(&inputs[i], offsets[i]);
      sum += product;
      step(&w, e.term_count, index, offsets);
    }
    hl_view_put(&outputs[0], r, sum);
  }
  return HL_OK;
}

/* -- Det --------------------------------------------------------------------------------------- */

hl_status hl_infer_det(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int32_t rank = x->shape.rank;
  int64_t rows = rank < 2 ? 0 : x->shape.dims[rank - 2];
  int64_t columns = rank < 2 ? 0 : x->shape.dims[rank - 1];
  if (rank < 2 || (rows >= 0 && columns >= 0 && rows != columns))
    return hl_op_fail(node, HL_BAD_DATA, error, "the input must hold square matrices");
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, rank - 2, x->shape.dims);
  return HL_OK;
}

/* Product of the pivots of Gaussian elimination; spoils the matrix. */
static double determinant(double *a, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) product = -product;
    for (int64_t j = k; j < n && pivot != k; j++) {
      double swap = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = swap;
    }
    product *= a[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      double factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

hl_status hl_evaluate_det(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  int64_t n = inputs[0].dims[inputs[0].rank - 1], count = hl_view_elements(&outputs[0]);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  if (!x) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < count; i++) hl_view_put(&outputs[0], i, determinant(x + i * n * n, n));
  return HL_OK;
}

/* The matrix without row r and column c. */
static void minor_of(const double *a, int64_t n, int64_t r, int64_t c, double *ret) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (i != r && j != c) *ret++ = a[i * n + j];
}

/* Inputs: the output's gradient and x. That of an element is its cofactor, also where the matrix
 * has no inverse. */
hl_status hl_evaluate_det_gradient(const hl_graph *graph, const hl_node *node,
                                   const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                   hl_error *error) {
  (void)graph;
  int64_t n = inputs[1].dims[inputs[1].rank - 1], count = hl_view_elements(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[1]);
  HL_CLEANUP(hl_free_pointer) double *part = calloc((size_t)(n * n) + 1, sizeof *part);
  if (!x || !part) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < count * n * n; i++) {
    int64_t matrix = i / (n * n), r = i / n % n, c = i % n;
    minor_of(x + matrix * n * n, n, r, c, part);
    double cofactor = ((r + c) % 2 ? -1 : 1) * determinant(part, n - 1);
    hl_view_put(&outputs[0], i, hl_view_get(&inputs[0], matrix) * cofactor);
  }
  return HL_OK;
}
