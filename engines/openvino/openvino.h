/*
 * engines/openvino/openvino.h - what the files of this engine share.
 *
 * An engine is OpenVINO's core and what it is asked for; a model is a graph as read; a program is
 * that graph with fixed shapes, compiled; a request is one infer request, or several that share a
 * batch.
 */
#ifndef HOTLAP_OPENVINO_H
#define HOTLAP_OPENVINO_H

#include "library.h"
#include <stdbool.h>

#define HL_OV_MAX_PORTS 64
#define HL_OV_MAX_PARTS 256

typedef enum hl_ov_hint { HL_OV_LATENCY, HL_OV_THROUGHPUT } hl_ov_hint;

struct hl_engine {
  const hl_host *host;
  const hl_ov_library *library;
  const hl_ov_api *api; /* the library's */
  hl_ov_core *core;
  char device[32]; /* as OpenVINO calls it: "CPU", "GPU.0" */
  int32_t threads;
  hl_ov_hint hint;
  const char *pinning; /* "YES" or "NO"; NULL: as OpenVINO decides */
};

struct hl_model {
  hl_engine *engine;
  hl_ov_model *model;
  hl_port inputs[HL_OV_MAX_PORTS],
      outputs[HL_OV_MAX_PORTS]; /* names are the library's: free them */
  size_t input_count, output_count;
};

struct hl_program {
  hl_model *model;
  hl_ov_compiled *compiled;
  hl_dtype dtype;
  bool counts;                           /* it keeps times of its nodes */
  size_t parts;                          /* infer requests that share a batch, at least 1 */
  hl_port inputs[HL_OV_MAX_PORTS];       /* of the whole batch, in the order of the specification */
  hl_ov_port *ports[HL_OV_MAX_PORTS];    /* of the compiled model, in the same order */
  uint64_t input_bytes[HL_OV_MAX_PORTS]; /* of the whole batch */
  size_t input_count;
};

struct hl_request {
  hl_program *program;
  hl_ov_infer_request **parts;        /* program->parts of them */
  const void *bound[HL_OV_MAX_PORTS]; /* where the input's data lay at the last bind */
  void *buffers[HL_OV_MAX_PORTS];     /* of the outputs; NULL with one part */
  hl_tensor_view views[HL_OV_MAX_PORTS];
  hl_program *counting;         /* NULL, or the same program compiled so that it keeps times */
  struct hl_request *profiling; /* of that */
};

/* HL_OK if `result` is, else what went wrong by its code, and by the library's text where the code
 * is too coarse. `what` is a phrase such as "reading net.onnx". */
hl_status hl_ov_check(const hl_engine *engine, hl_ov_status result, const char *what,
                      hl_error *error);

/* Element type and dimensions of `port`; an open dimension is -1. The name is left alone. */
hl_status hl_ov_read_port(const hl_engine *engine, const hl_ov_port *port, const char *what,
                          hl_port *ret_port, hl_error *error);

/* The same program once more, compiled so that its requests keep times of their nodes. */
hl_status hl_ov_counting(const hl_program *program, hl_program **ret_program, hl_error *error);

/* The hook of profile.c. */
hl_status hl_ov_spans(hl_request *request, hl_span_visit visit, void *context, hl_error *error);

/* The hooks of program.c and request.c. */
hl_status hl_ov_prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                        hl_error *error);
void hl_ov_program_free(hl_program *program);
hl_status hl_ov_request(hl_program *program, hl_request **ret_request, hl_error *error);
hl_status hl_ov_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                     hl_error *error);
hl_status hl_ov_submit(hl_request *request, hl_error *error);
hl_status hl_ov_wait(hl_request *request, hl_error *error);
hl_status hl_ov_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                       hl_error *error);
void hl_ov_request_free(hl_request *request);

#endif
