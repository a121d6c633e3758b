/*
 * analyse/stored.h - two runs that were measured at different times, row against row.
 *
 *     hl_stored_run a = {.info = &info_a, .records = &records_a, .rows = rows_a, .row_count = n};
 *     hl_stored found;
 *     hl_status status = hl_stored_compare(&a, &b, &options, &found, error);
 *     for (size_t i = 0; i < found.comparisons.count; i++)
 *       ... found.pairs[i], found.comparisons.items[i].verdict ...
 *     hl_stored_release(&found);
 *
 * Rows are matched by what they measure: model, engine, type, batch, threads, device, data ... What
 * all rows of A have in common and all rows of B have in common, but not the same, is what is being
 * compared: engine=native against engine=onnxruntime over the same batches, or one row with
 * another.
 *
 * The values of a row are the medians of 30 contiguous batches of its steps, not the steps, which
 * depend on their neighbours; batches are joined while their medians still do. Ratio and interval
 * are those of the Mann-Whitney test on logarithms, corrected for several rows by Holm. What
 * differs between two processes, and between two times, is in the ratio and not in its interval:
 * that is what pairs are for (run/compare.h).
 *
 * Pure and thread-safe. Formulas: docs/compare.md.
 */
#ifndef HL_ANALYSE_STORED_H
#define HL_ANALYSE_STORED_H

#include "record/comparison.h"

enum { HL_STORED_ROWS = 4096 }; /* of a side */

/* A side. Everything is borrowed, and has to stay while the result is used. */
typedef struct hl_stored_run {
  const hl_run_info *info;
  const hl_records *records;
  const size_t *rows; /* the records that take part */
  size_t row_count;
} hl_stored_run;

typedef struct hl_stored_options {
  double alpha, margin; /* 0 < alpha <= 0.5; ratios within 1 +- margin are equivalent */
  uint64_t seed;        /* of the bootstrap */
  bool force;           /* compare also other work, other machines, and rows that did not pass */
} hl_stored_options;

/* A row of A and the row of B that is compared with it: indices into the records. */
typedef struct hl_stored_pair {
  size_t a, b;
} hl_stored_pair;

/* A row that is not compared. */
typedef struct hl_stored_left {
  bool is_b;
  size_t row;
  char *reason;
} hl_stored_left;

typedef struct hl_stored {
  hl_stored_pair *pairs;
  hl_comparisons comparisons; /* one for each pair; the verdict is B's */
  hl_stored_left *left;
  size_t left_count;
  char *notes; /* what holds for all pairs, one a line */
} hl_stored;

/*
 * Errors leave `ret_stored` untouched. INVALID_ARGUMENT where work or machines differ, or no row of
 * one side measures what a row of the other does: the message says in what they differ. UNAVAILABLE
 * where a row did not pass on one side, or none did on both. LIMIT, OUT_OF_MEMORY.
 */
hl_status hl_stored_compare(const hl_stored_run *a, const hl_stored_run *b,
                            const hl_stored_options *options, hl_stored *ret_stored,
                            hl_error *error);
void hl_stored_release(hl_stored *stored);

/*
 * The rows that all words select, free() them. A word is KEY=VALUE with a field of a row (batch,
 * engine, dtype, threads, device, ... or any of metrics.def); a list with commas selects those that
 * have one of its values. INVALID_ARGUMENT for what is no such word, NOT_FOUND where no row is
 * left, with the values that there are.
 */
hl_status hl_stored_select(const hl_records *records, const char *const *words, size_t word_count,
                           size_t **ret_rows, size_t *ret_count, hl_error *error);

#endif
