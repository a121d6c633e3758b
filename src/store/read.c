#include "store/samples.h"
#include "store/sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hl_status hl_store_run_resolve(hl_store *store, const char *text, char **ret_id, hl_error *error) {
  /* An exact id first; a start by comparison, since LIKE has wild cards of its own. */
  bool newest = strcmp(text, "latest") == 0 || strcmp(text, "last") == 0;
  const char *sql = newest ? "SELECT id FROM runs WHERE ?1 = ?1 ORDER BY created DESC, rowid DESC "
                             "LIMIT 1"
                           : "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 "
                             "ORDER BY id = ?1 DESC LIMIT 2";
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  HL_CLEANUP(hl_free_pointer) char *id = NULL;
  hl_status status = hl_sql_prepare(store, sql, &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, text);
  bool row = false;
  status = hl_sql_step(store, statement, &row, error);
  if (status != HL_OK) return status;
  if (!row || text[0] == '\0')
    return hl_error_set(error, HL_NOT_FOUND,
                        "%s: there is no run '%s'. `hotlap history` lists the runs", store->path,
                        text);
  id = hl_sql_text(statement, 0);
  if (!id) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  if (strcmp(id, text) != 0) {
    status = hl_sql_step(store, statement, &row, error);
    if (status != HL_OK) return status;
    if (row)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "more than one run starts with '%s' (%s, …). Type more of the id", text,
                          id);
  }
  *ret_id = id;
  id = NULL;
  return HL_OK;
}

static hl_status load_samples(hl_store *store, int64_t row_id, hl_record *record, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "SELECT codec, data, count FROM samples WHERE row_id = ?", &statement, error);
  if (status != HL_OK) return status;
  sqlite3_bind_int64(statement, 1, row_id);
  bool row = false;
  status = hl_sql_step(store, statement, &row, error);
  if (status != HL_OK || !row) return status;
  const char *codec = (const char *)sqlite3_column_text(statement, 0);
  const void *data = sqlite3_column_blob(statement, 1);
  int bytes = sqlite3_column_bytes(statement, 1);
  int64_t count = sqlite3_column_int64(statement, 2);
  if (!codec || !data || bytes < 0 || count < 0)
    return hl_error_set(error, HL_BAD_DATA, "%s: the samples of a row are damaged", store->path);
  status = hl_samples_decode(codec, data, (size_t)bytes, (uint64_t)count, &record->samples_ns,
                             &record->sample_count, error);
  if (status != HL_OK) hl_error_prefix(error, "%s", store->path);
  return status;
}

/* The row that a statement of "SELECT * FROM rows" stands on; where `salvage`, without samples that
 * are damaged. */
static hl_status take_row(hl_store *store, sqlite3_stmt *statement, bool salvage,
                          hl_records *records, hl_error *error) {
  hl_record record;
  hl_record_init(&record);
  hl_sql_read_fields(statement, &hl_store_rows_table, &record);
  int64_t row_id = sqlite3_column_int64(statement, 0);
  hl_status status = load_samples(store, row_id, &record, error);
  if (salvage && status == HL_BAD_DATA) {
    hl_record_note(&record, "the samples of this row are damaged in the store");
    status = HL_OK;
  }
  if (status == HL_OK) status = hl__store_lists_load(store, row_id, &record, error);
  if (salvage && status == HL_BAD_DATA) {
    hl_record_note(&record, "the losses of this row are damaged in the store");
    status = HL_OK;
  }
  if (status == HL_OK) status = hl_records_take(records, &record, error);
  hl_record_release(&record);
  return status;
}

static hl_status load_rows(hl_store *store, const char *run_id, hl_records *records,
                           hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store, "SELECT * FROM rows WHERE run_id = ? ORDER BY position, row_id", &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  bool row = false;
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row)
    status = take_row(store, statement, false, records, error);
  if (status == HL_OK && records->count == 0) status = hl__store_check_pages(store, error);
  return status;
}

hl_status hl__store_row_load(hl_store *store, int64_t row_id, hl_records *records,
                             hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status =
      hl_sql_prepare(store, "SELECT * FROM rows WHERE row_id = ?", &statement, error);
  if (status != HL_OK) return status;
  sqlite3_bind_int64(statement, 1, row_id);
  bool row = false;
  status = hl_sql_step(store, statement, &row, error);
  return status == HL_OK && row ? take_row(store, statement, true, records, error) : status;
}

hl_status hl__store_info_load(hl_store *store, const char *run_id, hl_run_info *info,
                              hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store, "SELECT * FROM runs WHERE id = ?", &statement, error);
  hl_sql_bind_text(statement, 1, run_id);
  bool row = false;
  if (status == HL_OK) status = hl_sql_step(store, statement, &row, error);
  if (status != HL_OK) return status;
  if (!row)
    return hl_error_set(error, HL_NOT_FOUND,
                        "%s: there is no run '%s'. `hotlap history` lists the runs", store->path,
                        run_id);
  info->id = hl_strdup(run_id);
  hl_sql_read_fields(statement, &hl_store_runs_table, info);
  return HL_OK;
}

hl_status hl_store_run_load(hl_store *store, const char *run_id, hl_run_info *ret_info,
                            hl_records *ret_records, hl_error *error) {
  hl_run_info info;
  hl_records records = {0};
  hl_run_info_init(&info);
  /* One transaction: a run that is still being written is seen at one moment. */
  hl_status status = hl_sql_run(store, "BEGIN", error);
  if (status != HL_OK) return status;
  status = hl__store_info_load(store, run_id, &info, error);
  if (status == HL_OK) status = load_rows(store, run_id, &records, error);
  status = hl_sql_end(store, status, error);
  if (status != HL_OK) {
    hl_run_info_release(&info);
    hl_records_release(&records);
    return status;
  }
  *ret_info = info;
  *ret_records = records;
  return HL_OK;
}

static void run_release(hl_store_run *run) {
  char *texts[] = {run->id,      run->created, run->state,      run->machine_id, run->cpu,
                   run->command, run->models,  run->best_model, run->best_engine};
  for (size_t i = 0; i < HL_COUNT(texts); i++) free(texts[i]);
}

void hl_store_runs_release(hl_store_runs *runs) {
  for (size_t i = 0; i < runs->count; i++) run_release(&runs->items[i]);
  free(runs->items);
  *runs = (hl_store_runs){0};
}

static hl_status append_run(hl_store_runs *runs, sqlite3_stmt *s, hl_error *error) {
  if (runs->count == runs->capacity) {
    size_t capacity = runs->capacity ? 2 * runs->capacity : 32;
    hl_store_run *items = realloc(runs->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of runs");
    runs->items = items;
    runs->capacity = capacity;
  }
  bool best = sqlite3_column_type(s, 12) != SQLITE_NULL;
  runs->items[runs->count++] = (hl_store_run){
      .id = hl_sql_text(s, 0),
      .created = hl_sql_text(s, 1),
      .state = hl_sql_text(s, 2),
      .machine_id = hl_sql_text(s, 3),
      .cpu = hl_sql_text(s, 4),
      .command = hl_sql_text(s, 5),
      .models = hl_sql_text(s, 6),
      .row_count = sqlite3_column_int64(s, 7),
      .passed_count = sqlite3_column_int64(s, 8),
      .best_model = hl_sql_text(s, 9),
      .best_engine = hl_sql_text(s, 10),
      .best_batch_size =
          sqlite3_column_type(s, 11) == SQLITE_NULL ? HL_INT_NULL : sqlite3_column_int64(s, 11),
      .best_throughput_ips = best ? sqlite3_column_double(s, 12) : (double)NAN,
  };
  return HL_OK;
}

hl_status hl__store_runs_append(hl_store *store, const hl_store_filter *filter, int64_t run,
                                hl_store_runs *runs, hl_error *error) {
  const char *model = filter ? filter->model : NULL;
  bool rare = false;
  hl_status status = hl__store_model_is_rare(store, model, &rare, error);
  if (status != HL_OK) return status;
  /* First which runs, then what their rows say: that of all runs would take seconds. */
  HL_CLEANUP(hl_free_pointer)
  char *sql = hl_format(
      "SELECT r.id, r.created, r.state, r.machine_id, r.cpu, r.command,"
      " (SELECT group_concat(model, char(10)) FROM"
      "   (SELECT DISTINCT model FROM rows WHERE run_id = r.id ORDER BY row_id)),"
      " (SELECT count(*) FROM rows WHERE run_id = r.id),"
      " (SELECT count(*) FROM rows WHERE run_id = r.id AND outcome = 'PASSED'),"
      " b.model, b.engine, b.batch_size, b.throughput_ips"
      " FROM (SELECT rowid AS number, * FROM runs r"
      "   WHERE (?1 IS NULL OR %s %s))"
      "   AND (?2 IS NULL OR r.machine_id = ?2 OR instr(lower(r.cpu), lower(?2)) > 0)"
      "   AND %s ORDER BY created DESC, rowid DESC LIMIT ?3 OFFSET ?5) r"
      " LEFT JOIN rows b ON b.row_id ="
      "   (SELECT row_id FROM rows WHERE run_id = r.id AND outcome = 'PASSED'"
      "    AND throughput_ips IS NOT NULL ORDER BY throughput_ips DESC, batch_size LIMIT 1)"
      " ORDER BY r.created DESC, r.number DESC",
      rare ? "r.id IN (SELECT run_id FROM rows WHERE"
           : "EXISTS (SELECT 1 FROM rows WHERE run_id = r.id AND",
      hl__store_model_condition(rare), run ? "r.rowid = ?4" : "?4 = 0");
  if (!sql) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of runs");
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  status = hl_sql_prepare(store, sql, &statement, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(statement, 1, model);
  hl_sql_bind_text(statement, 2, filter ? filter->machine : NULL);
  sqlite3_bind_int64(statement, 3, filter && filter->limit > 0 ? filter->limit : -1);
  sqlite3_bind_int64(statement, 4, run);
  sqlite3_bind_int64(statement, 5, filter ? filter->skip : 0);
  bool row = false;
  while (status == HL_OK && (status = hl_sql_step(store, statement, &row, error)) == HL_OK && row)
    status = append_run(runs, statement, error);
  return status;
}

hl_status hl_store_runs_list(hl_store *store, const hl_store_filter *filter,
                             hl_store_runs *ret_runs, hl_error *error) {
  hl_store_runs runs = {0};
  hl_status status = hl__store_runs_append(store, filter, 0, &runs, error);
  /* Damage can look like the end of a table. Who watches asks again and again, and gets no answer
   * for a second each time: then only where nothing was filtered. */
  bool filtered = filter && (filter->model || filter->machine || filter->skip);
  if (status == HL_OK && runs.count == 0 && !(store->watched && filtered))
    status = hl__store_check_pages(store, error);
  if (status == HL_OK)
    *ret_runs = runs;
  else
    hl_store_runs_release(&runs);
  return status;
}
