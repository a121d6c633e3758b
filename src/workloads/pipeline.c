#include "workloads/pipeline.h"

#include "base/clock.h"
#include "imaging/merge.h"
#include "workloads/stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct hl_pipeline {
  const hl_configuration *configuration;
  hl_inference *inference;
  hl_pipeline_scan scan;
  int threads;
  int64_t pixels;                   /* of a pattern */
  int64_t input_room, patch_room;   /* of the queues, in inputs */
  float *inputs;                    /* queue before predict: normalised */
  float *amplitude, *phase;         /* queue before reassemble; of a merge its result is .. */
  float complex *merged;            /* .. here, and the two above are NULL */
  int64_t input_first, input_count; /* in the queue: where, and how many */
  int64_t patch_count;
  hl_reassembly *reassembly;
  float complex *canvas;
  float *weights;
  size_t amplitude_at; /* which output it is; the phase is the other */
  bool is_blind;       /* the engine gives no outputs */
  bool has_image;
};

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the pipeline");
}

void hl_pipeline_free(hl_pipeline *pipeline) {
  if (!pipeline) return;
  hl_pipeline_scan_release(&pipeline->scan);
  hl_reassembly_free(pipeline->reassembly);
  free(pipeline->inputs);
  free(pipeline->amplitude);
  free(pipeline->phase);
  free(pipeline->merged);
  free(pipeline->canvas);
  free(pipeline->weights);
  free(pipeline);
}

/* Outputs are amplitude and phase, by their names or else in this order. */
static size_t amplitude_of(const hl_model_file *file) {
  bool turned = strcasecmp(file->outputs[0].name, "phase") == 0 ||
                strcasecmp(file->outputs[1].name, "amplitude") == 0;
  return turned ? 1 : 0;
}

/* Two outputs of the input's shape: amplitude and phase. */
static hl_status check_model(const hl_model_file *file, const char *model, hl_error *error) {
  bool fits =
      file->input_count == 1 && file->output_count == 2 && hl_model_file_input_axis(file, 0) == 0;
  for (size_t i = 0; fits && i < 2; i++) {
    const hl_port *in = &file->inputs[0], *out = &file->outputs[i];
    fits = out->dtype == HL_FLOAT32 && out->rank == in->rank &&
           hl_model_file_output_axis(file, i) == 0;
    for (int32_t d = 1; fits && d < in->rank; d++)
      fits = out->dims[d] == in->dims[d] || out->dims[d] < 0;
  }
  if (fits) return HL_OK;
  return hl_error_set(
      error, HL_UNIMPLEMENTED,
      "%.200s: a pipeline needs a network with one input, diffraction patterns "
      "(any, patterns, N, N), and two float32 outputs of its shape, amplitude and phase",
      model);
}

/* A batch of the next stage, and what the one before brings at a time. */
static void size_queues(hl_pipeline *p) {
  const hl_pipeline_spec *spec = p->configuration->pipeline;
  int64_t batch = p->inference->full.images, count = p->scan.count;
  p->input_room = batch + (spec->preprocess_batch < count ? spec->preprocess_batch : count);
  p->patch_room = batch + (spec->reassemble_batch < count ? spec->reassemble_batch : count);
}

hl_status hl_pipeline_open(const hl_configuration *configuration, const hl_model_file *file,
                           const hl_host *host, const char *directory, hl_inference *ret_inference,
                           hl_pipeline **ret_pipeline, hl_error *error) {
  hl_status status = check_model(file, configuration->model, error);
  if (status != HL_OK) return status;
  hl_pipeline *p = calloc(1, sizeof *p);
  if (!p) return no_memory(error);
  *p = (hl_pipeline){.configuration = configuration,
                     .inference = ret_inference,
                     .amplitude_at = amplitude_of(file),
                     .threads = (int)configuration->threads};
  status = hl_pipeline_scan_open(configuration, &file->inputs[0], &p->scan, error);
  hl_dataset *batch = NULL;
  int64_t full = configuration->batch_size;
  if (status == HL_OK) {
    p->pixels = p->scan.size * p->scan.size;
    if (full > p->scan.count && !file->fixed_batch) full = p->scan.count;
    status =
        hl_reassembly_new(p->scan.inputs->x, p->scan.inputs->y, p->scan.count, p->scan.size,
                          p->scan.size < HL_REASSEMBLY_CROP ? p->scan.size : HL_REASSEMBLY_CROP,
                          &p->reassembly, error);
    if (status != HL_OK) hl_error_prefix(error, "%s", p->scan.what);
  }
  if (status == HL_OK)
    status = hl_pipeline_scan_batch(&p->scan, &file->inputs[0], full, &batch, error);
  if (status == HL_OK)
    status = hl_inference_open_on(configuration, file, host, batch, ret_inference, error);
  if (status != HL_OK) {
    hl_pipeline_free(p);
    return status;
  }
  if (configuration->pipeline->on_disk) hl_pipeline_scan_to_disk(&p->scan, directory, NULL);
  size_queues(p);
  ret_inference->data_images = p->scan.count;
  /* Of a fixed batch the last one is filled up with what is there. */
  if (!file->fixed_batch) ret_inference->partial.images = p->scan.count % full;
  *ret_pipeline = p;
  return HL_OK;
}

/* Touched now: no page faults while timing. */
static void *room(int64_t count, size_t bytes) {
  size_t all;
  if (__builtin_mul_overflow((size_t)count, bytes, &all)) return NULL;
  void *memory = malloc(all ? all : 1);
  if (memory) memset(memory, 0, all);
  return memory;
}

hl_status hl_pipeline_prepare(hl_pipeline *pipeline, hl_error *error) {
  hl_pipeline *p = pipeline;
  int64_t side = hl_reassembly_side(p->reassembly);
  size_t image = (size_t)p->pixels * sizeof(float);
  p->inputs = room(p->input_room, image * (size_t)p->scan.channels);
  if (p->scan.channels > 1) {
    p->merged = room(p->patch_room, (size_t)p->pixels * sizeof *p->merged);
  } else {
    p->amplitude = room(p->patch_room, image);
    p->phase = room(p->patch_room, image);
  }
  p->canvas = room(side * side, sizeof *p->canvas);
  p->weights = room(side * side, sizeof *p->weights);
  bool queue = p->merged || (p->amplitude && p->phase);
  return p->inputs && queue && p->canvas && p->weights ? HL_OK : no_memory(error);
}

static void lap(uint64_t *stamp, hl_pipeline_times *times, hl_pipeline_stage stage) {
  uint64_t now = hl_clock_ns();
  hl_stage_tell(hl_pipeline_stage_name(stage), *stamp, now);
  times->ns[stage] += now - *stamp;
  *stamp = now;
}

static void to_front(hl_pipeline *p) {
  int64_t input = p->pixels * p->scan.channels;
  if (p->input_first && p->input_count)
    memmove(p->inputs, p->inputs + p->input_first * input,
            (size_t)(p->input_count * input) * sizeof *p->inputs);
  p->input_first = 0;
}

/* Moves what is left to the front of the queue and fills up behind it. */
static hl_status preprocess(hl_pipeline *p, int64_t *next, hl_error *error) {
  int64_t input = p->pixels * p->scan.channels, left = p->scan.count - *next;
  int64_t count = p->configuration->pipeline->preprocess_batch;
  if (count > left) count = left;
  to_front(p);
  hl_status status =
      hl_pipeline_scan_fill(&p->scan, *next, count, p->inputs + p->input_count * input, error);
  p->input_count += count;
  *next += count;
  return status;
}

static hl_status output(hl_pipeline *p, hl_request *request, size_t index, int64_t images,
                        const float **ret_values, hl_error *error) {
  hl_tensor_view view = {0};
  hl_status status = p->inference->ops.output(request, index, &view, error);
  uint64_t bytes = (uint64_t)(images * p->pixels * p->scan.channels) * sizeof(float);
  if (status != HL_OK) return status;
  if (view.dtype != HL_FLOAT32 || view.bytes != bytes)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.200s: output %zu has %" PRIu64 " bytes for %" PRId64
                        " inputs and not %" PRIu64 " (float32 of the input's shape)",
                        p->configuration->model, index, view.bytes, images, bytes);
  *ret_values = view.data;
  return HL_OK;
}

/* Runs the network on the next inputs of the queue. The outputs are the engine's, until the next
 * run, or NULL. */
static hl_status predict(hl_pipeline *p, int64_t images, const float **ret_amplitude,
                         const float **ret_phase, hl_error *error) {
  hl_inference *in = p->inference;
  bool partial = in->partial.images && images == in->partial.images && images != in->full.images;
  hl_request *request = partial ? in->partial.request : in->full.request;
  int64_t run = partial ? images : in->full.images;
  if (run > images) to_front(p); /* the rest of a fixed batch is whatever is there */
  hl_tensor_view view = in->views[0];
  view.data = p->inputs + p->input_first * p->pixels * p->scan.channels;
  view.dims[0] = run;
  view.bytes = (uint64_t)(run * p->pixels * p->scan.channels) * sizeof(float);
  hl_status status = in->ops.bind(request, 0, &view, error);
  if (status == HL_OK) status = in->ops.submit(request, error);
  if (status == HL_OK) status = in->ops.wait(request, error);
  p->input_first += images;
  p->input_count -= images;
  *ret_amplitude = *ret_phase = NULL;
  if (status != HL_OK || p->is_blind) return status;
  hl_error none = {0};
  status = output(p, request, p->amplitude_at, run, ret_amplitude, &none);
  if (status == HL_OK) return output(p, request, 1 - p->amplitude_at, run, ret_phase, error);
  p->is_blind = status == HL_UNIMPLEMENTED;
  return p->is_blind ? HL_OK : hl_error_set(error, status, "%s", none.msg);
}

/* The outputs of `images` inputs to the end of the queue before reassemble. */
static hl_status queue(hl_pipeline *p, int64_t first, int64_t images, const float *amplitude,
                       const float *phase, hl_error *error) {
  int64_t at = p->patch_count * p->pixels;
  size_t bytes = (size_t)(images * p->pixels) * sizeof(float);
  hl_status status = HL_OK;
  if (amplitude && p->merged) {
    const hl_patches patches = {.amplitude = amplitude, .phase = phase};
    status = hl_merge(images, p->scan.channels, p->scan.size, patches,
                      p->scan.relative + 2 * first * p->scan.channels, p->threads, p->merged + at,
                      error);
  } else if (amplitude) {
    memcpy(p->amplitude + at, amplitude, bytes);
    memcpy(p->phase + at, phase, bytes);
  }
  p->patch_count += images;
  return status;
}

/* Puts the next `count` patches into the image and moves the rest of the queue to its front. */
static hl_status reassemble(hl_pipeline *p, int64_t first, int64_t count, hl_error *error) {
  const hl_patches patches = {.amplitude = p->amplitude, .phase = p->phase, .field = p->merged};
  hl_status status = hl_reassembly_add(p->reassembly, first, count, patches, p->threads, error);
  p->patch_count -= count;
  size_t rest = (size_t)(p->patch_count * p->pixels);
  int64_t at = count * p->pixels;
  if (rest == 0) return status;
  if (p->merged) {
    memmove(p->merged, p->merged + at, rest * sizeof *p->merged);
  } else {
    memmove(p->amplitude, p->amplitude + at, rest * sizeof *p->amplitude);
    memmove(p->phase, p->phase + at, rest * sizeof *p->phase);
  }
  return status;
}

hl_status hl_pipeline_pass(hl_pipeline *pipeline, hl_pipeline_times *times, hl_error *error) {
  hl_pipeline *p = pipeline;
  uint64_t stamp = hl_clock_ns();
  int64_t made = 0, predicted = 0, put = 0, count = p->scan.count;
  int64_t full = p->inference->full.images, batch = p->configuration->pipeline->reassemble_batch;
  p->input_first = p->input_count = p->patch_count = 0;
  hl_reassembly_restart(p->reassembly);
  hl_status status = hl_pipeline_scan_group(&p->scan, error);
  while (status == HL_OK && predicted < count) {
    while (status == HL_OK && p->input_count < full && made < count)
      status = preprocess(p, &made, error);
    if (status != HL_OK) break;
    lap(&stamp, times, HL_PIPELINE_PREPROCESS);
    int64_t images = p->input_count < full ? p->input_count : full;
    const float *amplitude, *phase;
    status = predict(p, images, &amplitude, &phase, error);
    lap(&stamp, times, HL_PIPELINE_PREDICT);
    times->batches++;
    if (status == HL_OK) status = queue(p, predicted, images, amplitude, phase, error);
    lap(&stamp, times, p->merged ? HL_PIPELINE_MERGE : HL_PIPELINE_REASSEMBLE);
    predicted += images;
    while (status == HL_OK && p->patch_count && (p->patch_count >= batch || predicted == count)) {
      int64_t next = p->patch_count < batch ? p->patch_count : batch;
      status = reassemble(p, put, next, error);
      put += next;
    }
    lap(&stamp, times, HL_PIPELINE_REASSEMBLE);
  }
  if (status == HL_OK)
    status = hl_reassembly_finish(p->reassembly, p->threads, p->canvas, p->weights, error);
  lap(&stamp, times, HL_PIPELINE_REASSEMBLE);
  p->has_image = status == HL_OK && !p->is_blind;
  return status;
}

const hl_pipeline_scan *hl_pipeline_get_scan(const hl_pipeline *pipeline) {
  return &pipeline->scan;
}

int hl_pipeline_threads(const hl_pipeline *pipeline) {
  return pipeline->threads;
}

hl_pipeline_image hl_pipeline_get_image(const hl_pipeline *pipeline) {
  hl_pipeline_image image = {.side = hl_reassembly_side(pipeline->reassembly)};
  if (!pipeline->has_image) return image;
  hl_reassembly_origin(pipeline->reassembly, &image.x, &image.y);
  image.pixels = pipeline->canvas;
  image.weights = pipeline->weights;
  return image;
}

uint64_t hl_pipeline_stage_bytes(const hl_pipeline *pipeline, hl_pipeline_stage stage) {
  const hl_pipeline *p = pipeline;
  uint64_t image = (uint64_t)p->pixels * sizeof(float);
  uint64_t patches = (uint64_t)p->patch_room * 2 * image;
  uint64_t side = (uint64_t)hl_reassembly_side(p->reassembly);
  switch (stage) {
  case HL_PIPELINE_PREPROCESS:
    return hl_pipeline_scan_bytes(&p->scan) +
           (uint64_t)p->input_room * (uint64_t)p->scan.channels * image;
  case HL_PIPELINE_REASSEMBLE:
    return (uint64_t)hl_reassembly_bytes(p->reassembly) + patches +
           side * side * (sizeof *p->canvas + sizeof *p->weights);
  default:
    return 0;
  }
}

uint64_t hl_pipeline_planned_bytes(const hl_pipeline *pipeline) {
  return hl_pipeline_stage_bytes(pipeline, HL_PIPELINE_PREPROCESS) +
         hl_pipeline_stage_bytes(pipeline, HL_PIPELINE_REASSEMBLE) -
         hl_pipeline_scan_bytes(&pipeline->scan);
}
