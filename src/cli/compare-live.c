#include "cli/compare.h"

#include "cli/elsewhere.h"

/* The sides as configurations. */
typedef struct live {
  hl_compare *compare;
  hl_machine machine;
  hl_plan plans[HL_COMPARE_SIDES]; /* of one row each */
  const hl_configuration *configurations[HL_COMPARE_SIDES];
  const char *directories[HL_COMPARE_SIDES];
  hl_run_info info;
} live;

static hl_status read_side(live *l, size_t i, hl_error *error) {
  hl_compare *c = l->compare;
  hl_error inner = {0};
  hl_status status = hl_compare_rebase(c, i, &inner);
  if (status != HL_OK)
    return hl_error_set(error, status, "operand '%.300s': %s", c->texts[i], inner.msg);
  status =
      hl_compare_configuration(c, c->texts[i], &c->operands[i], &l->machine, &l->plans[i], error);
  if (status == HL_OK) l->configurations[i] = &l->plans[i].items[0];
  return status;
}

/* A commit is built here, for the engines of this machine. */
static hl_status check_places(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (c->operands[i].kind == HL_OPERAND_GIT && hl_cli_is_far(&c->operands[i].options))
      return hl_error_set(
          error, HL_INVALID_ARGUMENT,
          "operand '%.300s' is checked out on this machine, and --launcher leads to "
          "another: compare commits there, 'ssh box hotlap compare ...'",
          c->texts[i]);
  return HL_OK;
}

/* Before anything is checked out. */
static hl_status check_models(const hl_compare *c, hl_error *error) {
  for (size_t i = 0; i < c->count; i++)
    if (!c->operands[i].model)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s' says what is built and not what is measured: a model "
                          "behind it ('git:main resnet50 plugin=build/engine.so'), or --command",
                          c->texts[i]);
  return HL_OK;
}

static hl_status measure(live *l, hl_error *error) {
  hl_compare *c = l->compare;
  l->info.cpu = hl_strdup(l->machine.cpu);
  l->info.cores = l->machine.cores;
  for (size_t i = 0; i < c->count; i++) l->directories[i] = hl_compare_directory(c, i);
  c->how.directories = l->directories;
  c->how.configurations = l->configurations;
  c->how.count = c->count;
  c->how.method = &l->plans[0].method;
  return hl_compare_measure(c, &c->how, 1, &l->info, error);
}

hl_status hl_compare_live_operands(hl_compare *compare, hl_error *error) {
  live l = {.compare = compare};
  hl_run_info_init(&l.info);
  hl_status status = check_models(compare, error);
  if (status == HL_OK) status = check_places(compare, error);
  if (status == HL_OK)
    status = hl_compare_machine(&compare->operands[0].options, &l.machine, error);
  if (status == HL_OK) status = hl_compare_checkout(compare, error);
  for (size_t i = 0; i < compare->count && status == HL_OK; i++) status = read_side(&l, i, error);
  if (status == HL_OK) status = measure(&l, error);
  for (size_t i = 0; i < compare->count; i++) hl_plan_release(&l.plans[i]);
  hl_run_info_release(&l.info);
  hl_machine_release(&l.machine);
  return status;
}
