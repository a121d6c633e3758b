/*
 * data/neighbours.h - nearest neighbours of points in the plane, and groups of them.
 *
 * A k-d tree: building takes O(n log² n), a query O(log n + k) on average. Points at equal
 * distances are taken in the order of their indices, so results do not depend on the tree. Pure;
 * thread-safe.
 */
#ifndef HL_DATA_NEIGHBOURS_H
#define HL_DATA_NEIGHBOURS_H

#include "base/error.h"

enum { HL_NEIGHBOURS_MAX = 64 };

/* The `k` nearest other points of every point, nearest first, into ret_indices[count * k].
 * Coordinates must be finite. INVALID_ARGUMENT if k is not in 1..min(count - 1,
 * HL_NEIGHBOURS_MAX); OUT_OF_MEMORY. */
hl_status hl_neighbours_find(const double *x, const double *y, int64_t count, int k,
                             int64_t *ret_indices, hl_error *error);

/* PtychoPINN's groups: for each point `size` different ones of its `size` nearest neighbours (the
 * point itself is not one of them), in random order, into ret_groups[count * size]. `size` 1 gives
 * the points themselves. */
hl_status hl_neighbours_group(const double *x, const double *y, int64_t count, int size,
                              uint64_t seed, int64_t *ret_groups, hl_error *error);

#endif
