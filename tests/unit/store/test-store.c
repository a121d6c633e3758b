/* Runs, rows and samples come back as they were written; damaged files are refused. */
#include "base/file.h"
#include "store/store.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

static int setup(void **state) {
  (void)state;
  strcpy(directory, "/tmp/hotlap-store-XXXXXX");
  return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w '%s' && rm -rf '%s'", directory, directory);
  return system(command);
}

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static hl_store *open_store(const char *name) {
  hl_store *store = NULL;
  hl_error error = {0};
  if (hl_store_open(path_of(name), HL_STORE_WRITE, &store, &error) != HL_OK)
    fail_msg("%s", error.msg);
  return store;
}

static void make_info(hl_run_info *info, const char *id, const char *machine) {
  hl_run_info_init(info);
  info->id = hl_strdup(id);
  info->created = hl_strdup("2026-11-27T12:00:00Z");
  info->machine_id = hl_strdup(machine);
  info->cpu = hl_strdup("A 'CPU' with; DROP TABLE runs");
  info->cores = 2;
  info->memory_bytes = INT64_C(1) << 40;
  info->max_time_s = 30;
}

/* Every metric gets a value of its own. */
static void fill(hl_record *record) {
  hl_record_init(record);
  for (size_t i = 0; i < hl_metric_count; i++) {
    void *field = hl_record_field_mutable(record, &hl_metrics[i]);
    switch (hl_metrics[i].kind) {
    case HL_METRIC_TEXT:
      *(char **)field = hl_format("%s\n'\"|,%zu é", hl_metrics[i].key, i);
      break;
    case HL_METRIC_INT:
      *(int64_t *)field = INT64_MAX - (int64_t)i;
      break;
    case HL_METRIC_REAL:
      *(double *)field = 0.1 + (double)i / 3;
      break;
    case HL_METRIC_BOOL:
      *(int8_t *)field = (int8_t)(i & 1);
      break;
    case HL_METRIC_PAIR:
      *(hl_pair *)field = (hl_pair){1.0 / 3 + (double)i, 1e300};
      break;
    }
  }
}

static void assert_same(const hl_record *a, const hl_record *b) {
  hl_text x = HL_TEXT_INIT, y = HL_TEXT_INIT;
  for (size_t i = 0; i < hl_metric_count; i++) {
    assert_int_equal(hl_record_is_null(a, &hl_metrics[i]), hl_record_is_null(b, &hl_metrics[i]));
    hl_text_clear(&x);
    hl_text_clear(&y);
    hl_record_field_text(a, &hl_metrics[i], &x);
    hl_record_field_text(b, &hl_metrics[i], &y);
    assert_string_equal(x.data, y.data);
  }
  assert_int_equal(a->sample_count, b->sample_count);
  if (a->sample_count)
    assert_memory_equal(a->samples_ns, b->samples_ns, a->sample_count * sizeof *a->samples_ns);
  hl_text_release(&x);
  hl_text_release(&y);
}

static void every_metric_comes_back(void **state) {
  (void)state;
  hl_store *store = open_store("a/b/c/store.db");
  hl_run_info info, back;
  make_info(&info, "run-1", "m1");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  hl_record full, empty;
  fill(&full);
  hl_record_init(&empty);
  static const uint64_t samples[] = {5, 3, 0, UINT64_MAX, 1u << 20, UINT64_MAX / 2, 7};
  full.samples_ns = malloc(sizeof samples);
  memcpy(full.samples_ns, samples, sizeof samples);
  full.sample_count = HL_COUNT(samples);
  hl_error error = {0};
  if (hl_store_row_add(store, "run-1", "batch=1", 0, &full, &error) != HL_OK)
    fail_msg("%s", error.msg);
  assert_int_equal(hl_store_row_add(store, "run-1", "batch=2", 0, &empty, NULL), HL_OK);
  assert_int_equal(hl_store_run_end(store, &info, HL_RUN_FINISHED, NULL), HL_OK);
  hl_store_free(store);

  assert_int_equal(hl_store_open(path_of("a/b/c/store.db"), HL_STORE_READ, &store, NULL), HL_OK);
  hl_records records;
  assert_int_equal(hl_store_run_load(store, "run-1", &back, &records, NULL), HL_OK);
  assert_int_equal(records.count, 2);
  assert_same(&records.items[0], &full);
  assert_same(&records.items[1], &empty);
  assert_string_equal(back.cpu, info.cpu);
  assert_int_equal(back.memory_bytes, info.memory_bytes);
  assert_true(isnan(back.peak_gflops));
  hl_records_release(&records);
  hl_run_info_release(&back);
  hl_run_info_release(&info);
  hl_record_release(&full);
  hl_store_free(store);
}

static void second_row_replaces_the_first(void **state) {
  (void)state;
  hl_store *store = open_store("store.db");
  hl_run_info info, back;
  make_info(&info, "run-1", "m1");
  hl_store_run_begin(store, &info, "hash", NULL);
  hl_record record;
  hl_record_init(&record);
  static const char *const keys[] = {"b=1", "b=2", "b=1"};
  for (int i = 0; i < 3; i++) {
    record.batch_size = i;
    free(record.samples_ns);
    record.samples_ns = calloc(1, 8);
    record.sample_count = 1;
    assert_int_equal(hl_store_row_add(store, "run-1", keys[i], 0, &record, NULL), HL_OK);
  }
  bool there = false;
  assert_int_equal(hl_store_row_exists(store, "run-1", "b=1", &there, NULL), HL_OK);
  assert_true(there);
  assert_int_equal(hl_store_row_exists(store, "run-1", "b=3", &there, NULL), HL_OK);
  assert_false(there);
  hl_records records;
  assert_int_equal(hl_store_run_load(store, "run-1", &back, &records, NULL), HL_OK);
  assert_int_equal(records.count, 2);
  assert_int_equal(records.items[0].batch_size, 1);
  assert_int_equal(records.items[1].batch_size, 2);
  hl_records_release(&records);
  hl_run_info_release(&back);
  /* A row of a run that was never begun is refused. */
  assert_int_not_equal(hl_store_row_add(store, "no-run", "b=1", 0, &record, NULL), HL_OK);
  hl_record_release(&record);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static char *resumable(hl_store *store, const char *hash, const char *machine) {
  char *id = NULL;
  assert_int_equal(hl_store_run_resumable(store, hash, machine, &id, NULL), HL_OK);
  return id;
}

static void boundary_leaves_rows_in_their_order(void **state) {
  (void)state;
  hl_store *store = open_store("boundary.db");
  hl_run_info info, back;
  make_info(&info, "run-1", "m1");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  static const char *const keys[] = {"a", "b"};
  for (size_t i = 0; i < HL_COUNT(keys); i++) {
    hl_record record;
    fill(&record);
    record.batch_size = (int64_t)i + 1;
    assert_int_equal(hl_store_row_add(store, "run-1", keys[i], 0, &record, NULL), HL_OK);
    hl_record_release(&record);
  }
  assert_int_equal(hl_store_row_set_boundary(store, "run-1", "a", 12, NULL), HL_OK);
  assert_int_equal(hl_store_row_set_boundary(store, "run-1", "b", HL_INT_NULL, NULL), HL_OK);
  hl_records records = {0};
  assert_int_equal(hl_store_run_load(store, "run-1", &back, &records, NULL), HL_OK);
  assert_int_equal(records.count, 2);
  assert_int_equal(records.items[0].batch_size, 1);
  assert_int_equal(records.items[0].max_batch_size, 12);
  assert_int_equal(records.items[1].max_batch_size, HL_INT_NULL);
  hl_records_release(&records);
  hl_run_info_release(&back);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static void only_dead_unfinished_runs_are_resumed(void **state) {
  (void)state;
  hl_store *store = open_store("store.db");
  hl_run_info info;
  make_info(&info, "run-1", "m1");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  assert_null(resumable(store, "other", "m1"));
  assert_null(resumable(store, "hash", "m2"));
  char *id = resumable(store, "hash", "m1"); /* our own process is no rival */
  assert_string_equal(id, "run-1");
  free(id);

  /* A child writes a run: while it lives it is left alone, afterwards it can be resumed. */
  int to_child[2], to_parent[2];
  char byte = 0;
  assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
  assert_int_equal(hl_store_run_end(store, &info, HL_RUN_FINISHED, NULL), HL_OK);
  assert_null(resumable(store, "hash", "m1"));
  pid_t child = fork();
  if (child == 0) {
    hl_store *mine = NULL;
    hl_run_info other;
    make_info(&other, "run-2", "m1");
    int bad = hl_store_open(path_of("store.db"), HL_STORE_WRITE, &mine, NULL) != HL_OK ||
              hl_store_run_begin(mine, &other, "hash", NULL) != HL_OK;
    bad |= write(to_parent[1], "x", 1) != 1;
    bad |= read(to_child[0], &byte, 1) != 1;
    _exit(bad);
  }
  assert_int_equal(read(to_parent[0], &byte, 1), 1);
  assert_null(resumable(store, "hash", "m1"));
  assert_int_equal(write(to_child[1], "x", 1), 1);
  int code = -1;
  waitpid(child, &code, 0);
  assert_int_equal(code, 0);
  id = resumable(store, "hash", "m1");
  assert_string_equal(id, "run-2");
  free(id);
  for (int i = 0; i < 2; i++) close(to_child[i]), close(to_parent[i]);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static int write_many(const char *id) {
  hl_store *store = NULL;
  hl_run_info info;
  hl_error error = {0};
  make_info(&info, id, "m1");
  if (hl_store_open(path_of("store.db"), HL_STORE_WRITE, &store, &error) != HL_OK ||
      hl_store_run_begin(store, &info, id, &error) != HL_OK) {
    fprintf(stderr, "%s\n", error.msg);
    return 1;
  }
  hl_record record;
  fill(&record);
  for (int i = 0; i < 40; i++) {
    char key[32];
    snprintf(key, sizeof key, "b=%d", i);
    if (hl_store_row_add(store, id, key, 0, &record, &error) != HL_OK) {
      fprintf(stderr, "%s\n", error.msg);
      return 1;
    }
  }
  if (hl_store_run_end(store, &info, HL_RUN_FINISHED, &error) != HL_OK) return 1;
  hl_record_release(&record);
  hl_run_info_release(&info);
  hl_store_free(store);
  return 0;
}

/* Three processes make and fill one new store at once. */
static void processes_write_at_once(void **state) {
  (void)state;
  static const char *const ids[] = {"run-a", "run-b", "run-c"};
  pid_t children[HL_COUNT(ids)];
  for (size_t i = 0; i < HL_COUNT(ids); i++)
    if ((children[i] = fork()) == 0) _exit(write_many(ids[i]));
  for (size_t i = 0; i < HL_COUNT(ids); i++) {
    int code = -1;
    waitpid(children[i], &code, 0);
    assert_int_equal(code, 0);
  }
  hl_store *store = open_store("store.db");
  hl_store_runs runs;
  assert_int_equal(hl_store_runs_list(store, NULL, &runs, NULL), HL_OK);
  assert_int_equal(runs.count, HL_COUNT(ids));
  for (size_t i = 0; i < runs.count; i++) {
    assert_int_equal(runs.items[i].row_count, 40);
    assert_string_equal(runs.items[i].state, "finished");
  }
  hl_store_runs_release(&runs);
  hl_store_free(store);
}

static void history_filters_and_finds_the_best(void **state) {
  (void)state;
  hl_store *store = open_store("store.db");
  static const struct {
    const char *id, *machine, *model, *outcome;
    double ips;
  } rows[] = {{"20261101T000000Z-aaaa", "m1", "mlp", "PASSED", 10},
              {"20261101T000000Z-aabb", "m2", "resnet50", "PASSED", 20},
              {"20261101T000000Z-aabb", "m2", "vit", "PASSED", 30},
              {"20261102T000000Z-cccc", "m2", "vit", "CRASHED", 99}};
  for (size_t i = 0; i < HL_COUNT(rows); i++) {
    hl_run_info info;
    hl_record record;
    make_info(&info, rows[i].id, rows[i].machine);
    hl_record_init(&record);
    hl_record_set_text(&record.model, rows[i].model);
    hl_record_set_text(&record.outcome, rows[i].outcome);
    record.throughput_ips = rows[i].ips;
    record.batch_size = 8;
    assert_int_equal(hl_store_run_begin(store, &info, NULL, NULL), HL_OK);
    assert_int_equal(hl_store_row_add(store, rows[i].id, rows[i].model, 0, &record, NULL), HL_OK);
    hl_record_release(&record);
    hl_run_info_release(&info);
  }
  hl_store_runs runs;
  assert_int_equal(hl_store_runs_list(store, NULL, &runs, NULL), HL_OK);
  assert_int_equal(runs.count, 3);
  assert_string_equal(runs.items[0].id, "20261102T000000Z-cccc");
  assert_int_equal(runs.items[0].passed_count, 0);
  assert_null(runs.items[0].best_model);
  assert_true(isnan(runs.items[0].best_throughput_ips));
  assert_int_equal(runs.items[0].best_batch_size, HL_INT_NULL);
  assert_string_equal(runs.items[1].models, "resnet50\nvit");
  assert_string_equal(runs.items[1].best_model, "vit");
  assert_true(runs.items[1].best_throughput_ips == 30);
  hl_store_runs_release(&runs);
  hl_store_filter filter = {.model = "vit", .machine = "m2", .limit = 1};
  assert_int_equal(hl_store_runs_list(store, &filter, &runs, NULL), HL_OK);
  assert_int_equal(runs.count, 1);
  hl_store_runs_release(&runs);
  filter = (hl_store_filter){.model = "' OR 1=1 --"};
  assert_int_equal(hl_store_runs_list(store, &filter, &runs, NULL), HL_OK);
  assert_int_equal(runs.count, 0);
  hl_store_runs_release(&runs);

  static const struct {
    const char *text;
    hl_status status;
    const char *id;
  } names[] = {{"latest", HL_OK, "20261102T000000Z-cccc"},
               {"20261102", HL_OK, "20261102T000000Z-cccc"},
               {"20261101T000000Z-aaaa", HL_OK, "20261101T000000Z-aaaa"},
               {"20261101", HL_INVALID_ARGUMENT, NULL},
               {"%", HL_NOT_FOUND, NULL},
               {"", HL_NOT_FOUND, NULL}};
  for (size_t i = 0; i < HL_COUNT(names); i++) {
    char *id = NULL;
    assert_int_equal(hl_store_run_resolve(store, names[i].text, &id, NULL), names[i].status);
    if (names[i].id) assert_string_equal(id, names[i].id);
    free(id);
  }
  hl_store_free(store);
}

static void sql(const char *name, const char *text) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
  char *said = NULL;
  if (sqlite3_exec(db, text, NULL, NULL, &said) != SQLITE_OK) fail_msg("%s", said);
  sqlite3_close(db);
}

static void expect_open(const char *name, hl_store_mode mode, hl_status status, const char *says) {
  hl_store *store = NULL;
  hl_error error = {0};
  assert_int_equal(hl_store_open(path_of(name), mode, &store, &error), status);
  if (says && !strstr(error.msg, says)) fail_msg("'%s' lacks '%s'", error.msg, says);
  hl_store_free(store);
}

/* A store of the first schema, without any of today's columns, keeps its rows. */
static void older_schema_is_converted(void **state) {
  (void)state;
  sql("old.db",
      "PRAGMA application_id = 1212957008; PRAGMA user_version = 1;"
      "CREATE TABLE runs (id TEXT PRIMARY KEY, plan_hash TEXT, state TEXT NOT NULL, ended TEXT,"
      " created TEXT);"
      "CREATE TABLE rows (row_id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id),"
      " configuration TEXT NOT NULL, model TEXT, a_metric_of_the_past REAL,"
      " UNIQUE (run_id, configuration));"
      "CREATE TABLE samples (row_id INTEGER PRIMARY KEY REFERENCES rows(row_id) ON DELETE CASCADE,"
      " count INTEGER NOT NULL, codec TEXT NOT NULL, data BLOB NOT NULL);"
      "INSERT INTO runs (id, state, created) VALUES ('r', 'interrupted', '2025');"
      "INSERT INTO rows (run_id, configuration, model) VALUES ('r', 'b=1', 'mlp');");
  hl_store *store = open_store("old.db");
  hl_run_info info;
  hl_records records;
  assert_int_equal(hl_store_run_load(store, "r", &info, &records, NULL), HL_OK);
  assert_int_equal(records.count, 1);
  assert_string_equal(records.items[0].model, "mlp");
  hl_records_release(&records);
  hl_record record;
  fill(&record);
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  assert_int_equal(hl_store_row_add(store, "r", "b=2", 0, &record, NULL), HL_OK);
  hl_record_release(&record);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static void a_run_keeps_the_order_of_its_plan_and_its_comparisons(void **state) {
  (void)state;
  hl_store *store = open_store("turns.db");
  hl_run_info info, back;
  make_info(&info, "run-1", "m1");
  assert_int_equal(hl_store_run_begin(store, &info, "hash", NULL), HL_OK);
  static const char *const keys[] = {"second", "first"};
  for (int64_t i = 0; i < 2; i++) {
    hl_record record;
    hl_record_init(&record);
    hl_record_set_text(&record.engine, keys[i]);
    assert_int_equal(hl_store_row_add(store, "run-1", keys[i], 1 - i, &record, NULL), HL_OK);
    hl_record_release(&record);
  }
  hl_comparison c;
  hl_comparison_init(&c);
  hl_record_set_text(&c.verdict, "faster");
  c.ratio = 1.5;
  c.ci = (hl_pair){1.25, 1.75};
  c.agree = 1;
  for (int64_t pairs = 20; pairs <= 40; pairs += 20) { /* the second takes the place of the first */
    c.pairs = pairs;
    assert_int_equal(hl_store_comparison_add(store, "run-1", "first", "second", &c, NULL), HL_OK);
  }
  assert_int_not_equal(hl_store_comparison_add(store, "no-run", "a", "b", &c, NULL), HL_OK);
  hl_comparison_release(&c);

  hl_records records;
  hl_comparisons comparisons = {0};
  assert_int_equal(hl_store_run_load(store, "run-1", &back, &records, NULL), HL_OK);
  assert_int_equal(hl_store_comparisons_load(store, "run-1", &comparisons, NULL), HL_OK);
  assert_string_equal(records.items[0].engine, "first");
  assert_string_equal(records.items[1].engine, "second");
  assert_int_equal(comparisons.count, 1);
  assert_string_equal(comparisons.items[0].verdict, "faster");
  assert_int_equal(comparisons.items[0].pairs, 40);
  assert_true(comparisons.items[0].ci.high == 1.75);
  assert_int_equal(comparisons.items[0].agree, 1);
  assert_int_equal(comparisons.items[0].voided, HL_INT_NULL);
  hl_comparisons_release(&comparisons);
  hl_records_release(&records);
  hl_run_info_release(&back);
  hl_run_info_release(&info);
  hl_store_free(store);
}

static void foreign_newer_and_damaged_files_are_refused(void **state) {
  (void)state;
  expect_open("none.db", HL_STORE_READ, HL_NOT_FOUND, "no store here yet");
  sql("foreign.db", "CREATE TABLE t (x); PRAGMA user_version = 3");
  expect_open("foreign.db", HL_STORE_WRITE, HL_BAD_DATA, "another program");
  sql("newer.db", "PRAGMA application_id = 1212957008; PRAGMA user_version = 999");
  expect_open("newer.db", HL_STORE_WRITE, HL_BAD_DATA, "newer hotlap");
  expect_open("newer.db", HL_STORE_READ, HL_BAD_DATA, "newer hotlap");
  char junk[4096];
  memset(junk, 'x', sizeof junk);
  assert_int_equal(hl_file_write(path_of("junk.db"), junk, sizeof junk, NULL), HL_OK);
  expect_open("junk.db", HL_STORE_WRITE, HL_BAD_DATA, "damaged");
  expect_open(".", HL_STORE_WRITE, HL_INVALID_ARGUMENT, "not a regular file");
  assert_int_equal(mkdir(path_of("file"), 0700), 0);
  assert_int_equal(hl_file_write(path_of("file/x"), "x", 1, NULL), HL_OK);
  expect_open("file/x/store.db", HL_STORE_WRITE, HL_IO, NULL);
}

/* Cut or overwritten anywhere, a store gives an error or what is left, and never a crash. */
static void damage_is_survived(void **state) {
  (void)state;
  assert_int_equal(write_many("run-a"), 0);
  char *good = NULL;
  size_t bytes = 0;
  assert_int_equal(hl_file_read(path_of("store.db"), 64u << 20, &good, &bytes, NULL), HL_OK);
  int refused = 0;
  for (size_t i = 0; i < 40; i++) {
    bool cut = i % 2;
    size_t at = bytes * i / 40;
    char *bad = malloc(bytes);
    memcpy(bad, good, bytes);
    if (!cut) memset(bad + at, 0xa5, bytes - at < 600 ? bytes - at : 600);
    hl_file_write(path_of("bad.db"), bad, cut ? at : bytes, NULL);
    unlink(path_of("bad.db-wal"));
    unlink(path_of("bad.db-shm"));
    free(bad);
    hl_store *store = NULL;
    hl_error error = {0};
    hl_status status = hl_store_open(path_of("bad.db"), HL_STORE_READ, &store, &error);
    hl_run_info info;
    hl_records records;
    if (status == HL_OK) status = hl_store_run_load(store, "run-a", &info, &records, &error);
    if (status == HL_OK) {
      hl_records_release(&records);
      hl_run_info_release(&info);
    } else {
      refused++;
      assert_true(strlen(error.msg) > 10);
    }
    hl_store_free(store);
  }
  assert_true(refused > 10);
  free(good);
}

static void read_only_store_can_be_read(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root may write everything */
  assert_int_equal(write_many("run-a"), 0);
  chmod(path_of("store.db"), 0444);
  expect_open("store.db", HL_STORE_READ, HL_OK, NULL);
  expect_open("store.db", HL_STORE_WRITE, HL_IO, "read-only");
}

/* A disk that fills up: the row is refused with a clear message, the rows before it stay. */
static void full_disk_loses_nothing(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = {.rlim_cur = 400 << 10, .rlim_max = 400 << 10};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    hl_store *mine = NULL;
    hl_run_info info;
    hl_record record;
    hl_error error = {0};
    make_info(&info, "run-1", "m1");
    fill(&record);
    hl_status status = hl_store_open(path_of("store.db"), HL_STORE_WRITE, &mine, &error);
    if (status == HL_OK) status = hl_store_run_begin(mine, &info, NULL, &error);
    int rows = 0;
    for (char key[32]; status == HL_OK && rows < 10000; rows++) {
      snprintf(key, sizeof key, "b=%d", rows);
      status = hl_store_row_add(mine, "run-1", key, 0, &record, &error);
    }
    bool good = status == HL_IO && strstr(error.msg, "full") && rows > 1;
    _exit(good ? 0 : 1);
  }
  int code = -1;
  waitpid(child, &code, 0);
  assert_int_equal(code, 0);
  hl_store *store = open_store("store.db");
  hl_run_info info;
  hl_records records;
  assert_int_equal(hl_store_run_load(store, "run-1", &info, &records, NULL), HL_OK);
  assert_true(records.count > 0);
  hl_records_release(&records);
  hl_run_info_release(&info);
  hl_store_free(store);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      STORE_TEST(every_metric_comes_back),
      STORE_TEST(second_row_replaces_the_first),
      STORE_TEST(boundary_leaves_rows_in_their_order),
      STORE_TEST(only_dead_unfinished_runs_are_resumed),
      STORE_TEST(processes_write_at_once),
      STORE_TEST(history_filters_and_finds_the_best),
      STORE_TEST(older_schema_is_converted),
      STORE_TEST(a_run_keeps_the_order_of_its_plan_and_its_comparisons),
      STORE_TEST(foreign_newer_and_damaged_files_are_refused),
      STORE_TEST(damage_is_survived),
      STORE_TEST(full_disk_loses_nothing),
      STORE_TEST(read_only_store_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
