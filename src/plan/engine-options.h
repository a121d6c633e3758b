/*
 * plan/engine-options.h - which engine of a plan gets which option.
 *
 *     --engine-option openvino.hint=throughput   is for openvino
 *     --engine-option hint=throughput            for the engines of the plan that know `hint`
 *     --engine-library openvino=PATH             is option library=PATH of openvino
 *     --disable-pass LIST                        is option disable=LIST of those that know it
 *     --algorithms NAME                          is option algorithms=NAME of those that know it
 *     --python PATH                              is option python=PATH of those that run in Python
 */
#ifndef HL_PLAN_ENGINE_OPTIONS_H
#define HL_PLAN_ENGINE_OPTIONS_H

#include "plan/configuration.h"

typedef struct hl_option_list {
  hl_option *items;
  size_t count;
} hl_option_list;

/* Whether a --metric-plugin is a Python file: then --python is for it, too. */
bool hl_plan_has_python_metrics(const hl_options *options);

/* Fills `ret_lists`, one for each of `engines`, with strings and arrays of the arena. `known` may
 * be NULL. INVALID_ARGUMENT names the option that is for no engine of the plan, with what there is.
 */
hl_status hl_plan_engine_options(const hl_options *options, hl_arena *arena,
                                 const char *const *engines, size_t engine_count,
                                 const hl_plan_engines *known, hl_option_list *ret_lists,
                                 hl_error *error);

#endif
