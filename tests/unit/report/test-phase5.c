/* The files of phase 5, from made-up rows. */
#include "report/phase5.h"

#include "base/file.h"
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
  hl_run_info info;
  hl_records records;
  hl_comparisons comparisons;
  hl_report_input input;
  char directory[64];
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  hl_run_info_init(&f->info);
  f->info.id = strdup("run-7");
  f->info.created = strdup("2026-11-29T00:00:00Z");
  f->info.cpu = strdup("a \"cpu\"");
  f->input =
      (hl_report_input){.info = &f->info, .records = &f->records, .comparisons = &f->comparisons};
  strcpy(f->directory, "/tmp/hl-phase5-XXXXXX");
  assert_non_null(mkdtemp(f->directory));
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", f->directory);
  assert_int_equal(system(command), 0);
  hl_records_release(&f->records);
  hl_comparisons_release(&f->comparisons);
  hl_run_info_release(&f->info);
  free(f);
  return 0;
}

/* A row of 100 samples that takes so many ms a pass. */
static hl_record *add(fixture *f, const char *entry, const char *optimizations, double ms) {
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.outcome, "PASSED");
  hl_record_set_text(&r.entry, entry);
  hl_record_set_text(&r.optimizations, optimizations);
  hl_record_set_text(&r.imaging_scenario, "standard");
  hl_record_set_text(&r.model, "prism_generator");
  hl_record_set_text(&r.engine, "native");
  hl_record_set_text(&r.dtype, "float32");
  hl_record_set_text(&r.device_id, "cpu");
  r.batch_size = 1;
  r.threads = 2;
  r.apertures = 100;
  r.rounds = 1;
  r.latency_p50_ms = ms;
  r.stage_measure_ms = ms / 2;
  r.throughput_ips = 1e5 / ms;
  r.memory_mb = 150;
  r.psnr_db = strcmp(optimizations, "none") == 0 ? 20 : 20.25;
  r.measurement_error = 2e-7;
  if (strcmp(optimizations, "none") != 0) {
    r.cache_hits = 980;
    r.cache_misses = 20;
    r.cache_hit_percent = 98;
  }
  assert_int_equal(hl_records_take(&f->records, &r, NULL), HL_OK);
  return &f->records.items[f->records.count - 1];
}

static void compare(fixture *f, const char *entry, const char *a, const char *b, double ratio,
                    double low, double high) {
  hl_comparison c;
  hl_comparison_init(&c);
  hl_record_set_text(&c.model, "prism_generator");
  hl_record_set_text(&c.entry, entry);
  hl_record_set_text(&c.a_optimizations, a);
  hl_record_set_text(&c.b_optimizations, b);
  hl_record_set_text(&c.a_engine, "native");
  hl_record_set_text(&c.b_engine, "native");
  hl_record_set_text(&c.a_dtype, "float32");
  hl_record_set_text(&c.b_dtype, "float32");
  hl_record_set_text(&c.a_device_id, "cpu");
  hl_record_set_text(&c.b_device_id, "cpu");
  c.batch_size = 1;
  c.threads = 2;
  c.ratio = ratio;
  c.ci = (hl_pair){low, high};
  c.pairs = 6;
  assert_int_equal(hl_comparisons_take(&f->comparisons, &c, NULL), HL_OK);
}

static void add_standard(fixture *f) {
  static const char *const entries[] = {"standard-1", "standard-2", "standard-3"};
  for (size_t i = 0; i < 3; i++) {
    add(f, entries[i], "none", 3000 + (double)i);
    add(f, entries[i], "all", 750);
    compare(f, entries[i], "none", "all", 4 + 0.01 * (double)i, 3.9, 4.1);
  }
}

static json_t *load(const fixture *f, const char *name) {
  char path[128];
  json_error_t problem;
  snprintf(path, sizeof path, "%s/%s", f->directory, name);
  json_t *document = json_load_file(path, 0, &problem);
  if (!document) print_message("%s: %s\n", path, problem.text);
  return document;
}

static bool exists(const fixture *f, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", f->directory, name);
  return access(path, F_OK) == 0;
}

static void file_says(const fixture *f, const char *name, const char *expected) {
  char path[128];
  HL_CLEANUP(hl_free_pointer) char *bytes = NULL;
  size_t count = 0;
  snprintf(path, sizeof path, "%s/%s", f->directory, name);
  assert_int_equal(hl_file_read(path, 1 << 20, &bytes, &count, NULL), HL_OK);
  HL_CLEANUP(hl_free_pointer) char *text = strndup(bytes, count);
  if (!strstr(text, expected)) print_message("%s\n", text);
  assert_non_null(strstr(text, expected));
}

/* "passed" of the item whose name begins so: 1, 0, -1 for null, -2 for none. */
static int item_of(const json_t *document, const char *name, double *ret_value) {
  const json_t *items = json_object_get(document, "items");
  for (size_t i = 0; i < json_array_size(items); i++) {
    const json_t *item = json_array_get(items, i);
    const char *text = json_string_value(json_object_get(item, "name"));
    if (strncmp(text, name, strlen(name)) != 0) continue;
    const json_t *passed = json_object_get(item, "passed");
    if (ret_value) *ret_value = json_number_value(json_object_get(item, "value"));
    return json_is_null(passed) ? -1 : json_is_true(passed);
  }
  return -2;
}

static void write_files(fixture *f) {
  hl_error error = {0};
  assert_int_equal(hl_report_phase5(&f->input, f->directory, NULL, &error), HL_OK);
}

static void files_are_of_the_rows_that_there_are(void **state) {
  fixture *f = *state;
  write_files(f);
  assert_false(exists(f, "phase5_baseline_performance.json"));
  add(f, "standard-1", "none", 3000);
  write_files(f);
  assert_true(exists(f, "phase5_baseline_performance.json"));
  assert_true(exists(f, "phase5_baseline_performance.txt"));
  assert_false(exists(f, "phase5_optimized_performance.json"));
  assert_false(exists(f, "phase5_comparison.json"));
  add(f, "standard-1", "all", 750);
  write_files(f);
  assert_true(exists(f, "phase5_optimized_performance.txt"));
  assert_true(exists(f, "phase5_comparison_report.txt"));
  assert_false(exists(f, "phase5_ablation.json"));
}

static void performance_is_of_a_sample(void **state) {
  fixture *f = *state;
  add_standard(f);
  add(f, "standardised", "none", 1); /* another entry */
  write_files(f);
  json_t *document = load(f, "phase5_baseline_performance.json");
  const json_t *standard = json_object_get(json_object_get(document, "scenarios"), "standard");
  assert_true(fabs(json_number_value(json_object_get(standard, "time_per_sample_ms")) - 30.01) <
              1e-9);
  assert_true(fabs(json_number_value(json_object_get(standard, "stage_measure_ms")) - 15.005) <
              1e-9);
  assert_true(json_is_null(json_object_get(standard, "measurement_cache_hits")));
  assert_int_equal(json_array_size(json_object_get(standard, "repetitions")), 3);
  json_decref(document);
}

static void the_checklist_has_numbers(void **state) {
  fixture *f = *state;
  add_standard(f);
  write_files(f);
  json_t *document = load(f, "phase5_checklist.json");
  double value;
  assert_int_equal(item_of(document, "Speed-up, standard", &value), 1);
  assert_true(fabs(value - 4.01) < 1e-9);
  assert_int_equal(item_of(document, "Speed-up, progressive", NULL), -1);
  assert_int_equal(item_of(document, "Cache hit rate, progressive", NULL), -1);
  assert_int_equal(item_of(document, "No quality regression, standard", &value), 1);
  assert_true(fabs(value + 0.25) < 1e-9); /* better by that */
  assert_int_equal(item_of(document, "The same measurements", NULL), 1);
  assert_int_equal(item_of(document, "Peak memory", NULL), 1);
  assert_int_equal(item_of(document, "Reproducible", NULL), 1);
  json_decref(document);
  file_says(f, "phase5_checklist.txt",
            "[PASS] Speed-up, standard: 4.010x [3.900, 4.100] (speed-up >= 3)");
  file_says(f, "phase5_checklist.txt", "[UNKNOWN] Speed-up, progressive: - (speed");
}

/* Each of these is one number more or less than the limit. */
static void what_is_not_met_is_no_pass(void **state) {
  fixture *f = *state;
  add_standard(f);
  f->comparisons.items[0].ci = (hl_pair){2.9, 3.0}; /* apart from the others, and below 3 */
  f->records.items[1].memory_mb = 2001;
  for (size_t i = 1; i < 6; i += 2) f->records.items[i].psnr_db = 18.5;
  f->records.items[1].measurement_error = 2e-5;
  add(f, "progressive", "none", 3000);
  add(f, "progressive", "all", 1000)->cache_hit_percent = 79.9;
  write_files(f);
  json_t *document = load(f, "phase5_checklist.json");
  assert_int_equal(item_of(document, "Speed-up, standard", NULL), 0);
  assert_int_equal(item_of(document, "Speed-up, progressive", NULL), 1); /* without an interval */
  assert_int_equal(item_of(document, "Cache hit rate, progressive", NULL), 0);
  assert_int_equal(item_of(document, "No quality regression, standard", NULL), 0);
  assert_int_equal(item_of(document, "The same measurements", NULL), 0);
  assert_int_equal(item_of(document, "Peak memory", NULL), 0);
  assert_int_equal(item_of(document, "Reproducible", NULL), 0);
  json_decref(document);
}

/* Adds a training of either kind from a seed. */
static void add_training(fixture *f, int64_t seed, double baseline, double optimised) {
  hl_record *r = add(f, "quality", "none", 100);
  r->seed = seed;
  r->psnr_db = baseline;
  r = add(f, "quality", "all", 50);
  r->seed = seed;
  r->psnr_db = optimised;
}

static int quality_of(fixture *f, double *ret_value) {
  write_files(f);
  json_t *document = load(f, "phase5_checklist.json");
  int passed = item_of(document, "No quality regression, progressive", ret_value);
  json_decref(document);
  return passed;
}

/* One training of each kind goes apart by rounding: several decide, by their whole interval. */
static void quality_is_of_several_trainings(void **state) {
  fixture *f = *state;
  double value;
  add_standard(f);
  add(f, "progressive", "none", 3000)->psnr_db = 17.3;
  add(f, "progressive", "all", 1000)->psnr_db = 15.9; /* alone a FAIL */
  assert_int_equal(quality_of(f, &value), 0);
  add_training(f, 1, 16, 15.9);
  add_training(f, 2, 14, 14.2);
  assert_int_equal(quality_of(f, NULL), -1);
  add_training(f, 2, 14, 14.2); /* a seed again is no more of a training */
  assert_int_equal(quality_of(f, NULL), -1);
  add_training(f, 3, 15, 14.6);
  assert_int_equal(quality_of(f, &value), 1);
  assert_true(fabs(value - 0.1) < 1e-9); /* of 0.1, -0.2 and 0.4: deviation 0.3 */
  file_says(f, "phase5_checklist.txt", "progressive: 0.1000 dB [-0.6452, 0.8452] (mean PSNR");
  add_training(f, 4, 16, 14.2); /* mean 0.525, but it may be 1.9 */
  assert_int_equal(quality_of(f, &value), 0);
  assert_true(value < 1);
}

static void training_is_the_same(void **state) {
  fixture *f = *state;
  add_standard(f);
  for (int i = 0; i < 2; i++) {
    hl_record *r = add(f, "same-training", i ? "all" : "none", 100);
    r->mse = 0.08;
    r->ssim = 0.9;
    r->first_sample_loss = 2;
    r->new_loss = i ? 20.0001 : 20;
    r->updates = 5;
  }
  write_files(f);
  json_t *document = load(f, "phase5_checklist.json");
  double value;
  assert_int_equal(item_of(document, "The same training", &value), 1);
  assert_true(fabs(value - 5e-6) < 1e-12);
  json_decref(document);
  f->records.items[f->records.count - 1].mse = 0.080001;
  write_files(f);
  document = load(f, "phase5_checklist.json");
  assert_int_equal(item_of(document, "The same training", NULL), 0);
  json_decref(document);
  f->records.items[f->records.count - 1].ssim = (double)NAN;
  write_files(f);
  document = load(f, "phase5_checklist.json");
  assert_int_equal(item_of(document, "The same training", NULL), -1);
  json_decref(document);
}

/* Of too few pairs for ranks: mean and Student's interval of the passes in turns. */
static void three_pairs_have_an_interval(void **state) {
  fixture *f = *state;
  static const uint64_t none[] = {2000, 4000, 8000}, all[] = {1000, 1000, 1000};
  hl_record *rows[] = {add(f, "standard-1", "none", 3000), NULL};
  rows[1] = add(f, "standard-1", "all", 750);
  rows[0] = &f->records.items[0];
  for (size_t i = 0; i < 2; i++) {
    rows[i]->samples_ns = malloc(sizeof none);
    assert_non_null(rows[i]->samples_ns);
    memcpy(rows[i]->samples_ns, i ? all : none, sizeof none);
    rows[i]->sample_count = 3;
  }
  compare(f, "standard-1", "none", "all", 5, (double)NAN, (double)NAN);
  write_files(f);
  json_t *document = load(f, "phase5_comparison.json");
  const json_t *scenarios = json_object_get(document, "scenarios");
  const json_t *r = json_object_get(json_object_get(scenarios, "standard"), "speedup");
  /* Logarithms of 2, 4 and 8: mean log 4, deviation log 2; t of 2 degrees is 4.3027. */
  double half = 4.302652729911275 * log(2) / sqrt(3);
  double low = json_number_value(json_array_get(json_object_get(r, "interval"), 0));
  assert_true(fabs(json_number_value(json_object_get(r, "value")) - 4) < 1e-9);
  assert_true(fabs(low - 4 * exp(-half)) < 1e-6);
  assert_int_equal(json_integer_value(json_object_get(r, "pairs")), 3);
  json_decref(document);
}

static void take_passes(hl_record *row, const uint64_t samples[3]) {
  row->samples_ns = malloc(3 * sizeof *samples);
  assert_non_null(row->samples_ns);
  memcpy(row->samples_ns, samples, 3 * sizeof *samples);
  row->sample_count = 3;
}

/* Nine pairs of three repetitions: one estimate and interval by ranks, not those of three. */
static void pairs_of_all_repetitions_count_together(void **state) {
  fixture *f = *state;
  static const uint64_t none[][3] = {
      {3900, 4100, 4000}, {4050, 3950, 40000 /* disturbed */}, {4020, 3980, 4010}};
  static const uint64_t all[] = {1000, 1000, 1000};
  add_standard(f);
  for (size_t i = 0; i < 3; i++) {
    take_passes(&f->records.items[2 * i], none[i]);
    take_passes(&f->records.items[2 * i + 1], all);
  }
  write_files(f);
  json_t *document = load(f, "phase5_checklist.json");
  const json_t *item = json_array_get(json_object_get(document, "items"), 0);
  const json_t *interval = json_object_get(item, "interval");
  assert_true(fabs(json_number_value(json_object_get(item, "value")) - 4.02) < 0.03);
  assert_true(json_number_value(json_array_get(interval, 0)) > 3.9);
  assert_true(json_number_value(json_array_get(interval, 1)) < 13);
  assert_non_null(strstr(json_string_value(json_object_get(item, "sentence")), "9 interleaved"));
  json_decref(document);
  free(f->records.items[1].samples_ns); /* a pass less: no pairs of all */
  f->records.items[1].samples_ns = NULL;
  f->records.items[1].sample_count = 0;
  write_files(f);
  document = load(f, "phase5_checklist.json");
  double value;
  assert_int_equal(item_of(document, "Speed-up, standard", &value), 1);
  assert_true(fabs(value - 4.01) < 1e-9);
  json_decref(document);
}

static const json_t *named(const json_t *list, const char *name) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name) == 0)
      return json_array_get(list, i);
  return NULL;
}

static void ablation_is_alone_and_beside_all(void **state) {
  fixture *f = *state;
  add(f, "ablation-alone", "none", 1000);
  add(f, "ablation-alone", "real-input", 800);
  add(f, "ablation-without", "all", 200);
  add(f, "ablation-without",
      "grid-cache,fft-plan-cache,measurement-cache,kept-spectrum,matrix-dft,incremental-mask,"
      "same-pass-metrics,one-forward,fused-generator",
      220);
  add(f, "ablation-without", "all,mixed-precision", 160);
  compare(f, "ablation-alone", "real-input", "none", 0.8, 0.75, 0.85); /* the other way round */
  write_files(f);
  json_t *document = load(f, "phase5_ablation.json");
  const json_t *list = json_object_get(document, "optimizations");
  const json_t *real = named(list, "real-input"), *mixed = named(list, "mixed-precision");
  const json_t *alone = json_object_get(real, "alone");
  assert_true(fabs(json_number_value(json_object_get(alone, "value")) - 1.25) < 1e-9);
  assert_true(fabs(json_number_value(json_array_get(json_object_get(alone, "interval"), 0)) -
                   1 / 0.85) < 1e-9);
  assert_true(
      fabs(json_number_value(json_object_get(json_object_get(real, "within_all"), "value")) - 1.1) <
      1e-9);
  assert_true(
      fabs(json_number_value(json_object_get(json_object_get(mixed, "within_all"), "value")) -
           1.25) < 1e-9);
  assert_true(json_is_null(json_object_get(named(list, "grid-cache"), "alone")));
  assert_true(json_is_null(json_object_get(named(list, "grid-cache"), "within_all")));
  json_decref(document);
  file_says(f, "phase5_ablation.txt", "1.05-1.1x");
}

static void caches_have_files_of_their_own(void **state) {
  fixture *f = *state;
  add(f, "measurement-cache", "none", 2000);
  add(f, "measurement-cache", "measurement-cache", 1000);
  add(f, "fft-cache", "none", 2000)->image_size = 256;
  add(f, "fft-cache", "fft-plan-cache", 1600)->image_size = 256;
  write_files(f);
  json_t *document = load(f, "measurement_cache_benchmark.json");
  const json_t *row = json_array_get(json_object_get(document, "rows"), 0);
  assert_true(fabs(json_number_value(json_object_get(row, "measure_ratio")) - 2) < 1e-9);
  assert_int_equal(json_integer_value(json_object_get(row, "cache_hits")), 980);
  json_decref(document);
  file_says(f, "fft_cache_benchmark.txt", "1.25");
}

static void the_summary_is_of_the_files_that_there_are(void **state) {
  fixture *f = *state;
  hl_error error = {0};
  assert_int_equal(hl_report_phase5_summary(f->directory, NULL, &error), HL_NOT_FOUND);
  assert_non_null(strstr(error.msg, "--output-dir"));
  add_standard(f);
  write_files(f);
  assert_int_equal(hl_report_phase5_summary(f->directory, NULL, &error), HL_OK);
  file_says(f, "phase5_master_summary.txt", "speed-up 4.01x [3.9, 4.1]");
  file_says(f, "phase5_master_summary.txt", "Ablation: not there (phase5_ablation.json)");
  file_says(f, "phase5_master_summary.txt", "[PASS] Reproducible");
  json_t *document = load(f, "phase5_master_summary.json");
  assert_int_equal(json_integer_value(json_object_get(document, "not_passed")), 0);
  json_decref(document);
}

static void a_foreign_file_is_named(void **state) {
  fixture *f = *state;
  static const char *const contents[] = {
      "{", "[]", "{\"report\": \"comparison\"}",
      "{\"schema\": \"hotlap.phase5/1\", \"report\": \"baseline\"}",
      "{\"schema\": 1, \"report\": 2}"};
  char path[128];
  snprintf(path, sizeof path, "%s/phase5_comparison.json", f->directory);
  for (size_t i = 0; i < HL_COUNT(contents); i++) {
    hl_error error = {0};
    assert_int_equal(hl_file_write(path, contents[i], strlen(contents[i]), NULL), HL_OK);
    assert_int_equal(hl_report_phase5_summary(f->directory, NULL, &error), HL_BAD_DATA);
    assert_non_null(strstr(error.msg, "phase5_comparison.json"));
  }
  /* One of ours with anything in it is read as far as it goes. */
  static const char odd[] =
      "{\"schema\": \"hotlap.phase5/1\", \"report\": \"comparison\", \"run\": \"a\\u001b[2Jb\", "
      "\"scenarios\": {\"standard\": {\"speedup\": {\"value\": [], \"interval\": 3}}}}";
  assert_int_equal(hl_file_write(path, odd, sizeof odd - 1, NULL), HL_OK);
  assert_int_equal(hl_report_phase5_summary(f->directory, NULL, NULL), HL_OK);
  file_says(f, "phase5_master_summary.txt", "a [2Jb");
  file_says(f, "phase5_master_summary.txt", "speed-up -");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(files_are_of_the_rows_that_there_are),
      TEST(performance_is_of_a_sample),
      TEST(the_checklist_has_numbers),
      TEST(what_is_not_met_is_no_pass),
      TEST(pairs_of_all_repetitions_count_together),
      TEST(quality_is_of_several_trainings),
      TEST(training_is_the_same),
      TEST(three_pairs_have_an_interval),
      TEST(ablation_is_alone_and_beside_all),
      TEST(caches_have_files_of_their_own),
      TEST(the_summary_is_of_the_files_that_there_are),
      TEST(a_foreign_file_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
