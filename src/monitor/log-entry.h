/*
 * monitor/log-entry.h - a line of a monitor's log, read back.
 *
 *     hl_log_entry entry;
 *     char reason[HL_LOG_REASON];
 *     if (!hl_log_entry_parse(line, length, &entry, reason)) ... reason ...
 *
 * Lines of others with the same names are taken, too: an inference needs batch_size and
 * elapsed_time; timestamp, memory_usage and slow may be missing, and what else there is is passed
 * over.
 */
#ifndef HL_MONITOR_LOG_ENTRY_H
#define HL_MONITOR_LOG_ENTRY_H

#include "base/error.h"
#include <stdbool.h>

enum { HL_LOG_LINE = 64 << 10, HL_LOG_EVENT = 24, HL_LOG_MESSAGE = 256, HL_LOG_REASON = 128 };

typedef struct hl_log_entry {
  uint64_t time_ns; /* of CLOCK_REALTIME; 0: unknown */
  /* Of an inference; of an event the batch size it is about, 0 where it is about none. */
  uint32_t batch_size;
  double elapsed_s;
  double memory_mb;             /* NaN: unknown */
  double slow;                  /* throughput by the median; NaN: it is not slow */
  char event[HL_LOG_EVENT];     /* "" for an inference */
  char message[HL_LOG_MESSAGE]; /* of an event, "" if there is none */
  uint64_t count;               /* of a "dropped" event */
  double throughput, baseline;  /* of an event; NaN: unknown */
} hl_log_entry;

/* `line` has no end of line in it. False: a reason. */
bool hl_log_entry_parse(const char *line, size_t length, hl_log_entry *ret_entry,
                        char ret_reason[HL_LOG_REASON]);

/* "2026-11-29T12:00:00.123456Z", with any number of decimals or none: nanoseconds since 1970; 0 if
 * it is none, or before 1970. */
uint64_t hl_log_time_parse(const char *text);
/* Seconds, for people: "2026-11-29 12:00:00". */
void hl_log_time_format(uint64_t time_ns, char ret_text[32]);

#endif
