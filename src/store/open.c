#include "base/file.h"
#include "store/sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, BUSY_WATCH_MS = 1000 };

static hl_status check_identity(hl_store *store, int64_t *ret_version, hl_error *error) {
  int64_t id = 0, version = 0, tables = 0;
  hl_status status = hl_sql_int(store, "PRAGMA application_id", &id, error);
  if (status == HL_OK) status = hl_sql_int(store, "PRAGMA user_version", &version, error);
  if (status == HL_OK)
    status = hl_sql_int(store, "SELECT count(*) FROM sqlite_master", &tables, error);
  if (status != HL_OK) return status;
  bool foreign = id != HL_STORE_APPLICATION_ID && (version != 0 || tables != 0);
  if (foreign || version < 0 || version > hl_store_schema_count)
    return hl__store_refuse_identity(store->path, foreign, version, error);
  *ret_version = version;
  return HL_OK;
}

static hl_status count_missing(hl_store *store, const hl_store_table *table, bool add,
                               size_t *ret_missing, hl_error *error) {
  static const char *const types[] = {[HL_METRIC_TEXT] = "TEXT",
                                      [HL_METRIC_INT] = "INTEGER",
                                      [HL_METRIC_REAL] = "REAL",
                                      [HL_METRIC_BOOL] = "INTEGER",
                                      [HL_METRIC_PAIR] = "REAL"};
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", &statement, error);
  hl_sql_bind_text(statement, 1, table->name);
  for (size_t i = 0; status == HL_OK && i < table->count; i++) {
    bool row = false;
    sqlite3_reset(statement);
    hl_sql_bind_text(statement, 2, table->columns[i].name);
    status = hl_sql_step(store, statement, &row, error);
    if (status != HL_OK || sqlite3_column_int(statement, 0) != 0) continue;
    sqlite3_reset(statement);
    ++*ret_missing;
    if (!add) continue;
    /* Names come from our own table of metrics, never from input. */
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("ALTER TABLE %s ADD COLUMN \"%s\" %s", table->name,
                          table->columns[i].name, types[table->columns[i].kind]);
    status =
        sql ? hl_sql_run(store, sql, error) : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  }
  return status;
}

static hl_status columns_missing(hl_store *store, bool add, size_t *ret_missing, hl_error *error) {
  hl_status status = count_missing(store, &hl_store_runs_table, add, ret_missing, error);
  if (status == HL_OK) status = count_missing(store, &hl_store_rows_table, add, ret_missing, error);
  if (status == HL_OK)
    status = count_missing(store, &hl_store_comparisons_table, add, ret_missing, error);
  if (status == HL_OK)
    status = count_missing(store, &hl_store_rates_table, add, ret_missing, error);
  if (status == HL_OK)
    status = count_missing(store, &hl_store_epochs_table, add, ret_missing, error);
  if (status == HL_OK)
    status = count_missing(store, &hl_store_customs_table, add, ret_missing, error);
  if (status == HL_OK) status = hl__store_indices(store, add, ret_missing, error);
  return status;
}

static hl_status migrate(hl_store *store, hl_error *error) {
  hl_status status = hl_sql_run(store, "BEGIN IMMEDIATE", error);
  if (status != HL_OK) return status;
  /* Read again under the lock: another process may have been first. */
  int64_t version = 0;
  status = check_identity(store, &version, error);
  if (status == HL_OK && version > 0) status = hl__store_check_pages(store, error);
  for (int64_t v = version; status == HL_OK && v < hl_store_schema_count; v++)
    status = hl_sql_run(store, hl_store_schemas[v], error);
  size_t missing = 0;
  if (status == HL_OK) status = columns_missing(store, true, &missing, error);
  if (status == HL_OK) {
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("PRAGMA application_id = %d; PRAGMA user_version = %d",
                          HL_STORE_APPLICATION_ID, hl_store_schema_count);
    status =
        sql ? hl_sql_run(store, sql, error) : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  }
  return hl_sql_end(store, status, error);
}

/* The change to WAL takes the file alone and does not wait by itself as other statements do. */
static hl_status enter_wal(hl_store *store, hl_error *error) {
  hl_status status = HL_OK;
  for (int waited_ms = 0; waited_ms <= BUSY_MS; waited_ms += 20) {
    status = hl_sql_run(store, "PRAGMA journal_mode = WAL", error);
    if (status != HL_UNAVAILABLE) break;
    usleep(20000);
  }
  return status;
}

static hl_status prepare_store(hl_store *store, hl_store_mode mode, hl_error *error) {
  sqlite3_busy_timeout(store->db, mode == HL_STORE_WATCH ? BUSY_WATCH_MS : BUSY_MS);
  sqlite3_extended_result_codes(store->db, 1);
  /* A damaged or hostile file gets no chance to run what it says. */
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  /* A store that is refused keeps its bytes, also where another process left a write-ahead log. */
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  int64_t version = 0;
  hl_status status = hl_sql_run(store, "PRAGMA cell_size_check = ON", error);
  if (status == HL_OK) status = check_identity(store, &version, error);
  size_t missing = 0;
  /* To a reader an absent column is null; only a writer adds it. */
  if (status == HL_OK && version == hl_store_schema_count && mode == HL_STORE_WRITE)
    status = columns_missing(store, false, &missing, error);
  bool current = version == hl_store_schema_count && missing == 0;
  if (status == HL_OK && mode == HL_STORE_WATCH && version < hl_store_schema_count)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s: a store of an older hotlap. `hotlap history --store FILE` of this one "
                        "converts it",
                        store->path);
  size_t unindexed = 0;
  if (status == HL_OK && version == hl_store_schema_count)
    status = hl__store_indices(store, false, &unindexed, error);
  store->indexed = version == hl_store_schema_count && unindexed == 0;
  if (sqlite3_db_readonly(store->db, "main") == 1) {
    if (status == HL_OK && version < hl_store_schema_count)
      return hl_error_set(error, HL_IO,
                          "%s: a store of an older hotlap that has to be converted, but it is "
                          "read-only. Copy it to a place that can be written, and name it with "
                          "--store",
                          store->path);
    return status;
  }
  if (status == HL_OK && mode == HL_STORE_WRITE && version > 0)
    status = hl__store_check_pages(store, error);
  if (status == HL_OK && (mode == HL_STORE_WRITE || !current)) status = enter_wal(store, error);
  if (status == HL_OK) status = hl_sql_run(store, "PRAGMA foreign_keys = ON", error);
  if (status == HL_OK && !current) status = migrate(store, error);
  store->indexed = store->indexed || (status == HL_OK && !current);
  if (status == HL_OK) sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
  return status;
}

static hl_status make_parent(const char *path, hl_error *error) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return HL_OK;
  HL_CLEANUP(hl_free_pointer) char *parent = hl_strdup(path);
  if (!parent) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  parent[slash - path] = '\0';
  return hl_directory_make(parent, error);
}

/* SQLite takes an empty name, ':memory:' and 'file:...' for something else than a file of that
 * name, where rows would be lost; a device or pipe it reports as a failing disk. */
static hl_status check_name(const char *path, hl_error *error) {
  if (path[0]) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "the name of the store is empty. Name a file with --store");
}

static int open_database(hl_store *store, int flags) {
  const char *here = store->path[0] == '/' ? "" : "./";
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s%s", here, store->path);
  return name ? sqlite3_open_v2(name, &store->db, flags, NULL) : SQLITE_NOMEM;
}

/*
 * A store in WAL mode is read with the help of a file beside it. Where none can be made (a
 * read-only directory or medium) it is read as one that nobody changes, unless a log there says
 * that somebody does.
 */
static hl_status open_immutable(hl_store *store, hl_store_mode mode, hl_error *error) {
  struct stat st;
  HL_CLEANUP(hl_free_pointer) char *log = hl_format("%s-wal", store->path);
  if (!log || (stat(log, &st) == 0 && st.st_size > 0))
    return hl_error_set(error, HL_IO,
                        "%s: cannot write beside the store, and its write-ahead log holds rows. "
                        "Copy both to a place that can be written, and name it with --store",
                        store->path);
  hl_text name = HL_TEXT_INIT;
  hl_text_append(&name, store->path[0] == '/' ? "file:" : "file:./");
  for (const char *c = store->path; *c; c++)
    if (strchr("%?#", *c))
      hl_text_format(&name, "%%%02x", (unsigned)(unsigned char)*c);
    else
      hl_text_char(&name, *c);
  hl_text_append(&name, "?immutable=1");
  sqlite3_close(store->db);
  store->db = NULL;
  store->fixed = true;
  int code = name.failed ? SQLITE_NOMEM
                         : sqlite3_open_v2(name.data, &store->db,
                                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
  hl_text_release(&name);
  return code == SQLITE_OK ? prepare_store(store, mode, error) : hl_sql_error(store, error);
}

hl_status hl_store_open(const char *path, hl_store_mode mode, hl_store **ret_store,
                        hl_error *error) {
  hl_status status = check_name(path, error);
  if (status != HL_OK) return status;
  if (mode == HL_STORE_WRITE) status = make_parent(path, error);
  if (status == HL_OK) status = hl__store_check_file(path, mode, error);
  if (status != HL_OK) return status;
  hl_store *store = calloc(1, sizeof *store);
  if (store) store->path = hl_strdup(path);
  if (store) store->watched = mode == HL_STORE_WATCH;
  if (!store || !store->path) {
    hl_store_free(store);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a store");
  }
  /* A reader, too, opens for writing where it may: WAL needs it, and so do older schemas. */
  int flags = mode == HL_STORE_WATCH
                  ? SQLITE_OPEN_READONLY
                  : SQLITE_OPEN_READWRITE | (mode == HL_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
  if (open_database(store, flags) != SQLITE_OK)
    status = hl_sql_error(store, error);
  else
    status = prepare_store(store, mode, error);
  if (status == HL_IO && mode != HL_STORE_WRITE && sqlite3_db_readonly(store->db, "main") == 1)
    status = open_immutable(store, mode, error);
  if (status == HL_OK && mode == HL_STORE_WRITE && sqlite3_db_readonly(store->db, "main") == 1)
    status = hl_error_set(error, HL_IO,
                          "%s: the store is read-only. Change its permissions, or name another "
                          "with --store",
                          path);
  if (status != HL_OK) {
    hl_store_free(store);
    return status;
  }
  *ret_store = store;
  return HL_OK;
}

void hl_store_free(hl_store *store) {
  if (!store) return;
  sqlite3_close(store->db);
  free(store->path);
  free(store);
}
