/* Lines of hotlap-hdf5: what is taken, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/hdf5.h"
#include <stdlib.h>
#include <string.h>

typedef struct parsed {
  hl_npy_header header;
  uint64_t stored;
  const char *name, *problem;
} parsed;

/* In exactly sized memory, so that reading past it shows; *ret_line is to be freed. */
static hl_status parse(const char *text, parsed *ret, char **ret_line) {
  hl_error error = {0};
  *ret_line = strdup(text);
  assert_non_null(*ret_line);
  hl_status status =
      hl_hdf5_parse(*ret_line, &ret->header, &ret->stored, &ret->name, &ret->problem, &error);
  if (status != HL_OK) assert_int_equal(error.status, status);
  return status;
}

static void test_good(void **state) {
  (void)state;
  parsed p;
  char *line;
  assert_int_equal(parse("D <c8 3 4 5 6 77 a b/c", &p, &line), HL_OK);
  assert_string_equal(p.name, "a b/c");
  assert_null(p.problem);
  assert_int_equal(p.header.dtype, HL_COMPLEX64);
  assert_int_equal(p.header.rank, 3);
  assert_int_equal(p.header.dims[2], 6);
  assert_int_equal(p.header.count, 120);
  assert_int_equal(p.header.data_bytes, 960);
  assert_int_equal(p.stored, 77);
  free(line);
  assert_int_equal(parse("D |u1 0 1 scalar", &p, &line), HL_OK);
  assert_int_equal(p.header.data_bytes, 1);
  free(line);
  assert_int_equal(parse("P x y\tit is text", &p, &line), HL_OK);
  assert_string_equal(p.name, "x y");
  assert_string_equal(p.problem, "it is text");
  free(line);
}

static void test_bad(void **state) {
  (void)state;
  static const char *const lines[] = {
      "",
      "D",
      "D ",
      "X <f4 0 1 a",
      "D <f4",
      "D <f4 0 1 ",
      "D <f4 1 5 5",
      "D <f3 1 5 5 a",
      "D f 0 1 a",
      "D <f4 -1 5 a",
      "D <f4 9 1 1 1 1 1 1 1 1 1 4 a",
      "D <f4 1 -5 4 a",
      "D <f4 1 99999999999999999999 4 a",
      "D <f4 3 9999999999 9999999999 9999999999 4 a",
      "D <f8 1 4611686018427387904 4 a",
      "D <f4 1 5x 4 a",
      "D <f4 1 5 4 a\tb",
      "P a",
      "P a\t",
  };
  for (size_t i = 0; i < HL_COUNT(lines); i++) {
    parsed p;
    char *line;
    if (parse(lines[i], &p, &line) != HL_BAD_DATA) fail_msg("'%s' was taken", lines[i]);
    free(line);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
