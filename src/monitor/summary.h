/*
 * monitor/summary.h - what a log says: totals, the recent inferences by batch size, the last
 * events.
 *
 *     hl_summary *summary = hl_summary_new();
 *     while (hl_log_reader_next(reader, &entry)) hl_summary_add(summary, &entry);
 *     hl_summary_recent recent[HL_SUMMARY_SIZES];
 *     size_t n = hl_summary_by_size(summary, recent);
 *     hl_summary_free(summary);
 *
 * Recent are the last HL_SUMMARY_RECENT inferences. Memory is bounded. One thread.
 */
#ifndef HL_MONITOR_SUMMARY_H
#define HL_MONITOR_SUMMARY_H

#include "monitor/log-entry.h"

enum { HL_SUMMARY_RECENT = 4096, HL_SUMMARY_SIZES = 16, HL_SUMMARY_EVENTS = 10 };

typedef struct hl_summary_totals {
  uint64_t inferences, images, slow, dropped, degradations, recoveries, changes, failed_alerts;
  uint64_t first_ns, last_ns; /* of inferences; 0: there is none with a time */
  double busy_s;              /* sum of the times */
} hl_summary_totals;

/* The recent inferences of one batch size. Percentiles by the linear rule. */
typedef struct hl_summary_recent {
  uint32_t batch_size;
  size_t count;
  double throughput_ips; /* median */
  double p50_ms, p90_ms, p99_ms, max_ms;
  double memory_mb; /* largest; NaN: unknown */
  bool degraded;    /* the last event of this size is a degradation */
} hl_summary_recent;

typedef struct hl_summary hl_summary;
hl_summary *hl_summary_new(void); /* NULL without memory */
void hl_summary_free(hl_summary *summary);
void hl_summary_add(hl_summary *summary, const hl_log_entry *entry);

const hl_summary_totals *hl_summary_total(const hl_summary *summary);
/* By batch size, ascending; sizes beyond HL_SUMMARY_SIZES are left out, the rarest first. */
size_t hl_summary_by_size(hl_summary *summary, hl_summary_recent ret[HL_SUMMARY_SIZES]);
/* Median throughput in each of `columns` equal parts of the recent inferences of a batch size, by
 * their order; how many parts there are, fewer where there are fewer inferences. */
size_t hl_summary_course(hl_summary *summary, uint32_t batch_size, double *ret_values,
                         size_t columns);
/* The event that is `back` before the last; NULL beyond. */
const hl_log_entry *hl_summary_event(const hl_summary *summary, size_t back);

#endif
