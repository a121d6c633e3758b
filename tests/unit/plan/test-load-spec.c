/* What --scenario, --qps and their like ask for, and asking for it again. */
#include "plan/load-spec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct parsed {
  hl_arena arena;
  hl_options options;
  hl_load_spec *specs;
  size_t count;
  hl_error error;
  hl_status status;
} parsed;

/* `line` is cut at its spaces. */
static parsed parse(const char *line) {
  char *argv[64] = {(char *)(uintptr_t) "load"};
  int argc = 1;
  parsed p = {0};
  hl_arena_init(&p.arena, 1 << 20);
  char *words = hl_arena_text(&p.arena, line);
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  p.status = hl_options_parse('L', argc, argv, &p.options, &p.error);
  if (p.status == HL_OK)
    p.status = hl_load_specs_read(&p.options, &p.arena, &p.specs, &p.count, &p.error);
  return p;
}

static void release(parsed *p) {
  hl_options_release(&p->options);
  hl_arena_release(&p->arena);
}

static void test_product(void **state) {
  (void)state;
  parsed p = parse("mlp --scenario server,offline,SingleStream --qps 10,20,10 --p99-target 5");
  assert_int_equal(p.status, HL_OK);
  assert_int_equal(p.count, 4);
  assert_int_equal(p.specs[0].scenario, HL_LOAD_SERVER);
  assert_true(p.specs[0].qps == 10 && p.specs[1].qps == 20);
  assert_true(p.specs[1].percentile == 0.99 && p.specs[1].target_ms == 5);
  assert_int_equal(p.specs[2].scenario, HL_LOAD_OFFLINE);
  assert_true(p.specs[2].percentile == 0 && p.specs[2].target_ms == 0 && p.specs[2].qps == 0);
  assert_true(p.specs[3].percentile == 0.99); /* as asked; its own would be 0.9 */
  assert_int_equal(p.specs[3].samples_per_query, 1);
  release(&p);
  p = parse("mlp --scenario multi-stream --samples-per-query 4 --mode quick");
  assert_int_equal(p.count, 1);
  assert_int_equal(p.specs[0].samples_per_query, 4);
  assert_string_equal(p.specs[0].mode, "quick");
  release(&p);
}

/* The options that a specification gives lead to the same one. */
static void test_options_again(void **state) {
  (void)state;
  static const char *const lines[] = {
      "mlp --qps 12.5 --instances 3 --batching-timeout 1.5 --mode strict --duration 7",
      "mlp --find-max-qps --p99-target 50",
      "mlp --scenario multistream --latency-target 3 --percentile 97",
      "mlp --scenario offline",
      "mlp --scenario singlestream",
  };
  for (size_t i = 0; i < HL_COUNT(lines); i++) {
    parsed first = parse(lines[i]);
    assert_int_equal(first.status, HL_OK);
    hl_text text = HL_TEXT_INIT;
    hl_text_append(&text, "mlp");
    hl_load_spec_options(first.specs, &text);
    parsed again = parse(text.data);
    assert_int_equal(again.status, HL_OK);
    const hl_load_spec *a = first.specs, *b = again.specs;
    assert_int_equal(a->scenario, b->scenario);
    assert_string_equal(a->mode, b->mode);
    assert_true(a->qps == b->qps && a->percentile == b->percentile);
    assert_true(a->target_ms == b->target_ms && a->duration_s == b->duration_s);
    assert_true(a->instances == b->instances && a->samples_per_query == b->samples_per_query);
    assert_true(a->batching_timeout_ms == b->batching_timeout_ms && a->find_max == b->find_max);
    hl_text_release(&text);
    release(&again);
    release(&first);
  }
}

static void test_bad(void **state) {
  (void)state;
  static const struct {
    const char *line, *says;
  } cases[] = {
      {"mlp", "--qps 100"},
      {"mlp --scenario serve --qps 1", "none of singlestream"},
      {"mlp --qps 0", "--qps"},
      {"mlp --qps 1,x", "--qps"},
      {"mlp --qps nan", "--qps"},
      {"mlp --qps ,", "nothing in"},
      {"mlp --find-max-qps", "needs a target"},
      {"mlp --find-max-qps --p99-target 5 --qps 3", "drop --qps"},
      {"mlp --qps 3 --p99-target 5 --percentile 90", "--p99-target says both"},
      {"mlp --qps 3 --mode fast", "none of strict"},
      {"mlp --qps 3 --instances 0", "--instances"},
      {"mlp --qps 3 --percentile 100", "--percentile"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    parsed p = parse(cases[i].line);
    assert_int_equal(p.status, HL_INVALID_ARGUMENT);
    assert_non_null(strstr(p.error.msg, cases[i].says));
    release(&p);
  }
}

static void test_names(void **state) {
  (void)state;
  hl_load_scenario scenario;
  assert_true(hl_load_scenario_from_name("single-stream", &scenario));
  assert_int_equal(scenario, HL_LOAD_SINGLE_STREAM);
  assert_true(hl_load_scenario_from_name("Server", &scenario));
  assert_int_equal(scenario, HL_LOAD_SERVER);
  assert_true(hl_load_scenario_from_name("multi_stream", &scenario));
  assert_true(hl_load_scenario_from_name("OFFLINE", &scenario));
  assert_false(hl_load_scenario_from_name("serve", &scenario));
  assert_false(hl_load_scenario_from_name("servers", &scenario));
  assert_false(hl_load_scenario_from_name("", &scenario));
  assert_string_equal(hl_load_scenario_name(HL_LOAD_OFFLINE), "Offline");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_product),
                                     cmocka_unit_test(test_options_again),
                                     cmocka_unit_test(test_bad), cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
