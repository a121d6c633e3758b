/*
 * hotlap/engine.h - the interface between hotlap and an engine (how a model is computed).
 *
 * An engine is a shared object that exports
 *
 *     const hl_engine_ops *hl_engine_entry(void);
 *
 * and links nothing of hotlap's. hotlap loads it with `--plugin PATH` in the worker process and
 * drives it in this order:
 *
 *     probe -> open -> load -> [plan] -> prepare -> request -> bind* -> (submit -> wait)* -> output
 *
 * then releases request, program, model and engine, in that order. For training see
 * hl_training_spec. See engines/skeleton for a
 * commented template; to add an engine: copy it, name it, fill the hooks, run the conformance test.
 *
 * Rules for every hook
 *   - Strings and arrays passed in are borrowed for the call unless the hook says otherwise.
 *   - On failure a hook returns a status other than HL_OK, fills `error` (if not NULL) and leaves
 *     its `ret_` output untouched. OUT_OF_MEMORY and UNIMPLEMENTED are statuses of their own: a
 *     search for the largest batch and a table of engines depend on them.
 *   - Nothing is printed and the process never ends from inside a hook.
 *   - Hooks are called from one thread at a time, unless they say otherwise.
 *
 * The structs are append-only: `abi` changes only when an existing field changes its meaning, and
 * the host copies min(size, its own size) bytes into a zeroed struct, so that a hook an older
 * engine lacks is NULL.
 */
#ifndef HOTLAP_ENGINE_H
#define HOTLAP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HL_ENGINE_ABI 1u
#define HL_MAX_RANK 8

/* Every status in the project: code, name, sentence. */
#define HL_STATUS_MAP(X)                                                                           \
  X(OK, "success")                                                                                 \
  X(INVALID_ARGUMENT, "invalid argument")                                                          \
  X(BAD_DATA, "malformed data")                                                                    \
  X(NOT_FOUND, "not found")                                                                        \
  X(IO, "input or output failed")                                                                  \
  X(OUT_OF_MEMORY, "out of memory")                                                                \
  X(UNIMPLEMENTED, "not implemented")                                                              \
  X(UNAVAILABLE, "not available here")                                                             \
  X(TIMED_OUT, "timed out")                                                                        \
  X(CRASHED, "process died")                                                                       \
  X(INTERRUPTED, "interrupted")                                                                    \
  X(LIMIT, "limit exceeded")                                                                       \
  X(INTERNAL, "internal error")

typedef enum hl_status {
#define X(name, text) HL_##name,
  HL_STATUS_MAP(X)
#undef X
} hl_status;

/* What went wrong. Owned by the caller, untouched on success. */
typedef struct hl_error {
  hl_status status;
  int sys_errno; /* errno at the time, or 0 */
  char msg[512]; /* a sentence that names the place and the remedy; always terminated */
} hl_error;

/* Element types, with ONNX's numbers. */
typedef enum hl_dtype {
  HL_DTYPE_NONE = 0,
  HL_FLOAT32 = 1,
  HL_UINT8 = 2,
  HL_INT8 = 3,
  HL_UINT16 = 4,
  HL_INT16 = 5,
  HL_INT32 = 6,
  HL_INT64 = 7,
  HL_STRING = 8,
  HL_BOOL = 9,
  HL_FLOAT16 = 10,
  HL_FLOAT64 = 11,
  HL_UINT32 = 12,
  HL_UINT64 = 13,
  HL_COMPLEX64 = 14,
  HL_COMPLEX128 = 15,
  HL_BFLOAT16 = 16
} hl_dtype;

/* A dense row-major tensor that somebody else owns. */
typedef struct hl_tensor_view {
  const char *name;
  hl_dtype dtype;
  int32_t rank;
  int64_t dims[HL_MAX_RANK];
  void *data;
  uint64_t bytes;
} hl_tensor_view;

/* A model's input or output as the model declares it; a symbolic dimension is -1. */
typedef struct hl_port {
  const char *name; /* owned by the model */
  hl_dtype dtype;
  int32_t rank;
  int64_t dims[HL_MAX_RANK];
} hl_port;

typedef struct hl_engine hl_engine;   /* the engine's own structs, opaque to the host */
typedef struct hl_model hl_model;     /* weights */
typedef struct hl_program hl_program; /* a model compiled for a mode, shapes and a precision */
typedef struct hl_request hl_request; /* one set of buffers in flight */

/* A piece of a step, as `spans` tells it; strings are borrowed for the call. */
typedef struct hl_span {
  uint32_t size;
  const char *name;  /* of the operator as the engine runs it: "conv1+relu"; never NULL */
  const char *kind;  /* what it is: "Conv", "Reorder"; never NULL */
  const char *layer; /* the node of the model that it serves, of fused ones the first; "" if none is
                      * known: by this name engines stand side by side */
  int32_t phase;     /* hl_phase of a training step, else -1 */
  int32_t thread;    /* 0: the one that submits. Spans of one thread nest or do not meet */
  uint64_t start_ns, duration_ns; /* of CLOCK_MONOTONIC */
  double flops;                   /* nominal: a multiply and an add are 2; NaN: not known */
  double bytes;                   /* read and written; NaN */
  double memory_bytes;            /* of the results that it begins to hold; NaN */
} hl_span;
typedef void (*hl_span_visit)(void *context, const hl_span *span);

/* Services of the host; valid for the life of the process. What an older host lacks lies beyond its
 * `size`: ask HL_HOST_HAS before. */
typedef struct hl_host {
  uint32_t abi;
  uint32_t size;
  /* Adds a line to hotlap's log (--verbose). Thread-safe. */
  void (*log)(const char *engine, const char *line);
  /* Adds a sentence to the notes of the row: what a reader of its numbers must know. From within a
   * hook only. */
  void (*note)(const char *engine, const char *sentence);
  /* The whole text of the failure that the hook is about to return, where `error->msg` is too small
   * for it and holds its beginning. From within a hook only. */
  void (*explain)(const char *text);
  /* The file of the library that the engine stands on, if the user named one (--engine-library),
   * else NULL. It stands among the options too, as `library`. */
  const char *library;
  /* Python installations to look in for that library, between the one of $VIRTUAL_ENV and those on
   * $PATH: folders, ending with NULL. May be NULL. */
  const char *const *prefixes;
  /* Reads the document of a profiler (ONNX Runtime's JSON, torch's Chrome trace) and visits its
   * calls. Its last `count` steps are those that began at `step_start_ns` (CLOCK_MONOTONIC), by
   * which its clock is set; what is before them is left out. BAD_DATA, LIMIT. */
  hl_status (*read_profile)(const char *text, size_t bytes, const uint64_t *step_start_ns,
                            size_t count, hl_span_visit visit, void *context, hl_error *error);
} hl_host;
#define HL_HOST_HAS(host, member)                                                                  \
  ((host) && (host)->size >= offsetof(hl_host, member) + sizeof((host)->member) && (host)->member)

/* One `key=value` from the command line (--engine-option). */
typedef struct hl_option {
  const char *key;
  const char *value;
} hl_option;

typedef struct hl_engine_config {
  uint32_t size;
  int32_t threads;    /* compute threads, >= 1 */
  const char *device; /* "cpu", "cuda:0", ...; never NULL */
  const hl_option *options;
  size_t option_count;
  const char *provider; /* --provider: "cpu", "cuda", "tensorrt"; NULL: not given */
} hl_engine_config;

/* An option that `open` knows. */
typedef struct hl_option_info {
  const char *key;
  const char *values; /* "on|off", "PATH", ... */
  const char *doc;    /* a phrase */
} hl_option_info;

typedef struct hl_model_source {
  uint32_t size;
  const char
      *path; /* an ONNX file, or with `is_foreign` what the user calls the model; never NULL */
  uint32_t is_foreign; /* 1: no ONNX file, but a model that the engine knows how to get by itself.
                        * Given only to engines with the hook `facts` */
  uint64_t seed;       /* of a foreign model's own random numbers, weights most of all */
  const char *weights; /* NULL, or the file that a foreign model is to take its weights from */
} hl_model_source;

typedef struct hl_model_info {
  uint32_t size;
  const hl_port *inputs; /* owned by the model */
  size_t input_count;
  const hl_port *outputs;
  size_t output_count;
} hl_model_info;

/* What a foreign model is, beside its ports. A dimension of -1 in a port is the batch; no port has
 * two. All is owned by the model. */
typedef struct hl_model_facts {
  uint32_t size;
  int64_t parameters;          /* trainable or not, running statistics left out; -1: not known */
  int64_t fixed_batch;         /* 0, or the one batch that the model runs: the first dimension of
                                * all inputs then, and no dimension is -1 */
  const int64_t *index_limits; /* NULL, or for each input of integers 1 + the largest number that it
                                * may hold; 0: not known */
  const char *source;          /* NULL, or a phrase that tells this version of the model's code from
                                * others */
  uint64_t hash;               /* of whatever decides what the model computes */
  const char *not_a_number, *infinite; /* NULL, or which weights hold NaN, +Inf */
} hl_model_facts;

typedef enum hl_program_mode { HL_MODE_INFERENCE = 0, HL_MODE_TRAINING = 1 } hl_program_mode;

/* -- training ------------------------------------------------------------------------------- */

/* Each is summed over the model's outputs. x is an output, t its target, which has the shape and
 * the type of the output where nothing else is said. */
typedef enum hl_loss {
  HL_LOSS_CROSS_ENTROPY = 0,      /* x (N, C, ...) scores, t (N, ...) int64 classes; mean */
  HL_LOSS_MEAN_SQUARE = 1,        /* mean (x - t)^2 */
  HL_LOSS_MEAN_ABSOLUTE = 2,      /* mean |x - t|, also called L1 and MAE */
  HL_LOSS_POISSON = 3,            /* mean x - t log(x + 1e-8): torch's PoissonNLLLoss with
                                   * log_input=False */
  HL_LOSS_DICE_CROSS_ENTROPY = 4, /* 1 - mean over N, C of (2 sum(p t) + 1e-5) / (sum p + sum t +
                                   * 1e-5), p = sigmoid(x), plus the mean binary cross-entropy:
                                   * MONAI's DiceCELoss(sigmoid=True) */
  HL_LOSS_HOST = 5                /* whatever `host_loss` of the spec says; there are no targets */
} hl_loss;

typedef enum hl_optimizer {
  HL_OPTIMIZER_SGD = 0,
  HL_OPTIMIZER_ADAM = 1,
  HL_OPTIMIZER_ADAMW = 2
} hl_optimizer;

/* What a step consists of, in this order. */
typedef enum hl_phase {
  HL_PHASE_FORWARD = 0,
  HL_PHASE_LOSS = 1,
  HL_PHASE_BACKWARD = 2,
  HL_PHASE_OPTIMIZER = 3
} hl_phase;
#define HL_PHASE_COUNT 4

/*
 * What a program of mode HL_MODE_TRAINING does. One submit is one step: forward in training mode
 * (batch norms use the batch's statistics, dropout drops), loss, backward, update of the weights.
 *
 * Its inputs, as `bind` counts them: those of the model; then one target for each output of the
 * model, unless the loss is HL_LOSS_HOST; then "learning_rate", a float32 number, and "step", an
 * int64 number: 1 in the first submit, one more in each. At 1 it may start again at any time: that
 * update is Adam's first, whatever its moments hold. Its outputs: 0 "loss", a float32 number, of
 * the weights before the update; 1 "gradient_norm", where gradients are clipped: their joint norm
 * before.
 *
 * Its state is the weights under their own names, the optimiser's "NAME/momentum" or "NAME/mean"
 * and "NAME/square", the running statistics of batch norms, and with `accumulate` > 1
 * "NAME/gradient". It belongs to the program. Two programs that are given the same states, inputs
 * and step numbers compute the same bits, for the same threads on the same machine.
 *
 * Where the loss is not finite nothing is updated, so that `trace` can still show why.
 */
typedef struct hl_training_spec {
  uint32_t size;
  hl_loss loss;
  hl_optimizer optimizer;
  uint32_t nesterov;            /* 1: of SGD */
  double momentum;              /* of SGD */
  double beta1, beta2, epsilon; /* of Adam and AdamW */
  double weight_decay;          /* L2 in SGD and Adam, decoupled in AdamW */
  double clip_norm;             /* gradients are scaled to a joint norm of at most this; 0: no */
  uint64_t seed;                /* of dropout */
  uint32_t accumulate;          /* submits whose mean gradient makes one update; 0 and 1: each */
  uint32_t recompute;           /* 1: activations are computed again in backward, not kept */
  /*
   * Data parallel training; NULL otherwise. `gradient_ready` is called within submit, in the same
   * order in each, when a gradient (of the weight it is named after) is complete and before it is
   * used: whoever gets it may start to sum it up over processes, in place. `gradients_wait` is
   * called once before the first of them is used and returns when all are as they shall be. With
   * `accumulate` both are called in the last submit of an update only.
   */
  hl_status (*gradient_ready)(void *context, const hl_tensor_view *gradient, hl_error *error);
  hl_status (*gradients_wait)(void *context, hl_error *error);
  void *context;
  /*
   * NULL, or a training program of the same model, made from the same spec for other batches: the
   * new one uses its states in place of its own, and may use the memory of its request, too. Their
   * steps never overlap, and the new one and its request are released before that one's. An engine
   * that cannot is UNIMPLEMENTED; one that does not know the member is found out by the host.
   */
  struct hl_program *states_of;
  /*
   * Of HL_LOSS_HOST; NULL otherwise. Called within each submit, on its thread, between forward and
   * backward, with the model's outputs: gives the loss, and writes its derivative by each output,
   * all of it, to `gradients`, which have the outputs' shapes. All are row-major float32 and
   * borrowed for the call; what `gradients` hold before is not defined. A failure is that of the
   * submit. Where the loss is not finite the gradients need not be written and the submit ends at
   * once: that is how to look at the outputs and change nothing. An engine that cannot is
   * UNIMPLEMENTED.
   */
  hl_status (*host_loss)(void *context, const hl_tensor_view *outputs, size_t count,
                         const hl_tensor_view *gradients, double *ret_loss, hl_error *error);
  void *host_loss_context;
  /* 1: of Adam, every update is the first ("step" is 1 in every submit, or within `accumulate`), so
   * an engine need neither read nor write the moments: what their states hold is not defined. */
  uint32_t restarts;
} hl_training_spec;

typedef struct hl_program_spec {
  uint32_t size;
  hl_program_mode mode;
  hl_dtype dtype; /* arithmetic: HL_FLOAT32, HL_BFLOAT16, ... */
  /* One port for each model input, in the model's order, every dimension known. */
  const hl_port *inputs;
  size_t input_count;
  /* NULL, or a view for each input. One with data is the value that this input will have at every
   * step, read during prepare: an engine may compile it in, which is the only way to run a model
   * whose shapes depend on it. It is bound before the first step like the others, and an engine
   * that compiled it in refuses to bind a different value. An engine may ignore this. */
  const hl_tensor_view *known;
  const hl_training_spec *training; /* of HL_MODE_TRAINING, read during prepare; else NULL */
} hl_program_spec;

/* What a program will need, before anything is allocated. */
typedef struct hl_program_plan {
  uint32_t size;
  uint64_t weight_bytes;  /* weights as the engine keeps them, shared by programs of one model */
  uint64_t arena_bytes;   /* activations and scratchpads at their peak */
  uint64_t io_bytes;      /* input and output buffers the engine allocates */
  double executed_flops;  /* FLOPs one submit executes, 0 if unknown */
  uint64_t traffic_bytes; /* bytes one submit moves to and from memory at least, 0 if unknown */
} hl_program_plan;

typedef struct hl_engine_memory {
  uint32_t size;
  uint64_t allocated_bytes;                           /* in use now */
  uint64_t reserved_bytes;                            /* held from the system now */
  uint64_t peak_bytes;                                /* largest allocated_bytes so far */
  uint64_t device_allocated_bytes, device_peak_bytes; /* the same on the device; 0: not told */
  uint64_t device_reserved_bytes;
} hl_engine_memory;

/* What just-in-time compilers did since `open`. */
typedef struct hl_compilations {
  uint32_t size;
  uint64_t count;       /* how often one ran */
  uint64_t duration_ns; /* in all */
} hl_compilations;

/* Called once per executed operator by `profile`; strings are borrowed for the call. */
typedef void (*hl_profile_visit)(void *context, const char *name, const char *kind,
                                 uint64_t duration_ns);

/* Called by `trace` for each computed value, in order; all is borrowed for the call, the data
 * row-major. HL_OK goes on; another status ends the trace, which returns it. */
typedef hl_status (*hl_trace_visit)(void *context, const char *name, const char *kind,
                                    hl_phase phase, const hl_tensor_view *value);

/* What a piece of memory is for. */
typedef enum hl_allocation_kind {
  HL_ALLOCATION_WEIGHT = 0,              /* also running statistics */
  HL_ALLOCATION_OPTIMIZER = 1,           /* the optimiser's state */
  HL_ALLOCATION_ACTIVATION = 2,          /* read by its own phase only */
  HL_ALLOCATION_SAVED = 3,               /* an activation kept for backward */
  HL_ALLOCATION_GRADIENT = 4,            /* of a weight */
  HL_ALLOCATION_ACTIVATION_GRADIENT = 5, /* of an activation, on the way back */
  HL_ALLOCATION_WORKSPACE = 6,           /* scratch of one step */
  HL_ALLOCATION_INPUT_OUTPUT = 7
} hl_allocation_kind;

/* A piece of memory of a program, or (`name` NULL) one of the steps of a submit, in order. */
typedef struct hl_allocation {
  uint32_t size;
  hl_allocation_kind kind;
  const char *name;    /* of the value */
  const char *layer;   /* the node of the model that it belongs to, "" if to none */
  hl_phase phase;      /* in which it is written first; of a step: its own */
  int32_t first, last; /* steps that use it; -1, -1: it is always there */
  uint64_t offset;     /* in the arena, where it has a life in steps; else 0 */
  uint64_t bytes;
} hl_allocation;
typedef void (*hl_allocation_visit)(void *context, const hl_allocation *allocation);

/* Called by `inspect` for each fact; strings are borrowed for the call. */
typedef void (*hl_inspect_visit)(void *context, const char *name, const char *text);

typedef struct hl_engine_ops {
  uint32_t abi;  /* HL_ENGINE_ABI */
  uint32_t size; /* sizeof(hl_engine_ops) of the engine's build */

  const char *name; /* required: short, lower case, e.g. "native" */

  /* required: version of the engine and of what it stands on, e.g. "native 0.1 (oneDNN 3.2.0)".
   * The string lives as long as the process. */
  const char *(*version)(void);

  /* required: can this engine be used here? HL_OK, or HL_UNAVAILABLE with the reason and the
   * remedy in `error`. Cheap; called before open. */
  hl_status (*probe)(const hl_host *host, hl_error *error);

  /* required: starts the engine. `host` outlives it. Unknown options are INVALID_ARGUMENT. */
  hl_status (*open)(const hl_host *host, const hl_engine_config *config, hl_engine **ret_engine,
                    hl_error *error);

  /* required: reads the model. */
  hl_status (*load)(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                    hl_error *error);

  /* required: the model's inputs and outputs. */
  hl_status (*describe)(hl_model *model, hl_model_info *ret_info, hl_error *error);

  /* optional: what `prepare` would need, without allocating it. */
  hl_status (*plan)(hl_model *model, const hl_program_spec *spec, hl_program_plan *ret_plan,
                    hl_error *error);

  /* required: compiles the model for `spec`. Every buffer that running needs is allocated and
   * touched here or in `request`, so that running out of memory happens before the first step. */
  hl_status (*prepare)(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                       hl_error *error);

  /* required: buffers for one step in flight. */
  hl_status (*request)(hl_program *program, hl_request **ret_request, hl_error *error);

  /* required: says where input number `input` lies. The data is read at each submit and stays the
   * caller's; it must stay valid until the next bind of this input or the request's release. */
  hl_status (*bind)(hl_request *request, size_t input, const hl_tensor_view *view, hl_error *error);

  /* required: starts one step; may return before it is done. */
  hl_status (*submit)(hl_request *request, hl_error *error);

  /* required: returns when the step is done, on whatever device it runs. */
  hl_status (*wait)(hl_request *request, hl_error *error);

  /* required: output number `output` of the last step; valid until the next submit. */
  hl_status (*output)(hl_request *request, size_t output, hl_tensor_view *ret_view,
                      hl_error *error);

  /* required: releases; NULL is allowed. */
  void (*request_free)(hl_request *request);
  void (*program_free)(hl_program *program);
  void (*model_free)(hl_model *model);
  void (*close)(hl_engine *engine);

  /* optional: the engine's own account of its memory. */
  hl_status (*memory)(hl_engine *engine, hl_engine_memory *ret_memory, hl_error *error);

  /* optional: runs one step with per-operator times. */
  hl_status (*profile)(hl_request *request, hl_profile_visit visit, void *context, hl_error *error);

  /* optional: reads or writes the named mutable state of a program (training). What is read is
   * row-major float32 (whatever the arithmetic is), borrowed until the program's next hook; what is
   * written must have its shape and type. Between steps only. NOT_FOUND names an unknown state. */
  hl_status (*state_read)(hl_program *program, const char *name, hl_tensor_view *ret_view,
                          hl_error *error);
  hl_status (*state_write)(hl_program *program, const hl_tensor_view *view, hl_error *error);

  /* optional: the options that `open` knows, ending with a NULL key. Without the table every option
   * that no other engine claims is given to this engine. */
  const hl_option_info *option_table;

  /* optional: the execution providers that --provider may name, ending with NULL. Without the table
   * a row with a provider other than "cpu" is SKIPPED. */
  const char *const *providers;

  /* optional: facts for `hotlap engines`, such as "library", "providers", "devices". Called after a
   * successful `probe`, without `open`. */
  hl_status (*inspect)(const hl_host *host, hl_inspect_visit visit, void *context, hl_error *error);

  /* optional: the device's stream (a CUstream) in which the request's steps run in order, for
   * events around a step. UNAVAILABLE where it runs in none that is known. */
  hl_status (*stream)(hl_request *request, void **ret_stream, hl_error *error);

  /* optional: the states of a training program, owned by it. A checkpoint is all of them. */
  hl_status (*states)(hl_program *program, const hl_port **ret_states, size_t *ret_count,
                      hl_error *error);

  /* optional: how long each phase of the last step took, by hl_phase, on the clock of the host
   * (CLOCK_MONOTONIC). Where phases take turns each has the sum of its parts. */
  hl_status (*phases)(hl_request *request, uint64_t ret_ns[HL_PHASE_COUNT], hl_error *error);

  /* optional: computes one step without updating any state and shows each value that can be
   * looked at: what finds the first that is not finite. */
  hl_status (*trace)(hl_request *request, hl_trace_visit visit, void *context, hl_error *error);

  /* optional: what a program made from `spec` would do with its memory: its steps first, then
   * every piece. Allocates nothing of it; the sum of what lives at a time is what `plan` says. */
  hl_status (*allocations)(hl_model *model, const hl_program_spec *spec, hl_allocation_visit visit,
                           void *context, hl_error *error);

  /* optional: how much of `prepare` was just-in-time compilation, in nanoseconds. UNIMPLEMENTED
   * where this program was not compiled so. */
  hl_status (*compile_time)(hl_program *program, uint64_t *ret_ns, hl_error *error);

  /* optional: what a foreign model is (hl_model_source). An engine with this hook loads foreign
   * models, and refuses with INVALID_ARGUMENT or UNIMPLEMENTED those that it cannot. */
  hl_status (*facts)(hl_model *model, hl_model_facts *ret_facts, hl_error *error);

  /* optional: writes a foreign model to `path` as an ONNX file. */
  hl_status (*export_onnx)(hl_model *model, const char *path, hl_error *error);

  /* optional: compilations so far, also those within a step, where what was prepared does not fit
   * what the step brings: read before and after measured steps. */
  hl_status (*compilations)(hl_engine *engine, hl_compilations *ret_compilations, hl_error *error);

  /* optional: a whole step, as submit and wait do it together, with its operators' times; visits
   * them after the step, in any order. What it costs more than such a step is measured: nothing is
   * formatted or allocated for long within it. What a profile needs of its own (another session)
   * is made in the first call, before its step begins. A failure is that of the step; what ran
   * before it has been visited. */
  hl_status (*spans)(hl_request *request, hl_span_visit visit, void *context, hl_error *error);

  /* optional: visits the spans of all steps of `spans` since the last call, of an engine whose
   * profiler tells nothing before it ends: such a `spans` visits nothing. Also after a step that
   * failed. */
  hl_status (*spans_end)(hl_request *request, hl_span_visit visit, void *context, hl_error *error);
} hl_engine_ops;

typedef const hl_engine_ops *(*hl_engine_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
