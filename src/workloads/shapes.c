#include "workloads/shapes.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* What is known of the graph's inputs while they are resolved. */
typedef struct resolver {
  hl_graph *graph;
  const char *model;
  const hl_input_shape *shapes[HL_INPUTS_MAX]; /* of each input, or NULL */
  int32_t *axes;                               /* of the batch; -1: none or not known yet */
  const char *batch; /* symbol of the batch, or NULL: first dimensions, whatever their names */
} resolver;

static hl_value *input_at(const resolver *r, size_t i) {
  return &r->graph->values[r->graph->inputs[i]];
}

static bool is_open(const hl_value *value, int32_t axis) {
  return value->shape.dims[axis] < 0;
}

/* "batch", "batch_size", "Batch", "bs", "N", "B". */
static bool names_batch(const char *symbol) {
  if (!symbol) return false;
  return strncasecmp(symbol, "batch", 5) == 0 || strcasecmp(symbol, "bs") == 0 ||
         strcasecmp(symbol, "n") == 0 || strcasecmp(symbol, "b") == 0;
}

static hl_status list_inputs(const resolver *r, const hl_input_shape *shape, hl_error *error) {
  hl_text list = HL_TEXT_INIT;
  for (size_t i = 0; i < r->graph->input_count && list.length < 200; i++)
    hl_text_format(&list, "%s%.60s", i ? ", " : "", input_at(r, i)->name);
  hl_error_set(error, HL_INVALID_ARGUMENT,
               "--input-shape: %.150s has no input '%.100s'; it has: %s", r->model, shape->name,
               list.length ? list.data : "none");
  hl_text_release(&list);
  return HL_INVALID_ARGUMENT;
}

static hl_status take_shapes(resolver *r, const hl_input_shape *shapes, size_t count,
                             hl_error *error) {
  for (size_t s = 0; s < count; s++) {
    size_t i = 0;
    while (i < r->graph->input_count && strcmp(input_at(r, i)->name, shapes[s].name) != 0) i++;
    if (i == r->graph->input_count) return list_inputs(r, &shapes[s], error);
    r->shapes[i] = &shapes[s];
    hl_shape *shape = &input_at(r, i)->shape;
    if (shape->rank < 0) { /* the file says nothing at all */
      shape->rank = shapes[s].rank;
      for (int32_t d = 0; d < shape->rank; d++) shape->dims[d] = -1;
    }
    if (shape->rank != shapes[s].rank)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--input-shape: input '%.100s' of %.150s has %d dimension%s; %d were "
                          "given",
                          shapes[s].name, r->model, shape->rank, shape->rank == 1 ? "" : "s",
                          shapes[s].rank);
  }
  return HL_OK;
}

/* Rules 1 and 2: which symbol is the batch. */
static void find_batch_symbol(resolver *r) {
  for (size_t i = 0; i < r->graph->input_count; i++) {
    r->axes[i] = -1;
    for (int32_t d = 0; r->shapes[i] && d < r->shapes[i]->rank; d++)
      if (r->shapes[i]->dims[d] < 0) {
        r->axes[i] = d;
        if (!r->batch) r->batch = input_at(r, i)->symbols[d];
      }
  }
  for (size_t i = 0; !r->batch && i < r->graph->input_count; i++) {
    const hl_value *value = input_at(r, i);
    for (int32_t d = 0; !r->batch && d < value->shape.rank; d++)
      if (is_open(value, d) && names_batch(value->symbols[d])) r->batch = value->symbols[d];
  }
  if (r->batch) return;
  /* Whatever it is called: if all open first dimensions have one name, that is the batch's. */
  const char *name = NULL;
  for (size_t i = 0; i < r->graph->input_count; i++) {
    const hl_value *value = input_at(r, i);
    bool denied = r->shapes[i] && r->shapes[i]->rank > 0 && r->shapes[i]->dims[0] > 1;
    if (value->shape.rank < 1 || !is_open(value, 0) || denied) continue;
    if (!value->symbols[0] || (name && strcmp(name, value->symbols[0]) != 0)) return;
    name = value->symbols[0];
  }
  r->batch = name;
}

/* Rules 2 and 3 for one input. */
static hl_status find_axis(resolver *r, size_t i, hl_error *error) {
  const hl_value *value = input_at(r, i);
  int found = 0;
  for (int32_t d = 0; r->batch && d < value->shape.rank; d++) {
    if (!is_open(value, d) || !value->symbols[d] || strcmp(value->symbols[d], r->batch) != 0)
      continue;
    if (r->axes[i] != d && r->axes[i] >= 0) found++;
    if (r->axes[i] < 0) r->axes[i] = d;
  }
  if (found)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.200s: input '%.100s' has the batch ('%.60s') in two dimensions; export "
                        "the model with another name for one of them",
                        r->model, value->name, r->batch);
  bool first = value->shape.rank > 0 && is_open(value, 0) && (!r->batch || !value->symbols[0]);
  /* A number other than 1 says that it is not the batch. */
  bool denied = r->shapes[i] && r->shapes[i]->rank > 0 && r->shapes[i]->dims[0] != 1;
  if (r->axes[i] < 0 && first && !denied) r->axes[i] = 0;
  return HL_OK;
}

/* Gives dimension `d` of input `i` its number, and all of the same name with it. */
static hl_status fix_dim(resolver *r, size_t i, int32_t d, int64_t dim, hl_error *error) {
  const hl_value *given = input_at(r, i);
  const char *symbol = given->symbols[d];
  if (given->shape.dims[d] >= 0 && given->shape.dims[d] != dim)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--input-shape: dimension %d of input '%.100s' is %" PRId64 "%s%.60s; it "
                        "cannot be %" PRId64,
                        d, given->name, given->shape.dims[d],
                        symbol ? ", as another input says for " : " in the model",
                        symbol ? symbol : "", dim);
  input_at(r, i)->shape.dims[d] = dim;
  for (size_t k = 0; symbol && k < r->graph->input_count; k++) {
    hl_value *value = input_at(r, k);
    for (int32_t e = 0; e < value->shape.rank; e++)
      if (value->symbols[e] && strcmp(value->symbols[e], symbol) == 0 && is_open(value, e) &&
          r->axes[k] != e)
        value->shape.dims[e] = dim;
  }
  return HL_OK;
}

static hl_status fix_given(resolver *r, size_t i, hl_error *error) {
  const hl_input_shape *shape = r->shapes[i];
  for (int32_t d = 0; shape && d < shape->rank; d++) {
    if (shape->dims[d] < 0) continue;
    if (d == r->axes[i] && shape->dims[d] != 1)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--input-shape: dimension %d of input '%.100s' is the batch%s%.60s%s: "
                          "write B there, and --batch-sizes %" PRId64,
                          d, shape->name, r->batch ? " ('" : "", r->batch ? r->batch : "",
                          r->batch ? "')" : "", shape->dims[d]);
    if (d == r->axes[i]) continue;
    hl_status status = fix_dim(r, i, d, shape->dims[d], error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* -- what is missing ------------------------------------------------------------------------- */

static bool lacks_dims(const resolver *r, size_t i) {
  const hl_value *value = input_at(r, i);
  if (value->shape.rank < 0) return true;
  for (int32_t d = 0; d < value->shape.rank; d++)
    if (is_open(value, d) && d != r->axes[i]) return true;
  return false;
}

/* A number for the example: pictures are 224 pixels wide, other things 128 long. */
static int64_t example_dim(const hl_value *value, int32_t d) {
  const char *symbol = value->symbols[d] ? value->symbols[d] : "";
  bool picture = value->shape.rank == 4 && hl_dtype_is_float(value->dtype) && d >= 2;
  return picture || strcasestr(symbol, "height") || strcasestr(symbol, "width") ? 224 : 128;
}

/* Appends the option for input `i` and, with it, fixes the dimensions that it names. */
static void append_option(resolver *r, size_t i, hl_text *out) {
  const hl_value *value = input_at(r, i);
  hl_input_shape shape = {.name = value->name, .rank = value->shape.rank};
  hl_text text = HL_TEXT_INIT;
  if (shape.rank < 0) { /* nothing to go by: a picture */
    hl_text_format(&text, "%s=Bx3x224x224", value->name);
  } else {
    for (int32_t d = 0; d < shape.rank; d++) {
      if (is_open(value, d) && d != r->axes[i]) fix_dim(r, i, d, example_dim(value, d), NULL);
      shape.dims[d] = d == r->axes[i] ? -1 : input_at(r, i)->shape.dims[d];
    }
    hl_input_shape_format(&shape, &text);
  }
  hl_text_append(out, " --input-shape ");
  hl_shell_quote(out, text.data);
  hl_text_release(&text);
}

static void append_open(const resolver *r, size_t i, hl_text *out) {
  const hl_value *value = input_at(r, i);
  hl_text_format(out, "input '%.60s'", value->name);
  if (value->shape.rank < 0) {
    hl_text_append(out, " has no shape in the file");
    return;
  }
  hl_text_append(out, " leaves open:");
  for (int32_t d = 0; d < value->shape.rank; d++) {
    if (!is_open(value, d) || d == r->axes[i]) continue;
    hl_text_format(out, " dimension %d", d);
    if (value->symbols[d]) hl_text_format(out, " '%.60s'", value->symbols[d]);
  }
}

static hl_status check_missing(resolver *r, hl_error *error) {
  size_t first = 0;
  while (first < r->graph->input_count && !lacks_dims(r, first)) first++;
  if (first == r->graph->input_count) return HL_OK;
  hl_text open = HL_TEXT_INIT, options = HL_TEXT_INIT;
  append_open(r, first, &open);
  for (size_t i = first; i < r->graph->input_count; i++)
    if (lacks_dims(r, i)) append_option(r, i, &options);
  hl_error_set(error, HL_INVALID_ARGUMENT, "%.120s: %s. Add, with the numbers that you want,%s",
               r->model, open.data, options.data);
  hl_text_release(&open);
  hl_text_release(&options);
  return HL_INVALID_ARGUMENT;
}

/* -- the batch that a model has fixed ---------------------------------------------------------- */

static int64_t fixed_batch(resolver *r) {
  int64_t batch = -1;
  bool same = true, marked = false;
  for (size_t i = 0; i < r->graph->input_count; i++) {
    const hl_shape *shape = &input_at(r, i)->shape;
    if (r->axes[i] >= 0) { /* B where the model has a number */
      same = same && (!marked || batch == shape->dims[r->axes[i]]);
      batch = shape->dims[r->axes[i]];
      marked = true;
    }
  }
  if (marked) return same ? batch : 1;
  for (size_t i = 0; i < r->graph->input_count; i++) {
    const hl_shape *shape = &input_at(r, i)->shape;
    if (shape->rank == 0 || r->shapes[i]) continue;
    same = same && (batch < 0 || batch == shape->dims[0]);
    batch = shape->dims[0];
  }
  if (!same || batch < 1) return 1;
  for (size_t i = 0; i < r->graph->input_count; i++)
    if (input_at(r, i)->shape.rank > 0 && !r->shapes[i]) r->axes[i] = 0;
  return batch;
}

static bool has_open_batch(const resolver *r) {
  for (size_t i = 0; i < r->graph->input_count; i++)
    if (r->axes[i] >= 0 && is_open(input_at(r, i), r->axes[i])) return true;
  return false;
}

hl_status hl_shapes_resolve(hl_graph *graph, const char *model, const hl_input_shape *shapes,
                            size_t count, int32_t *ret_axes, int64_t *ret_fixed_batch,
                            hl_error *error) {
  resolver r = {.graph = graph, .model = model, .axes = ret_axes};
  if (graph->input_count == 0 || graph->input_count > HL_INPUTS_MAX)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%.200s: %zu inputs; 1 to %d are supported", model,
                        graph->input_count, HL_INPUTS_MAX);
  hl_status status = take_shapes(&r, shapes, count, error);
  if (status != HL_OK) return status;
  find_batch_symbol(&r);
  for (size_t i = 0; i < graph->input_count && status == HL_OK; i++)
    status = find_axis(&r, i, error);
  for (size_t i = 0; i < graph->input_count && status == HL_OK; i++)
    status = fix_given(&r, i, error);
  if (status == HL_OK) status = check_missing(&r, error);
  if (status != HL_OK) return status;
  *ret_fixed_batch = has_open_batch(&r) ? 0 : fixed_batch(&r);
  /* B on a number, in a model whose batch is open elsewhere: that input has none. */
  for (size_t i = 0; *ret_fixed_batch == 0 && i < graph->input_count; i++)
    if (ret_axes[i] >= 0 && !is_open(input_at(&r, i), ret_axes[i]))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--input-shape: dimension %d of input '%.100s' is %" PRId64
                          " in the model; it cannot be the batch, which other inputs leave open",
                          ret_axes[i], input_at(&r, i)->name,
                          input_at(&r, i)->shape.dims[ret_axes[i]]);
  return HL_OK;
}

void hl_shapes_bind_batch(hl_graph *graph, const int32_t *axes, int64_t batch) {
  for (size_t i = 0; i < graph->input_count; i++)
    if (axes[i] >= 0) graph->values[graph->inputs[i]].shape.dims[axes[i]] = batch;
}
