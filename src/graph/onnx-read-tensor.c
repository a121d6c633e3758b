/* TensorProto: constants that point into the mapping wherever their alignment allows. */
#include "graph/onnx-reader.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  tensor_dims = 1,
  tensor_type = 2,
  tensor_segment = 3,
  tensor_floats = 4,
  tensor_int32s = 5,
  tensor_strings = 6,
  tensor_int64s = 7,
  tensor_name = 8,
  tensor_raw = 9,
  tensor_doubles = 10,
  tensor_uint64s = 11,
  tensor_external = 13,
  tensor_location = 14
};

static const uint64_t max_external_bytes = UINT64_C(1) << 40;

typedef struct tensor {
  hl_wire message; /* whole, for a second walk over typed data */
  const void *start;
  const char *name;
  hl_shape shape;
  uint64_t type; /* as written */
  hl_dtype dtype;
  hl_wire raw;
  bool has_raw, external;
  const char *location;
  uint64_t offset, length;
  bool has_length;
} tensor;

static hl_status add_dim(hl_onnx_reader *reader, tensor *t, const void *at, uint64_t dim) {
  if (t->shape.rank == HL_MAX_RANK)
    return hl_onnx_fail(reader, HL_UNIMPLEMENTED, at, "tensor '%.100s' has more than %d dimensions",
                        t->name, HL_MAX_RANK);
  if (dim > (uint64_t)HL_GRAPH_MAX_DIM)
    return hl_onnx_fail(reader, HL_LIMIT, at,
                        "tensor '%.100s' has a dimension of %" PRId64 " elements", t->name,
                        (int64_t)dim);
  t->shape.dims[t->shape.rank++] = (int64_t)dim;
  return HL_OK;
}

static hl_status read_dims(hl_onnx_reader *reader, tensor *t, hl_wire_field *field) {
  if (field->type == HL_WIRE_VARINT) return add_dim(reader, t, field->start, field->value);
  if (field->type != HL_WIRE_BYTES)
    return hl_onnx_fail(reader, HL_BAD_DATA, field->start, "tensor dims have the wrong wire type");
  uint64_t dim;
  while (hl_wire_varint(&field->body, &dim)) {
    hl_status status = add_dim(reader, t, field->start, dim);
    if (status != HL_OK) return status;
  }
  return hl_onnx_end(reader, &field->body, "tensor dims");
}

/* Decimal digits only: strtoull would take spaces and signs. */
static bool parse_decimal(const char *text, uint64_t *ret) {
  uint64_t value = 0;
  if (!text[0]) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
      return false;
  }
  *ret = value;
  return true;
}

static hl_status read_external(hl_onnx_reader *reader, tensor *t, hl_wire entry) {
  hl_wire_field field;
  const char *key = "", *value = "";
  const void *start = entry.at;
  while (hl_wire_next(&entry, &field)) {
    if (field.number != 1 && field.number != 2) continue;
    hl_status status =
        hl_onnx_text(reader, &field, "external data entry", field.number == 1 ? &key : &value);
    if (status != HL_OK) return status;
  }
  if (entry.bad) return hl_onnx_end(reader, &entry, "external data entry");
  bool ok = true;
  if (strcmp(key, "location") == 0) t->location = value;
  if (strcmp(key, "offset") == 0) ok = parse_decimal(value, &t->offset);
  if (strcmp(key, "length") == 0) ok = t->has_length = parse_decimal(value, &t->length);
  return ok ? HL_OK
            : hl_onnx_fail(reader, HL_BAD_DATA, start, "external data has %.20s '%.60s'", key,
                           value);
}

static hl_status read_field(hl_onnx_reader *reader, tensor *t, hl_wire_field *field) {
  bool bytes = field->type == HL_WIRE_BYTES;
  switch (field->number) {
  case tensor_dims:
    return read_dims(reader, t, field);
  case tensor_type:
    t->type = field->type == HL_WIRE_VARINT ? field->value : 0;
    t->dtype = t->type <= HL_BFLOAT16 ? (hl_dtype)t->type : HL_DTYPE_NONE;
    return HL_OK;
  case tensor_segment:
    return hl_onnx_fail(reader, HL_UNIMPLEMENTED, field->start, "a tensor in segments");
  case tensor_name:
    return hl_onnx_text(reader, field, "tensor name", &t->name);
  case tensor_raw:
    if (!bytes || t->has_raw)
      return hl_onnx_fail(reader, HL_BAD_DATA, field->start, "a tensor has malformed raw_data");
    t->has_raw = true;
    t->raw = field->body;
    return HL_OK;
  case tensor_external:
    return bytes ? read_external(reader, t, field->body)
                 : hl_onnx_fail(reader, HL_BAD_DATA, field->start, "malformed external data");
  case tensor_location:
    t->external = field->value == 1;
    return HL_OK;
  default:
    return HL_OK;
  }
}

/* -- typed data ------------------------------------------------------------------------------ */

/* The repeated field that holds elements of `dtype`, and how each is encoded. */
static uint32_t typed_field(hl_dtype dtype, hl_wire_type *ret_type) {
  *ret_type = HL_WIRE_VARINT;
  switch (dtype) {
  case HL_FLOAT32:
  case HL_COMPLEX64:
    *ret_type = HL_WIRE_FIXED32;
    return tensor_floats;
  case HL_FLOAT64:
  case HL_COMPLEX128:
    *ret_type = HL_WIRE_FIXED64;
    return tensor_doubles;
  case HL_INT64:
    return tensor_int64s;
  case HL_UINT32:
  case HL_UINT64:
    return tensor_uint64s;
  default:
    return tensor_int32s;
  }
}

/* Little-endian store of the low `size` bytes. */
static void store(unsigned char *to, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; i++) to[i] = (unsigned char)(value >> (8 * i));
}

/* Walks the typed elements; counts them, and stores them if `out` is not NULL. */
static hl_status walk_typed(hl_onnx_reader *reader, const tensor *t, size_t size,
                            unsigned char *out, uint64_t *ret_count) {
  hl_wire_type type;
  uint32_t number = typed_field(t->dtype, &type);
  hl_wire message = t->message;
  hl_wire_field field;
  uint64_t count = 0, value;
  while (hl_wire_next(&message, &field)) {
    if (field.number != number) continue;
    if (field.type == type) {
      if (out) store(out + count * size, field.value, size);
      count++;
    } else if (field.type != HL_WIRE_BYTES) {
      return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "tensor data has the wrong wire type");
    } else if (type == HL_WIRE_VARINT) {
      for (; hl_wire_varint(&field.body, &value); count++)
        if (out) store(out + count * size, value, size);
      if (field.body.bad) return hl_onnx_end(reader, &field.body, "tensor data");
    } else {
      size_t each = type == HL_WIRE_FIXED32 ? 4 : 8, bytes = hl_wire_left(&field.body);
      if (bytes % each != 0)
        return hl_onnx_fail(reader, HL_BAD_DATA, field.start, "tensor data is cut off");
      if (out && bytes) memcpy(out + count * size, field.body.at, bytes);
      count += bytes / each;
    }
  }
  *ret_count = count;
  return hl_onnx_end(reader, &message, "tensor");
}

static hl_status wrong_size(hl_onnx_reader *reader, const tensor *t, uint64_t have, uint64_t need,
                            const char *unit) {
  return hl_onnx_fail(reader, HL_BAD_DATA, t->start,
                      "tensor '%.100s' declares %" PRIu64 " %s but holds %" PRIu64
                      ". The file is damaged; export the model again",
                      t->name, need, unit, have);
}

static hl_status no_memory(hl_onnx_reader *reader, const tensor *t) {
  return hl_onnx_fail(reader, HL_OUT_OF_MEMORY, t->start, "no memory for tensor '%.100s'", t->name);
}

static hl_status take_typed(hl_onnx_reader *reader, const tensor *t, uint64_t need,
                            const void **ret_data) {
  /* A complex element is two numbers of the field. */
  bool complex = t->dtype == HL_COMPLEX64 || t->dtype == HL_COMPLEX128;
  size_t size = hl_dtype_bytes(t->dtype) / (complex ? 2 : 1);
  uint64_t count = 0, expected = need / size;
  hl_status status = walk_typed(reader, t, size, NULL, &count);
  if (status != HL_OK) return status;
  if (count != expected) return wrong_size(reader, t, count, expected, "elements");
  unsigned char *copy = hl_graph_block_new(reader->graph, need);
  if (!copy) return no_memory(reader, t);
  *ret_data = copy;
  return walk_typed(reader, t, size, copy, &count);
}

/* -- bytes in place -------------------------------------------------------------------------- */

static hl_status take_bytes(hl_onnx_reader *reader, const tensor *t, const unsigned char *data,
                            uint64_t bytes, const void **ret_data) {
  size_t align = hl_dtype_bytes(t->dtype);
  if (t->dtype == HL_COMPLEX64 || t->dtype == HL_COMPLEX128) align /= 2;
  *ret_data = data;
  if ((uintptr_t)data % align == 0) return HL_OK;
  void *copy = hl_graph_block_new(reader->graph, bytes);
  if (!copy) return no_memory(reader, t);
  if (bytes) memcpy(copy, data, (size_t)bytes);
  *ret_data = copy;
  return HL_OK;
}

/* "weights.bin" or "data/weights.bin": never up, never absolute. */
static bool is_beside(const char *location) {
  if (!location || !location[0] || location[0] == '/' || strchr(location, '\\')) return false;
  for (const char *part = location; part; part = strchr(part, '/')) {
    if (*part == '/') part++;
    size_t length = strcspn(part, "/");
    if (length == 0 || (length == 2 && part[0] == '.' && part[1] == '.')) return false;
  }
  return true;
}

/* Whether `path` leads into the folder of `model`, as it is written or as links lead to it: caches
 * of models keep both as links into one folder. */
static bool leads_beside(const char *path, const char *model, int folder) {
  HL_CLEANUP(hl_free_pointer) char *target = realpath(path, NULL);
  HL_CLEANUP(hl_free_pointer) char *written = hl_format("%.*s.", folder, model);
  HL_CLEANUP(hl_free_pointer) char *base = written ? realpath(written, NULL) : NULL;
  HL_CLEANUP(hl_free_pointer) char *linked = realpath(model, NULL);
  if (!target || !base || !linked) return true; /* opening it will say why */
  size_t length = strlen(base), beside = (size_t)(strrchr(linked, '/') - linked);
  bool inside = strncmp(target, base, length) == 0 && (length == 1 || target[length] == '/');
  return inside || (strncmp(target, linked, beside) == 0 && target[beside] == '/');
}

static hl_status open_external(hl_onnx_reader *reader, const tensor *t,
                               const hl_onnx_external **ret_external) {
  for (const hl_onnx_external *e = reader->externals; e; e = e->next) {
    if (strcmp(e->location, t->location) != 0) continue;
    *ret_external = e;
    return HL_OK;
  }
  const char *slash = strrchr(reader->path, '/');
  int folder = slash ? (int)(slash - reader->path) + 1 : 0;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%.*s%s", folder, reader->path, t->location);
  hl_onnx_external *external = hl_arena_alloc(&reader->graph->arena, sizeof *external);
  if (!path || !external) return no_memory(reader, t);
  if (!leads_beside(path, reader->path, folder))
    return hl_onnx_fail(reader, HL_BAD_DATA, t->start,
                        "tensor '%.80s' keeps its data in '%.80s', a link that leads out of the "
                        "model's folder; only files beside the model are read",
                        t->name, t->location);
  hl_mapping mapping;
  hl_error inner;
  hl_status status = hl_file_map(path, max_external_bytes, &mapping, &inner);
  if (status != HL_OK)
    return hl_onnx_fail(reader, status, NULL, "external data of tensor '%.80s': %s", t->name,
                        inner.msg);
  if (!hl_graph_adopt(reader->graph, mapping)) {
    hl_file_unmap(&mapping);
    return no_memory(reader, t);
  }
  *external = (hl_onnx_external){.next = reader->externals,
                                 .location = t->location,
                                 .data = mapping.data,
                                 .bytes = mapping.bytes};
  reader->externals = external;
  *ret_external = external;
  return HL_OK;
}

static hl_status take_external(hl_onnx_reader *reader, const tensor *t, uint64_t need,
                               const void **ret_data) {
  if (!is_beside(t->location))
    return hl_onnx_fail(reader, HL_BAD_DATA, t->start,
                        "tensor '%.80s' keeps its data in '%.80s'; only files beside the model "
                        "are read",
                        t->name, t->location ? t->location : "");
  if (!reader->path)
    return hl_onnx_fail(reader, HL_UNIMPLEMENTED, t->start,
                        "tensor '%.100s' keeps its data in a file, but the model came from memory",
                        t->name);
  const hl_onnx_external *external = NULL;
  hl_status status = open_external(reader, t, &external);
  if (status != HL_OK || !external) return status;
  if (t->has_length && t->length != need) return wrong_size(reader, t, t->length, need, "bytes");
  if (t->offset > external->bytes || external->bytes - t->offset < need)
    return hl_onnx_fail(reader, HL_BAD_DATA, t->start,
                        "tensor '%.80s' reaches beyond the end of '%.80s', which has %zu bytes",
                        t->name, t->location, external->bytes);
  return take_bytes(reader, t, external->data + t->offset, need, ret_data);
}

hl_onnx_type_text hl_onnx_type_name(uint64_t type) {
  static const char *const names[] = {
      "undefined",      "float32",    "uint8",          "int8",       "uint16",   "int16",
      "int32",          "int64",      "string",         "bool",       "float16",  "float64",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1"};
  hl_onnx_type_text out;
  const char *name = type < HL_COUNT(names) ? names[type] : "unknown";
  snprintf(out.text, sizeof out.text, "%s (%" PRIu64 ")", name, type);
  return out;
}

hl_status hl_onnx_unread_constant(hl_onnx_reader *reader, const char *name,
                                  hl_value_id *ret_value) {
  *ret_value = hl_graph_value_new(reader->graph, name, strlen(name), HL_VALUE_CONSTANT);
  if (*ret_value < 0) return hl_onnx_graph_failure(reader);
  reader->graph->values[*ret_value].shape.rank = -1;
  return HL_OK;
}

static hl_status unknown_type(hl_onnx_reader *reader, const tensor *t, hl_value_id *ret_value) {
  if (reader->facts && t->dtype != HL_STRING) reader->facts->hides_weights = true;
  hl_status status = hl_onnx_lacks(
      reader, t->start, "tensor '%.100s' has the element type %s, which is not implemented",
      t->name, hl_onnx_type_name(t->type).text);
  return status == HL_OK ? hl_onnx_unread_constant(reader, t->name, ret_value) : status;
}

hl_status hl_onnx_tensor(hl_onnx_reader *reader, hl_wire message, const char *name,
                         hl_value_id *ret_value) {
  tensor t = {.message = message, .start = message.at, .name = name ? name : ""};
  hl_wire_field field;
  uint64_t need;
  hl_status status = HL_OK;
  /* Writers put the name after the dimensions; messages about those should have it. */
  for (hl_wire rest = message; !name && status == HL_OK && hl_wire_next(&rest, &field);)
    if (field.number == tensor_name) status = read_field(reader, &t, &field);
  while (status == HL_OK && hl_wire_next(&message, &field)) status = read_field(reader, &t, &field);
  if (status != HL_OK) return status;
  if (message.bad) return hl_onnx_end(reader, &message, "tensor");
  if (name) t.name = name;
  if (!t.name[0]) return hl_onnx_fail(reader, HL_BAD_DATA, t.start, "an initialiser has no name");
  if (hl_dtype_bytes(t.dtype) == 0) return unknown_type(reader, &t, ret_value);
  if (!hl_shape_bytes(&t.shape, t.dtype, &need))
    return hl_onnx_fail(reader, HL_LIMIT, t.start,
                        "tensor '%.100s' declares a shape larger than any memory", t.name);
  const void *data = NULL;
  if (t.external)
    status = take_external(reader, &t, need, &data);
  else if (!t.has_raw)
    status = take_typed(reader, &t, need, &data);
  else if (hl_wire_left(&t.raw) != need)
    status = wrong_size(reader, &t, hl_wire_left(&t.raw), need, "bytes");
  else
    status = take_bytes(reader, &t, t.raw.at, need, &data);
  if (status != HL_OK) return status;
  *ret_value =
      hl_graph_constant_borrowed(reader->graph, t.name, t.dtype, t.shape.rank, t.shape.dims, data);
  return *ret_value >= 0 ? HL_OK : hl_onnx_graph_failure(reader);
}
