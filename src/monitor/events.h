/*
 * monitor/events.h - what becomes of an inference that was logged: its line, whether it is slow,
 * the events it completes, and who is told.
 *
 *     hl_events *events;
 *     if ((status = hl_events_new(&config, &events, error))) return status;
 *     hl_events_add(events, &record, &lines);   // appends lines of the log
 *     hl_events_tick(events, &lines);           // now and then: ends of alerts
 *     hl_events_free(events);
 *
 * A degradation is told at once where `alert_interval_s` have passed since the last alert, and
 * its recovery in any case if it was told itself. A change to slower is told the same way unless
 * the degradation that it is was told already. One thread, but for the counts.
 */
#ifndef HL_MONITOR_EVENTS_H
#define HL_MONITOR_EVENTS_H

#include <hotlap/hotlap.h>

#include "monitor/line.h"

typedef struct hl_events hl_events;

/* Of the configuration: the rules, alerts and the call. INVALID_ARGUMENT, OUT_OF_MEMORY. */
hl_status hl_events_new(const hl_monitor_config *config, hl_events **ret_events, hl_error *error);
/* `waits`: for alerts that are being sent; not in a child of fork. NULL is allowed. */
void hl_events_free(hl_events *events, bool waits);

void hl_events_silence(hl_events *events); /* on_event is not called any more */

void hl_events_header(hl_events *events, hl_text *lines);
void hl_events_add(hl_events *events, const hl_inference *record, hl_text *lines);
void hl_events_dropped(hl_events *events, uint64_t number, hl_text *lines);
void hl_events_tick(hl_events *events, hl_text *lines);

/* Sets the counts of what was found and told. Any thread. */
void hl_events_counts(const hl_events *events, hl_monitor_stats *ret_stats);

#endif
