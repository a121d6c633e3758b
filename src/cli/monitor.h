/*
 * cli/monitor.h - a monitor's log for people; for programs: web/monitor-view.h.
 */
#ifndef HL_CLI_MONITOR_H
#define HL_CLI_MONITOR_H

#include "web/monitor-view.h"

/* Totals, a line for each batch size, the course of throughput, the last events. */
void hl_cli_monitor_table(const hl_web_monitor *view, hl_text *out);

#endif
