#include "data/sample-order.h"

#include "numeric/random.h"
#include <inttypes.h>
#include <stdlib.h>

hl_status hl_sample_order_init(int64_t count, int64_t batch_size, uint64_t seed, bool is_shuffled,
                               bool is_whole, hl_sample_order *ret_order, hl_error *error) {
  if (count < 1 || batch_size < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%" PRId64 " samples in batches of %" PRId64 ": both must be 1 or more",
                        count, batch_size);
  if (is_whole && count < batch_size)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%" PRId64 " samples do not fill a batch of %" PRId64
                        ", and partial batches are left out. Use a smaller batch",
                        count, batch_size);
  hl_sample_order order = {.count = count, .batch_size = batch_size, .seed = seed, .epoch = -1};
  order.batches = count / batch_size + (!is_whole && count % batch_size);
  if (is_shuffled) {
    order.permutation = calloc((size_t)count, sizeof *order.permutation);
    if (!order.permutation)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the order of %" PRId64 " samples",
                          count);
  }
  *ret_order = order;
  return HL_OK;
}

void hl_sample_order_release(hl_sample_order *order) {
  free(order->permutation);
  *order = (hl_sample_order){0};
}

static void shuffle(hl_sample_order *order, int64_t epoch) {
  hl_random random;
  int64_t *p = order->permutation;
  hl_random_init(&random, order->seed, hl_random_stream("sample order") + (uint64_t)epoch);
  for (int64_t i = 0; i < order->count; i++) p[i] = i;
  for (int64_t i = order->count - 1; i > 0; i--) {
    int64_t j = (int64_t)hl_random_below(&random, (uint64_t)i + 1), kept = p[i];
    p[i] = p[j];
    p[j] = kept;
  }
  order->epoch = epoch;
}

int64_t hl_sample_order_batch(hl_sample_order *order, int64_t epoch, int64_t number,
                              int64_t *ret_indices) {
  if (order->permutation && order->epoch != epoch) shuffle(order, epoch);
  int64_t first = number * order->batch_size, left = order->count - first;
  int64_t count = left < order->batch_size ? left : order->batch_size;
  for (int64_t i = 0; i < count; i++)
    ret_indices[i] = order->permutation ? order->permutation[first + i] : first + i;
  return count;
}

uint64_t hl_sample_order_seed(uint64_t seed, int64_t epoch, int64_t index) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)((uint64_t)index >> 32), (uint32_t)epoch,
                               (uint32_t)((uint64_t)epoch >> 32)};
  uint32_t words[4];
  hl_philox4x32(counter, key, words);
  return (uint64_t)words[0] | (uint64_t)words[1] << 32;
}
