#include "run/order.h"

#include "base/splitmix.h"
#include "base/text.h"

bool hl_run_same_block(const hl_configuration *a, const hl_configuration *b) {
  return hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         a->threads == b->threads;
}

/* Fisher and Yates. The remainder favours no place by more than count / 2^64. */
static void shuffle(size_t *items, size_t count, uint64_t *random) {
  for (size_t i = count; i > 1; i--) {
    size_t k = (size_t)(hl_splitmix(random) % i), kept = items[i - 1];
    items[i - 1] = items[k];
    items[k] = kept;
  }
}

void hl_run_order(const hl_plan *plan, size_t *ret_order) {
  uint64_t random = plan->shuffle_seed;
  for (size_t i = 0; i < plan->count; i++) ret_order[i] = i;
  for (size_t first = 0, end; plan->shuffled && first < plan->count; first = end) {
    end = first + 1;
    while (end < plan->count && hl_run_same_block(&plan->items[first], &plan->items[end])) end++;
    shuffle(&ret_order[first], end - first, &random);
  }
}
