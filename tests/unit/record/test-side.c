#include "record/side.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_summary(void **state) {
  (void)state;
  hl_side side;
  hl_side_init(&side);
  hl_side_summary s = hl_side_summarise(&side);
  assert_true(isnan(s.median_ms) && isnan(s.mean_ms) && isnan(s.user_ms) && isnan(s.peak_mb));
  /* numpy: median 3.0, mean 4.0, std 2.6076809620810595 */
  static const hl_side_execution executions[] = {
      {3, 1, 0.5, 7}, {1, 2, 0.5, 9}, {8, 3, 0.5, 8}, {6, 4, 0.5, 1}, {2, 5, 0.5, 2}};
  for (size_t i = 0; i < 5; i++) assert_int_equal(hl_side_add(&side, &executions[i], NULL), HL_OK);
  s = hl_side_summarise(&side);
  assert_true(s.median_ms == 3 && s.min_ms == 1 && s.max_ms == 8 && s.mean_ms == 4);
  assert_true(fabs(s.std_ms - 2.6076809620810595) < 1e-12);
  assert_true(fabs(s.user_ms - 3) < 1e-12 && fabs(s.system_ms - 0.5) < 1e-12 && s.peak_mb == 9);
  hl_side_release(&side);
}

static char *json_of(const hl_side *side) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_side_write_json(side, &json);
  hl_json_end(&json);
  return hl_text_take(&text);
}

static void test_json(void **state) {
  (void)state;
  hl_side side;
  hl_side_init(&side);
  HL_CLEANUP(hl_free_pointer) char *bare = json_of(&side);
  assert_string_equal(bare, "{\"commit\":null}");
  hl_record_set_text(&side.commit, "abc");
  hl_record_set_text(&side.command, "a \"b\"");
  for (int i = 1; i <= 100; i++) /* more than there is room for at first */
    assert_int_equal(hl_side_add(&side, &(hl_side_execution){.wall_ms = i}, NULL), HL_OK);
  HL_CLEANUP(hl_free_pointer) char *text = json_of(&side);
  assert_non_null(strstr(text, "\"commit\":\"abc\",\"command\":\"a \\\"b\\\"\",\"prepare\":null"));
  assert_non_null(strstr(text, "\"wall_p50_ms\":50.5,"));
  assert_non_null(strstr(text, "\"times_ms\":[1,2,3,"));
  assert_non_null(strstr(text, ",99,100]}"));
  hl_side_release(&side);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_summary), cmocka_unit_test(test_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
