#include "store/merge-internal.h"

#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

const char *const hl__merge_lists[HL__MERGE_LISTS] = {
    "samples",        "load_rates",  "train_epochs", "step_losses",
    "custom_metrics", "memory_maps", "thumbnails"};

bool hl__merge_is_local(const char *column) {
  static const char *const local[] = {"row_id",       "comparison_id", "check_id",
                                      "writer_start", "writer_pid",    "state"};
  for (size_t i = 0; i < HL_COUNT(local); i++)
    if (strcmp(column, local[i]) == 0) return true;
  return false;
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to merge stores");
}

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

int hl__merge_column(sqlite3_stmt *s, const char *name) {
  for (int i = 0; i < sqlite3_column_count(s); i++) {
    const char *other = sqlite3_column_name(s, i);
    if (other && strcmp(other, name) == 0) return i;
  }
  return -1;
}

/* A query of one store, and which of its columns the other has, too: a hotlap that knew more of a
 * row is not contradicted by one that knew less. */
typedef struct query {
  sqlite3_stmt *s;
  bool counts[HL__MERGE_COLUMNS];
  int count;
} query;

static void query_release(query *q) {
  sqlite3_finalize(q->s);
}

static hl_status query_init(hl_store *store, hl_store *other, const char *sql, query *q,
                            hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *theirs = NULL;
  q->s = NULL;
  hl_status status = hl_sql_prepare(store, sql, &q->s, error);
  if (status == HL_OK) status = hl_sql_prepare(other, sql, &theirs, error);
  if (status != HL_OK) return status;
  q->count = sqlite3_column_count(q->s);
  if (q->count > HL__MERGE_COLUMNS) q->count = HL__MERGE_COLUMNS;
  for (int i = 0; i < q->count; i++) {
    const char *name = sqlite3_column_name(q->s, i);
    q->counts[i] = name && !hl__merge_is_local(name) && hl__merge_column(theirs, name) >= 0;
  }
  return HL_OK;
}

/* Of the row at hand, whatever the order of its columns. */
static uint64_t hash_row(const query *q) {
  uint64_t sum = 0;
  for (int i = 0; i < q->count; i++)
    if (q->counts[i])
      sum += hash_value(hl_hash_text(HL_HASH_START, sqlite3_column_name(q->s, i)), q->s, i);
  return sum;
}

/* Of all rows, in the order of the query, which can be asked again. */
static hl_status hash_rows(hl_store *store, const query *q, uint64_t *hash, hl_error *error) {
  bool row = false;
  hl_status status;
  while ((status = hl_sql_step(store, q->s, &row, error)) == HL_OK && row) {
    uint64_t one = hash_row(q);
    *hash = hl_hash_bytes(*hash, &one, sizeof one);
  }
  sqlite3_reset(q->s);
  return status;
}

/* Of a query whose parameter is the run's id. */
static hl_status hash_query(hl_store *store, hl_store *other, const char *sql, const char *id,
                            uint64_t *hash, hl_error *error) {
  HL_CLEANUP(query_release) query q;
  hl_status status = query_init(store, other, sql, &q, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(q.s, 1, id);
  return hash_rows(store, &q, hash, error);
}

void hl__prints_release(hl__prints *p) {
  for (size_t i = 0; i < p->count; i++) free(p->items[i].configuration);
  free(p->items);
}

/* The rows of a run and what hangs on them: each query is prepared once. */
typedef struct queries {
  query rows, lists[HL__MERGE_LISTS];
} queries;

static void queries_free(queries **held) {
  queries *q = *held;
  if (!q) return;
  query_release(&q->rows);
  for (size_t i = 0; i < HL_COUNT(q->lists); i++) query_release(&q->lists[i]);
  free(q);
}

static hl_status queries_init(hl_store *store, hl_store *other, queries *q, hl_error *error) {
  static const char sql[] = "SELECT row_id, configuration, * FROM rows WHERE run_id = ? "
                            "ORDER BY configuration";
  hl_status status = query_init(store, other, sql, &q->rows, error);
  for (size_t i = 0; i < HL_COUNT(q->lists) && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *list = hl_format("SELECT * FROM %s WHERE row_id = ? ORDER BY rowid", hl__merge_lists[i]);
    status = list ? query_init(store, other, list, &q->lists[i], error) : no_memory(error);
  }
  return status;
}

static hl_status hash_lists(hl_store *store, const queries *q, int64_t row_id, uint64_t *hash,
                            hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(q->lists) && status == HL_OK; i++) {
    *hash = hl_hash_text(*hash, hl__merge_lists[i]);
    sqlite3_bind_int64(q->lists[i].s, 1, row_id);
    status = hash_rows(store, &q->lists[i], hash, error);
  }
  return status;
}

static hl_status print_row(hl_store *store, const queries *q, hl__prints *p, hl_error *error) {
  hl__print *items = realloc(p->items, (p->count + 1) * sizeof *items);
  if (!items) return no_memory(error);
  p->items = items;
  hl__print *print = &items[p->count];
  *print = (hl__print){.configuration = hl_sql_text(q->rows.s, 1), .hash = hash_row(&q->rows)};
  if (!print->configuration) return no_memory(error);
  p->count++;
  return hash_lists(store, q, sqlite3_column_int64(q->rows.s, 0), &print->hash, error);
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

static hl_status print_rows(hl_store *store, hl_store *other, const char *id, hl__prints *p,
                            hl_error *error) {
  HL_CLEANUP(queries_free) queries *q = calloc(1, sizeof *q);
  bool row = false;
  if (!q) return no_memory(error);
  hl_status status = queries_init(store, other, q, error);
  if (status != HL_OK) return status;
  hl_sql_bind_text(q->rows.s, 1, id);
  while (status == HL_OK && (status = hl_sql_step(store, q->rows.s, &row, error)) == HL_OK && row)
    status = print_row(store, q, p, error);
  return status;
}

hl_status hl__prints_make(hl_store *store, hl_store *other, const char *run_id,
                          hl__prints *ret_prints, hl_error *error) {
  hl_status status = read_state(store, run_id, &ret_prints->finished, error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM runs WHERE id = ?", run_id, &ret_prints->run,
                        error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM comparisons WHERE run_id = ? ORDER BY a, b",
                        run_id, &ret_prints->comparisons, error);
  return status == HL_OK ? print_rows(store, other, run_id, ret_prints, error) : status;
}

bool hl__prints_is_part(const hl__prints *part, const hl__prints *whole) {
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

bool hl__prints_are_equal(const hl__prints *a, const hl__prints *b) {
  return a->count == b->count && a->run == b->run && a->comparisons == b->comparisons &&
         a->finished == b->finished && hl__prints_is_part(a, b);
}
