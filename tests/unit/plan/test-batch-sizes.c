/* Lists of batch sizes: presets, ranges, repeats, and everything that is none. */
#include "plan/configuration.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void lists_that_are_lists(void **state) {
  (void)state;
  static const struct {
    const char *text, *sizes;
  } cases[] = {
      {"1", "1 "},
      {"1,2,4", "1 2 4 "},
      {"8,8", "8 "},
      {"8,4,8,16", "8 4 16 "},
      {"1 2  3,,4, ", "1 2 3 4 "},
      {"1\t2", "1 2 "},
      {"1-4", "1 2 3 4 "},
      {"1-64*2", "1 2 4 8 16 32 64 "},
      {"1-63*2", "1 2 4 8 16 32 "},
      {"3-100*10", "3 30 "},
      {"1-9+3", "1 4 7 "},
      {"5-5", "5 "},
      {"1-4,3-6", "1 2 3 4 5 6 "},
      {"1000000", "1000000 "},
      {"999999-1000000", "999999 1000000 "},
      {"1-1000000*1000000", "1 1000000 "},
      {"quick", "8 16 32 64 128 "},
      {"comprehensive", "1 2 4 8 16 32 64 128 256 512 "},
      {"memory_test", "1 256 512 1024 "},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    int64_t *sizes = NULL;
    size_t count = 0;
    assert_int_equal(hl_batch_sizes_parse(cases[i].text, &sizes, &count, NULL), HL_OK);
    hl_text text = HL_TEXT_INIT;
    for (size_t k = 0; k < count; k++) hl_text_format(&text, "%" PRId64 " ", sizes[k]);
    assert_string_equal(text.data, cases[i].sizes);
    hl_text_release(&text);
    free(sizes);
  }
}

static void lists_that_are_none(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"0", "out of range"},
      {"-1", "out of range"},
      {"1e9", "'1e9'"},
      {"1000001", "out of range"},
      {"abc", "'abc'"},
      {"", "no sizes"},
      {" , ", "no sizes"},
      {"1,x,2", "'x'"},
      {"9-3", "backwards"},
      {"0-3", "out of range"},
      {"1-", "--batch-sizes"},
      {"1-2-3", "--batch-sizes"},
      {"1-8*1", "step"},
      {"1-8*0", "step"},
      {"1-8+0", "step"},
      {"1-8*", "step"},
      {"1-8*x", "step"},
      {"1-8+-1", "step"},
      {"1--8", "out of range"},
      {"1-5000", "more than"},
      {"1-1000000+1", "more than"},
      {"18446744073709551617", "out of range"},
      {"quick,1", "'quick'"},
      {"*", "'*'"},
      {"1.5", "'1.5'"},
      {"-", "'-'"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    int64_t *sizes = NULL;
    size_t count = 0;
    hl_error error = {0};
    hl_status status = hl_batch_sizes_parse(cases[i].text, &sizes, &count, &error);
    if (status == HL_OK) fail_msg("'%s' was taken for a list", cases[i].text);
    if (!strstr(error.msg, cases[i].part)) fail_msg("'%s': %s", cases[i].text, error.msg);
    if (!strstr(error.msg, "--batch-sizes")) fail_msg("'%s': %s", cases[i].text, error.msg);
    assert_null(sizes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_that_are_lists),
      cmocka_unit_test(lists_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
