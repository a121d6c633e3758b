/*
 * store/merge-internal.h - what a run of a store says, to be set beside the same run of another.
 */
#ifndef HL_STORE_MERGE_INTERNAL_H
#define HL_STORE_MERGE_INTERNAL_H

#include "store/sql.h"

enum { HL__MERGE_COLUMNS = 2000 };

/* What hangs on a row, by its row_id. */
enum { HL__MERGE_LISTS = 7 };
extern const char *const hl__merge_lists[HL__MERGE_LISTS];

/* Whether a column is a number of one store that means nothing in another, or says who wrote a run.
 */
bool hl__merge_is_local(const char *column);

/* The place of a column in a query, -1: it has none of that name. */
int hl__merge_column(sqlite3_stmt *statement, const char *name);

typedef struct hl__print {
  char *configuration;
  uint64_t hash; /* of the row and what hangs on it */
} hl__print;

/* Of a run: each row by its configuration, in that order. */
typedef struct hl__prints {
  hl__print *items;
  size_t count;
  uint64_t run, comparisons;
  bool finished;
} hl__prints;
void hl__prints_release(hl__prints *prints);

/* Of what the other store has columns for, too: a hotlap that knew more of a row is not
 * contradicted by one that knew less. */
hl_status hl__prints_make(hl_store *store, hl_store *other, const char *run_id,
                          hl__prints *ret_prints, hl_error *error);

/* Whether each row of `part` is in `whole`, and the same. */
bool hl__prints_is_part(const hl__prints *part, const hl__prints *whole);
bool hl__prints_are_equal(const hl__prints *a, const hl__prints *b);

#endif
