/*
 * plan/configuration.h - what is to be measured (configurations) and how (the method).
 *
 * A plan is the one list that the command line, a matrix or a list of tasks are written into. All
 * strings live in the plan's arena.
 */
#ifndef HL_PLAN_CONFIGURATION_H
#define HL_PLAN_CONFIGURATION_H

#include "base/arena.h"
#include "plan/device.h"
#include "plan/input-shape.h"
#include "plan/launcher.h"
#include "plan/load-spec.h"
#include "plan/options.h"
#include "plan/pipeline-spec.h"
#include "plan/progressive-spec.h"
#include "plan/train-spec.h"

typedef struct hl_method_options hl_method_options;

#define HL_DATA_SIMULATED "simulated" /* --test-data: a scan that is made for the network */

/* One row: everything that decides what a step computes. */
typedef struct hl_configuration {
  const char *entry;               /* of the plan that asks for the row, or NULL */
  const hl_method_options *method; /* how this row is measured; NULL: as the plan says */
  /* Built-in specification in canonical form, path of an ONNX file, or what a foreign one is called
   */
  const char *model;
  bool is_builtin;
  bool is_foreign;        /* the engine gets and describes it by itself: see plan/foreign.h */
  const char *weights;    /* file that a foreign model takes its weights from, or NULL */
  const char *model_file; /* an 8-bit copy that is run in the model's place, or NULL; no part of
                             what the row is called */
  const char *engine;
  const char *const *plugins; /* objects to look for the engine in before the built-in ones */
  size_t plugin_count;
  const hl_option *engine_options;
  size_t engine_option_count;
  const char *dtype;
  const char *device;      /* canonical: see plan/device.h */
  const char *device_note; /* what the row has to say about it, or NULL; no part of its identity */
  const char *provider;    /* execution provider, or NULL: not asked for */
  const hl_input_shape *input_shapes; /* of dimensions that the model leaves open */
  size_t input_shape_count;
  int64_t batch_size;
  int64_t threads;
  const char *test_data;  /* file, HL_DATA_SIMULATED, or NULL: synthetic */
  int64_t n_images;       /* 0: all of a file, one batch if synthetic */
  bool decodes_scaled;    /* JPEG pictures at a smaller scale */
  int64_t loader_threads; /* of inference: they load pictures meanwhile, for fed_throughput_ips */
  int64_t seed;
  const hl_load_spec *load; /* a load test, or NULL: inference, step after step */
  bool memory; /* a row of `hotlap memory`: of inference, or of training where `train` is set */
  const hl_train_spec *train;             /* a training run, or NULL */
  const hl_pipeline_spec *pipeline;       /* whole scans, or NULL: batch_size is predict's */
  const hl_progressive_spec *progressive; /* progressive imaging, or NULL */
  const hl_launcher *launcher;            /* what the worker is started through, or NULL */
  bool simulated;                         /* a simulated clock: a step takes t0 + t1 * batch */
  double simulated_t0_ns, simulated_t1_ns;
} hl_configuration;

/* How each row is measured. Zero or negative counts mean "not fixed". */
struct hl_method_options {
  double min_time_s, max_time_s;
  double setup_s; /* longest that loading, planning or preparing may take */
  bool setup_given;
  bool max_time_given;       /* a budget that was asked for binds fixed counts too */
  int64_t iterations;        /* 0: until converged */
  int64_t num_runs;          /* 0: not by passes */
  int64_t warmup_iterations; /* -1: auto */
  int64_t warmup_runs;       /* 0: not by passes */
  bool check;                /* compare outputs with the reference */
  bool predict;              /* refuse sizes that the plan says cannot fit */
  bool keeps_batches;        /* a pipeline's are not cut to fit the limit of memory */
  bool sequence;             /* row after row, never in turns */
  bool counters;             /* hardware counters */
  bool adaptive;             /* search the memory boundary after the rows */
  int64_t max_batch;
  int64_t memory_limit_mb;           /* 0: none */
  double safety_margin;              /* 0.1 */
  const char *const *metric_plugins; /* objects with metrics of the user's own */
  size_t metric_plugin_count;
  const char *python;              /* interpreter of those that are Python; NULL: look for one */
  const char *const *requirements; /* conditions of record/requirement.h */
  size_t requirement_count;
};

typedef struct hl_plan {
  hl_arena arena;
  hl_configuration *items;
  size_t count;
  hl_method_options method;
  bool shuffled; /* batch sizes in random order, within blocks: run/order.h */
  uint64_t shuffle_seed;
} hl_plan;

/* Rows of a plan at most. */
enum { HL_PLAN_ROWS = 100000 };

/* How a row of the plan is measured. */
const hl_method_options *hl_plan_method(const hl_plan *plan, const hl_configuration *configuration);

/* The method as options of the command line, all that tells two apart; free() it. */
char *hl_method_text(const hl_method_options *method);

/* The engine that people and the suites call `name`: tf and pytorch are tensorflow and torch. */
const char *hl_engine_called(const char *name);

/* A model named on the command line, already checked. */
typedef struct hl_plan_model {
  const char *name;
  bool is_builtin, is_foreign;
} hl_plan_model;

/* Whether an engine knows an option. MAYBE: it does not tell. */
typedef enum hl_plan_known { HL_PLAN_NO, HL_PLAN_MAYBE, HL_PLAN_YES } hl_plan_known;

/* What a plan asks about engines, which it cannot open itself. */
typedef struct hl_plan_engines {
  hl_plan_known (*knows)(void *context, const char *engine, const char *key);
  /* Appends "engine.key=values, ..." of the options that an engine tells. */
  void (*options_of)(void *context, const char *engine, hl_text *out);
  void *context;
} hl_plan_engines;

/* Length of the ENGINE in "ENGINE=PATH": up to the first '=', if no '/' comes before; 0 if the text
 * is a path alone. */
size_t hl_plan_scope(const char *text);

/* Builds models x engines x devices x types x threads x batch sizes, in that order, from options.
 * `default_threads` is used where --threads is not given. `engines` (NULL: every engine may know
 * every option) decides which engine gets an option that names none. INVALID_ARGUMENT names the
 * option. `here` (NULL: nothing known) is for a row for each GPU and for --device-prefer. */
hl_status hl_plan_build(const hl_options *options, const hl_plan_model *models, size_t model_count,
                        int64_t default_threads, const hl_plan_engines *engines,
                        const hl_device_inventory *here, hl_plan *ret_plan, hl_error *error);
void hl_plan_release(hl_plan *plan);

/* The same configuration with another batch size. */
hl_configuration hl_configuration_with_batch(const hl_configuration *configuration, int64_t batch);

/* The same model and data with that batch size on the null engine, for questions that need none. */
hl_configuration hl_configuration_without_engine(const hl_configuration *configuration,
                                                 int64_t batch);

/* The command that repeats just this row; free() it. */
char *hl_configuration_reproduce(const hl_configuration *configuration,
                                 const hl_method_options *method);

/* Identity of a row within a run, for --resume; free() it. */
char *hl_configuration_key(const hl_configuration *configuration);

/* 16 hexadecimal digits of a hash over all rows and the method: the same plan again. */
void hl_plan_hash(const hl_plan *plan, char ret_text[17]);

/* Quotes for a POSIX shell where needed; appended to `out`. */
void hl_shell_quote(hl_text *out, const char *word);

/* Parses "1,2 4", "1-64*2", "1-9+2" or a preset into ascending order of appearance without
 * repeats; free() it. INVALID_ARGUMENT names the part. */
hl_status hl_batch_sizes_parse(const char *text, int64_t **ret_sizes, size_t *ret_count,
                               hl_error *error);
#define HL_BATCH_LIMIT 1000000

/* Limits of a configuration's numbers, wherever it comes from. */
#define HL_THREADS_LIMIT 4096
#define HL_IMAGES_LIMIT 100000000
#define HL_CLOCK_T0_LIMIT 1e15 /* nanoseconds, so that no duration overflows */
#define HL_CLOCK_T1_LIMIT 1e12

#endif
