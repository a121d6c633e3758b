/*
 * worker/compilations.h - what was compiled within the steps of a slice, by the engine's word.
 *
 *     hl_worker_compilations before = hl_worker_compilations_begin(ops, engine);
 *     ... steps ...
 *     hl_worker_compilations_end(&before, reply);
 */
#ifndef HL_WORKER_COMPILATIONS_H
#define HL_WORKER_COMPILATIONS_H

#include "engine/registry.h"
#include <jansson.h>
#include <stdbool.h>

typedef struct hl_worker_compilations {
  const hl_engine_ops *ops;
  hl_engine *engine;
  hl_compilations before;
  bool known;
} hl_worker_compilations;

hl_worker_compilations hl_worker_compilations_begin(const hl_engine_ops *ops, hl_engine *engine);
/* Sets `compilations` and `compilations_ns`, where the engine tells. */
void hl_worker_compilations_end(const hl_worker_compilations *before, json_t *reply);

#endif
