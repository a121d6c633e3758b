#include "plan/task-file.h"

#include "base/csv-reader.h"
#include "base/error.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void read_text(const char *text, hl_task_file *ret_file) {
  hl_error error = {0};
  if (hl_task_file_parse(text, strlen(text), "t.csv", ret_file, &error) != HL_OK)
    fail_msg("%s", error.msg);
}

static void cells_are_those_of_rfc_4180(void **unused) {
  (void)unused;
  static const char text[] = "a,\"b,\"\"c\"\"\nd\",\r\n\r\n\"\"x,";
  static const char *const cells[] = {"a", "b,\"c\"\nd", "", "x", ""};
  static const bool lasts[] = {false, false, true, false, true};
  hl_csv_reader r;
  hl_csv_reader_init(&r, text, sizeof text - 1);
  for (size_t i = 0; i < HL_COUNT(cells); i++) {
    bool last = false;
    if (i == 0 || i == 3) assert_true(hl_csv_reader_more(&r));
    if (i == 3) assert_int_equal(r.line, 4);
    assert_true(hl_csv_reader_cell(&r, &last));
    assert_string_equal(r.cell.data, cells[i]);
    assert_int_equal(last, lasts[i]);
  }
  assert_false(hl_csv_reader_more(&r));
  hl_csv_reader_release(&r);
}

static void rows_say_what_is_run(void **unused) {
  (void)unused;
  hl_task_file f;
  read_text("\xEF\xBB\xBF"
            "experiment , branch,batch_size,overrides,colour\n"
            "seg, main ,8,\"a=1, b=[2,3],,c={x: (1,2)},d='4,5'\",red\n"
            "seg,dev\n",
            &f);
  assert_true(f.training);
  assert_string_equal(f.unknown, "colour");
  assert_int_equal(f.count, 2);
  static const char *const overrides[] = {"a=1", "b=[2,3]", "c={x: (1,2)}", "d='4,5'"};
  assert_int_equal(f.rows[0].override_count, HL_COUNT(overrides));
  for (size_t i = 0; i < HL_COUNT(overrides); i++)
    assert_string_equal(f.rows[0].overrides[i], overrides[i]);
  assert_string_equal(f.rows[0].branch, "main");
  assert_int_equal(f.rows[0].batch_size, 8);
  assert_int_equal(f.rows[0].max_epochs, -1);
  assert_int_equal(f.rows[1].line, 3);
  assert_string_equal(f.rows[1].cells[4], "");
  assert_null(f.rows[1].fault);
  hl_task_file_release(&f);
}

static void a_column_of_inference_makes_it_one(void **unused) {
  (void)unused;
  hl_task_file f;
  read_text("branch,experiment,data_path,expected\nmain,a,,\n,a,d,10%\nmain,,,\nmain,a,,,x\n", &f);
  assert_false(f.training);
  assert_null(f.rows[0].data_path);
  assert_string_equal(f.rows[1].expected, "10%");
  assert_non_null(strstr(f.rows[1].fault, "no branch"));
  assert_non_null(strstr(f.rows[2].fault, "no experiment"));
  assert_non_null(strstr(f.rows[3].fault, "5 cells, but the table has 4 columns"));
  hl_task_file_release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cells_are_those_of_rfc_4180),
                                     cmocka_unit_test(rows_say_what_is_run),
                                     cmocka_unit_test(a_column_of_inference_makes_it_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
