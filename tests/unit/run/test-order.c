#include "run/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { sizes = 6, blocks = 3, rows = sizes * blocks };

/* Three blocks: an entry, another one, and the same with other threads. */
static hl_plan make(hl_configuration items[rows], uint64_t seed) {
  static const char *const entries[] = {"a", "b", "b"};
  for (size_t i = 0; i < rows; i++)
    items[i] = (hl_configuration){.entry = entries[i / sizes],
                                  .model = "mlp",
                                  .threads = i / sizes == 2 ? 2 : 1,
                                  .batch_size = 1 << (i % sizes)};
  return (hl_plan){.items = items, .count = rows, .shuffled = true, .shuffle_seed = seed};
}

static void rows_stay_in_their_blocks(void **unused) {
  (void)unused;
  hl_configuration items[rows];
  hl_plan plan = make(items, 42);
  size_t order[rows], again[rows];
  bool seen[rows] = {false}, moved = false;
  hl_run_order(&plan, order);
  for (size_t i = 0; i < rows; i++) {
    assert_int_equal(order[i] / sizes, i / sizes);
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
    moved = moved || order[i] != i;
  }
  assert_true(moved);
  hl_run_order(&plan, again);
  assert_memory_equal(order, again, sizeof order);
  plan.shuffled = false;
  hl_run_order(&plan, order);
  for (size_t i = 0; i < rows; i++) assert_int_equal(order[i], i);
}

/* Each size comes at each place about as often: 600 of 3600, +- 5 standard deviations. */
static void no_place_is_favoured(void **unused) {
  (void)unused;
  hl_configuration items[rows];
  int counts[sizes][sizes] = {{0}};
  for (uint64_t seed = 0; seed < 3600; seed++) {
    hl_plan plan = make(items, seed);
    size_t order[rows];
    hl_run_order(&plan, order);
    for (size_t i = 0; i < sizes; i++) counts[i][order[i]]++;
  }
  for (size_t i = 0; i < sizes; i++)
    for (size_t k = 0; k < sizes; k++) assert_in_range(counts[i][k], 488, 712);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_stay_in_their_blocks),
                                     cmocka_unit_test(no_place_is_favoured)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
