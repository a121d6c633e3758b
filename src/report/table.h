/*
 * report/table.h - the table on the terminal, a line per row as it arrives.
 *
 *     hl_report_table table;
 *     hl_report_table_init(&table, colour);
 *     for (each configuration of the plan) hl_report_table_expect(&table, "mlp", "native", ...);
 *     hl_report_table_header(&table, &text);
 *     hl_report_table_row(&table, &record, &text);
 *
 * What all expected rows share stands once above the table; what differs gets a column, but for the
 * model, whose names may be long: each stands on a line of its own above its rows. So does the
 * entry of a plan. Where workloads differ, their numbers do too: the columns are named again
 * wherever the workload changes.
 */
#ifndef HL_REPORT_TABLE_H
#define HL_REPORT_TABLE_H

#include "record/record.h"

enum { HL_TABLE_KEYS = 6, HL_TABLE_KEY_BYTES = 96, HL_TABLE_MODEL_BYTES = 512 };

typedef struct hl_report_table {
  bool colour;
  unsigned kinds; /* bit 1 << kind: workloads that are expected, each with columns of its own */
  int shown;      /* the kind whose columns stand above the last row; -1: none yet */
  size_t expected;
  struct {
    char first[HL_TABLE_KEY_BYTES]; /* of the first row expected, shortened where it is longer */
    bool varies;
    int width;
  } keys[HL_TABLE_KEYS];            /* workload, model, engine, dtype, threads, device */
  char model[HL_TABLE_MODEL_BYTES]; /* of the last row, where models differ */
  char entry[HL_TABLE_KEY_BYTES];   /* of the last row: of a plan, or "" */
} hl_report_table;

void hl_report_table_init(hl_report_table *table, bool colour);
/* NULL and HL_INT_NULL where the plan does not say. */
void hl_report_table_expect(hl_report_table *table, const char *workload, const char *model,
                            const char *engine, const char *dtype, int64_t threads,
                            const char *device);
void hl_report_table_header(const hl_report_table *table, hl_text *out);
void hl_report_table_row(hl_report_table *table, const hl_record *record, hl_text *out);

/* All of it at once. */
void hl_report_table_write(const hl_records *records, bool colour, hl_text *out);

#endif
