#include "worker/predict.h"

#include "base/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static hl_status open_set(const json_t *request, hl_prediction_options *ret_options,
                          hl_volume_set **ret_set, hl_error *error) {
  const char *path = hl_json_get_text(request, "data", NULL);
  const char *task = hl_json_get_text(request, "task", "segmentation");
  hl_prediction_options options = {.windows = HL_WINDOWS_DEFAULTS,
                                   .compare = hl_json_get_bool(request, "compare", true),
                                   .folder = hl_json_get_text(request, "folder", NULL)};
  options.windows.overlap = hl_json_get_real(request, "overlap", 0);
  options.windows.gaussian = hl_json_get_bool(request, "gaussian", true);
  *ret_options = options;
  hl_volume_recipe recipe;
  hl_volume_recipe_default(
      strcmp(task, "labelfree") == 0 ? HL_VOLUME_LABEL_FREE : HL_VOLUME_SEGMENTATION, &recipe);
  if (!path) return hl_error_set(error, HL_INVALID_ARGUMENT, "volumes: 'data' is missing");
  hl_status status =
      hl_volume_recipe_parse(hl_json_get_text(request, "recipe", ""), &recipe, error);
  if (status != HL_OK) return status;
  return hl_volume_set_open(path, &recipe, (uint64_t)hl_json_get_int(request, "seed", 42),
                            hl_json_get_int(request, "n_images", 0), ret_set, error);
}

hl_status hl_worker_volumes_cut(const json_t *request, const hl_model_file *file,
                                hl_configuration *configuration, json_t *reply, hl_error *error) {
  hl_prediction_options options;
  hl_volume_set *set = NULL;
  hl_status status = open_set(request, &options, &set, error);
  if (status == HL_OK)
    configuration->batch_size = hl_prediction_batch(file, &options, set, configuration->batch_size);
  hl_volume_set_free(set);
  hl_json_set_int(reply, "batch_size", (uint64_t)configuration->batch_size);
  return status;
}

hl_status hl_worker_volumes(hl_inference *inference, const json_t *request, json_t *reply,
                            hl_prediction **ret_prediction, hl_error *error) {
  hl_prediction_options options;
  hl_volume_set *set = NULL;
  hl_status status = open_set(request, &options, &set, error);
  if (status == HL_OK && options.folder) status = hl_directory_make(options.folder, error);
  if (status != HL_OK) {
    hl_volume_set_free(set);
    return status;
  }
  status = hl_prediction_new(inference, &options, set, ret_prediction, error);
  if (status != HL_OK) return status;
  hl_json_set_int(reply, "volumes", (uint64_t)hl_volume_set_count(set));
  hl_json_set_text(reply, "data", hl_volume_set_description(set));
  return HL_OK;
}

static void set_times(json_t *reply, const char *prefix, const hl_prediction_times *t, bool whole) {
  const struct {
    const char *name;
    uint64_t ns;
    bool of_batches;
  } parts[] = {{"gather_ns", t->gather_ns, true},   {"transfer_ns", t->transfer_ns, true},
               {"forward_ns", t->forward_ns, true}, {"stitch_ns", t->stitch_ns, true},
               {"read_ns", t->read_ns, false},      {"prepare_ns", t->prepare_ns, false},
               {"post_ns", t->post_ns, false},      {"write_ns", t->write_ns, false}};
  for (size_t i = 0; i < HL_COUNT(parts); i++) {
    char key[40];
    if (!whole && !parts[i].of_batches) continue;
    snprintf(key, sizeof key, "%s%s", prefix, parts[i].name);
    hl_json_set_int(reply, key, parts[i].ns);
  }
}

hl_status hl_worker_predict(hl_prediction *prediction, const json_t *request, json_t *reply,
                            hl_error *error) {
  int64_t index = hl_json_get_int(request, "index", -1);
  const hl_volume_set *set = hl_prediction_set(prediction);
  if (index < 0 || index >= hl_volume_set_count(set))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "predict: there is no volume %" PRId64, index);
  hl_prediction_result r;
  hl_status status = hl_prediction_run(prediction, index, &r, error);
  if (status != HL_OK) return status;
  hl_json_set_text(reply, "name", hl_volume_set_name(set, index));
  hl_json_set_int(reply, "depth", (uint64_t)r.shape.depth);
  hl_json_set_int(reply, "height", (uint64_t)r.shape.height);
  hl_json_set_int(reply, "width", (uint64_t)r.shape.width);
  hl_json_set_int(reply, "windows", (uint64_t)r.windows);
  hl_json_set_int(reply, "batches", (uint64_t)r.batches);
  hl_json_set_int(reply, "total_ns", r.total_ns);
  set_times(reply, "", &r.all, true);
  set_times(reply, "first_", &r.first, false);
  hl_json_set_bool(reply, "compared", r.compared);
  hl_json_set_real(reply, "dice", r.dice);
  hl_json_set_real(reply, "correlation", r.correlation);
  hl_json_set_real(reply, "mse", r.mse);
  hl_json_set_text(reply, "file", r.file);
  hl_prediction_result_release(&r);
  return HL_OK;
}
