/*
 * engines/onnxruntime/onnxruntime.h - what the files of this engine share.
 *
 * A session belongs to the model: it is made once for all batch sizes, as ONNX Runtime's users have
 * it. A program is its input shapes; a request is an I/O binding with outputs of fixed places.
 */
#ifndef HOTLAP_ONNXRUNTIME_H
#define HOTLAP_ONNXRUNTIME_H

#include "library.h"
#include "provider.h"
#include <stdbool.h>

#define HL_ORT_MAX_PORTS 64

struct hl_engine {
  const hl_host *host;
  const hl_ort_library *library;
  const hl_ort_api *api; /* the library's */
  hl_ort_env *env;
  hl_ort_memory *memory;       /* says that a tensor lies in the processor's memory */
  hl_ort_allocator *allocator; /* the library's own, never released */
  int32_t threads;
  hl_ort_optimization optimization;
  hl_ort_choice choice;
  bool told_of_cpu; /* that the processor has some of the nodes */
};

struct hl_model {
  hl_engine *engine;
  char *path; /* of the file that it was read from */
  hl_ort_session *session;
  hl_port inputs[HL_ORT_MAX_PORTS], outputs[HL_ORT_MAX_PORTS]; /* names are the allocator's */
  size_t input_count, output_count;
};

struct hl_program {
  hl_model *model;
  hl_port inputs[HL_ORT_MAX_PORTS]; /* in the order of the specification, names are the model's */
  uint64_t input_bytes[HL_ORT_MAX_PORTS];
  size_t input_count;
};

typedef struct hl_ort_profiler hl_ort_profiler;

struct hl_request {
  hl_program *program;
  hl_ort_binding *binding;
  hl_ort_value *inputs[HL_ORT_MAX_PORTS];
  const void *bound[HL_ORT_MAX_PORTS]; /* where the input's data lay at the last bind */
  hl_ort_value *outputs[HL_ORT_MAX_PORTS];
  hl_tensor_view views[HL_ORT_MAX_PORTS]; /* of the outputs */
  hl_ort_profiler *profiler;              /* NULL: nothing is profiled */
};

/* HL_OK if `failed` is NULL; else releases it, and tells by its code, and where codes are too
 * coarse by its text, what went wrong: OUT_OF_MEMORY, UNIMPLEMENTED, BAD_DATA, ... `what` is a
 * phrase such as "reading net.onnx". */
hl_status hl_ort_check(const hl_engine *engine, hl_ort_status *failed, const char *what,
                       hl_error *error);

/* Element type and dimensions of `shape` as a port; its name is left alone. */
hl_status hl_ort_port(const hl_engine *engine, const hl_ort_shape *shape, const char *what,
                      hl_port *ret_port, hl_error *error);

/* What every session is given. */
hl_status hl_ort_set_options(const hl_engine *engine, hl_ort_session_options *options,
                             hl_error *error);

/* The hooks of profile.c, and what `request_free` calls. */
hl_status hl_ort_spans(hl_request *request, hl_span_visit visit, void *context, hl_error *error);
hl_status hl_ort_spans_end(hl_request *request, hl_span_visit visit, void *context,
                           hl_error *error);
void hl_ort_profiler_free(hl_ort_profiler *profiler); /* NULL is fine */

/* The hooks of request.c. */
hl_status hl_ort_prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error);
hl_status hl_ort_request(hl_program *program, hl_request **ret_request, hl_error *error);
hl_status hl_ort_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                      hl_error *error);
hl_status hl_ort_submit(hl_request *request, hl_error *error);
hl_status hl_ort_wait(hl_request *request, hl_error *error);
hl_status hl_ort_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                        hl_error *error);
void hl_ort_request_free(hl_request *request);
void hl_ort_program_free(hl_program *program);

#endif
