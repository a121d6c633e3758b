/* Shared by the files of the loader: a batch that is being filled, and the reading of one sample.
 */
#ifndef HL_DATA_LOADER_INTERNAL_H
#define HL_DATA_LOADER_INTERNAL_H

#include "data/loader.h"

typedef struct hl__port_plan {
  hl_port port; /* of a sample as it is trained with; the name is the source's or the caller's */
  bool is_constant;
  uint64_t bytes; /* of a sample */
} hl__port_plan;

typedef enum hl__slot_state { hl__slot_free, hl__slot_queued, hl__slot_held } hl__slot_state;

/* Buffers of one batch. */
typedef struct hl__slot {
  hl_batch batch; /* first: callers hold this */
  hl__slot_state state;
  int64_t taken, done; /* samples that a thread has begun, and ended */
  hl_status status;    /* of its first bad sample, */
  int64_t failed_at;   /* which stands here in the batch */
  hl_error error;
  hl_tensor_view *values;
  int64_t *indices;
} hl__slot;

/* Memory of a thread for the samples that a transform reads, by port. */
typedef struct hl__scratch {
  void *data[HL_SOURCE_PORTS_MAX];
  uint64_t capacity[HL_SOURCE_PORTS_MAX];
} hl__scratch;

hl_status hl__slot_init(const hl__port_plan *ports, size_t count, int64_t batch_size,
                        hl__slot *ret_slot, uint64_t *ret_bytes, hl_error *error);
void hl__slot_release(hl__slot *slot);

/* Makes the slot an empty batch of `count` samples. */
void hl__slot_begin(hl__slot *slot, const hl__port_plan *ports, int64_t epoch, int64_t number,
                    int64_t count);

/* Reads the sample at `position` of the slot's batch into its place. */
hl_status hl__slot_load(const hl_loader_spec *spec, const hl__port_plan *ports, hl__slot *slot,
                        int64_t position, hl__scratch *scratch, hl_error *error);

void hl__scratch_release(hl__scratch *scratch);

#endif
