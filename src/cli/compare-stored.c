#include "cli/compare.h"

hl_status hl_compare_stored_operands(hl_compare *compare, hl_error *error) {
  for (size_t i = 0; i < compare->count; i++) {
    const hl_operand *o = &compare->operands[i];
    if (hl_operand_is_stored(o))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s': this version compares what it measures now, not "
                          "%s...; an operand begins with a model: 'resnet50 batch=8'",
                          compare->texts[i], hl_operand_prefix(o->kind));
  }
  return HL_OK;
}
