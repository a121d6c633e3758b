#include "store/sql.h"

#include <math.h>

/* A column of a table as an expression; null where a store that cannot be written, of an older
 * version, lacks it. */
static hl_status append_column(hl_store *store, const char *table, const char *column, hl_text *sql,
                               hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", &statement, error);
  hl_sql_bind_text(statement, 1, table);
  hl_sql_bind_text(statement, 2, column);
  bool there = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &there, error);
  /* Names come from our own table of metrics, never from input. */
  if (there)
    hl_text_format(sql, ", %s.\"%s\"", table, column);
  else
    hl_text_append(sql, ", NULL");
  return status;
}

/* A metric of the user's own is no column: its value is bound to ?3 by name. */
static hl_status append_value(hl_store *store, const hl_metric *metric, hl_text *sql,
                              hl_error *error) {
  if (hl_metric_find(metric->key)) return append_column(store, "rows", metric->key, sql, error);
  hl_text_append(sql, ", (SELECT custom_metrics.value FROM custom_metrics"
                      " WHERE custom_metrics.row_id = rows.row_id AND custom_metrics.name = ?3)");
  return HL_OK;
}

/* The condition on rows: of all that the filter takes, or of the newest of them. */
static void append_condition(const hl_store_filter *filter, bool rare, hl_text *sql) {
  static const char machine[] = "(?2 IS NULL OR runs.machine_id = ?2"
                                " OR instr(lower(runs.cpu), lower(?2)) > 0)";
  const char *model = filter && filter->model ? hl__store_model_condition(rare) : "?1 IS NULL";
  if (filter && filter->newest_rows > 0)
    hl_text_format(sql,
                   "rows.row_id IN (SELECT rows.row_id FROM rows%s"
                   " WHERE outcome = 'PASSED' AND %s AND %s"
                   " ORDER BY rows.row_id DESC LIMIT %lld)",
                   filter->machine ? " JOIN runs ON runs.id = rows.run_id" : "", model,
                   filter->machine ? machine : "?2 IS NULL", (long long)filter->newest_rows);
  else
    hl_text_format(sql, "rows.outcome = 'PASSED' AND %s AND %s", model, machine);
}

static hl_status history_sql(hl_store *store, const hl_metric *metric,
                             const hl_store_filter *filter, hl_text *sql, hl_error *error) {
  bool own = !hl_metric_find(metric->key);
  const hl_metric *interval = own ? NULL : hl_metric_interval(metric);
  HL_CLEANUP(hl_free_pointer) char *low = interval ? hl_format("%s_low", interval->key) : NULL;
  HL_CLEANUP(hl_free_pointer) char *high = interval ? hl_format("%s_high", interval->key) : NULL;
  if (interval && (!low || !high)) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  static const char *const of_rows[] = {"run_id",     "configuration", "model",
                                        "git_commit", "workload",      "timestamp"};
  static const char *const of_runs[] = {"machine_id", "cpu", "created"};
  hl_status status = HL_OK;
  hl_text_append(sql, "SELECT rows.row_id");
  for (size_t i = 0; i < HL_COUNT(of_rows) && status == HL_OK; i++)
    status = append_column(store, "rows", of_rows[i], sql, error);
  for (size_t i = 0; i < HL_COUNT(of_runs) && status == HL_OK; i++)
    status = append_column(store, "runs", of_runs[i], sql, error);
  if (status == HL_OK) status = append_value(store, metric, sql, error);
  if (low && status == HL_OK) status = append_column(store, "rows", low, sql, error);
  if (high && status == HL_OK) status = append_column(store, "rows", high, sql, error);
  bool rare = false;
  if (status == HL_OK)
    status = hl__store_model_is_rare(store, filter ? filter->model : NULL, &rare, error);
  hl_text_append(sql, " FROM rows JOIN runs ON runs.id = rows.run_id WHERE ");
  append_condition(filter, rare, sql);
  hl_text_append(sql, " ORDER BY rows.row_id");
  if (status == HL_OK && sql->failed) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  return status;
}

static const char *text_at(sqlite3_stmt *statement, int column) {
  return (const char *)sqlite3_column_text(statement, column);
}

static double real_at(sqlite3_stmt *statement, int column) {
  int type = column < sqlite3_column_count(statement) ? sqlite3_column_type(statement, column)
                                                      : SQLITE_NULL;
  bool number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
  double value = number ? sqlite3_column_double(statement, column) : (double)NAN;
  return isfinite(value) ? value : (double)NAN;
}

hl_status hl_store_history_load(hl_store *store, const hl_metric *metric,
                                const hl_store_filter *filter, hl_history_rows *rows,
                                hl_error *error) {
  hl_text sql = HL_TEXT_INIT;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = history_sql(store, metric, filter, &sql, error);
  if (status == HL_OK) status = hl_sql_prepare(store, sql.data, &statement, error);
  hl_text_release(&sql);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, filter ? filter->model : NULL);
  hl_sql_bind_text(statement, 2, filter ? filter->machine : NULL);
  if (!hl_metric_find(metric->key)) hl_sql_bind_text(statement, 3, metric->key);
  bool more = false;
  while ((status = hl_sql_step(store, statement, &more, error)) == HL_OK && more) {
    const char *finished = text_at(statement, 6);
    hl_history_row row = {.run_id = text_at(statement, 1),
                          .configuration = text_at(statement, 2),
                          .model = text_at(statement, 3),
                          .commit = text_at(statement, 4),
                          .workload = text_at(statement, 5),
                          .machine_id = text_at(statement, 7),
                          .cpu = text_at(statement, 8),
                          .time = finished ? finished : text_at(statement, 9),
                          .value = real_at(statement, 10),
                          .interval = {real_at(statement, 11), real_at(statement, 12)}};
    status = hl_history_rows_add(rows, &row, error);
    if (status != HL_OK) break;
  }
  /* Damage can look like the end of a table. */
  if (status == HL_OK && rows->count == 0 && !store->watched)
    status = hl__store_check_pages(store, error);
  return status;
}

hl_status hl_store_custom_find(hl_store *store, const char *name, bool *ret_found,
                               hl_custom *ret_custom, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  *ret_found = false;
  hl_status status = hl_sql_prepare(
      store, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'custom_metrics'",
      &statement, error);
  bool there = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &there, error);
  if (status != HL_OK || !there) return status;
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *newest = NULL;
  status = hl_sql_prepare(store,
                          "SELECT unit, better, doc FROM custom_metrics WHERE name = ?"
                          " ORDER BY row_id DESC LIMIT 1",
                          &newest, error);
  hl_sql_bind_text(newest, 1, name);
  if (status == HL_OK) status = hl_sql_step(store, newest, ret_found, error);
  if (status != HL_OK || !*ret_found) return status;
  hl_custom custom;
  hl_custom_init(&custom);
  hl_record_set_text(&custom.name, name);
  hl_record_set_text(&custom.unit, text_at(newest, 0));
  hl_record_set_text(&custom.better, text_at(newest, 1));
  hl_record_set_text(&custom.doc, text_at(newest, 2));
  *ret_custom = custom;
  return HL_OK;
}

hl_status hl_store_change_checks_load(hl_store *store, const char *metric, hl_change_checks *checks,
                                      hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store,
                     "SELECT machine_id, configuration, metric, commit_before, commit_after,"
                     " checked, verdict, command, ratio, ci_low, ci_high, pairs"
                     " FROM change_checks WHERE metric = ? ORDER BY check_id",
                     &statement, error);
  hl_sql_bind_text(statement, 1, metric);
  bool more = false;
  while (status == HL_OK && (status = hl_sql_step(store, statement, &more, error)) == HL_OK &&
         more) {
    bool counted = sqlite3_column_type(statement, 11) == SQLITE_INTEGER;
    hl_change_check check = {.machine_id = text_at(statement, 0),
                             .configuration = text_at(statement, 1),
                             .metric = text_at(statement, 2),
                             .before = text_at(statement, 3),
                             .after = text_at(statement, 4),
                             .checked = text_at(statement, 5),
                             .verdict = text_at(statement, 6),
                             .command = text_at(statement, 7),
                             .ratio = real_at(statement, 8),
                             .ci = {real_at(statement, 9), real_at(statement, 10)},
                             .pairs = counted ? sqlite3_column_int64(statement, 11) : HL_INT_NULL};
    status = hl_change_checks_add(checks, &check, error);
  }
  return status;
}

static void bind_real(sqlite3_stmt *statement, int index, double value) {
  if (isfinite(value)) sqlite3_bind_double(statement, index, value);
}

hl_status hl_store_change_check_add(hl_store *store, const hl_change_check *check,
                                    hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store,
      "INSERT OR REPLACE INTO change_checks (machine_id, configuration, metric, commit_before,"
      " commit_after, checked, verdict, command, ratio, ci_low, ci_high, pairs)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      &statement, error);
  if (status != HL_OK) return status;
  const char *const texts[] = {check->machine_id, check->configuration, check->metric,
                               check->before,     check->after,         check->checked,
                               check->verdict,    check->command};
  for (size_t i = 0; i < HL_COUNT(texts); i++) hl_sql_bind_text(statement, 1 + (int)i, texts[i]);
  bind_real(statement, 9, check->ratio);
  bind_real(statement, 10, check->ci.low);
  bind_real(statement, 11, check->ci.high);
  if (check->pairs != HL_INT_NULL) sqlite3_bind_int64(statement, 12, check->pairs);
  return hl_sql_finish(store, statement, error);
}
