/*
 * report/load-rows.h - rows of load tests that belong together (inside src/report only).
 */
#ifndef HL_REPORT_LOAD_ROWS_H
#define HL_REPORT_LOAD_ROWS_H

#include "record/record.h"

/* A row of a load test that was measured. */
bool hl_load_is_told(const hl_record *r);

/* Of one network, engine and way of serving: they differ in scenario and rate. */
bool hl_load_same_server(const hl_record *a, const hl_record *b);

/* "mlp, native, float32, 2 instances, batches of up to 8" */
void hl_load_append_server(const hl_record *r, hl_text *out);

#endif
