/*
 * monitor/line.h - the lines of a monitor's log.
 *
 *     hl_line_clock clock = {0};
 *     hl_line_inference(&text, &clock, &record, NAN);
 *     // {"timestamp":"2026-11-29T12:00:00.123456Z","batch_size":32,"elapsed_time":0.0125,
 *     //  "memory_usage":812.5,"throughput":2560}
 *
 * Each is one JSON object and a line end. Appends to `out`.
 */
#ifndef HL_MONITOR_LINE_H
#define HL_MONITOR_LINE_H

#include "base/text.h"
#include "monitor/detector.h"

/* The text of the second that was written last: thousands of lines have the same. */
typedef struct hl_line_clock {
  uint64_t second;
  char text[32]; /* "2026-11-29T12:00:00" */
} hl_line_clock;

/* `slow`: throughput by the median where it is slow, NaN where it is not. */
void hl_line_inference(hl_text *out, hl_line_clock *clock, const hl_inference *record, double slow);
void hl_line_event(hl_text *out, hl_line_clock *clock, const hl_detector_event *event,
                   const char *message);
void hl_line_alert_failed(hl_text *out, hl_line_clock *clock, const char *what);
/* The first line of a file: schema, version and process. */
void hl_line_header(hl_text *out, hl_line_clock *clock);
/* So many records found the ring full since the last such line. */
void hl_line_dropped(hl_text *out, hl_line_clock *clock, uint64_t count);

#endif
