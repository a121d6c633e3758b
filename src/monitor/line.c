#include "monitor/line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void append_time(hl_text *out, hl_line_clock *clock, uint64_t time_ns) {
  uint64_t second = time_ns / 1000000000u;
  if (second != clock->second || !clock->text[0]) {
    time_t t = (time_t)second;
    struct tm parts;
    gmtime_r(&t, &parts);
    strftime(clock->text, sizeof clock->text, "%Y-%m-%dT%H:%M:%S", &parts);
    clock->second = second;
  }
  hl_text_format(out, "{\"timestamp\":\"%s.%06uZ\",", clock->text,
                 (unsigned)(time_ns % 1000000000u / 1000u));
}

static void append_now(hl_text *out, hl_line_clock *clock) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  append_time(out, clock, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* Nine digits: a nanosecond of a second. */
void hl_line_inference(hl_text *out, hl_line_clock *clock, const hl_inference *r) {
  append_time(out, clock, r->time_ns);
  hl_text_format(out, "\"batch_size\":%" PRIu32 ",\"elapsed_time\":%.9g,\"memory_usage\":",
                 r->batch_size, r->elapsed_s);
  if (isfinite(r->memory_mb))
    hl_text_format(out, "%.9g", r->memory_mb);
  else
    hl_text_append(out, "null");
  double throughput = r->batch_size / r->elapsed_s;
  hl_text_append(out, ",\"throughput\":");
  if (isfinite(throughput))
    hl_text_format(out, "%.6g}\n", throughput);
  else
    hl_text_append(out, "null}\n");
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
