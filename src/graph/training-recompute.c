/*
 * Activations that are computed again in backward instead of being kept (Chen and others, Training
 * Deep Nets with Sublinear Memory Cost, 2016). The forward nodes are cut into segments. What a
 * later segment reads is kept; what only its own segment and the backward pass read is computed
 * again, segment by segment, just before the first gradient that reads it. The last segment stays
 * as it is: its gradients come first.
 */
#include "graph/graph-internal.h"
#include "graph/training-internal.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 48 };
/* What is expected to be saved at least, else everything is kept. */
static const double worth = 0.95;

typedef struct recompute {
  hl_graph *graph;
  size_t forward, nodes, values; /* before anything is added */
  int32_t *uses;                 /* by value: nodes that read it */
  int32_t *reader;               /* by value: its last reader that is no gradient, -1: none */
  bool *kept;                    /* by value: a gradient of the backward pass reads it */
  double *crossing;              /* by forward node: bytes that are read from there on */
  bool *joined;                  /* by forward node: no cut before it */
  int32_t *segment, *best;       /* by forward node */
  int32_t segments, best_segments;
  bool *needed;       /* by forward node */
  hl_value_id *again; /* by value: its copy, -1: none */
  size_t *begin;      /* by segment: where its copies stand among the nodes; one more at the end */
} recompute;

static bool is_backward(const hl_node *node) {
  return node->is_gradient && node->phase == HL_PHASE_BACKWARD;
}

/* Computed by the forward pass, and not known before. */
static bool is_computed(const recompute *r, hl_value_id value) {
  if (value < 0 || (size_t)value >= r->values) return false;
  const hl_value *v = &r->graph->values[value];
  return v->kind == HL_VALUE_TEMPORARY && !v->data && v->producer >= 0 &&
         (size_t)v->producer < r->forward;
}

static double bytes_of(const recompute *r, hl_value_id value) {
  return (double)r->graph->values[value].bytes;
}

static void survey(recompute *r) {
  const hl_graph *graph = r->graph;
  for (size_t v = 0; v < r->values; v++) r->reader[v] = r->again[v] = -1;
  for (size_t n = 0; n < r->nodes; n++)
    for (size_t i = 0; i < graph->nodes[n].input_count; i++) {
      hl_value_id value = graph->nodes[n].inputs[i];
      if (!is_computed(r, value)) continue;
      r->uses[value]++;
      if (is_backward(&graph->nodes[n]))
        r->kept[value] = true;
      else
        r->reader[value] = (int32_t)n;
    }
  /* The loss and updates read from behind the last node. */
  for (size_t v = 0; v < r->values; v++) {
    if (!is_computed(r, (hl_value_id)v)) continue;
    int32_t from = graph->values[v].producer + 1, to = r->reader[v];
    if (to >= (int32_t)r->forward) to = (int32_t)r->forward - 1;
    /* What only one node reads may be merged with it. A cut between the two would leave both apart,
     * and the losses would not be the same to the bit. */
    bool joins = r->uses[v] == 1;
    for (int32_t n = from; n <= to; n++) {
      r->crossing[n] += bytes_of(r, (hl_value_id)v);
      r->joined[n] = r->joined[n] || joins;
    }
  }
}

/* Bytes of node `n`'s results that are kept for backward. */
static double kept_bytes(const recompute *r, size_t n) {
  const hl_node *node = &r->graph->nodes[n];
  double bytes = 0;
  for (size_t i = 0; i < node->output_count; i++)
    if (is_computed(r, node->outputs[i]) && r->kept[node->outputs[i]])
      bytes += bytes_of(r, node->outputs[i]);
  return bytes;
}

/* Cuts where about `part` bytes are kept, each time where least is read across. */
static void cut(recompute *r, double part) {
  double sum = 0, since = 0; /* since the last cut; since the best place for the next one */
  size_t place = 0, from = 0;
  r->segments = 0;
  for (size_t n = 0; n < r->forward; n++) {
    double bytes = kept_bytes(r, n);
    bool may = n > from && !r->joined[n] && sum >= part / 2;
    if (may && (!place || r->crossing[n] <= r->crossing[place])) {
      place = n;
      since = 0;
    }
    sum += bytes;
    since += bytes;
    r->segment[n] = r->segments;
    if (sum < part || !place) continue;
    r->segments++;
    for (size_t k = place; k <= n; k++) r->segment[k] = r->segments;
    from = place;
    sum = since;
    place = 0;
  }
  r->segments++;
}

/* Does only its own segment read it? */
static bool is_inner(const recompute *r, hl_value_id value) {
  if (!is_computed(r, value)) return false;
  int32_t producer = r->graph->values[value].producer, reader = r->reader[value];
  if (r->segment[producer] == r->segments - 1) return false;
  return reader < (int32_t)r->forward && (reader < 0 || r->segment[reader] == r->segment[producer]);
}

/* What has to be there at once: what is kept throughout, and the largest segment. */
static double cost(const recompute *r) {
  double always = 0, most = 0, sum = 0;
  int32_t segment = 0;
  for (size_t n = 0; n < r->forward; n++) {
    const hl_node *node = &r->graph->nodes[n];
    if (r->segment[n] != segment) {
      segment = r->segment[n];
      sum = 0;
    }
    for (size_t i = 0; i < node->output_count; i++) {
      hl_value_id value = node->outputs[i];
      if (!is_computed(r, value)) continue;
      bool crosses = r->reader[value] >= 0 && !is_inner(r, value) && segment < r->segments - 1;
      if (crosses)
        always += bytes_of(r, value);
      else if (r->kept[value])
        sum += bytes_of(r, value);
    }
    if (sum > most) most = sum;
  }
  return always + most;
}

static bool choose(recompute *r) {
  double all = 0, least;
  for (size_t n = 0; n < r->forward; n++) all += kept_bytes(r, n);
  least = worth * all;
  for (int parts = 2; parts <= MOST_PARTS; parts++) {
    cut(r, all / parts);
    double now = cost(r);
    if (r->segments < 2 || now >= least) continue;
    least = now;
    r->best_segments = r->segments;
    memcpy(r->best, r->segment, r->forward * sizeof *r->best);
  }
  r->segments = r->best_segments;
  memcpy(r->segment, r->best, r->forward * sizeof *r->best);
  return r->segments > 1;
}

/* -- copies ------------------------------------------------------------------------------------ */

/* Nodes whose results gradients read, and those that they stand on within their segment. */
static void mark_needed(recompute *r) {
  for (size_t n = r->forward; n-- > 0;) {
    const hl_node *node = &r->graph->nodes[n];
    for (size_t i = 0; i < node->output_count; i++)
      if (is_inner(r, node->outputs[i]) && r->kept[node->outputs[i]]) r->needed[n] = true;
    for (size_t i = 0; r->needed[n] && i < node->input_count; i++)
      if (is_inner(r, node->inputs[i]) &&
          r->segment[r->graph->values[node->inputs[i]].producer] == r->segment[n])
        r->needed[r->graph->values[node->inputs[i]].producer] = true;
  }
}

static hl_value_id value_again(recompute *r, hl_value_id value) {
  hl_graph *graph = r->graph;
  if (value < 0) return -1;
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s/again", graph->values[value].name);
  const char *again = hl_graph_free_name(graph, name ? name : "again");
  hl_value_id id = hl_graph_value_new(graph, again, strlen(again), HL_VALUE_TEMPORARY);
  if (id < 0) return -1;
  graph->values[id].dtype = graph->values[value].dtype;
  graph->values[id].shape = graph->values[value].shape;
  graph->values[id].bytes = graph->values[value].bytes;
  /* Both are merged with what reads them as they would be if it were kept, or not at all: else the
   * losses would not be the same to the bit. */
  bool apart = is_computed(r, value) && r->uses[value] > 1;
  graph->values[id].original = value;
  graph->values[id].is_apart = graph->values[value].is_apart = apart;
  return r->again[value] = id;
}

static hl_value_id read_again(const recompute *r, hl_value_id value) {
  bool copied = value >= 0 && (size_t)value < r->values && r->again[value] >= 0;
  return copied ? r->again[value] : value;
}

static bool copy_node(recompute *r, size_t n) {
  hl_graph *graph = r->graph;
  graph->pen_layer = hl_node_layer(graph, &graph->nodes[n]);
  hl_node *copy = hl_graph_node_like(graph, n);
  if (!copy) return false;
  for (size_t i = 0; i < copy->input_count; i++) copy->inputs[i] = read_again(r, copy->inputs[i]);
  for (size_t i = 0; i < copy->output_count; i++) {
    copy->outputs[i] = value_again(r, copy->outputs[i]);
    if (graph->failed != HL_OK) return false;
  }
  return true;
}

/* Behind all other nodes, segment by segment. */
static bool copy_segments(recompute *r) {
  hl_graph *graph = r->graph;
  hl_phase phase = graph->pen_phase;
  const char *layer = graph->pen_layer;
  bool ok = true;
  graph->pen_phase = HL_PHASE_BACKWARD;
  size_t n = 0;
  for (int32_t s = 0; s < r->segments && ok; s++) {
    r->begin[s] = graph->node_count;
    for (; n < r->forward && r->segment[n] == s && ok; n++)
      if (r->needed[n]) ok = copy_node(r, n);
  }
  r->begin[r->segments] = graph->node_count;
  graph->pen_phase = phase;
  graph->pen_layer = layer;
  return ok;
}

/* Gradients read the copies, which stand before the first of them. */
static hl_status place_copies(recompute *r, hl_error *error) {
  hl_graph *graph = r->graph;
  HL_CLEANUP(hl_free_pointer) size_t *order = calloc(graph->node_count + 1, sizeof *order);
  HL_CLEANUP(hl_free_pointer) bool *placed = calloc((size_t)r->segments + 1, sizeof *placed);
  size_t count = 0;
  if (!order || !placed) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a step");
  for (size_t n = 0; n < r->nodes; n++) {
    hl_node *node = &graph->nodes[n];
    for (size_t i = 0; is_backward(node) && i < node->input_count; i++) {
      hl_value_id value = node->inputs[i];
      if (read_again(r, value) == value) continue;
      int32_t s = r->segment[graph->values[value].producer];
      for (size_t k = r->begin[s]; !placed[s] && k < r->begin[s + 1]; k++) order[count++] = k;
      placed[s] = true;
      node->inputs[i] = r->again[value];
    }
    order[count++] = n;
  }
  for (int32_t s = 0; s < r->segments; s++) /* of what no gradient reads after all */
    for (size_t k = r->begin[s]; !placed[s] && k < r->begin[s + 1]; k++) order[count++] = k;
  return hl_graph_reorder(graph, order, error);
}

hl_status hl_training_recompute(hl_graph *graph, hl_error *error) {
  recompute r = {.graph = graph, .nodes = graph->node_count, .values = graph->value_count};
  while (r.forward < r.nodes && graph->nodes[r.forward].phase == HL_PHASE_FORWARD) r.forward++;
  r.uses = calloc(r.values + 1, sizeof *r.uses);
  r.reader = calloc(r.values + 1, sizeof *r.reader);
  r.kept = calloc(r.values + 1, sizeof *r.kept);
  r.again = calloc(r.values + 1, sizeof *r.again);
  r.crossing = calloc(r.forward + 1, sizeof *r.crossing);
  r.joined = calloc(r.forward + 1, sizeof *r.joined);
  r.segment = calloc(r.forward + 1, sizeof *r.segment);
  r.best = calloc(r.forward + 1, sizeof *r.best);
  r.needed = calloc(r.forward + 1, sizeof *r.needed);
  r.begin = calloc(r.forward + 2, sizeof *r.begin);
  hl_status status = HL_OK;
  if (!r.uses || !r.reader || !r.kept || !r.again || !r.crossing || !r.joined || !r.segment ||
      !r.best || !r.needed || !r.begin) {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a training step");
  } else {
    survey(&r);
    if (choose(&r)) {
      mark_needed(&r);
      status = copy_segments(&r) ? place_copies(&r, error) : hl_graph_status(graph, error);
    }
  }
  void *all[] = {r.uses,   r.reader,  r.kept, r.again,  r.crossing,
                 r.joined, r.segment, r.best, r.needed, r.begin};
  for (size_t i = 0; i < HL_COUNT(all); i++) free(all[i]);
  return status;
}
