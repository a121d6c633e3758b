/* Turns on simulated machines: order, lengths, ends, and how often a verdict is wrong. */
#include "method/pairing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A machine whose speed drifts: an AR(1) of the logarithm from turn to turn, and noise on each
 * step. */
typedef struct machine {
  uint64_t random;
  double drift, step_ns[3], cold; /* factor of a turn's first step that counts */
  uint64_t disturbed_from, disturbed_to;
  uint64_t turns;
} machine;

static double uniform(machine *m) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (double)(m->random >> 11) / 9007199254740992.0;
}

static double normal(machine *m) {
  double sum = -6; /* of twelve uniform numbers: variance 1 */
  for (int i = 0; i < 12; i++) sum += uniform(m);
  return sum;
}

static void run_turn(machine *m, hl_pairing *p, const hl_turn_request *request) {
  enum { most = 64 };
  uint64_t ns[most], elapsed = 0;
  size_t n = request->steps < most ? (size_t)request->steps : most;
  m->drift = 0.95 * m->drift + 0.02 * normal(m);
  for (size_t i = 0; i < n; i++) {
    double step = m->step_ns[request->member] * exp(m->drift + 0.02 * normal(m));
    if (i == 0) step *= m->cold;
    ns[i] = (uint64_t)step;
    elapsed += ns[i];
  }
  bool disturbed = m->turns >= m->disturbed_from && m->turns < m->disturbed_to;
  m->turns++;
  const hl_turn turn = {
      request->member, ns, n, 1, n, elapsed, (hl_turn_noise){.throttled_s = disturbed ? 0.01 : 0}};
  assert_int_equal(hl_pairing_add(p, &turn, NULL), HL_OK);
}

static void run_all(machine *m, hl_pairing *p, const hl_pairing_options *options) {
  hl_turn_request request;
  hl_pairing_init(p, options);
  for (size_t i = 0; i < options->members; i++) hl_pairing_step(p, i, m->step_ns[i]);
  while (hl_pairing_next(p, true, &request)) run_turn(m, p, &request);
}

static hl_pairing_result compare_once(uint64_t seed, double a, double b, uint64_t budget_ns) {
  machine m = {.random = seed, .step_ns = {a, b}, .cold = 1};
  hl_pairing p;
  hl_pairing_result r;
  for (int i = 0; i < 200; i++) m.drift = 0.95 * m.drift + 0.02 * normal(&m);
  run_all(&m, &p,
          &(hl_pairing_options){.members = 2, .seed = seed * 7919 + 1, .budget_ns = budget_ns});
  assert_int_equal(hl_pairing_compare(&p, 0, 1, &r, NULL), HL_OK);
  hl_pairing_release(&p);
  return r;
}

/* Identical programs on a drifting machine: 5 % at most may be told apart, and chance. */
static void identical_programs_are_not_told_apart(void **state) {
  (void)state;
  enum { runs = 400 };
  int wrong = 0, equivalent = 0;
  for (uint64_t seed = 1; seed <= runs; seed++) {
    hl_pairing_result r = compare_once(seed, 10e6, 10e6, (uint64_t)6e9);
    wrong += strcmp(r.verdict, "faster") == 0 || strcmp(r.verdict, "slower") == 0;
    equivalent += strcmp(r.verdict, "equivalent") == 0;
    assert_true(r.pairs >= HL_PAIRS_LEAST);
  }
  assert_in_range(wrong, 0, runs * 8 / 100);
  assert_true(equivalent > 0);
}

static void three_percent_are_found(void **state) {
  (void)state;
  int found = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    hl_pairing_result r = compare_once(seed, 10.3e6, 10e6, (uint64_t)20e9);
    found += strcmp(r.verdict, "faster") == 0;
    assert_true(r.low <= r.ratio && r.ratio <= r.high);
  }
  assert_true(found >= 95);
  hl_pairing_result r = compare_once(5, 10e6, 13e6, (uint64_t)20e9);
  assert_string_equal(r.verdict, "slower");
  assert_true(fabs(r.ratio - 1 / 1.3) < 0.03 && r.detectable > 0);
}

static void everyone_is_first_as_often(void **state) {
  (void)state;
  size_t first[3] = {0};
  machine m = {.random = 3, .step_ns = {1e6, 1e6, 1e6}, .cold = 1};
  hl_pairing p;
  hl_pairing_init(&p, &(hl_pairing_options){.members = 3, .seed = 9, .budget_ns = UINT64_MAX});
  for (size_t i = 0; i < 3; i++) hl_pairing_step(&p, i, 1e6);
  hl_turn_request request;
  for (size_t turn = 0; turn < 3 * 900; turn++) {
    assert_true(hl_pairing_next(&p, false, &request));
    first[request.member] += turn % 3 == 0;
    run_turn(&m, &p, &request);
    /* Each round has every member once. */
    if (turn % 3 == 2)
      for (size_t i = 0; i < 3; i++) assert_true(isfinite(p.logs[turn / 3 * 3 + i]) != 0);
  }
  for (size_t i = 0; i < 3; i++) assert_in_range(first[i], 240, 360);
  hl_pairing_release(&p);
}

static void disturbed_rounds_are_void(void **state) {
  (void)state;
  machine m = {.random = 4,
               .step_ns = {10e6, 10e6},
               .cold = 1,
               .disturbed_from = 10,
               .disturbed_to = 13}; /* the rounds 6 and 7 */
  hl_pairing p;
  hl_pairing_result r;
  run_all(&m, &p, &(hl_pairing_options){.members = 2, .seed = 1, .budget_ns = (uint64_t)4e9});
  assert_int_equal(hl_pairing_compare(&p, 0, 1, &r, NULL), HL_OK);
  assert_int_equal(r.voiding.counts[HL_VOID_THROTTLING], 2);
  assert_int_equal(hl_voiding_total(&r.voiding), 2);
  assert_int_equal(r.pairs + 2, p.rounds);
  hl_pairing_release(&p);
}

static void budget_binds_but_each_has_a_turn(void **state) {
  (void)state;
  machine m = {.random = 5, .step_ns = {5e9, 5e9}, .cold = 1};
  hl_pairing p;
  hl_pairing_result r;
  run_all(&m, &p, &(hl_pairing_options){.members = 2, .seed = 1, .budget_ns = (uint64_t)1e9});
  assert_int_equal(p.rounds, 1);
  assert_int_equal(hl_pairing_compare(&p, 0, 1, &r, NULL), HL_OK);
  assert_int_equal(r.pairs, 1);
  assert_string_equal(r.verdict, "inconclusive");
  assert_true(isfinite(r.ratio) && isnan(r.low));
  hl_pairing_release(&p);
}

static void fixed_steps_are_exact(void **state) {
  (void)state;
  for (uint64_t fixed = 1; fixed <= 101; fixed += 25) {
    machine m = {.random = 6, .step_ns = {1e6, 3e6}, .cold = 1};
    hl_pairing p;
    run_all(&m, &p,
            &(hl_pairing_options){
                .members = 2, .seed = 1, .budget_ns = UINT64_MAX, .fixed_steps = fixed});
    assert_int_equal(p.members[0].steps, fixed);
    assert_int_equal(p.members[1].steps, fixed);
    assert_true(p.rounds <= HL_PAIRS_LEAST);
    hl_pairing_release(&p);
  }
}

static void cold_caches_are_given_more_steps(void **state) {
  (void)state;
  for (int cold = 0; cold < 2; cold++) {
    machine m = {.random = 7, .step_ns = {1e6, 1e6}, .cold = cold ? 1.2 : 1};
    hl_pairing p;
    hl_pairing_init(&p, &(hl_pairing_options){.members = 2, .budget_ns = (uint64_t)60e9});
    hl_pairing_step(&p, 0, 1e6);
    hl_pairing_step(&p, 1, 1e6);
    assert_int_equal(p.members[0].discard_steps, 5); /* 5 ms */
    hl_turn_request request;
    for (int i = 0; i < 2 * 15 && hl_pairing_next(&p, false, &request); i++)
      run_turn(&m, &p, &request);
    assert_int_equal(p.members[0].discard_steps, cold ? 10 : 5);
    hl_pairing_release(&p);
  }
}

static void a_member_may_leave(void **state) {
  (void)state;
  machine m = {.random = 8, .step_ns = {10e6, 10e6, 10e6}, .cold = 1};
  hl_pairing p;
  hl_pairing_init(&p, &(hl_pairing_options){.members = 3, .seed = 2, .budget_ns = (uint64_t)9e9});
  for (size_t i = 0; i < 3; i++) hl_pairing_step(&p, i, 10e6);
  hl_turn_request request;
  for (int i = 0; i < 9 && hl_pairing_next(&p, false, &request); i++) run_turn(&m, &p, &request);
  hl_pairing_drop(&p, 1);
  hl_pairing_drop(&p, 1);
  assert_int_equal(p.live, 2);
  while (hl_pairing_next(&p, true, &request)) {
    assert_int_not_equal(request.member, 1);
    run_turn(&m, &p, &request);
  }
  hl_pairing_result r;
  assert_int_equal(hl_pairing_compare(&p, 0, 1, &r, NULL), HL_OK);
  assert_int_equal(r.pairs, 3);
  assert_int_equal(hl_pairing_compare(&p, 0, 2, &r, NULL), HL_OK);
  assert_true(r.pairs >= HL_PAIRS_LEAST);
  hl_pairing_release(&p);
}

static void senseless_turns_are_refused(void **state) {
  (void)state;
  hl_pairing p;
  hl_turn_request request;
  hl_error error;
  uint64_t ns = 5;
  hl_pairing_init(&p, &(hl_pairing_options){.members = 2, .budget_ns = 1000});
  hl_turn turn = {0, &ns, 1, 1, 1, 5, {0}};
  assert_int_equal(hl_pairing_add(&p, &turn, &error), HL_INVALID_ARGUMENT); /* no round began */
  hl_pairing_step(&p, 0, 0);
  hl_pairing_step(&p, 1, 0);
  assert_true(hl_pairing_next(&p, false, &request));
  assert_true(request.steps >= 1 && request.max_ns >= 1);
  turn.member = 2;
  assert_int_equal(hl_pairing_add(&p, &turn, &error), HL_INVALID_ARGUMENT);
  turn = (hl_turn){0, &ns, 1, 1, 0, 5, {0}};
  assert_int_equal(hl_pairing_add(&p, &turn, &error), HL_INVALID_ARGUMENT);
  hl_pairing_release(&p);
}

/* Without a warm-up nothing is known of a step: few are thrown away, not those of 5 ms. */
static void unknown_steps(void **state) {
  (void)state;
  hl_pairing p;
  hl_turn_request request;
  hl_pairing_init(&p, &(hl_pairing_options){.members = 2, .seed = 1, .budget_ns = 1000000000});
  hl_pairing_step(&p, 0, 0);
  hl_pairing_step(&p, 1, 0);
  assert_true(hl_pairing_next(&p, false, &request));
  assert_in_range(request.discard_steps, 1, 2);
  assert_true(request.max_ns < 1000000000);
  hl_pairing_release(&p);
}

/* A turn of a process of its own: one sample, nothing before it, whatever it takes. */
static void turns_of_single_samples(void **state) {
  (void)state;
  machine m = {.random = 5, .step_ns = {1e3, 2e9, 5e6}, .cold = 1};
  const hl_pairing_options options = {
      .members = 3, .seed = 9, .budget_ns = UINT64_MAX, .rounds = 30, .single = true};
  hl_pairing p;
  hl_turn_request request;
  size_t taken[3] = {0}, first[3] = {0}, turns = 0;
  hl_pairing_init(&p, &options);
  for (; hl_pairing_next(&p, true, &request); turns++) {
    assert_int_equal(request.discard_steps, 0);
    assert_int_equal(request.steps, 1);
    if (turns % 3 == 0) first[request.member]++;
    taken[request.member]++;
    run_turn(&m, &p, &request);
  }
  for (size_t i = 0; i < 3; i++) assert_true(taken[i] == 30 && first[i] > 3);
  hl_pairing_result r;
  assert_int_equal(hl_pairing_compare(&p, 0, 2, &r, NULL), HL_OK);
  assert_int_equal(r.pairs, 30);
  assert_true(r.ratio > 1e3 / 5e6 * 0.9 && r.ratio < 1e3 / 5e6 * 1.1);
  hl_pairing_release(&p);
}

/* What was asked for is measured, also beyond what is enough. */
static void asked_rounds_are_not_cut(void **state) {
  (void)state;
  enum { asked = HL_ROUNDS_MOST + 500 };
  machine m = {.random = 6, .step_ns = {1e6, 1e6}, .cold = 1};
  hl_pairing p;
  hl_turn_request request;
  hl_pairing_init(
      &p, &(hl_pairing_options){
              .members = 2, .seed = 3, .budget_ns = UINT64_MAX, .rounds = asked, .single = true});
  while (hl_pairing_next(&p, true, &request)) run_turn(&m, &p, &request);
  assert_int_equal(p.rounds, asked);
  hl_pairing_release(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unknown_steps),
      cmocka_unit_test(identical_programs_are_not_told_apart),
      cmocka_unit_test(three_percent_are_found),
      cmocka_unit_test(everyone_is_first_as_often),
      cmocka_unit_test(disturbed_rounds_are_void),
      cmocka_unit_test(budget_binds_but_each_has_a_turn),
      cmocka_unit_test(fixed_steps_are_exact),
      cmocka_unit_test(cold_caches_are_given_more_steps),
      cmocka_unit_test(a_member_may_leave),
      cmocka_unit_test(turns_of_single_samples),
      cmocka_unit_test(asked_rounds_are_not_cut),
      cmocka_unit_test(senseless_turns_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
