/*
 * cli/monitor.h - a monitor's log for people and for machines. The numbers are those of
 * monitor/summary.h.
 */
#ifndef HL_CLI_MONITOR_H
#define HL_CLI_MONITOR_H

#include "base/text.h"
#include "monitor/log-reader.h"
#include "monitor/summary.h"

typedef struct hl_monitor_view {
  const char *path;
  hl_summary *summary;
  const hl_log_count *count;
  uint64_t now_ns; /* CLOCK_REALTIME */
} hl_monitor_view;

/* Totals, a line for each batch size, the course of throughput, the last events. */
void hl_cli_monitor_table(const hl_monitor_view *view, hl_text *out);
/* The same as one JSON object, schema hotlap.monitor-summary/1. */
void hl_cli_monitor_json(const hl_monitor_view *view, hl_text *out);
/* Counters and gauges, hotlap_monitor_*, in base units (seconds, bytes). */
void hl_cli_monitor_openmetrics(const hl_monitor_view *view, hl_text *out);

#endif
