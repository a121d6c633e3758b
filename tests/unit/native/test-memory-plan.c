/* Places of tensors: no two that live at once overlap, and the peak is what it has to be. */
#include "compile/memory-plan.h"
#include "numeric/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool overlap(const hl_native_piece *a, const hl_native_piece *b) {
  bool time = a->first <= b->last && b->first <= a->last;
  return time && a->place < b->place + b->bytes && b->place < a->place + a->bytes;
}

static void check_sound(const hl_native_piece *pieces, size_t count, uint64_t total) {
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(pieces[i].place % 64, 0);
    assert_true(pieces[i].place + pieces[i].bytes <= total);
    for (size_t k = 0; k < i; k++) assert_false(overlap(&pieces[i], &pieces[k]));
  }
}

/* The most bytes that live at one step: no plan can need less. */
static uint64_t live_peak(const hl_native_piece *pieces, size_t count, int32_t steps) {
  uint64_t peak = 0;
  for (int32_t s = 0; s < steps; s++) {
    uint64_t live = 0;
    for (size_t i = 0; i < count; i++)
      if (pieces[i].first <= s && s <= pieces[i].last) live += (pieces[i].bytes + 63) / 64 * 64;
    if (live > peak) peak = live;
  }
  return peak;
}

static void test_known(void **state) {
  (void)state;
  static const struct {
    hl_native_piece pieces[4];
    size_t count;
    uint64_t total;
  } cases[] = {
      {{{0}}, 0, 0},
      {{{.bytes = 1, .first = 0, .last = 0}}, 1, 64},
      /* a chain of three: two buffers take turns */
      {{{.bytes = 640, .first = 0, .last = 1},
        {.bytes = 640, .first = 1, .last = 2},
        {.bytes = 640, .first = 2, .last = 3}},
       3,
       1280},
      /* a residual that lives through two others */
      {{{.bytes = 128, .first = 0, .last = 3},
        {.bytes = 128, .first = 1, .last = 2},
        {.bytes = 64, .first = 2, .last = 3}},
       3,
       320},
      /* the same step is not free yet */
      {{{.bytes = 64, .first = 0, .last = 1}, {.bytes = 64, .first = 1, .last = 1}}, 2, 128},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_native_piece pieces[4];
    for (size_t k = 0; k < 4; k++) pieces[k] = cases[i].pieces[k];
    uint64_t total = 1;
    assert_int_equal(hl_native_place(pieces, cases[i].count, &total, NULL), HL_OK);
    assert_int_equal(total, cases[i].total);
    check_sound(pieces, cases[i].count, total);
  }
}

static void test_random(void **state) {
  (void)state;
  hl_random random;
  hl_random_init(&random, 5, 0);
  for (int round = 0; round < 50; round++) {
    enum { COUNT = 60, STEPS = 80 };
    hl_native_piece pieces[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
      int32_t first = (int32_t)hl_random_below(&random, STEPS);
      int32_t length = (int32_t)hl_random_below(&random, 8);
      pieces[i] = (hl_native_piece){.bytes = 1 + hl_random_below(&random, 5000),
                                    .first = first,
                                    .last = first + length < STEPS ? first + length : STEPS - 1};
    }
    uint64_t total;
    assert_int_equal(hl_native_place(pieces, COUNT, &total, NULL), HL_OK);
    check_sound(pieces, COUNT, total);
    uint64_t least = live_peak(pieces, COUNT, STEPS);
    assert_true(total >= least);
    assert_true(total <= least + least / 2); /* greedy by size comes near */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
