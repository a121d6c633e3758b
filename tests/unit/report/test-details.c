/* Tables of what only some rows know: when they are shown, and what they say. */
#include "report/details.h"
#include "sample-records.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const hl_records *records, const char *terminal, const char *markdown) {
  hl_text text = HL_TEXT_INIT;
  hl_report_details(records, &text);
  assert_string_equal(text.data, terminal);
  hl_text_clear(&text);
  hl__markdown_details(records, &text);
  assert_string_equal(text.data, markdown);
  hl_text_release(&text);
}

static void nothing_is_shown_of_what_no_row_knows(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 8);
  s.records.items[0].idle_w = 50;
  s.records.items[0].device_idle_w = 60;
  hl_record_set_text(&s.records.items[0].energy_reason, "a virtual machine");
  check(&s.records, "", "");
  sample_release(&s);
}

static void energy_and_why_some_have_none(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 1);
  sample_pass(&s, "native", 8);
  sample_pass(&s, "native", 16);
  hl_record *r = s.records.items;
  r[0].energy_j = 2100;
  r[0].power_w = 200;
  r[0].idle_w = 40;
  r[0].energy_per_image_j = 1.68;
  r[0].images_per_joule = 0.476;
  hl_record_set_text(&r[1].energy_reason, "a counter | went back");
  hl_record_set_text(&r[2].energy_reason, "a counter | went back");
  check(&s.records,
        "Energy: of the processor's packages while measuring; per image without what they draw "
        "idle\n"
        "  Batch  energy J  power W   idle W   J/image  images/J   DRAM J\n"
        "      1      2100    200.0    40.00     1.680    0.4760        -\n"
        "  - Not known: a counter | went back\n",
        "## Energy\n\n"
        "Of the processor's packages while measuring; per image without what they draw idle.\n\n"
        "| Batch Size | energy J | power W | idle W | J/image | images/J | DRAM J |\n"
        "|---:|---:|---:|---:|---:|---:|---:|\n"
        "| 1 | 2100 | 200.0 | 40.00 | 1.680 | 0.4760 | — |\n\n"
        "Not known: a counter \\| went back.\n\n");
  sample_release(&s);
}

static void counters_that_were_asked_for_are_explained(void **state) {
  (void)state;
  sample s;
  sample_init(&s);
  sample_pass(&s, "native", 8);
  sample_pass(&s, "onnxruntime", 8);
  hl_record *r = s.records.items;
  hl_record_set_text(&r[0].device_id, "cpu");
  r[0].ipc = 2.5;
  r[0].cycles_per_step = 123456789;
  r[0].instructions_per_step = 308641972.5;
  r[0].llc_misses_per_step = 1e6;
  r[0].branch_miss_percent = 0.25;
  r[0].task_clock_ms_per_step = 41.5;
  r[0].page_faults_per_step = 0;
  r[0].context_switches_per_step = 0.125;
  hl_record_set_text(&r[1].counters_reason, "no counters");
  check(&s.records,
        "Counters: of a step, all threads\n"
        "  Batch instr/cycle      cycles instructions LLC misses branch miss %   CPU ms  faults "
        "switches\n"
        "      8       2.500   123456789    308641972    1000000        0.2500    41.50   0.000   "
        "0.1250  mlp:a|b, native, float32, cpu\n"
        "  - Not known: no counters\n",
        "## Counters\n\n"
        "Of a step, all threads.\n\n"
        "| Row | Batch Size | instr/cycle | cycles | instructions | LLC misses | branch miss % | "
        "CPU ms | faults | switches |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        "| mlp:a\\|b, native, float32, cpu | 8 | 2.500 | 123456789 | 308641972 | 1000000 | 0.2500 "
        "| 41.50 | 0.000 | 0.1250 |\n\n"
        "Not known: no counters.\n\n");
  /* No row knows any: asked for in vain, which is said. */
  hl_records one = {.items = &r[1], .count = 1};
  hl_text text = HL_TEXT_INIT;
  hl_report_details(&one, &text);
  assert_non_null(strstr(text.data, "Not known: no counters\n"));
  hl_text_release(&text);
  sample_release(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_shown_of_what_no_row_knows),
                                     cmocka_unit_test(energy_and_why_some_have_none),
                                     cmocka_unit_test(counters_that_were_asked_for_are_explained)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
