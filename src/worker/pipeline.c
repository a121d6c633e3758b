#include "worker/pipeline.h"

#include "protocol/channel.h"
#include "workloads/pipeline-quality.h"
#include <complex.h>
#include <stdlib.h>
#include <string.h>

/* Of a simulated clock each batch takes its time, and the other stages none. */
static uint64_t simulated_ns(const hl_configuration *c, uint64_t batches, int64_t images) {
  double ns = c->simulated_t0_ns * (double)batches + c->simulated_t1_ns * (double)images;
  return ns < 1 ? 1 : (uint64_t)ns;
}

static hl_status run_simulated(hl_pipeline *pipeline, const hl_configuration *c,
                               const hl_timed_request *request, uint64_t *ret_ns,
                               uint64_t *ret_images, hl_timed_result *result,
                               hl_pipeline_times *times, hl_error *error) {
  int64_t images = hl_pipeline_get_scan(pipeline)->count;
  while (result->samples < request->max_samples && result->elapsed_ns < request->max_ns) {
    uint64_t ns = 0;
    for (uint32_t i = 0; i < request->group; i++) {
      hl_pipeline_times pass = {0};
      hl_status status = hl_pipeline_pass(pipeline, &pass, error);
      if (status != HL_OK) return status;
      ns += simulated_ns(c, pass.batches, images);
    }
    ret_ns[result->samples] = ns;
    ret_images[result->samples++] = (uint64_t)images * request->group;
    result->elapsed_ns += ns;
    times->ns[HL_PIPELINE_PREDICT] += ns;
  }
  return HL_OK;
}

typedef struct timed_pass {
  hl_pipeline *pipeline;
  hl_pipeline_times *times;
} timed_pass;

static hl_status make_pass(void *context, hl_error *error) {
  const timed_pass *what = context;
  return hl_pipeline_pass(what->pipeline, what->times, error);
}

hl_status hl_worker_pipeline_run(hl_pipeline *pipeline, const hl_configuration *configuration,
                                 const hl_timed_request *request, uint64_t *ret_ns,
                                 uint64_t *ret_images, hl_timed_result *ret_result,
                                 hl_pipeline_times *ret_times, hl_error *error) {
  *ret_result = (hl_timed_result){0};
  *ret_times = (hl_pipeline_times){0};
  if (configuration->simulated)
    return run_simulated(pipeline, configuration, request, ret_ns, ret_images, ret_result,
                         ret_times, error);
  timed_pass what = {pipeline, ret_times};
  return hl_timed_passes(make_pass, &what, (uint64_t)hl_pipeline_get_scan(pipeline)->count, request,
                         ret_ns, ret_images, ret_result, error);
}

static json_t *stages(const uint64_t values[HL_PIPELINE_STAGES]) {
  json_t *object = json_object();
  for (int i = 0; object && i < HL_PIPELINE_STAGES; i++)
    hl_json_set_int(object, hl_pipeline_stage_name((hl_pipeline_stage)i), values[i]);
  return object;
}

void hl_worker_pipeline_report(const hl_pipeline_times *times, json_t *reply) {
  json_object_set_new(reply, "stage_ns", stages(times->ns));
}

void hl_worker_pipeline_describe(const hl_pipeline *pipeline, json_t *reply) {
  uint64_t bytes[HL_PIPELINE_STAGES];
  for (int i = 0; i < HL_PIPELINE_STAGES; i++)
    bytes[i] = hl_pipeline_stage_bytes(pipeline, (hl_pipeline_stage)i);
  json_object_set_new(reply, "stage_bytes", stages(bytes));
  hl_json_set_int(reply, "scan_bytes", hl_pipeline_scan_bytes(hl_pipeline_get_scan(pipeline)));
}

/* Members of the reply that are known only against a true object. */
static void report_comparison(const hl_reconstruction_quality *q, json_t *reply) {
  hl_json_set_real(reply, "amplitude_ssim", q->amplitude_ssim);
  hl_json_set_real(reply, "amplitude_psnr_db", q->amplitude_psnr_db);
  hl_json_set_real(reply, "phase_error_rad", q->phase_error_rad);
  hl_json_set_real(reply, "frc_half", q->frc_half);
  hl_json_set_real(reply, "frc_half_bit", q->frc_half_bit);
  json_object_set_new(reply, "factor", json_pack("[f, f]", creal(q->factor), cimag(q->factor)));
  json_object_set_new(reply, "ramp", json_pack("[f, f]", q->ramp_x, q->ramp_y));
  json_object_set_new(reply, "rectangle",
                      json_pack("[I, I, I, I]", (json_int_t)q->top, (json_int_t)q->left,
                                (json_int_t)q->height, (json_int_t)q->width));
}

/* Pixels, weights and, where it is known, the truth. */
static hl_status attach(const hl_pipeline_image *image, const float complex *truth,
                        void **ret_bytes, size_t *ret_byte_count, hl_error *error) {
  size_t pixels = (size_t)(image->side * image->side);
  size_t complex_bytes = pixels * sizeof *image->pixels, weight_bytes = pixels * sizeof(float);
  size_t count = complex_bytes + weight_bytes + (truth ? complex_bytes : 0);
  char *bytes = malloc(count);
  if (!bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  memcpy(bytes, image->pixels, complex_bytes);
  memcpy(bytes + complex_bytes, image->weights, weight_bytes);
  if (truth) memcpy(bytes + complex_bytes + weight_bytes, truth, complex_bytes);
  *ret_bytes = bytes;
  *ret_byte_count = count;
  return HL_OK;
}

hl_status hl_worker_pipeline_image(const hl_pipeline *pipeline, json_t *reply, void **ret_bytes,
                                   size_t *ret_byte_count, hl_error *error) {
  hl_pipeline_image image = hl_pipeline_get_image(pipeline);
  if (!image.pixels)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the engine gives no outputs, so there is no image");
  hl_pipeline_quality quality;
  hl_status status = hl_pipeline_judge(pipeline, &quality, error);
  if (status == HL_OK) status = attach(&image, quality.truth, ret_bytes, ret_byte_count, error);
  if (status == HL_OK) {
    hl_json_set_int(reply, "side", (uint64_t)image.side);
    hl_json_set_real(reply, "x", image.x);
    hl_json_set_real(reply, "y", image.y);
    hl_json_set_bool(reply, "truth", quality.truth != NULL);
    if (quality.is_compared) report_comparison(&quality.against, reply);
    hl_json_set_real(reply, "diffraction_residual", quality.residual);
    hl_json_set_text(reply, "quality_reason", quality.why.length ? quality.why.data : NULL);
  }
  hl_pipeline_quality_release(&quality);
  return status;
}
