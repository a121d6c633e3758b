#include "run/fit.h"

#include <inttypes.h>
#include <math.h>

/* Resident memory beyond the plan: pages of libraries, code that is compiled, the heap. */
static const double beside_plan_bytes = 8e6;

bool hl_fit_applies(const hl_row_context *context, const hl_configuration *configuration) {
  const hl_method_options *m = context->method;
  return configuration->pipeline && m->memory_limit_mb > 0 && m->predict && !m->keeps_batches;
}

static void set_batch(hl_fit *fit, int64_t batch) {
  const hl_pipeline_spec *spec = fit->asked->pipeline;
  fit->configuration = *fit->asked;
  fit->configuration.batch_size = batch;
  fit->spec = *spec;
  if (batch < fit->asked->batch_size && spec->preprocess_batch > batch)
    fit->spec.preprocess_batch = batch;
  if (batch < fit->asked->batch_size && spec->reassemble_batch > batch)
    fit->spec.reassemble_batch = batch;
  /* One input at a time is all there is below. */
  if (batch == 1) fit->spec = (hl_pipeline_spec){.preprocess_batch = 1, .reassemble_batch = 1};
  fit->spec.on_disk = true;
  fit->configuration.pipeline = &fit->spec;
}

void hl_fit_begin(hl_fit *fit, const hl_row_context *context,
                  const hl_configuration *configuration) {
  fit->context = context;
  fit->asked = configuration;
  fit->configuration = *configuration;
  fit->spec = *configuration->pipeline;
  fit->spec.on_disk = true;
  fit->configuration.pipeline = &fit->spec;
}

static double limit_bytes(const hl_fit *fit) {
  return (double)fit->context->method->memory_limit_mb * 1e6;
}

/* *ret_bytes is 0 where the engine has no plan. */
static hl_status planned(const hl_fit *fit, double *ret_bytes, hl_error *error) {
  double bytes = 0;
  hl_row_context context = *fit->context;
  hl_method_options method = *context.method;
  method.memory_limit_mb = 0; /* a plan is made without the memory that it is of */
  context.method = &method;
  hl_status status = hl_row_plan(&context, &fit->configuration, &bytes, error);
  *ret_bytes = bytes > 0 ? bytes + beside_plan_bytes : 0;
  return status;
}

hl_status hl_fit_plan(hl_fit *fit, hl_error *error) {
  double asked = 0, one = 0, limit = limit_bytes(fit);
  int64_t most = fit->asked->batch_size;
  hl_status status = planned(fit, &asked, error);
  if (status != HL_OK || asked <= limit || most == 1) return status;
  set_batch(fit, 1);
  status = planned(fit, &one, error);
  if (status != HL_OK || one >= limit) return status; /* it is tried, and tells what is lacking */
  /* Between the two by a straight line, which a step of the plan may belie. */
  double share = (limit - one) / (asked - one);
  int64_t batch = 1 + (int64_t)floor(share * (double)(most - 1));
  for (; batch > 1; batch = batch * 7 / 8) {
    double bytes = 0;
    set_batch(fit, batch);
    status = planned(fit, &bytes, error);
    if (status != HL_OK || bytes <= limit) return status;
  }
  set_batch(fit, 1);
  return HL_OK;
}

/* Whether one input at a time runs under that limit; *ret_peak_bytes where it does. */
static hl_status probe(const hl_fit *fit, int64_t limit_mb, uint64_t *ret_peak_bytes,
                       hl_error *error) {
  hl_row_context context = *fit->context;
  hl_method_options method = *context.method;
  method.memory_limit_mb = limit_mb;
  context.method = &method;
  return hl_row_probe(&context, &fit->configuration, ret_peak_bytes, error);
}

/* Processes that do the same differ by a megabyte. */
static const int64_t spread_mb = 2;

/* Says a limit at which one input at a time runs: a little above the one at which it was seen to.
 */
static hl_status too_small(const hl_fit *fit, hl_error *error) {
  enum { tries = 40 };
  int64_t asked = fit->context->method->memory_limit_mb;
  uint64_t peak = 0;
  hl_status status = probe(fit, 0, &peak, error);
  if (status != HL_OK) return status;
  int64_t least = (int64_t)(peak / 1000000) + 1;
  if (least <= asked) least = asked + 1;
  for (int i = 0; i < tries; i++, least += 1 + least / 25) {
    hl_error failure = {0};
    status = probe(fit, least, &peak, &failure);
    if (status == HL_OK)
      return hl_error_set(error, HL_OUT_OF_MEMORY,
                          "%" PRId64 " MB are too small for one input at a time; "
                          "--memory-limit %" PRId64 " is enough",
                          asked, least + spread_mb);
    if (status != HL_OUT_OF_MEMORY) return hl_error_set(error, status, "%s", failure.msg);
  }
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      "%" PRId64 " MB are too small for one input at a time, and so are %" PRId64
                      "; without a limit it takes %.0f MB",
                      asked, least, (double)peak / 1e6);
}

hl_status hl_fit_smaller(hl_fit *fit, hl_error *error) {
  int64_t batch = fit->configuration.batch_size;
  bool least = batch == 1 && fit->spec.preprocess_batch == 1 && fit->spec.reassemble_batch == 1;
  if (least) return too_small(fit, error);
  set_batch(fit, batch > 8 ? batch * 7 / 8 : batch > 1 ? batch - 1 : 1);
  return HL_OK;
}

bool hl_fit_is_cut(const hl_fit *fit) {
  const hl_pipeline_spec *spec = fit->asked->pipeline;
  return fit->configuration.batch_size != fit->asked->batch_size ||
         fit->spec.preprocess_batch != spec->preprocess_batch ||
         fit->spec.reassemble_batch != spec->reassemble_batch;
}
