/*
 * workloads/pipeline.h - a step is a pass over a whole ptychography scan: preprocess, predict,
 * reassemble.
 *
 *     hl_pipeline *pipeline;
 *     hl_pipeline_open(&configuration, &file, host, NULL, &inference, &pipeline, error);
 *     hl_inference_load(&inference, error);
 *     hl_inference_prepare(&inference, error);
 *     hl_pipeline_prepare(pipeline, error);
 *     hl_pipeline_times times = {0};
 *     hl_pipeline_pass(pipeline, &times, error);
 *     hl_pipeline_free(pipeline);                        (before the inference is released)
 *
 * Preprocess normalises and groups the patterns (data/neighbours.h), so many inputs at a time;
 * predict is the network, and for inputs of several patterns their merge into one patch
 * (imaging/merge.h); reassemble puts patches into the image (imaging/reassemble.h). What a stage
 * has made waits for a whole batch of the next one, so that memory is that of the stages' batches,
 * whatever the scan's length, besides the scan and the image. The image is the same to the bit
 * whatever the batches of preprocess and reassemble.
 *
 * Not thread-safe; a pass allocates nothing but the k-d tree of groups and, of patterns on disk,
 * one.
 */
#ifndef HL_WORKLOADS_PIPELINE_H
#define HL_WORKLOADS_PIPELINE_H

#include "workloads/inference.h"
#include "workloads/pipeline-scan.h"
#include <complex.h>

typedef struct hl_pipeline_times {
  uint64_t ns[HL_PIPELINE_STAGES]; /* sums; what a pass does besides takes nanoseconds */
  uint64_t batches;                /* of predict */
} hl_pipeline_times;

typedef struct hl_pipeline hl_pipeline;

/* Opens the scan, and in `ret_inference` the engine on its first batch; both outlive the pipeline.
 * `directory` (NULL: none) is for patterns that shall be on disk; where they cannot be, they stay
 * in memory. UNIMPLEMENTED for a network that is not of diffraction patterns to amplitude and
 * phase, BAD_DATA with file, place and remedy, LIMIT, OUT_OF_MEMORY and what opening an engine
 * gives. */
hl_status hl_pipeline_open(const hl_configuration *configuration, const hl_model_file *file,
                           const hl_host *host, const char *directory, hl_inference *ret_inference,
                           hl_pipeline **ret_pipeline, hl_error *error);
void hl_pipeline_free(hl_pipeline *pipeline); /* NULL is fine */

/* Room for the stages; after hl_inference_prepare. */
hl_status hl_pipeline_prepare(hl_pipeline *pipeline, hl_error *error);

/* One pass; adds to `times`. */
hl_status hl_pipeline_pass(hl_pipeline *pipeline, hl_pipeline_times *times, hl_error *error);

const hl_pipeline_scan *hl_pipeline_get_scan(const hl_pipeline *pipeline);

int hl_pipeline_threads(const hl_pipeline *pipeline);

/* The image of the last pass: (side, side), pixel [row, column] at (x + column, y + row) in the
 * positions' pixels. NULL where the engine gives no outputs, or before the first pass. */
typedef struct hl_pipeline_image {
  int64_t side;
  double x, y;
  const float complex *pixels; /* borrowed, until the next pass */
  const float *weights;        /* how often each pixel was covered */
} hl_pipeline_image;
hl_pipeline_image hl_pipeline_get_image(const hl_pipeline *pipeline);

/* Bytes that the stages will take once the model is loaded, predict's not among them. */
uint64_t hl_pipeline_planned_bytes(const hl_pipeline *pipeline);

/* Bytes that a stage holds by itself: of predict the engine knows, and it is 0. */
uint64_t hl_pipeline_stage_bytes(const hl_pipeline *pipeline, hl_pipeline_stage stage);

#endif
