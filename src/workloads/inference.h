/*
 * workloads/inference.h - a step is one batch through a network.
 *
 * Steps walk through the data set in order: batch after batch, the last partial batch of a pass
 * included (with a program of its own), then from the start again. A batch larger than the data is
 * filled by repeating it. Order of calls: open, load, plan (optional), prepare, step*, release.
 * Not thread-safe; a step neither allocates nor formats.
 */
#ifndef HL_WORKLOADS_INFERENCE_H
#define HL_WORKLOADS_INFERENCE_H

#include "data/data.h"
#include "engine/registry.h"
#include "workloads/model-file.h"

typedef struct hl_inference_program {
  int64_t images; /* inputs in a step of this program */
  hl_program *program;
  hl_request *request;
} hl_inference_program;

typedef struct hl_inference {
  hl_engine_ops ops;
  hl_host *host; /* the engine's; on the heap, for it must not move */
  hl_engine *engine;
  hl_model *model;
  const hl_configuration *configuration;
  const hl_model_file *file;
  hl_dataset *dataset;
  bool wraps;                         /* the batch is larger than the data */
  int64_t data_images;                /* inputs in the data, before repetition */
  hl_tensor_view *views;              /* one per input, reused at each bind */
  uint64_t *image_bytes;              /* of one image of each input; 0 where it has no batch */
  int32_t *axes;                      /* of the batch in each input, -1 for none */
  void **first;                       /* first image where it is not the start of the data */
  hl_inference_program full, partial; /* partial.images is 0 where a pass has none */
  int64_t offset;                     /* first image of the next step */
  bool full_only;                     /* leave out partial batches */
} hl_inference;

/* Opens the data and the engine: everything that does not depend on weights. `configuration` and
 * `file` must outlive the object; `host` (may be NULL) is copied, and its `library` set to the one
 * that the configuration names. */
hl_status hl_inference_open(const hl_configuration *configuration, const hl_model_file *file,
                            const hl_host *host, hl_inference *ret_inference, hl_error *error);

/* The same on a batch of inputs that the caller made, which is owned from now on, also on failure:
 * a step is that batch. */
hl_status hl_inference_open_on(const hl_configuration *configuration, const hl_model_file *file,
                               const hl_host *host, hl_dataset *dataset,
                               hl_inference *ret_inference, hl_error *error);

hl_status hl_inference_load(hl_inference *inference, hl_error *error);

/* The engine's plan for the full batch, and for the partial one added; `ret_known` false where the
 * engine cannot tell. */
hl_status hl_inference_plan(hl_inference *inference, hl_program_plan *ret_plan, bool *ret_known,
                            hl_error *error);

hl_status hl_inference_prepare(hl_inference *inference, hl_error *error);

/* Runs the next step; `ret_images` receives how many inputs it had. */
static inline hl_status hl_inference_step(hl_inference *inference, int64_t *ret_images,
                                          hl_error *error);

/* What the reference is given as input number `i`: the first image, or as many as the model has
 * fixed. The view belongs to `inference`. */
hl_tensor_view hl_inference_first_image(const hl_inference *inference, size_t i);

/* Runs the first batch of the data and copies the outputs of its first image (see
 * workloads/outputs.h), as float32 one after another; free() them. `ret_counts` (capacity
 * `output_capacity`) receives the elements of each. The next step is the first of a pass. */
hl_status hl_inference_first_outputs(hl_inference *inference, float **ret_values,
                                     size_t *ret_counts, size_t output_capacity,
                                     size_t *ret_output_count, hl_error *error);

/* The specification of a program for `images` inputs; `ports` has room for HL_INPUTS_MAX and
 * must outlive it. */
hl_program_spec hl_inference_specify(const hl_inference *inference, int64_t images, hl_port *ports);

void hl_inference_release(hl_inference *inference);

/* The same, but for the data and what belongs to it: for a copy that borrows them. */
void hl_inference_close(hl_inference *inference);

/* -- the hot path --------------------------------------------------------------------------- */

static inline hl_status hl_inference_step(hl_inference *inference, int64_t *ret_images,
                                          hl_error *error) {
  hl_inference *in = inference;
  const hl_inference_program *p = &in->full;
  if (in->offset + p->images > in->dataset->count) {
    if (in->partial.images && !in->full_only) {
      p = &in->partial;
    } else {
      in->offset = 0;
    }
  }
  for (size_t i = 0; i < in->file->input_count; i++) {
    hl_tensor_view *view = &in->views[i];
    view->data = (char *)in->dataset->inputs[i].data + (uint64_t)in->offset * in->image_bytes[i];
    if (in->axes[i] >= 0) {
      view->dims[in->axes[i]] = p->images;
      view->bytes = (uint64_t)p->images * in->image_bytes[i];
    }
    hl_status status = in->ops.bind(p->request, i, view, error);
    if (status != HL_OK) return status;
  }
  hl_status status = in->ops.submit(p->request, error);
  if (status == HL_OK) status = in->ops.wait(p->request, error);
  in->offset += p->images;
  if (in->offset >= in->dataset->count) in->offset = 0;
  *ret_images = p->images;
  return status;
}

#endif
