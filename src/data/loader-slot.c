/* The buffers of a batch, and how a sample gets into them. */
#include "base/dtype.h"
#include "data/loader-internal.h"
#include "data/sample-order.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { alignment = 64 }; /* a cache line, and the widest vector */

static hl_status no_memory(uint64_t bytes, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      "no memory for %" PRIu64 " bytes of a batch. Use a smaller batch size, or "
                      "fewer batches ahead",
                      bytes);
}

static void *allocate(uint64_t bytes) {
  uint64_t whole = (bytes + alignment) & ~(uint64_t)(alignment - 1); /* never 0 */
  void *data = aligned_alloc(alignment, (size_t)whole);
  if (data) memset(data, 0, (size_t)whole);
  return data;
}

hl_status hl__slot_init(const hl__port_plan *ports, size_t count, int64_t batch_size,
                        hl__slot *ret_slot, uint64_t *ret_bytes, hl_error *error) {
  hl__slot slot = {.batch.value_count = count};
  uint64_t all = 0;
  slot.values = calloc(count, sizeof *slot.values);
  slot.indices = calloc((size_t)batch_size, sizeof *slot.indices);
  hl_status status = slot.values && slot.indices ? HL_OK : no_memory(0, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_tensor_view *value = &slot.values[i];
    const hl_port *port = &ports[i].port;
    uint64_t bytes = 0, samples = ports[i].is_constant ? 1 : (uint64_t)batch_size;
    int32_t lead = ports[i].is_constant ? 0 : 1;
    if (__builtin_mul_overflow(ports[i].bytes, samples, &bytes) || bytes > INT64_MAX - alignment ||
        __builtin_add_overflow(all, bytes, &all)) {
      status = hl_error_set(error, HL_LIMIT,
                            "'%.60s': a batch of %" PRId64 " would be more than 2^63 bytes",
                            port->name, batch_size);
      break;
    }
    *value = (hl_tensor_view){.name = port->name, .dtype = port->dtype, .rank = port->rank + lead};
    memcpy(value->dims + lead, port->dims, (size_t)port->rank * sizeof *port->dims);
    value->bytes = bytes;
    value->data = allocate(bytes);
    if (!value->data) status = no_memory(bytes, error);
  }
  *ret_bytes = all;
  *ret_slot = slot;
  if (status != HL_OK) hl__slot_release(ret_slot);
  return status;
}

void hl__slot_release(hl__slot *slot) {
  for (size_t i = 0; slot->values && i < slot->batch.value_count; i++) free(slot->values[i].data);
  free(slot->values);
  free(slot->indices);
  *slot = (hl__slot){0};
}

void hl__slot_begin(hl__slot *slot, const hl__port_plan *ports, int64_t epoch, int64_t number,
                    int64_t count) {
  slot->state = hl__slot_queued;
  slot->taken = slot->done = 0;
  slot->status = HL_OK;
  slot->batch = (hl_batch){.epoch = epoch,
                           .number = number,
                           .count = count,
                           .value_count = slot->batch.value_count,
                           .values = slot->values,
                           .indices = slot->indices};
  for (size_t i = 0; i < slot->batch.value_count; i++) {
    if (ports[i].is_constant) continue;
    slot->values[i].dims[0] = count;
    slot->values[i].bytes = ports[i].bytes * (uint64_t)count;
  }
}

void hl__scratch_release(hl__scratch *scratch) {
  for (size_t i = 0; i < HL_SOURCE_PORTS_MAX; i++) free(scratch->data[i]);
  *scratch = (hl__scratch){0};
}

/* Where the values of the sample at `position` belong. Constants are read with the first. */
static void find_places(const hl__port_plan *ports, hl__slot *slot, int64_t position,
                        hl_tensor_view *ret_values) {
  for (size_t i = 0; i < slot->batch.value_count; i++) {
    const hl_port *port = &ports[i].port;
    hl_tensor_view *value = &ret_values[i];
    *value = (hl_tensor_view){.name = port->name, .dtype = port->dtype, .rank = port->rank};
    memcpy(value->dims, port->dims, sizeof port->dims);
    value->bytes = ports[i].bytes;
    if (!ports[i].is_constant)
      value->data = (char *)slot->values[i].data + (uint64_t)position * ports[i].bytes;
    else if (position == 0)
      value->data = slot->values[i].data;
  }
}

static hl_status make_room(hl__scratch *scratch, size_t i, uint64_t bytes, hl_error *error) {
  if (bytes <= scratch->capacity[i]) return HL_OK;
  free(scratch->data[i]);
  scratch->capacity[i] = 0;
  scratch->data[i] = bytes > INT64_MAX ? NULL : malloc((size_t)bytes);
  if (!scratch->data[i])
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a sample of %" PRIu64 " bytes",
                        bytes);
  scratch->capacity[i] = bytes;
  return HL_OK;
}

/* The sample as the source has it: in the scratch memory, or the source's own. */
static hl_status read_apart(const hl_source *source, int64_t index, hl__scratch *scratch,
                            const hl_tensor_view *places, hl_tensor_view *ret_sample,
                            hl_error *error) {
  for (size_t i = 0; i < source->port_count; i++) {
    const hl_port *port = &source->ports[i].port;
    ret_sample[i] = (hl_tensor_view){.name = port->name, .dtype = port->dtype, .rank = port->rank};
    uint64_t bytes = hl_dtype_bytes(port->dtype);
    for (int32_t d = 0; d < port->rank; d++) {
      ret_sample[i].dims[d] = port->dims[d];
      bytes *= port->dims[d] > 0 ? (uint64_t)port->dims[d] : 0;
    }
    ret_sample[i].bytes = bytes;
  }
  hl_status status =
      source->shape ? source->shape(source->context, index, ret_sample, error) : HL_OK;
  for (size_t i = 0; i < source->port_count && status == HL_OK && !source->is_lent; i++) {
    bool is_constant = source->ports[i].is_constant;
    if (is_constant) { /* goes to its place, if it is wanted at all */
      ret_sample[i].data = places[i].data;
      continue;
    }
    status = make_room(scratch, i, ret_sample[i].bytes, error);
    ret_sample[i].data = scratch->data[i];
  }
  return status == HL_OK ? source->read(source->context, index, ret_sample, error) : status;
}

hl_status hl__slot_load(const hl_loader_spec *spec, const hl__port_plan *ports, hl__slot *slot,
                        int64_t position, hl__scratch *scratch, hl_error *error) {
  const hl_source *source = spec->source;
  int64_t index = slot->indices[position];
  hl_tensor_view places[HL_SOURCE_PORTS_MAX], sample[HL_SOURCE_PORTS_MAX];
  find_places(ports, slot, position, places);
  if (!spec->transform && !source->is_lent)
    return source->read(source->context, index, places, error);
  hl_status status = read_apart(source, index, scratch, places, sample, error);
  if (status != HL_OK) return status;
  for (size_t i = 0; i < slot->batch.value_count; i++) { /* as many as ports */
    if (spec->transform && !ports[i].is_constant) continue;
    if (places[i].data && places[i].data != sample[i].data)
      memcpy(places[i].data, sample[i].data, (size_t)places[i].bytes);
    if (spec->transform) places[i].data = sample[i].data = NULL;
  }
  if (!spec->transform) return HL_OK;
  uint64_t seed = hl_sample_order_seed(spec->seed, slot->batch.epoch, index);
  return spec->transform(spec->transform_context, seed, sample, places, error);
}
