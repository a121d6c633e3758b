/* NodeProto and AttributeProto. */
#include "graph/onnx-reader.h"

#include "base/text.h"
#include "graph/operator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  node_input = 1,
  node_output = 2,
  node_name = 3,
  node_op = 4,
  node_attribute = 5,
  node_domain = 7
};
enum {
  attribute_name = 1,
  attribute_f = 2,
  attribute_i = 3,
  attribute_s = 4,
  attribute_t = 5,
  attribute_g = 6,
  attribute_floats = 7,
  attribute_ints = 8,
  attribute_strings = 9,
  attribute_tensors = 10,
  attribute_graphs = 11,
  attribute_type = 20,
  attribute_reference = 21,
  attribute_sparse = 22
};
/* AttributeProto.AttributeType */
enum {
  type_float = 1,
  type_int,
  type_string,
  type_tensor,
  type_graph,
  type_floats,
  type_ints,
  type_strings
};

enum { max_inputs = 1 << 16 };

typedef struct attribute {
  const char *name;
  const void *start;
  uint64_t type; /* 0 where the file does not say */
  bool refers;
  hl_wire_field f, i, s, t; /* `start` is NULL where absent */
  bool other;               /* holds a graph, tensors or a sparse tensor */
  hl_wire message;          /* for the second walk over repeated fields */
} attribute;

static hl_status scan(hl_onnx_reader *reader, hl_wire message, attribute *ret) {
  hl_wire_field field;
  *ret = (attribute){.name = "", .start = message.at, .message = message};
  while (hl_wire_next(&message, &field)) {
    hl_status status = HL_OK;
    switch (field.number) {
    case attribute_name:
      status = hl_onnx_text(reader, &field, "attribute name", &ret->name);
      break;
    case attribute_f:
      ret->f = field;
      break;
    case attribute_i:
      ret->i = field;
      break;
    case attribute_s:
      ret->s = field;
      break;
    case attribute_t:
      ret->t = field;
      break;
    case attribute_g:
    case attribute_tensors:
    case attribute_graphs:
    case attribute_sparse:
      ret->other = true;
      break;
    case attribute_type:
      ret->type = field.value;
      break;
    case attribute_reference:
      ret->refers = true;
      break;
    default:
      break;
    }
    if (status != HL_OK) return status;
  }
  return hl_onnx_end(reader, &message, "attribute");
}

/* Old files leave the type out; then the field that is there decides. */
static uint64_t guess_type(const attribute *a) {
  hl_wire message = a->message;
  hl_wire_field field;
  if (a->type) return a->type;
  if (a->f.start) return type_float;
  if (a->i.start) return type_int;
  if (a->s.start) return type_string;
  if (a->t.start) return type_tensor;
  while (hl_wire_next(&message, &field)) {
    if (field.number == attribute_floats) return type_floats;
    if (field.number == attribute_ints) return type_ints;
    if (field.number == attribute_strings) return type_strings;
  }
  return 0;
}

static float as_float(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float f;
  memcpy(&f, &low, sizeof f);
  return f;
}

/* Walks a packed or unpacked repeated number; counts, and stores where the arrays are given. */
static hl_status walk_numbers(hl_onnx_reader *reader, const attribute *a, uint32_t number,
                              int64_t *ints, float *reals, size_t *ret_count) {
  hl_wire message = a->message;
  hl_wire_field field;
  hl_wire_type type = number == attribute_ints ? HL_WIRE_VARINT : HL_WIRE_FIXED32;
  size_t count = 0;
  while (hl_wire_next(&message, &field)) {
    if (field.number != number) continue;
    if (field.type == type) {
      if (ints) ints[count] = (int64_t)field.value;
      if (reals) reals[count] = as_float(field.value);
      count++;
      continue;
    }
    if (field.type != HL_WIRE_BYTES)
      return hl_onnx_fail(reader, HL_BAD_DATA, field.start,
                          "attribute '%.60s' has the wrong wire "
                          "type",
                          a->name);
    uint64_t value;
    for (; type == HL_WIRE_VARINT && hl_wire_varint(&field.body, &value); count++)
      if (ints) ints[count] = (int64_t)value;
    if (field.body.bad) return hl_onnx_end(reader, &field.body, "attribute");
    if (type == HL_WIRE_VARINT) continue;
    size_t bytes = hl_wire_left(&field.body);
    if (bytes % 4 != 0)
      return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "attribute '%.60s' is cut off",
                          a->name);
    if (reals && bytes) memcpy(reals + count, field.body.at, bytes);
    count += bytes / 4;
  }
  *ret_count = count;
  return hl_onnx_end(reader, &message, "attribute");
}

static hl_status no_memory(hl_onnx_reader *reader, const attribute *a) {
  return hl_onnx_fail(reader, HL_LIMIT, a->start, "attribute '%.60s' is too large", a->name);
}

static hl_status take_numbers(hl_onnx_reader *reader, const attribute *a, hl_attribute *to,
                              uint32_t number) {
  size_t count = 0;
  hl_status status = walk_numbers(reader, a, number, NULL, NULL, &count);
  if (status != HL_OK) return status;
  hl_arena *arena = &reader->graph->arena;
  bool whole = number == attribute_ints;
  int64_t *ints = whole ? hl_arena_array(arena, count, sizeof *ints) : NULL;
  float *reals = whole ? NULL : hl_arena_array(arena, count, sizeof *reals);
  if (!ints && !reals) return no_memory(reader, a);
  to->kind = whole ? HL_ATTRIBUTE_INTS : HL_ATTRIBUTE_REALS;
  to->ints = ints;
  to->reals = reals;
  to->count = count;
  return walk_numbers(reader, a, number, ints, reals, &count);
}

static hl_status take_texts(hl_onnx_reader *reader, const attribute *a, hl_attribute *to) {
  hl_wire message = a->message;
  hl_wire_field field;
  size_t count = 0;
  while (hl_wire_next(&message, &field)) count += field.number == attribute_strings;
  const char **texts = hl_arena_array(&reader->graph->arena, count, sizeof *texts);
  if (!texts) return no_memory(reader, a);
  message = a->message;
  for (size_t i = 0; hl_wire_next(&message, &field);) {
    if (field.number != attribute_strings) continue;
    hl_status status = hl_onnx_text(reader, &field, "attribute text", &texts[i++]);
    if (status != HL_OK) return status;
  }
  to->kind = HL_ATTRIBUTE_TEXTS;
  to->texts = texts;
  to->count = count;
  return HL_OK;
}

/* A string attribute is bytes; those that are no text are kept by name only. */
static hl_status take_text(hl_onnx_reader *reader, const attribute *a, hl_attribute *to) {
  if (a->s.start && a->s.type != HL_WIRE_BYTES)
    return hl_onnx_fail(reader, HL_BAD_DATA, a->start, "attribute '%.60s' is no text", a->name);
  size_t length = hl_wire_left(&a->s.body);
  to->kind = HL_ATTRIBUTE_TEXT;
  to->text = a->s.start ? hl_arena_text_n(&reader->graph->arena, (const char *)a->s.body.at, length)
                        : hl_arena_text(&reader->graph->arena, "");
  if (!to->text) return no_memory(reader, a);
  to->count = strlen(to->text);
  if (to->count != length) to->kind = HL_ATTRIBUTE_OTHER; /* a NUL inside */
  return HL_OK;
}

/* The tensor of an attribute needs a name that nothing else has. */
static hl_status take_tensor(hl_onnx_reader *reader, const attribute *a, const char *wanted,
                             hl_value_id *ret_value) {
  char name[64];
  if (!a->t.start || a->t.type != HL_WIRE_BYTES)
    return hl_onnx_fail(reader, HL_BAD_DATA, a->start, "attribute '%.60s' has no tensor", a->name);
  for (size_t i = reader->graph->value_count; !wanted; i++) {
    snprintf(name, sizeof name, "attribute_%.32s_%zu", a->name, i);
    if (hl_graph_find(reader->graph, name) < 0) wanted = name;
  }
  return hl_onnx_tensor(reader, a->t.body, wanted, ret_value);
}

/* Of an operator that is not implemented an attribute is kept by name only. */
static hl_status read_attribute(hl_onnx_reader *reader, const attribute *a, size_t node,
                                bool implemented) {
  hl_graph *graph = reader->graph;
  if (!a->name[0]) return hl_onnx_fail(reader, HL_BAD_DATA, a->start, "an attribute has no name");
  if (a->refers)
    return hl_onnx_fail(reader, HL_BAD_DATA, a->start,
                        "attribute '%.60s' refers to a function's, outside a function", a->name);
  if (hl_node_attribute(&graph->nodes[node], a->name))
    return hl_onnx_fail(reader, HL_BAD_DATA, a->start, "attribute '%.60s' is given twice", a->name);
  hl_attribute *to = hl_node_attribute_new(graph, &graph->nodes[node], a->name);
  if (!to) return hl_onnx_graph_failure(reader);
  uint64_t type = guess_type(a);
  bool other = a->other || type == type_graph;
  to->kind = HL_ATTRIBUTE_OTHER;
  if (other && reader->facts) reader->facts->hides_weights = true;
  if (!implemented) return HL_OK;
  if (other)
    return hl_onnx_lacks(reader, a->start,
                         "attribute '%.60s' of node '%.60s' (%.40s) is a subgraph or a sparse or "
                         "list of tensors, which is not implemented",
                         a->name, graph->nodes[node].name, graph->nodes[node].op);
  switch (type) {
  case type_float:
    to->kind = HL_ATTRIBUTE_REAL;
    to->f = a->f.start && a->f.type == HL_WIRE_FIXED32 ? as_float(a->f.value) : 0;
    return HL_OK;
  case type_int:
    to->kind = HL_ATTRIBUTE_INT;
    to->i = (int64_t)a->i.value;
    return HL_OK;
  case type_string:
    return take_text(reader, a, to);
  case type_tensor:
    to->kind = HL_ATTRIBUTE_TENSOR;
    return take_tensor(reader, a, NULL, &to->tensor);
  case type_floats:
    return take_numbers(reader, a, to, attribute_floats);
  case type_ints:
    return take_numbers(reader, a, to, attribute_ints);
  case type_strings:
    return take_texts(reader, a, to);
  default:
    return HL_OK;
  }
}

/* -- Constant nodes -------------------------------------------------------------------------- */

static hl_status add_constant(hl_onnx_reader *reader, const char *name, hl_dtype dtype,
                              bool is_list, size_t count, const void *data) {
  int64_t dims[1] = {(int64_t)count};
  hl_value_id id = hl_graph_constant(reader->graph, name, dtype, is_list, dims, data);
  return id >= 0 ? HL_OK : hl_onnx_graph_failure(reader);
}

static hl_status read_constant(hl_onnx_reader *reader, const attribute *a, const char *name) {
  hl_attribute value = {0};
  hl_value_id id;
  hl_status status;
  if (strcmp(a->name, "value") == 0 && !a->other) return take_tensor(reader, a, name, &id);
  if (strcmp(a->name, "value_float") == 0) {
    float f = as_float(a->f.value);
    return add_constant(reader, name, HL_FLOAT32, false, 1, &f);
  }
  if (strcmp(a->name, "value_int") == 0)
    return add_constant(reader, name, HL_INT64, false, 1, &a->i.value);
  if (strcmp(a->name, "value_floats") == 0) {
    status = take_numbers(reader, a, &value, attribute_floats);
    return status != HL_OK ? status
                           : add_constant(reader, name, HL_FLOAT32, true, value.count, value.reals);
  }
  if (strcmp(a->name, "value_ints") == 0) {
    status = take_numbers(reader, a, &value, attribute_ints);
    return status != HL_OK ? status
                           : add_constant(reader, name, HL_INT64, true, value.count, value.ints);
  }
  status = hl_onnx_lacks(reader, a->start,
                         "constant '%.80s' is given by '%.40s', which is not implemented", name,
                         a->name);
  return status == HL_OK ? hl_onnx_unread_constant(reader, name, &id) : status;
}

/* -- NodeProto ------------------------------------------------------------------------------- */

typedef struct node {
  const char *name, *op, *domain, *first_output;
  size_t inputs, outputs, attributes;
  const void *start;
} node;

static hl_status scan_node(hl_onnx_reader *reader, hl_wire message, node *ret) {
  hl_wire_field field;
  *ret = (node){.name = "", .op = "", .domain = "", .first_output = "", .start = message.at};
  while (hl_wire_next(&message, &field)) {
    hl_status status = HL_OK;
    switch (field.number) {
    case node_input:
      ret->inputs++;
      break;
    case node_output:
      if (ret->outputs++ == 0)
        status = hl_onnx_text(reader, &field, "node output", &ret->first_output);
      break;
    case node_name:
      status = hl_onnx_text(reader, &field, "node name", &ret->name);
      break;
    case node_op:
      status = hl_onnx_text(reader, &field, "operator", &ret->op);
      break;
    case node_domain:
      status = hl_onnx_text(reader, &field, "domain", &ret->domain);
      break;
    case node_attribute:
      ret->attributes++;
      break;
    default:
      break;
    }
    if (status != HL_OK) return status;
  }
  if (message.bad) return hl_onnx_end(reader, &message, "node");
  if (!ret->name[0]) ret->name = ret->first_output; /* which no other node has */
  if (!ret->op[0])
    return hl_onnx_fail(reader, HL_BAD_DATA, ret->start, "node '%.100s' has no operator",
                        ret->name);
  if (ret->inputs > max_inputs || ret->outputs > max_inputs)
    return hl_onnx_fail(reader, HL_LIMIT, ret->start, "node '%.100s' has more than %d values",
                        ret->name, max_inputs);
  return HL_OK;
}

static hl_status declare_output(hl_onnx_reader *reader, const hl_wire_field *field, size_t index,
                                size_t output) {
  const char *name;
  hl_graph *graph = reader->graph;
  hl_status status = hl_onnx_text(reader, field, "node output", &name);
  if (status != HL_OK) return status;
  hl_value_id id = -1;
  if (name[0]) {
    if (hl_graph_find(graph, name) >= 0)
      return hl_onnx_fail(reader, HL_BAD_DATA, field->start,
                          "value '%.100s' is computed by node '%.60s' (%.40s) and again elsewhere",
                          name, graph->nodes[index].name, graph->nodes[index].op);
    id = hl_graph_value_new(graph, name, strlen(name), HL_VALUE_TEMPORARY);
    if (id < 0) return hl_onnx_graph_failure(reader);
    graph->values[id].producer = (int32_t)index;
  }
  graph->nodes[index].outputs[output] = id;
  return HL_OK;
}

static hl_status fill_node(hl_onnx_reader *reader, hl_wire message, size_t index) {
  hl_wire_field field;
  size_t output = 0;
  const hl_node *to = &reader->graph->nodes[index];
  bool implemented = hl_operator_find(to->domain, to->op, reader->graph->opset) != NULL;
  while (hl_wire_next(&message, &field)) {
    hl_status status = HL_OK;
    if (field.number == node_output) {
      status = declare_output(reader, &field, index, output++);
    } else if (field.number == node_attribute && field.type == HL_WIRE_BYTES) {
      attribute a;
      status = scan(reader, field.body, &a);
      if (status == HL_OK) status = read_attribute(reader, &a, index, implemented);
    }
    if (status != HL_OK) return status;
  }
  return hl_onnx_end(reader, &message, "node");
}

static hl_status constant_node(hl_onnx_reader *reader, hl_wire message, const node *n) {
  hl_wire_field field;
  attribute a;
  if (n->outputs != 1 || !n->first_output[0] || n->attributes != 1)
    return hl_onnx_fail(reader, HL_BAD_DATA, n->start,
                        "Constant node '%.80s' must have one output and one attribute", n->name);
  while (hl_wire_next(&message, &field)) {
    if (field.number != node_attribute || field.type != HL_WIRE_BYTES) continue;
    hl_status status = scan(reader, field.body, &a);
    return status == HL_OK ? read_constant(reader, &a, n->first_output) : status;
  }
  return hl_onnx_fail(reader, HL_BAD_DATA, n->start, "Constant node '%.80s' is malformed", n->name);
}

hl_status hl_onnx_node(hl_onnx_reader *reader, hl_wire message, hl_node **ret_node) {
  node n;
  hl_graph *graph = reader->graph;
  hl_status status = scan_node(reader, message, &n);
  if (status != HL_OK) return status;
  bool standard = !n.domain[0] || strcmp(n.domain, "ai.onnx") == 0;
  if (standard && strcmp(n.op, "Constant") == 0) return constant_node(reader, message, &n);
  if (strcmp(n.domain, HL_OWN_DOMAIN) == 0)
    return hl_onnx_fail(reader, HL_BAD_DATA, n.start,
                        "node '%.80s': operators of the domain '%s' are made here only; a file "
                        "cannot hold one",
                        n.name, n.domain);
  if (!hl_graph_node_new(graph, n.op, n.name, standard ? "" : n.domain))
    return hl_onnx_graph_failure(reader);
  size_t index = graph->node_count - 1;
  hl_node *to = &graph->nodes[index];
  to->inputs = hl_arena_array(&graph->arena, n.inputs, sizeof *to->inputs);
  to->outputs = hl_arena_array(&graph->arena, n.outputs, sizeof *to->outputs);
  if (!to->inputs || !to->outputs)
    return hl_onnx_fail(reader, HL_LIMIT, n.start, "the graph is too large");
  to->input_count = n.inputs;
  to->output_count = n.outputs;
  for (size_t i = 0; i < n.inputs; i++) to->inputs[i] = -1;
  for (size_t i = 0; i < n.outputs; i++) to->outputs[i] = -1;
  status = fill_node(reader, message, index);
  if (status == HL_OK) *ret_node = &graph->nodes[index];
  return status;
}

hl_status hl_onnx_node_inputs(hl_onnx_reader *reader, hl_wire message, hl_node *to) {
  hl_wire_field field;
  size_t input = 0;
  while (hl_wire_next(&message, &field)) {
    if (field.number != node_input) continue;
    if (field.type != HL_WIRE_BYTES)
      return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "a node input is no name");
    size_t length = hl_wire_left(&field.body);
    if (length) {
      hl_value_id id = hl_graph_find_n(reader->graph, (const char *)field.body.at, length);
      if (id < 0 && !reader->has_sparse) {
        const char *name;
        hl_status status = hl_onnx_text(reader, &field, "node input", &name);
        if (status != HL_OK) return status;
        return hl_onnx_fail(reader, HL_BAD_DATA, field.start,
                            "node '%.60s' (%.40s) uses '%.100s', which is neither an input nor "
                            "computed by any node",
                            to->name, to->op, name);
      }
      to->inputs[input] = id;
    }
    input++;
  }
  return hl_onnx_end(reader, &message, "node");
}
