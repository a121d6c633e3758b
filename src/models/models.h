/*
 * models/models.h - the built-in networks.
 *
 * A model is named NAME:key=value,key=value, e.g. "ptychopinn:N=128,gridsize=2". Every model has
 * defaults for its parameters, seeded weights, and one symbolic dimension "batch", the first of
 * each input. The same specification and seed give the same bytes on every machine.
 */
#ifndef HL_MODELS_MODELS_H
#define HL_MODELS_MODELS_H

#include "graph/graph.h"

typedef enum hl_model_kind {
  HL_MODEL_INT = 0, /* a whole number from min to max */
  HL_MODEL_REAL,    /* a number from min to max */
  HL_MODEL_CHOICE,  /* one of `choices` */
  HL_MODEL_SWITCH,  /* on or off; also true, false, yes, no, 1, 0 */
  HL_MODEL_SIZES    /* whole numbers from min to max, joined by `joint` */
} hl_model_kind;

typedef struct hl_model_parameter {
  const char *key;
  const char *value;   /* the default, as text; NULL ends a list */
  const char *doc;     /* what it is and what it may be */
  const char *alias;   /* another accepted key, or NULL */
  const char *choices; /* HL_MODEL_CHOICE: "64, 128" */
  double min, max;
  hl_model_kind kind;
  char joint;
} hl_model_parameter;

typedef struct hl_builtin_model {
  const char *name;
  const char *doc; /* one line */
  const hl_model_parameter *parameters;
} hl_builtin_model;

/* Row `index` of the table of models, NULL past the end. */
const hl_builtin_model *hl_models_at(size_t index);

/* The built-in model that the part of `spec` before ':' names, or NULL. */
const hl_builtin_model *hl_models_find(const char *spec);

/* True if there is one. */
bool hl_models_has(const char *spec);

/* Checks a specification and writes its canonical form (free() it): name, then only parameters
 * that differ from their defaults, in the table's order. INVALID_ARGUMENT names the parameter and
 * lists what is possible. NOT_FOUND for an unknown model, with the nearest names. */
hl_status hl_models_canonical(const char *spec, char **ret_spec, hl_error *error);

/* Builds the network with seeded weights (opset 17); the graph is sorted and resolved. */
hl_status hl_models_build(const char *spec, uint64_t seed, hl_graph **ret_graph, hl_error *error);

/* Patterns per input: gridsize^2 for ptychopinn, 1 for others. `spec` must be valid. */
int64_t hl_models_patterns_per_input(const char *spec);

#endif
