#include "workloads/quantize.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/onnx.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Outputs of one run over the images that are compared later. */
typedef struct outputs {
  float **values; /* by output, images one after another; NULL of an output that is not float32 */
  size_t *counts; /* elements an image */
  size_t count;
} outputs;

typedef struct calibration {
  const hl_configuration *configuration; /* of one batch */
  const char *cache_directory;
  const hl_host *host;
  const hl_quantize_options *options;
  hl_model_file file; /* the float32 model's */
  hl_graph *model;
  hl_quantizer *quantizer;
  hl_observer *observers;
  outputs before, after;
  int64_t images;
} calibration;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to quantise the model");
}

static void outputs_release(outputs *o) {
  for (size_t i = 0; o->values && i < o->count; i++) free(o->values[i]);
  free(o->values);
  free(o->counts);
  *o = (outputs){0};
}

/* -- running ---------------------------------------------------------------------------------- */

typedef hl_status (*visit_fn)(calibration *c, hl_inference *in, int64_t first, int64_t images,
                              hl_error *error);

static hl_status step_over(calibration *c, hl_inference *in, const char *what, visit_fn visit,
                           hl_error *error) {
  in->offset = 0;
  in->full_only = true;
  int64_t batch = in->full.images, total = in->dataset->count / batch * batch;
  c->images = total;
  for (int64_t done = 0; done < total; done += batch) {
    const hl_quantize_options *o = c->options;
    if (o->progress && !o->progress(o->context, what, done, total))
      return hl_error_set(error, HL_INTERRUPTED, "interrupted");
    int64_t images;
    hl_status status = hl_inference_step(in, &images, error);
    if (status == HL_OK) status = visit(c, in, done, images, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* A graph as a file in memory, which every engine can open by path. */
static hl_status write_to_memory(const hl_graph *graph, int *ret_fd, char path[64],
                                 hl_error *error) {
  *ret_fd = memfd_create("hotlap-calibration", MFD_CLOEXEC);
  if (*ret_fd < 0) return hl_error_errno(error, HL_IO, "no file in memory for the network");
  snprintf(path, 64, "/proc/self/fd/%d", *ret_fd);
  return hl_onnx_write_fd(graph, *ret_fd, error);
}

static hl_status run_passes(calibration *c, hl_inference *in, const char *what,
                            const visit_fn *visits, size_t count, hl_error *error) {
  hl_status status = hl_inference_load(in, error);
  if (status == HL_OK) status = hl_inference_prepare(in, error);
  for (size_t i = 0; status == HL_OK && i < count; i++)
    status = step_over(c, in, what, visits[i], error);
  return status;
}

/* Runs a graph over the data, once for each of `visits`. */
static hl_status run(calibration *c, const hl_graph *graph, hl_dtype dtype, const char *what,
                     const visit_fn *visits, size_t count, hl_error *error) {
  hl_configuration configuration = *c->configuration;
  char path[64];
  int fd;
  hl_status status = write_to_memory(graph, &fd, path, error);
  configuration.model = path;
  configuration.is_builtin = configuration.is_foreign = false;
  configuration.dtype = dtype == HL_INT8 ? "int8" : "float32";
  hl_model_file file = {.memory_fd = -1};
  if (status == HL_OK) status = hl_model_file_open(&configuration, NULL, &file, error);
  if (status == HL_OK) {
    hl_inference in = {0};
    status = hl_inference_open(&configuration, &file, c->host, &in, error);
    if (status == HL_OK) {
      status = run_passes(c, &in, what, visits, count, error);
      hl_inference_release(&in);
    }
  }
  hl_model_file_release(&file);
  if (fd >= 0) close(fd);
  return status;
}

/* -- what is kept of a step ------------------------------------------------------------------- */

static hl_status keep_outputs(const calibration *c, hl_inference *in, outputs *o, int64_t first,
                              int64_t images, hl_error *error) {
  if (!o->values) {
    o->count = c->model->output_count;
    o->values = calloc(o->count + 1, sizeof *o->values);
    o->counts = calloc(o->count + 1, sizeof *o->counts);
    if (!o->values || !o->counts) return no_memory(error);
  }
  for (size_t i = 0; i < o->count; i++) {
    hl_tensor_view view = {0};
    hl_status status = in->ops.output(in->full.request, i, &view, error);
    if (status != HL_OK) return status;
    uint64_t per_image = view.bytes / sizeof(float) / (uint64_t)images;
    if (view.dtype != HL_FLOAT32 || view.rank < 1 || view.dims[0] != images) continue;
    if (!o->values[i]) {
      o->counts[i] = (size_t)per_image;
      o->values[i] = calloc((size_t)c->images * (size_t)per_image + 1, sizeof(float));
      if (!o->values[i]) return no_memory(error);
    }
    memcpy(o->values[i] + (size_t)first * o->counts[i], view.data,
           (size_t)images * o->counts[i] * sizeof(float));
  }
  return HL_OK;
}

static hl_status place_view(const calibration *c, hl_inference *in, size_t i, hl_tensor_view *view,
                            hl_error *error) {
  bool is_input;
  size_t port = hl_quantizer_port(c->quantizer, i, &is_input);
  if (is_input)
    *view = in->views[port];
  else {
    hl_status status = in->ops.output(in->full.request, port, view, error);
    if (status != HL_OK) return status;
  }
  if (view->dtype == HL_FLOAT32) return HL_OK;
  return hl_error_set(error, HL_UNIMPLEMENTED, "'%.200s' is not float32; only that is quantised",
                      hl_quantizer_place(c->quantizer, i));
}

static hl_status see(calibration *c, hl_inference *in, int64_t first, int64_t images,
                     hl_error *error) {
  for (size_t i = 0; i < hl_quantizer_places(c->quantizer); i++) {
    hl_tensor_view view = {0};
    hl_status status = place_view(c, in, i, &view, error);
    if (status != HL_OK) return status;
    hl_observer_see(&c->observers[i], view.data, (size_t)(view.bytes / sizeof(float)));
    if (c->observers[i].invalid)
      return hl_error_set(error, HL_BAD_DATA,
                          "'%.200s' is not finite on image %" PRId64
                          " of the data; no range fits it. Look at the data and the weights",
                          hl_quantizer_place(c->quantizer, i), first + 1);
  }
  return keep_outputs(c, in, &c->before, first, images, error);
}

static hl_status count(calibration *c, hl_inference *in, int64_t first, int64_t images,
                       hl_error *error) {
  (void)images;
  for (size_t i = 0; i < hl_quantizer_places(c->quantizer); i++) {
    hl_tensor_view view = {0};
    hl_status status = HL_OK;
    if (first == 0) status = hl_observer_start_counting(&c->observers[i], error);
    if (status == HL_OK) status = place_view(c, in, i, &view, error);
    if (status != HL_OK) return status;
    hl_observer_count(&c->observers[i], view.data, (size_t)(view.bytes / sizeof(float)));
  }
  return HL_OK;
}

static hl_status see_after(calibration *c, hl_inference *in, int64_t first, int64_t images,
                           hl_error *error) {
  return keep_outputs(c, in, &c->after, first, images, error);
}

/* -- agreement -------------------------------------------------------------------------------- */

double hl_least_cosine(const float *a, const float *b, int64_t images, size_t count) {
  double least = 1;
  for (int64_t n = 0; n < images; n++) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = (size_t)n * count; i < (size_t)(n + 1) * count; i++) {
      ab += (double)a[i] * (double)b[i];
      aa += (double)a[i] * (double)a[i];
      bb += (double)b[i] * (double)b[i];
    }
    double cosine = aa == 0 && bb == 0 ? 1 : ab / sqrt(aa * bb);
    if (isnan(cosine)) return (double)NAN;
    if (cosine < least) least = cosine;
  }
  return least;
}

static size_t largest(const float *values, size_t count) {
  size_t at = 0;
  for (size_t i = 1; i < count; i++)
    if (values[i] > values[at]) at = i;
  return at;
}

double hl_top1_agreement(const float *a, const float *b, int64_t images, size_t count) {
  int64_t same = 0;
  for (int64_t n = 0; n < images; n++)
    same += largest(a + (size_t)n * count, count) == largest(b + (size_t)n * count, count);
  return images ? (double)same / (double)images : (double)NAN;
}

static double relative_error(const float *a, const float *b, size_t count) {
  double difference = 0, scale = 0;
  for (size_t i = 0; i < count; i++) {
    double d = fabs((double)a[i] - (double)b[i]), x = fabs((double)b[i]);
    if (!(d <= difference)) difference = d;
    if (x > scale) scale = x;
  }
  return difference == 0 ? 0 : scale > 0 ? difference / scale : (double)INFINITY;
}

static void compare(const calibration *c, hl_quantize_result *result) {
  result->cosine = 1;
  result->cosine_reason = NULL;
  result->error = 0;
  result->top1 = (double)NAN;
  for (size_t i = 0; i < c->before.count; i++) {
    const float *b = c->before.values[i], *a = c->after.values[i];
    size_t n = c->before.counts[i];
    if (!a || !b || c->after.counts[i] != n) continue;
    double cosine = hl_least_cosine(a, b, c->images, n);
    double error = relative_error(a, b, n * (size_t)c->images);
    if (isnan(cosine))
      result->cosine_reason = "an output is all zeros on one side only, or is not finite";
    if (!(cosine >= result->cosine)) result->cosine = cosine;
    if (!(error <= result->error)) result->error = error;
    bool classifier = c->file.outputs[i].rank == 2 && n > 1;
    if (classifier && isnan(result->top1)) result->top1 = hl_top1_agreement(a, b, c->images, n);
  }
}

/* -- the whole -------------------------------------------------------------------------------- */

static hl_status choose(calibration *c, hl_graph **ret_graph, hl_quantize_result *result,
                        hl_error *error) {
  size_t places = hl_quantizer_places(c->quantizer);
  HL_CLEANUP(hl_free_pointer) hl_range *ranges = calloc(places + 1, sizeof *ranges);
  if (!ranges) return no_memory(error);
  for (size_t i = 0; i < places; i++)
    ranges[i] = hl_observer_range(&c->observers[i], c->options->ranges, c->options->percentile);
  return hl_quantizer_finish(c->quantizer, ranges, ret_graph, &result->summary, error);
}

static void remark(const calibration *c, hl_graph *graph, const hl_quantize_result *result) {
  char images[32], ranges[64];
  snprintf(images, sizeof images, "%" PRId64, result->images);
  if (c->options->ranges == HL_RANGES_PERCENTILE)
    snprintf(ranges, sizeof ranges, "percentile %.10g", c->options->percentile);
  else
    snprintf(ranges, sizeof ranges, "%s", hl_ranges_name(c->options->ranges));
  hl_graph_remark_add(graph, "hotlap.quantized_from", c->configuration->model);
  hl_graph_remark_add(graph, "hotlap.calibration_data", result->data);
  hl_graph_remark_add(graph, "hotlap.calibration_images", images);
  hl_graph_remark_add(graph, "hotlap.ranges", ranges);
}

static uint64_t bytes_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* `description` of the data, which goes with the inference. */
static hl_status calibrate(calibration *c, hl_quantize_result *result, hl_error *error) {
  static const visit_fn visits[] = {see, count};
  hl_graph *graph = NULL;
  hl_status status = hl_quantizer_calibration(c->quantizer, &graph, error);
  if (status != HL_OK) return status;
  size_t passes = c->options->ranges == HL_RANGES_MINMAX ? 1 : 2;
  status = run(c, graph, HL_FLOAT32, "ranges", visits, passes, error);
  hl_graph_free(graph);
  result->images = c->images;
  result->places = hl_quantizer_places(c->quantizer);
  if (c->configuration->test_data)
    snprintf(result->data, sizeof result->data, "%s", c->configuration->test_data);
  else
    snprintf(result->data, sizeof result->data, "synthetic, standard normal, seed %" PRId64,
             c->configuration->seed);
  return status;
}

static hl_status quantize(calibration *c, const char *path, hl_quantize_result *result,
                          hl_error *error) {
  static const visit_fn visits[] = {see_after};
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(c->file.path, &c->model, error);
  if (status == HL_OK) status = hl_quantizer_new(c->model, &c->quantizer, error);
  if (status != HL_OK) return status;
  c->observers = calloc(hl_quantizer_places(c->quantizer) + 1, sizeof *c->observers);
  if (!c->observers) return no_memory(error);
  status = calibrate(c, result, error);
  if (status == HL_OK) status = choose(c, &graph, result, error);
  if (status == HL_OK) {
    remark(c, graph, result);
    status = run(c, graph, HL_INT8, "agreement", visits, 1, error);
  }
  if (status == HL_OK) status = hl_onnx_write(graph, path, error);
  hl_graph_free(graph);
  if (status != HL_OK) return status;
  compare(c, result);
  result->file_bytes = bytes_of(path);
  result->float_file_bytes = bytes_of(c->file.path);
  return HL_OK;
}

/* The network runs from a file in memory; messages name what the user knows. */
static hl_status name_model(const char *model, hl_status status, hl_error *error) {
  if (!error || status == HL_INTERRUPTED || strstr(error->msg, model)) return status;
  hl_error inner = *error;
  int before = 0, fd = 0;
  bool memory = sscanf(inner.msg, "/proc/self/fd/%d: %n", &fd, &before) == 1 && before > 0;
  return hl_error_set(error, status, "%.200s: %s", model, inner.msg + (memory ? before : 0));
}

static hl_status refuse_target(const char *path, const char *what, const char *source,
                               hl_error *error) {
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "-o: '%.150s' is %s, '%.150s', which the copy would replace; give the copy "
                      "another name",
                      path, what, source);
}

/* Nothing that the copy is made from is written over. */
static hl_status check_target(const calibration *c, const char *path, hl_error *error) {
  const char *model = c->file.path, *data = c->configuration->test_data;
  if (hl_file_is_same(path, model)) return refuse_target(path, "the model itself", model, error);
  if (data && hl_file_is_same(path, data))
    return refuse_target(path, "the calibration data", data, error);
  hl_graph *graph = NULL;
  hl_onnx_facts facts;
  hl_status status = hl_onnx_describe(model, &graph, &facts, error);
  if (status != HL_OK) return status;
  const char *slash = strrchr(model, '/');
  int folder = slash ? (int)(slash - model) + 1 : 0;
  for (const hl_onnx_external *e = facts.externals; e && status == HL_OK; e = e->next) {
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%.*s%s", folder, model, e->location);
    if (!file)
      status = no_memory(error);
    else if (hl_file_is_same(path, file))
      status = refuse_target(path, "data of the model", file, error);
  }
  hl_graph_free(graph);
  return status;
}

hl_status hl_quantize_model(const hl_configuration *configuration, const char *cache_directory,
                            const hl_host *host, const hl_quantize_options *options,
                            const char *path, hl_quantize_result *ret_result, hl_error *error) {
  hl_configuration one = *configuration;
  one.batch_size = 1;
  one.dtype = "float32";
  if (!one.n_images) one.n_images = HL_QUANTIZE_IMAGES;
  calibration c = {.configuration = &one,
                   .cache_directory = cache_directory,
                   .host = host,
                   .options = options,
                   .file = {.memory_fd = -1}};
  hl_quantize_result result = {0};
  hl_status status = hl_model_file_open(&one, cache_directory, &c.file, error);
  if (status == HL_OK) status = check_target(&c, path, error);
  if (status == HL_OK && c.file.input_count > 0 && c.file.inputs[0].rank > 0 &&
      c.file.inputs[0].dims[0] > 0) {
    one.batch_size = c.file.inputs[0].dims[0];
    one.n_images = (one.n_images + one.batch_size - 1) / one.batch_size * one.batch_size;
  }
  if (status == HL_OK) status = quantize(&c, path, &result, error);
  size_t places = c.quantizer ? hl_quantizer_places(c.quantizer) : 0;
  for (size_t i = 0; c.observers && i < places; i++) hl_observer_release(&c.observers[i]);
  free(c.observers);
  outputs_release(&c.before);
  outputs_release(&c.after);
  hl_quantizer_free(c.quantizer);
  hl_graph_free(c.model);
  hl_model_file_release(&c.file);
  if (status != HL_OK) return name_model(configuration->model, status, error);
  *ret_result = result;
  return HL_OK;
}

/* -- the copy of a row ------------------------------------------------------------------------ */

int64_t hl_quantize_images(const hl_configuration *configuration) {
  int64_t n = configuration->n_images;
  return n > 0 && n < HL_QUANTIZE_IMAGES ? n : HL_QUANTIZE_IMAGES;
}

/* Changes with the model, its shapes, the data, and how copies are made. */
static uint64_t copy_key(const hl_configuration *c, const hl_model_file *file) {
  enum { edition = 2 };
  int64_t numbers[5] = {edition, hl_quantize_images(c), c->seed};
  struct stat st;
  uint64_t key = file->hash;
  if (c->test_data && stat(c->test_data, &st) == 0) {
    numbers[2] = st.st_size;
    numbers[3] = st.st_mtim.tv_sec;
    numbers[4] = st.st_mtim.tv_nsec;
    key = hl_hash_bytes(key, c->test_data, strlen(c->test_data));
  }
  hl_text shapes = HL_TEXT_INIT;
  for (size_t i = 0; i < c->input_shape_count; i++) {
    hl_input_shape_format(&c->input_shapes[i], &shapes);
    hl_text_char(&shapes, '\n');
  }
  key = hl_hash_bytes(key, shapes.data, shapes.length);
  hl_text_release(&shapes);
  return hl_hash_bytes(key, numbers, sizeof numbers);
}

hl_status hl_quantized_copy(const hl_configuration *configuration, const hl_model_file *file,
                            const char *cache_directory, const hl_host *host, char **ret_path,
                            hl_error *error) {
  static const hl_quantize_options options = {.ranges = HL_RANGES_MINMAX};
  HL_CLEANUP(hl_free_pointer)
  char *folder = cache_directory ? hl_format("%s/quantized", cache_directory) : NULL;
  if (!folder || hl_directory_make(folder, NULL) != HL_OK)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "the 8-bit copy of the model has no place: the cache directory cannot be "
                        "written. Set XDG_CACHE_HOME, or give a file of 'hotlap models quantize'");
  char *path = hl_format("%s/%016" PRIx64 ".onnx", folder, copy_key(configuration, file));
  if (!path) return no_memory(error);
  hl_configuration c = *configuration;
  c.engine = "native";
  c.plugin_count = 0;
  c.engine_option_count = 0;
  c.n_images = hl_quantize_images(configuration);
  hl_quantize_result result;
  hl_status status = HL_OK;
  if (access(path, R_OK) != 0)
    status = hl_quantize_model(&c, cache_directory, host, &options, path, &result, error);
  if (status == HL_OK)
    *ret_path = path;
  else
    free(path);
  return status;
}
