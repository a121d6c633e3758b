/* Warm-up on simulated series: what each kind of series must end as, and that it always ends. */
#include "method/warmup.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000.0
static const uint64_t half_minute = 30000000000u;

/* Duration of step `i` in ns. */
typedef double (*series)(uint64_t i);

static double noise(uint64_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  return (double)(x >> 11) / 9007199254740992.0 - 0.5;
}

static double constant(uint64_t i) {
  (void)i;
  return 5 * MS;
}
static double noisy(uint64_t i) {
  return 5 * MS * (1 + 0.02 * noise(i));
}
static double decaying(uint64_t i) {
  return 5 * MS * (1 + 3 * exp(-(double)i / 40));
}
static double drifting(uint64_t i) {
  return 2 * MS * (1 + 0.002 * (double)i);
}
/* Blocks of 10 steps that are fast and slow in turn: no slope over five, but a spread. */
static double alternating(uint64_t i) {
  return i >= 3 && (i - 3) / 10 % 2 ? 54 * MS : 50 * MS;
}
static double half_second(uint64_t i) {
  return 500 * MS * (1 + 0.001 * noise(i));
}
static double seconds_long(uint64_t i) {
  (void)i;
  return 2000 * MS;
}
static double very_long(uint64_t i) {
  (void)i;
  return 20000 * MS;
}
static double compiling(uint64_t i) {
  return i == 0 ? 4000 * MS : 3 * MS;
}
static double tiny(uint64_t i) {
  (void)i;
  return 100;
}
static double nothing(uint64_t i) {
  (void)i;
  return 0;
}

enum { MOST = 1 << 21 };
static uint64_t samples[MOST];

/* Runs a worker that obeys the request; returns the number of requests. */
static int run(hl_warmup *w, series step, double minor_faults_per_step) {
  int requests = 0;
  uint64_t position = 0;
  hl_slice_request request;
  while (hl_warmup_next(w, &request)) {
    hl_slice slice = {.samples_ns = samples, .steps_per_sample = 1};
    assert_true(request.steps >= 1);
    while (slice.steps < request.steps && (slice.steps == 0 || slice.elapsed_ns < request.max_ns)) {
      assert_true(slice.steps < MOST);
      uint64_t ns = (uint64_t)step(position++);
      samples[slice.steps++] = ns;
      slice.elapsed_ns += ns;
    }
    slice.sample_count = slice.steps;
    slice.minor_faults = (uint64_t)(minor_faults_per_step * (double)slice.steps);
    assert_int_equal(hl_warmup_add(w, &slice, NULL), HL_OK);
    if (++requests > 10000) fail_msg("warming up does not end");
  }
  return requests;
}

static void series_table(void **state) {
  (void)state;
  static const struct {
    const char *name;
    series step;
    double faults;
    hl_warmup_verdict expected;
    uint64_t least, most; /* warm-up steps */
  } cases[] = {
      {"constant", constant, 0, HL_WARMUP_STEADY, 100, 110},
      {"noisy", noisy, 0, HL_WARMUP_STEADY, 100, 120},
      {"decaying", decaying, 0, HL_WARMUP_STEADY, 200, 600},
      {"drifting", drifting, 0, HL_WARMUP_NO_STEADY_STATE, 1000, 4000},
      {"alternating", alternating, 0, HL_WARMUP_NO_STEADY_STATE, 160, 180},
      {"half a second", half_second, 0, HL_WARMUP_STEADY, 13, 18},
      {"seconds", seconds_long, 0, HL_WARMUP_UNCHECKED, 3, 3},
      {"beyond the row", very_long, 0, HL_WARMUP_UNCHECKED, 1, 1},
      {"compiling", compiling, 0, HL_WARMUP_STEADY, 150, 200},
      {"faulting", constant, 40, HL_WARMUP_NO_STEADY_STATE, 1000, 2000},
      {"few faults", constant, 0.1, HL_WARMUP_STEADY, 100, 110},
      {"tiny", tiny, 0, HL_WARMUP_STEADY, 1000000, 10000000},
      {"no time at all", nothing, 0, HL_WARMUP_STEADY, 5u << 20, 6u << 20},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_warmup w;
    hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = -1, .row_ns = half_minute});
    run(&w, cases[i].step, cases[i].faults);
    if (w.verdict != cases[i].expected || w.steps < cases[i].least || w.steps > cases[i].most)
      fail_msg("%s: verdict %d after %llu steps", cases[i].name, (int)w.verdict,
               (unsigned long long)w.steps);
    assert_int_equal(w.first_ns, (uint64_t)cases[i].step(0));
    char text[200];
    hl_warmup_explain(&w, text, sizeof text);
    assert_int_equal(text[0] == '\0', w.verdict == HL_WARMUP_STEADY);
  }
}

/* The cap is 30 % of the row, and may be passed by one step only. */
static void cap(void **state) {
  (void)state;
  static const uint64_t rows[] = {0, 1, 1000000, 100000000, 1000000000, half_minute};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hl_warmup w;
    hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = -1, .row_ns = rows[i]});
    run(&w, drifting, 0);
    assert_int_not_equal(w.verdict, HL_WARMUP_STEADY);
    assert_true((double)w.elapsed_ns <= 0.3 * (double)rows[i] + drifting(w.steps) * 3);
  }
}

static void fixed(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 10, 250};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    hl_warmup w;
    hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = counts[i], .row_ns = 1});
    run(&w, drifting, 1000);
    assert_int_equal(w.verdict, HL_WARMUP_FIXED);
    assert_int_equal(w.steps, counts[i]);
    assert_int_equal(hl_warmup_steady(&w), -1);
  }
}

static void major_fault(void **state) {
  (void)state;
  hl_warmup w;
  hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = -1, .row_ns = half_minute});
  hl_slice_request request;
  uint64_t ns[64];
  for (size_t i = 0; i < 64; i++) ns[i] = 5000000;
  /* One fault from a disk in the third block delays the verdict until that block is forgotten. */
  while (hl_warmup_next(&w, &request)) {
    assert_true(request.steps <= 64);
    hl_slice slice = {.samples_ns = ns,
                      .sample_count = request.steps,
                      .steps_per_sample = 1,
                      .steps = request.steps,
                      .elapsed_ns = request.steps * ns[0],
                      .major_faults = w.block_count == 2};
    assert_int_equal(hl_warmup_add(&w, &slice, NULL), HL_OK);
  }
  assert_int_equal(w.verdict, HL_WARMUP_STEADY);
  assert_int_equal(w.block_count, 8);
}

static void empty_slice(void **state) {
  (void)state;
  hl_warmup w;
  hl_error error;
  hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = -1, .row_ns = half_minute});
  assert_int_equal(hl_warmup_add(&w, &(hl_slice){.steps_per_sample = 1}, &error),
                   HL_INVALID_ARGUMENT);
}

/* A fixed count is kept, unless a budget that was given binds it: half of the row, passed by one
 * step only. */
static void fixed_within_a_budget(void **state) {
  (void)state;
  static const struct {
    bool binds;
    uint64_t row_ns, steps;
  } cases[] = {
      {false, 1000000000, 10}, {true, 3500000000, 4}, {true, 1, 1}, {true, 100000000000, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_warmup w;
    hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = 10,
                                            .row_ns = cases[i].row_ns,
                                            .budget_binds_fixed = cases[i].binds});
    run(&w, half_second, 0);
    assert_int_equal(w.verdict, HL_WARMUP_FIXED);
    assert_int_equal(w.steps, cases[i].steps);
    char text[200];
    hl_warmup_explain(&w, text, sizeof text);
    assert_int_equal(strncmp(text, "warmup_cut: ", 12) == 0, cases[i].steps < 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(series_table), cmocka_unit_test(cap),
      cmocka_unit_test(fixed),        cmocka_unit_test(fixed_within_a_budget),
      cmocka_unit_test(major_fault),  cmocka_unit_test(empty_slice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
