/*
 * web/monitor-view.h - a monitor's log for programs: JSON and OpenMetrics. The numbers are those of
 * monitor/summary.h.
 *
 *     const hl_web_monitor view = {.path = path, .summary = summary, .count = count, .now_ns =
 * now}; hl_web_monitor_json(&view, &text);
 */
#ifndef HL_WEB_MONITOR_VIEW_H
#define HL_WEB_MONITOR_VIEW_H

#include "base/text.h"
#include "monitor/log-reader.h"
#include "monitor/summary.h"

typedef struct hl_web_monitor {
  const char *path;
  hl_summary *summary;
  const hl_log_count *count;
  uint64_t now_ns; /* CLOCK_REALTIME */
} hl_web_monitor;

/* One JSON object, schema hotlap.monitor-summary/1. */
void hl_web_monitor_json(const hl_web_monitor *view, hl_text *out);
/* Counters and gauges, hotlap_monitor_*, in base units (seconds, bytes); without the "# EOF" that a
 * document ends with. */
void hl_web_monitor_openmetrics(const hl_web_monitor *view, hl_text *out);

#endif
