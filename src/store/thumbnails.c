#include "store/sql.h"

#include <stdlib.h>
#include <string.h>

/* Whether an earlier row of the run, of the same network, engine and type, has pictures: they would
 * look the same. */
static hl_status has_alike(hl_store *store, int64_t row_id, bool *ret_has, hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(
      store,
      "SELECT 1 FROM rows a JOIN rows b ON b.run_id = a.run_id AND b.row_id <> a.row_id "
      "AND b.model IS a.model AND b.engine IS a.engine AND b.dtype IS a.dtype "
      "AND b.imaging_scenario IS a.imaging_scenario AND b.optimizations IS a.optimizations "
      "WHERE a.row_id = ? AND b.row_id IN (SELECT row_id FROM thumbnails) LIMIT 1",
      &statement, error);
  if (status != HL_OK) return status;
  sqlite3_bind_int64(statement, 1, row_id);
  return hl_sql_step(store, statement, ret_has, error);
}

static hl_status add_one(hl_store *store, int64_t row_id, int64_t number, const hl_thumbnail *t,
                         hl_error *error) {
  HL_CLEANUP(hl_sql_finalize) sqlite3_stmt *statement = NULL;
  hl_status status = hl_sql_prepare(store,
                                    "INSERT INTO thumbnails (row_id, number, kind, height, width, "
                                    "low, high, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                                    &statement, error);
  if (status != HL_OK) return status;
  sqlite3_bind_int64(statement, 1, row_id);
  sqlite3_bind_int64(statement, 2, number);
  hl_sql_bind_text(statement, 3, hl_thumbnail_name(t->kind));
  sqlite3_bind_int64(statement, 4, t->height);
  sqlite3_bind_int64(statement, 5, t->width);
  sqlite3_bind_double(statement, 6, t->low);
  sqlite3_bind_double(statement, 7, t->high);
  sqlite3_bind_blob64(statement, 8, t->grey, (sqlite3_uint64)(t->height * t->width), SQLITE_STATIC);
  return hl_sql_finish(store, statement, error);
}

hl_status hl__store_thumbnails_add(hl_store *store, int64_t row_id, const hl_record *record,
                                   hl_error *error) {
  bool alike = false;
  if (!record->thumbnails && !record->reconstruction && !record->pictures) return HL_OK;
  hl_status status = has_alike(store, row_id, &alike, error);
  if (status != HL_OK || alike) return status;
  hl_thumbnails *made = record->thumbnails ? NULL : hl_thumbnails_make(record);
  const hl_thumbnails *all = record->thumbnails ? record->thumbnails : made;
  for (size_t i = 0; all && i < all->count && status == HL_OK; i++)
    status = add_one(store, row_id, (int64_t)i, &all->items[i], error);
  hl_thumbnails_free(made);
  return status;
}

/* kind, height, width, low, high, data */
hl_status hl__store_thumbnail_take(hl_store *store, sqlite3_stmt *statement, hl_record *record,
                                   hl_error *error) {
  hl_thumbnail t = {.kind = hl_thumbnail_from_name((const char *)sqlite3_column_text(statement, 0)),
                    .height = sqlite3_column_int64(statement, 1),
                    .width = sqlite3_column_int64(statement, 2),
                    .low = sqlite3_column_double(statement, 3),
                    .high = sqlite3_column_double(statement, 4)};
  const void *data = sqlite3_column_blob(statement, 5);
  int64_t bytes = sqlite3_column_bytes(statement, 5);
  if (t.kind == HL_THUMBNAIL_KINDS || t.height < 1 || t.height > HL_THUMBNAIL_SIDE || t.width < 1 ||
      t.width > HL_THUMBNAIL_SIDE || !data || bytes != t.height * t.width ||
      (record->thumbnails && record->thumbnails->count == HL_THUMBNAILS_MOST))
    return hl_error_set(error, HL_BAD_DATA, "%s: a picture of a row is damaged", store->path);
  if (!record->thumbnails) record->thumbnails = calloc(1, sizeof *record->thumbnails);
  t.grey = malloc((size_t)bytes);
  if (!record->thumbnails || !t.grey) {
    free(t.grey);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a picture");
  }
  memcpy(t.grey, data, (size_t)bytes);
  record->thumbnails->items[record->thumbnails->count++] = t;
  return HL_OK;
}
