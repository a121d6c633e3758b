#include "base/json-writer.h"
#include "web/monitor-view.h"

#include <inttypes.h>
#include <math.h>

static void write_time(hl_json *json, const char *key, uint64_t time_ns) {
  if (time_ns)
    hl_json_real(json, key, (double)time_ns / 1e9);
  else
    hl_json_null(json, key);
}

static void write_sizes(const hl_web_monitor *v, hl_json *json) {
  hl_summary_recent recent[HL_SUMMARY_SIZES];
  size_t n = hl_summary_by_size(v->summary, recent);
  hl_json_array(json, "recent");
  for (size_t i = 0; i < n; i++) {
    const hl_summary_recent *r = &recent[i];
    hl_json_object(json, NULL);
    hl_json_int(json, "batch_size", r->batch_size);
    hl_json_int(json, "inferences", (int64_t)r->count);
    hl_json_real(json, "throughput_ips", r->throughput_ips);
    hl_json_real(json, "latency_p50_ms", r->p50_ms);
    hl_json_real(json, "latency_p90_ms", r->p90_ms);
    hl_json_real(json, "latency_p99_ms", r->p99_ms);
    hl_json_real(json, "latency_max_ms", r->max_ms);
    hl_json_real(json, "memory_mb", r->memory_mb);
    hl_json_bool(json, "degraded", r->degraded);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_events(const hl_web_monitor *v, hl_json *json) {
  hl_json_array(json, "events");
  for (size_t back = HL_SUMMARY_EVENTS; back-- > 0;) {
    const hl_log_entry *e = hl_summary_event(v->summary, back);
    if (!e) continue;
    hl_json_object(json, NULL);
    write_time(json, "time", e->time_ns);
    hl_json_text(json, "event", e->event);
    if (e->batch_size) hl_json_int(json, "batch_size", e->batch_size);
    if (e->count) hl_json_int(json, "count", (int64_t)e->count);
    if (!isnan(e->throughput)) {
      hl_json_real(json, "throughput_ips", e->throughput);
      hl_json_real(json, "baseline_ips", e->baseline);
    }
    hl_json_text(json, "message", e->message[0] ? e->message : NULL);
    hl_json_end(json);
  }
  hl_json_end(json);
}

void hl_web_monitor_json(const hl_web_monitor *v, hl_text *out) {
  const hl_summary_totals *t = hl_summary_total(v->summary);
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.monitor-summary/1");
  hl_json_text(&json, "log", v->path);
  hl_json_int(&json, "inferences", (int64_t)t->inferences);
  hl_json_int(&json, "images", (int64_t)t->images);
  write_time(&json, "first", t->first_ns);
  write_time(&json, "last", t->last_ns);
  hl_json_real(&json, "busy_s", t->busy_s);
  hl_json_int(&json, "slow", (int64_t)t->slow);
  hl_json_int(&json, "degradations", (int64_t)t->degradations);
  hl_json_int(&json, "recoveries", (int64_t)t->recoveries);
  hl_json_int(&json, "changes", (int64_t)t->changes);
  hl_json_int(&json, "dropped", (int64_t)t->dropped);
  hl_json_int(&json, "failed_alerts", (int64_t)t->failed_alerts);
  hl_json_int(&json, "malformed_lines", (int64_t)v->count->malformed);
  hl_json_text(&json, "first_malformed", v->count->malformed ? v->count->first_malformed : NULL);
  hl_json_int(&json, "torn_bytes", (int64_t)v->count->torn_bytes);
  write_sizes(v, &json);
  write_events(v, &json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
