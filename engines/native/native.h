/*
 * native.h - the objects behind the engine ABI: engine, model, program, request.
 *
 * A model is the ONNX graph as read plus the cache of weights that its programs share. A program is
 * a flat list of prepared steps for one set of shapes (compile/builder.h). A request is the memory
 * that one step in flight needs. The file engine.c maps the ABI's hooks onto these.
 */
#ifndef HL_NATIVE_H
#define HL_NATIVE_H

#include "compile/switches.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include "run/buffer.h"
#include <oneapi/dnnl/dnnl.h>

typedef struct hl_native_weights hl_native_weights; /* compile/weights.h */

struct hl_engine {
  const hl_host *host;
  int threads;
  dnnl_engine_t dnnl;
  dnnl_stream_t stream;
  const hl_kernels *kernels; /* the build that the option isa chose */
  const char *isa_note;      /* for the row's notes; or NULL */
  int block;                 /* channels in a block of the blocked layout: 16, 8 or 4 */
  bool winograd_any_batch;   /* whether they do depends on no batch */
  uint32_t off;              /* what is left out (compile/switches.h) */
  bool fast_bfloat16;        /* the processor multiplies bfloat16 */
  bool saturates;            /* sums of two 8-bit products do, at 16 bits: there is no VNNI */
  bool fast_int8;            /* and 8 bits, four at a time */
  hl_native_account account; /* what the engine has allocated */
};

struct hl_model {
  hl_engine *engine;
  hl_graph *graph;
  hl_port *inputs, *outputs;
  hl_native_weights *weights;
  uint64_t read_bytes; /* of the file, since its pages were given back */
};

/* Tells OpenMP how many threads the calling thread's parallel regions have. */
void hl_native_threads(int threads);

/* Adds a line to the host's log. */
void hl_native_log(const hl_engine *engine, const char *format, ...) HL_PRINTF(2, 3);

/* The hooks of the ABI with these names (model.c). */
hl_status hl_native_model_load(hl_engine *engine, const hl_model_source *source,
                               hl_model **ret_model, hl_error *error);
hl_status hl_native_model_describe(hl_model *model, hl_model_info *ret_info, hl_error *error);
void hl_native_model_free(hl_model *model);

/* Says that so much of the model's file is going to be read. Where that is more than
 * HL_NATIVE_FORGET_BYTES since they were given back, its pages are given back before, so that
 * weights never lie in memory twice. */
#define HL_NATIVE_FORGET_BYTES ((uint64_t)8 << 20)
void hl_native_model_reads(hl_model *model, uint64_t bytes);
/* Gives back the pages of the model's file; they are read again if they are needed again. */
void hl_native_model_forget(hl_model *model);

/* A oneDNN status as ours; `what` names the call. HL_OK for success. */
hl_status hl_native_dnnl(dnnl_status_t status, const char *what, hl_error *error);

#endif
