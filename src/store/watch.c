#include "base/clock.h"
#include "store/sql.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOOK_AFTER = 20000 }; /* instructions of SQLite's machine, about a millisecond */

static int is_over(void *context) {
  const hl_store *store = context;
  return store->deadline_ns && hl_clock_ns() > store->deadline_ns;
}

void hl_store_time_limit(hl_store *store, int ms) {
  store->deadline_ns = ms > 0 ? hl_clock_ns() + (uint64_t)ms * 1000000 : 0;
  sqlite3_progress_handler(store->db, ms > 0 ? LOOK_AFTER : 0, is_over, store);
}

bool hl_store_is_fixed(const hl_store *store) {
  return store->fixed;
}

hl_status hl_store_version(hl_store *store, int64_t *ret_version, hl_error *error) {
  return hl_sql_int(store, "PRAGMA data_version", ret_version, error);
}

hl_status hl_store_check(hl_store *store, hl_error *error) {
  static const char *const tables[] = {
      "runs",         "rows",        "samples",        "comparisons", "change_checks", "load_rates",
      "train_epochs", "step_losses", "custom_metrics", "memory_maps", "thumbnails"};
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(tables) && status == HL_OK; i++) {
    int64_t any;
    HL_CLEANUP(hl_free_pointer) char *sql = hl_format("SELECT 1 FROM %s LIMIT 1", tables[i]);
    status = sql ? hl_sql_int(store, sql, &any, error)
                 : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  }
  return status;
}

static const char *text_at(sqlite3_stmt *statement, int column) {
  return (const char *)sqlite3_column_text(statement, column);
}

static int64_t int_at(sqlite3_stmt *statement, int column) {
  bool there = sqlite3_column_type(statement, column) == SQLITE_INTEGER;
  return there ? sqlite3_column_int64(statement, column) : HL_INT_NULL;
}

static double real_at(sqlite3_stmt *statement, int column) {
  int type = sqlite3_column_type(statement, column);
  bool there = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
  return there ? sqlite3_column_double(statement, column) : (double)NAN;
}

hl_status hl_store_rows_follow(hl_store *store, const char *run_id, int64_t after, int64_t limit,
                               void (*take)(void *context, const hl_store_brief *row),
                               void *context, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store,
      "SELECT row_id, outcome, model, workload, engine, dtype, device, reason, batch_size, threads,"
      " throughput_ips, latency_p50_ms, latency_p99_ms, memory_mb FROM rows"
      " WHERE run_id = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3",
      &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, run_id);
  sqlite3_bind_int64(statement, 2, after);
  sqlite3_bind_int64(statement, 3, limit);
  bool there = false;
  while ((status = hl_sql_step(store, statement, &there, error)) == HL_OK && there) {
    const hl_store_brief row = {.row_id = sqlite3_column_int64(statement, 0),
                                .outcome = text_at(statement, 1),
                                .model = text_at(statement, 2),
                                .workload = text_at(statement, 3),
                                .engine = text_at(statement, 4),
                                .dtype = text_at(statement, 5),
                                .device = text_at(statement, 6),
                                .reason = text_at(statement, 7),
                                .batch_size = int_at(statement, 8),
                                .threads = int_at(statement, 9),
                                .throughput_ips = real_at(statement, 10),
                                .latency_p50_ms = real_at(statement, 11),
                                .latency_p99_ms = real_at(statement, 12),
                                .memory_mb = real_at(statement, 13)};
    take(context, &row);
  }
  return status;
}

hl_status hl_store_run_standing(hl_store *store, const char *run_id,
                                hl_store_standing *ret_standing, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store,
      "SELECT state, writer_pid, writer_start, (SELECT count(*) FROM rows WHERE run_id = ?1),"
      " (SELECT count(*) FROM rows WHERE run_id = ?1 AND outcome = 'PASSED')"
      " FROM runs WHERE id = ?1",
      &statement, error);
  bool there = false;
  hl_sql_bind_text(statement, 1, run_id);
  if (status == HL_OK) status = hl_sql_step(store, statement, &there, error);
  if (status != HL_OK) return status;
  hl_store_standing standing = {0};
  if (there) {
    const char *state = text_at(statement, 0);
    snprintf(standing.state, sizeof standing.state, "%s", state ? state : "");
    standing.abandoned = strcmp(standing.state, hl_run_state_name(HL_RUN_RUNNING)) == 0 &&
                         !hl__store_writer_lives(statement);
    standing.rows = sqlite3_column_int64(statement, 3);
    standing.passed = sqlite3_column_int64(statement, 4);
  }
  *ret_standing = standing;
  return HL_OK;
}

hl_status hl_store_runs_count(hl_store *store, int64_t *ret_count, hl_error *error) {
  return hl_sql_int(store, "SELECT count(*) FROM runs", ret_count, error);
}
