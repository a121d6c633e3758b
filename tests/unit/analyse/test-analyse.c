/* The analysis of made-up sweeps whose answers are known. */
#include "analyse/analyse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void add(hl_records *records, const char *engine, const char *outcome, int64_t batch) {
  hl_record record;
  hl_record_init(&record);
  hl_record_set_text(&record.workload, "inference");
  hl_record_set_text(&record.model, "ptychopinn");
  hl_record_set_text(&record.engine, engine ? engine : "native");
  hl_record_set_text(&record.dtype, "float32");
  hl_record_set_text(&record.device, "cpu");
  hl_record_set_text(&record.outcome, outcome);
  record.threads = 2;
  record.batch_size = batch;
  assert_int_equal(hl_records_take(records, &record, NULL), HL_OK);
}

/* A row with T(b) = t0 + t1 b ms, M(b) = 40 + 3 b MB and throughput intervals of +-width. */
static hl_record *add_passed(hl_records *records, const char *engine, int64_t batch, double t0,
                             double t1, double width) {
  add(records, engine, "PASSED", batch);
  hl_record *r = &records->items[records->count - 1];
  double b = (double)batch;
  r->latency_p50_ms = r->latency_mean_ms = t0 + t1 * b;
  r->latency_per_image_ms = r->latency_mean_ms / b;
  r->throughput_ips = 1000 * b / r->latency_mean_ms;
  r->throughput_ci_ips =
      (hl_pair){r->throughput_ips * (1 - width), r->throughput_ips * (1 + width)};
  r->memory_mb = 40 + 3 * b;
  r->efficiency = r->throughput_ips / r->memory_mb;
  return r;
}

static const hl_recommendation *find_advice(const hl_analysis_group *group, hl_advice kind) {
  for (size_t i = 0; i < group->recommendation_count; i++)
    if (group->recommendations[i].kind == kind) return &group->recommendations[i];
  return NULL;
}

static char *json_of(const hl_analysis *analysis) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_analysis_write_json(analysis, &json, "analysis");
  hl_json_end(&json);
  char *taken = hl_text_take(&text);
  assert_non_null(taken);
  assert_null(strstr(taken, "nan"));
  return taken;
}

static void linear_sweep(void **state) {
  (void)state;
  hl_records records = {0};
  /* Out of order, as racing would measure them. */
  static const int64_t sizes[] = {8, 1, 128, 2, 64, 4, 32, 16};
  for (size_t i = 0; i < 8; i++) add_passed(&records, NULL, sizes[i], 4, 2, 0.01);
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_int_equal(a.group_count, 1);
  const hl_analysis_group *g = &a.groups[0];
  assert_string_equal(g->name, "ptychopinn, native, float32, 2 threads, cpu");
  assert_int_equal(g->point_count, 8);
  for (size_t i = 1; i < 8; i++) assert_true(g->points[i].batch_size > g->points[i - 1].batch_size);
  /* 128: 492.3/s +- 1 %, 64: 484.8/s +- 1 % overlap; 32: 470.6 does not. */
  assert_int_equal(g->points[g->best_point].batch_size, 128);
  assert_int_equal(g->optimal_batch_size, 64);
  assert_int_equal(g->plateau_batch_size, 32); /* 470.6 / 492.3 = 95.6 % */
  assert_true(close_to(g->max_throughput_ips, 128000.0 / 260));
  assert_true(close_to(g->speedup_vs_batch_1, 128.0 / 260 * 6));
  assert_int_equal(g->baseline_batch, 1);
  assert_true(close_to(g->speedup_vs_batch_32, 128.0 / 260 * 68 / 32));
  assert_true(close_to(g->time_fit.a0, 4) && close_to(g->time_fit.a1, 2));
  assert_true(close_to(g->x_max_ips, 500) && close_to(g->half_speed_batch, 2));
  assert_true(close_to(g->memory_fit.a0, 40) && close_to(g->memory_fit.a1, 3));
  assert_false(g->two_pieces);
  assert_int_equal(g->max_batch_size, HL_INT_NULL);
  assert_int_equal(g->bottleneck, HL_BOUND_UNKNOWN);
  assert_non_null(strstr(g->bottleneck_evidence, "not measured"));
  assert_int_equal(find_advice(g, HL_ADVICE_SPEED)->batch_size, 64);
  assert_non_null(strstr(find_advice(g, HL_ADVICE_SPEED)->text, "484.8 images/s"));
  assert_int_equal(find_advice(g, HL_ADVICE_LATENCY)->batch_size, 1);
  assert_int_equal(find_advice(g, HL_ADVICE_MEMORY)->batch_size, 1);
  assert_int_equal(find_advice(g, HL_ADVICE_BALANCE)->batch_size, 32);
  assert_null(find_advice(g, HL_ADVICE_HINT));
  HL_CLEANUP(hl_free_pointer) char *json = json_of(&a);
  assert_non_null(strstr(json, "\"analysis\":{"));
  assert_non_null(strstr(json, "\"optimal_batch_size\":64"));
  assert_non_null(strstr(json, "\"max_batch_size\":null"));
  hl_text text = HL_TEXT_INIT;
  hl_analysis_describe_fit(g, &text);
  assert_non_null(strstr(text.data, "T(b) = 4 ms + 2 ms/image * b"));
  assert_non_null(strstr(text.data, "at most 500 images/s, half of it at batch 2"));
  hl_text_release(&text);
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* A sweep whose batch 1 failed is compared with its smallest size, and says so. */
static void failures(void **state) {
  (void)state;
  hl_records records = {0};
  add(&records, NULL, "CRASHED", 1);
  add_passed(&records, NULL, 4, 4, 2, 0.001);
  add_passed(&records, NULL, 8, 4, 2, 0.001);
  add(&records, NULL, "OUT_OF_MEMORY", 9);
  add(&records, NULL, "SKIPPED", 10);
  /* Faster than all others, but wrong. */
  hl_record *wrong = add_passed(&records, NULL, 16, 0.1, 0.1, 0.001);
  hl_record_set_text(&wrong->outcome, "MISTRUSTED");
  hl_record_set_text(&wrong->reason, "output 0 holds NaN");
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  const hl_analysis_group *g = &a.groups[0];
  assert_int_equal(g->point_count, 2);
  assert_int_equal(g->failed_count, 3);
  assert_int_equal(g->mistrusted_count, 1);
  assert_int_equal(g->row_count, 6);
  assert_int_equal(g->optimal_batch_size, 8);
  assert_int_equal(g->baseline_batch, 4);
  assert_true(close_to(g->speedup_vs_batch_1, 400.0 / (4000.0 / 12)));
  assert_true(isnan(g->speedup_vs_batch_32));
  assert_int_equal(g->max_batch_size, 8); /* 8 ran and 9 did not */
  assert_non_null(strstr(find_advice(g, HL_ADVICE_SPEED)->text,
                         "1.2 times batch 4 (the smallest that passed)"));
  assert_int_equal(find_advice(g, HL_ADVICE_LIMIT)->batch_size, 7);
  assert_non_null(strstr(find_advice(g, HL_ADVICE_HINT)->text, "outputs of 1 row "));
  assert_non_null(strstr(find_advice(g, HL_ADVICE_HINT)->text, "(batch 16: output 0 holds NaN)"));
  hl_analysis_release(&a);
  /* A boundary that was only predicted is not observed. */
  hl_record_set_text(&records.items[3].reason, "predicted to need 2 GB");
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_int_equal(a.groups[0].max_batch_size, HL_INT_NULL);
  hl_analysis_release(&a);
  hl_records_release(&records);
}

static void nothing_passed(void **state) {
  (void)state;
  static const struct {
    const char *outcomes[2], *expected;
    int64_t batch;
  } cases[] = {
      {{"OUT_OF_MEMORY", "OUT_OF_MEMORY"}, "No batch size fitted into memory (2 of 2 rows)", 1},
      {{"CRASHED", "OUT_OF_MEMORY"}, "No row passed (2 of 2 failed; batch 8: ", 1},
      {{"SKIPPED", "SKIPPED"}, "No row was measured", HL_INT_NULL},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_records records = {0};
    add(&records, NULL, cases[i].outcomes[0], 8);
    add(&records, NULL, cases[i].outcomes[1], 16);
    hl_analysis a;
    assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
    const hl_recommendation *r = find_advice(&a.groups[0], HL_ADVICE_FALLBACK);
    assert_non_null(r);
    assert_non_null(strstr(r->text, cases[i].expected));
    assert_int_equal(r->batch_size, cases[i].batch);
    assert_int_equal(a.groups[0].optimal_batch_size, HL_INT_NULL);
    HL_CLEANUP(hl_free_pointer) char *json = json_of(&a);
    assert_non_null(strstr(json, "\"max_throughput_ips\":null"));
    assert_non_null(strstr(json, "\"class\":\"unknown\""));
    hl_analysis_release(&a);
    hl_records_release(&records);
  }
}

static void no_records(void **state) {
  (void)state;
  hl_records records = {0};
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_int_equal(a.group_count, 0);
  HL_CLEANUP(hl_free_pointer) char *json = json_of(&a);
  assert_non_null(strstr(json, "\"optimal_batch_size\":null"));
  hl_analysis_release(&a);
}

static void groups(void **state) {
  (void)state;
  hl_records records = {0};
  add_passed(&records, NULL, 1, 4, 2, 0.01);
  add_passed(&records, "onnxruntime", 1, 8, 2, 0.01);
  add_passed(&records, NULL, 2, 4, 2, 0.01);
  /* A row that died before it knew its device belongs to its engine. */
  add(&records, "onnxruntime", "CRASHED", 2);
  hl_record_set_text(&records.items[3].device, NULL);
  hl_run_info info;
  hl_run_info_init(&info);
  records.items[2].max_batch_size = 77;
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
  assert_int_equal(a.group_count, 2);
  assert_int_equal(a.groups[0].point_count, 2);
  assert_int_equal(a.groups[1].point_count, 1);
  assert_int_equal(a.groups[1].failed_count, 1);
  assert_string_equal(a.groups[1].engine, "onnxruntime");
  assert_int_equal(a.groups[0].max_batch_size, 77);
  assert_int_equal(a.groups[1].max_batch_size, HL_INT_NULL); /* each group has its own */
  HL_CLEANUP(hl_free_pointer) char *json = json_of(&a);
  assert_non_null(strstr(json, "\"analysis\":[{"));
  assert_non_null(strstr(json, "\"engine\":\"onnxruntime\""));
  hl_analysis_release(&a);
  hl_records_release(&records);
}

static void two_pieces(void **state) {
  (void)state;
  hl_records records = {0};
  for (int64_t b = 1; b <= 256; b *= 2) {
    hl_record *r = add_passed(&records, NULL, b, 1, 2, 0.01);
    if (b > 16) r->latency_p50_ms = 33 + 5 * (double)(b - 16);
  }
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  const hl_analysis_group *g = &a.groups[0];
  assert_true(g->two_pieces && g->bic_gain > 10);
  assert_int_equal(g->break_batch_size, 16);
  assert_true(close_to(g->time_fit_low.a1, 2) && close_to(g->time_fit_high.a1, 5));
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* The error of a time grows with the time: a large batch that is 10 % off must not move the line at
 * the small ones. */
static void weighted_fit(void **state) {
  (void)state;
  hl_records records = {0};
  for (int64_t b = 1; b <= 128; b *= 2) {
    hl_record *r = add_passed(&records, NULL, b, 4, 2, 0.01);
    if (b == 128) r->latency_p50_ms *= 1.1;
  }
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  const hl_analysis_line *fit = &a.groups[0].time_fit;
  assert_true(fabs(fit->a0 + fit->a1 - 6) < 0.3);
  assert_int_equal(fit->points, 8);
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* Peak 100 GFLOP/s, 10 GB/s; one row of 10 ms, so that 1 GFLOP or 100 MB use all of it. */
static void roofline(void **state) {
  (void)state;
  static const struct {
    double gflop, mb;
    hl_bottleneck expected;
  } cases[] = {
      {0.9, 20, HL_BOUND_COMPUTE},
      {0.9, 80, HL_BOUND_MIXED},
      {0.2, 90, HL_BOUND_MEMORY},
      {0.65, 90, HL_BOUND_MEMORY},
      {0.75, 90, HL_BOUND_MIXED},
      {0.1, 10, HL_BOUND_OVERHEAD},
      {0.6, 10, HL_BOUND_MIXED},
      {0.9, 120, HL_BOUND_COMPUTE}, /* more than memory can: the caches serve it, */
      {0.1, 120, HL_BOUND_UNKNOWN}, /* or the bandwidth was measured too low */
      {(double)NAN, 10, HL_BOUND_UNKNOWN},
      {0.9, (double)NAN, HL_BOUND_UNKNOWN},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_records records = {0};
    hl_record *r = add_passed(&records, NULL, 10, 0, 1, 0.01);
    r->executed_flops_per_image = cases[i].gflop * 1e8;
    r->traffic_mb_per_step = cases[i].mb;
    hl_run_info info;
    hl_run_info_init(&info);
    info.peak_gflops = 100;
    info.peak_bandwidth_gbs = 10;
    hl_analysis a;
    assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
    if (a.groups[0].bottleneck != cases[i].expected)
      fail_msg("%g GFLOP, %g MB: %s", cases[i].gflop, cases[i].mb,
               hl_bottleneck_name(a.groups[0].bottleneck));
    assert_true(strlen(a.groups[0].bottleneck_evidence) > 10);
    hl_analysis_release(&a);
    /* The limits say nothing about another type. */
    hl_record_set_text(&r->dtype, "bfloat16");
    assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
    assert_int_equal(a.groups[0].bottleneck, HL_BOUND_UNKNOWN);
    hl_analysis_release(&a);
    /* ... which has a limit of its own. */
    info.peak_gflops = 1;
    info.peak_bfloat16_gflops = 100;
    assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
    assert_int_equal(a.groups[0].bottleneck, cases[i].expected);
    hl_analysis_release(&a);
    /* Of a pass of progressive imaging only the network's own FLOPs are known. */
    hl_record_set_text(&r->workload, HL_WORKLOAD_PROGRESSIVE);
    assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
    assert_int_equal(a.groups[0].bottleneck, HL_BOUND_UNKNOWN);
    assert_true(isnan(a.groups[0].points[0].roofline.gflops));
    hl_analysis_release(&a);
    hl_records_release(&records);
  }
}

static void noise_hints(void **state) {
  (void)state;
  hl_records records = {0};
  hl_record *r = add_passed(&records, NULL, 1, 4, 2, 0.01);
  r->steal_percent = 3;
  r->user_ms_per_step = 6;
  r->system_ms_per_step = 4;
  r = add_passed(&records, NULL, 2, 4, 2, 0.01);
  r->steal_percent = 5.5;
  r->minor_faults_per_step = 900;
  r->major_faults_per_step = 0.1;
  r->steady = 0;
  r->wait_percent = 12;
  r->canary_lost_percent = 30; /* for the same reason */
  r = add_passed(&records, NULL, 4, 4, 2, 0.01);
  r->throttled_ms = 7;
  r->wait_percent = 0;
  r->canary_lost_percent = 3;
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  static const char *const expected[] = {
      "others had the CPU (up to 12 % of the time) at batch 2:",
      "a CPU quota held the worker back (up to 7 ms) at batch 4:",
      "between the slices lost time (up to 3 % of its time) at batch 4:",
      "the hypervisor took CPU time (up to 5.5 % of CPU time) at batches 1, 2:",
      "(up to 40 % of CPU time) at batch 1:",
      "read from a disk (up to 0.1 a step) at batch 2:",
      "mapped anew in each step (up to 900 a step) at batch 2:",
      "not steady after warming up at batch 2:"};
  for (size_t e = 0; e < HL_COUNT(expected); e++) {
    bool found = false;
    for (size_t i = 0; i < a.groups[0].recommendation_count; i++)
      found = found || strstr(a.groups[0].recommendations[i].text, expected[e]);
    if (!found) fail_msg("no hint has '%s'", expected[e]);
  }
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* The margin is taken off the memory: M(b) = 40 + 3 b, 100 fits: 340 MB, less 10 % is 306 MB. */
static void margin(void **state) {
  (void)state;
  hl_records records = {0};
  for (int64_t b = 1; b <= 100; b *= 2) add_passed(&records, NULL, b, 4, 2, 0.01);
  hl_run_info info;
  hl_run_info_init(&info);
  records.items[0].max_batch_size = 100;
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
  assert_int_equal(a.groups[0].max_batch_size, 100);
  assert_int_equal(find_advice(&a.groups[0], HL_ADVICE_LIMIT)->batch_size, 88);
  hl_analysis_release(&a);
  records.items[0].max_batch_size = 0;
  assert_int_equal(hl_analysis_make(&records, &info, &a, NULL), HL_OK);
  assert_int_equal(find_advice(&a.groups[0], HL_ADVICE_LIMIT)->batch_size, HL_INT_NULL);
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* A row repeated by a resumed run replaces the earlier one. */
static void repeated(void **state) {
  (void)state;
  hl_records records = {0};
  add_passed(&records, NULL, 4, 4, 2, 0.01);
  add_passed(&records, NULL, 4, 8, 2, 0.01);
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_int_equal(a.groups[0].point_count, 1);
  assert_int_equal(a.groups[0].points[0].row, 1);
  assert_int_equal(a.groups[0].time_fit.points, 0);
  assert_true(isnan(a.groups[0].time_fit.a0));
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* Counts are written out, whatever their size. */
static void large_numbers(void **state) {
  (void)state;
  hl_records records = {0};
  for (int64_t b = 1; b <= 4; b *= 2) add_passed(&records, NULL, b, 0.00001, 0.00004, 0.001);
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  const hl_analysis_group *g = &a.groups[0];
  /* 4 / 0.17 us */
  assert_non_null(strstr(find_advice(g, HL_ADVICE_SPEED)->text,
                         "batch 4 gives 23529412 images/s (95 % interval 23505882 to 23552941)"));
  hl_text text = HL_TEXT_INIT;
  hl_analysis_describe_fit(g, &text);
  assert_non_null(strstr(text.data,
                         "T(b) = 0.00001 ms + 0.00004 ms/image * b (R2 1.0000, 3 sizes): at "
                         "most 25000000 images/s"));
  assert_null(strstr(text.data, "Bottleneck")); /* which is told apart, and once */
  for (size_t i = 0; i < g->recommendation_count; i++)
    assert_null(strstr(g->recommendations[i].text, "e+"));
  hl_text_release(&text);
  hl_analysis_release(&a);
  hl_records_release(&records);
}

static void energy_is_advised_where_it_is_known(void **state) {
  (void)state;
  static const struct {
    double processor_j[3], device_j[3];
    const char *text;
    int64_t batch;
  } cases[] = {
      {{NAN, NAN, NAN}, {NAN, NAN, NAN}, NULL, 0},
      {{NAN, 1.54, NAN}, {NAN, NAN, NAN}, "Energy: batch 8 took 1.54 J an image beyond idling", 8},
      {{2, 1.54, 1.75},
       {NAN, NAN, NAN},
       "Energy: batch 8 took least, 1.54 J an image beyond idling",
       8},
      {{NAN, 1.54, 1.5},
       {NAN, NAN, NAN},
       "Energy: batch 32 took least, 1.5 J an image beyond idling, of 2 sizes whose energy is "
       "known",
       32},
      {{2, 1.54, 1.75}, {10, 20, 30}, "Energy: batch 1 took least, 10 J an image beyond idling", 1},
  };
  for (size_t c = 0; c < HL_COUNT(cases); c++) {
    hl_records records = {0};
    for (int i = 0; i < 3; i++) {
      hl_record *r = add_passed(&records, NULL, (const int64_t[]){1, 8, 32}[i], 4, 2, 0.01);
      r->energy_per_image_j = cases[c].processor_j[i];
      r->device_energy_per_image_j = cases[c].device_j[i];
    }
    hl_analysis a;
    assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
    const hl_recommendation *r = find_advice(&a.groups[0], HL_ADVICE_ENERGY);
    assert_int_equal(r != NULL, cases[c].text != NULL);
    if (r) {
      assert_string_equal(r->text, cases[c].text);
      assert_int_equal(r->batch_size, cases[c].batch);
    }
    hl_analysis_release(&a);
    hl_records_release(&records);
  }
}

static const char *under_a_limit(const hl_analysis_group *g) {
  for (size_t i = 0; i < g->recommendation_count; i++)
    if (strncmp(g->recommendations[i].text, "Under a limit: ", 15) == 0)
      return g->recommendations[i].text;
  return NULL;
}

/* What 70 % of the fastest size's memory costs, the worker's baseline included. */
static void pipelines_under_a_limit(void **state) {
  (void)state;
  for (int pipeline = 0; pipeline < 2; pipeline++)
    for (int told = 0; told < 2; told++) {
      hl_records records = {0};
      for (int i = 0; i < 3; i++) {
        hl_record *r =
            add_passed(&records, NULL, (const int64_t[]){4, 8, 32}[i], 4, 2, told ? 0.01 : 0.2);
        r->baseline_memory_mb = 10;
        if (pipeline) hl_record_set_text(&r->workload, HL_WORKLOAD_PIPELINE);
      }
      hl_analysis a;
      assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
      const char *text = under_a_limit(&a.groups[0]);
      assert_int_equal(text != NULL, pipeline);
      if (text)
        assert_string_equal(text, told ? "Under a limit: batch 8 takes 74 MB in all, 51 % of the "
                                         "146 MB of the fastest, batch 32, and is 15.0 % slower"
                                       : "Under a limit: batch 8 takes 74 MB in all, 51 % of the "
                                         "146 MB of the fastest, batch 32, and is not told from it "
                                         "in speed");
      hl_analysis_release(&a);
      hl_records_release(&records);
    }
}

/* Of one size nothing is best. */
static void one_size(void **state) {
  (void)state;
  hl_records records = {0};
  add_passed(&records, NULL, 8, 4, 2, 0.01);
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  const hl_analysis_group *g = &a.groups[0];
  const hl_recommendation *r = find_advice(g, HL_ADVICE_BALANCE);
  assert_string_equal(r->text,
                      "Balance: only batch 8 was measured; others may be better (--batch-sizes)");
  assert_int_equal(r->batch_size, HL_INT_NULL);
  for (size_t i = 0; i < g->recommendation_count; i++) {
    assert_null(strstr(g->recommendations[i].text, "best size"));
    assert_null(strstr(g->recommendations[i].text, "least"));
    assert_null(strstr(g->recommendations[i].text, "of the best"));
  }
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* Wide intervals: 8 cannot be told from 32, though it measured less than 95 % of it. One size is
 * advised, and no limit is claimed that a row was faster than. */
static void noisy(void **state) {
  (void)state;
  hl_records records = {0};
  static const double speeds[][2] = {{1, 300}, {8, 460}, {16, 420}, {32, 500}};
  for (size_t i = 0; i < 4; i++) {
    hl_record *r = add_passed(&records, NULL, (int64_t)speeds[i][0], 1, 1, 0.05);
    r->throughput_ips = speeds[i][1];
    r->throughput_ci_ips = (hl_pair){0.95 * speeds[i][1], 1.05 * speeds[i][1]};
    r->latency_p50_ms = r->latency_mean_ms = 1000 * speeds[i][0] / speeds[i][1];
  }
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  hl_analysis_group *g = &a.groups[0];
  assert_int_equal(g->optimal_batch_size, 8);
  assert_int_equal(g->plateau_batch_size, 32);
  const hl_recommendation *r = find_advice(g, HL_ADVICE_BALANCE);
  assert_int_equal(r->batch_size, 8);
  assert_non_null(strstr(r->text, "batch 8 measured 92 % of the best throughput"));
  assert_non_null(strstr(r->text, "27 % of the time of a step"));
  hl_text text = HL_TEXT_INIT;
  hl_analysis_describe_fit(g, &text);
  if (isfinite(g->x_max_ips)) assert_true(g->x_max_ips >= 475);
  assert_null(strstr(text.data, "at most 4"));
  hl_text_release(&text);
  hl_analysis_release(&a);
  /* A maximum of 400/s where 500/s were measured. */
  records.items[3].throughput_ips = 900;
  records.items[3].throughput_ci_ips = (hl_pair){880, 920};
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_true(isnan(a.groups[0].x_max_ips) && isnan(a.groups[0].half_speed_batch));
  hl_analysis_release(&a);
  hl_records_release(&records);
}

/* A smaller type is never advised without what it changes. */
static void accuracy(void **state) {
  (void)state;
  hl_records records = {0};
  add_passed(&records, NULL, 1, 4, 2, 0.01)->output_error = 0.004;
  add_passed(&records, NULL, 2, 4, 2, 0.01)->output_error = 0.003;
  hl_analysis a;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_null(find_advice(&a.groups[0], HL_ADVICE_ACCURACY));
  hl_analysis_release(&a);
  for (size_t i = 0; i < 2; i++) hl_record_set_text(&records.items[i].dtype, "bfloat16");
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_non_null(strstr(find_advice(&a.groups[0], HL_ADVICE_ACCURACY)->text,
                         "bfloat16 changes the outputs by up to 0.004 of"));
  hl_analysis_release(&a);
  for (size_t i = 0; i < 2; i++) records.items[i].output_error = (double)NAN;
  assert_int_equal(hl_analysis_make(&records, NULL, &a, NULL), HL_OK);
  assert_non_null(strstr(find_advice(&a.groups[0], HL_ADVICE_ACCURACY)->text, "was not measured"));
  hl_analysis_release(&a);
  hl_records_release(&records);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_sweep),
      cmocka_unit_test(failures),
      cmocka_unit_test(nothing_passed),
      cmocka_unit_test(no_records),
      cmocka_unit_test(groups),
      cmocka_unit_test(two_pieces),
      cmocka_unit_test(weighted_fit),
      cmocka_unit_test(roofline),
      cmocka_unit_test(noise_hints),
      cmocka_unit_test(margin),
      cmocka_unit_test(repeated),
      cmocka_unit_test(large_numbers),
      cmocka_unit_test(energy_is_advised_where_it_is_known),
      cmocka_unit_test(pipelines_under_a_limit),
      cmocka_unit_test(one_size),
      cmocka_unit_test(noisy),
      cmocka_unit_test(accuracy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
