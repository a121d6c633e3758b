#include "data/neighbours.h"

#include "numeric/random.h"
#include <stdbool.h>
#include <stdlib.h>

typedef struct point {
  double at[2];
  int64_t index;
} point;

typedef struct found {
  double distance; /* squared */
  int64_t index;
} found;

typedef struct query {
  const point *points;
  point centre;
  int k, used;
  found best[HL_NEIGHBOURS_MAX]; /* nearest first */
} query;

static int compare_points(const void *a, const void *b, void *axis) {
  const point *p = a, *q = b;
  int i = *(const int *)axis;
  if (p->at[i] != q->at[i]) return p->at[i] < q->at[i] ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

/* Orders [first, end) so that its middle is the node and the halves are the subtrees. */
static void build(point *points, int64_t first, int64_t end, int axis) {
  if (end - first < 2) return;
  qsort_r(points + first, (size_t)(end - first), sizeof *points, compare_points, &axis);
  int64_t middle = first + (end - first) / 2;
  build(points, first, middle, !axis);
  build(points, middle + 1, end, !axis);
}

static bool nearer(const found *a, const found *b) {
  return a->distance != b->distance ? a->distance < b->distance : a->index < b->index;
}

static void offer(query *q, const point *p) {
  if (p->index == q->centre.index) return;
  double dx = p->at[0] - q->centre.at[0], dy = p->at[1] - q->centre.at[1];
  found candidate = {.distance = dx * dx + dy * dy, .index = p->index};
  if (q->used == q->k && !nearer(&candidate, &q->best[q->k - 1])) return;
  int i = q->used < q->k ? q->used++ : q->k - 1;
  for (; i > 0 && nearer(&candidate, &q->best[i - 1]); i--) q->best[i] = q->best[i - 1];
  q->best[i] = candidate;
}

static void search(query *q, int64_t first, int64_t end, int axis) {
  if (first >= end) return;
  int64_t middle = first + (end - first) / 2;
  const point *node = &q->points[middle];
  double side = q->centre.at[axis] - node->at[axis];
  offer(q, node);
  if (side < 0)
    search(q, first, middle, !axis);
  else
    search(q, middle + 1, end, !axis);
  /* Points at exactly the worst distance matter, too: a smaller index wins. */
  if (q->used == q->k && side * side > q->best[q->k - 1].distance) return;
  if (side < 0)
    search(q, middle + 1, end, !axis);
  else
    search(q, first, middle, !axis);
}

hl_status hl_neighbours_find(const double *x, const double *y, int64_t count, int k,
                             int64_t *ret_indices, hl_error *error) {
  if (k < 1 || k > HL_NEIGHBOURS_MAX || k >= count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%d neighbours need at least %d positions; there are %lld", k, k + 1,
                        (long long)count);
  point *points = calloc((size_t)count, sizeof *points);
  if (!points)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %lld positions", (long long)count);
  for (int64_t i = 0; i < count; i++) points[i] = (point){.at = {x[i], y[i]}, .index = i};
  build(points, 0, count, 0);
  for (int64_t i = 0; i < count; i++) {
    query q = {.points = points, .centre = {.at = {x[i], y[i]}, .index = i}, .k = k};
    search(&q, 0, count, 0);
    for (int j = 0; j < k; j++) ret_indices[i * k + j] = q.best[j].index;
  }
  free(points);
  return HL_OK;
}

hl_status hl_neighbours_group(const double *x, const double *y, int64_t count, int size,
                              uint64_t seed, int64_t *ret_groups, hl_error *error) {
  if (size == 1) {
    for (int64_t i = 0; i < count; i++) ret_groups[i] = i;
    return HL_OK;
  }
  hl_status status = hl_neighbours_find(x, y, count, size, ret_groups, error);
  if (status != HL_OK) return status;
  hl_random random;
  hl_random_init(&random, seed, hl_random_stream("ptychography groups"));
  for (int64_t i = 0; i < count; i++) {
    int64_t *group = ret_groups + i * size;
    for (int j = size - 1; j > 0; j--) {
      int other = (int)hl_random_below(&random, (uint64_t)j + 1);
      int64_t t = group[j];
      group[j] = group[other];
      group[other] = t;
    }
  }
  return HL_OK;
}
