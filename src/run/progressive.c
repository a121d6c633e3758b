#include "run/progressive.h"

#include "base/text.h"
#include "protocol/channel.h"
#include "run/row.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage_names[HL_PROGRESSIVE_STAGE_COUNT] = {
    "measure", "forward", "loss", "backward", "optimizer", "metrics"};

void hl_progressive_identify(const hl_configuration *configuration, hl_record *record) {
  const hl_progressive_spec *s = configuration->progressive;
  if (!s) return;
  hl_text text = HL_TEXT_INIT;
  hl_optimizations_format(s->optimizations, &text);
  if (!text.failed) hl_record_set_text(&record->optimizations, text.data);
  hl_text_release(&text);
  hl_record_set_text(&record->imaging_scenario, hl_progressive_spec_name(s));
  hl_record_set_text(&record->aperture_pattern, s->pattern);
  record->apertures = s->samples;
  record->rounds = s->rounds;
  record->updates_per_sample = s->epochs;
  record->aperture_radius = s->radius;
  record->snr_db = s->snr_db;
}

void hl_progressive_configured(const json_t *reply, hl_record *record) {
  if (!hl_workload_is_progressive(record->workload)) return;
  record->image_size = hl_json_get_int(reply, "image_size", HL_INT_NULL);
  record->object_size = hl_json_get_int(reply, "object_size", HL_INT_NULL);
  const char *notes = hl_json_get_text(reply, "object_notes", NULL);
  if (notes) hl_record_note(record, "object: %s", notes);
}

static void take_caches(const json_t *from, hl_record *record) {
  bool kept = record->optimizations && strstr(record->optimizations, "none") == NULL;
  bool all = kept && strncmp(record->optimizations, "all", 3) == 0;
  if (all || (kept && strstr(record->optimizations, "measurement-cache"))) {
    record->cache_hits = hl_json_get_int(from, "cache_hits", HL_INT_NULL);
    record->cache_misses = hl_json_get_int(from, "cache_misses", HL_INT_NULL);
    record->cache_evictions = hl_json_get_int(from, "cache_evictions", HL_INT_NULL);
    record->cache_mb = hl_json_get_real(from, "cache_bytes", (double)NAN) / 1e6;
    double looks = (double)(record->cache_hits + record->cache_misses);
    if (looks > 0) record->cache_hit_percent = 100 * (double)record->cache_hits / looks;
  }
  if (all || (kept && strstr(record->optimizations, "fft-plan-cache"))) {
    record->plan_cache_hits = hl_json_get_int(from, "plan_cache_hits", HL_INT_NULL);
    record->plan_cache_misses = hl_json_get_int(from, "plan_cache_misses", HL_INT_NULL);
    record->plan_cache_mb = hl_json_get_real(from, "plan_cache_bytes", (double)NAN) / 1e6;
  }
}

void hl_progressive_totals_add(hl_progressive_totals *totals, const json_t *reply, uint64_t passes,
                               uint64_t elapsed_ns, hl_record *record) {
  const json_t *result = json_object_get(reply, "progressive");
  const json_t *stages = json_object_get(reply, "stage_ns");
  double nan = (double)NAN;
  if (!result) return;
  for (size_t i = 0; i < HL_PROGRESSIVE_STAGE_COUNT; i++)
    totals->ns[i] += hl_json_get_real(stages, stage_names[i], nan);
  totals->passes += passes;
  totals->elapsed_ns += (double)elapsed_ns;
  double psnr = hl_json_get_real(result, "psnr_db", nan);
  record->psnr_db = isfinite(psnr) ? psnr : nan;
  record->mse = hl_json_get_real(result, "mse", nan);
  record->ssim = hl_json_get_real(result, "ssim", nan);
  record->correlation = hl_json_get_real(result, "correlation", nan);
  record->first_sample_loss = hl_json_get_real(result, "first_loss", nan);
  record->old_loss = hl_json_get_real(result, "old_loss", nan);
  record->new_loss = hl_json_get_real(result, "new_loss", nan);
  record->updates = hl_json_get_int(result, "updates", HL_INT_NULL);
  take_caches(result, record);
}

void hl_progressive_fill(const hl_progressive_totals *totals, hl_record *record) {
  if (!hl_workload_is_progressive(record->workload) || totals->passes == 0) return;
  double *const fields[HL_PROGRESSIVE_STAGE_COUNT] = {
      &record->stage_measure_ms,  &record->stage_forward_ms,   &record->stage_loss_ms,
      &record->stage_backward_ms, &record->stage_optimizer_ms, &record->stage_metrics_ms};
  double pass = 1e6 * (double)totals->passes, rest = totals->elapsed_ns;
  for (size_t i = 0; i < HL_PROGRESSIVE_STAGE_COUNT; i++) {
    *fields[i] = totals->ns[i] / pass;
    if (!isnan(totals->ns[i])) rest -= totals->ns[i];
  }
  record->stage_other_ms = fmax(rest, 0) / pass;
}

/* -- pictures ---------------------------------------------------------------------------------- */

static void *part(const unsigned char **at, size_t bytes) {
  void *copy = malloc(bytes);
  if (copy) memcpy(copy, *at, bytes);
  *at += bytes;
  return copy;
}

static hl_status take(const hl_message *reply, hl_imaging_pictures **ret_pictures,
                      hl_error *error) {
  int64_t side = hl_json_get_int(reply->object, "side", 0);
  size_t pixels = side > 0 && side <= 1 << 13 ? (size_t)(side * side) : 0;
  if (pixels == 0 || reply->byte_count != pixels * (3 * sizeof(float) + 1))
    return hl_error_set(error, HL_BAD_DATA, "the worker's pictures do not add up");
  hl_imaging_pictures *p = calloc(1, sizeof *p);
  if (!p) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pictures");
  const unsigned char *at = reply->bytes;
  p->side = side;
  p->truth = part(&at, pixels * sizeof(float));
  p->measured = part(&at, pixels * sizeof(float));
  p->reconstruction = part(&at, pixels * sizeof(float));
  p->mask = part(&at, pixels);
  if (!p->truth || !p->measured || !p->reconstruction || !p->mask) {
    hl_imaging_pictures_free(p);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pictures");
  }
  *ret_pictures = p;
  return HL_OK;
}

hl_status hl_row_check_pictures(hl_row *row, hl_error *error) {
  hl_record *record = row->record;
  if (!row->configuration->progressive) return HL_OK;
  hl_message reply;
  hl_imaging_pictures *pictures = NULL;
  bool check = row->context->method->check;
  hl_status status =
      hl_process_call(&row->session.process, "image", json_pack("{s:b}", "check", check),
                      2 * row->session.step_timeout_s + 60, &reply, error);
  if (status != HL_OK) return status;
  status = take(&reply, &pictures, error);
  if (status == HL_OK) {
    hl_imaging_pictures_free(record->pictures);
    record->pictures = pictures;
    record->measurement_error = hl_json_get_real(reply.object, "measurement_error", (double)NAN);
    record->gradient_error = hl_json_get_real(reply.object, "gradient_error", (double)NAN);
    hl_record_set_text(&record->measurement_check,
                       check ? "the baseline's transforms: up to 12 samples of a pass, measured "
                               "and their losses' gradients, and measured again"
                             : "not compared: --no-check");
  }
  hl_message_release(&reply);
  return status;
}

static void mistrust(hl_record *record, const char *what, double error, double allowed) {
  HL_CLEANUP(hl_free_pointer)
  char *why =
      hl_format("%s differ from the baseline's by %.2g; %.0e is allowed", what, error, allowed);
  hl_record_set_text(&record->outcome, hl_outcome_name(HL_MISTRUSTED));
  hl_record_set_text(&record->reason, why);
}

void hl_row_judge_pictures(hl_record *record) {
  if (!hl_record_passed(record)) return;
  if (record->measurement_error > HL_MEASUREMENT_TOLERANCE)
    mistrust(record, "measurements", record->measurement_error, HL_MEASUREMENT_TOLERANCE);
  else if (record->gradient_error > HL_GRADIENT_TOLERANCE)
    mistrust(record, "gradients of the losses", record->gradient_error, HL_GRADIENT_TOLERANCE);
}
