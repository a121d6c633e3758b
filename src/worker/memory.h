/*
 * worker/memory.h - the verbs `allocations` and `memory`: what an engine's memory will be for, and
 * what there is of it.
 */
#ifndef HL_WORKER_MEMORY_H
#define HL_WORKER_MEMORY_H

#include "base/error.h"
#include "machine/memory.h"
#include "machine/residency.h"
#include <jansson.h>

/* The engine's map of a program made from `spec`, as the bytes of the reply (malloc'ed). An engine
 * without one is `known` false. */
hl_status hl_worker_allocations(const hl_engine_ops *ops, hl_model *model,
                                const hl_program_spec *spec, json_t *reply, void **ret_bytes,
                                size_t *ret_byte_count, hl_error *error);

/* What this process has before a model is loaded; zeros where that cannot be read. */
typedef struct hl_worker_baseline {
  hl_memory memory;
  hl_residency residency;
} hl_worker_baseline;
void hl_worker_baseline_read(hl_worker_baseline *ret_baseline);

/* Memory of this process now, what it was in `baseline`, by which parts it has grown since, and
 * the engine's own account (`engine` NULL: it has none yet). */
hl_status hl_worker_memory(const hl_engine_ops *ops, hl_engine *engine,
                           const hl_worker_baseline *baseline, json_t *reply, hl_error *error);

#endif
