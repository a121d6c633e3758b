/*
 * store/merge.h - runs of another store, taken into this one.
 *
 *     hl_store_merged merged = {0};
 *     hl_store_batch_begin(store, error);
 *     status = hl_store_merge(store, other, &merged, error);
 *     status = hl_store_batch_end(store, status, error);
 *     hl_store_merged_release(&merged);
 *
 * A run is known by its id. One that both have alike is there once. Of one that went on in one of
 * them, so that all rows of the other are in it, too, that one is kept. Anything else is a
 * conflict.
 */
#ifndef HL_STORE_MERGE_H
#define HL_STORE_MERGE_H

#include "store/store.h"

typedef struct hl_store_merged {
  int64_t taken, renewed, same; /* runs that are new here, that went on there, that were here */
  int64_t rows;                 /* of those that were taken or renewed */
  int64_t checks;               /* of changes in the history, that are new here */
  char *conflicts;              /* "ID: what", one a line; NULL: none; owned */
} hl_store_merged;
void hl_store_merged_release(hl_store_merged *merged);

/* Adds to `merged`. What another process still writes there is taken as it is, as an interrupted
 * run. With conflicts the others are in all the same: what to do is up to the caller, who holds the
 * transaction. Errors as hl_store_open; BAD_DATA, IO, OUT_OF_MEMORY. */
hl_status hl_store_merge(hl_store *store, hl_store *other, hl_store_merged *merged,
                         hl_error *error);

#endif
