#include "monitor/line.h"

#include "base/clock.h"
#include "base/json-writer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *text_of(hl_line_clock *clock, uint64_t time_ns, char ret_text[64]) {
  uint64_t second = time_ns / 1000000000u;
  if (second != clock->second || !clock->text[0]) {
    time_t t = (time_t)second;
    struct tm parts;
    gmtime_r(&t, &parts);
    strftime(clock->text, sizeof clock->text, "%Y-%m-%dT%H:%M:%S", &parts);
    clock->second = second;
  }
  snprintf(ret_text, 64, "%s.%06uZ", clock->text, (unsigned)(time_ns % 1000000000u / 1000u));
  return ret_text;
}

static void append_time(hl_text *out, hl_line_clock *clock, uint64_t time_ns) {
  char text[64];
  hl_text_append(out, "{\"timestamp\":\"");
  hl_text_append(out, text_of(clock, time_ns, text));
  hl_text_append(out, "\",");
}

static void append_now(hl_text *out, hl_line_clock *clock) {
  append_time(out, clock, hl_clock_wall_ns());
}

/* Nine digits: a nanosecond of a second. */
void hl_line_inference(hl_text *out, hl_line_clock *clock, const hl_inference *r, double slow) {
  append_time(out, clock, r->time_ns);
  hl_text_format(out, "\"batch_size\":%" PRIu32 ",\"elapsed_time\":%.9g,\"memory_usage\":",
                 r->batch_size, r->elapsed_s);
  if (isfinite(r->memory_mb) && r->memory_mb >= 0)
    hl_text_format(out, "%.9g", r->memory_mb);
  else
    hl_text_append(out, "null");
  double throughput = r->batch_size / r->elapsed_s;
  hl_text_append(out, ",\"throughput\":");
  if (isfinite(throughput))
    hl_text_format(out, "%.6g", throughput);
  else
    hl_text_append(out, "null");
  if (!isnan(slow)) hl_text_format(out, ",\"slow\":%.4g", slow);
  hl_text_append(out, "}\n");
}

void hl_line_event(hl_text *out, hl_line_clock *clock, const hl_detector_event *e,
                   const char *message) {
  char time[64], since[64];
  hl_json json;
  hl_json_init(&json, out, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "timestamp", text_of(clock, e->time_ns, time));
  hl_json_text(&json, "event", hl_detector_kind_name(e->kind));
  hl_json_int(&json, "batch_size", e->batch_size);
  hl_json_text(&json, "since", text_of(clock, e->since_ns, since));
  hl_json_real(&json, "throughput", e->throughput);
  hl_json_real(&json, "baseline", e->baseline);
  hl_json_real(&json, "ratio", e->throughput / e->baseline);
  hl_json_text(&json, "message", message);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

void hl_line_alert_failed(hl_text *out, hl_line_clock *clock, const char *what) {
  char time[64];
  hl_json json;
  hl_json_init(&json, out, HL_JSON_COMPACT);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "timestamp", text_of(clock, hl_clock_wall_ns(), time));
  hl_json_text(&json, "event", "alert_failed");
  hl_json_text(&json, "message", what);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

void hl_line_header(hl_text *out, hl_line_clock *clock) {
  append_now(out, clock);
  hl_text_format(out,
                 "\"event\":\"start\",\"schema\":\"hotlap.monitor/1\",\"hotlap_version\":\"%s\","
                 "\"pid\":%lld}\n",
                 HL_VERSION, (long long)getpid());
}

void hl_line_dropped(hl_text *out, hl_line_clock *clock, uint64_t count) {
  append_now(out, clock);
  hl_text_format(out, "\"event\":\"dropped\",\"count\":%" PRIu64 "}\n", count);
}
