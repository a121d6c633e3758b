/*
 * store/schema.h - what the tables of a store look like (inside src/store only).
 *
 * hl_store_schemas[n - 1] is schema/000n.sql, which brings a store from version n - 1 to n. The
 * columns that hold fields of hl_record, hl_run_info, hl_comparison, hl_rate and hl_epoch come from
 * the lists below.
 */
#ifndef HL_STORE_SCHEMA_H
#define HL_STORE_SCHEMA_H

#include "record/comparison.h"

extern const char *const hl_store_schemas[];
extern const int hl_store_schema_count;

/* A column and the field that it holds; kind is never PAIR, which takes two columns. */
typedef struct hl_store_column {
  const char *name;
  hl_metric_kind kind;
  size_t offset;
} hl_store_column;

typedef struct hl_store_table {
  const char *name;
  const hl_store_column *columns;
  size_t count;
} hl_store_table;

extern const hl_store_table hl_store_rows_table;        /* fields of hl_record, from metrics.def */
extern const hl_store_table hl_store_runs_table;        /* fields of hl_run_info */
extern const hl_store_table hl_store_rates_table;       /* of hl_rate, from rates.def */
extern const hl_store_table hl_store_customs_table;     /* of hl_custom, from customs.def */
extern const hl_store_table hl_store_epochs_table;      /* of hl_epoch, from epochs.def */
extern const hl_store_table hl_store_comparisons_table; /* of hl_comparison, from comparisons.def */

#endif
