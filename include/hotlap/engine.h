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
 * then releases request, program, model and engine, in that order. See engines/skeleton for a
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
  const char *path; /* an ONNX file, never NULL */
} hl_model_source;

typedef struct hl_model_info {
  uint32_t size;
  const hl_port *inputs; /* owned by the model */
  size_t input_count;
  const hl_port *outputs;
  size_t output_count;
} hl_model_info;

typedef enum hl_program_mode { HL_MODE_INFERENCE = 0, HL_MODE_TRAINING = 1 } hl_program_mode;

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
} hl_engine_memory;

/* Called once per executed operator by `profile`; strings are borrowed for the call. */
typedef void (*hl_profile_visit)(void *context, const char *name, const char *kind,
                                 uint64_t duration_ns);

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

  /* optional: reads or writes the named mutable state of a program (training). */
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
} hl_engine_ops;

typedef const hl_engine_ops *(*hl_engine_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
