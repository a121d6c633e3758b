#include "cli/compare-operands.h"

#include "cli/plan.h"
#include <stdlib.h>
#include <string.h>

/* What all sides share: budget and limits come from the command line, not from an operand. */
static hl_status read_method(const hl_options *options, const hl_plan_model *model,
                             const hl_machine *machine, hl_method_options *ret_method,
                             hl_error *error) {
  hl_plan plan = {0};
  hl_status status = hl_plan_build(options, model, 1, machine->cores, NULL, NULL, &plan, error);
  if (status == HL_OK) *ret_method = plan.method;
  hl_plan_release(&plan);
  return status;
}

static hl_status read_one(const hl_options *options, const hl_machine *machine, size_t i,
                          hl_compare_operands *o, hl_error *error) {
  hl_error inner = {0};
  hl_plan_model model = {0};
  hl_status status = hl_operand_parse(o->texts[i], options, &o->parsed[i], error);
  if (status != HL_OK) return status;
  status = hl_cli_model(o->parsed[i].model, &model, &inner);
  if (status == HL_OK)
    status = hl_cli_plan(&o->parsed[i].options, &model, 1, machine, &o->plans[i], &inner);
  if (status == HL_OK && i == 0) status = read_method(options, &model, machine, &o->method, &inner);
  free((char *)(uintptr_t)model.name);
  if (status != HL_OK)
    return hl_error_set(error, status, "operand '%.300s': %s", o->texts[i], inner.msg);
  if (o->plans[i].count != 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "operand '%.300s' means %zu configurations; an operand is one: name one "
                        "batch, engine, dtype, device and number of threads",
                        o->texts[i], o->plans[i].count);
  o->configurations[i] = &o->plans[i].items[0];
  return HL_OK;
}

hl_status hl_compare_operands_read(const hl_options *options, const hl_machine *machine,
                                   hl_compare_operands *operands, hl_error *error) {
  size_t count = options->positional_count;
  if (count < 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "compare needs two operands, the baseline first: hotlap compare 'resnet50 "
                        "engine=native' 'resnet50 engine=onnxruntime'");
  if (count > HL_COMPARE_SIDES)
    return hl_error_set(error, HL_LIMIT, "%zu operands; at most %d are compared", count,
                        HL_COMPARE_SIDES);
  operands->count = count;
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    operands->texts[i] = options->positionals[i];
    status = read_one(options, machine, i, operands, error);
  }
  return status;
}

void hl_compare_operands_release(hl_compare_operands *operands) {
  for (size_t i = 0; i < operands->count; i++) {
    hl_plan_release(&operands->plans[i]);
    hl_operand_release(&operands->parsed[i]);
  }
}
