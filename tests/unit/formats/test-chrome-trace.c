/* A trace is what its format says, whatever names and numbers the profile has. */
#include "formats/chrome-trace.h"
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_profile *new_profile(void) {
  hl_profile *p;
  assert_int_equal(hl_profile_new(&p, NULL), HL_OK);
  p->model = "mlp";
  p->engine = "native";
  p->complete = true;
  return p;
}

static int32_t add(hl_profile *p, const char *name, const char *kind) {
  return hl_profile_operator_add(
      p, &(hl_profile_operator){
             .name = name, .kind = kind, .layer = "node", .flops = 2e6, .bytes = (double)NAN});
}

static void call(hl_profile *p, int32_t operator, int32_t thread, uint64_t start, uint64_t ns) {
  hl_profile_event event = {
      .operator= operator, .thread = thread, .start_ns = start, .duration_ns = ns};
  assert_int_equal(hl_profile_event_add(p, &event), HL_OK);
}

static json_t *written(const hl_profile *p) {
  FILE *file = tmpfile();
  assert_non_null(file);
  hl_error error = {0};
  assert_int_equal(hl_chrome_trace_write(p, fileno(file), &error), HL_OK);
  rewind(file);
  json_error_t where;
  json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
  if (!root) print_message("line %d: %s\n", where.line, where.text);
  fclose(file);
  assert_non_null(root);
  return root;
}

static void check_number(const json_t *event, const char *key) {
  const json_t *number = json_object_get(event, key);
  assert_true(json_is_number(number) && json_number_value(number) >= 0);
}

/* The format's rules for the kinds of events that are written. */
static void check_event(const json_t *event) {
  assert_true(json_is_object(event));
  const char *phase = json_string_value(json_object_get(event, "ph"));
  assert_non_null(phase);
  assert_non_null(json_string_value(json_object_get(event, "name")));
  assert_true(json_is_integer(json_object_get(event, "pid")));
  assert_true(json_is_integer(json_object_get(event, "tid")));
  const json_t *args = json_object_get(event, "args"), *value;
  const char *key;
  if (strcmp(phase, "X") == 0) {
    check_number(event, "ts");
    check_number(event, "dur");
    assert_non_null(json_string_value(json_object_get(event, "cat")));
  } else if (strcmp(phase, "C") == 0) {
    check_number(event, "ts");
    assert_true(json_object_size(args) > 0);
    json_object_foreach((json_t *)(uintptr_t)args, key, value) assert_true(json_is_number(value));
  } else {
    assert_string_equal(phase, "M");
    assert_true(json_object_size(args) == 1);
  }
}

static const json_t *check_trace(const json_t *root) {
  const json_t *events = json_object_get(root, "traceEvents"), *event;
  size_t i;
  assert_true(json_is_array(events));
  json_array_foreach(events, i, event) check_event(event);
  return events;
}

static const json_t *find(const json_t *events, const char *name) {
  const json_t *event;
  size_t i;
  json_array_foreach(events, i, event) {
    if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0) return event;
  }
  return NULL;
}

static void what_was_recorded_is_there(void **state) {
  (void)state;
  hl_profile *p = new_profile();
  int32_t span = add(p, "forward", "span"), conv = add(p, "conv1", "Conv");
  hl_profile_step_add(p, 1000, 3000000);
  call(p, span, 0, 1500, 2000000);
  call(p, conv, 3, 1234567891, 1); /* a nanosecond is kept */
  hl_profile_scalar_add(p, "loss", 0, 0.25);
  hl_profile_scalar_add(p, "loss", 1, (double)NAN);
  json_t *root = written(p);
  const json_t *events = check_trace(root), *event = find(events, "conv1");
  assert_string_equal(json_string_value(json_object_get(event, "cat")), "cpu_op");
  assert_true(json_number_value(json_object_get(event, "ts")) == 1234567.891);
  assert_true(json_number_value(json_object_get(event, "dur")) == 0.001);
  assert_int_equal(json_integer_value(json_object_get(event, "tid")), 3);
  const json_t *args = json_object_get(event, "args");
  assert_string_equal(json_string_value(json_object_get(args, "layer")), "node");
  assert_true(json_number_value(json_object_get(args, "flops")) == 2e6);
  assert_null(json_object_get(args, "bytes")); /* not known */
  assert_string_equal(json_string_value(json_object_get(find(events, "forward"), "cat")),
                      "user_annotation");
  assert_true(json_number_value(json_object_get(find(events, "ProfilerStep#0"), "dur")) == 3000.0);
  assert_true(json_number_value(json_object_get(find(events, "loss"), "ts")) == 3001.0);
  /* 2 of the process, 4 threads x 2, step, 2 calls, the one scalar that is a number */
  assert_int_equal(json_array_size(events), 1 + 8 + 1 + 2 + 1);
  json_decref(root);
  hl_profile_free(p);
}

static void odd_names_are_escaped(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"say \"conv\"", "say \"conv\""},
      {"back\\slash/and\ttab\nline\x01\x1f", "back\\slash/and\ttab\nline\x01\x1f"},
      {"Faltung \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5",
       "Faltung \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5"},
      {"bad \xff\xc3(", "bad \xef\xbf\xbd\xef\xbf\xbd("},
      {"</script><!--", "</script><!--"},
      {"", ""},
  };
  hl_profile *p = new_profile();
  for (size_t i = 0; i < HL_COUNT(names); i++) call(p, add(p, names[i][0], "a\"b"), 0, i, 1);
  p->model = "m\"\n\xfe";
  json_t *root = written(p);
  const json_t *events = check_trace(root);
  for (size_t i = 0; i < HL_COUNT(names); i++) assert_non_null(find(events, names[i][1]));
  json_decref(root);
  hl_profile_free(p);
}

/* Names of random bytes: always JSON, always each of them. */
static void random_names_are_json(void **state) {
  (void)state;
  uint32_t seed = 1;
  hl_profile *p = new_profile();
  for (int i = 0; i < 2000; i++) {
    char name[24] = {0};
    for (size_t k = 0; k < sizeof name - 1; k++) {
      seed = seed * 1664525u + 1013904223u;
      name[k] = (char)(unsigned char)(seed >> 24);
    }
    call(p, add(p, name, "x"), 0, (uint64_t)i, 1);
  }
  json_t *root = written(p);
  assert_int_equal(json_array_size(check_trace(root)), 3 + 2000);
  json_decref(root);
  hl_profile_free(p);
}

static void an_empty_or_broken_profile_is_valid(void **state) {
  (void)state;
  hl_profile *p = new_profile();
  p->complete = false;
  p->reason = "the worker crashed: signal 11";
  p->peak_gflops = (double)INFINITY;
  call(p, 7, 0, 1, 1); /* of no operator: left out */
  call(p, -1, 0, 1, 1);
  json_t *root = written(p);
  assert_int_equal(json_array_size(check_trace(root)), 3);
  const json_t *other = json_object_get(root, "otherData");
  assert_true(json_is_false(json_object_get(other, "complete")));
  assert_string_equal(json_string_value(json_object_get(other, "reason")), p->reason);
  json_decref(root);
  hl_profile_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_recorded_is_there),
      cmocka_unit_test(odd_names_are_escaped),
      cmocka_unit_test(random_names_are_json),
      cmocka_unit_test(an_empty_or_broken_profile_is_valid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
