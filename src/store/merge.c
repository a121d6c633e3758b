#include "store/merge.h"

#include "base/hash.h"
#include "store/sql.h"
#include <stdlib.h>
#include <string.h>

enum { most_columns = 2000 };

/* What hangs on a row, by its row_id. */
static const char *const lists[] = {"samples",     "load_rates",     "train_epochs",
                                    "step_losses", "custom_metrics", "memory_maps"};

/* Numbers of one store that mean nothing in another, and who wrote a run. */
static bool is_local(const char *column) {
  static const char *const local[] = {"row_id",       "comparison_id", "check_id",
                                      "writer_start", "writer_pid",    "state"};
  for (size_t i = 0; i < HL_COUNT(local); i++)
    if (strcmp(column, local[i]) == 0) return true;
  return false;
}

void hl_store_merged_release(hl_store_merged *merged) {
  free(merged->conflicts);
  *merged = (hl_store_merged){0};
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to merge stores");
}

/* -- equal or not ------------------------------------------------------------------------------ */

static uint64_t hash_value(uint64_t hash, sqlite3_stmt *s, int column) {
  int type = sqlite3_column_type(s, column);
  hash = hl_hash_bytes(hash, &type, sizeof type);
  if (type == SQLITE_INTEGER) {
    int64_t value = sqlite3_column_int64(s, column);
    return hl_hash_bytes(hash, &value, sizeof value);
  }
  if (type == SQLITE_FLOAT) {
    double value = sqlite3_column_double(s, column);
    return hl_hash_bytes(hash, &value, sizeof value);
  }
  const void *bytes = sqlite3_column_blob(s, column); /* before its length is asked for */
  return hl_hash_bytes(hash, bytes ? bytes : "", (size_t)sqlite3_column_bytes(s, column));
}

static int column_named(sqlite3_stmt *s, const char *name) {
  for (int i = 0; i < sqlite3_column_count(s); i++) {
    const char *other = sqlite3_column_name(s, i);
    if (other && strcmp(other, name) == 0) return i;
  }
  return -1;
}

/* A query of one store, and which of its columns the other has, too: a hotlap that knew more of a
 * row is not contradicted by one that knew less. */
typedef struct columns {
  bool counts[most_columns];
  int count;
} columns;

static hl_status columns_of(hl_store *other, const char *sql, sqlite3_stmt *s, columns *c,
                            hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *theirs = NULL;
  hl_status status = hl_sql_prepare(other, sql, &theirs, error);
  c->count = sqlite3_column_count(s);
  if (c->count > most_columns) c->count = most_columns;
  for (int i = 0; i < c->count && status == HL_OK; i++) {
    const char *name = sqlite3_column_name(s, i);
    c->counts[i] = name && !is_local(name) && column_named(theirs, name) >= 0;
  }
  return status;
}

/* Of the row at hand, whatever the order of its columns. */
static uint64_t hash_row(sqlite3_stmt *s, const columns *c) {
  uint64_t sum = 0;
  for (int i = 0; i < c->count; i++)
    if (c->counts[i])
      sum += hash_value(hl_hash_text(HL_HASH_START, sqlite3_column_name(s, i)), s, i);
  return sum;
}

/* Of all rows of a query with one parameter, in its order. */
static hl_status hash_query(hl_store *store, hl_store *other, const char *sql, int64_t row_id,
                            const char *text, uint64_t *hash, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *s = NULL;
  columns c;
  hl_status status = hl_sql_prepare(store, sql, &s, error);
  if (status == HL_OK) status = columns_of(other, sql, s, &c, error);
  if (status != HL_OK) return status;
  if (text)
    hl_sql_bind_text(s, 1, text);
  else
    sqlite3_bind_int64(s, 1, row_id);
  bool row = false;
  while ((status = hl_sql_step(store, s, &row, error)) == HL_OK && row) {
    uint64_t one = hash_row(s, &c);
    *hash = hl_hash_bytes(*hash, &one, sizeof one);
  }
  return status;
}

typedef struct print {
  char *configuration;
  uint64_t hash;
} print;

/* Of a run: each row by its configuration, in that order. */
typedef struct prints {
  print *items;
  size_t count;
  uint64_t run, comparisons;
  bool finished;
} prints;

static void prints_release(prints *p) {
  for (size_t i = 0; i < p->count; i++) free(p->items[i].configuration);
  free(p->items);
}

static hl_status hash_lists(hl_store *store, hl_store *other, int64_t row_id, uint64_t *hash,
                            hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(lists) && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("SELECT * FROM %s WHERE row_id = ? ORDER BY rowid", lists[i]);
    *hash = hl_hash_text(*hash, lists[i]);
    status = sql ? hash_query(store, other, sql, row_id, NULL, hash, error) : no_memory(error);
  }
  return status;
}

static hl_status print_row(hl_store *store, hl_store *other, sqlite3_stmt *s, const columns *c,
                           prints *p, hl_error *error) {
  print *items = realloc(p->items, (p->count + 1) * sizeof *items);
  if (!items) return no_memory(error);
  p->items = items;
  int64_t row_id = sqlite3_column_int64(s, 0);
  items[p->count] = (print){.configuration = hl_sql_text(s, 1), .hash = hash_row(s, c)};
  if (!items[p->count].configuration) return no_memory(error);
  p->count++;
  return hash_lists(store, other, row_id, &items[p->count - 1].hash, error);
}

static hl_status read_state(hl_store *store, const char *id, bool *ret_finished, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *s = NULL;
  bool row = false;
  hl_status status = hl_sql_prepare(store, "SELECT state FROM runs WHERE id = ?", &s, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(s, 1, id);
  status = hl_sql_step(store, s, &row, error);
  const char *text = status == HL_OK && row ? (const char *)sqlite3_column_text(s, 0) : NULL;
  *ret_finished = text && strcmp(text, hl_run_state_name(HL_RUN_FINISHED)) == 0;
  return status;
}

static hl_status print_rows(hl_store *store, hl_store *other, const char *id, prints *p,
                            hl_error *error) {
  static const char sql[] = "SELECT row_id, configuration, * FROM rows WHERE run_id = ? "
                            "ORDER BY configuration";
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *s = NULL;
  columns c;
  bool row = false;
  hl_status status = hl_sql_prepare(store, sql, &s, error);
  if (status == HL_OK) status = columns_of(other, sql, s, &c, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(s, 1, id);
  while (status == HL_OK && (status = hl_sql_step(store, s, &row, error)) == HL_OK && row)
    status = print_row(store, other, s, &c, p, error);
  return status;
}

static hl_status print_run(hl_store *store, hl_store *other, const char *id, prints *p,
                           hl_error *error) {
  hl_status status = read_state(store, id, &p->finished, error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM runs WHERE id = ?", 0, id, &p->run, error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM comparisons WHERE run_id = ? ORDER BY a, b", 0,
                        id, &p->comparisons, error);
  return status == HL_OK ? print_rows(store, other, id, p, error) : status;
}

/* Whether each row of `part` is in `whole`, and the same. */
static bool is_part(const prints *part, const prints *whole) {
  size_t at = 0;
  for (size_t i = 0; i < part->count; i++) {
    while (at < whole->count &&
           strcmp(whole->items[at].configuration, part->items[i].configuration) < 0)
      at++;
    if (at == whole->count ||
        strcmp(whole->items[at].configuration, part->items[i].configuration) != 0 ||
        whole->items[at].hash != part->items[i].hash)
      return false;
  }
  return true;
}

static bool are_equal(const prints *a, const prints *b) {
  return a->count == b->count && a->run == b->run && a->comparisons == b->comparisons &&
         a->finished == b->finished && is_part(a, b);
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
  int columns[most_columns]; /* of the query, for each parameter */
  int count, row_id;         /* parameter that takes a new row_id; 0: none */
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
    if (!name || c->count == most_columns) continue;
    bool is_key = keyed && strcmp(name, "row_id") == 0;
    int column = column_named(from, name);
    if (column < 0 || (is_local(name) && !is_key && strcmp(name, "state") != 0)) continue;
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
    int64_t row_id = ids ? sqlite3_column_int64(from, column_named(from, "row_id")) : 0;
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
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *s = NULL;
  hl_status status = hl_sql_prepare(store,
                                    "UPDATE runs SET state = 'interrupted' WHERE id = ? AND "
                                    "state = 'running'",
                                    &s, error);
  hl_sql_bind_text(s, 1, id);
  return status == HL_OK ? hl_sql_finish(store, s, error) : status;
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
  for (size_t i = 0; i < HL_COUNT(lists) && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("SELECT l.* FROM rows JOIN %s l ON l.row_id = rows.row_id WHERE "
                          "rows.run_id = ? ORDER BY rows.row_id, l.rowid",
                          lists[i]);
    status = sql ? copy_query(store, other, sql, id, lists[i], &ids, error) : no_memory(error);
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
  for (size_t i = 0; i < HL_COUNT(statements) && status == HL_OK; i++) {
    HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *s = NULL;
    status = hl_sql_prepare(store, statements[i], &s, error);
    hl_sql_bind_text(s, 1, id);
    if (status == HL_OK) status = hl_sql_finish(store, s, error);
  }
  return status;
}

/* -- run by run -------------------------------------------------------------------------------- */

static hl_status add_conflict(hl_store_merged *merged, const char *id, const prints *here,
                              const prints *there, hl_error *error) {
  size_t different = 0;
  for (size_t i = 0; i < here->count; i++) {
    const prints one = {.items = &here->items[i], .count = 1};
    different += !is_part(&one, there);
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

static hl_status merge_known(hl_store *store, hl_store *other, const char *id,
                             hl_store_merged *merged, hl_error *error) {
  prints here = {.run = HL_HASH_START, .comparisons = HL_HASH_START};
  prints there = here;
  hl_status status = print_run(store, other, id, &here, error);
  if (status == HL_OK) status = print_run(other, store, id, &there, error);
  bool went_on = !here.finished && (there.finished || there.count > here.count);
  bool was_before = !there.finished && (here.finished || here.count > there.count);
  bool both_cut = !here.finished && !there.finished && here.count == there.count;
  if (status != HL_OK) {
  } else if (are_equal(&here, &there) || (was_before && is_part(&there, &here)) ||
             (both_cut && is_part(&there, &here))) {
    merged->same++;
  } else if (went_on && is_part(&here, &there)) {
    merged->renewed++;
    status = remove_run(store, id, error);
    if (status == HL_OK) status = copy_run(store, other, id, &merged->rows, error);
  } else {
    status = add_conflict(merged, id, &here, &there, error);
  }
  prints_release(&here);
  prints_release(&there);
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
