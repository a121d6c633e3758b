#include "workloads/pipeline-quality.h"

#include <math.h>
#include <stdlib.h>

void hl_pipeline_quality_release(hl_pipeline_quality *quality) {
  if (quality->is_compared) hl_reconstruction_quality_release(&quality->against);
  free(quality->truth);
  hl_text_release(&quality->why);
  *quality = (hl_pipeline_quality){0};
}

static void tell(hl_pipeline_quality *q, const char *what, const char *why) {
  hl_text_format(&q->why, "%s%s: %s", q->why.length ? "; " : "", what, why);
}

static hl_status compare(const hl_scan *scan, const hl_canvas *canvas, hl_pipeline_quality *q,
                         hl_error *error) {
  if (!scan->object) {
    tell(q, "no comparison with the true object",
         scan->object_problem ? scan->object_problem : "the scan has none (objectGuess)");
    return HL_OK;
  }
  q->truth = malloc((size_t)(canvas->height * canvas->width) * sizeof *q->truth);
  if (!q->truth) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to judge the image");
  hl_truth_on_canvas(canvas, scan->object, scan->object_height, scan->object_width, q->truth);
  hl_error failure = {0};
  hl_status status = hl_reconstruction_compare(canvas, scan->object, scan->object_height,
                                               scan->object_width, &q->against, &failure);
  q->is_compared = status == HL_OK;
  if (status == HL_BAD_DATA) tell(q, "no comparison with the true object", failure.msg);
  return status == HL_OK || status == HL_BAD_DATA ? HL_OK
                                                  : hl_error_set(error, status, "%s", failure.msg);
}

static hl_status find_residual(const hl_pipeline_scan *whole, const hl_canvas *canvas, int threads,
                               hl_pipeline_quality *q, hl_error *error) {
  const hl_scan *scan = whole->scan;
  if (!scan->probe) {
    tell(q, "no residual of the diffraction",
         scan->probe_problem ? scan->probe_problem : "the scan has no probe (probeGuess)");
    return HL_OK;
  }
  const float *amplitude;
  hl_status status = hl_pipeline_scan_map(whole, &amplitude, error);
  if (status != HL_OK) return status;
  const hl_diffraction measured = {.amplitude = amplitude,
                                   .probe = scan->probe,
                                   .count = scan->count,
                                   .size = scan->size,
                                   .x = scan->x,
                                   .y = scan->y};
  hl_error failure = {0};
  double residual;
  status = hl_diffraction_residual(canvas, &measured, threads, &residual, &q->patterns, &failure);
  hl_pipeline_scan_unmap(whole, amplitude);
  if (status == HL_OK) q->residual = residual;
  if (status == HL_BAD_DATA) tell(q, "no residual of the diffraction", failure.msg);
  return status == HL_OK || status == HL_BAD_DATA ? HL_OK
                                                  : hl_error_set(error, status, "%s", failure.msg);
}

hl_status hl_pipeline_judge(const hl_pipeline *pipeline, hl_pipeline_quality *ret_quality,
                            hl_error *error) {
  hl_pipeline_image image = hl_pipeline_get_image(pipeline);
  const hl_scan *scan = hl_pipeline_get_scan(pipeline)->scan;
  const hl_canvas canvas = {.height = image.side,
                            .width = image.side,
                            .pixels = image.pixels,
                            .weights = image.weights,
                            .x = image.x,
                            .y = image.y};
  *ret_quality = (hl_pipeline_quality){.residual = (double)NAN, .why = HL_TEXT_INIT};
  hl_status status = compare(scan, &canvas, ret_quality, error);
  return status == HL_OK ? find_residual(hl_pipeline_get_scan(pipeline), &canvas,
                                         hl_pipeline_threads(pipeline), ret_quality, error)
                         : status;
}
