#include "workloads/prediction.h"

#include "base/clock.h"
#include "base/file.h"
#include "data/tiff.h"
#include "imaging/quality.h"
#include "imaging/volume-transform.h"
#include "workloads/shapes.h"
#include "workloads/volume-source.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hl_prediction {
  hl_inference *inference;
  hl_prediction_options options;
  char *folder; /* of the options */
  hl_volume_set *set;
  hl_windows *windows; /* for volumes of `shape` */
  hl_volume_shape shape;
  hl_inference_program rest; /* for a last batch that is not full; images 0: none yet */
  float *inputs;             /* a batch of windows */
  int64_t window_voxels;
};

/* Adds the time since `*stamp` to `*to`, and stamps again. */
static void lap(uint64_t *stamp, uint64_t *to) {
  uint64_t now = hl_clock_ns();
  *to += now - *stamp;
  *stamp = now;
}

void hl_prediction_result_release(hl_prediction_result *result) {
  free(result->file);
  *result = (hl_prediction_result){0};
}

static void release_rest(hl_prediction *p) {
  const hl_engine_ops *ops = &p->inference->ops;
  if (!p->rest.images) return;
  ops->request_free(p->rest.request);
  ops->program_free(p->rest.program);
  p->rest = (hl_inference_program){0};
}

void hl_prediction_free(hl_prediction *prediction) {
  if (!prediction) return;
  release_rest(prediction);
  hl_windows_free(prediction->windows);
  hl_volume_set_free(prediction->set);
  free(prediction->inputs);
  free(prediction->folder);
  free(prediction);
}

int64_t hl_prediction_batch(const hl_model_file *file, const hl_prediction_options *options,
                            const hl_volume_set *set, int64_t wanted) {
  if (file->fixed_batch || file->input_count != 1 ||
      !hl_volume_ports_fit(&file->inputs[0], &file->inputs[0]))
    return wanted;
  hl_windows_options windows = options->windows;
  windows.roi = hl_volume_port_patch(&file->inputs[0]);
  int64_t batch = 0, volumes = hl_volume_set_count(set);
  for (int64_t i = 0; i < volumes && batch < wanted; i++) {
    hl_volume_shape shape;
    int64_t count = 0;
    if (hl_volume_set_shape(set, i, &shape, NULL) == HL_OK &&
        hl_windows_foretell(&windows, shape, &count, NULL) == HL_OK && count > batch)
      batch = count;
  }
  return batch && batch < wanted ? batch : wanted;
}

const hl_volume_set *hl_prediction_set(const hl_prediction *prediction) {
  return prediction->set;
}

static hl_status check_network(const hl_inference *in, hl_error *error) {
  const hl_model_file *file = in->file;
  if (file->input_count == 1 && file->output_count == 1) {
    hl_port input = file->inputs[0], output = file->outputs[0];
    /* The output's shape may be open in the file: what it really is is seen when it is there. */
    for (int32_t i = 1; i < output.rank && i < input.rank; i++)
      if (output.dims[i] < 0) output.dims[i] = input.dims[i];
    if (in->axes[0] == 0 && hl_volume_ports_fit(&input, &output)) return HL_OK;
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "%.200s does not predict volumes: it needs one input and one output of "
                      "float32, each (batch, 1, z, y, x) or (batch, 1, y, x), of one size, as "
                      "dynunet has them",
                      in->configuration->model);
}

hl_status hl_prediction_new(hl_inference *inference, const hl_prediction_options *options,
                            hl_volume_set *set, hl_prediction **ret_prediction, hl_error *error) {
  hl_status status = check_network(inference, error);
  hl_prediction *p = status == HL_OK ? calloc(1, sizeof *p) : NULL;
  if (!p) {
    hl_volume_set_free(set);
    return status != HL_OK ? status
                           : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for windows");
  }
  *p = (hl_prediction){.inference = inference, .options = *options, .set = set};
  hl_volume_shape roi = hl_volume_port_patch(&inference->file->inputs[0]);
  p->options.windows.roi = roi;
  p->options.windows.batch = inference->full.images;
  p->window_voxels = roi.depth * roi.height * roi.width;
  size_t values = (size_t)p->window_voxels * (size_t)inference->full.images;
  p->inputs = aligned_alloc(64, (values * sizeof *p->inputs + 63) & ~(size_t)63);
  p->folder = hl_strdup(options->folder);
  p->options.folder = p->folder;
  if (!p->inputs || (options->folder && !p->folder)) {
    hl_prediction_free(p);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a batch of windows");
  }
  *ret_prediction = p;
  return HL_OK;
}

/* A program for `images` windows; that of the volume before if it was as many. */
static hl_status prepare_rest(hl_prediction *p, int64_t images, hl_error *error) {
  hl_inference *in = p->inference;
  if (p->rest.images == images) return HL_OK;
  release_rest(p);
  hl_port ports[HL_INPUTS_MAX];
  hl_program_spec spec = hl_inference_specify(in, images, ports);
  hl_program *program = NULL;
  hl_request *request = NULL;
  hl_status status = in->ops.prepare(in->model, &spec, &program, error);
  if (status != HL_OK) return status;
  status = in->ops.request(program, &request, error);
  if (status != HL_OK) {
    in->ops.program_free(program);
    return status;
  }
  p->rest = (hl_inference_program){images, program, request};
  return HL_OK;
}

static hl_status set_windows(hl_prediction *p, hl_volume_shape shape, hl_error *error) {
  if (p->windows && hl_volume_same(p->shape, shape)) return HL_OK;
  hl_windows_free(p->windows);
  p->windows = NULL;
  p->shape = shape;
  return hl_windows_new(&p->options.windows, shape, &p->windows, error);
}

/* The output of the last step, which has to be as large as the windows. */
static hl_status take_output(const hl_prediction *p, hl_request *request, int64_t images,
                             const float **ret_values, hl_error *error) {
  hl_tensor_view view = {0};
  hl_status status = p->inference->ops.output(request, 0, &view, error);
  if (status != HL_OK) return status;
  uint64_t bytes = (uint64_t)images * (uint64_t)p->window_voxels * sizeof(float);
  if (view.dtype != HL_FLOAT32 || view.bytes != bytes)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.200s makes %" PRIu64 " bytes of %" PRId64 " windows, not %" PRIu64
                        ": its output has another size than its input",
                        p->inference->configuration->model, view.bytes, images, bytes);
  *ret_values = view.data;
  return HL_OK;
}

static hl_status run_batch(hl_prediction *p, const float *volume, int64_t first, int64_t images,
                           hl_prediction_times *t, hl_error *error) {
  const hl_engine_ops *ops = &p->inference->ops;
  hl_request *request =
      images == p->inference->full.images ? p->inference->full.request : p->rest.request;
  hl_tensor_view view = p->inference->views[0];
  const float *outputs = NULL;
  view.data = p->inputs;
  view.dims[0] = images;
  view.bytes = (uint64_t)images * (uint64_t)p->window_voxels * sizeof(float);
  uint64_t stamp = hl_clock_ns();
  hl_windows_gather(p->windows, volume, first, images, p->inputs);
  lap(&stamp, &t->gather_ns);
  hl_status status = ops->bind(request, 0, &view, error);
  lap(&stamp, &t->transfer_ns);
  if (status == HL_OK) status = ops->submit(request, error);
  if (status == HL_OK) status = ops->wait(request, error);
  if (status == HL_OK) status = take_output(p, request, images, &outputs, error);
  lap(&stamp, &t->forward_ns);
  if (status != HL_OK) return status;
  hl_windows_scatter(p->windows, outputs, first, images);
  lap(&stamp, &t->stitch_ns);
  return HL_OK;
}

static hl_status run_windows(hl_prediction *p, const float *volume, hl_prediction_result *r,
                             hl_error *error) {
  int64_t full = p->inference->full.images;
  r->windows = hl_windows_count(p->windows);
  uint64_t stamp = hl_clock_ns();
  hl_status status = r->windows % full ? prepare_rest(p, r->windows % full, error) : HL_OK;
  lap(&stamp, &r->all.prepare_ns);
  for (int64_t i = 0; i < r->windows && status == HL_OK; i += full, r->batches++) {
    int64_t left = r->windows - i;
    status = run_batch(p, volume, i, left < full ? left : full, &r->all, error);
    if (i == 0) r->first = r->all;
  }
  return status;
}

static void compare(const hl_prediction *p, const float *prediction, const float *target,
                    int64_t voxels, hl_prediction_result *r) {
  r->compared = true;
  if (hl_volume_set_recipe(p->set)->task == HL_VOLUME_SEGMENTATION) {
    r->dice = hl_quality_dice(prediction, target, voxels, 0.5f, 0);
  } else {
    r->correlation = hl_quality_correlation(prediction, target, voxels);
    r->mse = hl_quality_mse(prediction, target, voxels);
  }
}

/* "day 1/cells.ome.tif" is "day_1_cells"; free() it. */
static char *stem_of(const hl_volume_set *set, int64_t index) {
  static const char *const endings[] = {".ome.tiff", ".ome.tif", ".tiff", ".tif", ".npy"};
  char *stem = hl_strdup(hl_volume_set_name(set, index));
  if (!stem) return NULL;
  hl_text_blank(stem, "");
  for (char *c = stem; *c; c++)
    if (*c == '/' || *c == ' ' || *c == ',') *c = '_';
  for (size_t i = 0; i < HL_COUNT(endings); i++) {
    size_t length = strlen(stem), tail = strlen(endings[i]);
    if (length > tail && strcasecmp(stem + length - tail, endings[i]) == 0) stem[length - tail] = 0;
  }
  return stem;
}

/* How many volumes before this one would be written under its name: cells.tif and cells.npy. */
static int64_t namesakes(const hl_volume_set *set, int64_t index, const char *stem) {
  int64_t count = 0;
  for (int64_t i = 0; i < index; i++) {
    HL_CLEANUP(hl_free_pointer) char *other = stem_of(set, i);
    count += other && strcmp(other, stem) == 0;
  }
  return count;
}

static hl_status write_bytes(const hl_prediction *p, int64_t index, hl_volume_shape shape,
                             uint8_t *bytes, hl_prediction_result *r, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *stem = stem_of(p->set, index);
  if (!stem) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a name");
  int64_t alike = namesakes(p->set, index, stem);
  r->file = alike
                ? hl_format("%s/%s_prediction_%" PRId64 ".tif", p->options.folder, stem, alike + 1)
                : hl_format("%s/%s_prediction.tif", p->options.folder, stem);
  if (!r->file) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a name");
  const hl_tensor_view view = {.dtype = HL_UINT8,
                               .rank = 3,
                               .dims = {shape.depth, shape.height, shape.width},
                               .data = bytes,
                               .bytes = (uint64_t)(shape.depth * shape.height * shape.width)};
  return hl_tiff_write(r->file, &view, false, error);
}

/* From sums to bytes, compared and written. */
static hl_status finish(hl_prediction *p, int64_t index, const hl_prepared_volume *volume,
                        hl_prediction_result *r, hl_error *error) {
  int64_t voxels = volume->shape.depth * volume->shape.height * volume->shape.width;
  HL_CLEANUP(hl_free_pointer) float *values = malloc((size_t)voxels * sizeof *values);
  HL_CLEANUP(hl_free_pointer) uint8_t *bytes = malloc((size_t)voxels);
  if (!values || !bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a prediction");
  uint64_t stamp = hl_clock_ns();
  hl_windows_finish(p->windows, values);
  if (hl_volume_set_recipe(p->set)->task == HL_VOLUME_SEGMENTATION)
    hl_volume_sigmoid(values, voxels);
  hl_volume_to_bytes(values, voxels, bytes);
  lap(&stamp, &r->all.post_ns);
  hl_status status = hl_volume_check_finite(values, volume->shape, "what the network made", error);
  if (status == HL_OK && volume->target) compare(p, values, volume->target, voxels, r);
  stamp = hl_clock_ns();
  if (status == HL_OK && p->options.folder)
    status = write_bytes(p, index, volume->shape, bytes, r, error);
  lap(&stamp, &r->all.write_ns);
  return status;
}

hl_status hl_prediction_run(hl_prediction *p, int64_t index, hl_prediction_result *ret_result,
                            hl_error *error) {
  hl_prediction_result r = {.dice = (double)NAN, .correlation = (double)NAN, .mse = (double)NAN};
  hl_prepared_volume volume = {0};
  uint64_t start = hl_clock_ns(), stamp = start;
  bool compared = p->options.compare && hl_volume_set_has_target(p->set, index);
  hl_status status = hl_volume_set_read(p->set, index, compared, &volume, error);
  lap(&stamp, &r.all.read_ns);
  r.shape = volume.shape;
  if (status == HL_OK) status = set_windows(p, volume.shape, error);
  if (status == HL_OK) status = run_windows(p, volume.image, &r, error);
  if (status == HL_OK) status = finish(p, index, &volume, &r, error);
  r.total_ns = hl_clock_ns() - start;
  hl_prepared_volume_release(&volume);
  if (status != HL_OK)
    hl_prediction_result_release(&r);
  else
    *ret_result = r;
  return status;
}
