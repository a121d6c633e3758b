/* A map of memory goes through a message unchanged, and what is none is refused. */
#include "record/memory-map-json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_round_trip(void **state) {
  (void)state;
  hl_memory_map *map = NULL, *read = NULL;
  hl_text text = HL_TEXT_INIT;
  assert_int_equal(hl_memory_map_new(&map, NULL), HL_OK);
  hl_memory_map_add(map, &(hl_allocation){.phase = HL_PHASE_BACKWARD, .layer = "conv\"1\xc3\xa9"});
  hl_memory_map_add(map, &(hl_allocation){.size = sizeof(hl_allocation),
                                          .kind = HL_ALLOCATION_SAVED,
                                          .name = "x",
                                          .layer = "",
                                          .phase = HL_PHASE_LOSS,
                                          .offset = (uint64_t)1 << 40,
                                          .bytes = 12345678901});
  hl_memory_map_json(map, &text);
  hl_error error = {0};
  assert_int_equal(hl_memory_map_parse(text.data, text.length, &read, &error), HL_OK);
  assert_int_equal(read->step_count, 1);
  assert_int_equal(read->steps[0].phase, HL_PHASE_BACKWARD);
  assert_string_equal(read->steps[0].layer, "conv\"1\xc3\xa9");
  assert_int_equal(read->piece_count, 1);
  const hl_allocation *a = &read->pieces[0];
  assert_int_equal(a->kind, HL_ALLOCATION_SAVED);
  assert_int_equal(a->phase, HL_PHASE_LOSS);
  assert_string_equal(a->name, "x");
  assert_int_equal(a->first, 0);
  assert_int_equal(a->offset, (uint64_t)1 << 40);
  assert_int_equal(a->bytes, 12345678901);
  hl_memory_map_free(read);
  hl_memory_map_free(map);
  hl_text_release(&text);
}

static void test_refuses(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "[]",
      "{\"steps\": []}",
      "{\"steps\": [], \"pieces\": {}}",
      "{\"steps\": [[0]], \"pieces\": []}",
      "{\"steps\": [[4, \"\"]], \"pieces\": []}",
      "{\"steps\": [[-1, \"\"]], \"pieces\": []}",
      "{\"steps\": [], \"pieces\": [[0, 0, \"n\", \"l\", -1, -1, 0]]}",
      "{\"steps\": [], \"pieces\": [[8, 0, \"n\", \"l\", -1, -1, 0, 1]]}",
      "{\"steps\": [], \"pieces\": [[0, 0, null, \"l\", -1, -1, 0, 1]]}",
      "{\"steps\": [], \"pieces\": [[0, 0, \"n\", \"l\", -1, -1, 0, -1]]}",
      "{\"steps\": [], \"pieces\": [[0, 0, \"n\", \"l\", 0, 0, 0, 1]]}",
      "{\"steps\": [], \"pieces\": [[0, 0, \"n\", \"l\", -1, -1, 0, 1.5]]}",
      "{\"steps\": [], \"pieces\": [], \"pieces\": []}",
  };
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    hl_memory_map *map = NULL;
    hl_error error = {0};
    if (hl_memory_map_parse(bad[i], strlen(bad[i]), &map, &error) != HL_BAD_DATA)
      fail_msg("not refused: %s", bad[i]);
    assert_null(map);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                     cmocka_unit_test(test_refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
