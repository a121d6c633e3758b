/* Strings that grow, their cap, and strict numbers. */
#include "base/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_grows(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  assert_string_equal(text.data, "");
  for (int i = 0; i < 10000; i++) hl_text_format(&text, "%d,", i % 10);
  hl_text_append(&text, "end");
  hl_text_char(&text, '!');
  hl_text_append_n(&text, "abc", 2);
  assert_int_equal(text.length, 20006);
  assert_string_equal(text.data + 20000, "end!ab");
  hl_text_clear(&text);
  assert_string_equal(text.data, "");
  hl_text_append(&text, "again");
  char *taken = hl_text_take(&text);
  assert_string_equal(taken, "again");
  assert_string_equal(text.data, "");
  free(taken);
  taken = hl_text_take(&text); /* nothing is an empty string, not NULL */
  assert_string_equal(taken, "");
  free(taken);
  hl_text_release(&text);
  hl_text_release(&text);
}

static void beyond_the_cap_nothing_is_added(void **state) {
  (void)state;
  hl_text text = {.data = hl_text_empty, .cap_bytes = 10};
  hl_text_append(&text, "12345678");
  hl_text_append(&text, "abc");
  assert_true(text.failed);
  assert_string_equal(text.data, "12345678");
  hl_text_append(&text, "9");
  assert_string_equal(text.data, "12345678"); /* no hole in what is there */
  assert_null(hl_text_take(&text));
  hl_text_append(&text, "fine");
  assert_false(text.failed);
  hl_text_format(&text, "%s", "0123456789");
  assert_true(text.failed);
  hl_text_clear(&text);
  assert_false(text.failed);
  hl_text_release(&text);
}

static void formats_and_copies(void **state) {
  (void)state;
  char *s = hl_format("%s=%d", "a", 5);
  assert_string_equal(s, "a=5");
  free(s);
  assert_null(hl_strdup(NULL));
  HL_CLEANUP(hl_free_pointer) char *copy = hl_strdup("x");
  assert_string_equal(copy, "x");
}

static void whole_numbers_are_strict(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t min, max;
    bool ok;
    int64_t value;
  } cases[] = {
      {"0", 0, 10, true, 0},
      {"10", 0, 10, true, 10},
      {"007", 0, 10, true, 7},
      {"-3", -5, 5, true, -3},
      {"9223372036854775807", 0, INT64_MAX, true, INT64_MAX},
      {"-9223372036854775808", INT64_MIN, 0, true, INT64_MIN},
      {"9223372036854775808", 0, INT64_MAX, false, 0},
      {"-9223372036854775809", INT64_MIN, 0, false, 0},
      {"99999999999999999999999", 0, INT64_MAX, false, 0},
      {"11", 0, 10, false, 0},
      {"-1", 0, 10, false, 0},
      {"", 0, 10, false, 0},
      {" 1", 0, 10, false, 0},
      {"1 ", 0, 10, false, 0},
      {"+1", 0, 10, false, 0},
      {"1e9", 0, INT64_MAX, false, 0},
      {"1.0", 0, 10, false, 0},
      {"0x1", 0, 10, false, 0},
      {"-", -5, 5, false, 0},
      {"--1", -5, 5, false, 0},
      {"1\n", 0, 10, false, 0},
      {NULL, 0, 10, false, 0},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    int64_t value = 123;
    hl_error error = {0};
    hl_status status =
        hl_parse_int(cases[i].text, cases[i].min, cases[i].max, "--n", &value, &error);
    assert_int_equal(status, cases[i].ok ? HL_OK : HL_INVALID_ARGUMENT);
    assert_int_equal(value, cases[i].ok ? cases[i].value : 123); /* untouched on failure */
    assert_int_equal(strncmp(error.msg, "--n: ", 5) == 0, !cases[i].ok);
  }
}

static void reals_are_strict(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool ok;
    double value;
  } cases[] = {
      {"0", true, 0},       {"1.5", true, 1.5}, {"-2e1", true, -20}, {".5", true, 0.5},
      {"1e-3", true, 1e-3}, {"100", true, 100}, {"101", false, 0},   {"-101", false, 0},
      {"nan", false, 0},    {"inf", false, 0},  {"-inf", false, 0},  {"1e999", false, 0},
      {"", false, 0},       {"x", false, 0},    {"1x", false, 0},    {"1 ", false, 0},
      {" 1", false, 0},     {"0x10", false, 0}, {"1,5", false, 0},   {"+1", false, 0},
      {"1e", false, 0},     {"\t1", false, 0},  {NULL, false, 0},    {"-", false, 0},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    double value = 123;
    hl_error error = {0};
    hl_status status = hl_parse_real(cases[i].text, -100, 100, "--x", &value, &error);
    if ((status == HL_OK) != cases[i].ok) fail_msg("'%s'", cases[i].text ? cases[i].text : "NULL");
    assert_true(value == (cases[i].ok ? cases[i].value : 123));
    assert_int_equal(error.msg[0] != '\0', !cases[i].ok);
  }
}

static void utf8_is_told_from_other_bytes(void **state) {
  (void)state;
  static const char *const valid[] = {"", "plain", "m\xC3\xBCller", "\xE2\x82\xAC",
                                      "\xF0\x9F\x98\x80"};
  static const char *const invalid[] = {"m\xFCller",        "\xC3",     "\xC3(",
                                        "\xC0\x80",         "\xE2\x82", "\xED\xA0\x80",
                                        "\xF5\x80\x80\x80", "\x80"};
  for (size_t i = 0; i < HL_COUNT(valid); i++) assert_true(hl_utf8_valid(valid[i]));
  for (size_t i = 0; i < HL_COUNT(invalid); i++) assert_false(hl_utf8_valid(invalid[i]));
}

static void lines_are_wrapped_at_spaces(void **state) {
  (void)state;
  static const struct {
    const char *words, *expected;
    size_t column;
  } cases[] = {
      {"", "", 0},
      {"   ", "", 0},
      {"one two", "one two", 0},
      {"one two three", "one two\n  three", 0},
      {"one  two", "one two", 3},
      {"one two", "one\n  two", 4},
      {"a-word-that-is-too-long is", "a-word-that-is-too-long\n  is", 0},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    hl_text_wrap(&text, cases[i].words, cases[i].column, 2, 10);
    assert_string_equal(text.data, cases[i].expected);
    hl_text_release(&text);
  }
}

static void control_characters_are_blanked(void **state) {
  (void)state;
  static const struct {
    const char *from, *keep, *to;
  } cases[] = {
      {"", "", ""},
      {"plain", "", "plain"},
      {"a\x1b[31m\x07\x7f", "", "a [31m  "},
      {"a\n\tb\r", "\n", "a\n b "},
      {"\xc2\x9b"
       "31m",
       "", " 31m"},                                 /* CSI of C1 */
      {"\xc2\xa0\xc3\xa9", "", "\xc2\xa0\xc3\xa9"}, /* no control characters */
      {"\xe2\x80\x9b", "", "\xe2\x80\x9b"},         /* its last byte is none either */
      {"x\x9by\x80", "", "x y "},                   /* stray bytes */
      {"\xff\xe9", "", "\xff\xe9"},
      {"\xc2", "", "\xc2"},
      {"\xe2\x80", "", "\xe2 "},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    char *text = hl_strdup(cases[i].from);
    assert_int_equal(hl_text_blank(text, cases[i].keep), strlen(cases[i].to));
    assert_string_equal(text, cases[i].to);
    free(text);
  }
  assert_int_equal(hl_text_blank(NULL, ""), 0);
}

static void a_line_is_one(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "first\n");
  hl_text_line(&text, "  %s: %d", "a\nb\r\xc2\x9b\x1b[31m", 3);
  hl_text_line(&text, "%s", "");
  assert_string_equal(text.data, "first\n  a b   [31m: 3\n\n");
  assert_int_equal(text.length, strlen(text.data));
  hl_text_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_wrapped_at_spaces),
      cmocka_unit_test(text_grows),
      cmocka_unit_test(beyond_the_cap_nothing_is_added),
      cmocka_unit_test(formats_and_copies),
      cmocka_unit_test(whole_numbers_are_strict),
      cmocka_unit_test(reals_are_strict),
      cmocka_unit_test(utf8_is_told_from_other_bytes),
      cmocka_unit_test(control_characters_are_blanked),
      cmocka_unit_test(a_line_is_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
