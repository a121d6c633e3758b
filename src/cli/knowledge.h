/*
 * cli/knowledge.h - what the engines of a plan say of themselves, asked once each.
 *
 *     hl_knowledge knowledge = {.options = &options};
 *     const hl_plan_engines engines = hl_knowledge_for_plan(&knowledge);
 *     hl_plan_build(&options, models, count, threads, &engines, NULL, &plan, error);
 *     hl_knowledge_release(&knowledge);
 */
#ifndef HL_CLI_KNOWLEDGE_H
#define HL_CLI_KNOWLEDGE_H

#include "engine/look.h"
#include "plan/configuration.h"

/* Seconds after which an engine that is asked is taken for one that hangs. */
#define HL_CLI_LOOK_S 20

typedef struct hl_knowledge {
  const hl_options *options; /* where plug-ins and libraries are named */
  hl_engine_finding *findings;
  char **names;   /* the engine's name of each */
  char **devices; /* its list, "" if there is none, NULL if it was not asked */
  size_t count;
} hl_knowledge;

hl_plan_engines hl_knowledge_for_plan(hl_knowledge *knowledge);
/* For hl_device_inventory.devices_of: what `hotlap engines` shows as the devices of an engine that
 * runs in an interpreter, whose framework is started for it; NULL of every other. `context` is the
 * hl_knowledge. */
const char *hl_knowledge_devices(void *context, const char *engine);
void hl_knowledge_release(hl_knowledge *knowledge);

/* The path that --engine-library names for `engine` (with ENGINE=), or NULL. */
const char *hl_cli_library_of(const hl_options *options, const char *engine);

/* For `hotlap engines`: INVALID_ARGUMENT where --engine-library names no engine. */
hl_status hl_cli_check_libraries(const hl_options *options, hl_error *error);

#endif
