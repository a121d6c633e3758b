#include "store/sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hl_status hl_sql_error(hl_store *store, hl_error *error) {
  const char *said = sqlite3_errmsg(store->db);
  const char *path = store->path;
  switch (sqlite3_errcode(store->db) & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s: another process holds the store for too long. Wait until it is done, "
                        "or name another with --store",
                        path);
  case SQLITE_INTERRUPT:
    return hl_error_set(error, HL_TIMED_OUT, "%s: reading the store took too long", path);
  case SQLITE_FULL:
    return hl_error_set(error, HL_IO,
                        "%s: the disk is full. Free some space, or name a store elsewhere with "
                        "--store",
                        path);
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return hl_error_set(error, HL_IO,
                        "%s: cannot write the store (%s). Check the permissions of the file and "
                        "its directory, or name another with --store",
                        path, said);
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_ERROR: /* our statements are right, so what lacks a table or column is damaged */
    /* What is left may be worth saving: it stays as it is. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: the store is damaged, or is no SQLite file (%s). Move it away, or "
                        "name another with --store; `sqlite3 FILE .recover` may save its rows",
                        path, said);
  case SQLITE_NOMEM:
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", path);
  case SQLITE_IOERR:
    return hl_error_set(error, HL_IO, "%s: input or output failed (%s). Is the disk full or gone?",
                        path, said);
  default:
    return hl_error_set(error, HL_INTERNAL, "%s: %s", path, said);
  }
}

hl_status hl_sql_prepare(hl_store *store, const char *sql, sqlite3_stmt **ret_statement,
                         hl_error *error) {
  if (sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL) != SQLITE_OK)
    return hl_sql_error(store, error);
  return HL_OK;
}

hl_status hl_sql_run(hl_store *store, const char *sql, hl_error *error) {
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HL_OK
                                                                     : hl_sql_error(store, error);
}

hl_status hl_sql_step(hl_store *store, sqlite3_stmt *statement, bool *ret_row, hl_error *error) {
  int code = sqlite3_step(statement);
  *ret_row = code == SQLITE_ROW;
  return code == SQLITE_ROW || code == SQLITE_DONE ? HL_OK : hl_sql_error(store, error);
}

hl_status hl_sql_finish(hl_store *store, sqlite3_stmt *statement, hl_error *error) {
  bool row = false;
  return hl_sql_step(store, statement, &row, error);
}

hl_status hl_sql_run_for(hl_store *store, const char *sql, const char *text, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, sql, &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, text);
  return hl_sql_finish(store, statement, error);
}

hl_status hl_sql_int(hl_store *store, const char *sql, int64_t *ret_value, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, sql, &statement, error);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status == HL_OK) *ret_value = row ? sqlite3_column_int64(statement, 0) : 0;
  return status;
}

void hl_sql_finalize(sqlite3_stmt **statement) {
  sqlite3_finalize(*statement);
}

hl_status hl_sql_end(hl_store *store, hl_status status, hl_error *error) {
  if (status == HL_OK) status = hl_sql_run(store, "COMMIT", error);
  /* A failed commit leaves the transaction open; ROLLBACK without one is an error we ignore. */
  if (status != HL_OK) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

void hl_sql_bind_text(sqlite3_stmt *statement, int index, const char *text) {
  if (text)
    sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
  else
    sqlite3_bind_null(statement, index);
}

char *hl_sql_text(sqlite3_stmt *statement, int column) {
  return hl_strdup((const char *)sqlite3_column_text(statement, column));
}

static void bind_field(sqlite3_stmt *statement, int index, hl_metric_kind kind, const void *field) {
  sqlite3_bind_null(statement, index);
  switch (kind) {
  case HL_METRIC_TEXT:
    hl_sql_bind_text(statement, index, *(char *const *)field);
    break;
  case HL_METRIC_INT:
    if (*(const int64_t *)field != HL_INT_NULL)
      sqlite3_bind_int64(statement, index, *(const int64_t *)field);
    break;
  case HL_METRIC_BOOL:
    if (*(const int8_t *)field >= 0) sqlite3_bind_int(statement, index, *(const int8_t *)field);
    break;
  case HL_METRIC_REAL:
  case HL_METRIC_PAIR:
    if (isfinite(*(const double *)field))
      sqlite3_bind_double(statement, index, *(const double *)field);
    break;
  }
}

void hl_sql_bind_fields(sqlite3_stmt *statement, int first, const hl_store_table *table,
                        const void *object) {
  for (size_t i = 0; i < table->count; i++)
    bind_field(statement, first + (int)i, table->columns[i].kind,
               (const char *)object + table->columns[i].offset);
}

static void read_field(sqlite3_stmt *statement, int column, hl_metric_kind kind, void *field) {
  int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) return;
  switch (kind) {
  case HL_METRIC_TEXT:
    free(*(char **)field);
    *(char **)field = hl_sql_text(statement, column);
    break;
  case HL_METRIC_INT:
    if (type == SQLITE_INTEGER) *(int64_t *)field = sqlite3_column_int64(statement, column);
    break;
  case HL_METRIC_BOOL:
    if (type == SQLITE_INTEGER) *(int8_t *)field = sqlite3_column_int(statement, column) != 0;
    break;
  case HL_METRIC_REAL:
  case HL_METRIC_PAIR:
    if (type == SQLITE_FLOAT || type == SQLITE_INTEGER)
      *(double *)field = sqlite3_column_double(statement, column);
    break;
  }
}

void hl_sql_read_fields(sqlite3_stmt *statement, const hl_store_table *table, void *object) {
  int columns = sqlite3_column_count(statement);
  size_t next = 0; /* columns mostly come in the table's order: where the last one was found */
  for (int c = 0; c < columns; c++) {
    const char *name = sqlite3_column_name(statement, c);
    for (size_t k = 0; name && k < table->count; k++) {
      size_t i = (next + k) % table->count;
      if (strcmp(table->columns[i].name, name) != 0) continue;
      read_field(statement, c, table->columns[i].kind, (char *)object + table->columns[i].offset);
      next = i + 1;
      break;
    }
  }
}
