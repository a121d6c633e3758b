/* NonMaxSuppression: the best boxes that do not overlap. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

typedef struct box {
  double low[2], high[2], area;
} box;

typedef struct limits {
  int64_t most; /* boxes of a class */
  double overlap, score;
  bool has_score, centred;
} limits;

static double number(const hl_node *node, const hl_tensor_view *inputs, size_t i,
                     double otherwise) {
  bool there = i < node->input_count && inputs[i].data && hl_view_elements(&inputs[i]) > 0;
  return there ? hl_view_get(&inputs[i], 0) : otherwise;
}

static limits read_limits(const hl_node *node, const hl_tensor_view *inputs) {
  double most = number(node, inputs, 2, 0);
  return (limits){.most = most < 0        ? 0
                          : most > 0x1p40 ? INT64_C(1) << 40
                                          : (int64_t)most,
                  .overlap = number(node, inputs, 3, 0),
                  .score = number(node, inputs, 4, 0),
                  .has_score = node->input_count > 4 && inputs[4].data,
                  .centred = hl_node_int(node, "center_point_box", 0) != 0};
}

/* Any two opposite corners, or the centre and the extents (x, y, width, height). */
static box read_box(const hl_tensor_view *boxes, int64_t i, bool centred) {
  double v[4];
  for (int k = 0; k < 4; k++) v[k] = hl_view_get(boxes, 4 * i + k);
  box b;
  for (int k = 0; k < 2; k++) {
    double p = centred ? v[k] - v[k + 2] / 2 : v[k], q = centred ? v[k] + v[k + 2] / 2 : v[k + 2];
    b.low[k] = p < q ? p : q;
    b.high[k] = p < q ? q : p;
  }
  b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
  return b;
}

/* Intersection over union. */
static double overlap(const box *a, const box *b) {
  double common = 1;
  for (int k = 0; k < 2; k++) {
    double low = a->low[k] > b->low[k] ? a->low[k] : b->low[k];
    double high = a->high[k] < b->high[k] ? a->high[k] : b->high[k];
    common *= high > low ? high - low : 0;
  }
  return common > 0 ? common / (a->area + b->area - common) : 0;
}

/* The boxes of one class by falling score; `taken` marks those that are chosen or out. Returns how
 * many were chosen; `ret` (may be NULL) gets their numbers. */
static int64_t choose(const limits *l, const hl_tensor_view *boxes, const hl_tensor_view *scores,
                      int64_t batch, int64_t line, bool *taken, int64_t *ret) {
  int64_t count = boxes->dims[1], chosen = 0;
  memset(taken, 0, (size_t)count * sizeof *taken);
  while (chosen < l->most) {
    int64_t best = -1;
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
      double score = hl_view_get(scores, line * count + i);
      if (taken[i] || (l->has_score && !(score > l->score))) continue;
      if (best < 0 || score > most) {
        best = i;
        most = score;
      }
    }
    if (best < 0) break;
    if (ret) ret[chosen] = best;
    chosen++;
    box b = read_box(boxes, batch * count + best, l->centred);
    for (int64_t i = 0; i < count; i++) {
      box other = read_box(boxes, batch * count + i, l->centred);
      taken[i] = taken[i] || i == best || overlap(&b, &other) > l->overlap;
    }
  }
  return chosen;
}

/* Runs all classes; rows go to `out` where it has data. */
static hl_status suppress(const hl_node *node, const hl_tensor_view *inputs, hl_tensor_view *out,
                          int64_t *ret_count, hl_error *error) {
  const hl_tensor_view *boxes = &inputs[0], *scores = &inputs[1];
  limits l = read_limits(node, inputs);
  int64_t count = boxes->dims[1], classes = scores->dims[1], rows = 0;
  HL_CLEANUP(hl_free_pointer) bool *taken = calloc((size_t)count + 1, sizeof *taken);
  HL_CLEANUP(hl_free_pointer) int64_t *chosen = calloc((size_t)count + 1, sizeof *chosen);
  if (!taken || !chosen) return hl_op_no_memory(node, error);
  for (int64_t line = 0; line < boxes->dims[0] * classes; line++) {
    int64_t batch = line / classes;
    int64_t found = choose(&l, boxes, scores, batch, line, taken, chosen);
    for (int64_t i = 0; i < found && out && rows + i < out->dims[0]; i++) {
      int64_t row[3] = {batch, line % classes, chosen[i]};
      for (int k = 0; k < 3; k++) hl_view_put_int(out, 3 * (rows + i) + k, row[k]);
    }
    rows += found;
  }
  *ret_count = rows;
  return HL_OK;
}

hl_status hl_infer_nms(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_tensor_view inputs[8] = {{0}};
  bool known = true;
  for (size_t i = 0; i < node->input_count && i < 5; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    if (value) inputs[i] = hl_view_of(value);
    known = known && (!value || value->data);
  }
  const int64_t *b = inputs[0].dims, *s = inputs[1].dims;
  if (inputs[0].rank != 3 || inputs[1].rank != 3 || (b[2] >= 0 && b[2] != 4) ||
      (b[0] >= 0 && s[0] >= 0 && b[0] != s[0]) || (b[1] >= 0 && s[2] >= 0 && b[1] != s[2]))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "boxes must be (batch, boxes, 4), scores (batch, classes, boxes)");
  int64_t dims[2] = {-1, 3};
  if (known) {
    hl_status status = suppress(node, inputs, NULL, &dims[0], error);
    if (status != HL_OK) return status;
  }
  hl_op_set(hl_node_output(graph, node, 0), HL_INT64, 2, dims);
  return HL_OK;
}

hl_status hl_evaluate_nms(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  int64_t count;
  return suppress(node, inputs, &outputs[0], &count, error);
}
