#include "plan/operand-file.h"

#include "base/file.h"
#include "base/text.h"
#include "plan/operand.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void write_file(const char *data, size_t bytes) {
  assert_int_equal(hl_file_write(path, data, bytes, NULL), HL_OK);
}

static void lines_are_operands(void **unused) {
  (void)unused;
  static const char text[] = "# a plan\n\n  resnet50 batch=1\r\n\t# more\nmlp#1 data=\"a b\"";
  hl_operand_file file;
  write_file(text, sizeof text - 1);
  assert_int_equal(hl_operand_file_read(path, &file, NULL), HL_OK);
  assert_int_equal(file.count, 2);
  assert_string_equal(file.lines[0].text, "resnet50 batch=1");
  assert_int_equal(file.lines[0].number, 3);
  assert_string_equal(file.lines[1].text, "mlp#1 data=\"a b\"");
  assert_int_equal(file.lines[1].number, 5);
  hl_operand_file_release(&file);
}

static void refused(hl_status status, const char *part) {
  hl_error error = {0};
  hl_operand_file file;
  assert_int_equal(hl_operand_file_read(path, &file, &error), status);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in: %s", part, error.msg);
}

static void what_is_no_plan_is_refused(void **unused) {
  (void)unused;
  write_file("", 0);
  refused(HL_BAD_DATA, "no operand");
  write_file("# only\n", 7);
  refused(HL_BAD_DATA, "no operand");
  write_file("mlp\nm\0p\n", 8);
  refused(HL_BAD_DATA, ":2: a zero byte");
  hl_text text = HL_TEXT_INIT;
  for (int i = 0; i < HL_OPERAND_LINES; i++) hl_text_append(&text, "mlp\n");
  write_file(text.data, text.length);
  hl_operand_file file;
  assert_int_equal(hl_operand_file_read(path, &file, NULL), HL_OK);
  assert_int_equal(file.count, HL_OPERAND_LINES);
  hl_operand_file_release(&file);
  hl_text_append(&text, "\nmlp\n");
  write_file(text.data, text.length);
  refused(HL_LIMIT, ":258: more than 256");
  hl_text_clear(&text);
  for (int i = 0; i <= HL_OPERAND_BYTES; i++) hl_text_char(&text, 'm');
  write_file(text.data, text.length);
  refused(HL_LIMIT, ":1: an operand is longer than 4096");
  while (text.length <= HL_OPERAND_FILE_BYTES) hl_text_append(&text, "\n\n\n\n\n\n\n\n");
  write_file(text.data, text.length);
  refused(HL_LIMIT, path);
  hl_text_release(&text);
  assert_int_equal(unlink(path), 0);
  refused(HL_NOT_FOUND, path);
}

int main(void) {
  snprintf(path, sizeof path, "/tmp/hotlap-operands-%ld.txt", (long)getpid());
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_operands),
      cmocka_unit_test(what_is_no_plan_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
