/* Gradients of MatMul, Gemm and Einsum. */
#include "graph/gradient-kit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static hl_value_id transpose_last(hl_gradient *g, hl_value_id value, int32_t rank) {
  int64_t permutation[HL_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) permutation[d] = d;
  permutation[rank - 1] = rank - 2;
  permutation[rank - 2] = rank - 1;
  return hl_gradient_transpose(g, value, rank, permutation);
}

/* The output's shape if vectors are matrices. */
static hl_shape product_shape(const hl_shape *a, const hl_shape *b) {
  hl_shape left = *a, right = *b, out = {0};
  left.rank -= 2;
  right.rank -= 2;
  hl_op_broadcast(&left, &right, &out);
  out.dims[out.rank++] = a->dims[a->rank - 2];
  out.dims[out.rank++] = b->dims[b->rank - 1];
  return out;
}

static void give_product(hl_gradient *g, const hl_node *node, size_t input, hl_value_id product,
                         const hl_shape *matrix, const hl_shape *out) {
  hl_shape full = *out, own = hl_gradient_shape(g, node->inputs[input]);
  full.dims[full.rank - 2] = matrix->dims[matrix->rank - 2];
  full.dims[full.rank - 1] = matrix->dims[matrix->rank - 1];
  product = hl_gradient_sum_to(g, product, &full, matrix);
  if (own.rank == 1) product = hl_gradient_reshape(g, product, &own);
  hl_gradient_give(g, node, input, product);
}

/* dB of one matrix for all rows of A, however many axes they lie in: one product, no sum. */
static void give_matrix(hl_gradient *g, const hl_node *node, hl_value_id a, const hl_shape *left,
                        hl_value_id dy, const hl_shape *out) {
  hl_shape rows = {.rank = 2, .dims = {1, left->dims[left->rank - 1]}}, columns = rows;
  for (int32_t i = 0; i < left->rank - 1; i++) rows.dims[0] *= left->dims[i];
  columns.dims[0] = rows.dims[0];
  columns.dims[1] = out->dims[out->rank - 1];
  a = transpose_last(g, hl_gradient_reshape(g, a, &rows), 2);
  hl_gradient_give(g, node, 1, G2("MatMul", a, hl_gradient_reshape(g, dy, &columns)));
}

/* dA = dY B^T, dB = A^T dY, summed over the dimensions that were broadcast. */
hl_status hl_gradient_matmul(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id a = node->inputs[0], b = node->inputs[1], dy = DY(0);
  hl_shape own_a = hl_gradient_shape(g, a), own_b = hl_gradient_shape(g, b);
  hl_shape left = hl_op_matrix_shape(&own_a, true), right = hl_op_matrix_shape(&own_b, false);
  hl_shape out = product_shape(&left, &right);
  if (own_a.rank == 1) a = hl_gradient_reshape(g, a, &left);
  if (own_b.rank == 1) b = hl_gradient_reshape(g, b, &right);
  if (own_a.rank == 1 || own_b.rank == 1) dy = hl_gradient_reshape(g, dy, &out);
  if (hl_gradient_wanted(g, node, 0))
    give_product(g, node, 0, G2("MatMul", dy, transpose_last(g, b, right.rank)), &left, &out);
  if (hl_gradient_wanted(g, node, 1) && own_b.rank == 2 && own_a.rank > 2)
    give_matrix(g, node, a, &left, dy, &out);
  else if (hl_gradient_wanted(g, node, 1))
    give_product(g, node, 1, G2("MatMul", transpose_last(g, a, left.rank), dy), &right, &out);
  return HL_OK;
}

static hl_value_id gemm(hl_gradient *g, hl_value_id a, bool ta, hl_value_id b, bool tb,
                        float alpha) {
  hl_node *node = NULL;
  hl_value_id out = hl_gradient_node(g, "Gemm", (hl_value_id[]){a, b}, 2, &node);
  if (ta) hl_node_set_int(g->graph, node, "transA", 1);
  if (tb) hl_node_set_int(g->graph, node, "transB", 1);
  if (alpha != 1) hl_node_set_real(g->graph, node, "alpha", alpha);
  return out;
}

/* Y = alpha A' B' + beta C, where ' may transpose. */
hl_status hl_gradient_gemm(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id a = node->inputs[0], b = node->inputs[1], dy = DY(0);
  bool ta = hl_node_int(node, "transA", 0) != 0, tb = hl_node_int(node, "transB", 0) != 0;
  float alpha = hl_node_real(node, "alpha", 1), beta = hl_node_real(node, "beta", 1);
  if (hl_gradient_wanted(g, node, 0))
    hl_gradient_give(g, node, 0,
                     ta ? gemm(g, b, tb, dy, true, alpha) : gemm(g, dy, false, b, !tb, alpha));
  if (hl_gradient_wanted(g, node, 1))
    hl_gradient_give(g, node, 1,
                     tb ? gemm(g, dy, true, a, ta, alpha) : gemm(g, a, !ta, dy, false, alpha));
  if (hl_gradient_wanted(g, node, 2)) {
    hl_shape out = hl_gradient_shape(g, node->outputs[0]);
    hl_shape own = hl_gradient_shape(g, node->inputs[2]);
    hl_value_id sum = hl_gradient_sum_to(g, dy, &out, &own);
    hl_gradient_give(g, node, 2, beta == 1 ? sum : G2("Mul", sum, NUMBER((double)beta)));
  }
  return HL_OK;
}

/* -- Einsum: sum(dy, all other inputs) over what this input lacks ---------------------------- */

enum { TERMS = 16, LETTERS = HL_MAX_RANK + 1 };

/* Terms of the equation without white space; the last is the output. False for what has no rule
 * here: "...", a letter twice in a term, no "->". */
static bool read_terms(const char *equation, size_t count, char ret_terms[TERMS + 1][LETTERS]) {
  size_t term = 0, length = 0;
  if (count > TERMS || !strstr(equation, "->")) return false;
  memset(ret_terms, 0, (TERMS + 1) * sizeof *ret_terms);
  for (const char *at = equation; *at; at++) {
    if (isspace((unsigned char)*at) || *at == '>') continue;
    if (*at == ',' || *at == '-') {
      term++;
      length = 0;
      continue;
    }
    bool fits = isalpha((unsigned char)*at) && term <= count && length + 1 < LETTERS;
    if (!fits || strchr(ret_terms[term], *at)) return false;
    ret_terms[term][length++] = *at;
  }
  return term == count;
}

/* Of input k; letters that only it has are summed away in the output, so they are repeated. */
static void give_einsum(hl_gradient *g, const hl_node *node, char terms[TERMS + 1][LETTERS],
                        size_t k) {
  hl_value_id inputs[TERMS + 1] = {DY(0)};
  hl_shape shape = hl_gradient_shape(g, node->inputs[k]), kept = shape;
  char found[LETTERS] = "", equation[(TERMS + 2) * (LETTERS + 2)];
  size_t count = node->input_count, used = 1, letters = 0;
  int length = snprintf(equation, sizeof equation, "%s", terms[count]);
  for (size_t i = 0; i < count; i++) {
    if (i == k) continue;
    inputs[used++] = node->inputs[i];
    length += snprintf(equation + length, sizeof equation - (size_t)length, ",%s", terms[i]);
  }
  for (size_t d = 0; terms[k][d]; d++) {
    if (strchr(equation, terms[k][d]))
      found[letters++] = terms[k][d];
    else
      kept.dims[d] = 1;
  }
  snprintf(equation + length, sizeof equation - (size_t)length, "->%s", found);
  hl_node *back = NULL;
  hl_value_id out = hl_gradient_node(g, "Einsum", inputs, used, &back);
  hl_node_set_text(g->graph, back, "equation", equation);
  if (letters < strlen(terms[k])) {
    out = hl_gradient_reshape(g, out, &kept);
    out = G2("Expand", out, hl_gradient_list(g, shape.dims, (size_t)shape.rank));
  }
  hl_gradient_give(g, node, k, out);
}

hl_status hl_gradient_einsum(hl_gradient *g, const hl_node *node, hl_error *error) {
  char terms[TERMS + 1][LETTERS];
  const char *equation = hl_node_text(node, "equation", "");
  if (!read_terms(equation, node->input_count, terms))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                      "the gradient of '%.60s'; of equations with ->, without ... and without a "
                      "letter twice in a term it is",
                      equation);
  for (size_t k = 0; k < node->input_count; k++)
    if (hl_gradient_wanted(g, node, k)) give_einsum(g, node, terms, k);
  return HL_OK;
}
