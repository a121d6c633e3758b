/* JSON: escapes, numbers that JSON lacks, broken UTF-8, depth, layout. */
#include "base/json-writer.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void strings_are_escaped(void **state) {
  (void)state;
  static const struct {
    const char *value, *json;
  } cases[] = {
      {"plain", "\"plain\""},
      {"", "\"\""},
      {"a\"b\\c", "\"a\\\"b\\\\c\""},
      {"\n\t\r", "\"\\n\\t\\r\""},
      {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
      {"gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
      {"\xE2\x82\xAC", "\"\xE2\x82\xAC\""},
      {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""},
      {"\xFF", "\"\xEF\xBF\xBD\""},                 /* never a lead byte */
      {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* overlong */
      {"\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* cut short */
      {"\xE2x", "\"\xEF\xBF\xBDx\""},
      {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* a surrogate */
      {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* too large */
      {"\x80", "\"\xEF\xBF\xBD\""},
      {NULL, "null"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    hl_json json;
    hl_json_init(&json, &text, HL_JSON_COMPACT);
    hl_json_text(&json, NULL, cases[i].value);
    assert_string_equal(text.data, cases[i].json);
    hl_text_release(&text);
  }
}

static void reals_read_back(void **state) {
  (void)state;
  const double values[] = {0,
                           1,
                           -1,
                           0.1,
                           1.0 / 3,
                           1e6,
                           1e21,
                           1e-7,
                           123456,
                           1234567,
                           0.30000000000000004,
                           DBL_MAX,
                           DBL_MIN,
                           5e-324,
                           -2.5e-10,
                           9007199254740993.0};
  for (size_t i = 0; i < HL_COUNT(values); i++) {
    char text[32];
    hl_json_format_real(values[i], text);
    assert_true(strtod(text, NULL) == values[i]);
  }
  char text[32];
  hl_json_format_real(0.1, text);
  assert_string_equal(text, "0.1"); /* the fewest digits */
  hl_json_format_real((double)NAN, text);
  assert_string_equal(text, "null");
  hl_json_format_real(-(double)INFINITY, text);
  assert_string_equal(text, "null");
}

static void write_all(hl_json *json) {
  hl_json_object(json, NULL);
  hl_json_int(json, "i", INT64_MIN);
  hl_json_real(json, "r", (double)INFINITY);
  hl_json_bool(json, "b", true);
  hl_json_null(json, "n");
  hl_json_array(json, "empty");
  hl_json_end(json);
  hl_json_array(json, "a");
  hl_json_int(json, NULL, 1);
  hl_json_object(json, NULL);
  hl_json_end(json);
  hl_json_end(json);
  hl_json_end(json);
}

static void layout(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  write_all(&json);
  assert_string_equal(text.data, "{\"i\":-9223372036854775808,\"r\":null,\"b\":true,\"n\":null,"
                                 "\"empty\":[],\"a\":[1,{}]}");
  hl_text_clear(&text);
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  write_all(&json);
  assert_string_equal(text.data,
                      "{\n  \"i\": -9223372036854775808,\n  \"r\": null,\n  \"b\": true,"
                      "\n  \"n\": null,\n  \"empty\": [],\n  \"a\": [\n    1,\n    {}\n  "
                      "]\n}");
  hl_text_release(&text);
}

static void depth_is_limited(void **state) {
  (void)state;
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  for (int i = 0; i < HL_JSON_MAX_DEPTH; i++) hl_json_array(&json, NULL);
  assert_false(text.failed);
  for (int i = 0; i < 100; i++) hl_json_array(&json, NULL);
  assert_true(text.failed);
  for (int i = 0; i < 200; i++) hl_json_end(&json); /* more than were opened */
  hl_text_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(reals_read_back),
      cmocka_unit_test(layout),
      cmocka_unit_test(depth_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
