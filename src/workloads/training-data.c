#include "workloads/training-data.h"

#include "base/dtype.h"
#include "data/array.h"
#include "data/image-source.h"
#include "data/kind.h"
#include "data/npz.h"
#include "graph/training.h"
#include "workloads/volume-source.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status check_targets(const hl_training_data *data, const hl_batch *batch,
                               hl_error *error);

/* Ports of inputs, then of targets, with what is known of each. */
typedef struct ports {
  hl_port items[2 * HL_INPUTS_MAX];
  hl_data_rule rules[2 * HL_INPUTS_MAX];
  size_t inputs, count;
} ports;

static hl_status add_input(const hl_model_file *file, size_t i, const hl_configuration *c, ports *p,
                           hl_error *error) {
  hl_port port = file->inputs[i];
  int32_t axis = hl_model_file_input_axis(file, i);
  if (axis > 0)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: input '%.60s' has its batch in dimension %d; training feeds batches "
                        "in the first. Export the model with the batch first",
                        c->model, port.name, axis);
  if (axis == 0) port.dims[0] = -1;
  p->rules[p->count] = (hl_data_rule){
      .batch_axis = axis, .index_limit = file->index_limits ? file->index_limits[i] : 0};
  p->items[p->count++] = port;
  return HL_OK;
}

static hl_status add_target(hl_training_data *d, const hl_value *output, ports *p,
                            hl_error *error) {
  const hl_configuration *c = d->configuration;
  hl_shape shape;
  hl_dtype dtype;
  if (!hl_graph_target(d->loss, output, &shape, &dtype))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--loss %s does not fit output '%.60s' of %s, which has %d dimensions of "
                        "%s; choose another loss",
                        hl_loss_name(d->loss), output->name, c->model, output->shape.rank,
                        hl_dtype_name(output->dtype));
  if (shape.rank < 1 || shape.dims[0] != c->batch_size)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: output '%.60s' has no batch in its first dimension, so that no sample "
                        "has a target of its own",
                        c->model, output->name);
  if (d->loss == HL_LOSS_CROSS_ENTROPY) d->classes[d->target_count] = output->shape.dims[1];
  hl_port port = {.name = output->name, .dtype = dtype, .rank = shape.rank};
  memcpy(port.dims, shape.dims, sizeof port.dims);
  port.dims[0] = -1;
  p->rules[p->count] = (hl_data_rule){.index_limit = d->classes[d->target_count]};
  p->items[p->count++] = port;
  d->target_count++;
  return HL_OK;
}

/* What targets are for: the model's outputs, of a whole batch. */
typedef struct outputs {
  hl_value items[HL_SOURCE_PORTS_MAX];
  size_t count;
} outputs;

static hl_status find_ports(hl_training_data *d, const hl_model_file *file, const outputs *o,
                            ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  hl_status status = HL_OK;
  if (file->fixed_batch && file->fixed_batch != c->batch_size)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s runs batches of %" PRId64 " only; give "
                        "--batch-size %" PRId64,
                        c->model, file->fixed_batch, file->fixed_batch);
  if (file->input_count < 1 || file->input_count + o->count > HL_SOURCE_PORTS_MAX)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%s: %zu inputs and %zu outputs; together 2 to %d can be trained", c->model,
                        file->input_count, o->count, HL_SOURCE_PORTS_MAX);
  for (size_t i = 0; i < file->input_count && status == HL_OK; i++)
    status = add_input(file, i, c, p, error);
  d->input_count = p->inputs = p->count;
  for (size_t i = 0; i < o->count && status == HL_OK; i++)
    status = add_target(d, &o->items[i], p, error);
  return status;
}

/* -- synthetic data -------------------------------------------------------------------------- */

/* An epoch is so many batches, as far as they take a second or so to draw. */
static int64_t samples_to_draw(const hl_training_data *d, const ports *p) {
  enum { batches = 16 };
  static const double most_bytes = 1 << 29;
  const hl_configuration *c = d->configuration;
  double sample = 0;
  if (c->n_images) return c->n_images;
  for (size_t i = 0; i < p->count; i++) {
    double bytes = p->rules[i].batch_axis < 0 ? 0 : (double)hl_dtype_bytes(p->items[i].dtype);
    for (int32_t axis = 1; axis < p->items[i].rank; axis++) bytes *= (double)p->items[i].dims[axis];
    sample += bytes;
  }
  double most = most_bytes / (sample * (double)c->batch_size * (double)d->ranks);
  int64_t drawn = most < 1 ? 1 : most < batches ? (int64_t)most : batches;
  return drawn * c->batch_size * d->ranks;
}

/* What the loss wants in place of standard normal numbers. */
static const char *shape_targets(const hl_training_data *d, const ports *p) {
  for (size_t i = p->inputs; i < p->count; i++) {
    const hl_tensor_view *array = &d->dataset->inputs[i];
    float *values = array->data;
    for (uint64_t k = 0; array->dtype == HL_FLOAT32 && k < array->bytes / sizeof *values; k++)
      if (d->loss == HL_LOSS_DICE_CROSS_ENTROPY)
        values[k] = values[k] > 0 ? 1 : 0;
      else if (d->loss == HL_LOSS_POISSON)
        values[k] = fabsf(values[k]);
  }
  switch (d->loss) {
  case HL_LOSS_CROSS_ENTROPY:
    return "random classes";
  case HL_LOSS_DICE_CROSS_ENTROPY:
    return "random masks";
  case HL_LOSS_POISSON:
    return "absolute values of normal numbers";
  case HL_LOSS_MEAN_SQUARE:
  case HL_LOSS_MEAN_ABSOLUTE:
  case HL_LOSS_HOST:
    break;
  }
  return "standard normal numbers";
}

static hl_status draw(hl_training_data *d, ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  uint64_t seed = (uint64_t)c->seed;
  hl_dataset *inputs = NULL;
  int64_t count = samples_to_draw(d, p);
  char names[HL_INPUTS_MAX][24]; /* an output's own name may say what inputs are drawn as */
  for (size_t i = p->inputs; i < p->count; i++) {
    snprintf(names[i - p->inputs], sizeof names[0], "target %zu", i - p->inputs);
    p->items[i].name = names[i - p->inputs];
  }
  hl_status status =
      hl_dataset_synthetic(p->items, p->rules, p->count, count, seed, &d->dataset, error);
  if (status != HL_OK) return status;
  /* One sample, for the sentence about the inputs alone. */
  status = hl_dataset_synthetic(p->items, p->rules, p->inputs, 1, seed, &inputs, error);
  if (status != HL_OK) return status;
  const char *kind = strchr(inputs->description, '(');
  d->description =
      hl_format("%" PRId64 " synthetic samples %s, targets: %s that have nothing to do "
                "with the inputs",
                count, kind ? kind : "", shape_targets(d, p));
  hl_dataset_free(inputs);
  return d->description ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for data");
}

/* -- files ----------------------------------------------------------------------------------- */

/* The array that holds the targets of an output; NULL: none does. */
static const char *array_of(const hl_npz *npz, const char *output, bool only) {
  static const char *const names[] = {"target", "targets", "label", "labels", "mask", "y"};
  if (hl_npz_find(npz, output)) return output;
  for (size_t i = 0; only && i < HL_COUNT(names); i++)
    if (hl_npz_find(npz, names[i])) return names[i];
  return NULL;
}

static hl_status name_targets(const hl_training_data *d, ports *p, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(d->name, NULL, &npz, error);
  if (status != HL_OK) return status;
  for (size_t i = p->inputs; i < p->count && status == HL_OK; i++) {
    const char *output = p->items[i].name;
    const char *name = array_of(npz, output, p->count - p->inputs == 1);
    if (!name)
      status =
          hl_error_set(error, HL_NOT_FOUND,
                       "%s has no targets for output '%.60s': an array of that name%s, with "
                       "one entry for each input",
                       hl_npz_name(npz), output,
                       p->count - p->inputs == 1 ? ", or 'target', 'label', 'mask' or 'y'" : "");
    else
      p->items[i].name = name;
  }
  hl_npz_free(npz);
  return status;
}

static hl_status read_file(hl_training_data *d, ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  const hl_data_choice choice = {.max_images = c->n_images, .seed = (uint64_t)c->seed};
  hl_status status = name_targets(d, p, error);
  /* Labels are no indices that count from the end: hl_training_data_check looks at them. */
  for (size_t i = p->inputs; i < p->count; i++) p->rules[i].index_limit = 0;
  if (status == HL_OK)
    status = hl_dataset_read(d->name, p->items, p->rules, p->count, &choice, &d->dataset, error);
  if (status == HL_UNIMPLEMENTED) status = HL_BAD_DATA; /* the file's fault, not an engine's */
  return status;
}

/* -- pictures and volumes -------------------------------------------------------------------- */

/* Pictures, read as they are needed, and their classes. */
static hl_status open_pictures(hl_training_data *d, ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  if (p->inputs != 1 || p->count != 2)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s is a folder of pictures, for a network with one input and one "
                        "output; %s has %zu and %zu",
                        d->name, c->model, p->inputs, p->count - p->inputs);
  p->items[1].name = "label"; /* the output's own name goes with the graph */
  hl_status status = hl_image_folder_open(d->name, HL_IMAGES_TO_TRAIN, &d->folder, error);
  if (status == HL_OK)
    status = hl_source_of_images(d->folder, &p->items[0], &p->items[1], d->classes[0], c->n_images,
                                 c->decodes_scaled ? HL_IMAGE_SCALED : HL_IMAGE_EXACT, &d->source,
                                 error);
  return status;
}

static hl_status open_volumes(hl_training_data *d, const ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  hl_volume_recipe recipe;
  hl_volume_set *set = NULL;
  bool masks = d->loss == HL_LOSS_DICE_CROSS_ENTROPY;
  if (p->inputs != 1 || d->target_count != 1 || d->loss == HL_LOSS_CROSS_ENTROPY ||
      !hl_volume_ports_fit(&p->items[0], &p->items[1]))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s holds volumes, which networks are trained with that have one input and "
                        "one output of one channel and the same shape, as dynunet, by dice-ce, mse "
                        "or mae; %s is none, or --loss is another",
                        d->name, c->model);
  hl_volume_recipe_default(masks ? HL_VOLUME_SEGMENTATION : HL_VOLUME_LABEL_FREE, &recipe);
  hl_status status = hl_volume_recipe_parse(c->train->transform, &recipe, error);
  if (status == HL_OK)
    status = hl_volume_set_open(d->name, &recipe, (uint64_t)c->seed, c->n_images, &set, error);
  if (status == HL_OK)
    status = hl_source_of_volumes(set, &p->items[0], &p->items[1], &d->source, error);
  d->is_volumes = status == HL_OK;
  return status;
}

/* A file of arrays, or drawn: all of it in memory. */
static hl_status open_arrays(hl_training_data *d, ports *p, hl_error *error) {
  hl_status status = d->dataset                    ? HL_OK
                     : d->configuration->test_data ? read_file(d, p, error)
                                                   : draw(d, p, error);
  if (status != HL_OK) return status;
  const hl_batch whole = {.count = d->dataset->count,
                          .value_count = d->dataset->input_count,
                          .values = d->dataset->inputs};
  status = check_targets(d, &whole, error);
  if (status != HL_OK) return status;
  return hl_source_of_dataset(d->dataset, p->rules, d->target_count, &d->source, error);
}

static hl_status open_source(hl_training_data *d, ports *p, hl_error *error) {
  const hl_configuration *c = d->configuration;
  /* An array called image is a volume for networks of volumes only. */
  bool takes_volumes =
      p->inputs == 1 && d->target_count == 1 && hl_volume_ports_fit(&p->items[0], &p->items[1]);
  bool read = c->test_data && !d->dataset;
  bool volumes = read && hl_volume_set_is(c->test_data) &&
                 (takes_volumes || hl_data_kind_of(c->test_data) != HL_DATA_ARRAYS);
  bool pictures = read && !volumes && hl_data_kind_of(c->test_data) == HL_DATA_PICTURES;
  hl_status status = volumes    ? open_volumes(d, p, error)
                     : pictures ? open_pictures(d, p, error)
                                : open_arrays(d, p, error);
  if (status == HL_OK && !volumes && c->train->transform)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--transform is for volumes, and %s is none",
                          d->name);
  if (status != HL_OK) return status;
  if (d->description) return HL_OK;
  d->description = hl_strdup(d->source->description);
  return d->description ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for data");
}

/* -- all of it ------------------------------------------------------------------------------- */

static hl_status count_batches(hl_training_data *d, bool full, hl_error *error) {
  int64_t batch = 0, count = d->source->count;
  if (__builtin_mul_overflow(d->configuration->batch_size, d->ranks, &batch)) batch = INT64_MAX;
  if (batch > count && d->ranks > 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: %" PRId64 " samples are less than a joint batch of %" PRId64
                        ", %" PRId64 " for each of %" PRId64
                        " ranks; give a smaller --batch-size or fewer "
                        "--ranks",
                        d->name, count, batch, d->configuration->batch_size, d->ranks);
  if (batch > count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: %" PRId64 " samples are less than a batch of %" PRId64
                        "; give --batch-size %" PRId64 " or less%s",
                        d->name, count, batch, count,
                        d->configuration->n_images ? ", or a larger --n-images" : "");
  int64_t *rest = full ? &d->left_out : &d->rest;
  *rest = count % batch;
  d->batches = count / batch + (d->rest > 0);
  return HL_OK;
}

/* As the graph of the file infers them; `ret_graph` owns their names. */
static hl_status infer_outputs(const hl_configuration *c, const hl_model_file *file, outputs *o,
                               hl_graph **ret_graph, hl_error *error) {
  hl_status status = hl_model_file_graph(file, c, ret_graph, error);
  if (status != HL_OK) return status;
  hl_graph *graph = *ret_graph;
  if (file->fixed_batch == 0) {
    int32_t axes[HL_INPUTS_MAX];
    for (size_t i = 0; i < file->input_count; i++) axes[i] = hl_model_file_input_axis(file, i);
    hl_shapes_bind_batch(graph, axes, c->batch_size);
  }
  status = hl_graph_infer(graph, error);
  o->count = graph->output_count;
  for (size_t i = 0; i < o->count && i < HL_COUNT(o->items); i++)
    o->items[i] = graph->values[graph->outputs[i]];
  return status;
}

/* As the engine of a foreign model has described them. */
static void take_outputs(const hl_configuration *c, const hl_model_file *file, outputs *o) {
  o->count = file->output_count;
  for (size_t i = 0; i < o->count && i < HL_COUNT(o->items); i++) {
    const hl_port *port = &file->outputs[i];
    hl_value *value = &o->items[i];
    *value = (hl_value){.name = (char *)(uintptr_t)port->name, .dtype = port->dtype};
    value->shape.rank = port->rank;
    memcpy(value->shape.dims, port->dims, sizeof port->dims);
    int32_t axis = hl_model_file_output_axis(file, i);
    if (axis >= 0) value->shape.dims[axis] = c->batch_size;
  }
}

static hl_status open_data(hl_training_data *d, const hl_model_file *file, hl_error *error) {
  const hl_configuration *c = d->configuration;
  hl_graph *graph = NULL;
  if (file->unread)
    return hl_error_set(error, HL_UNIMPLEMENTED, "%s cannot be trained: %s", c->model,
                        file->unread);
  ports *p = calloc(1, sizeof *p);
  outputs *o = calloc(1, sizeof *o);
  hl_status status = p && o ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for data");
  if (status == HL_OK && file->foreign)
    take_outputs(c, file, o);
  else if (status == HL_OK)
    status = infer_outputs(c, file, o, &graph, error);
  if (status == HL_OK) status = find_ports(d, file, o, p, error);
  if (status == HL_OK) status = open_source(d, p, error);
  bool full = c->train->drop_last || d->ranks > 1 || file->fixed_batch;
  if (status == HL_OK) status = count_batches(d, full, error);
  hl_graph_free(graph);
  free(o);
  free(p);
  return status;
}

hl_status hl_training_data_open(const hl_configuration *configuration, const hl_model_file *file,
                                hl_loss loss, hl_dataset *made, int64_t rank, int64_t ranks,
                                hl_training_data *ret_data, hl_error *error) {
  const char *path = configuration->test_data;
  hl_training_data d = {.configuration = configuration,
                        .name = path ? path : "the synthetic data",
                        .loss = loss,
                        .dataset = made,
                        .dataset_is_lent = made != NULL,
                        .rank = rank,
                        .ranks = ranks};
  hl_status status = open_data(&d, file, error);
  if (status == HL_OK)
    *ret_data = d;
  else
    hl_training_data_release(&d);
  return status;
}

hl_status hl_training_data_start(hl_training_data *data, int64_t epoch, int64_t number,
                                 hl_error *error) {
  const hl_configuration *c = data->configuration;
  const hl_loader_spec spec = {.source = data->source,
                               .batch_size = c->batch_size,
                               .part = data->rank,
                               .parts = data->ranks,
                               .threads = (int)c->train->loader_threads,
                               .seed = (uint64_t)c->seed,
                               .is_shuffled = true,
                               .is_whole = data->rest == 0,
                               .transform = data->is_volumes ? hl_volume_source_cut : NULL,
                               .transform_context = data->source->context,
                               .ports =
                                   data->is_volumes ? hl_volume_source_ports(data->source) : NULL};
  hl_status status = hl_loader_new(&spec, &data->loader, error);
  if (status != HL_OK || (epoch == 0 && number == 0)) return status;
  return hl_loader_seek(data->loader, epoch, number, error);
}

void hl_training_data_release(hl_training_data *data) {
  hl_loader_free(data->loader);
  hl_source_free(data->source);
  if (!data->dataset_is_lent) hl_dataset_free(data->dataset);
  hl_image_folder_free(data->folder);
  free(data->description);
  *data = (hl_training_data){0};
}

/* -- checking targets ------------------------------------------------------------------------ */

static hl_status bad_value(const hl_training_data *d, const hl_batch *batch, size_t target,
                           int64_t at, hl_error *error) {
  const hl_tensor_view *view = &batch->values[d->input_count + target];
  int64_t per_sample = (int64_t)(view->bytes / hl_dtype_bytes(view->dtype)) / batch->count;
  int64_t sample = at / per_sample, within = at % per_sample;
  if (batch->indices) sample = batch->indices[sample];
  hl_text place = HL_TEXT_INIT;
  hl_text_format(&place, "%s: array '%.60s', sample %" PRId64, d->name, view->name, sample);
  if (per_sample > 1) hl_text_format(&place, ", element %" PRId64, within);
  double value = hl_array_at(view, at);
  if (view->dtype == HL_INT64)
    hl_error_set(error, HL_BAD_DATA,
                 "%s: the label %.0f is no class; the network has %" PRId64 ", 0 to %" PRId64,
                 place.data, value, d->classes[target], d->classes[target] - 1);
  else if (!isfinite(value))
    hl_error_set(error, HL_BAD_DATA, "%s: the target %g is not finite", place.data, value);
  else
    hl_error_set(error, HL_BAD_DATA, "%s: the target %g is %s", place.data, value,
                 d->loss == HL_LOSS_POISSON ? "a negative count"
                                            : "no mask, which dice-ce needs: 0 to 1");
  hl_text_release(&place);
  return HL_BAD_DATA;
}

static bool float_is_bad(hl_loss loss, float value) {
  if (!isfinite(value)) return true;
  if (loss == HL_LOSS_POISSON) return value < 0;
  return loss == HL_LOSS_DICE_CROSS_ENTROPY && (value < 0 || value > 1);
}

static hl_status check_targets(const hl_training_data *data, const hl_batch *batch,
                               hl_error *error) {
  for (size_t t = 0; t < data->target_count; t++) {
    const hl_tensor_view *view = &batch->values[data->input_count + t];
    int64_t count = (int64_t)(view->bytes / hl_dtype_bytes(view->dtype)), i = 0;
    if (view->dtype == HL_INT64) {
      const int64_t *labels = view->data;
      while (i < count && labels[i] >= 0 && labels[i] < data->classes[t]) i++;
    } else {
      const float *values = view->data;
      while (i < count && !float_is_bad(data->loss, values[i])) i++;
    }
    if (i < count) return bad_value(data, batch, t, i, error);
  }
  return HL_OK;
}

hl_status hl_training_data_check(const hl_training_data *data, const hl_batch *batch,
                                 hl_error *error) {
  return data->dataset ? HL_OK : check_targets(data, batch, error);
}
