/*
 * store/sql.h - short forms of SQLite's calls, with hotlap's errors (inside src/store only).
 *
 *     HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
 *     hl_status status = hl_sql_prepare(store, "SELECT ... WHERE id = ?", &statement, error);
 *     hl_sql_bind_text(statement, 1, id);
 *     bool row;
 *     while ((status = hl_sql_step(store, statement, &row, error)) == HL_OK && row) ...
 */
#ifndef HL_STORE_SQL_H
#define HL_STORE_SQL_H

#include "base/text.h"
#include "store/schema.h"
#include "store/store.h"
#include <sqlite3.h>

struct hl_store {
  sqlite3 *db;
  char *path;
  bool batch;           /* a transaction of several writes is open */
  bool watched;         /* HL_STORE_WATCH */
  bool fixed;           /* read as a file that nobody changes */
  bool indexed;         /* it has the indices of indices.c */
  uint64_t deadline_ns; /* of hl_store_time_limit; 0: none */
};

/* "HLAP" in the file's header, so that another program's database is not taken for a store. */
enum { HL_STORE_APPLICATION_ID = 0x484c4150 };

/*
 * Whether the file may be opened at all, by its first bytes and without SQLite, which makes files
 * beside it: BAD_DATA for a newer hotlap's, another program's or no database and for an empty file
 * that is to be read, INVALID_ARGUMENT for no regular file, NOT_FOUND where a reader finds none.
 */
hl_status hl__store_check_file(const char *path, hl_store_mode mode, hl_error *error);
/* BAD_DATA: of another program where `foreign`, else of a newer hotlap. */
hl_status hl__store_refuse_identity(const char *path, bool foreign, int64_t version,
                                    hl_error *error);
/* Reads every page; BAD_DATA where one is damaged, which is then not written to. */
hl_status hl__store_check_pages(hl_store *store, hl_error *error);

/* The status of the last failed call on this store, with a message that says what to do. */
hl_status hl_sql_error(hl_store *store, hl_error *error);
hl_status hl_sql_prepare(hl_store *store, const char *sql, sqlite3_stmt **ret_statement,
                         hl_error *error);
hl_status hl_sql_run(hl_store *store, const char *sql, hl_error *error);
/* One step; `*ret_row` says whether there is a row to read. */
hl_status hl_sql_step(hl_store *store, sqlite3_stmt *statement, bool *ret_row, hl_error *error);
/* Steps a statement that gives no rows. */
hl_status hl_sql_finish(hl_store *store, sqlite3_stmt *statement, hl_error *error);
/* The whole of a statement that gives no rows and has one parameter, a text. */
hl_status hl_sql_run_for(hl_store *store, const char *sql, const char *text, hl_error *error);
/* The whole of a statement that gives one integer. */
hl_status hl_sql_int(hl_store *store, const char *sql, int64_t *ret_value, hl_error *error);
void hl_sql_finalize(sqlite3_stmt **statement);

/* Ends a transaction: COMMIT if `status` is HL_OK, else ROLLBACK; the status of the whole. */
hl_status hl_sql_end(hl_store *store, hl_status status, hl_error *error);

void hl_sql_bind_text(sqlite3_stmt *statement, int index, const char *text); /* NULL binds null */
/* A copy of a text column, NULL for null; free() it. */
char *hl_sql_text(sqlite3_stmt *statement, int column);

/* Binds all fields of a table's object from parameter `first` on. */
void hl_sql_bind_fields(sqlite3_stmt *statement, int first, const hl_store_table *table,
                        const void *object);
/* Reads the columns that have a field's name into the object; others stay as they are. */
void hl_sql_read_fields(sqlite3_stmt *statement, const hl_store_table *table, void *object);

/* Prepares to insert the fields of `table` after the columns `keys`, or to replace the row with the
 * same `conflict` columns. */
hl_status hl__store_upsert(hl_store *store, const hl_store_table *table, const char *const *keys,
                           size_t key_count, const char *conflict, sqlite3_stmt **ret_statement,
                           hl_error *error);

/* Whether the process that a statement names (columns 1 and 2: writer_pid, writer_start) lives. */
bool hl__store_writer_lives(sqlite3_stmt *statement);

/* Counts the indices that lists of runs and histories need and that are not there; makes them where
 * `add`. They are made after the columns that they stand on, which no schema file has. */
hl_status hl__store_indices(hl_store *store, bool add, size_t *ret_missing, hl_error *error);

/* A condition "COLUMN has ?1 in it" for the model of rows, ?1 not being null; a constant text.
 * `few`: by way of the models that there are, and of the index that leads from them to their rows;
 * else row by row, which is faster where most rows have it and few are asked for. */
const char *hl__store_model_condition(bool few);
/* Whether the index is the way to rows with this text in their model. */
hl_status hl__store_model_is_rare(hl_store *store, const char *model, bool *ret_rare,
                                  hl_error *error);

/* Parts of what store.h reads, for a damaged store. Appends the run of this row id, or all runs
 * where it is 0; appends one row. */
hl_status hl__store_runs_append(hl_store *store, const hl_store_filter *filter, int64_t run,
                                hl_store_runs *runs, hl_error *error);
hl_status hl__store_row_load(hl_store *store, int64_t row_id, hl_records *records, hl_error *error);
hl_status hl__store_info_load(hl_store *store, const char *run_id, hl_run_info *info,
                              hl_error *error);

/* What a row has lists of: rates of a load test, epochs and losses of a training run. Written with
 * it; added to the record when it is read. */
hl_status hl__store_lists_add(hl_store *store, int64_t row_id, const hl_record *record,
                              hl_error *error);
hl_status hl__store_lists_load(hl_store *store, int64_t row_id, hl_record *record, hl_error *error);

/* Small pictures of what the row reconstructed, unless an earlier row of the run has the same; and
 * the one at which a statement of kind, height, width, low, high, data stands. */
hl_status hl__store_thumbnails_add(hl_store *store, int64_t row_id, const hl_record *record,
                                   hl_error *error);
hl_status hl__store_thumbnail_take(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                                   hl_error *error);

#endif
