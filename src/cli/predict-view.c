#include "cli/predict-view.h"

#include "base/json-writer.h"
#include "cli/cli.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const docs[HL_PREDICT_PARTS] = {
    [HL_PREDICT_READ] = "file, zoom, normalisation",
    [HL_PREDICT_GATHER] = "windows copied out of the volume",
    [HL_PREDICT_TRANSFER] = "bound to the engine",
    [HL_PREDICT_FORWARD] = "the network",
    [HL_PREDICT_STITCH] = "weighted into the prediction",
    [HL_PREDICT_POST] = "divided by the weights, activation, bytes",
    [HL_PREDICT_WRITE] = "TIFF",
    [HL_PREDICT_PREPARE] = "programs for batches that are not full"};

typedef struct totals {
  double part_s[HL_PREDICT_PARTS];
  int64_t windows, batches, voxels;
} totals;

static totals add_up(const hl_predict_result *r) {
  totals t = {0};
  for (size_t i = 0; i < r->count; i++) {
    const hl_predict_volume *v = &r->volumes[i];
    t.windows += v->windows;
    t.batches += v->batches;
    t.voxels += v->depth * v->height * v->width;
    for (int k = 0; k < HL_PREDICT_PARTS; k++) t.part_s[k] += v->part_s[k];
  }
  return t;
}

/* Mean of a measure over the volumes that have it; NaN if none has. */
static double mean_of(const hl_predict_result *r, size_t offset) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < r->count; i++) {
    double value = 0;
    memcpy(&value, (const char *)&r->volumes[i] + offset, sizeof value);
    if (isnan(value)) continue;
    sum += value;
    count++;
  }
  return count ? sum / (double)count : (double)NAN;
}

void hl_cli_predict_volume(void *context, const hl_predict_result *result) {
  (void)context;
  const hl_predict_result *r = result;
  const hl_predict_volume *v = &r->volumes[r->count - 1];
  hl_text line = HL_TEXT_INIT, said = HL_TEXT_INIT;
  hl_text_format(&line, "%s: %" PRId64 " x %" PRId64 " x %" PRId64 ", %" PRId64 " window%s, %.3f s",
                 v->name, v->depth, v->height, v->width, v->windows, v->windows == 1 ? "" : "s",
                 v->total_s);
  if (!isnan(v->dice)) hl_text_format(&line, ", Dice %.4f", v->dice);
  if (!isnan(v->correlation))
    hl_text_format(&line, ", correlation %.4f, MSE %.4g", v->correlation, v->mse);
  if (v->file) hl_text_format(&line, ", %s", v->file);
  if (r->count == 1) hl_text_line(&said, "%s", r->data);
  hl_text_line(&said, "%s", line.data);
  fputs(said.data, stdout);
  hl_text_release(&line);
  hl_text_release(&said);
  fflush(stdout);
}

static void print_part(int part, const totals *t, const hl_predict_result *r) {
  double batches = (double)t->batches;
  bool of_batches = part >= HL_PREDICT_GATHER && part <= HL_PREDICT_STITCH;
  printf("  %-9s %10.3f s %6.1f %%", hl_predict_part_name((hl_predict_part)part), t->part_s[part],
         100 * t->part_s[part] / r->total_s);
  if (of_batches)
    printf(" %10.3f ms %10.3f ms", 1e3 * r->first_s[part], 1e3 * t->part_s[part] / batches);
  else
    printf(" %13s %13s", "", "");
  printf("  %s\n", docs[part]);
}

void hl_cli_predict_text(const hl_predict_request *request, const hl_predict_result *result) {
  const hl_predict_request *q = request;
  const hl_predict_result *r = result;
  totals t = add_up(r);
  const hl_configuration *c = q->configuration;
  printf("\n%s on %s, %s, %" PRId64 " window%s a call, %" PRId64
         " threads, overlap %g, %s weights\n",
         c->model, r->engine ? r->engine : c->engine, c->dtype, r->batch_size,
         r->batch_size == 1 ? "" : "s", c->threads, q->overlap, q->gaussian ? "Gaussian" : "equal");
  if (r->batch_size < c->batch_size)
    printf("  not %" PRId64 " windows a call: no volume has more than %" PRId64 "\n", c->batch_size,
           r->batch_size);
  printf("  %-9s %12s %8s %13s %13s\n", "part", "all", "share", "first batch", "mean batch");
  for (int i = 0; i < HL_PREDICT_PARTS; i++) print_part(i, &t, r);
  printf("  %-9s %10.3f s\n", "all", r->total_s);
  printf("%zu volume%s in %.3f s: %.4g volumes/s, %.4g windows/s, %.4g Mvoxel/s\n", r->count,
         r->count == 1 ? "" : "s", r->total_s, (double)r->count / r->total_s,
         (double)t.windows / r->total_s, (double)t.voxels / 1e6 / r->total_s);
  printf("set-up: engine %.3f s, model loaded %.3f s, compiled %.3f s; peak memory %.1f MB, "
         "%.1f MB above the start\n",
         r->configure_s, r->load_s, r->prepare_s, r->peak_mb, r->memory_mb);
  double dice = mean_of(r, offsetof(hl_predict_volume, dice));
  double correlation = mean_of(r, offsetof(hl_predict_volume, correlation));
  if (!isnan(dice)) printf("mean Dice %.4f\n", dice);
  if (!isnan(correlation))
    printf("mean correlation %.4f, mean MSE %.4g\n", correlation,
           mean_of(r, offsetof(hl_predict_volume, mse)));
}

static void parts_json(hl_json *json, const char *key, const double part_s[HL_PREDICT_PARTS]) {
  hl_json_object(json, key);
  for (int i = 0; i < HL_PREDICT_PARTS; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s_s", hl_predict_part_name((hl_predict_part)i));
    hl_json_real(json, name, part_s[i]);
  }
  hl_json_end(json);
}

static void volume_json(hl_json *json, const hl_predict_volume *v) {
  hl_json_object(json, NULL);
  hl_json_text(json, "name", v->name);
  hl_json_array(json, "shape");
  hl_json_int(json, NULL, v->depth);
  hl_json_int(json, NULL, v->height);
  hl_json_int(json, NULL, v->width);
  hl_json_end(json);
  hl_json_int(json, "windows", v->windows);
  hl_json_int(json, "batches", v->batches);
  hl_json_real(json, "total_s", v->total_s);
  parts_json(json, "parts", v->part_s);
  hl_json_real(json, "dice", v->dice);
  hl_json_real(json, "correlation", v->correlation);
  hl_json_real(json, "mse", v->mse);
  hl_json_text(json, "file", v->file);
  hl_json_end(json);
}

static void request_json(hl_json *json, const hl_predict_request *q, const hl_predict_result *r) {
  const hl_configuration *c = q->configuration;
  hl_json_text(json, "model", c->model);
  hl_json_text(json, "task", q->task);
  hl_json_text(json, "engine", c->engine);
  hl_json_text(json, "engine_version", r->engine);
  hl_json_text(json, "dtype", c->dtype);
  hl_json_text(json, "device", c->device);
  hl_json_int(json, "batch_size", r->batch_size);
  hl_json_int(json, "threads", c->threads);
  hl_json_real(json, "overlap", q->overlap);
  hl_json_text(json, "blend", q->gaussian ? "gaussian" : "constant");
  hl_json_text(json, "data", r->data);
}

void hl_cli_predict_json(const hl_predict_request *request, const hl_predict_result *result,
                         const hl_error *failure) {
  const hl_predict_request *q = request;
  const hl_predict_result *r = result;
  totals t = add_up(r);
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.prediction/1");
  hl_json_text(&json, "hotlap_version", HL_VERSION);
  hl_json_bool(&json, "success", !failure);
  hl_json_text(&json, "reason", failure ? failure->msg : NULL);
  request_json(&json, q, r);
  hl_json_real(&json, "configure_s", r->configure_s);
  hl_json_real(&json, "load_s", r->load_s);
  hl_json_real(&json, "prepare_s", r->prepare_s);
  hl_json_real(&json, "total_s", r->total_s);
  parts_json(&json, "parts", t.part_s);
  parts_json(&json, "first_batch", r->first_s);
  hl_json_int(&json, "volumes", (int64_t)r->count);
  hl_json_int(&json, "windows", t.windows);
  hl_json_int(&json, "batches", t.batches);
  bool some = r->count > 0;
  double unknown = (double)NAN;
  hl_json_real(&json, "volumes_per_second", some ? (double)r->count / r->total_s : unknown);
  hl_json_real(&json, "windows_per_second", some ? (double)t.windows / r->total_s : unknown);
  hl_json_real(&json, "mean_batch_s", some ? r->total_s / (double)t.batches : unknown);
  hl_json_real(&json, "peak_memory_mb", r->peak_mb);
  hl_json_real(&json, "memory_mb", r->memory_mb);
  hl_json_real(&json, "device_memory_mb", r->device_mb);
  hl_json_real(&json, "dice", mean_of(r, offsetof(hl_predict_volume, dice)));
  hl_json_real(&json, "correlation", mean_of(r, offsetof(hl_predict_volume, correlation)));
  hl_json_real(&json, "mse", mean_of(r, offsetof(hl_predict_volume, mse)));
  hl_json_array(&json, "predictions");
  for (size_t i = 0; i < r->count; i++) volume_json(&json, &r->volumes[i]);
  hl_json_end(&json);
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
}
