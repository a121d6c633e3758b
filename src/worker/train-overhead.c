/* What hotlap itself adds to a step of training: the step with nothing to load and nothing to do.
 */
#include "base/clock.h"
#include "engine/registry.h"
#include "worker/train.h"
#include "workloads/volume-source.h"

enum { most_steps = 2000 };
static const uint64_t most_ns = 2000000;

/* Samples of zeros, which the buffers are anyway. */
static hl_status read_nothing(void *context, int64_t index, hl_tensor_view *values,
                              hl_error *error) {
  (void)context, (void)index, (void)values, (void)error;
  return HL_OK;
}

/* A loss of 0 in place of none. */
static hl_status output_zero(hl_request *request, size_t output, hl_tensor_view *ret_view,
                             hl_error *error) {
  static float zero;
  (void)request, (void)output, (void)error;
  *ret_view = (hl_tensor_view){.name = "loss", .dtype = HL_FLOAT32, .data = &zero, .bytes = 4};
  return HL_OK;
}

static hl_status run_steps(hl_training *t, double *ret_ns, hl_error *error) {
  hl_train_step sample;
  uint64_t start = hl_clock_ns(), elapsed = 0;
  int steps = 0;
  for (; steps < most_steps && elapsed < most_ns; steps++) {
    hl_status status = hl_training_step(t, &sample, error);
    if (status != HL_OK) return status;
    elapsed = hl_clock_ns() - start;
  }
  *ret_ns = (double)elapsed / steps;
  return HL_OK;
}

static hl_status open_null(hl_training *t, hl_error *error) {
  const hl_engine_config config = {.size = sizeof config, .threads = 1, .device = "cpu"};
  const hl_program_spec spec = {.size = sizeof spec, .mode = HL_MODE_TRAINING};
  hl_status status = hl_engine_open("null", NULL, &t->ops, NULL, error);
  if (status == HL_OK) status = t->ops.open(NULL, &config, &t->engine, error);
  if (status == HL_OK) status = hl_training_load(t, error);
  if (status == HL_OK) status = t->ops.prepare(t->model, &spec, &t->program, error);
  if (status == HL_OK) status = t->ops.request(t->program, &t->request, error);
  t->ops.output = output_zero;
  return status;
}

static void close_null(hl_training *t) {
  if (t->request) t->ops.request_free(t->request);
  if (t->program) t->ops.program_free(t->program);
  if (t->model) t->ops.model_free(t->model);
  if (t->engine) t->ops.close(t->engine);
  hl_loader_free(t->data.loader);
}

hl_status hl_worker_train_overhead(const hl_training *training, double *ret_ns, hl_error *error) {
  const hl_training_data *data = &training->data;
  hl_train_spec spec = *training->spec;
  spec.checkpoint = NULL;
  spec.checkpoint_steps = 0;
  hl_training null = {.configuration = training->configuration,
                      .file = training->file,
                      .spec = &spec,
                      .peers = {.count = 1},
                      .loss = training->loss,
                      .data = *data,
                      .values = training->values,
                      .learning = training->learning};
  null.data.rest = 0;
  null.data.batches = null.learning.total_steps = INT64_MAX; /* no epoch ends */
  const hl_source nothing = {.count = data->source->count,
                             .port_count = data->source->port_count,
                             .ports = data->is_volumes ? hl_volume_source_ports(data->source)
                                                       : data->source->ports,
                             .read = read_nothing};
  const hl_loader_spec loader = {.source = &nothing,
                                 .batch_size = training->configuration->batch_size,
                                 .is_shuffled = true,
                                 .is_whole = true};
  hl_status status = hl_loader_new(&loader, &null.data.loader, error);
  if (status == HL_OK) status = open_null(&null, error);
  if (status == HL_OK) status = run_steps(&null, ret_ns, error); /* warm */
  if (status == HL_OK) status = run_steps(&null, ret_ns, error);
  close_null(&null);
  return status;
}
