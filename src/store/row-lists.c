#include "record/memory-map-json.h"
#include "store/sql.h"

#include <stdlib.h>
#include <string.h>

/* Adds `count` objects of `stride` bytes to a table of (row_id, number, fields). */
static hl_status add_list(hl_store *store, int64_t row_id, const hl_store_table *table,
                          const void *items, size_t stride, size_t count, hl_error *error) {
  static const char *const keys[] = {"row_id", "number"};
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
    status =
        hl__store_upsert(store, table, keys, HL_COUNT(keys), "row_id, number", &statement, error);
    if (status != HL_OK) break;
    sqlite3_bind_int64(statement, 1, row_id);
    sqlite3_bind_int64(statement, 2, (int64_t)i);
    hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), table, (const char *)items + i * stride);
    status = hl_sql_finish(store, statement, error);
  }
  return status;
}

static hl_status add_losses(hl_store *store, int64_t row_id, const hl_record *record,
                            hl_error *error) {
  if (!record->step_loss_count) return HL_OK;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "INSERT INTO step_losses (row_id, count, data) VALUES (?, ?, ?)", &statement, error);
  if (status != HL_OK) return status;
  sqlite3_bind_int64(statement, 1, row_id);
  sqlite3_bind_int64(statement, 2, (int64_t)record->step_loss_count);
  sqlite3_bind_blob64(statement, 3, record->step_losses,
                      record->step_loss_count * sizeof *record->step_losses, SQLITE_STATIC);
  return hl_sql_finish(store, statement, error);
}

static hl_status add_map(hl_store *store, int64_t row_id, const hl_record *record,
                         hl_error *error) {
  if (!record->memory_map) return HL_OK;
  hl_text text = HL_TEXT_INIT;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_memory_map_json(record->memory_map, &text);
  size_t bytes = text.length;
  char *data = hl_text_take(&text);
  if (!data) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a map of memory");
  hl_status status = hl_sql_prepare(store, "INSERT INTO memory_maps (row_id, data) VALUES (?, ?)",
                                    &statement, error);
  if (status == HL_OK) {
    sqlite3_bind_int64(statement, 1, row_id);
    sqlite3_bind_text64(statement, 2, data, bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
    status = hl_sql_finish(store, statement, error);
  }
  free(data);
  return status;
}

hl_status hl__store_lists_add(hl_store *store, int64_t row_id, const hl_record *record,
                              hl_error *error) {
  hl_status status = add_list(store, row_id, &hl_store_rates_table, record->rates.items,
                              sizeof *record->rates.items, record->rates.count, error);
  if (status == HL_OK)
    status = add_list(store, row_id, &hl_store_epochs_table, record->epochs.items,
                      sizeof *record->epochs.items, record->epochs.count, error);
  if (status == HL_OK)
    status = add_list(store, row_id, &hl_store_customs_table, record->customs.items,
                      sizeof *record->customs.items, record->customs.count, error);
  if (status == HL_OK) status = add_losses(store, row_id, record, error);
  if (status == HL_OK) status = add_map(store, row_id, record, error);
  return status == HL_OK ? hl__store_thumbnails_add(store, row_id, record, error) : status;
}

/* -- reading --------------------------------------------------------------------------------- */

/* A store of an older hotlap that cannot be written lacks the newer tables, and what is in them. */
static hl_status has_table(hl_store *store, const char *name, bool *ret_has, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store, "SELECT 1 FROM sqlite_master WHERE name = ?", &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, name);
  return hl_sql_step(store, statement, ret_has, error);
}

static hl_status take_rate(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                           hl_error *error) {
  (void)store;
  hl_rate rate;
  hl_rate_init(&rate);
  hl_sql_read_fields(statement, &hl_store_rates_table, &rate);
  hl_status status = hl_rates_take(&record->rates, &rate, error);
  hl_rate_release(&rate);
  return status;
}

static hl_status take_epoch(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                            hl_error *error) {
  (void)store;
  hl_epoch epoch;
  hl_epoch_init(&epoch);
  hl_sql_read_fields(statement, &hl_store_epochs_table, &epoch);
  return hl_epochs_add(&record->epochs, &epoch, error);
}

static hl_status take_custom(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                             hl_error *error) {
  (void)store;
  hl_custom custom;
  hl_custom_init(&custom);
  hl_sql_read_fields(statement, &hl_store_customs_table, &custom);
  hl_status status = custom.name ? hl_customs_take(&record->customs, &custom, error) : HL_OK;
  hl_custom_release(&custom);
  return status;
}

static hl_status take_losses(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                             hl_error *error) {
  const void *data = sqlite3_column_blob(statement, 2);
  int64_t count = sqlite3_column_int64(statement, 1);
  size_t bytes = (size_t)sqlite3_column_bytes(statement, 2);
  if (!data || count < 1 || bytes % sizeof(float) || bytes / sizeof(float) != (uint64_t)count)
    return hl_error_set(error, HL_BAD_DATA, "%s: the losses of a row are damaged", store->path);
  float *losses = malloc(bytes);
  if (!losses) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for losses");
  memcpy(losses, data, bytes);
  free(record->step_losses);
  record->step_losses = losses;
  record->step_loss_count = (size_t)count;
  return HL_OK;
}

static hl_status take_map(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                          hl_error *error) {
  const void *data = sqlite3_column_text(statement, 1);
  size_t bytes = (size_t)sqlite3_column_bytes(statement, 1);
  hl_memory_map *map = NULL;
  hl_status status = hl_memory_map_parse(data ? data : "", bytes, &map, error);
  if (status == HL_BAD_DATA)
    return hl_error_set(error, HL_BAD_DATA, "%s: the map of a row's memory is damaged",
                        store->path);
  if (status != HL_OK) return status;
  hl_memory_map_free(record->memory_map);
  record->memory_map = map;
  return HL_OK;
}

typedef hl_status (*take_fn)(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                             hl_error *error);

/* What a list is read with; the order is that of the table's first column after row_id. */
static const struct {
  const char *table, *sql;
  take_fn take;
} lists[] = {
    {"load_rates", "SELECT * FROM load_rates WHERE row_id = ? ORDER BY number", take_rate},
    {"train_epochs", "SELECT * FROM train_epochs WHERE row_id = ? ORDER BY number", take_epoch},
    {"custom_metrics", "SELECT * FROM custom_metrics WHERE row_id = ? ORDER BY number",
     take_custom},
    {"step_losses", "SELECT row_id, count, data FROM step_losses WHERE row_id = ?", take_losses},
    {"memory_maps", "SELECT row_id, data FROM memory_maps WHERE row_id = ?", take_map},
    {"thumbnails",
     "SELECT kind, height, width, low, high, data FROM thumbnails WHERE row_id = ? ORDER BY number",
     hl__store_thumbnail_take},
};

static hl_status load_list(hl_store *store, int64_t row_id, size_t list, hl_record *record,
                           hl_error *error) {
  bool row = false;
  hl_status status = has_table(store, lists[list].table, &row, error);
  if (status != HL_OK || !row) return status;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  status = hl_sql_prepare(store, lists[list].sql, &statement, error);
  if (status == HL_OK) sqlite3_bind_int64(statement, 1, row_id);
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row)
    status = lists[list].take(store, statement, record, error);
  return status;
}

hl_status hl__store_lists_load(hl_store *store, int64_t row_id, hl_record *record,
                               hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(lists) && status == HL_OK; i++)
    status = load_list(store, row_id, i, record, error);
  return status;
}
