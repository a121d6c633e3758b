/* Shared by the files that make data sets. */
#ifndef HL_DATA_DATASET_INTERNAL_H
#define HL_DATA_DATASET_INTERNAL_H

#include "data/data.h"

hl_status hl__dataset_new(size_t port_count, hl_dataset **ret_dataset, hl_error *error);
hl_status hl__dataset_no_memory(hl_error *error);

/* The rule of port number `i`. */
static inline hl_data_rule hl__rule_of(const hl_data_rule *rules, size_t i) {
  return rules ? rules[i] : (hl_data_rule){0};
}

/* The shape of a port's array in a data set: `count`, then the dimensions besides the batch; the
 * port's own without a batch. INVALID_ARGUMENT where one is not known. */
hl_status hl__dataset_dims(const hl_port *port, hl_data_rule rule, int64_t count,
                           int64_t ret_dims[HL_MAX_RANK], hl_error *error);

/* Fills a fresh data set from a folder of pictures, as hl_dataset_read. */
hl_status hl__dataset_read_images(const char *path, const hl_port *ports, size_t port_count,
                                  const hl_data_choice *choice, hl_dataset *dataset,
                                  hl_error *error);

#endif
