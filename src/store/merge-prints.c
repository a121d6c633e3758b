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
typedef struct columns {
  bool counts[HL__MERGE_COLUMNS];
  int count;
} columns;

static hl_status columns_of(hl_store *other, const char *sql, sqlite3_stmt *s, columns *c,
                            hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *theirs = NULL;
  hl_status status = hl_sql_prepare(other, sql, &theirs, error);
  c->count = sqlite3_column_count(s);
  if (c->count > HL__MERGE_COLUMNS) c->count = HL__MERGE_COLUMNS;
  for (int i = 0; i < c->count && status == HL_OK; i++) {
    const char *name = sqlite3_column_name(s, i);
    c->counts[i] = name && !hl__merge_is_local(name) && hl__merge_column(theirs, name) >= 0;
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

void hl__prints_release(hl__prints *p) {
  for (size_t i = 0; i < p->count; i++) free(p->items[i].configuration);
  free(p->items);
}

static hl_status hash_lists(hl_store *store, hl_store *other, int64_t row_id, uint64_t *hash,
                            hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(hl__merge_lists) && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *sql = hl_format("SELECT * FROM %s WHERE row_id = ? ORDER BY rowid", hl__merge_lists[i]);
    *hash = hl_hash_text(*hash, hl__merge_lists[i]);
    status = sql ? hash_query(store, other, sql, row_id, NULL, hash, error) : no_memory(error);
  }
  return status;
}

static hl_status print_row(hl_store *store, hl_store *other, sqlite3_stmt *s, const columns *c,
                           hl__prints *p, hl_error *error) {
  hl__print *items = realloc(p->items, (p->count + 1) * sizeof *items);
  if (!items) return no_memory(error);
  p->items = items;
  int64_t row_id = sqlite3_column_int64(s, 0);
  items[p->count] = (hl__print){.configuration = hl_sql_text(s, 1), .hash = hash_row(s, c)};
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

static hl_status print_rows(hl_store *store, hl_store *other, const char *id, hl__prints *p,
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

hl_status hl__prints_make(hl_store *store, hl_store *other, const char *id, hl__prints *p,
                          hl_error *error) {
  hl_status status = read_state(store, id, &p->finished, error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM runs WHERE id = ?", 0, id, &p->run, error);
  if (status == HL_OK)
    status = hash_query(store, other, "SELECT * FROM comparisons WHERE run_id = ? ORDER BY a, b", 0,
                        id, &p->comparisons, error);
  return status == HL_OK ? print_rows(store, other, id, p, error) : status;
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
