/* Gemm and MatMul. */
#include "graph/operator-kit.h"

#include <stdlib.h>

static bool agree(int64_t a, int64_t b) {
  return a < 0 || b < 0 || a == b;
}

hl_status hl_infer_gemm(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *a = hl_node_input(graph, node, 0), *b = hl_node_input(graph, node, 1);
  const hl_value *c = hl_node_input(graph, node, 2);
  if (a->shape.rank != 2 || b->shape.rank != 2)
    return hl_op_fail(node, HL_BAD_DATA, error, "A has %d and B has %d dimensions; expected 2",
                      a->shape.rank, b->shape.rank);
  int ta = hl_node_int(node, "transA", 0) != 0, tb = hl_node_int(node, "transB", 0) != 0;
  if (!agree(a->shape.dims[!ta], b->shape.dims[tb]))
    return hl_op_fail(node, HL_BAD_DATA, error, "A has %lld columns and B has %lld rows",
                      (long long)a->shape.dims[!ta], (long long)b->shape.dims[tb]);
  hl_shape shape = {.rank = 2, .dims = {a->shape.dims[ta], b->shape.dims[!tb]}}, sum;
  if (c && (!hl_op_broadcast(&shape, &c->shape, &sum) || sum.rank != 2 ||
            !agree(sum.dims[0], shape.dims[0]) || !agree(sum.dims[1], shape.dims[1])))
    return hl_op_fail(node, HL_BAD_DATA, error, "C cannot be added to a matrix of %lld by %lld",
                      (long long)shape.dims[0], (long long)shape.dims[1]);
  hl_op_set(hl_node_output(graph, node, 0), a->dtype, 2, shape.dims);
  return HL_OK;
}

double hl_flops_gemm(const hl_graph *graph, const hl_node *node) {
  const hl_value *a = hl_node_input(graph, node, 0), *y = hl_node_output(graph, node, 0);
  int64_t k = a->shape.dims[hl_node_int(node, "transA", 0) != 0 ? 0 : 1];
  return 2 * (double)hl_shape_elements(&y->shape) * (double)k;
}

/* y[m][n] += a[m][k] * b[k][n] by strides of A and B; y is dense. */
static void multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_col,
                     const double *b, int64_t b_row, int64_t b_col, double *y) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t l = 0; l < k; l++) {
      double x = a[i * a_row + l * a_col], *restrict row = y + i * n;
      const double *restrict from = b + l * b_row;
      if (b_col == 1) /* apart, so that it is vectorised */
        for (int64_t j = 0; j < n; j++) row[j] += x * from[j];
      else
        for (int64_t j = 0; j < n; j++) row[j] += x * from[j * b_col];
    }
}

hl_status hl_evaluate_gemm(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  bool ta = hl_node_int(node, "transA", 0) != 0, tb = hl_node_int(node, "transB", 0) != 0;
  bool has_c = node->input_count > 2 && inputs[2].data;
  double alpha = (double)hl_node_real(node, "alpha", 1),
         beta = (double)hl_node_real(node, "beta", 1);
  int64_t m = outputs[0].dims[0], n = outputs[0].dims[1], k = inputs[0].dims[ta ? 0 : 1];
  HL_CLEANUP(hl_free_pointer) double *a = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *b = hl_view_doubles(&inputs[1]);
  HL_CLEANUP(hl_free_pointer)
  double *y = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *y);
  if (!a || !b || !y) return hl_op_no_memory(node, error);
  multiply(m, n, k, a, ta ? 1 : k, ta ? m : 1, b, tb ? 1 : n, tb ? k : 1, y);
  int64_t strides[HL_MAX_RANK] = {0};
  if (has_c) hl_view_broadcast_strides(&inputs[2], 2, strides);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double c = has_c ? hl_view_get(&inputs[2], i * strides[0] + j * strides[1]) : 0;
      hl_view_put(&outputs[0], i * n + j, alpha * y[i * n + j] + beta * c);
    }
  return HL_OK;
}

/* numpy.matmul: a vector is a row on the left and a column on the right; leading dimensions are
 * broadcast. */
typedef struct product {
  hl_shape a, b; /* with rank >= 2 */
  hl_shape batch;
  bool a_vector, b_vector;
} product;

hl_shape hl_op_matrix_shape(const hl_shape *shape, bool left) {
  if (shape->rank != 1) return *shape;
  hl_shape matrix = {.rank = 2, .dims = {1, shape->dims[0]}};
  if (!left) {
    matrix.dims[0] = shape->dims[0];
    matrix.dims[1] = 1;
  }
  return matrix;
}

static bool plan(const hl_shape *a, const hl_shape *b, product *p) {
  if (a->rank < 1 || b->rank < 1) return false;
  *p = (product){.a = hl_op_matrix_shape(a, true), .b = hl_op_matrix_shape(b, false)};
  p->a_vector = a->rank == 1;
  p->b_vector = b->rank == 1;
  hl_shape left = p->a, right = p->b;
  left.rank -= 2;
  right.rank -= 2;
  return agree(p->a.dims[p->a.rank - 1], p->b.dims[p->b.rank - 2]) &&
         hl_op_broadcast(&left, &right, &p->batch);
}

hl_status hl_infer_matmul(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *a = hl_node_input(graph, node, 0), *b = hl_node_input(graph, node, 1);
  product p;
  if (!plan(&a->shape, &b->shape, &p))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the shapes of '%.60s' and '%.60s' cannot be "
                      "multiplied",
                      a->name, b->name);
  hl_shape out = p.batch;
  if (!p.a_vector) out.dims[out.rank++] = p.a.dims[p.a.rank - 2];
  if (!p.b_vector) out.dims[out.rank++] = p.b.dims[p.b.rank - 1];
  hl_op_set(hl_node_output(graph, node, 0), a->dtype, out.rank, out.dims);
  return HL_OK;
}

double hl_flops_matmul(const hl_graph *graph, const hl_node *node) {
  const hl_value *a = hl_node_input(graph, node, 0), *y = hl_node_output(graph, node, 0);
  return 2 * (double)hl_shape_elements(&y->shape) * (double)a->shape.dims[a->shape.rank - 1];
}

static hl_tensor_view leading(const hl_shape *matrix) {
  hl_tensor_view view = {.rank = matrix->rank - 2};
  for (int32_t i = 0; i < view.rank; i++) view.dims[i] = matrix->dims[i];
  return view;
}

hl_status hl_evaluate_matmul(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  product p;
  hl_shape sa = hl_view_shape(&inputs[0]), sb = hl_view_shape(&inputs[1]);
  if (!plan(&sa, &sb, &p)) return hl_op_fail(node, HL_INTERNAL, error, "shapes changed");
  int64_t m = p.a.dims[p.a.rank - 2], k = p.a.dims[p.a.rank - 1], n = p.b.dims[p.b.rank - 1];
  HL_CLEANUP(hl_free_pointer) double *a = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *b = hl_view_doubles(&inputs[1]);
  HL_CLEANUP(hl_free_pointer)
  double *y = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *y);
  if (!a || !b || !y) return hl_op_no_memory(node, error);
  hl_tensor_view la = leading(&p.a), lb = leading(&p.b);
  int64_t as[HL_MAX_RANK] = {0}, bs[HL_MAX_RANK] = {0};
  hl_view_broadcast_strides(&la, p.batch.rank, as);
  hl_view_broadcast_strides(&lb, p.batch.rank, bs);
  int64_t ia[HL_MAX_RANK] = {0}, ib[HL_MAX_RANK] = {0}, oa = 0, ob = 0;
  int64_t count = hl_shape_elements(&p.batch);
  for (int64_t i = 0; i < count; i++) {
    multiply(m, n, k, a + oa * m * k, k, 1, b + ob * k * n, n, 1, y + i * m * n);
    hl_index_next(p.batch.rank, p.batch.dims, ia, as, &oa);
    hl_index_next(p.batch.rank, p.batch.dims, ib, bs, &ob);
  }
  hl_view_put_all(&outputs[0], y);
  return HL_OK;
}
