#include "record/requirement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refused(const char *text, const char *part) {
  hl_error error = {0};
  hl_requirement requirement;
  assert_int_equal(hl_requirement_parse(text, NULL, NULL, &requirement, &error),
                   strcmp(part, "more than 4") == 0 ? HL_LIMIT : HL_INVALID_ARGUMENT);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in: %s", part, error.msg);
}

static void what_is_no_requirement_is_refused(void **unused) {
  (void)unused;
  refused("", "no metric before");
  refused("< 1", "no metric before");
  refused("latency_p99_msx < 1", "did you mean 'latency_p99_ms'?");
  refused("latency_p99_ms 1", "is none of <, <=");
  refused("latency_p99_ms <", "no value after 'latency_p99_ms'");
  refused("latency_p99_ms < fast", "'fast' is no number");
  refused("latency_p99_ms < nan", "is no number");
  refused("latency_p99_ms = 1", "required to be <, <=, > or >=");
  refused("model < 1", "'model' is not one number");
  refused("latency_p99_ci_ms < 1", "'latency_p99_ci_ms' is not one number");
  refused("latency_p99_ms < 1 and", "neither 'where CONDITION' nor the end");
  refused("latency_p99_ms < 1 where", "neither 'where CONDITION' nor the end");
  refused("latency_p99_ms < 1 where model > mlp", "is no number to compare 'model'");
  refused("latency_p99_ms < 1 where batch_size = one", "'one' is no number");
  refused("latency_p99_ms < 1; memory_mb < 1", "one at a time");
  refused("memory_mb < 1 where batch_size > 1 and batch_size > 2 and batch_size > 3 and "
          "batch_size > 4 and batch_size > 5",
          "more than 4");
}

typedef struct judged_case {
  const char *text;
  hl_requirement_verdict verdict;
} judged_case;

static void rows_are_judged(void **unused) {
  (void)unused;
  static const judged_case cases[] = {
      {"memory_mb < 10", HL_REQUIREMENT_PASS},
      {"memory_mb < 9.5", HL_REQUIREMENT_FAIL},
      {"memory_mb <= 9.5", HL_REQUIREMENT_PASS},
      {"memory_mb>9.5", HL_REQUIREMENT_FAIL},
      {"memory_mb >= 9.5", HL_REQUIREMENT_PASS},
      /* p50 is 1 [0.9, 1.2]: its interval decides. */
      {"latency_p50_ms < 1.3", HL_REQUIREMENT_PASS},
      {"latency_p50_ms < 1.1", HL_REQUIREMENT_UNSURE},
      {"latency_p50_ms < 0.8", HL_REQUIREMENT_FAIL},
      {"latency_p50_ms > 0.8", HL_REQUIREMENT_PASS},
      /* p99 has no interval: no verdict, however good it looks. */
      {"latency_p99_ms < 1000", HL_REQUIREMENT_UNKNOWN},
      {"latency_p99_ms > 0.1", HL_REQUIREMENT_UNKNOWN},
      /* But it is above the median, and above steps that are all beyond the limit. */
      {"latency_p99_ms < 0.9", HL_REQUIREMENT_FAIL},
      {"latency_p99_ms <= 0.89", HL_REQUIREMENT_FAIL},
      {"latency_p99_ms < 0.95", HL_REQUIREMENT_FAIL},
      {"latency_p99_ms < 0.96", HL_REQUIREMENT_UNKNOWN},
      /* Of the user's own. */
      {"own > 3", HL_REQUIREMENT_PASS},
      {"own > 3.5", HL_REQUIREMENT_FAIL},
      {"unknown_own > 3", HL_REQUIREMENT_UNKNOWN},
      {"no_such > 3", HL_REQUIREMENT_UNKNOWN},
      {"memory_mb < 10 where own > 3.5", HL_REQUIREMENT_ELSEWHERE},
      {"memory_mb < 10 where unknown_own < 3", HL_REQUIREMENT_ELSEWHERE},
      {"efficiency > 1", HL_REQUIREMENT_UNKNOWN},
      {"batch_size >= 8", HL_REQUIREMENT_PASS},
      {"memory_mb < 10 where batch_size = 8 and model = mlp:hidden_dim=8", HL_REQUIREMENT_PASS},
      {"memory_mb < 1 where batch_size = 1", HL_REQUIREMENT_ELSEWHERE},
      {"memory_mb < 1 where model != mlp:hidden_dim=8", HL_REQUIREMENT_ELSEWHERE},
      {"memory_mb < 1 where efficiency > 1", HL_REQUIREMENT_ELSEWHERE},
  };
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.outcome, "PASSED");
  hl_record_set_text(&r.model, "mlp:hidden_dim=8");
  r.batch_size = 8;
  r.memory_mb = 9.5;
  r.latency_p50_ms = 1;
  r.latency_p50_ci_ms = (hl_pair){0.9, 1.2};
  r.latency_p99_ms = 2;
  r.latency_min_ms = 0.95;
  r.measurement_iterations = 2;
  static const char *const names[] = {"own", "unknown_own"};
  for (size_t i = 0; i < HL_COUNT(names); i++) {
    hl_custom custom;
    hl_custom_init(&custom);
    hl_record_set_text(&custom.name, names[i]);
    if (i == 0) custom.value = 3.5;
    assert_int_equal(hl_customs_take(&r.customs, &custom, NULL), HL_OK);
    hl_custom_release(&custom);
  }
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_requirement requirement;
    hl_error error = {0};
    if (hl_requirement_parse(cases[i].text, hl_requirement_any, NULL, &requirement, &error) !=
        HL_OK)
      fail_msg("%s", error.msg);
    hl_requirement_verdict verdict = hl_requirement_judge(&requirement, &r).verdict;
    if (verdict != cases[i].verdict)
      fail_msg("%s: %s", cases[i].text, hl_requirement_verdict_name(verdict));
  }
  hl_record_set_text(&r.outcome, "FAILED"); /* its numbers are no result */
  hl_requirement requirement;
  assert_int_equal(hl_requirement_parse("memory_mb < 10", NULL, NULL, &requirement, NULL), HL_OK);
  assert_int_equal(hl_requirement_judge(&requirement, &r).verdict, HL_REQUIREMENT_UNKNOWN);
  hl_record_release(&r);
}

static void a_row_keeps_what_applies(void **unused) {
  (void)unused;
  static const char *const texts[] = {"memory_mb < 10", "memory_mb < 1 where batch_size = 1",
                                      "batch_size <= 8"};
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.outcome, "PASSED");
  r.batch_size = 8;
  r.memory_mb = 9.5;
  assert_int_equal(hl_record_require(&r, texts, 3, NULL), HL_OK);
  assert_string_equal(r.requirements, "memory_mb < 10; batch_size <= 8");
  assert_int_equal(r.requirements_met, 1);
  r.memory_mb = 11;
  assert_int_equal(hl_record_require(&r, texts, 3, NULL), HL_OK);
  assert_int_equal(r.requirements_met, 0);
  r.memory_mb = (double)NAN;
  assert_int_equal(hl_record_require(&r, texts, 3, NULL), HL_OK);
  assert_int_equal(r.requirements_met, -1);
  hl_record_release(&r);
  hl_record_init(&r);
  assert_int_equal(hl_record_require(&r, NULL, 0, NULL), HL_OK);
  assert_null(r.requirements);
  assert_int_equal(r.requirements_met, -1);
  hl_record_release(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_no_requirement_is_refused),
      cmocka_unit_test(rows_are_judged),
      cmocka_unit_test(a_row_keeps_what_applies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
