#include "store/merge.h"

#include "base/hash.h"
#include "store/merge-internal.h"
#include <stdlib.h>
#include <string.h>

void hl_store_merged_release(hl_store_merged *merged) {
  free(merged->conflicts);
  *merged = (hl_store_merged){0};
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to merge stores");
}

/* -- copying ----------------------------------------------------------------------------------- */

/* Old and new numbers of a run's rows, both ascending. */
typedef struct row_ids {
  int64_t *from, *to;
  size_t count, capacity;
} row_ids;

static void row_ids_release(row_ids *ids) {
  free(ids->from);
  free(ids->to);
}

static hl_status row_ids_add(row_ids *ids, int64_t from, int64_t to, hl_error *error) {
  if (ids->count == ids->capacity) {
    size_t capacity = ids->capacity ? 2 * ids->capacity : 64;
    int64_t *grown = realloc(ids->from, capacity * sizeof *grown);
    if (grown) ids->from = grown;
    int64_t *other = grown ? realloc(ids->to, capacity * sizeof *other) : NULL;
    if (other) ids->to = other;
    if (!other) return no_memory(error);
    ids->capacity = capacity;
  }
  ids->from[ids->count] = from;
  ids->to[ids->count++] = to;
  return HL_OK;
}

static int64_t row_ids_find(const row_ids *ids, int64_t from) {
  size_t low = 0, high = ids->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ids->from[middle] < from)
      low = middle + 1;
    else
      high = middle;
  }
  return low < ids->count && ids->from[low] == from ? ids->to[low] : 0;
}

/* An insertion into columns that both tables have by the same name. */
typedef struct copier {
  sqlite3_stmt *to;
  int columns[HL__MERGE_COLUMNS]; /* of the query, for each parameter */
  int count, row_id;              /* parameter that takes a new row_id; 0: none */
} copier;

/* `mode`: "INSERT" or "INSERT OR IGNORE". */
static hl_status copier_init(hl_store *store, const char *mode, const char *table, bool keyed,
                             sqlite3_stmt *from, copier *c, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *known = NULL;
  HL_CLEANUP(hl_text_release) hl_text names = HL_TEXT_INIT;
  HL_CLEANUP(hl_text_release) hl_text sql = HL_TEXT_INIT;
  *c = (copier){0};
  HL_CLEANUP(hl_free_pointer) char *probe = hl_format("SELECT * FROM %s LIMIT 0", table);
  hl_status status = probe ? hl_sql_prepare(store, probe, &known, error) : no_memory(error);
  for (int i = 0; status == HL_OK && i < sqlite3_column_count(known); i++) {
    const char *name = sqlite3_column_name(known, i);
    if (!name || c->count == HL__MERGE_COLUMNS) continue;
    bool is_key = keyed && strcmp(name, "row_id") == 0;
    int column = hl__merge_column(from, name);
    if (column < 0 || (hl__merge_is_local(name) && !is_key && strcmp(name, "state") != 0)) continue;
    hl_text_format(&names, "%s\"%s\"", c->count ? "," : "", name);
    c->columns[c->count++] = column;
    if (is_key) c->row_id = c->count;
  }
  if (status != HL_OK) return status;
  hl_text_format(&sql, "%s INTO %s (%s) VALUES (", mode, table, names.data);
  for (int i = 0; i < c->count; i++) hl_text_append(&sql, i ? ",?" : "?");
  hl_text_append(&sql, ")");
  if (names.failed || sql.failed) return no_memory(error);
  return hl_sql_prepare(store, sql.data, &c->to, error);
}

/* The row at hand of the query. */
static hl_status copy_one(hl_store *store, sqlite3_stmt *from, copier *c, int64_t row_id,
                          hl_error *error) {
  for (int i = 0; i < c->count; i++)
    sqlite3_bind_value(c->to, i + 1, sqlite3_column_value(from, c->columns[i]));
  if (c->row_id) sqlite3_bind_int64(c->to, c->row_id, row_id);
  hl_status status = hl_sql_finish(store, c->to, error);
  sqlite3_reset(c->to);
  return status;
}

/* All rows of a query whose parameter is the run's id. `ids`: filled by rows, used by what hangs on
 * them; NULL of others. */
static hl_status copy_query(hl_store *store, hl_store *other, const char *sql, const char *id,
                            const char *table, row_ids *ids, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *from = NULL;
  HL_CLEANUP(hl_free_pointer) copier *c = malloc(sizeof *c);
  bool row = false, of_rows = strcmp(table, "rows") == 0;
  if (!c) return no_memory(error);
  hl_status status = hl_sql_prepare(other, sql, &from, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(from, 1, id);
  status = copier_init(store, "INSERT", table, ids && !of_rows, from, c, error);
  while (status == HL_OK && (status = hl_sql_step(other, from, &row, error)) == HL_OK && row) {
    int64_t row_id = ids ? sqlite3_column_int64(from, hl__merge_column(from, "row_id")) : 0;
    int64_t fresh = ids && !of_rows ? row_ids_find(ids, row_id) : 0;
    if (ids && !of_rows && !fresh) continue; /* of no row */
    status = copy_one(store, from, c, fresh, error);
    if (status == HL_OK && of_rows)
      status = row_ids_add(ids, row_id, sqlite3_last_insert_rowid(store->db), error);
  }
  sqlite3_finalize(c->to);
  return status;
}

/* Nobody of this host goes on writing it. */
static hl_status end_run(hl_store *store, const char *id, hl_error *error) {
  return hl_sql_run_for(
      store, "UPDATE runs SET state = 'interrupted' WHERE id = ? AND state = 'running'", id, error);
}

static hl_status copy_run(hl_store *store, hl_store *other, const char *id, int64_t *rows,
                          hl_error *error) {
  row_ids ids = {0};
  hl_status status =
      copy_query(store, other, "SELECT * FROM runs WHERE id = ?", id, "runs", NULL, error);
  if (status == HL_OK) status = end_run(store, id, error);
  if (status == HL_OK)
    status = copy_query(store, other, "SELECT * FROM rows WHERE run_id = ? ORDER BY row_id", id,
                        "rows", &ids, error);
  for (size_t i = 0; i < HL_COUNT(hl__merge_lists) && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("SELECT l.* FROM rows JOIN %s l ON l.row_id = rows.row_id WHERE "
                          "rows.run_id = ? ORDER BY rows.row_id, l.rowid",
                          hl__merge_lists[i]);
    status =
        sql ? copy_query(store, other, sql, id, hl__merge_lists[i], &ids, error) : no_memory(error);
  }
  if (status == HL_OK)
    status = copy_query(store, other,
                        "SELECT * FROM comparisons WHERE run_id = ? ORDER BY comparison_id", id,
                        "comparisons", NULL, error);
  *rows += (int64_t)ids.count;
  row_ids_release(&ids);
  return status;
}

static hl_status remove_run(hl_store *store, const char *id, hl_error *error) {
  static const char *const statements[] = {"DELETE FROM comparisons WHERE run_id = ?",
                                           "DELETE FROM rows WHERE run_id = ?",
                                           "DELETE FROM runs WHERE id = ?"};
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(statements) && status == HL_OK; i++)
    status = hl_sql_run_for(store, statements[i], id, error);
  return status;
}

/* -- run by run -------------------------------------------------------------------------------- */

static hl_status add_conflict(hl_store_merged *merged, const char *id, const hl__prints *here,
                              const hl__prints *there, hl_error *error) {
  size_t different = 0;
  for (size_t i = 0; i < here->count; i++) {
    const hl__prints one = {.items = &here->items[i], .count = 1};
    different += !hl__prints_is_part(&one, there);
  }
  hl_text text = HL_TEXT_INIT;
  if (merged->conflicts) hl_text_format(&text, "%s\n", merged->conflicts);
  if (different)
    hl_text_format(&text, "%s: %zu of its %zu rows are not the same in both", id, different,
                   here->count);
  else
    hl_text_format(&text, "%s: its rows are the same, and what is said of the run is not", id);
  char *taken = hl_text_take(&text);
  if (!taken) return no_memory(error);
  free(merged->conflicts);
  merged->conflicts = taken;
  return HL_OK;
}

typedef enum verdict { SAME, WENT_ON, CONFLICT } verdict;

static verdict judge(const hl__prints *here, const hl__prints *there) {
  bool cut = !here->finished && !there->finished;
  bool went_on = !here->finished && (there->finished || there->count > here->count);
  bool was_before = !there->finished && (here->finished || here->count > there->count);
  bool is_beginning = was_before || (cut && here->count == there->count);
  if (hl__prints_are_equal(here, there)) return SAME;
  if (is_beginning && hl__prints_is_part(there, here)) return SAME;
  return went_on && hl__prints_is_part(here, there) ? WENT_ON : CONFLICT;
}

static hl_status take_verdict(hl_store *store, hl_store *other, const char *id,
                              const hl__prints *here, const hl__prints *there,
                              hl_store_merged *merged, hl_error *error) {
  verdict found = judge(here, there);
  if (found == CONFLICT) return add_conflict(merged, id, here, there, error);
  merged->same += found == SAME;
  merged->renewed += found == WENT_ON;
  if (found == SAME) return HL_OK;
  hl_status status = remove_run(store, id, error);
  return status == HL_OK ? copy_run(store, other, id, &merged->rows, error) : status;
}

static hl_status merge_known(hl_store *store, hl_store *other, const char *id,
                             hl_store_merged *merged, hl_error *error) {
  hl__prints here = {.run = HL_HASH_START, .comparisons = HL_HASH_START};
  hl__prints there = here;
  hl_status status = hl__prints_make(store, other, id, &here, error);
  if (status == HL_OK) status = hl__prints_make(other, store, id, &there, error);
  if (status == HL_OK) status = take_verdict(store, other, id, &here, &there, merged, error);
  hl__prints_release(&here);
  hl__prints_release(&there);
  return status;
}

/* Of a change that both know of, what is here stays. */
static hl_status merge_checks(hl_store *store, hl_store *other, hl_store_merged *merged,
                              hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *from = NULL;
  HL_CLEANUP(hl_free_pointer) copier *c = malloc(sizeof *c);
  bool row = false;
  if (!c) return no_memory(error);
  hl_status status =
      hl_sql_prepare(other, "SELECT * FROM change_checks ORDER BY check_id", &from, error);
  if (status != HL_OK) return status;
  status = copier_init(store, "INSERT OR IGNORE", "change_checks", false, from, c, error);
  while (status == HL_OK && (status = hl_sql_step(other, from, &row, error)) == HL_OK && row) {
    status = copy_one(store, from, c, 0, error);
    if (status == HL_OK) merged->checks += sqlite3_changes(store->db);
  }
  sqlite3_finalize(c->to);
  return status;
}

hl_status hl_store_merge(hl_store *store, hl_store *other, hl_store_merged *merged,
                         hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *runs = NULL;
  bool row = false;
  /* One state of the other store, whoever writes it meanwhile. */
  hl_status status = hl_sql_run(other, "BEGIN", error);
  if (status != HL_OK) return status;
  status = hl_sql_prepare(other, "SELECT id FROM runs ORDER BY rowid", &runs, error);
  while (status == HL_OK && (status = hl_sql_step(other, runs, &row, error)) == HL_OK && row) {
    HL_CLEANUP(hl_free_pointer) char *id = hl_sql_text(runs, 0);
    bool known = false;
    status = id ? hl_store_run_exists(store, id, &known, error)
                : hl_error_set(error, HL_BAD_DATA, "%s: a run has no id", other->path);
    if (status != HL_OK) break;
    if (known)
      status = merge_known(store, other, id, merged, error);
    else
      status = copy_run(store, other, id, &merged->rows, error);
    merged->taken += !known;
  }
  if (status == HL_OK) status = merge_checks(store, other, merged, error);
  sqlite3_finalize(runs);
  runs = NULL;
  hl_error ignored = {0};
  (void)hl_sql_end(other, HL_INTERRUPTED, &ignored);
  return status;
}
