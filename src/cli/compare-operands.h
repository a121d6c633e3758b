/*
 * cli/compare-operands.h - the operands of `hotlap compare` as configurations.
 */
#ifndef HL_CLI_COMPARE_OPERANDS_H
#define HL_CLI_COMPARE_OPERANDS_H

#include "machine/topology.h"
#include "plan/configuration.h"
#include "plan/operand.h"
#include "run/compare.h"

typedef struct hl_compare_operands {
  const char *texts[HL_COMPARE_SIDES]; /* as given */
  hl_operand parsed[HL_COMPARE_SIDES];
  hl_plan plans[HL_COMPARE_SIDES]; /* of one row each */
  const hl_configuration *configurations[HL_COMPARE_SIDES];
  size_t count;
  hl_method_options method;
} hl_compare_operands;

/* INVALID_ARGUMENT names the operand and the word. Release also after a failure. */
hl_status hl_compare_operands_read(const hl_options *options, const hl_machine *machine,
                                   hl_compare_operands *operands, hl_error *error);
void hl_compare_operands_release(hl_compare_operands *operands);

#endif
