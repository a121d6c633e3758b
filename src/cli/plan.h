/*
 * cli/plan.h - from words of the command line to models and plans.
 */
#ifndef HL_CLI_PLAN_H
#define HL_CLI_PLAN_H

#include "machine/topology.h"
#include "plan/configuration.h"

/* A built-in network in canonical form, or a file that can be read; free() its name. NOT_FOUND, or
 * INVALID_ARGUMENT for a bad parameter. */
hl_status hl_cli_model(const char *name, hl_plan_model *ret_model, hl_error *error);

/* The same where --launcher may lead to another machine, whose files nobody here can look for. */
hl_status hl_cli_model_of(const hl_options *options, const char *name, hl_plan_model *ret_model,
                          hl_error *error);

/* Whether a model that was named is a file, there or not. */
bool hl_cli_model_is_file(const char *name);

/* The plan of the options on this machine; engines are asked only where their options are to be
 * sorted. Errors as hl_plan_build. */
hl_status hl_cli_plan(const hl_options *options, const hl_plan_model *models, size_t model_count,
                      const hl_machine *machine, hl_plan *ret_plan, hl_error *error);

#endif
