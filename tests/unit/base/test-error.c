/* Errors: filled, prefixed, cut where they are too long, names there and back. */
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void messages_are_filled(void **state) {
  (void)state;
  hl_error error = {0};
  assert_int_equal(hl_error_set(&error, HL_BAD_DATA, "%s has %d", "x", 3), HL_BAD_DATA);
  assert_int_equal(error.status, HL_BAD_DATA);
  assert_string_equal(error.msg, "x has 3");
  assert_int_equal(error.sys_errno, 0);
  errno = ENOENT;
  assert_int_equal(hl_error_errno(&error, HL_IO, "cannot open '%s'", "f"), HL_IO);
  assert_int_equal(error.sys_errno, ENOENT);
  assert_string_equal(error.msg, "cannot open 'f': No such file or directory");
  assert_int_equal(hl_error_prefix(&error, "model %d", 7), HL_IO);
  assert_string_equal(error.msg, "model 7: cannot open 'f': No such file or directory");
}

static void nobody_may_listen(void **state) {
  (void)state;
  assert_int_equal(hl_error_set(NULL, HL_LIMIT, "x"), HL_LIMIT);
  assert_int_equal(hl_error_errno(NULL, HL_IO, "x"), HL_IO);
  hl_error_prefix(NULL, "x");
}

static void long_messages_are_cut(void **state) {
  (void)state;
  char long_text[2000];
  memset(long_text, 'a', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = '\0';
  hl_error error = {0};
  hl_error_set(&error, HL_IO, "%s", long_text);
  assert_int_equal(strlen(error.msg), sizeof error.msg - 1);
  hl_error_prefix(&error, "%s", long_text);
  assert_int_equal(strlen(error.msg), sizeof error.msg - 1);
  errno = ENOENT;
  hl_error_errno(&error, HL_IO, "%s", long_text);
  assert_int_equal(strlen(error.msg), sizeof error.msg - 1);
}

static void names_lead_back(void **state) {
  (void)state;
  for (int i = HL_OK; i <= HL_INTERNAL; i++) {
    assert_int_equal(hl_status_from_name(hl_status_name((hl_status)i)), i);
    assert_true(strlen(hl_status_text((hl_status)i)) > 0);
  }
  assert_string_equal(hl_status_name((hl_status)99), "INTERNAL");
  assert_int_equal(hl_status_from_name("NONSENSE"), HL_INTERNAL);
  assert_int_equal(hl_status_from_name(NULL), HL_INTERNAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_are_filled),
      cmocka_unit_test(nobody_may_listen),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(names_lead_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
