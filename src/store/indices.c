#include "store/sql.h"

enum { MANY_ROWS = 20000 };

static const struct {
  const char *name, *on;
} indices[] = {
    {"rows_by_model", "rows (model, row_id, run_id, outcome)"},
    {"rows_of_run", "rows (run_id, outcome, throughput_ips, batch_size, model, engine)"},
    {"runs_by_time", "runs (created, id, machine_id, cpu)"},
};

hl_status hl__store_indices(hl_store *store, bool add, size_t *ret_missing, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store, "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = ?",
                     &statement, error);
  for (size_t i = 0; status == HL_OK && i < HL_COUNT(indices); i++) {
    bool row = false;
    sqlite3_reset(statement);
    hl_sql_bind_text(statement, 1, indices[i].name);
    status = hl_sql_step(store, statement, &row, error);
    if (status != HL_OK || sqlite3_column_int(statement, 0) != 0) continue;
    sqlite3_reset(statement);
    ++*ret_missing;
    if (!add) continue;
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("CREATE INDEX %s ON %s", indices[i].name, indices[i].on);
    status =
        sql ? hl_sql_run(store, sql, error) : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  }
  return status;
}

/* The different models, each found by one step in the index, and those of them with the text. */
#define MODELS                                                                                     \
  "(WITH RECURSIVE models(name) AS (SELECT min(model) FROM rows UNION ALL"                         \
  " SELECT (SELECT min(model) FROM rows WHERE model > models.name) FROM models"                    \
  " WHERE models.name IS NOT NULL)"                                                                \
  " SELECT name FROM models WHERE instr(name, ?1) > 0)"

const char *hl__store_model_condition(bool few) {
  return few ? "model IN " MODELS : "instr(model, ?1) > 0";
}

hl_status hl__store_model_is_rare(hl_store *store, const char *model, bool *ret_rare,
                                  hl_error *error) {
  *ret_rare = false;
  if (!model || !store->indexed) return HL_OK;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "SELECT count(*) FROM (SELECT 1 FROM rows WHERE model IN " MODELS " LIMIT ?2)",
      &statement, error);
  bool row = false;
  hl_sql_bind_text(statement, 1, model);
  if (status == HL_OK) sqlite3_bind_int(statement, 2, MANY_ROWS);
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status == HL_OK && row) *ret_rare = sqlite3_column_int(statement, 0) < MANY_ROWS;
  return status;
}
