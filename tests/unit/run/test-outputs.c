/* Who is mistrusted when the outputs of two rows disagree. */
#include "run/outputs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void make(hl_record *record, const char *engine, double output_error) {
  hl_record_init(record);
  hl_record_set_text(&record->engine, engine);
  hl_record_set_text(&record->dtype, "float32");
  hl_record_set_text(&record->outcome, "PASSED");
  record->output_error = output_error;
}

static void the_reference_decides(void **state) {
  (void)state;
  const double unknown = (double)NAN;
  static const char passed[] = "PASSED", wrong[] = "MISTRUSTED";
  const struct {
    double a, b;
    int8_t agree;
    const char *of_a, *of_b, *note;
  } cases[] = {
      {1e-6, 2e-6, 1, passed, passed, NULL},
      {1e-6, 2e-6, 0, passed, passed, "both within"},
      {1e-6, 0.5, 0, passed, wrong, "A is right"},
      {0.5, 1e-6, 0, wrong, passed, "B is right"},
      {0.5, 0.5, 0, wrong, wrong, "both are wrong"},
      {unknown, unknown, 0, wrong, wrong, "no reference"},
      {unknown, 1e-6, 0, wrong, passed, "B is right"},
      {unknown, 0.5, 0, wrong, wrong, "A was not judged"},
      {unknown, unknown, -1, passed, passed, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_record a, b;
    hl_comparison c;
    make(&a, "one", cases[i].a);
    make(&b, "two", cases[i].b);
    hl_comparison_init(&c);
    c.agree = cases[i].agree;
    c.max_relative = 0.4;
    hl_outputs_settle(&a, &b, &c);
    assert_string_equal(a.outcome, cases[i].of_a);
    assert_string_equal(b.outcome, cases[i].of_b);
    if (cases[i].note)
      assert_non_null(strstr(c.notes, cases[i].note));
    else
      assert_null(c.notes);
    if (strcmp(a.outcome, wrong) == 0) assert_non_null(strstr(a.reason, "two float32"));
    hl_record_release(&a);
    hl_record_release(&b);
    hl_comparison_release(&c);
  }
}

/* Two rows with the outputs `a` and `b`, one output of four elements. */
static void compare(float *a, float *b, const char *dtype, size_t b_count, hl_comparison *c) {
  hl_record records[2];
  make(&records[0], "one", (double)NAN);
  make(&records[1], "two", (double)NAN);
  hl_record_set_text(&records[1].dtype, dtype);
  hl_row rows[2];
  memset(rows, 0, sizeof rows);
  for (size_t i = 0; i < 2; i++) {
    rows[i].record = &records[i];
    rows[i].outputs.values = i ? b : a;
    rows[i].outputs.count = 1;
    rows[i].outputs.counts[0] = rows[i].outputs.total = i ? b_count : 4;
    rows[i].session.classifier = true;
  }
  hl_comparison_init(c);
  hl_outputs_compare(&rows[0], &rows[1], c);
  hl_record_release(&records[0]);
  hl_record_release(&records[1]);
}

static void differences(void **state) {
  (void)state;
  float a[] = {1, -2, 0.5f, 4}, near[] = {1, -2, 0.5f, 4.02f}, other[] = {9, -2, 0.5f, 4};
  hl_comparison c;
  compare(a, near, "float32", 4, &c);
  assert_true(fabs(c.max_abs - 0.02) < 1e-6 && fabs(c.max_relative - 0.005) < 1e-6);
  assert_true(c.tolerance == 1e-4 && c.agree == 0 && c.top1 == 1);
  hl_comparison_release(&c);
  compare(a, near, "bfloat16", 4, &c); /* the coarser type decides */
  assert_true(c.tolerance == 3e-2 && c.agree == 1);
  hl_comparison_release(&c);
  compare(a, near, "int8", 4, &c);
  assert_true(isnan(c.tolerance) && c.agree == 1 && c.cosine > 0.99);
  hl_comparison_release(&c);
  compare(a, other, "int8", 4, &c);
  assert_true(c.agree == 0 && c.top1 == 0);
  hl_comparison_release(&c);
  compare(a, other, "float32", 3, &c);
  assert_true(c.agree == 0 && isnan(c.max_abs));
  assert_non_null(strstr(c.notes, "not compared"));
  hl_comparison_release(&c);
  compare(a, NULL, "float32", 4, &c);
  assert_true(c.agree == -1);
  hl_comparison_release(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_decides),
      cmocka_unit_test(differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
