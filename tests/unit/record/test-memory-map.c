/* Sums of a map of memory: a small program whose sums are known. */
#include "record/memory-map.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PIECE(k, n, l, p, f, t, o, b)                                                              \
  {                                                                                                \
    .size = sizeof(hl_allocation), .kind = HL_ALLOCATION_##k, .name = n, .layer = l,               \
    .phase = HL_PHASE_##p, .first = f, .last = t, .offset = o, .bytes = b                          \
  }

/* Forward a, b; loss; backward b, a; update in step 4. */
static const hl_allocation program[] = {
    {.phase = HL_PHASE_FORWARD, .layer = "a"},
    {.phase = HL_PHASE_FORWARD, .layer = "b"},
    {.phase = HL_PHASE_LOSS, .layer = "loss"},
    {.phase = HL_PHASE_BACKWARD, .layer = "b"},
    {.phase = HL_PHASE_OPTIMIZER, .layer = "b"},
    PIECE(WEIGHT, "a.w", "a", FORWARD, -1, -1, 0, 1000),
    PIECE(OPTIMIZER, "a.w/mean", "a", FORWARD, -1, -1, 0, 2000),
    PIECE(INPUT_OUTPUT, "loss", "loss", LOSS, -1, -1, 0, 64),
    PIECE(SAVED, "ya", "a", FORWARD, 0, 3, 0, 300),
    PIECE(WORKSPACE, "scratch", "a", FORWARD, 0, 0, 320, 100),
    PIECE(ACTIVATION, "yb", "b", FORWARD, 1, 2, 320, 200),
    PIECE(ACTIVATION_GRADIENT, "dyb", "b", BACKWARD, 3, 3, 320, 250),
    PIECE(GRADIENT, "dw", "b", BACKWARD, 3, 4, 640, 500),
};

static hl_memory_map *map_of(const hl_allocation *items, size_t count) {
  hl_memory_map *map = NULL;
  assert_int_equal(hl_memory_map_new(&map, NULL), HL_OK);
  for (size_t i = 0; i < count; i++) hl_memory_map_add(map, &items[i]);
  return map;
}

static void test_sums(void **state) {
  (void)state;
  hl_memory_map *map = map_of(program, HL_COUNT(program));
  hl_memory_sums s;
  assert_int_equal(hl_memory_map_check(map, NULL), HL_OK);
  assert_int_equal(hl_memory_map_sum(map, &s, NULL), HL_OK);
  assert_int_equal(s.fullest, 3); /* 3064 always, 300 + 250 + 500 */
  assert_int_equal(s.peak_bytes, 4114);
  assert_int_equal(s.arena_bytes, 1140);
  assert_int_equal(s.gap_bytes, 90); /* 1140 - 1050 */
  assert_int_equal(s.at_peak[HL_ALLOCATION_SAVED], 300);
  assert_int_equal(s.at_peak[HL_ALLOCATION_ACTIVATION], 0);
  assert_int_equal(s.most[HL_ALLOCATION_ACTIVATION], 200);
  assert_int_equal(s.most[HL_ALLOCATION_WORKSPACE], 100);
  assert_int_equal(s.most[HL_ALLOCATION_WEIGHT], 1000);
  const uint64_t peaks[HL_PHASE_COUNT] = {3064 + 500, 3064 + 500, 4114, 3064 + 500};
  for (int p = 0; p < HL_PHASE_COUNT; p++) {
    assert_true(s.has_phase[p]);
    assert_int_equal(s.phase_peak[p], peaks[p]);
  }
  assert_int_equal(s.phase_kinds[HL_PHASE_FORWARD][HL_ALLOCATION_ACTIVATION], 200);
  hl_memory_map_free(map);
}

static void test_layers(void **state) {
  (void)state;
  hl_memory_map *map = map_of(program, HL_COUNT(program));
  hl_memory_sums s;
  hl_memory_layer *layers = NULL;
  size_t count = 0;
  assert_int_equal(hl_memory_map_sum(map, &s, NULL), HL_OK);
  assert_int_equal(hl_memory_map_layers(map, &s, &layers, &count, NULL), HL_OK);
  assert_int_equal(count, 3);
  assert_string_equal(layers[0].name, "a");
  assert_int_equal(layers[0].bytes, 3300); /* weight, moment and what is kept */
  assert_string_equal(layers[1].name, "b");
  assert_int_equal(layers[1].bytes, 750);
  assert_string_equal(layers[2].name, "loss");
  uint64_t sum = 0, kinds[HL_MEMORY_KINDS] = {0};
  for (size_t i = 0; i < count; i++) {
    sum += layers[i].bytes;
    for (int k = 0; k < HL_MEMORY_KINDS; k++) kinds[k] += layers[i].kinds[k];
  }
  assert_int_equal(sum, s.peak_bytes);
  assert_memory_equal(kinds, s.at_peak, sizeof kinds);
  free(layers);
  hl_memory_map_free(map);
}

static void test_empty(void **state) {
  (void)state;
  const hl_allocation one[] = {PIECE(WEIGHT, "w", "", FORWARD, -1, -1, 0, 7)};
  hl_memory_map *map = map_of(one, 1);
  hl_memory_sums s;
  assert_int_equal(hl_memory_map_check(map, NULL), HL_OK);
  assert_int_equal(hl_memory_map_sum(map, &s, NULL), HL_OK);
  assert_int_equal(s.fullest, -1);
  assert_int_equal(s.peak_bytes, 7);
  assert_int_equal(s.gap_bytes, 0);
  hl_memory_map_free(map);
}

static void test_refuses(void **state) {
  (void)state;
  const hl_allocation bad[] = {
      PIECE(WEIGHT, "w", "", FORWARD, 0, 5, 0, 7),  /* steps that there are not */
      PIECE(WEIGHT, "w", "", FORWARD, 1, 0, 0, 7),  /* ends before it begins */
      PIECE(WEIGHT, "w", "", FORWARD, -1, 0, 0, 7), /* half always */
      PIECE(WEIGHT, "w", "", FORWARD, 0, 0, UINT64_MAX, 7),
      PIECE(WEIGHT, "w", "", FORWARD, -1, -1, 0, (uint64_t)INT64_MAX + 1),
      {.kind = (hl_allocation_kind)99, .name = "w", .layer = "", .first = -1, .last = -1},
      {.phase = (hl_phase)9, .name = "w", .layer = "", .first = -1, .last = -1},
      {.phase = (hl_phase)9, .layer = ""}};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    const hl_allocation items[] = {program[0], bad[i]};
    hl_memory_map *map = map_of(items, 2);
    assert_int_equal(hl_memory_map_check(map, NULL), HL_BAD_DATA);
    hl_memory_map_free(map);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_layers),
                                     cmocka_unit_test(test_empty), cmocka_unit_test(test_refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
