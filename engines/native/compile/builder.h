/*
 * compile/builder.h - a program while it is being built: tensors, weights and steps.
 *
 *     int32_t x = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
 *     int32_t y = hl_native_out(b, node->outputs[0], HL_LAYOUT_BLOCKED);
 *     ... create a oneDNN primitive descriptor with hl_native_md(b, x), hl_native_md(b, y) ...
 *     hl_native_step *step = hl_native_primitive(b, node, "Relu", pd);
 *     hl_native_arg(b, step, x, DNNL_ARG_SRC, hl_native_md(b, x));
 *     hl_native_arg(b, step, y, DNNL_ARG_DST, hl_native_md(b, y));
 *
 * Nothing here touches data. The first failure is kept in `failed` and `error`; after it functions
 * return -1 or NULL, which further calls accept.
 *
 * A value may exist in several layouts and, where the graph says float32, as float32 and as the
 * program's own type; hl_native_in adds a reorder step where what is asked for does not exist yet.
 * Tensors that share memory (views, in-place results) have one root.
 */
#ifndef HL_NATIVE_COMPILE_BUILDER_H
#define HL_NATIVE_COMPILE_BUILDER_H

#include "compile/ir.h"
#include "compile/weights.h"
#include "native.h"

typedef enum hl_native_layout {
  HL_LAYOUT_PLAIN,         /* row-major */
  HL_LAYOUT_CHANNELS_LAST, /* N, spatial, C */
  HL_LAYOUT_BLOCKED        /* N, C/block, spatial, block; channels zero-padded to full blocks */
} hl_native_layout;

typedef enum hl_native_home {
  HL_HOME_ARENA,  /* in the request's arena, at `place` */
  HL_HOME_OUTPUT, /* in the request's output area, at `place` */
  HL_HOME_INPUT,  /* bound input number `index` */
  HL_HOME_WEIGHT, /* weight number `index` of the program */
  HL_HOME_STATE   /* in the program's states, at `place` */
} hl_native_home;

typedef struct hl_native_tensor {
  hl_native_home home;
  hl_value_id value; /* -1: scratchpad */
  hl_dtype dtype;
  hl_shape shape;
  hl_native_layout layout;
  uint64_t bytes;
  int32_t root;    /* itself, or the tensor whose memory it shares, */
  uint64_t offset; /* from this byte on */
  int32_t index;
  int32_t first, last; /* of a root: steps that use it */
  uint64_t place;
  int32_t next; /* another tensor of the same value, or -1 */
  int32_t node; /* being lowered when it was made, or -1 */
} hl_native_tensor;

typedef struct hl_native_arg {
  int32_t tensor;
  int arg;                       /* DNNL_ARG_*, 0 for kernels of ours */
  const_dnnl_memory_desc_t desc; /* NULL for kernels of ours */
} hl_native_arg;

/* A kernel of ours: pointers in the order of the step's arguments. */
typedef hl_status (*hl_native_kernel)(const void *context, void *const *pointers, hl_error *error);

typedef struct hl_native_step {
  const char *name;           /* the node's name, or of what it makes */
  const char *kind;           /* the operator */
  dnnl_primitive_t primitive; /* or */
  hl_native_kernel kernel;
  void *context; /* of the kernel, freed with `context_free` (free() if NULL) */
  void (*context_free)(void *context);
  hl_native_arg *args;
  int arg_count, arg_capacity;
  hl_phase phase;
  const char *layer; /* the node of the network that it serves */
  int32_t node;      /* that it was made of, or -1 */
  int threads;       /* with which it was made and is to run (compile/threads.h) */
  double flops;      /* nominal, of the node, where this step does its work; NaN: not known */
} hl_native_step;

/* A value that is complete after step `step`. */
typedef struct hl_native_result {
  int32_t step, tensor;
} hl_native_result;

/* The finished list; owned by the program. */
typedef struct hl_native_list {
  hl_native_tensor *tensors;
  int32_t tensor_count, tensor_capacity;
  hl_native_step *steps;
  int32_t step_count, step_capacity;
  hl_native_weight *weights;
  int32_t weight_count, weight_capacity;
  dnnl_memory_desc_t *descs; /* every memory descriptor made for the list */
  int32_t desc_count, desc_capacity;
  int32_t *outputs;          /* by output of the graph: its tensor */
  hl_native_result *results; /* of training programs: what can be traced, in order */
  int32_t result_count, result_capacity;
  uint64_t arena_bytes, output_bytes, state_bytes, traffic_bytes;
  double flops;            /* executed; while building: more (or less) than the nominal ones */
  int32_t fallback_count;  /* steps that run the reference evaluator */
  int32_t saturable_count; /* 8-bit nodes that run in float32: their sums would saturate */
  int32_t single_count;    /* steps too small for more than one thread */
} hl_native_list;

void hl_native_list_release(hl_native_list *list);

/* Mean and 1 / deviation that a norm of `value` kept for its gradient. */
typedef struct hl_native_statistics {
  hl_value_id value;
  char norm; /* first letter of the operator */
  float epsilon;
  int32_t tensor;
  /* A gradient of the norm's result that is yet to be taken through the ReLU behind it, -1: none;
   * the norm's shift and the ReLU's slope. */
  hl_value_id unmasked, shift;
  float slope;
} hl_native_statistics;

/* What a recurrent node kept for its gradient (lower/training-recurrent.c). */
typedef struct hl_native_kept {
  const hl_native_node *node;
  int32_t tensor;
} hl_native_kept;

/* A gradient that is nowhere: the product of a column and a row, which the update of the weight it
 * is of makes as it goes (lower/training-pixel.c). */
typedef struct hl_native_outer {
  hl_value_id gradient, left, right;
  int32_t left_tensor, right_tensor;
  size_t columns;
} hl_native_outer;

typedef struct hl_native_builder {
  hl_engine *engine;
  hl_model *model;
  hl_native_ir *ir;
  hl_native_list *list;
  int32_t *tensor_of;  /* by value: its first tensor, or -1 */
  int32_t *uses_after; /* by value: uses by nodes after the one being lowered */
  size_t value_count;
  hl_native_statistics *statistics;
  int32_t statistics_count, statistics_capacity;
  hl_native_kept *kept;
  int32_t kept_count, kept_capacity;
  hl_native_outer *outers;
  int32_t outer_count, outer_capacity;
  const hl_native_node *node;       /* being lowered */
  const hl_training_spec *training; /* of a training program, else NULL */
  int allowed;                      /* threads, of any step */
  int threads;                      /* of the steps being added */
  bool waits;                       /* the step that waits for the host's gradients is there */
  hl_dtype type;                    /* of activations and large weights: float32 or bfloat16 */
  hl_native_layout picture;         /* in which convolutions and their kin work fastest with it */
  hl_status failed;
  hl_error *error;
} hl_native_builder;

/* From here on steps are made for `threads` threads: also those of oneDNN, which settles it when a
 * primitive is described. */
void hl_native_steps_for(hl_native_builder *b, int threads);

/* Records a failure (the first one stays). Always returns false. */
bool hl_native_fail(hl_native_builder *b, hl_status status, const char *format, ...)
    HL_PRINTF(3, 4);

/* The value in `layout`, in the graph's type; constants become weights. */
int32_t hl_native_in(hl_native_builder *b, hl_value_id value, hl_native_layout layout);
/* The same as `dtype`, which for anything but float32 values is the graph's. */
int32_t hl_native_in_as(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                        hl_dtype dtype);
/* The value in `layout`, in the type in which it was computed. */
int32_t hl_native_in_own(hl_native_builder *b, hl_value_id value, hl_native_layout layout);
/* The value in whatever layout and type it has (plain for constants and inputs). */
int32_t hl_native_in_any(hl_native_builder *b, hl_value_id value);
/* Memory for a result, in the graph's type or as `dtype`. */
int32_t hl_native_out(hl_native_builder *b, hl_value_id value, hl_native_layout layout);
int32_t hl_native_out_as(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                         hl_dtype dtype);
/* The type in which a step that can choose writes `value`: the program's, float32 for outputs. */
hl_dtype hl_native_result_type(const hl_native_builder *b, hl_value_id value);
/* A result that shares the memory and the type of `tensor`, from byte `offset` on. */
int32_t hl_native_out_view(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                           int32_t tensor, uint64_t offset);
/* A part of a tensor, from byte `offset` on, that is no value of its own. */
int32_t hl_native_view(hl_native_builder *b, int32_t tensor, uint64_t offset);
/* May the node being lowered overwrite this tensor? */
bool hl_native_dying(const hl_native_builder *b, int32_t tensor);
int32_t hl_native_scratch(hl_native_builder *b, uint64_t bytes);

/* A weight made by `recipe` in the layout `desc` (not kept). */
int32_t hl_native_weight_in(hl_native_builder *b, const hl_native_recipe *recipe,
                            const_dnnl_memory_desc_t desc);

static inline const hl_native_tensor *hl_native_get(const hl_native_builder *b, int32_t tensor) {
  return &b->list->tensors[tensor];
}

/* Memory descriptors: live as long as the list; NULL after a failure. Float32 without `_as`. */
dnnl_memory_desc_t hl_native_md(hl_native_builder *b, int32_t tensor);
dnnl_memory_desc_t hl_native_md_of(hl_native_builder *b, int rank, const int64_t *dims,
                                   hl_native_layout layout);
dnnl_memory_desc_t hl_native_md_as(hl_native_builder *b, int rank, const int64_t *dims,
                                   hl_native_layout layout, hl_dtype dtype);
dnnl_memory_desc_t hl_native_md_any_as(hl_native_builder *b, int rank, const int64_t *dims,
                                       hl_dtype dtype);
dnnl_memory_desc_t hl_native_md_strides(hl_native_builder *b, int rank, const int64_t *dims,
                                        const int64_t *strides);
dnnl_memory_desc_t hl_native_md_strides_as(hl_native_builder *b, int rank, const int64_t *dims,
                                           const int64_t *strides, hl_dtype dtype);
/* A copy of what a primitive descriptor asks for. */
dnnl_memory_desc_t hl_native_md_query(hl_native_builder *b, const_dnnl_primitive_desc_t pd,
                                      dnnl_query_t what);
/* Takes a descriptor into the list's care. */
dnnl_memory_desc_t hl_native_md_keep(hl_native_builder *b, dnnl_memory_desc_t desc);

/* An attribute with a user-mode scratchpad; destroy it. NULL after a failure. */
dnnl_primitive_attr_t hl_native_attr(hl_native_builder *b);

/* Adds a step that runs `pd`, whose ownership it takes, with its scratchpad. */
hl_native_step *hl_native_primitive(hl_native_builder *b, const char *kind,
                                    dnnl_primitive_desc_t pd);
/* Adds a step that runs a kernel of ours; takes `context`, also after a failure. */
hl_native_step *hl_native_call(hl_native_builder *b, const char *kind, hl_native_kernel kernel,
                               void *context, void (*context_free)(void *));
/* Adds an argument; returns false after a failure. The step must be the last one added. */
bool hl_native_arg_add(hl_native_builder *b, hl_native_step *step, int32_t tensor, int arg,
                       const_dnnl_memory_desc_t desc);

/* Notes what the norm being lowered kept, and finds it again for its gradient: NULL if nothing. */
void hl_native_statistics_keep(hl_native_builder *b, const hl_native_node *norm, int32_t tensor);
hl_native_statistics *hl_native_statistics_find(const hl_native_builder *b,
                                                const hl_native_node *gradient);

/* Notes what the node being lowered keeps for its gradient. */
void hl_native_keep(hl_native_builder *b, const hl_native_node *node, int32_t tensor);

/* Notes such a gradient, whose two values stay alive until it is taken; takes it, if it is one. */
void hl_native_outer_keep(hl_native_builder *b, const hl_native_outer *outer);
bool hl_native_outer_take(hl_native_builder *b, hl_value_id gradient, hl_native_outer *ret_outer);

/* Notes that the value is complete after the last step. */
void hl_native_result_add(hl_native_builder *b, hl_value_id value);

/* Adds a reorder (a copy that may change strides). */
void hl_native_reorder(hl_native_builder *b, const char *kind, int32_t from,
                       const_dnnl_memory_desc_t from_desc, int32_t to,
                       const_dnnl_memory_desc_t to_desc);

#endif
