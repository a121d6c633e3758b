#include "worker/progressive.h"

#include "protocol/channel.h"
#include <stdlib.h>
#include <string.h>

enum { most_checks = 12 }; /* samples that are compared */

/* Of a simulated clock a pass takes t0 and t1 for each sample, all of it in forward. */
static hl_status run_simulated(hl_progressive *progressive, const hl_configuration *c,
                               const hl_timed_request *request, int64_t images, uint64_t *ret_ns,
                               uint64_t *ret_images, hl_timed_result *result,
                               hl_progressive_times *times, hl_error *error) {
  double pass = c->simulated_t0_ns + c->simulated_t1_ns * (double)images;
  uint64_t pass_ns = pass < 1 ? 1 : (uint64_t)pass;
  while (result->samples < request->max_samples && result->elapsed_ns < request->max_ns) {
    for (uint32_t i = 0; i < request->group; i++) {
      hl_progressive_times real = {0};
      hl_status status = hl_progressive_pass(progressive, images, &real, error);
      if (status != HL_OK) return status;
    }
    uint64_t ns = pass_ns * request->group;
    ret_ns[result->samples] = ns;
    ret_images[result->samples++] = (uint64_t)images * request->group;
    result->elapsed_ns += ns;
    times->ns[HL_PROGRESSIVE_FORWARD] += ns;
  }
  return HL_OK;
}

typedef struct timed_pass {
  hl_progressive *progressive;
  int64_t samples;
  hl_progressive_times *times;
} timed_pass;

static hl_status make_pass(void *context, hl_error *error) {
  const timed_pass *what = context;
  return hl_progressive_pass(what->progressive, what->samples, what->times, error);
}

hl_status hl_worker_progressive_run(hl_progressive *progressive,
                                    const hl_configuration *configuration,
                                    const hl_timed_request *request, bool part, uint64_t *ret_ns,
                                    uint64_t *ret_images, hl_timed_result *ret_result,
                                    hl_progressive_times *ret_times, hl_error *error) {
  *ret_result = (hl_timed_result){0};
  *ret_times = (hl_progressive_times){0};
  int64_t samples = part ? 1 : hl_progressive_samples(progressive);
  if (configuration->simulated)
    return run_simulated(progressive, configuration, request, samples, ret_ns, ret_images,
                         ret_result, ret_times, error);
  timed_pass what = {progressive, samples, ret_times};
  return hl_timed_passes(make_pass, &what, (uint64_t)samples, request, ret_ns, ret_images,
                         ret_result, error);
}

static void report_caches(const hl_progressive_result *r, json_t *to) {
  const hl_measurement_counts *a = &r->before.measurements, *b = &r->after.measurements;
  hl_json_set_int(to, "cache_hits", b->hits - a->hits);
  hl_json_set_int(to, "cache_misses", b->misses - a->misses);
  hl_json_set_int(to, "cache_evictions", b->evictions - a->evictions);
  hl_json_set_int(to, "cache_bytes", b->bytes);
  hl_json_set_int(to, "plan_cache_hits", r->after.plan_hits - r->before.plan_hits);
  hl_json_set_int(to, "plan_cache_misses", r->after.plan_misses);
  hl_json_set_int(to, "plan_cache_bytes", r->after.plan_bytes);
}

void hl_worker_progressive_report(const hl_progressive *progressive,
                                  const hl_progressive_times *times, json_t *reply) {
  const hl_progressive_result *r = hl_progressive_get_result(progressive);
  json_t *stages = json_object(), *result = json_object();
  if (stages && result) {
    for (int i = 0; i < HL_PROGRESSIVE_STAGES; i++) {
      bool of_engine = i == HL_PROGRESSIVE_FORWARD || i == HL_PROGRESSIVE_BACKWARD ||
                       i == HL_PROGRESSIVE_OPTIMIZER;
      if (!(of_engine && times->no_phases))
        hl_json_set_int(stages, hl_progressive_stage_name((hl_progressive_stage)i), times->ns[i]);
    }
    hl_json_set_real(result, "psnr_db", r->quality.psnr);
    hl_json_set_real(result, "mse", r->quality.mse);
    hl_json_set_real(result, "ssim", r->quality.ssim);
    hl_json_set_real(result, "correlation", r->quality.correlation);
    hl_json_set_real(result, "first_loss", r->first_loss);
    hl_json_set_real(result, "old_loss", r->losses.old_loss);
    hl_json_set_real(result, "new_loss", r->losses.new_loss);
    hl_json_set_int(result, "updates", (uint64_t)r->updates);
    report_caches(r, result);
  }
  json_object_set_new(reply, "stage_ns", stages);
  json_object_set_new(reply, "progressive", result);
}

void hl_worker_progressive_describe(const hl_progressive *progressive, json_t *reply) {
  hl_json_set_text(reply, "data", hl_progressive_describe(progressive));
  hl_json_set_int(reply, "n_images", (uint64_t)hl_progressive_samples(progressive));
  hl_json_set_int(reply, "image_size", (uint64_t)hl_progressive_image_size(progressive));
  hl_json_set_int(reply, "object_size", (uint64_t)hl_progressive_object_size(progressive));
  hl_json_set_text(reply, "object_notes", hl_progressive_notes(progressive));
}

hl_status hl_worker_progressive_image(hl_progressive *progressive, const json_t *request,
                                      json_t *reply, void **ret_bytes, size_t *ret_byte_count,
                                      hl_error *error) {
  hl_progressive_pictures pictures = hl_progressive_get_pictures(progressive);
  const float *const each[] = {pictures.truth, pictures.measured, pictures.reconstruction};
  size_t side = (size_t)hl_progressive_image_size(progressive), pixels = side * side;
  size_t bytes = pixels * sizeof(float);
  char *all = malloc(3 * bytes + pixels);
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pictures");
  for (size_t i = 0; i < HL_COUNT(each); i++) memcpy(all + i * bytes, each[i], bytes);
  memcpy(all + 3 * bytes, pictures.mask, pixels);
  double difference = 0, slope = 0;
  bool checks = hl_json_get_bool(request, "check", true);
  hl_status status =
      checks ? hl_progressive_check(progressive, most_checks, &difference, &slope, error) : HL_OK;
  if (status != HL_OK) {
    free(all);
    return status;
  }
  hl_json_set_int(reply, "side", side);
  if (checks) hl_json_set_real(reply, "measurement_error", difference);
  if (checks) hl_json_set_real(reply, "gradient_error", slope);
  *ret_bytes = all;
  *ret_byte_count = 3 * bytes + pixels;
  return HL_OK;
}
