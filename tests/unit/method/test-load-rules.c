#include "method/load-rules.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_rules(void **state) {
  (void)state;
  hl_load_rules r = hl_load_rules_of(HL_LOAD_STRICT, 0.99);
  assert_int_equal(r.min_queries, 662); /* LoadGen's table */
  assert_true(r.min_ns == 600000000000u);
  r = hl_load_rules_of(HL_LOAD_NORMAL, 0.9);
  assert_int_equal(r.min_queries, 64);
  assert_true(r.min_ns == 60000000000u);
  r = hl_load_rules_of(HL_LOAD_QUICK, 0.99);
  assert_true(r.min_ns == 10000000000u);
  assert_int_equal(hl_load_rules_of(HL_LOAD_STRICT, 0).min_queries, 24576);
  assert_true(hl_load_rules_of(HL_LOAD_STRICT, 0).min_ns == 0);
}

static hl_load_validity judge(const hl_load_rules *rules, hl_load_seen seen, hl_text *reasons) {
  hl_text_clear(reasons);
  return hl_load_judge(rules, &seen, reasons);
}

static void test_judge(void **state) {
  (void)state;
  hl_text why = HL_TEXT_INIT;
  hl_load_rules r = hl_load_rules_of(HL_LOAD_NORMAL, 0.99);
  hl_load_seen good = {
      .queries = 2010, .duration_ns = 60000000000u, .slow = 10, .has_target = true};
  assert_int_equal(judge(&r, good, &why), HL_LOAD_VALID);
  assert_string_equal(why.data, "");
  hl_load_seen seen = good;
  seen.slow = 11; /* 10 may be slow of 2010 */
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_non_null(strstr(why.data, "11 of 2010 queries took longer than the target, 10 may"));
  seen.has_target = false;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_VALID);
  seen = good;
  seen.duration_ns -= 1000000000u;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_non_null(strstr(why.data, "59.0 s, 60 s are needed"));
  seen = good;
  seen.queries = 661;
  seen.slow = 0;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_non_null(strstr(why.data, "661 queries, 662 are needed"));
  seen = good;
  seen.unserved = 5;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  hl_text_release(&why);
}

/* A quick run claims nothing when it is good, and says so when it is not. */
static void test_quick(void **state) {
  (void)state;
  hl_text why = HL_TEXT_INIT;
  hl_load_rules r = hl_load_rules_of(HL_LOAD_QUICK, 0.99);
  hl_load_seen seen = {.queries = 200, .duration_ns = 10000000000u, .slow = 2, .has_target = true};
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_UNCLAIMED);
  seen.duration_ns = 9900000000u; /* as short as it likes */
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_UNCLAIMED);
  seen.slow = 3;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_null(strstr(why.data, "needed"));
  hl_text_release(&why);
}

/* A rate that was not kept is none, whatever the latencies; and it says who was busy. */
static void test_behind(void **state) {
  (void)state;
  hl_text why = HL_TEXT_INIT;
  hl_load_rules r = hl_load_rules_of(HL_LOAD_NORMAL, 0.99);
  hl_load_seen seen = {.queries = 60000, .duration_ns = 60000000000u, .rate = 1000, .busy = 0.5};
  seen.behind_ns = 3000000000u;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_VALID);
  seen.behind_ns++;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_string_equal(why.data,
                      "fell 3 s behind: served 1000 of 1000 queries/s; the engine was busy 50 % of "
                      "the time, the generator the rest");
  seen.target_ns = seen.behind_ns; /* as late as that may be */
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_VALID);
  seen.target_ns--;
  seen.busy = 0.95;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  assert_null(strstr(why.data, "generator"));
  seen.rate = 0; /* not Server */
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_VALID);
  r = hl_load_rules_of(HL_LOAD_QUICK, 0.99);
  seen.rate = 1000;
  assert_int_equal(judge(&r, seen, &why), HL_LOAD_INVALID);
  hl_text_release(&why);
}

static void test_names(void **state) {
  (void)state;
  hl_load_mode mode;
  assert_true(hl_load_mode_from_name("strict", &mode));
  assert_int_equal(mode, HL_LOAD_STRICT);
  assert_false(hl_load_mode_from_name("Strict ", &mode));
  assert_string_equal(hl_load_validity_name(HL_LOAD_UNCLAIMED), "QUICK");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_judge),
                                     cmocka_unit_test(test_quick), cmocka_unit_test(test_behind),
                                     cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
