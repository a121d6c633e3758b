#include "workloads/training-rest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Writes the first number of a state into the full program and reads it from the other. */
static hl_status is_shared(hl_training *t, const hl_tensor_view *state, bool *ret_shared,
                           hl_error *error) {
  hl_tensor_view there = {0};
  hl_status status = t->ops.state_write(t->program, state, error);
  if (status == HL_OK) status = t->ops.state_read(t->rest_program, state->name, &there, error);
  if (status == HL_OK) *ret_shared = memcmp(there.data, state->data, sizeof(float)) == 0;
  return status;
}

/* An engine that does not know `states_of` would train the rest on weights of its own. */
static hl_status check_shared(hl_training *t, hl_error *error) {
  const hl_port *ports = NULL;
  size_t count = 0;
  hl_tensor_view view = {0};
  bool shared = false;
  hl_status status = t->ops.states(t->program, &ports, &count, error);
  if (status != HL_OK || count == 0) return status;
  status = t->ops.state_read(t->program, ports[0].name, &view, error);
  if (status != HL_OK || view.bytes < sizeof(float)) return status;
  HL_CLEANUP(hl_free_pointer) float *copy = malloc(view.bytes);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a state");
  memcpy(copy, view.data, view.bytes);
  view.data = copy;
  float before = copy[0];
  copy[0] = before == 1 ? 2 : 1;
  status = is_shared(t, &view, &shared, error);
  copy[0] = before;
  hl_status restored = t->ops.state_write(t->program, &view, status == HL_OK ? error : NULL);
  if (status == HL_OK) status = restored;
  if (status != HL_OK || shared) return status;
  return hl_error_set(error, HL_UNIMPLEMENTED, "engine %s trains with one batch size only",
                      t->ops.name);
}

hl_status hl_training_prepare_rest(hl_training *training, hl_error *error) {
  hl_training *t = training;
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  hl_program_spec spec = hl_training_specify(t, t->data.rest, ports, &how);
  how.states_of = t->program;
  hl_status status = t->ops.prepare(t->model, &spec, &t->rest_program, error);
  if (status == HL_OK) status = t->ops.request(t->rest_program, &t->rest_request, error);
  if (status == HL_OK) status = check_shared(t, error);
  if (status == HL_OK) return HL_OK;
  if (error)
    hl_error_prefix(
        error, "the last batch of an epoch has %" PRId64 " samples (--drop-last leaves it out)",
        t->data.rest);
  return status;
}
