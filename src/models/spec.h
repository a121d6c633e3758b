/*
 * models/spec.h - a checked model specification, inside src/models only.
 *
 *     hl_model_spec spec;
 *     hl_status status = hl_model_spec_parse("mlp:hidden_dim=512", &spec, error);
 *     int64_t hidden = hl_model_int(&spec, "hidden_dim");
 *
 * Every value is kept as canonical text ("on", "16x32x32"), the default where none was given, and
 * is known to be in range. Nothing is allocated.
 */
#ifndef HL_MODELS_SPEC_H
#define HL_MODELS_SPEC_H

#include "models/models.h"

#define HL_MODEL_PARAMETERS 8  /* of one model, at most */
#define HL_MODEL_SIZE_COUNT 32 /* numbers in one HL_MODEL_SIZES */
#define HL_MODEL_TEXT 192      /* bytes of one value */
#define HL_MODEL_SPEC_TEXT 1024

/* ONNX files end at 2 GB, and this many floats are 1.6 GB. */
#define HL_MODEL_MAX_WEIGHTS 400e6

typedef struct hl_network hl_network; /* models/network.h */
typedef struct hl_model_spec hl_model_spec;

typedef struct hl_model_row {
  hl_builtin_model model;
  /* What one parameter alone cannot show, e.g. that heads divide hidden; may bring a value to its
   * canonical text. NULL: nothing. */
  hl_status (*check)(hl_model_spec *spec, hl_error *error);
  void (*build)(hl_network *network); /* failures stay in the graph: hl_graph_status */
} hl_model_row;

struct hl_model_spec {
  const hl_model_row *row;
  bool given[HL_MODEL_PARAMETERS]; /* in the row's order of parameters */
  char text[HL_MODEL_PARAMETERS][HL_MODEL_TEXT];
};

/* models/table.c: row `index`, NULL past the end. */
const hl_model_row *hl_model_row_at(size_t index);
/* The row of the model that `spec` begins with, or NULL. */
const hl_model_row *hl_model_row_find(const char *spec);

hl_status hl_model_spec_parse(const char *text, hl_model_spec *ret_spec, hl_error *error);

/* Values by key, which must be one of the row's. */
int64_t hl_model_int(const hl_model_spec *spec, const char *key);
double hl_model_real(const hl_model_spec *spec, const char *key);
bool hl_model_switch(const hl_model_spec *spec, const char *key);
const char *hl_model_text(const hl_model_spec *spec, const char *key);
bool hl_model_given(const hl_model_spec *spec, const char *key);
/* Copies up to HL_MODEL_SIZE_COUNT numbers; returns how many there are. */
size_t hl_model_sizes(const hl_model_spec *spec, const char *key,
                      int64_t ret_sizes[HL_MODEL_SIZE_COUNT]);
/* Sets a value that is known to be right; for `check`. */
void hl_model_set(hl_model_spec *spec, const char *key, const char *text);

/* INVALID_ARGUMENT: "model 'M': KEY cannot be 'VALUE'; possible: POSSIBLE". */
hl_status hl_model_refuse(const hl_model_spec *spec, const char *key, const char *possible,
                          hl_error *error);
/* LIMIT if a model would have more weights than an ONNX file holds. */
hl_status hl_model_limit(const hl_model_spec *spec, double weights, hl_error *error);

#endif
