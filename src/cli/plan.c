#include "cli/plan.h"

#include "base/file.h"
#include "cli/elsewhere.h"
#include "cli/knowledge.h"
#include "data/picture.h"
#include "models/models.h"
#include "models/spec.h"
#include "plan/foreign.h"
#include "record/requirement.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hl_cli_model_is_file(const char *name) {
  size_t length = strlen(name);
  return !hl_models_has(name) && (strchr(name, '/') || access(name, F_OK) == 0 ||
                                  (length > 5 && strcmp(name + length - 5, ".onnx") == 0));
}

hl_status hl_cli_model(const char *name, hl_plan_model *ret_model, hl_error *error) {
  char *given = NULL;
  bool is_file = hl_cli_model_is_file(name);
  bool is_function = !is_file && !hl_models_has(name) && hl_foreign_is_function(name);
  bool is_foreign = is_function || (is_file && hl_foreign_is_path(name));
  if (is_function) {
    hl_status status = hl_foreign_check(name, error);
    if (status != HL_OK) return status;
  }
  if (is_file && access(name, R_OK) != 0)
    return hl_error_errno(error, HL_NOT_FOUND, "cannot read model '%s'", name);
  if (is_file || is_foreign) {
    given = hl_strdup(name);
  } else {
    hl_status status = hl_models_canonical(name, &given, error);
    if (status != HL_OK) return status;
  }
  if (!given) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for models");
  *ret_model = (hl_plan_model){
      .name = given, .is_builtin = !is_file && !is_function, .is_foreign = is_foreign};
  return HL_OK;
}

hl_status hl_cli_model_of(const hl_options *options, const char *name, hl_plan_model *ret_model,
                          hl_error *error) {
  bool elsewhere = hl_cli_is_far(options) && hl_cli_model_is_file(name);
  if (!elsewhere) return hl_cli_model(name, ret_model, error);
  *ret_model = (hl_plan_model){.name = hl_strdup(name), .is_foreign = hl_foreign_is_path(name)};
  return ret_model->name ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for models");
}

/* Of another machine only what its worker told is known. Which options an engine has is a matter of
 * hotlap, and asked here; one that is not here may have any. */
static hl_status plan_elsewhere(const hl_options *options, const hl_plan_model *models,
                                size_t model_count, const hl_machine *machine,
                                const hl_plan_engines *engines, hl_plan *ret_plan,
                                hl_error *error) {
  const hl_gpu_set *gpus = &machine->gpus;
  const hl_device_inventory there = {.cuda_count = gpus->count, .cuda_reason = gpus->reason};
  return hl_plan_build(options, models, model_count, machine->cores, engines, &there, ret_plan,
                       error);
}

/* What progressive imaging is asked for and cannot be done, told before a row is begun. A picture
 * of the other side, and the size of a network in a file, are known to the worker alone. */
static hl_status check_imaging(const hl_options *options, const hl_configuration *c,
                               hl_error *error) {
  hl_error inner = {0};
  hl_model_spec spec;
  const hl_progressive_spec *p = c->progressive;
  hl_status status =
      p->object && !hl_cli_is_far(options) ? hl_picture_check(p->object, &inner) : HL_OK;
  if (status != HL_OK) return hl_error_set(error, status, "--object: %s", inner.msg);
  if (!c->is_builtin || strncmp(c->model, "prism_generator", strlen("prism_generator")) != 0)
    return HL_OK;
  status = hl_model_spec_parse(c->model, &spec, error);
  if (status != HL_OK) return status;
  int64_t size = hl_model_int(&spec, "size");
  if (p->radius <= (double)size / 2) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--aperture-radius: %g is more than half of the image of %" PRId64
                      " pixels; %" PRId64 " is the most",
                      p->radius, size, size / 2);
}

/* Files of a training run on this machine. That a checkpoint cannot be written would show after an
 * epoch only. */
static hl_status check_training(const hl_train_spec *train, hl_error *error) {
  const char *checkpoint = train->checkpoint, *resume = train->resume_from;
  hl_error inner = {0};
  struct stat st;
  hl_status status = checkpoint ? hl_file_can_replace(checkpoint, &inner) : HL_OK;
  if (status != HL_OK)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--checkpoint: %s", inner.msg);
  const char *slash = checkpoint ? strrchr(checkpoint, '/') : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *folder =
      slash && slash != checkpoint ? strndup(checkpoint, (size_t)(slash - checkpoint)) : NULL;
  if (folder && access(folder, W_OK | X_OK) != 0)
    return hl_error_errno(error, HL_INVALID_ARGUMENT, "--checkpoint: cannot create '%s'",
                          checkpoint);
  if (resume && (access(resume, R_OK) != 0 || stat(resume, &st) != 0))
    return hl_error_errno(error, HL_NOT_FOUND, "--resume-from: cannot open '%s'", resume);
  if (resume && !S_ISREG(st.st_mode))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--resume-from: '%s' is no file of a network",
                        resume);
  return HL_OK;
}

hl_status hl_cli_plan(const hl_options *options, const hl_plan_model *models, size_t model_count,
                      const hl_machine *machine, hl_plan *ret_plan, hl_error *error) {
  hl_knowledge knowledge = {.options = options};
  const hl_plan_engines engines = hl_knowledge_for_plan(&knowledge);
  const hl_gpu_set *gpus = &machine->gpus;
  const hl_device_inventory here = {
      .cuda_count = hl_gpu_visible(gpus, getenv("CUDA_VISIBLE_DEVICES")),
      .devices_of = hl_knowledge_devices,
      .context = &knowledge,
      .cuda_reason = gpus->count ? "CUDA_VISIBLE_DEVICES shows no GPU" : gpus->reason};
  hl_status status =
      hl_cli_is_far(options)
          ? plan_elsewhere(options, models, model_count, machine, &engines, ret_plan, error)
          : hl_plan_build(options, models, model_count, machine->cores, &engines, &here, ret_plan,
                          error);
  hl_knowledge_release(&knowledge);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < ret_plan->count && status == HL_OK; i++) {
    const hl_configuration *c = &ret_plan->items[i];
    if (c->progressive) status = check_imaging(options, c, error);
    if (c->train && !hl_cli_is_far(options) && status == HL_OK)
      status = check_training(c->train, error);
  }
  const hl_method_options *method = &ret_plan->method;
  hl_requirement requirement;
  /* Which metrics a plug-in has is asked later, once: hl_sweep_begin. */
  const hl_requirement_knows knows = method->metric_plugin_count ? hl_requirement_any : NULL;
  for (size_t i = 0; i < method->requirement_count && status == HL_OK; i++)
    status = hl_requirement_parse(method->requirements[i], knows, NULL, &requirement, error);
  if (status != HL_OK) hl_plan_release(ret_plan);
  return status;
}
