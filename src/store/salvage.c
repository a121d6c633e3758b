#include "store/sql.h"

#include <stdlib.h>
#include <string.h>

hl_status hl__store_check_pages(hl_store *store, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, "PRAGMA quick_check(1)", &statement, error);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status != HL_OK) return status;
  const char *said = row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  if (said && strcmp(said, "ok") == 0) return HL_OK;
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: the store is damaged (%.200s). Move it away, or name another with "
                      "--store; `sqlite3 FILE .recover` may save its rows",
                      store->path, said ? said : "no answer of its check");
}

/* Row ids, each once, in the order in which they were found. */
typedef struct ids {
  int64_t *items;
  size_t count, capacity;
} ids;

static hl_status take_id(ids *list, int64_t id, hl_error *error) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    int64_t *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a damaged store");
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = id;
  return HL_OK;
}

/* The ids that a statement gives before it ends or meets damage. */
static hl_status scan(hl_store *store, const char *sql, const char *run_id, ids *list,
                      hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, sql, &statement, error);
  if (status == HL_OK && run_id) hl_sql_bind_text(statement, 1, run_id);
  bool row = false;
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row)
    status = take_id(list, sqlite3_column_int64(statement, 0), error);
  return status == HL_BAD_DATA ? HL_OK : status;
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void drop_doubles(ids *list) {
  if (list->count) qsort(list->items, list->count, sizeof *list->items, by_value);
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++)
    if (i == 0 || list->items[i] != list->items[i - 1]) list->items[kept++] = list->items[i];
  list->count = kept;
}

/* From both ends of the table and from its index: damage in one may leave the others. */
static hl_status find_ids(hl_store *store, const char *const *statements, size_t count,
                          const char *run_id, ids *list, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = scan(store, statements[i], run_id, list, error);
  drop_doubles(list);
  return status;
}

hl_status hl_store_runs_salvage(hl_store *store, const hl_store_filter *filter,
                                hl_store_runs *ret_runs, size_t *ret_lost, hl_error *error) {
  static const char *const statements[] = {
      "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid",
      "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid DESC",
      "SELECT rowid FROM runs INDEXED BY runs_by_plan ORDER BY plan_hash"};
  ids found = {0};
  hl_store_runs runs = {0};
  size_t lost = 0;
  hl_status status = find_ids(store, statements, HL_COUNT(statements), NULL, &found, error);
  size_t limit = filter && filter->limit > 0 ? (size_t)filter->limit : SIZE_MAX;
  for (size_t i = found.count; i > 0 && status == HL_OK && runs.count < limit; i--) {
    status = hl__store_runs_append(store, filter, found.items[i - 1], &runs, error);
    if (status != HL_BAD_DATA) continue;
    lost++;
    status = HL_OK;
  }
  free(found.items);
  if (status != HL_OK) {
    hl_store_runs_release(&runs);
    return status;
  }
  *ret_runs = runs;
  *ret_lost = lost;
  return HL_OK;
}

hl_status hl_store_run_salvage(hl_store *store, const char *run_id, hl_run_info *ret_info,
                               hl_records *ret_records, size_t *ret_lost, hl_error *error) {
  static const char *const statements[] = {
      "SELECT row_id FROM rows NOT INDEXED WHERE run_id = ?1 ORDER BY row_id",
      "SELECT row_id FROM rows NOT INDEXED WHERE run_id = ?1 ORDER BY row_id DESC",
      "SELECT row_id FROM rows WHERE run_id = ?1 ORDER BY configuration"};
  ids found = {0};
  hl_run_info info;
  hl_records records = {0};
  size_t lost = 0;
  hl_run_info_init(&info);
  hl_status status = hl__store_info_load(store, run_id, &info, error);
  if (status == HL_BAD_DATA) status = HL_OK; /* rows without what is known of their machine */
  if (status == HL_OK)
    status = find_ids(store, statements, HL_COUNT(statements), run_id, &found, error);
  for (size_t i = 0; i < found.count && status == HL_OK; i++) {
    status = hl__store_row_load(store, found.items[i], &records, error);
    if (status != HL_BAD_DATA) continue;
    lost++;
    status = HL_OK;
  }
  free(found.items);
  if (status != HL_OK) {
    hl_run_info_release(&info);
    hl_records_release(&records);
    return status;
  }
  *ret_info = info;
  *ret_records = records;
  *ret_lost = lost;
  return HL_OK;
}
