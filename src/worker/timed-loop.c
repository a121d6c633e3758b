#include "worker/timed-loop.h"

#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

/* A simulated duration: t0 + t1 * images, with a spread of 0.2 % that repeats. */
static uint64_t simulated_ns(const hl_configuration *c, int64_t images, uint64_t index) {
  double base = c->simulated_t0_ns + c->simulated_t1_ns * (double)images;
  double wobble = ((double)(index * 7919 % 11) - 5) / 5 * 0.002;
  double ns = base * (1 + wobble);
  return ns < 1 ? 1 : (uint64_t)ns;
}

static hl_status run_simulated(hl_inference *inference, const hl_timed_request *request,
                               uint64_t *ret_ns, uint64_t *ret_images, hl_timed_result *result,
                               hl_error *error) {
  while (result->samples < request->max_samples && result->elapsed_ns < request->max_ns) {
    int64_t images = 0;
    uint64_t ns = 0;
    for (uint32_t i = 0; i < request->group; i++) {
      int64_t step_images = 0;
      hl_status status = hl_inference_step(inference, &step_images, error);
      if (status != HL_OK) return status;
      ns += simulated_ns(inference->configuration, step_images, result->samples);
      images += step_images;
    }
    ret_ns[result->samples] = ns;
    ret_images[result->samples++] = (uint64_t)images;
    result->elapsed_ns += ns;
  }
  return HL_OK;
}

hl_status hl_timed_run(hl_inference *inference, const hl_timed_request *request, uint64_t *ret_ns,
                       uint64_t *ret_images, hl_timed_result *ret_result, hl_error *error) {
  *ret_result = (hl_timed_result){0};
  if (inference->configuration->simulated)
    return run_simulated(inference, request, ret_ns, ret_images, ret_result, error);
  uint64_t samples = 0, start = hl_clock_ns(), last = start;
  hl_status status = HL_OK;
  while (samples < request->max_samples && last - start < request->max_ns) {
    uint64_t images = 0;
    for (uint32_t i = 0; i < request->group; i++) {
      int64_t step_images = 0;
      status = hl_inference_step(inference, &step_images, error);
      if (status != HL_OK) goto end;
      images += (uint64_t)step_images;
    }
    uint64_t now = hl_clock_ns();
    ret_ns[samples] = now - last;
    ret_images[samples++] = images;
    last = now;
  }
end:
  ret_result->samples = samples;
  ret_result->elapsed_ns = last - start;
  return status;
}

hl_status hl_timed_passes(hl_timed_pass pass, void *context, uint64_t images,
                          const hl_timed_request *request, uint64_t *ret_ns, uint64_t *ret_images,
                          hl_timed_result *ret_result, hl_error *error) {
  uint64_t samples = 0, start = hl_clock_ns(), last = start;
  hl_status status = HL_OK;
  while (samples < request->max_samples && last - start < request->max_ns) {
    for (uint32_t i = 0; i < request->group && status == HL_OK; i++) status = pass(context, error);
    if (status != HL_OK) break;
    uint64_t now = hl_clock_ns();
    ret_ns[samples] = now - last;
    ret_images[samples++] = images * request->group;
    last = now;
  }
  *ret_result = (hl_timed_result){.samples = samples, .elapsed_ns = last - start};
  return status;
}

hl_status hl_timed_discard(hl_inference *inference, uint64_t steps, uint64_t *ret_ns,
                           hl_error *error) {
  int64_t offset = inference->offset, images = 0;
  bool full_only = inference->full_only;
  uint64_t start = hl_clock_ns();
  hl_status status = HL_OK;
  inference->full_only = true;
  for (uint64_t i = 0; i < steps && status == HL_OK; i++)
    status = hl_inference_step(inference, &images, error);
  inference->full_only = full_only;
  inference->offset = offset;
  *ret_ns = steps && !inference->configuration->simulated ? hl_clock_ns() - start : 0;
  return status;
}

enum { overhead_samples = 2000 };

static hl_status measure_null(hl_inference *null, double *ret_ns, hl_error *error) {
  static uint64_t ns[overhead_samples], images[overhead_samples];
  const hl_timed_request request = {.max_samples = overhead_samples, .max_ns = 2000000, .group = 1};
  hl_timed_result result;
  hl_status status = hl_timed_run(null, &request, ns, images, &result, error); /* warm */
  if (status == HL_OK) status = hl_timed_run(null, &request, ns, images, &result, error);
  if (status == HL_OK && result.samples)
    *ret_ns = (double)result.elapsed_ns / (double)result.samples;
  return status;
}

hl_status hl_timed_overhead(const hl_inference *inference, double *ret_ns, hl_error *error) {
  hl_configuration configuration = *inference->configuration;
  configuration.simulated = false;
  const hl_engine_config config = {.size = sizeof config, .threads = 1, .device = "cpu"};
  hl_inference null = *inference;
  null.configuration = &configuration;
  null.engine = NULL;
  null.model = NULL;
  null.full = (hl_inference_program){.images = inference->full.images};
  null.partial = (hl_inference_program){.images = inference->partial.images};
  hl_status status = hl_engine_open("null", NULL, &null.ops, NULL, error);
  if (status == HL_OK) status = null.ops.open(NULL, &config, &null.engine, error);
  if (status == HL_OK) status = hl_inference_load(&null, error);
  if (status == HL_OK) status = hl_inference_prepare(&null, error);
  if (status == HL_OK) status = measure_null(&null, ret_ns, error);
  hl_inference_close(&null); /* the data belongs to `inference` */
  return status;
}

hl_status hl_timed_attach(const uint64_t *sample_ns, const uint64_t *sample_images, uint64_t count,
                          void **ret_bytes, size_t *ret_byte_count, hl_error *error) {
  size_t half = (size_t)count * sizeof(uint64_t);
  if (count == 0) return HL_OK;
  char *bytes = malloc(2 * half);
  if (!bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  memcpy(bytes, sample_ns, half);
  memcpy(bytes + half, sample_images, half);
  *ret_bytes = bytes;
  *ret_byte_count = 2 * half;
  return HL_OK;
}
