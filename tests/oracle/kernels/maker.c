#include "maker.h"

#include <math.h>
#include <stdio.h>

bool maker_init(maker *m, uint64_t number, uint64_t draw, maker_kind kind) {
  *m = (maker){.kind = kind, .words = HL_TEXT_INIT};
  hl_random_init(&m->shape, 1, number);
  hl_random_init(&m->data, 2 + draw, number);
  if (hl_graph_new("random", &m->graph, NULL) != HL_OK) return false;
  m->graph->opset = 17;
  return true;
}

void maker_release(maker *m) {
  hl_text_release(&m->words);
}

int64_t maker_below(maker *m, int64_t limit) {
  return (int64_t)hl_random_below(&m->shape, (uint64_t)limit);
}

int64_t maker_between(maker *m, int64_t low, int64_t high) {
  return low + maker_below(m, high - low + 1);
}

bool maker_chance(maker *m, int percent) {
  return maker_below(m, 100) < percent;
}

int64_t maker_pick(maker *m, size_t count, const int64_t *from) {
  return from[maker_below(m, (int64_t)count)];
}

int64_t maker_channels(maker *m) {
  return MAKER_PICK(m, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 16, 17, 20, 31, 32, 32, 33, 40, 48);
}

void maker_fill(maker *m, float *to, size_t count, double deviation) {
  double half = deviation * sqrt(3.0);
  for (size_t i = 0; i < count; i++) to[i] = (float)(half * (2 * hl_random_uniform(&m->data) - 1));
}

static hl_value_id input(maker *m, int32_t rank, const int64_t *dims, double deviation) {
  if (m->graph->input_count == MAKER_INPUTS) return -1;
  char name[32];
  snprintf(name, sizeof name, "x%zu", m->graph->input_count);
  m->scales[m->graph->input_count] = (float)deviation;
  return hl_graph_input(m->graph, name, HL_FLOAT32, rank, dims);
}

hl_value_id maker_input(maker *m, int32_t rank, const int64_t *dims) {
  return input(m, rank, dims, 1);
}

static size_t elements(int32_t rank, const int64_t *dims) {
  size_t count = 1;
  for (int32_t i = 0; i < rank; i++) count *= (size_t)dims[i];
  return count;
}

hl_value_id maker_raw(maker *m, hl_dtype dtype, int32_t rank, const int64_t *dims,
                      const void *data) {
  char name[32];
  snprintf(name, sizeof name, "c%d", m->serial++);
  return hl_graph_constant(m->graph, name, dtype, rank, dims, data);
}

hl_value_id maker_weight(maker *m, int32_t rank, const int64_t *dims, int64_t fan) {
  double deviation = 1 / sqrt((double)fan);
  if (m->kind == MAKER_VARIABLE) return input(m, rank, dims, deviation);
  hl_value_id id = maker_raw(m, HL_FLOAT32, rank, dims, NULL);
  if (id >= 0) maker_fill(m, hl_graph_data(m->graph, id), elements(rank, dims), deviation);
  return id;
}

hl_value_id maker_constant(maker *m, int32_t rank, const int64_t *dims, double low, double high) {
  hl_value_id id = maker_raw(m, HL_FLOAT32, rank, dims, NULL);
  float *data = id >= 0 ? hl_graph_data(m->graph, id) : NULL;
  for (size_t i = 0; data && i < elements(rank, dims); i++)
    data[i] = (float)(low + (high - low) * hl_random_uniform(&m->data));
  return id;
}

hl_value_id maker_number(maker *m, float value) {
  return maker_raw(m, HL_FLOAT32, 0, NULL, &value);
}

hl_value_id maker_floats(maker *m, size_t count, const float *values) {
  return maker_raw(m, HL_FLOAT32, 1, (int64_t[]){(int64_t)count}, values);
}

hl_value_id maker_ints(maker *m, size_t count, const int64_t *values) {
  return maker_raw(m, HL_INT64, 1, (int64_t[]){(int64_t)count}, values);
}

hl_value_id maker_node(maker *m, const char *op, const hl_value_id *inputs, size_t count,
                       hl_node **ret_node) {
  char name[64];
  snprintf(name, sizeof name, "%s_%d", op, m->serial++);
  hl_value_id out = -1;
  hl_node *node = hl_graph_node(m->graph, op, name, inputs, count, &out, 1);
  if (ret_node) *ret_node = node;
  hl_text_format(&m->words, "%s%s", m->words.length ? " " : "", op);
  return out;
}

hl_value_id maker_apply(maker *m, const char *op, hl_value_id a, hl_value_id b, hl_value_id c) {
  return maker_node(m, op, (hl_value_id[]){a, b, c}, c >= 0 ? 3 : b >= 0 ? 2 : 1, NULL);
}

hl_shape maker_shape(maker *m, hl_value_id id) {
  hl_error error = {0};
  if (id < 0 || hl_graph_resolve(m->graph, &error) != HL_OK ||
      hl_graph_infer(m->graph, &error) != HL_OK) {
    hl_text_format(&m->words, " (%s)", error.msg);
    return (hl_shape){.rank = -1};
  }
  return m->graph->values[id].shape;
}
