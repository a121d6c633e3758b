/* Races and the search for the best setting, on machines without noise and with much of it. */
#include "method/tuning.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Steps of family f take t0 + t1 * batch; memory grows by a megabyte an input. */
typedef struct model {
  double t0_ns[4], t1_ns[4], m0_bytes, m1_bytes;
  int64_t runs_to; /* larger batches are out of memory; 0: all run */
  uint64_t random;
  double noise;
  size_t scouts, turns, failed;
  int64_t largest;
} model;

static double uniform(model *m) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (double)(m->random >> 11) / 9007199254740992.0;
}

static double step(model *m, const hl_arm *a) {
  double step_ns = m->t0_ns[a->family] + m->t1_ns[a->family] * (double)a->batch;
  return step_ns * (1 + m->noise * (uniform(m) - 0.5));
}

static void scout(model *m, hl_tuning *t, size_t index) {
  const hl_arm *a = &t->arms[index];
  bool fits = m->runs_to == 0 || a->batch <= m->runs_to;
  if (a->batch > m->largest) m->largest = a->batch;
  m->scouts++;
  m->failed += !fits;
  hl_tuning_scouted(t, index,
                    &(hl_tuning_scout){.ran = fits,
                                       .no_memory = !fits,
                                       .step_ns = step(m, a),
                                       .tail = 1,
                                       .memory_bytes = m->m0_bytes + m->m1_bytes * (double)a->batch,
                                       .watts = 10,
                                       .elapsed_ns = 100000000});
}

static const hl_arm *run(model *m, hl_tuning *t, const hl_tuning_goal *goal) {
  hl_tuning_request request;
  hl_tuning_aim(t, goal);
  for (int i = 0; i < 10000; i++) {
    assert_int_equal(hl_tuning_next(t, &request, NULL), HL_OK);
    if (request.kind == HL_TUNING_END) return hl_tuning_best(t);
    if (request.kind == HL_TUNING_SCOUT) {
      assert_int_equal(t->arms[request.arm].state, HL_ARM_NEW);
      scout(m, t, request.arm);
      continue;
    }
    uint64_t ns[8];
    double elapsed = 0;
    size_t n = request.turn.steps < 8 ? (size_t)request.turn.steps : 8;
    for (size_t k = 0; k < n; k++)
      elapsed += (double)(ns[k] = (uint64_t)step(m, &t->arms[request.arm]));
    const hl_turn turn = {.samples_ns = ns,
                          .sample_count = n,
                          .steps_per_sample = 1,
                          .steps = n,
                          .elapsed_ns = (uint64_t)elapsed};
    m->turns++;
    assert_int_equal(hl_tuning_turn(t, &request, &turn, 0, NULL), HL_OK);
  }
  fail_msg("the search does not end");
  return NULL;
}

static hl_tuning tuning;

static hl_tuning *begin(size_t families, int64_t most, bool refine) {
  hl_tuning_options o = {.families = families, .refine = refine, .seed = 7};
  for (int64_t b = 1; b <= most; b *= 2) o.ladder[o.rungs++] = b;
  hl_tuning_release(&tuning);
  hl_tuning_init(&tuning, &o);
  return &tuning;
}

static const hl_tuning_goal fastest = {.weights = {.throughput = 1}, .budget_ns = 600000000000u};

static void plateau_takes_the_smaller_batch(void **state) {
  (void)state;
  /* 1 % of t0: everything from 1 on is within 2 % of the best. */
  model m = {.t0_ns = {1e5}, .t1_ns = {1e7}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  const hl_arm *best = run(&m, begin(1, 128, true), &fastest);
  assert_non_null(best);
  assert_int_equal(best->batch, 1);
  assert_int_equal(hl_tuning_plateau(&tuning, -log(0.95)), 1);
  assert_int_equal(m.scouts, 4); /* two sizes that are no better, and the last of the ladder */
}

static void climbs_while_it_gains(void **state) {
  (void)state;
  model m = {.t0_ns = {1e8}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  const hl_arm *best = run(&m, begin(1, 128, false), &fastest);
  assert_non_null(best);
  assert_int_equal(best->batch, 128);
  assert_int_equal(m.scouts, 8);
  /* (100 + 64) / 64 is 1.44 times (100 + 128) / 128; nothing below 128 has 95 %. */
  assert_int_equal(hl_tuning_plateau(&tuning, -log(0.95)), 128);
  assert_int_equal(hl_tuning_plateau(&tuning, log(1.5)),
                   128); /* 64 was too far behind to be raced */
}

static void the_better_family_wins(void **state) {
  (void)state;
  model m = {.t0_ns = {1e7, 1e7, 1e7, 1e7},
             .t1_ns = {4e6, 1e6, 1.1e6, 9e6},
             .m0_bytes = 1e7,
             .m1_bytes = 1e6,
             .noise = 0.02,
             .random = 3};
  hl_tuning *t = begin(4, 64, true);
  const hl_arm *best = run(&m, t, &fastest);
  assert_non_null(best);
  assert_int_equal(best->family, 1);
  size_t far = 0;
  for (size_t i = 0; i < t->count; i++) far += t->arms[i].family == 3 && t->arms[i].elapsed_ns;
  assert_true(far <= 2); /* nine times as slow: left after two */
}

static void latency_is_kept(void **state) {
  (void)state;
  model m = {.t0_ns = {1e7}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  hl_tuning_goal goal = fastest;
  goal.max_latency_ns = 5e7; /* batch 40, exactly */
  const hl_arm *best = run(&m, begin(1, 128, true), &goal);
  assert_non_null(best);
  assert_true(best->batch >= 37 && best->batch <= 40); /* within 2 % the smaller is taken */
  assert_true(m.largest <= 64); /* longer steps are not tried once one was too long */
}

static void memory_is_kept_and_predicted(void **state) {
  (void)state;
  model m = {.t0_ns = {1e8}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  hl_tuning_goal goal = fastest;
  goal.memory_limit_bytes = 6e7; /* batch 50, exactly */
  hl_tuning *t = begin(1, 128, true);
  const hl_arm *best = run(&m, t, &goal);
  assert_non_null(best);
  assert_true(best->batch > 32 && best->batch <= 50);
  assert_true(m.largest <= 50); /* 64 is refused by the line through 1, 2, 4 ... */
  goal.memory_limit_bytes = 0;
  best = run(&m, t, &goal); /* what was refused for that limit is tried without it */
  assert_true(best->batch > 100);
}

static void out_of_memory_ends_the_climb(void **state) {
  (void)state;
  model m = {.t0_ns = {1e8}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6, .runs_to = 20};
  const hl_arm *best = run(&m, begin(1, 1024, false), &fastest);
  assert_non_null(best);
  assert_int_equal(best->batch, 16);
  assert_int_equal(m.failed, 1);
}

static void nothing_runs(void **state) {
  (void)state;
  model m = {.t0_ns = {1e8, 1e8}, .t1_ns = {1e6, 1e6}};
  hl_tuning_goal goal = fastest;
  goal.max_latency_ns = 1;
  assert_null(run(&m, begin(2, 8, true), &goal));
}

static void further_goals_begin_with_what_was_seen(void **state) {
  (void)state;
  model m = {.t0_ns = {1e7}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  hl_tuning *t = begin(1, 128, false);
  run(&m, t, &fastest);
  size_t scouts = m.scouts;
  const hl_tuning_goal latency = {.weights = {.latency = 1}, .budget_ns = 100000000000u};
  const hl_arm *best = run(&m, t, &latency);
  assert_int_equal(best->batch, 1);
  assert_int_equal(m.scouts, scouts);
  const hl_tuning_goal memory = {.weights = {.memory = 1}, .budget_ns = 100000000000u};
  best = run(&m, t, &memory);
  assert_int_equal(best->batch, 1);
  hl_tuning_refuse(t, (size_t)(best - t->arms));
  assert_int_equal(hl_tuning_best(t)->batch, 2);
}

static void a_goal_that_weighs_what_is_unknown(void **state) {
  (void)state;
  model m = {.t0_ns = {1e7}, .t1_ns = {1e6}, .m0_bytes = (double)NAN, .m1_bytes = 1};
  const hl_tuning_goal memory = {.weights = {.memory = 1}, .budget_ns = 100000000000u};
  assert_null(run(&m, begin(1, 4, true), &memory));
}

static void a_budget_ends_it(void **state) {
  (void)state;
  model m = {.t0_ns = {1e8}, .t1_ns = {1e6}, .m0_bytes = 1e7, .m1_bytes = 1e6};
  hl_tuning_goal goal = fastest;
  goal.budget_ns = 500000000;
  hl_tuning *t = begin(1, 128, true);
  const hl_arm *best = run(&m, t, &goal);
  assert_non_null(best);
  assert_true(t->short_of_time);
  assert_true(t->spent_ns < 2 * goal.budget_ns);
}

/* -- races -- */

/* How many of the members that are not the best fall out, and whether the best stays. */
static void race_once(double best_ns, double other_ns, double noise, uint64_t seed, hl_race *race) {
  model m = {.random = seed, .noise = noise};
  const double steps[3] = {best_ns, other_ns, other_ns};
  hl_race_options o = {
      .members = 3, .seed = seed, .budget_ns = 100000000000u, .time_weight = 1, .tie = 0.02};
  hl_turn_request request;
  for (size_t i = 0; i < 3; i++) o.steps_ns[i] = steps[i];
  hl_race_init(race, &o);
  while (hl_race_next(race, &request)) {
    uint64_t ns[4];
    for (size_t k = 0; k < 4; k++)
      ns[k] = (uint64_t)(steps[request.member] * (1 + noise * (uniform(&m) - 0.5)));
    const hl_turn turn = {request.member, ns, 4, 1, 4, 4 * ns[0], {0}};
    assert_int_equal(hl_race_add(race, &turn, NULL), HL_OK);
  }
  assert_int_equal(hl_race_end(race, NULL), HL_OK);
}

static void what_is_worse_falls_out_soon(void **state) {
  (void)state;
  hl_race race;
  race_once(1e7, 1.3e7, 0.02, 1, &race);
  assert_int_equal(race.leader, 0);
  assert_true(race.dropped[1] && race.dropped[2] && race.decided);
  assert_true(race.pairing.rounds <= 6);
  hl_race_release(&race);
}

static void what_is_as_good_ends_without_a_loser(void **state) {
  (void)state;
  hl_race race;
  race_once(1e7, 1e7, 0.01, 1, &race);
  assert_true(race.decided && !race.dropped[0] && !race.dropped[1]);
  hl_race_release(&race);
}

static void the_best_is_hardly_ever_dropped(void **state) {
  (void)state;
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    hl_race race;
    race_once(1e7, 1.01e7, 0.3, seed, &race);
    wrong += race.dropped[0];
    hl_race_release(&race);
  }
  assert_true(wrong <= 8); /* 2 %; promised are 5 % for all members and looks */
}

static void intervals(void **state) {
  (void)state;
  const double d[3] = {1, 2, 3};
  double estimate, half;
  assert_int_equal(hl_race_interval(d, 3, 0.05, &estimate, &half, NULL), HL_OK);
  assert_true(fabs(estimate - 2) < 1e-12);
  assert_true(fabs(half - 4.302652729911275 / sqrt(3)) < 1e-6); /* t(0.975, 2) s / sqrt(n) */
  assert_int_equal(hl_race_interval(d, 2, 0.05, &estimate, &half, NULL), HL_OK);
  assert_true(isinf(half));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plateau_takes_the_smaller_batch),
      cmocka_unit_test(climbs_while_it_gains),
      cmocka_unit_test(the_better_family_wins),
      cmocka_unit_test(latency_is_kept),
      cmocka_unit_test(memory_is_kept_and_predicted),
      cmocka_unit_test(out_of_memory_ends_the_climb),
      cmocka_unit_test(nothing_runs),
      cmocka_unit_test(further_goals_begin_with_what_was_seen),
      cmocka_unit_test(a_goal_that_weighs_what_is_unknown),
      cmocka_unit_test(a_budget_ends_it),
      cmocka_unit_test(what_is_worse_falls_out_soon),
      cmocka_unit_test(what_is_as_good_ends_without_a_loser),
      cmocka_unit_test(the_best_is_hardly_ever_dropped),
      cmocka_unit_test(intervals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
