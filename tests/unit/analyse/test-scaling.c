/* Regions, gains and the evidence for rules of thumb, of made-up sweeps whose answers are known. */
#include "analyse/analyse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* A row with T(b) = t0 + t1 b ms, M(b) = 40 + 3 b MB and throughput intervals of +-width. */
static void add_passed(hl_records *records, int64_t batch, double t0, double t1, double width) {
  hl_record r;
  double b = (double)batch;
  hl_record_init(&r);
  hl_record_set_text(&r.workload, HL_WORKLOAD_INFERENCE);
  hl_record_set_text(&r.model, "ptychopinn");
  hl_record_set_text(&r.outcome, "PASSED");
  r.threads = 2;
  r.batch_size = batch;
  r.latency_p50_ms = r.latency_mean_ms = t0 + t1 * b;
  r.throughput_ips = 1000 * b / r.latency_mean_ms;
  r.throughput_ci_ips = (hl_pair){r.throughput_ips * (1 - width), r.throughput_ips * (1 + width)};
  r.memory_mb = 40 + 3 * b;
  assert_int_equal(hl_records_take(records, &r, NULL), HL_OK);
}

static const hl_finding *find_finding(const hl_analysis_group *group, const char *name) {
  for (size_t i = 0; i < group->finding_count; i++)
    if (strcmp(group->findings[i].name, name) == 0) return &group->findings[i];
  return NULL;
}

/* T(b) = 8 + 1 b ms: 111, 500, 800, 941, 970 images/s. */
static void rules_of_thumb_have_evidence(void **unused) {
  (void)unused;
  static const int64_t sizes[] = {1, 8, 32, 128, 256};
  hl_records records = {0};
  hl_analysis analysis;
  for (size_t i = 0; i < HL_COUNT(sizes); i++) add_passed(&records, sizes[i], 8, 1, 0.001);
  assert_int_equal(hl_analysis_make(&records, NULL, &analysis, NULL), HL_OK);
  const hl_analysis_group *g = &analysis.groups[0];
  assert_int_equal(g->region_first, 128);
  assert_int_equal(g->region_last, 256);
  double gain = 1000 * 256 / 264.0 / 800;
  assert_true(close_to(g->speedup_vs_batch_32, gain));
  assert_true(close_to(g->speedup_vs_batch_32_ci.low, gain * 0.999 / 1.001));
  assert_true(close_to(g->speedup_vs_batch_32_ci.high, gain * 1.001 / 0.999));
  const hl_finding *plateau = find_finding(g, "throughput_plateau");
  assert_int_equal(plateau->holds, 1);
  assert_non_null(strstr(plateau->evidence, "from batch 128 to 256"));
  const hl_finding *memory = find_finding(g, "memory_linear");
  assert_int_equal(memory->holds, 1);
  assert_non_null(strstr(memory->evidence, "M(b) = 40 MB + 3 MB b over 5 sizes"));
  const hl_finding *overhead = find_finding(g, "overhead_amortised");
  assert_int_equal(overhead->holds, 1);
  assert_non_null(strstr(overhead->evidence, "8 ms of a step do not depend on the batch, 89 % of"));
  hl_analysis_release(&analysis);
  records.items[4].throughput_ips = 405; /* falls: as where the caches end */
  records.items[1].memory_mb = 500;
  assert_int_equal(hl_analysis_make(&records, NULL, &analysis, NULL), HL_OK);
  g = &analysis.groups[0];
  assert_int_equal(g->region_last, 128);
  assert_int_equal(find_finding(g, "throughput_plateau")->holds, 0);
  assert_non_null(strstr(find_finding(g, "throughput_plateau")->evidence,
                         "throughput falls beyond batch 128: batch 256 has 43 %"));
  assert_int_equal(find_finding(g, "memory_linear")->holds, 0);
  hl_analysis_release(&analysis);
  hl_records_release(&records);
  for (int64_t b = 1; b <= 4; b *= 2) add_passed(&records, b, -0.5, 1, 0.001);
  assert_int_equal(hl_analysis_make(&records, NULL, &analysis, NULL), HL_OK);
  overhead = find_finding(&analysis.groups[0], "overhead_amortised");
  assert_int_equal(overhead->holds, 0);
  assert_non_null(strstr(overhead->evidence, "(t0 = -0.5 ms, R2 1.0000): a larger batch saves"));
  hl_analysis_release(&analysis);
  hl_records_release(&records);
  add_passed(&records, 1, 8, 1, 0.001);
  add_passed(&records, 2, 8, 1, 0.001);
  assert_int_equal(hl_analysis_make(&records, NULL, &analysis, NULL), HL_OK);
  for (size_t i = 0; i < analysis.groups[0].finding_count; i++) /* two sizes tell nothing */
    assert_int_equal(analysis.groups[0].findings[i].holds, -1);
  hl_analysis_release(&analysis);
  hl_records_release(&records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rules_of_thumb_have_evidence)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
