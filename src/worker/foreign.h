/*
 * worker/foreign.h - a foreign model (workloads/foreign-model.h) in a worker: it is loaded when the
 * row is configured, and counts as loaded when it is taken over.
 */
#ifndef HL_WORKER_FOREIGN_H
#define HL_WORKER_FOREIGN_H

#include "worker/memory.h"
#include "workloads/model-file.h"
#include <jansson.h>

typedef struct hl_worker_foreign {
  hl_worker_baseline before, after; /* the model was loaded */
  uint64_t load_ns;
  bool peak_was_reset;
} hl_worker_foreign;

/* Opens the engine and loads the model; `ret_file` is to be released also on failure. */
hl_status hl_worker_foreign_open(hl_worker_foreign *foreign, const hl_configuration *configuration,
                                 hl_model_file *ret_file, hl_error *error);

/* What memory was before the model, and what has come since, that is not the model's. */
hl_worker_baseline hl_worker_foreign_baseline(const hl_worker_foreign *foreign);

/* The verb `export`. */
hl_status hl_worker_export(const hl_model_file *file, const json_t *request, hl_error *error);

#endif
