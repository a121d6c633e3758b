/*
 * workloads/open-engine.h - the engine that a configuration names, opened as it says.
 */
#ifndef HL_WORKLOADS_OPEN_ENGINE_H
#define HL_WORKLOADS_OPEN_ENGINE_H

#include "workloads/model-file.h"

/* `host` (may be NULL) is copied, and its `library` set to the one that the configuration names;
 * the copy must outlive the engine: free() it afterwards. `file` (may be NULL) must outlive both.
 * The engine that has loaded a foreign model in it is handed over. Nothing is set on failure but
 * `ret_ops`. */
hl_status hl_open_engine(const hl_configuration *configuration, const hl_model_file *file,
                         const hl_host *host, hl_engine_ops *ret_ops, hl_host **ret_host,
                         hl_engine **ret_engine, hl_error *error);

#endif
