/*
 * formats/openmetrics.h - a run as OpenMetrics 1.0 text, for Prometheus and what reads its format.
 *
 *     hl_openmetrics_write(&info, &records, &out);
 *
 * Every number of metrics.def that a row knows is a gauge hotlap_KEY_UNIT in base units (seconds,
 * bytes, ratios for percent), with labels that tell the rows apart; an interval has a label `bound`
 * (low, high), a yes or no is 1 or 0. The words of a row are labels of hotlap_row_info, those of
 * the run of hotlap_run_info; hotlap_row_passed says which rows passed. An unknown number is left
 * out. All are gauges, so that the older Prometheus text format reads the same file (node_exporter
 * takes a *.prom from its textfile directory).
 */
#ifndef HL_FORMATS_OPENMETRICS_H
#define HL_FORMATS_OPENMETRICS_H

#include "record/record.h"

void hl_openmetrics_write(const hl_run_info *info, const hl_records *records, hl_text *out);

/* "latency_p50_ms" -> "hotlap_latency_p50_seconds", and the unit, "" where there is none. */
void hl_openmetrics_name(const hl_metric *metric, hl_text *ret_name, hl_text *ret_unit);

/* A label's value: backslash, quote and line break escaped, invalid UTF-8 as U+FFFD. */
void hl_openmetrics_label(hl_text *out, const char *value);

#endif
