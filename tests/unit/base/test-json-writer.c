/* JSON: escapes, numbers that JSON lacks, broken UTF-8, depth, layout. */
#include "base/json-writer.h"
#include "base/splitmix.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
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

/* The definition: the first of %.6g to %.17g that reads back equal. */
static void check_shortest(double value) {
  char text[32], expected[32];
  hl_json_format_real(value, text);
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(expected, sizeof expected, "%.*g", digits, value);
    if (strtod(expected, NULL) == value) break;
  }
  assert_string_equal(text, expected);
}

static void reals_are_as_short_as_can_be(void **state) {
  (void)state;
  static const double odd[] = {
      0,       -0.0,    1,       1e6,     1234567,           1e15,    1e16, 123456789012345678.0,
      1e22,    1e23,    5e-324,  2e-310,  DBL_MIN,           DBL_MAX, 1e-5, 0.00012345678,
      1 / 3.0, 2 / 3.0, 1e5 / 3, 100.001, 9007199254740993.0};
  for (size_t i = 0; i < HL_COUNT(odd); i++) check_shortest(odd[i]);
  uint64_t random = 7;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = hl_splitmix(&random);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value)) check_shortest(value);
    check_shortest((double)(bits >> 40) / 1000); /* few digits */
    check_shortest(nextafter((double)(bits >> 44) / 100, bits & 1 ? 0 : (double)INFINITY));
    check_shortest((double)(bits >> 11));
    check_shortest((double)(bits >> 11) * 0x1p-53 * 1e4);
  }
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
      cmocka_unit_test(reals_are_as_short_as_can_be),
      cmocka_unit_test(layout),
      cmocka_unit_test(depth_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
