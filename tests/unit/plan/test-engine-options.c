/* Which engine gets which option, and what is refused. */
#include "plan/engine-options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `one` knows library and hint, `two` library, `three` tells nothing. */
static hl_plan_known knows(void *context, const char *engine, const char *key) {
  (void)context;
  if (strcmp(engine, "three") == 0) return HL_PLAN_MAYBE;
  bool yes =
      strcmp(key, "library") == 0 || (strcmp(engine, "one") == 0 && strcmp(key, "hint") == 0);
  return yes ? HL_PLAN_YES : HL_PLAN_NO;
}

static void options_of(void *context, const char *engine, hl_text *out) {
  (void)context;
  hl_text_format(out, "%s.library=PATH", engine);
}

/* "engine:key=value " of each option that an engine gets, or the message. */
static void sort(const char *line, const char *const *engines, size_t count, hl_text *out) {
  static const hl_plan_engines known = {.knows = knows, .options_of = options_of};
  char copy[512];
  char *arguments[32] = {"sweep"};
  int argument_count = 1;
  snprintf(copy, sizeof copy, "%s", line);
  for (char *part, *rest = copy; (part = strsep(&rest, " "));)
    if (part[0]) arguments[argument_count++] = part;
  hl_options options;
  hl_arena arena;
  hl_error error = {0};
  hl_option_list lists[3];
  hl_arena_init(&arena, 1 << 20);
  assert_int_equal(hl_options_parse('S', argument_count, arguments, &options, NULL), HL_OK);
  hl_status status =
      hl_plan_engine_options(&options, &arena, engines, count, &known, lists, &error);
  if (status != HL_OK) {
    assert_int_equal(status, HL_INVALID_ARGUMENT);
    hl_text_append(out, error.msg);
  }
  for (size_t i = 0; i < count && status == HL_OK; i++)
    for (size_t k = 0; k < lists[i].count; k++)
      hl_text_format(out, "%s:%s=%s ", engines[i], lists[i].items[k].key, lists[i].items[k].value);
  hl_options_release(&options);
  hl_arena_release(&arena);
}

static void options_find_their_engine(void **state) {
  (void)state;
  static const char *const all[] = {"one", "two", "three"};
  static const struct {
    const char *line;
    size_t engines;
    const char *expected; /* the message holds it, if it has no ':' before a '=' */
  } cases[] = {
      {"", 3, ""},
      {"--engine-option hint=a=b", 3, "one:hint=a=b "},
      {"--engine-option two.hint=a", 3, "two:hint=a "},
      {"--engine-option one.a.b=c", 3, "one:a.b=c "},
      {"--engine-option colour=red", 3, "three:colour=red "},
      {"--engine-option hint=x --engine-option hint=y", 2, "one:hint=x one:hint=y "},
      {"--engine-library two=/a=b.so", 3, "two:library=/a=b.so "},
      {"--engine-library one=x.so --engine-library two=y.so", 2,
       "one:library=x.so two:library=y.so "},
      {"--engine-library ./a=b.so", 1, "one:library=./a=b.so "},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    sort(cases[i].line, all, cases[i].engines, &text);
    assert_string_equal(text.data, cases[i].expected);
    hl_text_release(&text);
  }
}

static void what_is_for_no_engine_is_refused(void **state) {
  (void)state;
  static const char *const all[] = {"one", "two", "three"};
  static const struct {
    const char *line;
    size_t engines;
    const char *part;
  } cases[] = {
      {"--engine-option colour=red", 2, "there are one.library=PATH, two.library=PATH"},
      {"--engine-option four.hint=x", 3, "'four', which is not in this sweep"},
      {"--engine-option one.=x", 3, "names no key"},
      {"--engine-option hint", 3, "KEY=VALUE"},
      {"--engine-library x.so", 2, "for 2 engines"},
      {"--engine-library four=x.so", 3, "./four=x.so"},
      {"--engine-library one=", 3, "names no file"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    sort(cases[i].line, all, cases[i].engines, &text);
    if (!strstr(text.data, cases[i].part)) fail_msg("%s: %s", cases[i].line, text.data);
    hl_text_release(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_find_their_engine),
      cmocka_unit_test(what_is_for_no_engine_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
