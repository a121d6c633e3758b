#include "store/sql.h"

hl_status hl__store_rates_add(hl_store *store, int64_t row_id, const hl_rates *rates,
                              hl_error *error) {
  static const char *const keys[] = {"row_id", "number"};
  hl_status status = HL_OK;
  for (size_t i = 0; i < rates->count && status == HL_OK; i++) {
    HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
    status = hl__store_upsert(store, &hl_store_rates_table, keys, HL_COUNT(keys), "row_id, number",
                              &statement, error);
    if (status != HL_OK) break;
    sqlite3_bind_int64(statement, 1, row_id);
    sqlite3_bind_int64(statement, 2, (int64_t)i);
    hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), &hl_store_rates_table, &rates->items[i]);
    status = hl_sql_finish(store, statement, error);
  }
  return status;
}

/* A store of an older hotlap that cannot be written has no such table, and no rates. */
static hl_status has_table(hl_store *store, bool *ret_has, hl_error *error) {
  int64_t count = 0;
  hl_status status = hl_sql_int(
      store, "SELECT count(*) FROM sqlite_master WHERE name = 'load_rates'", &count, error);
  *ret_has = count > 0;
  return status;
}

hl_status hl__store_rates_load(hl_store *store, int64_t row_id, hl_rates *rates, hl_error *error) {
  bool row = false;
  hl_status status = has_table(store, &row, error);
  if (status != HL_OK || !row) return status;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  status = hl_sql_prepare(store, "SELECT * FROM load_rates WHERE row_id = ? ORDER BY number",
                          &statement, error);
  if (status == HL_OK) sqlite3_bind_int64(statement, 1, row_id);
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row) {
    hl_rate rate;
    hl_rate_init(&rate);
    hl_sql_read_fields(statement, &hl_store_rates_table, &rate);
    status = hl_rates_take(rates, &rate, error);
    hl_rate_release(&rate);
  }
  return status;
}
