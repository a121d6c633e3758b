/*
 * plan/plan-file.h - a plan in YAML: what `hotlap run` measures.
 *
 *     name: sizes
 *     defaults: {warmup-iterations: 10, iterations: 100}
 *     entries:
 *       - name: model-size
 *         model: mlp:input_dim=1024,hidden_dim={hidden}
 *         batch-sizes: 32
 *         matrix: {hidden: [128, 256], precision: [float32, bfloat16]}
 *         exclude: [{hidden: 128, precision: bfloat16}]
 *
 *     hl_plan_file file;
 *     hl_status status = hl_plan_file_read("sizes.yaml", overrides, count, false, &file, error);
 *     for (size_t i = 0; i < file.step_count; i++)
 *       ... file.steps[i] is a command line: model, options ...
 *     hl_plan_file_release(&file);
 *
 * An entry's keys are the options of its workload (options.def) that `hotlap run` does not have
 * itself, '-' and '_' being the same. docs/plans.md is the reference. All strings live in the file.
 */
#ifndef HL_PLAN_PLAN_FILE_H
#define HL_PLAN_PLAN_FILE_H

#include "plan/configuration.h"
#include "plan/yaml-tree.h"

enum { HL_PLAN_STEPS = 10000, HL_PLAN_ENTRIES = 1000, HL_PLAN_PLOTS = 32, HL_PLAN_PANELS = 6 };

/* Leaves out what has one of `values` in the option (`others`: none of them), of an entry that
 * lists several itself. */
typedef struct hl_plan_condition {
  hl_option_id id;
  bool others;
  const char *const *values;
  size_t value_count;
} hl_plan_condition;

/* All of its conditions have to hold. */
typedef struct hl_plan_exclude {
  hl_plan_condition *conditions;
  size_t condition_count;
} hl_plan_exclude;

/* One combination of an entry's matrix: as a command line of the workload's command. */
typedef struct hl_plan_step {
  const char *entry;
  char command;             /* letter of options.def: 'S', 'L', 'T', 'Y' */
  const char *workload;     /* as the entry has it */
  const char *model;        /* as the plan names it */
  const char *const *words; /* argv: the command's name, --KEY=VALUE... without the model */
  size_t word_count;
  bool optional; /* rows that do not pass do not count for the exit status */
  const hl_plan_exclude *excludes;
  size_t exclude_count;
  const hl_yaml *where; /* the entry */
} hl_plan_step;

/* A picture: a panel for each of `y`, a curve for each configuration without x. */
typedef struct hl_plan_plot {
  const char *file; /* without directory and ending */
  const char *title;
  const char *const *entries; /* of which the rows are; none: all */
  size_t entry_count;
  const char *x; /* metric, or a parameter of the model */
  const char *const *y;
  size_t y_count;
  const hl_yaml *where;
} hl_plan_plot;

/* Batch sizes by a name, of a test matrix. */
typedef struct hl_plan_set {
  const char *name, *sizes; /* "1,2,4" */
} hl_plan_set;

/* Rows by a name that --only takes: what it stands for is what --only takes itself. */
typedef struct hl_plan_part {
  const char *name;
  const char *only; /* "entry=baseline,optimize=none"; NULL: no rows */
} hl_plan_part;

/* A key of a model of a test matrix that is no option: a parameter of that network. */
typedef struct hl_plan_parameter {
  const char *model; /* as the plan names it, without the parameters beside it */
  const hl_yaml *key;
} hl_plan_parameter;

typedef struct hl_plan_file {
  hl_yaml_file yaml;
  const char *name, *description; /* NULL: none */
  const char *const *words;       /* --KEY=VALUE of `hotlap run` that the plan sets */
  size_t word_count;
  hl_plan_step *steps;
  size_t step_count;
  hl_plan_plot *plots;
  size_t plot_count;
  hl_plan_set *sets;
  size_t set_count;
  hl_plan_part *parts;
  size_t part_count;
  const char *report;         /* whose files are written beside: "phase5"; NULL: none's */
  const char *const *profile; /* words for `hotlap profile` behind the rows; NULL: none */
  size_t profile_count;
  hl_plan_parameter *parameters;
  size_t parameter_count;
  bool matrix;            /* it has test_configurations */
  hl_yaml_file *included; /* whose nodes the tree has, too */
  size_t included_count;
  const hl_yaml *whole; /* all of it as it was read, in one tree */
} hl_plan_file;

/* `overrides`: KEY=VALUE for every entry, ENTRY.KEY=VALUE for one; ENGINE.KEY=VALUE is an option of
 * an engine. `quick`: those that the plan has under that name come first. BAD_DATA and LIMIT name
 * FILE:LINE:COLUMN; INVALID_ARGUMENT names the override; NOT_FOUND, IO, OUT_OF_MEMORY. */
hl_status hl_plan_file_read(const char *path, const char *const *overrides, size_t override_count,
                            bool quick, hl_plan_file *ret_file, hl_error *error);
/* The same of bytes in memory, which include no files. */
hl_status hl_plan_file_parse(const char *bytes, size_t count, const char *name,
                             const char *const *overrides, size_t override_count, bool quick,
                             hl_plan_file *ret_file, hl_error *error);
void hl_plan_file_release(hl_plan_file *file);

/* The plan as one text that hl_plan_file_parse takes, with what it includes; free() it. NULL
 * without memory. */
char *hl_plan_file_text(const hl_plan_file *file);

/* Leaves what `text` names: a part, a workload, or KEY=VALUE with commas, several values of a key
 * being alternatives: "model=standard,batch_sizes=quick", "hardware=cpu_baseline,batch-sizes=8,16".
 * Keys are workload and entry; dataset, model, hardware and scenario of a matrix (of other plans
 * model is the network); optimize, as entries have it; and engine, precision, device, threads and
 * batch-sizes of rows. INVALID_ARGUMENT for a key or value that is none, and where nothing is left
 * but for a part that has no rows. */
hl_status hl_plan_file_only(hl_plan_file *file, const char *text, hl_error *error);

/* Whether the step's excludes leave the configuration out. */
bool hl_plan_step_excludes(const hl_plan_step *step, const hl_configuration *configuration);

#endif
