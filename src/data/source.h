/*
 * data/source.h - samples that can be read one by one, in any order and by several threads.
 *
 *     hl_source *source;
 *     hl_source_of_dataset(dataset, rules, 1, &source, error);    (the last array is a target)
 *     hl_tensor_view values[2] = ...;                             (room for each port)
 *     source->read(source->context, 17, values, error);
 *     hl_source_free(source);
 *
 * What a loader (data/loader.h) makes batches of. Sources are made for data in memory (below),
 * folders of pictures and volumes. Another one fills this struct.
 */
#ifndef HL_DATA_SOURCE_H
#define HL_DATA_SOURCE_H

#include "data/data.h"

enum { HL_SOURCE_PORTS_MAX = 64 };

/* One value of a sample. `port` has no batch dimension; -1 is a dimension that differs from sample
 * to sample. */
typedef struct hl_source_port {
  hl_port port;
  bool is_target;
  bool is_constant; /* the same in each sample: a batch holds it once */
} hl_source_port;

typedef struct hl_source {
  void *context;
  int64_t count; /* samples, >= 1 */
  size_t port_count;
  const hl_source_port *ports; /* inputs, then targets */
  const char *description;     /* one line: what it is and what was done to it */

  /* Sets dims and bytes of each of `port_count` values; NULL where no dimension is open. The values
   * come with name, dtype and rank. Thread-safe. */
  hl_status (*shape)(void *context, int64_t index, hl_tensor_view *values, hl_error *error);

  /* Reads sample `index`, 0 <= index < count. A value's `data` is room for its `bytes`; where it is
   * NULL the value is not wanted. Where `is_lent`, `data` is NULL and the source sets it to memory
   * of its own that lives as long as the source. Thread-safe; an error names file and place. */
  hl_status (*read)(void *context, int64_t index, hl_tensor_view *values, hl_error *error);
  bool is_lent;

  /* Appends what went wrong in reading so far and was made good, as a sentence for people; nothing
   * if all went well. Thread-safe; may be NULL. */
  void (*problems)(void *context, hl_text *out);

  void (*free)(void *context); /* may be NULL */
} hl_source;

/* Frees the context and the struct, which is from malloc. NULL is fine. */
void hl_source_free(hl_source *source);

/* The samples of a data set, whose last `target_count` arrays are targets. `rules` as for
 * hl_dataset_synthetic. `dataset` is borrowed and must outlive the source. INVALID_ARGUMENT,
 * OUT_OF_MEMORY. */
hl_status hl_source_of_dataset(const hl_dataset *dataset, const hl_data_rule *rules,
                               size_t target_count, hl_source **ret_source, hl_error *error);

#endif
