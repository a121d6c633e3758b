/*
 * A damaged store: every reader says so or gives what it has, nothing crashes, what was refused is
 * byte for byte what it was, and no damage looks like a store without runs.
 */
#include "base/file.h"
#include "store/store.h"
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RUNS = 6, ROWS = 3, PAGE = 4096 };

static char directory[64], path[96];

static int setup(void **state) {
  (void)state;
  strcpy(directory, "/tmp/hotlap-damage-XXXXXX");
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

/* ---- a store with something in each of its tables ---- */

static void add_run(hl_store *store, int number) {
  hl_run_info info;
  hl_run_info_init(&info);
  info.id = hl_format("20261101T00%02d00Z-%04x", number, (unsigned)number);
  info.created = hl_format("2026-11-01T00:%02d:00Z", number);
  info.machine_id = hl_strdup("m1");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  for (int i = 0; i < ROWS; i++) {
    hl_record record;
    hl_record_init(&record);
    HL_CLEANUP(hl_free_pointer) char *key = hl_format("mlp batch=%d", i);
    hl_record_set_text(&record.model, "mlp");
    hl_record_set_text(&record.outcome, "PASSED");
    record.throughput_ips = 100 + i;
    record.sample_count = 1200;
    record.samples_ns = calloc(record.sample_count, sizeof *record.samples_ns);
    for (size_t k = 0; k < record.sample_count; k++) record.samples_ns[k] = k * k * 977;
    assert_int_equal(hl_store_row_add(store, info.id, key, i, &record, NULL), HL_OK);
    hl_record_release(&record);
  }
  hl_comparison comparison;
  hl_comparison_init(&comparison);
  assert_int_equal(hl_store_comparison_add(store, info.id, "a", "b", &comparison, NULL), HL_OK);
  hl_comparison_release(&comparison);
  assert_int_equal(hl_store_run_end(store, &info, HL_RUN_FINISHED, NULL), HL_OK);
  hl_run_info_release(&info);
}

static void make(char **ret_bytes, size_t *ret_count) {
  hl_store *store = NULL;
  assert_int_equal(hl_store_open(path, HL_STORE_WRITE, &store, NULL), HL_OK);
  for (int i = 0; i < RUNS; i++) add_run(store, i);
  const hl_change_check check = {.machine_id = "m1",
                                 .configuration = "mlp",
                                 .metric = "throughput_ips",
                                 .before = "aa",
                                 .after = "bb",
                                 .checked = "2026-11-27T12:00:00Z",
                                 .verdict = "slower",
                                 .pairs = 50};
  assert_int_equal(hl_store_change_check_add(store, &check, NULL), HL_OK);
  hl_store_free(store);
  assert_int_equal(hl_file_read(path, 1 << 28, ret_bytes, ret_count, NULL), HL_OK);
}

/* ---- what is asked of it ---- */

static size_t damages_seen;

static void check_said(hl_status status, const hl_error *error) {
  damages_seen += status == HL_BAD_DATA;
  if (status == HL_OK || status == HL_NOT_FOUND) return;
  if (!strstr(error->msg, path)) fail_msg("'%s' does not name the file", error->msg);
  if (status == HL_BAD_DATA && !strstr(error->msg, "--store") && !strstr(error->msg, "samples"))
    fail_msg("'%s' does not say what to do", error->msg);
}

static size_t salvaged_rows(hl_store *store, const char *id) {
  hl_run_info info;
  hl_records records = {0};
  size_t lost = 0, count = 0;
  if (hl_store_run_salvage(store, id, &info, &records, &lost, NULL) == HL_OK) {
    count = records.count;
    hl_run_info_release(&info);
    hl_records_release(&records);
  }
  return count;
}

/* Rows of one run: all are there, or it is said that not. */
static void read_run(hl_store *store, const char *id) {
  hl_run_info info;
  hl_records records = {0};
  hl_comparisons comparisons = {0};
  hl_error error = {0};
  hl_status status = hl_store_run_load(store, id, &info, &records, &error);
  check_said(status, &error);
  if (status == HL_OK) {
    if (records.count == 0) fail_msg("%s: no rows, and nothing was said", id);
    hl_run_info_release(&info);
    hl_records_release(&records);
  } else {
    (void)salvaged_rows(store, id);
  }
  check_said(hl_store_comparisons_load(store, id, &comparisons, &error), &error);
  hl_comparisons_release(&comparisons);
}

static size_t salvaged_runs(hl_store *store) {
  hl_store_runs runs = {0};
  size_t lost = 0;
  hl_error error = {0};
  check_said(hl_store_runs_salvage(store, NULL, &runs, &lost, &error), &error);
  size_t count = runs.count;
  hl_store_runs_release(&runs);
  return count;
}

static void read_history(hl_store *store) {
  hl_history_rows rows;
  hl_change_checks checks;
  hl_error error = {0};
  hl_history_rows_init(&rows);
  hl_change_checks_init(&checks);
  hl_status status =
      hl_store_history_load(store, hl_metric_find("throughput_ips"), NULL, &rows, &error);
  check_said(status, &error);
  if (status == HL_OK && rows.count == 0) fail_msg("no rows, and nothing was said");
  check_said(hl_store_change_checks_load(store, "throughput_ips", &checks, &error), &error);
  hl_history_rows_release(&rows);
  hl_change_checks_release(&checks);
}

static hl_status read_all(void) {
  hl_store *store = NULL;
  hl_store_runs runs = {0};
  hl_error error = {0};
  hl_status status = hl_store_open(path, HL_STORE_READ, &store, &error);
  check_said(status, &error);
  if (status != HL_OK) return status;
  status = hl_store_runs_list(store, NULL, &runs, &error);
  check_said(status, &error);
  if (status == HL_OK && runs.count == 0) fail_msg("no runs, and nothing was said");
  if (status == HL_BAD_DATA) (void)salvaged_runs(store);
  if (runs.count && runs.items[0].id) read_run(store, runs.items[0].id);
  read_run(store, "20261101T000300Z-0003");
  read_history(store);
  hl_store_runs_release(&runs);
  hl_store_free(store);
  return status;
}

static void put(const char *bytes, size_t count) {
  static const char *const ends[] = {"-wal", "-shm"};
  for (size_t i = 0; i < HL_COUNT(ends); i++) {
    HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s%s", path, ends[i]);
    unlink(name);
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fwrite(bytes, 1, count, file) == count);
  fclose(file);
}

static void assert_unchanged(const char *bytes, size_t count, const char *what, size_t at) {
  char *now = NULL;
  size_t size = 0;
  assert_int_equal(hl_file_read(path, 1 << 28, &now, &size, NULL), HL_OK);
  if (size != count || memcmp(now, bytes, count) != 0) fail_msg("%s %zu: it was changed", what, at);
  free(now);
}

/* ---- tests ---- */

static void every_byte_of_a_page_s_head_may_be_wrong(void **state) {
  (void)state;
  char *bytes = NULL;
  size_t count = 0, seen = 0, tries = 0;
  make(&bytes, &count);
  for (size_t page = 0; page * PAGE < count; page++)
    for (size_t i = 0; i < 24; i += 5, tries++) {
      /* the head, then cell pointers and cells; two bits or all of a byte */
      size_t at = page * PAGE + (page ? 0 : 100) + (i < 12 ? i : 163 * i);
      char good = bytes[at], mask = (char)(i % 2 ? 0xff : 0x11);
      bytes[at] = (char)(good ^ mask);
      put(bytes, count);
      size_t before = damages_seen;
      (void)read_all();
      seen += damages_seen > before;
      assert_unchanged(bytes, count, "byte", at);
      bytes[at] = good;
    }
  free(bytes);
  if (seen < tries / 10) fail_msg("only %zu of %zu damages were seen", seen, tries);
}

static void every_byte_of_the_header_may_be_wrong(void **state) {
  (void)state;
  char *bytes = NULL;
  size_t count = 0;
  make(&bytes, &count);
  for (size_t at = 0; at < 100; at++) {
    bytes[at] = (char)~bytes[at];
    put(bytes, count);
    (void)read_all();
    assert_unchanged(bytes, count, "byte", at);
    bytes[at] = (char)~bytes[at];
  }
  free(bytes);
}

static void a_store_may_end_anywhere(void **state) {
  (void)state;
  char *bytes = NULL;
  size_t count = 0;
  make(&bytes, &count);
  for (size_t end = 0; end < count; end += PAGE) {
    put(bytes, end);
    hl_status status = read_all();
    if (status == HL_OK) fail_msg("cut off at %zu of %zu bytes, and nothing was said", end, count);
    assert_unchanged(bytes, end, "end", end);
  }
  free(bytes);
}

/* Of a table with one bad leaf, what stands before and behind it is still given; where it is one of
 * an index, all. */
static void what_can_be_read_is_given(void **state) {
  (void)state;
  char *bytes = NULL;
  size_t count = 0, best = 0;
  make(&bytes, &count);
  for (size_t page = 2; page * PAGE < count; page++) {
    char good = bytes[page * PAGE];
    bytes[page * PAGE] = (char)~good;
    put(bytes, count);
    hl_store *store = NULL;
    hl_store_runs runs = {0};
    if (hl_store_open(path, HL_STORE_READ, &store, NULL) == HL_OK) {
      hl_status status = hl_store_runs_list(store, NULL, &runs, NULL);
      size_t found = status == HL_BAD_DATA ? salvaged_runs(store) : 0;
      if (found > best && found < RUNS) best = found;
      hl_store_runs_release(&runs);
      hl_store_free(store);
    }
    bytes[page * PAGE] = good;
  }
  free(bytes);
  if (best < RUNS / 2) fail_msg("%zu of %d runs", best, RUNS);
}

static void nothing_is_written_to_a_damaged_store(void **state) {
  (void)state;
  char *bytes = NULL;
  size_t count = 0;
  make(&bytes, &count);
  for (size_t page = 1; page * PAGE < count; page++) {
    char good = bytes[page * PAGE];
    bytes[page * PAGE] = 77; /* no kind of page of a table or index */
    put(bytes, count);
    hl_store *store = NULL;
    hl_error error = {0};
    hl_status status = hl_store_open(path, HL_STORE_WRITE, &store, &error);
    check_said(status, &error);
    hl_store_free(store);
    /* A page of a long value's rest has no kind, so that its first byte may be anything. */
    if (status != HL_OK) assert_unchanged(bytes, count, "page", page);
    if (status == HL_OK) assert_true(good == 0);
    bytes[page * PAGE] = good;
  }
  free(bytes);
}

/* A process that was killed leaves a log; a refused store keeps both as they are. */
static void a_log_that_was_left_behind_is_not_lost(void **state) {
  (void)state;
  HL_CLEANUP(hl_free_pointer) char *log = hl_format("%s-wal", path);
  HL_CLEANUP(hl_free_pointer) char *copy = hl_format("%s/copy.db", directory);
  HL_CLEANUP(hl_free_pointer) char *copy_log = hl_format("%s-wal", copy);
  hl_store *store = NULL;
  assert_int_equal(hl_store_open(path, HL_STORE_WRITE, &store, NULL), HL_OK);
  add_run(store, 1);
  char *base = NULL, *tail = NULL;
  size_t base_bytes = 0, tail_bytes = 0;
  assert_int_equal(hl_file_read(path, 1 << 28, &base, &base_bytes, NULL), HL_OK);
  assert_int_equal(hl_file_read(log, 1 << 28, &tail, &tail_bytes, NULL), HL_OK);
  hl_store_free(store);
  assert_true(tail_bytes > 0);
  /* As it is: the run is read from the log. */
  assert_int_equal(hl_file_write(copy, base, base_bytes, NULL), HL_OK);
  assert_int_equal(hl_file_write(copy_log, tail, tail_bytes, NULL), HL_OK);
  assert_int_equal(hl_store_open(copy, HL_STORE_READ, &store, NULL), HL_OK);
  hl_store_runs runs = {0};
  assert_int_equal(hl_store_runs_list(store, NULL, &runs, NULL), HL_OK);
  assert_int_equal(runs.count, 1);
  hl_store_runs_release(&runs);
  hl_store_free(store);
  free(base);
  free(tail);
}

static void a_newer_store_keeps_its_bytes_and_its_log(void **state) {
  (void)state;
  hl_store *store = NULL;
  assert_int_equal(hl_store_open(path, HL_STORE_WRITE, &store, NULL), HL_OK);
  hl_store_free(store);
  sqlite3 *db = NULL; /* stays open, as that of a newer hotlap at work */
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
  char *base = NULL, *log = NULL, *after = NULL;
  size_t base_bytes = 0, log_bytes = 0, after_bytes = 0;
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s-wal", path);
  assert_int_equal(hl_file_read(path, 1 << 28, &base, &base_bytes, NULL), HL_OK);
  assert_int_equal(hl_file_read(name, 1 << 28, &log, &log_bytes, NULL), HL_OK);
  for (int mode = HL_STORE_READ; mode <= HL_STORE_WRITE; mode++) {
    hl_error error = {0};
    assert_int_equal(hl_store_open(path, (hl_store_mode)mode, &store, &error), HL_BAD_DATA);
    if (!strstr(error.msg, "schema 99") || !strstr(error.msg, "newer") || !strstr(error.msg, path))
      fail_msg("%s", error.msg);
  }
  assert_unchanged(base, base_bytes, "version", 99);
  assert_int_equal(hl_file_read(name, 1 << 28, &after, &after_bytes, NULL), HL_OK);
  assert_int_equal(after_bytes, log_bytes);
  assert_memory_equal(after, log, log_bytes);
  sqlite3_close(db);
  free(base);
  free(log);
  free(after);
}

static void expect(const char *name, hl_status status, const char *says) {
  for (int mode = HL_STORE_READ; mode <= HL_STORE_WRITE; mode++) {
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s/%s", directory, name);
    hl_store *store = NULL;
    hl_error error = {0};
    hl_status found = hl_store_open(file, (hl_store_mode)mode, &store, &error);
    hl_store_free(store);
    if (found != status || !strstr(error.msg, says)) fail_msg("%s: %s", name, error.msg);
  }
}

static void what_is_no_file_is_refused(void **state) {
  (void)state;
  char at[128];
  snprintf(at, sizeof at, "%s/fifo", directory);
  assert_int_equal(mkfifo(at, 0600), 0);
  snprintf(at, sizeof at, "%s/loop", directory);
  assert_int_equal(symlink(at, at), 0);
  snprintf(at, sizeof at, "%s/text", directory);
  assert_int_equal(hl_file_write(at, "a text", 6, NULL), HL_OK);
  expect("fifo", HL_INVALID_ARGUMENT, "not a regular file");
  expect(".", HL_INVALID_ARGUMENT, "not a regular file");
  expect("loop", HL_IO, "symbolic links");
  expect("text", HL_BAD_DATA, "no SQLite file");
}

static void an_empty_file_is_no_store_to_read(void **state) {
  (void)state;
  put("", 0);
  hl_store *store = NULL;
  hl_error error = {0};
  assert_int_equal(hl_store_open(path, HL_STORE_READ, &store, &error), HL_BAD_DATA);
  if (!strstr(error.msg, "empty")) fail_msg("%s", error.msg);
  assert_unchanged("", 0, "empty", 0);
  assert_int_equal(hl_store_open(path, HL_STORE_WRITE, &store, &error), HL_OK);
  hl_store_free(store);
}

/* A batch is all there or not at all. */
static void a_batch_is_undone_as_a_whole(void **state) {
  (void)state;
  for (int good = 0; good < 2; good++) {
    hl_store *store = NULL;
    hl_store_runs runs = {0};
    assert_int_equal(hl_store_open(path, HL_STORE_WRITE, &store, NULL), HL_OK);
    assert_int_equal(hl_store_batch_begin(store, NULL), HL_OK);
    add_run(store, 1);
    assert_int_equal(hl_store_batch_end(store, good ? HL_OK : HL_INTERRUPTED, NULL),
                     good ? HL_OK : HL_INTERRUPTED);
    hl_store_free(store);
    assert_int_equal(hl_store_open(path, HL_STORE_READ, &store, NULL), HL_OK);
    assert_int_equal(hl_store_runs_list(store, NULL, &runs, NULL), HL_OK);
    assert_int_equal(runs.count, good);
    hl_store_runs_release(&runs);
    hl_store_free(store);
  }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_byte_of_a_page_s_head_may_be_wrong),
      TEST(every_byte_of_the_header_may_be_wrong),
      TEST(a_store_may_end_anywhere),
      TEST(what_can_be_read_is_given),
      TEST(nothing_is_written_to_a_damaged_store),
      TEST(a_log_that_was_left_behind_is_not_lost),
      TEST(a_newer_store_keeps_its_bytes_and_its_log),
      TEST(what_is_no_file_is_refused),
      TEST(an_empty_file_is_no_store_to_read),
      TEST(a_batch_is_undone_as_a_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
