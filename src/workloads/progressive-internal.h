/* workloads/progressive-internal.h - what the files of workloads/progressive.h share. */
#ifndef HL_WORKLOADS_PROGRESSIVE_INTERNAL_H
#define HL_WORKLOADS_PROGRESSIVE_INTERNAL_H

#include "base/text.h"
#include "workloads/progressive.h"

#define HL__PROGRESSIVE_DONE 1e-3 /* losses below this end a sample */

/* What the engine's call for a loss is to do. */
typedef enum hl__progressive_call {
  HL__PROGRESSIVE_LOOK,  /* take the picture, train nothing */
  HL__PROGRESSIVE_FIRST, /* measure and train on the same picture */
  HL__PROGRESSIVE_TRAIN
} hl__progressive_call;

struct hl_progressive {
  const hl_configuration *configuration;
  const hl_progressive_spec *spec;
  const hl_model_file *file;
  hl_inference *inference; /* engine and model */
  hl_program *program;
  hl_request *request;
  int64_t image, object;
  size_t pixels;
  hl_text description, notes;
  hl_telescope *telescope;
  hl_aperture *apertures;
  float *truth, *picture, *seen_old, *seen_new;
  float *shown; /* (object, object) */
  void *zeros;  /* the inputs */
  float rate;
  int64_t number; /* of the update: what "step" is bound to */
  /* The weights of the file, name by name. */
  hl_tensor_view *states;
  void *state_data;
  size_t state_count;
  /* Of the running pass. */
  uint64_t truth_version;
  int64_t visit;
  hl__progressive_call call;
  uint64_t call_ns; /* that the host's part of a submit took */
  hl_progressive_times *times;
  hl_telescope_losses losses;
  hl_progressive_result result;
  /* Of a check, else NULL. */
  hl_telescope *plain;
  int64_t check_every;
  double check_error, gradient_error;
  float *plain_old, *plain_new, *plain_gradient;
};

static inline hl_aperture hl__progressive_aperture(const hl_progressive *p) {
  return p->apertures[p->visit % p->spec->samples];
}

/* hl_training_spec's host_loss: the engine's call between forward and backward. */
hl_status hl__progressive_lose(void *context, const hl_tensor_view *outputs, size_t count,
                               const hl_tensor_view *gradients, double *ret_loss, hl_error *error);

/* The part of a pass with the first `visits` samples. */
hl_status hl__progressive_run(hl_progressive *progressive, int64_t visits, hl_error *error);

/* Of the present sample: what was measured, and `gradient` that came of it, against `plain`. */
hl_status hl__progressive_compare(hl_progressive *progressive, const float *picture,
                                  const float *gradient, hl_error *error);
bool hl__progressive_compares(const hl_progressive *progressive);

#endif
