#include "run/import-model.h"

#include "run/process.h"
#include "run/reference.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct importing {
  const hl_run_environment *environment;
  double setup_s;
  hl_import_result *result;
  json_t *limits; /* of the inputs, as the framework has them */
} importing;

static void take_notes(const json_t *reply, hl_import_result *r) {
  const json_t *notes = json_object_get(reply, "notes");
  for (size_t i = 0; i < json_array_size(notes); i++) {
    size_t used = strlen(r->notes);
    const char *text = json_string_value(json_array_get(notes, i));
    if (text) snprintf(r->notes + used, sizeof r->notes - used, "%s%s", used ? "\n" : "", text);
  }
}

/* Load, prepare, and the outputs of the first input. */
static hl_status run_once(const importing *im, hl_process *process, hl_reference *ret_outputs,
                          hl_error *error) {
  static const char *const verbs[] = {"load", "prepare", "output"};
  hl_message reply = {0};
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(verbs) && status == HL_OK; i++) {
    hl_message_release(&reply);
    status = hl_process_call(process, verbs[i], NULL, im->setup_s, &reply, error);
  }
  if (status == HL_OK) status = hl_reference_take(&reply, ret_outputs, error);
  hl_message_release(&reply);
  return status;
}

/* In the framework: writes the file and runs the model. */
static hl_status write_file(importing *im, const hl_configuration *c, const char *path,
                            hl_reference *ret_outputs, hl_error *error) {
  hl_import_result *r = im->result;
  hl_process process;
  hl_message reply = {0};
  hl_status status = hl_process_start_guarded(im->environment, c, &process, error);
  if (status != HL_OK) return status;
  process.setup_s = im->setup_s;
  status = hl_process_configure(&process, c, im->environment->cache_directory, im->setup_s, &reply,
                                error);
  if (status == HL_OK) {
    im->limits = json_incref(json_object_get(reply.object, "index_limits"));
    take_notes(reply.object, r);
    r->parameters = hl_json_get_int(reply.object, "parameters", -1);
    snprintf(r->engine_version, sizeof r->engine_version, "%s",
             hl_json_get_text(reply.object, "engine_version", ""));
  }
  hl_message_release(&reply);
  if (status == HL_OK)
    status = hl_process_call(&process, "export", json_pack("{s:s}", "path", path), im->setup_s,
                             &reply, error);
  if (status == HL_OK) take_notes(reply.object, r);
  hl_message_release(&reply);
  if (status == HL_OK) status = run_once(im, &process, ret_outputs, error);
  return hl_process_end(&process, status, error);
}

/* Inputs are drawn by name, shape and seed; those that are places in a table also by its length,
 * which the file may not tell. */
static hl_status check_inputs(const importing *im, const json_t *reply, hl_error *error) {
  if (json_equal(im->limits, json_object_get(reply, "index_limits"))) return HL_OK;
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "an input has places in a table, whose length the file tells otherwise than "
                      "the framework, so that the two would get other numbers");
}

static hl_status run_file(importing *im, const hl_configuration *foreign, const char *path,
                          hl_reference *ret_outputs, hl_error *error) {
  hl_configuration c = hl_configuration_without_engine(foreign, foreign->batch_size);
  c.engine = "native";
  c.model = path;
  c.is_foreign = false;
  c.weights = NULL;
  hl_process process;
  hl_message reply = {0};
  hl_status status = hl_process_start_guarded(im->environment, &c, &process, error);
  if (status != HL_OK) return status;
  status = hl_process_configure(&process, &c, im->environment->cache_directory, im->setup_s, &reply,
                                error);
  if (status == HL_OK) status = check_inputs(im, reply.object, error);
  hl_message_release(&reply);
  if (status == HL_OK) status = run_once(im, &process, ret_outputs, error);
  return hl_process_end(&process, status, error);
}

static void compare(importing *im, const hl_configuration *c, const char *path,
                    const hl_reference *theirs) {
  hl_import_result *r = im->result;
  hl_error failure = {0};
  hl_reference ours = {0};
  hl_agreement agreement;
  hl_status status = run_file(im, c, path, &ours, &failure);
  if (status == HL_OK)
    status =
        hl_reference_compare(theirs, ours.values, ours.counts, ours.count, &agreement, &failure);
  if (status == HL_OK)
    r->error = agreement.error;
  else
    snprintf(r->unchecked, sizeof r->unchecked, "%s", failure.msg);
  hl_reference_release(&ours);
}

hl_status hl_import_model(const hl_run_environment *environment,
                          const hl_configuration *configuration, const char *path, double setup_s,
                          hl_import_result *ret_result, hl_error *error) {
  hl_import_result result = {.parameters = -1, .error = (double)NAN};
  importing im = {.environment = environment, .setup_s = setup_s, .result = &result};
  hl_reference theirs = {0};
  hl_status status = write_file(&im, configuration, path, &theirs, error);
  if (status == HL_OK) {
    compare(&im, configuration, path, &theirs);
    *ret_result = result;
  }
  json_decref(im.limits);
  hl_reference_release(&theirs);
  return status;
}
