/* A metric of many runs, and what reruns said of its changes, come back as they were written. */
#include "store/store.h"
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static int setup(void **state) {
  (void)state;
  strcpy(path, "/tmp/hotlap-history-XXXXXX");
  int fd = mkstemp(path);
  if (fd < 0) return -1;
  return close(fd); /* an empty file is an empty store */
}

static int teardown(void **state) {
  (void)state;
  static const char *const ends[] = {"", "-wal", "-shm"};
  for (size_t i = 0; i < HL_COUNT(ends); i++) {
    HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s%s", path, ends[i]);
    unlink(name);
  }
  return 0;
}

static hl_store *open_store(void) {
  hl_store *store = NULL;
  hl_error error = {0};
  if (hl_store_open(path, HL_STORE_WRITE, &store, &error) != HL_OK) fail_msg("%s", error.msg);
  return store;
}

typedef struct made {
  const char *run, *machine, *model, *outcome, *commit, *time;
  double ips, low, high;
} made;

static void add(hl_store *store, const made *row) {
  hl_run_info info;
  hl_record record;
  hl_run_info_init(&info);
  hl_record_init(&record);
  info.id = hl_strdup(row->run);
  info.created = hl_strdup("2026-11-27T12:00:00Z");
  info.machine_id = hl_strdup(row->machine);
  info.cpu = hl_strdup("A Processor");
  hl_record_set_text(&record.model, row->model);
  hl_record_set_text(&record.outcome, row->outcome);
  hl_record_set_text(&record.git_commit, row->commit);
  hl_record_set_text(&record.timestamp, row->time);
  hl_record_set_text(&record.workload, "inference");
  record.throughput_ips = row->ips;
  record.throughput_ci_ips = (hl_pair){row->low, row->high};
  hl_error error = {0};
  if (hl_store_run_begin(store, &info, NULL, &error) != HL_OK ||
      hl_store_row_add(store, row->run, row->model, 0, &record, &error) != HL_OK)
    fail_msg("%s", error.msg);
  hl_record_release(&record);
  hl_run_info_release(&info);
}

static hl_history_rows load(hl_store *store, const char *metric, const char *model,
                            const char *machine) {
  hl_history_rows rows;
  hl_error error = {0};
  const hl_store_filter filter = {.model = model, .machine = machine};
  hl_history_rows_init(&rows);
  if (hl_store_history_load(store, hl_metric_find(metric), &filter, &rows, &error) != HL_OK)
    fail_msg("%s", error.msg);
  return rows;
}

static void a_metric_comes_back(void **state) {
  (void)state;
  hl_store *store = open_store();
  static const made rows[] = {
      {"r1", "m1", "mlp", "PASSED", "c1", "2026-11-27T12:01:00Z", 10, 9, 11},
      {"r1", "m1", "mlp:a=1", "PASSED", NULL, NULL, 20, (double)NAN, (double)NAN},
      {"r2", "m2", "mlp", "PASSED", "c2", NULL, (double)NAN, (double)NAN, (double)NAN},
      {"r3", "m1", "mlp", "CRASHED", "c3", NULL, 30, (double)NAN, (double)NAN},
      {"r3", "m1", "vit", "PASSED", "c3", NULL, 40, (double)NAN, (double)NAN},
  };
  for (size_t i = 0; i < HL_COUNT(rows); i++) add(store, &rows[i]);
  hl_history_rows found = load(store, "throughput_ips", "mlp", NULL);
  assert_int_equal(found.count, 3);
  const hl_history_row *r = found.items;
  assert_string_equal(r[0].run_id, "r1");
  assert_string_equal(r[0].configuration, "mlp");
  assert_string_equal(r[0].machine_id, "m1");
  assert_string_equal(r[0].cpu, "A Processor");
  assert_string_equal(r[0].workload, "inference");
  assert_string_equal(r[0].commit, "c1");
  assert_string_equal(r[0].time, "2026-11-27T12:01:00Z");
  assert_true(r[0].value == 10 && r[0].interval.low == 9 && r[0].interval.high == 11);
  assert_string_equal(r[1].model, "mlp:a=1");
  assert_null(r[1].commit);
  assert_string_equal(r[1].time, "2026-11-27T12:00:00Z"); /* of the run */
  assert_true(r[1].value == 20 && isnan(r[1].interval.low) && isnan(r[1].interval.high));
  assert_true(isnan(r[2].value));
  hl_history_rows_release(&found);
  found = load(store, "throughput_ips", "mlp", "m2");
  assert_int_equal(found.count, 1);
  hl_history_rows_release(&found);
  found = load(store, "memory_mb", NULL, NULL); /* which has no interval */
  assert_int_equal(found.count, 4);
  assert_true(isnan(found.items[0].value) && isnan(found.items[0].interval.low));
  hl_history_rows_release(&found);
  found = load(store, "memory_mb", "'; DROP TABLE rows", NULL);
  assert_int_equal(found.count, 0);
  hl_history_rows_release(&found);
  hl_store_free(store);
}

static const hl_change_check slower = {.machine_id = "m1",
                                       .configuration = "mlp batch=2",
                                       .metric = "throughput_ips",
                                       .before = "aa",
                                       .after = "bb",
                                       .checked = "2026-11-27T12:00:00Z",
                                       .verdict = "slower",
                                       .ratio = 0.5,
                                       .ci = {0.25, 0.75},
                                       .pairs = 50,
                                       .command = "hotlap compare 'a' 'b'"};

static void put(hl_store *store, const hl_change_check *check) {
  hl_error error = {0};
  if (hl_store_change_check_add(store, check, &error) != HL_OK) fail_msg("%s", error.msg);
}

static hl_change_checks checks_of(hl_store *store, const char *metric) {
  hl_change_checks checks;
  hl_change_checks_init(&checks);
  assert_int_equal(hl_store_change_checks_load(store, metric, &checks, NULL), HL_OK);
  return checks;
}

static void checks_come_back(void **state) {
  (void)state;
  hl_store *store = open_store();
  hl_change_check other = slower, again = slower, elsewhere = slower;
  other.metric = "latency_p50_ms";
  again.verdict = "equivalent";
  again.ratio = (double)NAN;
  again.pairs = HL_INT_NULL;
  again.command = NULL;
  elsewhere.machine_id = "m2";
  put(store, &slower);
  put(store, &other);
  put(store, &elsewhere);
  hl_change_checks checks = checks_of(store, "throughput_ips");
  assert_int_equal(checks.count, 2);
  const hl_change_check *found = hl_change_checks_find(&checks, &slower);
  assert_non_null(found);
  assert_string_equal(found->verdict, "slower");
  assert_string_equal(found->checked, slower.checked);
  assert_string_equal(found->command, slower.command);
  assert_true(found->ratio == 0.5 && found->ci.low == 0.25 && found->ci.high == 0.75);
  assert_int_equal(found->pairs, 50);
  hl_change_checks_release(&checks);

  put(store, &again); /* in place of the first */
  checks = checks_of(store, "throughput_ips");
  assert_int_equal(checks.count, 2);
  found = hl_change_checks_find(&checks, &slower);
  assert_string_equal(found->verdict, "equivalent");
  assert_true(isnan(found->ratio));
  assert_int_equal(found->pairs, HL_INT_NULL);
  assert_null(found->command);
  assert_string_equal(hl_change_checks_find(&checks, &elsewhere)->verdict, "slower");
  again.after = "cc";
  assert_null(hl_change_checks_find(&checks, &again));
  hl_change_checks_release(&checks);
  hl_store_free(store);
}

/* A store as it was before checks were kept: it keeps its rows and gets the table. */
static void schema_3_is_converted(void **state) {
  (void)state;
  static const made row = {"r1", "m1", "mlp", "PASSED", "c1", NULL, 10, 9, 11};
  hl_store *store = open_store();
  add(store, &row);
  hl_store_free(store);
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(
          db,
          "DROP TABLE change_checks; DROP TABLE load_rates; DROP TABLE "
          "train_epochs; DROP TABLE step_losses; DROP TABLE "
          "custom_metrics; DROP TABLE memory_maps; DROP TABLE thumbnails; PRAGMA user_version = 3",
          NULL, NULL, NULL),
      SQLITE_OK);
  sqlite3_close(db);
  store = open_store();
  hl_history_rows rows = load(store, "throughput_ips", "mlp", NULL);
  assert_int_equal(rows.count, 1);
  hl_history_rows_release(&rows);
  put(store, &slower);
  hl_change_checks checks = checks_of(store, "throughput_ips");
  assert_int_equal(checks.count, 1);
  hl_change_checks_release(&checks);
  hl_store_free(store);
}

static void intervals_are_found_by_name(void **state) {
  (void)state;
  static const struct {
    const char *metric, *interval;
  } cases[] = {{"throughput_ips", "throughput_ci_ips"},
               {"latency_p50_ms", "latency_p50_ci_ms"},
               {"latency_p99_ms", "latency_p99_ci_ms"},
               {"memory_mb", NULL},
               {"efficiency", NULL},
               {"latency_max_ms", NULL}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    const hl_metric *found = hl_metric_interval(hl_metric_find(cases[i].metric));
    if (cases[i].interval)
      assert_string_equal(found->key, cases[i].interval);
    else
      assert_null(found);
  }
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      STORE_TEST(a_metric_comes_back),
      STORE_TEST(checks_come_back),
      STORE_TEST(schema_3_is_converted),
      cmocka_unit_test(intervals_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
