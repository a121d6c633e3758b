/* A store that is watched while another handle writes it: nothing of it is written, what is new is
 * seen, and lists take as much of it as they were asked for. */
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

static char directory[64], path[96];

static int setup(void **state) {
  (void)state;
  strcpy(directory, "/tmp/hotlap-watch-XXXXXX");
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/store.db", directory);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

static hl_store *open_store(hl_store_mode mode) {
  hl_store *store = NULL;
  hl_error error = {0};
  if (hl_store_open(path, mode, &store, &error) != HL_OK) fail_msg("%s", error.msg);
  return store;
}

static void add_row(hl_store *store, const char *run, const char *model, int64_t batch,
                    double throughput) {
  hl_record record;
  hl_record_init(&record);
  HL_CLEANUP(hl_free_pointer) char *key = hl_format("%s batch=%d", model, (int)batch);
  hl_record_set_text(&record.outcome, throughput > 0 ? "PASSED" : "FAILED");
  hl_record_set_text(&record.model, model);
  record.batch_size = batch;
  record.throughput_ips = throughput > 0 ? throughput : (double)NAN;
  assert_int_equal(hl_store_row_add(store, run, key, batch, &record, NULL), HL_OK);
  hl_record_release(&record);
}

static void begin_run(hl_store *store, int number, hl_run_info *info) {
  hl_run_info_init(info);
  info->id = hl_format("2026110%dT000000Z-0000", number);
  info->created = hl_format("2026-11-0%dT00:00:00Z", number);
  info->machine_id = hl_strdup(number % 2 ? "odd" : "even");
  assert_int_equal(hl_store_run_begin(store, info, NULL, NULL), HL_OK);
}

static void add_run(hl_store *store, int number, const char *model) {
  hl_run_info info;
  begin_run(store, number, &info);
  for (int i = 0; i < 3; i++) add_row(store, info.id, model, 1 << i, 100 * number + i);
  assert_int_equal(hl_store_run_end(store, &info, HL_RUN_FINISHED, NULL), HL_OK);
  hl_run_info_release(&info);
}

/* ---- */

static void count_row(void *context, const hl_store_brief *row) {
  int64_t *last = context;
  assert_true(row->row_id > *last);
  *last = row->row_id;
}

static void what_is_new_is_seen(void **state) {
  (void)state;
  hl_store *writer = open_store(HL_STORE_WRITE);
  hl_run_info info;
  begin_run(writer, 1, &info);
  hl_store *watcher = open_store(HL_STORE_WATCH);
  int64_t before = 0, after = 0, last = 0;
  assert_int_equal(hl_store_version(watcher, &before, NULL), HL_OK);
  assert_int_equal(hl_store_version(watcher, &after, NULL), HL_OK);
  assert_int_equal(before, after);
  add_row(writer, info.id, "mlp", 1, 10);
  add_row(writer, info.id, "mlp", 2, -1);
  assert_int_equal(hl_store_version(watcher, &after, NULL), HL_OK);
  assert_int_not_equal(before, after);
  assert_int_equal(hl_store_rows_follow(watcher, info.id, 0, 1, count_row, &last, NULL), HL_OK);
  int64_t first = last;
  assert_int_equal(hl_store_rows_follow(watcher, info.id, last, 9, count_row, &last, NULL), HL_OK);
  assert_true(last > first);
  hl_store_standing standing;
  assert_int_equal(hl_store_run_standing(watcher, info.id, &standing, NULL), HL_OK);
  assert_string_equal(standing.state, "running");
  assert_int_equal(standing.rows, 2);
  assert_int_equal(standing.passed, 1);
  assert_int_equal(hl_store_run_standing(watcher, "none", &standing, NULL), HL_OK);
  assert_string_equal(standing.state, "");
  hl_store_free(watcher);
  hl_store_free(writer);
  hl_run_info_release(&info);
}

static void nothing_is_written(void **state) {
  (void)state;
  hl_error error = {0};
  hl_store *store = NULL;
  assert_int_equal(hl_store_open(path, HL_STORE_WATCH, &store, &error), HL_NOT_FOUND);
  assert_int_equal(access(path, F_OK), -1);
  store = open_store(HL_STORE_WRITE);
  add_run(store, 1, "mlp");
  hl_store_free(store);
  store = open_store(HL_STORE_WATCH);
  hl_run_info info;
  hl_run_info_init(&info);
  info.id = hl_strdup("other");
  assert_int_equal(hl_store_run_begin(store, &info, NULL, &error), HL_IO);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static void an_older_schema_is_left_alone(void **state) {
  (void)state;
  hl_store *store = open_store(HL_STORE_WRITE);
  hl_store_free(store);
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 3", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  hl_error error = {0};
  assert_int_equal(hl_store_open(path, HL_STORE_WATCH, &store, &error), HL_UNAVAILABLE);
  assert_non_null(strstr(error.msg, "older hotlap"));
}

static size_t count_runs(hl_store *store, const hl_store_filter *filter, const char *first) {
  hl_store_runs runs = {0};
  assert_int_equal(hl_store_runs_list(store, filter, &runs, NULL), HL_OK);
  size_t count = runs.count;
  if (first) assert_string_equal(runs.items[0].created, first);
  hl_store_runs_release(&runs);
  return count;
}

static size_t count_history(hl_store *store, const hl_store_filter *filter, double last) {
  hl_history_rows rows;
  hl_history_rows_init(&rows);
  const hl_metric *metric = hl_metric_find("throughput_ips");
  assert_int_equal(hl_store_history_load(store, metric, filter, &rows, NULL), HL_OK);
  size_t count = rows.count;
  if (count) assert_true(rows.items[count - 1].value == last);
  hl_history_rows_release(&rows);
  return count;
}

static void check_lists(hl_store *store) {
  assert_int_equal(count_runs(store, NULL, "2026-11-09T00:00:00Z"), 9);
  const hl_store_filter page = {.limit = 2, .skip = 3};
  assert_int_equal(count_runs(store, &page, "2026-11-06T00:00:00Z"), 2);
  const hl_store_filter model = {.model = "net"};
  assert_int_equal(count_runs(store, &model, "2026-11-08T00:00:00Z"), 4);
  const hl_store_filter both = {.model = "n%t", .machine = "odd"};
  assert_int_equal(count_runs(store, &both, NULL), 0);
  const hl_store_filter machine = {.machine = "ODD"};
  assert_int_equal(count_runs(store, &machine, NULL), 0);
  assert_int_equal(count_history(store, &model, 802), 12);
  const hl_store_filter newest = {.model = "net", .newest_rows = 4};
  assert_int_equal(count_history(store, &newest, 802), 4);
  const hl_store_filter on = {.machine = "odd", .newest_rows = 5};
  assert_int_equal(count_history(store, &on, 902), 5);
  const hl_store_filter none = {.model = "nothing", .newest_rows = 5};
  assert_int_equal(count_history(store, &none, 0), 0);
}

/* With the indices and, in a store that no newer hotlap has written to, without. */
static void lists_take_what_was_asked_for(void **state) {
  (void)state;
  hl_store *store = open_store(HL_STORE_WRITE);
  for (int i = 1; i <= 9; i++) add_run(store, i, i % 2 ? "mlp" : "my_net");
  check_lists(store);
  hl_store_free(store);
  store = open_store(HL_STORE_WATCH);
  int64_t count = 0;
  check_lists(store);
  assert_int_equal(hl_store_runs_count(store, &count, NULL), HL_OK);
  assert_int_equal(count, 9);
  hl_store_free(store);
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(db, "DROP INDEX rows_by_model; DROP INDEX runs_by_time", NULL, NULL, NULL),
      SQLITE_OK);
  sqlite3_close(db);
  store = open_store(HL_STORE_WATCH);
  check_lists(store);
  hl_store_free(store);
}

static void a_statement_that_takes_too_long_ends(void **state) {
  (void)state;
  hl_store *store = open_store(HL_STORE_WRITE);
  assert_int_equal(hl_store_batch_begin(store, NULL), HL_OK);
  hl_run_info info;
  begin_run(store, 1, &info);
  for (int i = 0; i < 5000; i++) add_row(store, info.id, "mlp", i, 1);
  assert_int_equal(hl_store_batch_end(store, HL_OK, NULL), HL_OK);
  hl_run_info_release(&info);
  hl_store_time_limit(store, 1);
  usleep(2000); /* the limit is over before the statement begins */
  hl_store_runs runs = {0};
  hl_error error = {0};
  assert_int_equal(hl_store_runs_list(store, NULL, &runs, &error), HL_TIMED_OUT);
  hl_store_time_limit(store, 0);
  assert_int_equal(count_runs(store, NULL, NULL), 1);
  hl_store_free(store);
}

/* Whatever tables the schema has: one that the check does not know of would pass without it. */
static void each_table_has_to_be_there(void **state) {
  (void)state;
  hl_store_free(open_store(HL_STORE_WRITE));
  hl_store *watched = open_store(HL_STORE_WATCH);
  assert_int_equal(hl_store_check(watched, NULL), HL_OK);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  char **names;
  int count;
  assert_int_equal(sqlite3_get_table(db, "SELECT name FROM sqlite_master WHERE type = 'table'",
                                     &names, &count, NULL, NULL),
                   SQLITE_OK);
  assert_true(count > 10);
  for (int i = 1; i <= count; i++) {
    hl_error error = {0};
    HL_CLEANUP(hl_free_pointer)
    char *away =
        hl_format("PRAGMA legacy_alter_table = ON; ALTER TABLE %s RENAME TO gone", names[i]);
    HL_CLEANUP(hl_free_pointer) char *back = hl_format("ALTER TABLE gone RENAME TO %s", names[i]);
    assert_int_equal(sqlite3_exec(db, away, NULL, NULL, NULL), SQLITE_OK);
    if (hl_store_check(watched, &error) != HL_BAD_DATA) fail_msg("%s is not missed", names[i]);
    assert_non_null(strstr(error.msg, names[i]));
    assert_int_equal(sqlite3_exec(db, back, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(hl_store_check(watched, NULL), HL_OK);
  }
  sqlite3_free_table(names);
  sqlite3_close(db);
  hl_store_free(watched);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(what_is_new_is_seen),           TEST(nothing_is_written),
      TEST(an_older_schema_is_left_alone), TEST(lists_take_what_was_asked_for),
      TEST(each_table_has_to_be_there),    TEST(a_statement_that_takes_too_long_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
