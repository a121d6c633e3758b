#include "store/sql.h"

hl_status hl_store_comparison_add(hl_store *store, const char *run_id, const char *a, const char *b,
                                  const hl_comparison *comparison, hl_error *error) {
  static const char *const keys[] = {"run_id", "a", "b"};
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl__store_upsert(store, &hl_store_comparisons_table, keys, HL_COUNT(keys),
                                      "run_id, a, b", &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, run_id);
  hl_sql_bind_text(statement, 2, a);
  hl_sql_bind_text(statement, 3, b);
  hl_sql_bind_fields(statement, 1 + (int)HL_COUNT(keys), &hl_store_comparisons_table, comparison);
  return hl_sql_finish(store, statement, error);
}

hl_status hl_store_comparisons_load(hl_store *store, const char *run_id,
                                    hl_comparisons *comparisons, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store, "SELECT * FROM comparisons WHERE run_id = ? ORDER BY comparison_id",
                     &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  bool row = false;
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row) {
    hl_comparison comparison;
    hl_comparison_init(&comparison);
    hl_sql_read_fields(statement, &hl_store_comparisons_table, &comparison);
    status = hl_comparisons_take(comparisons, &comparison, error);
    hl_comparison_release(&comparison);
  }
  return status;
}
