/*
 * workloads/progressive.h - a step is a pass of PRISM's progressive imaging: an object seen through
 * one small aperture after another, and a generator that is trained until it shows it.
 *
 *     hl_inference_open(&configuration, &file, host, &inference, error);
 *     hl_progressive_open(&configuration, &file, &inference, &progressive, error);
 *     hl_inference_load(&inference, error);
 *     hl_progressive_prepare(progressive, error);
 *     hl_progressive_times times = {0};
 *     hl_progressive_pass(progressive, hl_progressive_samples(progressive), &times, error);
 *     hl_progressive_free(progressive);                  (before the inference is released)
 *
 * A pass begins with the weights of the model file, an empty cumulative mask and an empty cache of
 * measurements. Each sample measures (imaging/telescope.h) the generator's present picture through
 * the cumulative mask and the truth through its aperture; trains with a fresh Adam of rate 1e-3 (or
 * SGD) on the sum of both losses, `epochs` updates or until both are below 1e-3; opens the
 * cumulative mask there; and judges the picture that the generator shows then (imaging/quality.h).
 * The generator's input is zeros, which leaves its learnable vector; its norms are those of
 * training.
 *
 * Not thread-safe; a pass allocates nothing itself.
 */
#ifndef HL_WORKLOADS_PROGRESSIVE_H
#define HL_WORKLOADS_PROGRESSIVE_H

#include "imaging/quality.h"
#include "imaging/telescope.h"
#include "workloads/inference.h"

typedef enum hl_progressive_stage {
  HL_PROGRESSIVE_MEASURE,
  HL_PROGRESSIVE_FORWARD,
  HL_PROGRESSIVE_LOSS,
  HL_PROGRESSIVE_BACKWARD,
  HL_PROGRESSIVE_OPTIMIZER,
  HL_PROGRESSIVE_METRICS,
  HL_PROGRESSIVE_STAGES
} hl_progressive_stage;

const char *hl_progressive_stage_name(hl_progressive_stage stage); /* "measure", "forward", ... */

typedef struct hl_progressive_times {
  uint64_t ns[HL_PROGRESSIVE_STAGES]; /* sums; what a pass does besides is in none */
  bool no_phases;                     /* the engine does not tell forward, backward, optimizer */
} hl_progressive_times;

/* Of the last pass. */
typedef struct hl_progressive_result {
  hl_picture_quality quality; /* of the last picture against the truth */
  hl_telescope_losses losses; /* of the last update, before it */
  double first_loss;          /* sum of both, of the first update */
  int64_t updates;
  hl_telescope_counts before, after; /* the pass: caches */
} hl_progressive_result;

typedef struct hl_progressive hl_progressive;

/* Reads or makes the object. The inference is open and outlives it. UNIMPLEMENTED for a network
 * that does not give one square picture, and an engine that cannot train; INVALID_ARGUMENT for what
 * does not fit into the image; what reading a picture gives. */
hl_status hl_progressive_open(const hl_configuration *configuration, const hl_model_file *file,
                              hl_inference *inference, hl_progressive **ret_progressive,
                              hl_error *error);
void hl_progressive_free(hl_progressive *progressive); /* NULL is fine */

/* Compiles; after hl_inference_load. */
hl_status hl_progressive_prepare(hl_progressive *progressive, hl_error *error);

/* One pass, or its first `samples`; adds to `times`. BAD_DATA where the loss is not finite. */
hl_status hl_progressive_pass(hl_progressive *progressive, int64_t samples,
                              hl_progressive_times *times, hl_error *error);

/* What the generator's program needs by the engine's plan. */
hl_status hl_progressive_plan(hl_progressive *progressive, hl_program_plan *ret_plan,
                              bool *ret_known, hl_error *error);

const char *hl_progressive_describe(const hl_progressive *progressive); /* the object, in words */
const char *hl_progressive_notes(const hl_progressive *progressive);    /* NULL: none */
int64_t hl_progressive_samples(const hl_progressive *progressive);      /* of a pass */
int64_t hl_progressive_image_size(const hl_progressive *progressive);
int64_t hl_progressive_object_size(const hl_progressive *progressive);
const hl_progressive_result *hl_progressive_get_result(const hl_progressive *progressive);

/* Pictures of the last pass, (image, image) each. */
typedef struct hl_progressive_pictures {
  const float *truth, *measured, *reconstruction; /* measured: of the truth, the last one */
  const uint8_t *mask;                            /* the cumulative one */
} hl_progressive_pictures;
hl_progressive_pictures hl_progressive_get_pictures(const hl_progressive *progressive);

/* Measures as the last pass did and by the baseline's transforms, up to `most` samples of the first
 * round, evenly chosen, and those again where they may come from the cache: the largest difference
 * of a measurement, over the largest value of the baseline's, and of a gradient of the losses the
 * root of the squares' sum, over that of the baseline's. Another pass in part:
 * the pictures are those of its end. */
hl_status hl_progressive_check(hl_progressive *progressive, int64_t most, double *ret_measurement,
                               double *ret_gradient, hl_error *error);

#endif
