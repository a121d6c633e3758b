/*
 * ONNX Runtime's profile: an array of "ph": "X" events. Those of category Node, "NAME_kernel_time",
 * are operators; a run of the session is "model_run", which is a step here. Its clock counts whole
 * microseconds. args name the operator (op_name) and the shapes of what it reads and writes.
 */
#include "formats/profile-read-internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char suffix[] = "_kernel_time";

/* The elements of shape number `index` of {"float": [1,64,56,56]}; NaN where there is none. */
typedef struct shape {
  double elements;
  double dims[8];
  size_t rank;
} shape;

static shape shape_at(const json_t *args, const char *key, size_t index) {
  shape s = {.elements = (double)NAN};
  const json_t *entry = json_array_get(json_object_get(args, key), index);
  const json_t *dims = json_is_object(entry)
                           ? json_object_iter_value(json_object_iter((json_t *)(uintptr_t)entry))
                           : NULL;
  if (!json_is_array(dims) || json_array_size(dims) > 8) return s;
  s.rank = json_array_size(dims);
  s.elements = 1;
  for (size_t i = 0; i < s.rank; i++) {
    s.dims[i] = json_number_value(json_array_get(dims, i));
    s.elements *= s.dims[i];
  }
  return s;
}

/* Of what multiplies matrices, as hl_graph_flops counts it: two for a multiply and an add. Others
 * are not known. */
static double flops_of(const char *op, const json_t *args) {
  shape x = shape_at(args, "input_type_shape", 0), w = shape_at(args, "input_type_shape", 1),
        y = shape_at(args, "output_type_shape", 0);
  if ((strcmp(op, "Conv") == 0 || strcmp(op, "FusedConv") == 0) && w.rank > 2 && w.dims[0] > 0)
    return 2 * y.elements * w.elements / w.dims[0];
  if (strcmp(op, "ConvTranspose") == 0 && w.rank > 2 && w.dims[0] > 0)
    return 2 * x.elements * w.elements / w.dims[0];
  bool multiplies = strcmp(op, "MatMul") == 0 || strcmp(op, "FusedMatMul") == 0 ||
                    strcmp(op, "Gemm") == 0 || strcmp(op, "FusedGemm") == 0;
  if (multiplies && y.rank && y.dims[y.rank - 1] > 0 && w.rank == 2)
    return 2 * y.elements * w.elements / y.dims[y.rank - 1];
  if (multiplies && x.rank) return 2 * y.elements * x.dims[x.rank - 1];
  return (double)NAN;
}

static double sane(double flops) {
  return flops >= 0 && flops <= 1e18 ? flops : (double)NAN;
}

static hl_status read_node(hl_profile_reader *reader, const json_t *event, const char *name,
                           hl_error *error) {
  const json_t *args = json_object_get(event, "args");
  size_t length = strlen(name), cut = sizeof suffix - 1;
  if (length < cut || strcmp(name + length - cut, suffix) != 0) return HL_OK; /* fences */
  char *kernel = hl_arena_text_n(&reader->profile->arena, name, length - cut);
  if (!kernel) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", reader->name);
  hl_read_call call = {.step = -1, .sequence = -1};
  hl_status status = hl__profile_times(reader, event, &call, error);
  if (status != HL_OK) return status;
  const char *op = hl__profile_text(args, "op_name");
  double written = hl__profile_number(args, "output_size");
  call.operator=(hl_profile_operator){.name = kernel,
                                      .kind = *op ? op : "operator",
                                      .layer = kernel,
                                      .phase = "",
                                      .flops = sane(flops_of(op, args)),
                                      .bytes = hl__profile_number(args, "activation_size") +
                                               hl__profile_number(args, "parameter_size") + written,
                                      .memory_bytes = written};
  return hl__profile_call_add(reader, &call, error);
}

static hl_status read_event(hl_profile_reader *reader, const json_t *event, hl_error *error) {
  const char *category = hl__profile_text(event, "cat"), *name = hl__profile_text(event, "name");
  if (strcmp(hl__profile_text(event, "ph"), "X") != 0) return HL_OK;
  if (strcmp(category, "Node") == 0) return read_node(reader, event, name, error);
  bool is_run = strcmp(category, "Session") == 0 && strcmp(name, "model_run") == 0;
  if (!is_run) return HL_OK;
  hl_read_call call = {.step = -1, .sequence = -1, .is_step = true};
  call.operator=(hl_profile_operator){.name = name, .kind = "span", .layer = "", .phase = ""};
  hl_status status = hl__profile_times(reader, event, &call, error);
  return status == HL_OK ? hl__profile_call_add(reader, &call, error) : status;
}

hl_status hl__profile_read_onnxruntime(hl_profile_reader *reader, const json_t *events,
                                       hl_error *error) {
  hl_status status = HL_OK;
  reader->profile->engine = "onnxruntime";
  reader->profile->source = "onnxruntime";
  for (size_t i = 0; i < json_array_size(events) && status == HL_OK; i++) {
    snprintf(reader->place, sizeof reader->place, "[%zu]", i);
    const json_t *event = json_array_get(events, i);
    status = json_is_object(event) ? read_event(reader, event, error)
                                   : hl__profile_wrong(reader, NULL, "no object", error);
  }
  hl__profile_threads(reader);
  return status;
}
