/*
 * data/sample-order.h - which samples a batch holds, by epoch and number.
 *
 *     hl_sample_order order;
 *     hl_sample_order_init(1000, 32, seed, true, false, &order, error);
 *     int64_t n = hl_sample_order_batch(&order, epoch, number, indices);   (32, the last time 8)
 *     hl_sample_order_release(&order);
 *
 * A shuffled epoch is a permutation by Fisher-Yates (Durstenfeld 1964) from numeric/random.h: a
 * function of seed and epoch alone. Not thread-safe per object.
 */
#ifndef HL_DATA_SAMPLE_ORDER_H
#define HL_DATA_SAMPLE_ORDER_H

#include "base/error.h"
#include <stdbool.h>

typedef struct hl_sample_order {
  int64_t count, batch_size;
  int64_t batches; /* in an epoch */
  uint64_t seed;
  int64_t *permutation; /* of `epoch`; NULL: samples in their order */
  int64_t epoch;        /* -1: none yet */
} hl_sample_order;

/* Of `count` samples in batches of `batch_size`. `is_whole` leaves the last batch of an epoch out
 * where it is not full. INVALID_ARGUMENT, also where no batch is left; OUT_OF_MEMORY. */
hl_status hl_sample_order_init(int64_t count, int64_t batch_size, uint64_t seed, bool is_shuffled,
                               bool is_whole, hl_sample_order *ret_order, hl_error *error);
void hl_sample_order_release(hl_sample_order *order);

/* Fills `ret_indices` (room for batch_size) with the samples of a batch and returns their count.
 * 0 <= number < batches, epoch >= 0. Another epoch than the last time costs a shuffle. */
int64_t hl_sample_order_batch(hl_sample_order *order, int64_t epoch, int64_t number,
                              int64_t *ret_indices);

/* The seed of what is drawn for a sample in an epoch. */
uint64_t hl_sample_order_seed(uint64_t seed, int64_t epoch, int64_t index);

#endif
