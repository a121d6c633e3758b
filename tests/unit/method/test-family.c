#include "method/family.h"

#include "statistics/paired.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 50 };

static size_t processes[PAIRS];

/* Differences around `middle` that alternate, ten in each of five processes. */
static void fill(double ratios[PAIRS], double middle, double width, double process_step) {
  for (size_t i = 0; i < PAIRS; i++) {
    double side = i % 2 ? 1 : -1;
    processes[i] = i / 10;
    ratios[i] =
        middle + width * side * (double)(1 + i % 7) / 7 + process_step * ((double)(i / 10) - 2);
  }
}

static hl_family_result judge_one(double middle, double width, double process_step) {
  double ratios[PAIRS];
  hl_family_result result;
  fill(ratios, middle, width, process_step);
  const hl_family_member member = {ratios, processes, PAIRS};
  assert_int_equal(hl_family_judge(&member, 1, 0.05, 0.01, &result, NULL), HL_OK);
  return result;
}

static void test_verdicts(void **state) {
  (void)state;
  assert_string_equal(judge_one(0, 0.001, 0).verdict, "equivalent");
  assert_string_equal(judge_one(0.1, 0.01, 0).verdict, "faster");
  assert_string_equal(judge_one(-0.1, 0.01, 0).verdict, "slower");
  assert_string_equal(judge_one(0, 0.2, 0).verdict, "inconclusive");
  hl_family_result slower = judge_one(-0.1, 0.01, 0);
  assert_true(fabs(slower.ratio - exp(-0.1)) < 0.001 && slower.low < slower.ratio &&
              slower.ratio < slower.high && slower.level == 0.05 && !slower.by_processes);
}

/* Fifty pairs that agree within each process are no fifty opinions. */
static void test_processes_that_differ_widen_the_interval(void **state) {
  (void)state;
  hl_family_result calm = judge_one(0.03, 0.002, 0), spread = judge_one(0.03, 0.002, 0.03);
  assert_string_equal(calm.verdict, "faster");
  assert_true(spread.by_processes);
  /* Means 0.03 + 0.03 {-2..2}: 0.0474 / sqrt(5) x 2.776 = 0.0589. */
  assert_true(fabs(log(spread.high) - 0.0889) < 0.002 && fabs(log(spread.low) + 0.0289) < 0.002);
  assert_string_equal(spread.verdict, "inconclusive");
}

static void test_a_wild_pair_is_outvoted(void **state) {
  (void)state;
  double ratios[PAIRS];
  fill(ratios, -0.03, 0.002, 0);
  ratios[3] = 1.2;
  ratios[14] = -2;
  const hl_family_member member = {ratios, processes, PAIRS};
  hl_family_result r;
  assert_int_equal(hl_family_judge(&member, 1, 0.05, 0.01, &r, NULL), HL_OK);
  assert_string_equal(r.verdict, "slower");
  assert_true(log(r.high) - log(r.low) < 0.004);
}

/* Pairs of a process each are independent: their interval is that of the signed ranks. */
static void test_a_pair_in_each_process(void **state) {
  (void)state;
  double ratios[PAIRS];
  size_t own[PAIRS];
  fill(ratios, 0.03, 0.01, 0);
  ratios[0] = 3;
  for (size_t i = 0; i < PAIRS; i++) own[i] = i;
  const hl_family_member member = {ratios, own, PAIRS};
  hl_family_result r;
  hl_paired pair;
  assert_int_equal(hl_family_judge(&member, 1, 0.05, 0.01, &r, NULL), HL_OK);
  assert_int_equal(hl_paired_estimate_at(ratios, PAIRS, 0.05, &pair, NULL), HL_OK);
  assert_true(r.low == exp(pair.low) && r.high == exp(pair.high));
}

static void test_holm(void **state) {
  (void)state;
  double ratios[3][PAIRS];
  fill(ratios[0], 0, 0.2, 0);
  fill(ratios[1], 0.5, 0.01, 0);
  fill(ratios[2], 0.3, 0.29, 0);
  ratios[2][0] = -1; /* not as certain as the second */
  hl_family_member members[3];
  hl_family_result r[3];
  for (size_t i = 0; i < 3; i++) members[i] = (hl_family_member){ratios[i], processes, PAIRS};
  assert_int_equal(hl_family_judge(members, 3, 0.06, 0.01, r, NULL), HL_OK);
  assert_true(fabs(r[1].level - 0.02) < 1e-12 && fabs(r[2].level - 0.03) < 1e-12 &&
              fabs(r[0].level - 0.06) < 1e-12);
  /* Nothing is found: nothing is judged by more than the first level. */
  fill(ratios[1], 0, 0.2, 0);
  fill(ratios[2], 0, 0.2, 0);
  assert_int_equal(hl_family_judge(members, 3, 0.06, 0.01, r, NULL), HL_OK);
  for (size_t i = 0; i < 3; i++) assert_true(fabs(r[i].level - 0.02) < 1e-12);
}

static void test_no_pairs(void **state) {
  (void)state;
  const hl_family_member none = {NULL, NULL, 0};
  hl_family_result result;
  assert_int_equal(hl_family_judge(&none, 1, 0.05, 0.01, &result, NULL), HL_OK);
  assert_null(result.verdict);
  assert_true(isnan(result.ratio) && isnan(result.low));
}

/* Critical values of the signed-rank test, two-sided .10, .05, .01 (Wilcoxon's table). */
static void test_cuts_are_those_of_the_table(void **state) {
  (void)state;
  static const struct {
    size_t n;
    int64_t at_10, at_5, at_1;
  } table[] = {{6, 2, 0, -1},    {8, 5, 3, 0},     {10, 10, 8, 3},
               {15, 30, 25, 15}, {20, 60, 52, 37}, {25, 100, 89, 68}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_int_equal(hl_signed_rank_cut_at(table[i].n, 0.10), table[i].at_10);
    assert_int_equal(hl_signed_rank_cut_at(table[i].n, 0.05), table[i].at_5);
    assert_int_equal(hl_signed_rank_cut_at(table[i].n, 0.01), table[i].at_1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_processes_that_differ_widen_the_interval),
      cmocka_unit_test(test_a_wild_pair_is_outvoted),
      cmocka_unit_test(test_a_pair_in_each_process),
      cmocka_unit_test(test_holm),
      cmocka_unit_test(test_no_pairs),
      cmocka_unit_test(test_cuts_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
