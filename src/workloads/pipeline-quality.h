/*
 * workloads/pipeline-quality.h - how good the image of a pipeline is
 * (imaging/reconstruction-quality.h).
 */
#ifndef HL_WORKLOADS_PIPELINE_QUALITY_H
#define HL_WORKLOADS_PIPELINE_QUALITY_H

#include "base/text.h"
#include "imaging/reconstruction-quality.h"
#include "workloads/pipeline.h"

typedef struct hl_pipeline_quality {
  bool is_compared; /* with the true object: `against` is known */
  hl_reconstruction_quality against;
  float complex *truth; /* the object on the image's grid, NaN outside of it; owned, or NULL */
  double residual;      /* of the diffraction; NaN: unknown */
  int64_t patterns;     /* that the residual is of */
  hl_text why;          /* what is not known, and why; "" where all is */
} hl_pipeline_quality;

/* Judges the image of the last pass, which there is. OUT_OF_MEMORY; what cannot be known is told in
 * `why`. Release it also on failure. */
hl_status hl_pipeline_judge(const hl_pipeline *pipeline, hl_pipeline_quality *ret_quality,
                            hl_error *error);
void hl_pipeline_quality_release(hl_pipeline_quality *quality);

#endif
