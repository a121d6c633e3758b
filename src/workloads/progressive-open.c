/* What a pass needs: the object, the apertures, the telescope, the compiled generator. */
#include "workloads/progressive-internal.h"
#include "workloads/shapes.h"

#include "base/pages.h"
#include "data/picture.h"
#include "imaging/telescope-object.h"
#include "models/spec.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for progressive imaging");
}

/* -- the network's picture --------------------------------------------------------------------- */

static hl_status check_network(hl_progressive *p, hl_error *error) {
  const hl_model_file *file = p->file;
  const hl_port *port = file->outputs;
  if (file->output_count == 1 && port->dtype == HL_FLOAT32 && port->rank >= 2) {
    int64_t rows = port->dims[port->rank - 2], columns = port->dims[port->rank - 1], others = 1;
    for (int32_t d = 1; d < port->rank - 2; d++) others *= port->dims[d];
    if (rows == columns && rows > 0 && others == 1) {
      p->image = rows;
      return HL_OK;
    }
  }
  return hl_error_set(error, HL_UNIMPLEMENTED,
                      "%s: progressive imaging is for a network that shows one square picture of "
                      "one channel, such as prism_generator",
                      p->configuration->model);
}

/* Of prism_generator what is not zero; of another network all of the image. */
static hl_status find_object_size(hl_progressive *p, hl_error *error) {
  p->object = p->image;
  if (!p->configuration->is_builtin ||
      strncmp(p->configuration->model, "prism_generator", strlen("prism_generator")) != 0)
    return HL_OK;
  hl_model_spec spec;
  hl_status status = hl_model_spec_parse(p->configuration->model, &spec, error);
  if (status == HL_OK) p->object = hl_model_int(&spec, "object");
  return status;
}

static hl_status check_engine(const hl_progressive *p, hl_error *error) {
  const hl_engine_ops *ops = &p->inference->ops;
  if (ops->states && ops->state_read && ops->state_write) return HL_OK;
  return hl_error_set(
      error, HL_UNIMPLEMENTED,
      "engine %s cannot train, which progressive imaging does; native and torch can", ops->name);
}

/* -- the object -------------------------------------------------------------------------------- */

static hl_status make_truth(hl_progressive *p, hl_error *error) {
  const hl_progressive_spec *s = p->spec;
  HL_CLEANUP(hl_free_pointer) float *object = NULL;
  p->description = (hl_text)HL_TEXT_INIT;
  p->notes = (hl_text)HL_TEXT_INIT;
  if (s->object) {
    hl_status status = hl_picture_read(s->object, p->object, &object, &p->notes, error);
    if (status != HL_OK) return status;
    hl_text_format(&p->description, "%s, %" PRId64 "x%" PRId64 " pixels in %" PRId64 "x%" PRId64,
                   s->object, p->object, p->object, p->image, p->image);
  } else {
    object = malloc((size_t)(p->object * p->object) * sizeof *object);
    if (!object) return no_memory(error);
    hl_telescope_object_make(p->object, (uint64_t)p->configuration->seed, object);
    hl_text_format(&p->description,
                   "generated moon (seed %" PRId64 "), %" PRId64 "x%" PRId64 " pixels in %" PRId64
                   "x%" PRId64,
                   p->configuration->seed, p->object, p->object, p->image, p->image);
  }
  hl_telescope_object_place(object, p->object, p->image, p->truth);
  bool black = true;
  for (size_t i = 0; i < p->pixels && black; i++) black = !(p->truth[i] > 0);
  if (black)
    hl_text_format(&p->notes,
                   "%sthe object is all black: there is nothing to see, and losses are "
                   "those of the generator's own light",
                   p->notes.length ? "; " : "");
  return p->description.failed || p->notes.failed ? no_memory(error) : HL_OK;
}

/* -- telescope --------------------------------------------------------------------------------- */

static hl_status make_telescope(hl_progressive *p, hl_error *error) {
  static const struct {
    unsigned from, to;
  } options[] = {{HL_OPTIMIZE_GRID_CACHE, HL_TELESCOPE_GRID_CACHE},
                 {HL_OPTIMIZE_FFT_PLAN_CACHE, HL_TELESCOPE_PLAN_CACHE},
                 {HL_OPTIMIZE_MEASUREMENT_CACHE, HL_TELESCOPE_MEASUREMENT_CACHE},
                 {HL_OPTIMIZE_KEPT_SPECTRUM, HL_TELESCOPE_KEPT_SPECTRUM},
                 {HL_OPTIMIZE_MATRIX_DFT, HL_TELESCOPE_MATRIX_DFT},
                 {HL_OPTIMIZE_REAL_INPUT, HL_TELESCOPE_REAL_INPUT},
                 {HL_OPTIMIZE_INCREMENTAL_MASK, HL_TELESCOPE_INCREMENTAL_MASK}};
  const hl_progressive_spec *s = p->spec;
  hl_telescope_spec spec = {.image = p->image,
                            .object = p->object,
                            .radius = s->radius,
                            .snr = isnan(s->snr_db) ? 0 : pow(10, s->snr_db / 10),
                            .seed = (uint64_t)p->configuration->seed,
                            .threads = (int)p->configuration->threads,
                            .cache_bytes = (uint64_t)s->cache_mb * 1000000};
  for (size_t i = 0; i < HL_COUNT(options); i++)
    if (s->optimizations & options[i].from) spec.options |= options[i].to;
  hl_status status = hl_telescope_new(&spec, &p->telescope, error);
  if (status != HL_OK) return status;
  hl_aperture_spec apertures = {.count = s->samples,
                                .image = p->image,
                                .radius = s->radius,
                                .seed = (uint64_t)p->configuration->seed};
  if (!hl_pattern_parse(s->pattern, &apertures.pattern))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.60s' is no pattern of apertures",
                        s->pattern);
  return hl_aperture_pattern(&apertures, &p->apertures, error);
}

static hl_status make_pictures(hl_progressive *p, hl_error *error) {
  float **const all[] = {&p->truth, &p->picture, &p->seen_old, &p->seen_new};
  if (p->image > HL_PICTURE_SIDE_MAX)
    return hl_error_set(error, HL_LIMIT, "pictures of %" PRId64 " pixels a side; %d are the most",
                        p->image, HL_PICTURE_SIDE_MAX);
  p->pixels = (size_t)(p->image * p->image);
  for (size_t i = 0; i < HL_COUNT(all); i++) {
    *all[i] = hl_pages_new(p->pixels * sizeof **all[i]);
    if (!*all[i]) return no_memory(error);
  }
  p->shown = calloc((size_t)(p->object * p->object), sizeof *p->shown);
  if (!p->shown) return no_memory(error);
  return HL_OK;
}

hl_status hl_progressive_open(const hl_configuration *configuration, const hl_model_file *file,
                              hl_inference *inference, hl_progressive **ret_progressive,
                              hl_error *error) {
  hl_progressive *p = calloc(1, sizeof *p);
  if (!p) return no_memory(error);
  p->configuration = configuration;
  p->spec = configuration->progressive;
  p->file = file;
  p->inference = inference;
  p->rate = (float)p->spec->rate;
  hl_status status = check_network(p, error);
  if (status == HL_OK) status = check_engine(p, error);
  if (status == HL_OK) status = find_object_size(p, error);
  if (status == HL_OK) status = make_pictures(p, error);
  if (status == HL_OK) status = make_telescope(p, error);
  if (status == HL_OK) status = make_truth(p, error);
  if (status == HL_OK) hl_telescope_set_truth(p->telescope, p->truth, 1);
  if (status != HL_OK) {
    hl_progressive_free(p);
    return status;
  }
  *ret_progressive = p;
  return HL_OK;
}

void hl_progressive_free(hl_progressive *progressive) {
  hl_progressive *p = progressive;
  if (!p) return;
  if (p->request) p->inference->ops.request_free(p->request);
  if (p->program) p->inference->ops.program_free(p->program);
  hl_telescope_free(p->telescope);
  free(p->apertures);
  free(p->truth);
  free(p->picture);
  free(p->shown);
  free(p->seen_old);
  free(p->seen_new);
  free(p->zeros);
  free(p->states);
  free(p->state_data);
  hl_text_release(&p->description);
  hl_text_release(&p->notes);
  free(p);
}

/* -- the generator ----------------------------------------------------------------------------- */

static hl_program_spec specify(const hl_progressive *p, hl_port *ports,
                               hl_training_spec *ret_training) {
  hl_program_spec spec = hl_inference_specify(p->inference, 1, ports);
  *ret_training = (hl_training_spec){
      .size = sizeof *ret_training,
      .loss = HL_LOSS_HOST,
      .optimizer = p->spec->optimizer,
      .beta1 = 0.9,
      .beta2 = 0.999,
      .epsilon = 1e-8,
      .seed = (uint64_t)p->configuration->seed,
      .host_loss = hl__progressive_lose,
      .host_loss_context = (void *)(uintptr_t)p,
      .restarts = p->spec->epochs == 1 && p->spec->optimizer == HL_OPTIMIZER_ADAM &&
                  (p->spec->optimizations & HL_OPTIMIZE_FUSED_GENERATOR) != 0};
  spec.mode = HL_MODE_TRAINING;
  spec.training = ret_training;
  return spec;
}

hl_status hl_progressive_plan(hl_progressive *progressive, hl_program_plan *ret_plan,
                              bool *ret_known, hl_error *error) {
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  const hl_engine_ops *ops = &progressive->inference->ops;
  *ret_plan = (hl_program_plan){.size = sizeof *ret_plan};
  *ret_known = ops->plan != NULL;
  if (!ops->plan) return HL_OK;
  hl_program_spec spec = specify(progressive, ports, &how);
  return ops->plan(progressive->inference->model, &spec, ret_plan, error);
}

static hl_status bind_inputs(hl_progressive *p, const hl_port *ports, hl_error *error) {
  const hl_inference *in = p->inference;
  size_t count = p->file->input_count, most = 1;
  for (size_t i = 0; i < count; i++)
    if (in->views[i].bytes > most) most = in->views[i].bytes;
  p->zeros = calloc(1, most);
  if (!p->zeros) return no_memory(error);
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_tensor_view view = in->views[i];
    memcpy(view.dims, ports[i].dims, sizeof view.dims);
    if (in->image_bytes[i]) view.bytes = in->image_bytes[i];
    view.data = p->zeros;
    status = in->ops.bind(p->request, i, &view, error);
  }
  hl_tensor_view rate = {
      .name = "learning_rate", .dtype = HL_FLOAT32, .data = &p->rate, .bytes = sizeof p->rate};
  hl_tensor_view step = {
      .name = "step", .dtype = HL_INT64, .data = &p->number, .bytes = sizeof p->number};
  if (status == HL_OK) status = in->ops.bind(p->request, count, &rate, error);
  return status == HL_OK ? in->ops.bind(p->request, count + 1, &step, error) : status;
}

static bool ends_with(const char *name, const char *end) {
  size_t length = strlen(name), tail = strlen(end);
  return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* A copy of all but Adam's moments, which a first update does not read. */
static hl_status keep_states(hl_progressive *p, hl_error *error) {
  const hl_engine_ops *ops = &p->inference->ops;
  const hl_port *ports;
  size_t count;
  hl_status status = ops->states(p->program, &ports, &count, error);
  if (status != HL_OK) return status;
  p->states = calloc(count ? count : 1, sizeof *p->states);
  if (!p->states) return no_memory(error);
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    if (ends_with(ports[i].name, "/mean") || ends_with(ports[i].name, "/square")) continue;
    hl_tensor_view view = {0};
    status = ops->state_read(p->program, ports[i].name, &view, error);
    if (status != HL_OK) return status;
    char *grown = realloc(p->state_data, used + view.bytes + 1);
    if (!grown) return no_memory(error);
    p->state_data = grown;
    memcpy(grown + used, view.data, view.bytes);
    view.name = ports[i].name;
    view.data = (void *)used; /* its place, until all are there */
    used += view.bytes;
    p->states[p->state_count++] = view;
  }
  for (size_t i = 0; i < p->state_count; i++)
    p->states[i].data = (char *)p->state_data + (size_t)p->states[i].data;
  return HL_OK;
}

hl_status hl_progressive_prepare(hl_progressive *progressive, hl_error *error) {
  hl_progressive *p = progressive;
  const hl_engine_ops *ops = &p->inference->ops;
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  hl_program_spec spec = specify(p, ports, &how);
  hl_status status = ops->prepare(p->inference->model, &spec, &p->program, error);
  if (status == HL_OK) status = ops->request(p->program, &p->request, error);
  if (status == HL_OK) status = bind_inputs(p, ports, error);
  return status == HL_OK ? keep_states(p, error) : status;
}
