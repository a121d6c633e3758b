#include "workloads/feed.h"

#include "base/clock.h"
#include "data/image-source.h"
#include "data/loader.h"

enum { buffers = 2 }; /* a batch that is computed, and the next */

bool hl_feed_is_possible(const hl_inference *inference) {
  return inference->dataset->folder && inference->axes[0] == 0;
}

uint64_t hl_feed_bytes(const hl_inference *inference) {
  return buffers * inference->image_bytes[0] * (uint64_t)inference->full.images;
}

static hl_status compute(hl_inference *in, const hl_batch *batch, hl_error *error) {
  hl_tensor_view view = in->views[0];
  view.data = batch->values[0].data;
  view.dims[0] = batch->count;
  view.bytes = batch->values[0].bytes;
  hl_status status = in->ops.bind(in->full.request, 0, &view, error);
  if (status == HL_OK) status = in->ops.submit(in->full.request, error);
  return status == HL_OK ? in->ops.wait(in->full.request, error) : status;
}

static hl_status step(hl_inference *in, hl_loader *loader, hl_feed_result *r, hl_error *error) {
  const hl_batch *batch = NULL;
  hl_status status = hl_loader_next(loader, &batch, error);
  if (status != HL_OK) return status;
  r->steps++;
  r->images += (uint64_t)batch->count;
  r->wait_ns += batch->wait_ns;
  r->work_ns += batch->load_ns;
  status = compute(in, batch, error);
  hl_loader_return(loader, batch);
  return status;
}

static hl_status run(hl_inference *in, hl_loader *loader, uint64_t max_ns, hl_feed_result *ret,
                     hl_error *error) {
  hl_feed_result first = {0}, r = {0};
  hl_status status = step(in, loader, &first, error); /* starts the threads and fills caches */
  uint64_t start = hl_clock_ns();
  while (status == HL_OK && (r.steps == 0 || r.elapsed_ns < max_ns)) {
    status = step(in, loader, &r, error);
    r.elapsed_ns = hl_clock_ns() - start;
  }
  *ret = r;
  return status;
}

hl_status hl_feed_run(hl_inference *inference, const hl_feed_spec *spec, hl_feed_result *ret_result,
                      hl_error *error) {
  hl_inference *in = inference;
  const hl_configuration *c = in->configuration;
  hl_source *source = NULL;
  hl_loader *loader = NULL;
  if (!hl_feed_is_possible(in))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the data are no folder of pictures");
  hl_port port = in->file->inputs[0];
  port.dims[0] = -1;
  hl_status status =
      hl_source_of_images(in->dataset->folder, &port, NULL, 0, c->n_images,
                          c->decodes_scaled ? HL_IMAGE_SCALED : HL_IMAGE_EXACT, &source, error);
  if (status != HL_OK) return status;
  if (source->count < c->batch_size) source->count = c->batch_size; /* each one more than once */
  const hl_loader_spec how = {.source = source,
                              .batch_size = c->batch_size,
                              .threads = spec->threads,
                              .depth = spec->threads <= c->batch_size ? buffers - 1 : 0,
                              .is_whole = true};
  status = hl_loader_new(&how, &loader, error);
  if (status == HL_OK) status = run(in, loader, spec->max_ns, ret_result, error);
  hl_loader_free(loader);
  hl_source_free(source);
  in->offset = 0;
  return status;
}
