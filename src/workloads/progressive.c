#include "workloads/progressive-internal.h"

#include "base/clock.h"
#include "workloads/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hl_progressive_stage_name(hl_progressive_stage stage) {
  static const char *const names[HL_PROGRESSIVE_STAGES] = {"measure",  "forward",   "loss",
                                                           "backward", "optimizer", "metrics"};
  return names[stage];
}

static bool has(const hl_progressive *p, unsigned optimization) {
  return (p->spec->optimizations & optimization) != 0;
}

/* Adds the time since *start to a stage and begins anew. */
static void lap(hl_progressive *p, hl_progressive_stage stage, uint64_t *start) {
  uint64_t now = hl_clock_ns();
  hl_stage_tell(hl_progressive_stage_name(stage), *start, now);
  p->times->ns[stage] += now - *start;
  *start = now;
}

/* -- parts of a sample ------------------------------------------------------------------------- */

enum { shown_pictures = 8 }; /* of a pass, to who profiles it */

/* What is not zero of the picture, for whoever listens. */
static void show(hl_progressive *p, int64_t sample, const float *picture) {
  int64_t every = (hl_progressive_samples(p) + shown_pictures - 1) / shown_pictures;
  if (!hl_stage_listener_now || (sample + 1) % every != 0) return;
  size_t side = (size_t)p->object, n = (size_t)p->image, first = n / 2 - side / 2;
  for (size_t row = 0; row < side; row++)
    memcpy(p->shown + row * side, picture + (first + row) * n + first, side * sizeof *picture);
  hl_stage_picture("reconstruction", sample, p->object, p->object, p->shown);
}

static hl_status judge(hl_progressive *p, int64_t sample, const float *picture, hl_error *error) {
  hl_picture_quality *q = &p->result.quality;
  uint64_t start = hl_clock_ns();
  int64_t n = p->image, count = n * n;
  hl_status status = HL_OK;
  if (has(p, HL_OPTIMIZE_SAME_PASS_METRICS)) {
    status = hl_quality_pictures(picture, p->truth, n, n, 1, HL_SSIM_CROP, q, error);
  } else {
    q->mse = hl_quality_mse(picture, p->truth, count);
    q->psnr = hl_quality_psnr(picture, p->truth, count, 1);
    q->correlation = hl_quality_correlation(picture, p->truth, count);
    status = hl_quality_ssim(picture, p->truth, n, n, 1, HL_SSIM_CROP, &q->ssim, error);
  }
  lap(p, HL_PROGRESSIVE_METRICS, &start);
  hl_stage_number("psnr_db", sample, q->psnr);
  hl_stage_number("ssim", sample, q->ssim);
  hl_stage_number("loss", sample, p->losses.old_loss + p->losses.new_loss);
  if (status == HL_OK) show(p, sample, picture);
  return status;
}

static hl_status measure(hl_progressive *p, const float *picture, hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_status status = hl_telescope_measure(p->telescope, p->visit, hl__progressive_aperture(p),
                                          picture, p->seen_old, p->seen_new, error);
  lap(p, HL_PROGRESSIVE_MEASURE, &start);
  return status;
}

/* The first update is of the picture that was measured: its old loss is 0. The baseline computes
 * that. */
static bool is_measured_picture(const hl_progressive *p) {
  return p->number == 1 && isnan(p->spec->snr_db) &&
         has(p, HL_OPTIMIZE_ONE_FORWARD | HL_OPTIMIZE_MATRIX_DFT | HL_OPTIMIZE_REAL_INPUT);
}

static hl_status lose(hl_progressive *p, const float *picture, float *gradient, double *ret_loss,
                      hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_status status = hl_telescope_loss(p->telescope, hl__progressive_aperture(p), picture,
                                       is_measured_picture(p) ? NULL : p->seen_old, p->seen_new,
                                       &p->losses, gradient, error);
  lap(p, HL_PROGRESSIVE_LOSS, &start);
  *ret_loss = p->losses.old_loss + p->losses.new_loss;
  if (p->result.updates == 0) p->result.first_loss = *ret_loss;
  return status;
}

/* The engine's call between forward and backward. */
hl_status hl__progressive_lose(void *context, const hl_tensor_view *outputs, size_t count,
                               const hl_tensor_view *gradients, double *ret_loss, hl_error *error) {
  hl_progressive *p = context;
  uint64_t start = hl_clock_ns();
  if (count != 1 || outputs[0].bytes != p->pixels * sizeof(float))
    return hl_error_set(error, HL_INTERNAL, "engine %s shows no picture to its host",
                        p->inference->ops.name);
  const float *picture = outputs[0].data;
  hl_status status = HL_OK;
  if (p->call == HL__PROGRESSIVE_LOOK) {
    memcpy(p->picture, picture, p->pixels * sizeof *picture);
    *ret_loss = (double)NAN; /* nothing is trained */
  } else {
    float *gradient = gradients[0].data;
    bool first = p->call == HL__PROGRESSIVE_FIRST;
    if (first && p->visit > 0) status = judge(p, p->visit - 1, picture, error);
    if (first && status == HL_OK) status = measure(p, picture, error);
    if (status == HL_OK) status = lose(p, picture, gradient, ret_loss, error);
    if (status == HL_OK && p->plain && p->number == 1 && hl__progressive_compares(p))
      status = hl__progressive_compare(p, picture, gradient, error);
  }
  p->call_ns = hl_clock_ns() - start;
  return status;
}

static hl_status submit(hl_progressive *p, hl__progressive_call call, hl_error *error) {
  const hl_engine_ops *ops = &p->inference->ops;
  p->call = call;
  p->call_ns = 0;
  uint64_t start = hl_clock_ns();
  hl_status status = ops->submit(p->request, error);
  if (status == HL_OK) status = ops->wait(p->request, error);
  uint64_t all_ns = hl_clock_ns() - start;
  if (status != HL_OK) return status;
  if (call == HL__PROGRESSIVE_LOOK) { /* all else is forward */
    p->times->ns[HL_PROGRESSIVE_FORWARD] += all_ns - p->call_ns;
    return HL_OK;
  }
  uint64_t ns[HL_PHASE_COUNT];
  if (!ops->phases || ops->phases(p->request, ns, NULL) != HL_OK) {
    p->times->no_phases = true;
    return HL_OK;
  }
  p->times->ns[HL_PROGRESSIVE_FORWARD] += ns[HL_PHASE_FORWARD];
  p->times->ns[HL_PROGRESSIVE_BACKWARD] += ns[HL_PHASE_BACKWARD];
  p->times->ns[HL_PROGRESSIVE_OPTIMIZER] += ns[HL_PHASE_OPTIMIZER];
  return HL_OK;
}

static hl_status update(hl_progressive *p, hl__progressive_call call, int64_t number,
                        hl_error *error) {
  p->number = number;
  hl_status status = submit(p, call, error);
  if (status != HL_OK) return status;
  double loss = p->losses.old_loss + p->losses.new_loss;
  if (!isfinite(loss))
    return hl_error_set(error, HL_BAD_DATA,
                        "the loss of sample %lld is not finite: the generator has diverged",
                        (long long)p->visit);
  p->result.updates++;
  return HL_OK;
}

static bool is_done(const hl_progressive *p) {
  return p->losses.old_loss < HL__PROGRESSIVE_DONE && p->losses.new_loss < HL__PROGRESSIVE_DONE;
}

/* -- a pass ------------------------------------------------------------------------------------ */

/* Measures and trains, and leaves the generator as it is then. */
static hl_status sample(hl_progressive *p, hl_error *error) {
  bool shared = has(p, HL_OPTIMIZE_ONE_FORWARD);
  hl_status status = shared ? HL_OK : measure(p, p->picture, error);
  for (int64_t i = 1; i <= p->spec->epochs && status == HL_OK; i++) {
    bool first = shared && i == 1;
    status = update(p, first ? HL__PROGRESSIVE_FIRST : HL__PROGRESSIVE_TRAIN, i, error);
    if (is_done(p)) break;
  }
  if (status == HL_OK && p->visit < p->spec->samples) /* later rounds find it open */
    status = hl_telescope_add(p->telescope, hl__progressive_aperture(p), error);
  if (status == HL_OK && p->plain && p->visit < p->spec->samples)
    status = hl_telescope_add(p->plain, hl__progressive_aperture(p), error);
  return status;
}

static hl_status look_and_judge(hl_progressive *p, int64_t of_sample, hl_error *error) {
  hl_status status = submit(p, HL__PROGRESSIVE_LOOK, error);
  return status == HL_OK ? judge(p, of_sample, p->picture, error) : status;
}

static hl_status restart(hl_progressive *p, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < p->state_count && status == HL_OK; i++)
    status = p->inference->ops.state_write(p->program, &p->states[i], error);
  hl_telescope_restart(p->telescope);
  hl_telescope_forget(p->telescope);
  p->result = (hl_progressive_result){.first_loss = (double)NAN};
  hl_telescope_count(p->telescope, &p->result.before);
  return status;
}

hl_status hl__progressive_run(hl_progressive *p, int64_t visits, hl_error *error) {
  bool shared = has(p, HL_OPTIMIZE_ONE_FORWARD);
  hl_status status = restart(p, error);
  if (status == HL_OK && !shared) status = submit(p, HL__PROGRESSIVE_LOOK, error);
  for (p->visit = 0; p->visit < visits && status == HL_OK; p->visit++) {
    status = sample(p, error);
    if (status == HL_OK && !shared) status = look_and_judge(p, p->visit, error);
  }
  if (status == HL_OK && shared) status = look_and_judge(p, visits - 1, error);
  p->result.losses = p->losses;
  hl_telescope_count(p->telescope, &p->result.after);
  return status;
}

hl_status hl_progressive_pass(hl_progressive *progressive, int64_t samples,
                              hl_progressive_times *times, hl_error *error) {
  progressive->times = times;
  return hl__progressive_run(progressive, samples, error);
}

/* -- what it is -------------------------------------------------------------------------------- */

int64_t hl_progressive_samples(const hl_progressive *progressive) {
  return progressive->spec->samples * progressive->spec->rounds;
}

int64_t hl_progressive_image_size(const hl_progressive *progressive) {
  return progressive->image;
}

int64_t hl_progressive_object_size(const hl_progressive *progressive) {
  return progressive->object;
}

const char *hl_progressive_describe(const hl_progressive *progressive) {
  return progressive->description.data;
}

const char *hl_progressive_notes(const hl_progressive *progressive) {
  return progressive->notes.length ? progressive->notes.data : NULL;
}

const hl_progressive_result *hl_progressive_get_result(const hl_progressive *progressive) {
  return &progressive->result;
}

hl_progressive_pictures hl_progressive_get_pictures(const hl_progressive *progressive) {
  return (hl_progressive_pictures){.truth = progressive->truth,
                                   .measured = progressive->seen_new,
                                   .reconstruction = progressive->picture,
                                   .mask = hl_telescope_mask(progressive->telescope)};
}
