/*
 * maker.h - small random networks, so that the engine can be compared with the reference functions.
 *
 *     maker m;
 *     maker_init(&m, number, 0, MAKER_CONSTANT);
 *     hl_value_id x = maker_input(&m, 2, (int64_t[]){3, maker_size(&m)});
 *     hl_value_id w = maker_weight(&m, 2, (int64_t[]){maker_last(&m, x), 17}, fan);
 *     hl_value_id y = maker_node(&m, "MatMul", (hl_value_id[]){x, w}, 2, NULL);
 *     hl_graph_output(m.graph, y);
 *
 * What a network is depends on `number` alone, its numbers on `draw`, too: a comparison that fails
 * by bad luck (a sum that cancels, a value beside a ReLU's kink) passes with another draw.
 */
#ifndef HL_TESTS_KERNELS_MAKER_H
#define HL_TESTS_KERNELS_MAKER_H

#include "base/text.h"
#include "graph/graph.h"
#include "numeric/random.h"

enum { MAKER_INPUTS = 16 };

/* What weights are. */
typedef enum maker_kind {
  MAKER_CONSTANT, /* constants, which the engine arranges ahead */
  MAKER_VARIABLE  /* inputs of the graph: the engine arranges them at each step, as in training */
} maker_kind;

typedef struct maker {
  hl_graph *graph;
  hl_random shape, data;
  maker_kind kind;
  int serial;
  float scales[MAKER_INPUTS]; /* deviation of the numbers of each input */
  hl_text words;              /* what the network is, for messages */
} maker;

bool maker_init(maker *m, uint64_t number, uint64_t draw, maker_kind kind);
void maker_release(maker *m); /* the graph is the caller's */

/* Choices. */
int64_t maker_below(maker *m, int64_t limit);               /* 0 ... limit - 1 */
int64_t maker_between(maker *m, int64_t low, int64_t high); /* both included */
bool maker_chance(maker *m, int percent);
int64_t maker_pick(maker *m, size_t count, const int64_t *from);
#define MAKER_PICK(m, ...)                                                                         \
  maker_pick(m, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
int64_t maker_channels(maker *m); /* around the widths of vectors, and one */

/* Values. Numbers are uniform with the deviation that is said, 1 for an input. */
hl_value_id maker_input(maker *m, int32_t rank, const int64_t *dims);
/* Scaled so that a sum of `fan` products has deviation 1. */
hl_value_id maker_weight(maker *m, int32_t rank, const int64_t *dims, int64_t fan);
hl_value_id maker_constant(maker *m, int32_t rank, const int64_t *dims, double low, double high);
hl_value_id maker_number(maker *m, float value);
/* Of any type; zeros, which hl_graph_data lets you fill, where `data` is NULL. */
hl_value_id maker_raw(maker *m, hl_dtype dtype, int32_t rank, const int64_t *dims,
                      const void *data);
hl_value_id maker_floats(maker *m, size_t count, const float *values);
hl_value_id maker_ints(maker *m, size_t count, const int64_t *values);

/* A node with one result; its attributes may be set until the next node is made. */
hl_value_id maker_node(maker *m, const char *op, const hl_value_id *inputs, size_t count,
                       hl_node **ret_node);
/* The same of up to three inputs, -1 for none at the end, without attributes. */
hl_value_id maker_apply(maker *m, const char *op, hl_value_id a, hl_value_id b, hl_value_id c);

/* The value's shape, inferred now; rank -1 where that fails. */
hl_shape maker_shape(maker *m, hl_value_id id);

/* Fills `to` with an input's numbers. */
void maker_fill(maker *m, float *to, size_t count, double deviation);

#endif
