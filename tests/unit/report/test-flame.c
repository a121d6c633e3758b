/* Stacks of a profile: who ran within whom, and that no time is lost or counted twice. */
#include "record/profile-nest.h"
#include "report/flame.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static hl_profile *profile;

static int set_up(void **state) {
  (void)state;
  return hl_profile_new(&profile, NULL) != HL_OK;
}

static int tear_down(void **state) {
  (void)state;
  hl_profile_free(profile);
  return 0;
}

static int32_t add(const char *name, const char *kind, const char *phase) {
  return hl_profile_operator_add(
      profile, &(hl_profile_operator){.name = name, .kind = kind, .phase = phase});
}

static void call(int32_t operator, int32_t thread, uint64_t start, uint64_t ns) {
  hl_profile_event event = {
      .operator= operator, .thread = thread, .start_ns = start, .duration_ns = ns};
  assert_int_equal(hl_profile_event_add(profile, &event), HL_OK);
}

static void expect_folded(const char *expected) {
  hl_text text = HL_TEXT_INIT;
  assert_int_equal(hl_flame_folded(profile, &text, NULL), HL_OK);
  assert_string_equal(text.data, expected);
  hl_text_release(&text);
}

static void calls_nest(void **state) {
  (void)state;
  int32_t span = add("forward", "span", ""), conv = add("conv", "Conv", "forward"),
          inner = add("inner", "Reorder", ""), adam = add("adam", "Adam", "optimizer");
  call(conv, 0, 100, 50); /* before what lies around it: an event is added at its end */
  call(inner, 0, 110, 10);
  call(conv, 0, 150, 50); /* begins where the other ended */
  call(span, 0, 100, 100);
  call(conv, 1, 120, 7);
  call(adam, 0, 200, 30);
  hl_profile_step_add(profile, 90, 150);
  hl_profile_nest nest;
  assert_int_equal(hl_profile_nest_init(&nest, profile, NULL), HL_OK);
  static const int32_t parents[] = {3, 0, 3, -1, -1, -1};
  static const uint64_t selves[] = {40, 10, 50, 0, 7, 30};
  for (size_t i = 0; i < nest.count; i++) {
    assert_int_equal(nest.parent[i], parents[i]);
    assert_int_equal(nest.self_ns[i], selves[i]);
  }
  hl_profile_nest_release(&nest);
  expect_folded("forward;conv 90\nforward;conv;inner 10\noptimizer;adam 30\n"
                "thread 1;forward;conv 7\n(between operators) 20\n");
}

static void odd_times_keep_their_order(void **state) {
  (void)state;
  int32_t op = add("op", "x", ""), span = add("span", "span", ""), empty = add("empty", "x", "");
  call(op, 0, 10, 10);
  call(span, 0, 10, 10); /* the same times: the span lies around */
  call(empty, 0, 20, 0); /* at the end of both: in neither */
  call(op, 0, 30, 10);
  call(span, 0, 35, 10);            /* overlaps: neither's parent */
  call(op, 0, UINT64_MAX - 1, 100); /* beyond the end of time */
  hl_profile_nest nest;
  assert_int_equal(hl_profile_nest_init(&nest, profile, NULL), HL_OK);
  static const int32_t parents[] = {1, -1, -1, -1, -1, -1};
  for (size_t i = 0; i < nest.count; i++) assert_int_equal(nest.parent[i], parents[i]);
  assert_int_equal(nest.self_ns[1], 0);
  assert_int_equal(nest.self_ns[3], 10);
  hl_profile_nest_release(&nest);
}

static void names_cannot_break_lines(void **state) {
  (void)state;
  call(add("a;b\nc\xff\xe2\x82\xac", "x", "ph;ase"), 0, 0, 5);
  expect_folded("ph:ase;a:b c\xef\xbf\xbd\xe2\x82\xac 5\n");
}

static void many_stacks_are_found_again(void **state) {
  (void)state;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 500; i++) {
      char name[16];
      snprintf(name, sizeof name, "op%d", i);
      call(add(name, "x", i % 2 ? "odd" : ""), 0, (uint64_t)(round * 500 + i) * 10, 3);
    }
  hl_text text = HL_TEXT_INIT;
  assert_int_equal(hl_flame_folded(profile, &text, NULL), HL_OK);
  size_t lines = 0;
  for (const char *at = text.data; *at; at++) lines += *at == '\n';
  assert_int_equal(lines, 500);
  assert_non_null(strstr(text.data, "odd;op499 6\n"));
  hl_text_release(&text);
}

static void nothing_gives_nothing(void **state) {
  (void)state;
  call(5, 0, 0, 5); /* of no operator */
  expect_folded("");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(calls_nest, set_up, tear_down),
      cmocka_unit_test_setup_teardown(odd_times_keep_their_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_cannot_break_lines, set_up, tear_down),
      cmocka_unit_test_setup_teardown(many_stacks_are_found_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_gives_nothing, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
