#include "base/clock.h"
#include "store/samples.h"
#include "store/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const state_names[] = {[HL_RUN_RUNNING] = "running",
                                          [HL_RUN_FINISHED] = "finished",
                                          [HL_RUN_INTERRUPTED] = "interrupted"};

const char *hl_run_state_name(hl_run_state state) {
  return (size_t)state < HL_COUNT(state_names) ? state_names[state] : "interrupted";
}

/* As text, empty where it is not known. */
static void process_start(int64_t pid, char ret_text[32]) {
  uint64_t start = hl_clock_process_start(pid);
  ret_text[0] = '\0';
  if (start) snprintf(ret_text, 32, "%" PRIu64, start);
}

/* "INSERT INTO table (keys, columns...) VALUES (?, ...) ON CONFLICT (conflict) DO UPDATE SET ..."
 */
static char *upsert_sql(const hl_store_table *table, const char *const *keys, size_t key_count,
                        const char *conflict) {
  hl_text sql = HL_TEXT_INIT;
  hl_text_format(&sql, "INSERT INTO %s (", table->name);
  for (size_t i = 0; i < key_count; i++) hl_text_format(&sql, "%s%s", i ? "," : "", keys[i]);
  for (size_t i = 0; i < table->count; i++) hl_text_format(&sql, ",\"%s\"", table->columns[i].name);
  hl_text_append(&sql, ") VALUES (?");
  for (size_t i = 1; i < key_count + table->count; i++) hl_text_append(&sql, ",?");
  hl_text_format(&sql, ") ON CONFLICT (%s) DO UPDATE SET ", conflict);
  for (size_t i = 0; i < key_count; i++)
    hl_text_format(&sql, "%s%s = excluded.%s", i ? "," : "", keys[i], keys[i]);
  for (size_t i = 0; i < table->count; i++)
    hl_text_format(&sql, ",\"%s\" = excluded.\"%s\"", table->columns[i].name,
                   table->columns[i].name);
  return hl_text_take(&sql);
}

hl_status hl__store_upsert(hl_store *store, const hl_store_table *table, const char *const *keys,
                           size_t key_count, const char *conflict, sqlite3_stmt **ret_statement,
                           hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *sql = upsert_sql(table, keys, key_count, conflict);
  if (!sql) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  return hl_sql_prepare(store, sql, ret_statement, error);
}

hl_status hl_store_run_begin(hl_store *store, const hl_run_info *info, const char *plan_hash,
                             hl_error *error) {
  static const char *const keys[] = {"id", "plan_hash", "state", "writer_pid", "writer_start"};
  if (!info->id) return hl_error_set(error, HL_INVALID_ARGUMENT, "a run needs an id");
  char start[32];
  process_start(getpid(), start);
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl__store_upsert(store, &hl_store_runs_table, keys, HL_COUNT(keys), "id", &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, info->id);
  hl_sql_bind_text(statement, 2, plan_hash);
  hl_sql_bind_text(statement, 3, hl_run_state_name(HL_RUN_RUNNING));
  sqlite3_bind_int64(statement, 4, getpid());
  hl_sql_bind_text(statement, 5, start);
  hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), &hl_store_runs_table, info);
  return hl_sql_finish(store, statement, error);
}

/* A run that was stopped before its first row says nothing, and must not be "latest". */
static hl_status remove_if_empty(hl_store *store, const char *run_id, hl_error *error) {
  return hl_sql_run_for(store,
                        "DELETE FROM runs WHERE id = ? AND NOT EXISTS "
                        "(SELECT 1 FROM rows WHERE run_id = runs.id)",
                        run_id, error);
}

hl_status hl_store_run_end(hl_store *store, const hl_run_info *info, hl_run_state state,
                           hl_error *error) {
  static const char *const keys[] = {"id", "state", "ended"};
  char now[32];
  hl_clock_utc(now, sizeof now);
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl__store_upsert(store, &hl_store_runs_table, keys, HL_COUNT(keys), "id", &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, info->id);
  hl_sql_bind_text(statement, 2, hl_run_state_name(state));
  hl_sql_bind_text(statement, 3, now);
  hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), &hl_store_runs_table, info);
  status = hl_sql_finish(store, statement, error);
  if (status == HL_OK && state == HL_RUN_INTERRUPTED)
    status = remove_if_empty(store, info->id, error);
  return status;
}

static hl_status delete_row(hl_store *store, const char *run_id, const char *configuration,
                            hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "DELETE FROM rows WHERE run_id = ? AND configuration = ?", &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  hl_sql_bind_text(statement, 2, configuration);
  return status == HL_OK ? hl_sql_finish(store, statement, error) : status;
}

static hl_status insert_samples(hl_store *store, int64_t row_id, const hl_record *record,
                                hl_error *error) {
  if (!record->samples_ns || !record->sample_count) return HL_OK;
  hl_samples_blob blob = {0};
  hl_status status = hl_samples_encode(record->samples_ns, record->sample_count, &blob, error);
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  if (status == HL_OK)
    status = hl_sql_prepare(store,
                            "INSERT INTO samples (row_id, count, codec, data) VALUES (?, ?, ?, ?)",
                            &statement, error);
  if (status == HL_OK) {
    sqlite3_bind_int64(statement, 1, row_id);
    sqlite3_bind_int64(statement, 2, (int64_t)record->sample_count);
    hl_sql_bind_text(statement, 3, blob.codec);
    sqlite3_bind_blob64(statement, 4, blob.data, blob.bytes, SQLITE_STATIC);
    status = hl_sql_finish(store, statement, error);
  }
  free(blob.data);
  return status;
}

static hl_status insert_row(hl_store *store, const char *run_id, const char *configuration,
                            int64_t position, const hl_record *record, hl_error *error) {
  static const char *const keys[] = {"run_id", "configuration", "position"};
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl__store_upsert(store, &hl_store_rows_table, keys, HL_COUNT(keys),
                                      "run_id, configuration", &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, run_id);
  hl_sql_bind_text(statement, 2, configuration);
  sqlite3_bind_int64(statement, 3, position);
  hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), &hl_store_rows_table, record);
  return hl_sql_finish(store, statement, error);
}

hl_status hl_store_batch_begin(hl_store *store, hl_error *error) {
  hl_status status = hl_sql_run(store, "BEGIN IMMEDIATE", error);
  store->batch = status == HL_OK;
  return status;
}

hl_status hl_store_batch_end(hl_store *store, hl_status status, hl_error *error) {
  store->batch = false;
  return hl_sql_end(store, status, error);
}

hl_status hl_store_row_add(hl_store *store, const char *run_id, const char *configuration,
                           int64_t position, const hl_record *record, hl_error *error) {
  hl_status status = store->batch ? HL_OK : hl_sql_run(store, "BEGIN IMMEDIATE", error);
  if (status != HL_OK) return status;
  /* The earlier row goes with its samples, so that rows stay in the order of measuring. */
  status = delete_row(store, run_id, configuration, error);
  if (status == HL_OK) status = insert_row(store, run_id, configuration, position, record, error);
  int64_t row_id = sqlite3_last_insert_rowid(store->db);
  if (status == HL_OK) status = insert_samples(store, row_id, record, error);
  if (status == HL_OK) status = hl__store_lists_add(store, row_id, record, error);
  return store->batch ? status : hl_sql_end(store, status, error);
}

hl_status hl_store_row_set_boundary(hl_store *store, const char *run_id, const char *configuration,
                                    int64_t boundary, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "UPDATE rows SET max_batch_size = ? WHERE run_id = ? AND configuration = ?",
      &statement, error);
  if (status != HL_OK) return status;
  if (boundary != HL_INT_NULL) sqlite3_bind_int64(statement, 1, boundary);
  hl_sql_bind_text(statement, 2, run_id);
  hl_sql_bind_text(statement, 3, configuration);
  return hl_sql_finish(store, statement, error);
}

/* Whether the process that wrote the run in this row (columns: pid, start) is still there. */
bool hl__store_writer_lives(sqlite3_stmt *statement) {
  const char *start = (const char *)sqlite3_column_text(statement, 2);
  int64_t pid = sqlite3_column_int64(statement, 1);
  char now[32];
  if (pid <= 0 || pid == getpid() || !start || !start[0]) return false;
  process_start(pid, now);
  return strcmp(now, start) == 0;
}

hl_status hl_store_run_resumable(hl_store *store, const char *plan_hash, const char *machine_id,
                                 char **ret_id, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store,
                                    "SELECT id, writer_pid, writer_start, state FROM runs WHERE "
                                    "plan_hash = ? AND machine_id IS ? AND state <> 'finished' "
                                    "ORDER BY created DESC, rowid DESC",
                                    &statement, error);
  hl_sql_bind_text(statement, 1, plan_hash);
  hl_sql_bind_text(statement, 2, machine_id);
  char *id = NULL;
  bool row = false;
  while (status == HL_OK && !id && (status = hl_sql_step(store, statement, &row, error)) == HL_OK &&
         row) {
    const char *state = (const char *)sqlite3_column_text(statement, 3);
    bool running = state && strcmp(state, hl_run_state_name(HL_RUN_RUNNING)) == 0;
    if (!running || !hl__store_writer_lives(statement)) id = hl_sql_text(statement, 0);
  }
  if (status == HL_OK) *ret_id = id;
  return status;
}

hl_status hl_store_run_finished(hl_store *store, const char *plan_hash, char **ret_id,
                                hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store,
                                    "SELECT id FROM runs WHERE plan_hash = ? AND state = "
                                    "'finished' ORDER BY created DESC, rowid DESC LIMIT 1",
                                    &statement, error);
  hl_sql_bind_text(statement, 1, plan_hash);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status == HL_OK) *ret_id = row ? hl_sql_text(statement, 0) : NULL;
  return status;
}

hl_status hl_store_run_exists(hl_store *store, const char *run_id, bool *ret_exists,
                              hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, "SELECT 1 FROM runs WHERE id = ?", &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status == HL_OK) *ret_exists = row;
  return status;
}

hl_status hl_store_row_exists(hl_store *store, const char *run_id, const char *configuration,
                              bool *ret_exists, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "SELECT 1 FROM rows WHERE run_id = ? AND configuration = ?", &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  hl_sql_bind_text(statement, 2, configuration);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status == HL_OK) *ret_exists = row;
  return status;
}
