#include "web/monitor-view.h"

#include "base/json-writer.h"
#include "formats/openmetrics.h"
#include <inttypes.h>
#include <math.h>

static void begin(hl_text *out, const char *name, const char *type, const char *unit,
                  const char *help) {
  hl_text_format(out, "# TYPE hotlap_monitor_%s %s\n", name, type);
  if (unit[0]) hl_text_format(out, "# UNIT hotlap_monitor_%s %s\n", name, unit);
  hl_text_format(out, "# HELP hotlap_monitor_%s %s\n", name, help);
}

static void write_counter(const hl_web_monitor *v, hl_text *out, const char *name, uint64_t value,
                          const char *help) {
  begin(out, name, "counter", "", help);
  hl_text_format(out, "hotlap_monitor_%s_total{log=\"", name);
  hl_openmetrics_label(out, v->path);
  hl_text_format(out, "\"} %" PRIu64 "\n", value);
}

/* An unknown number is left out. */
static void write_sample(const hl_web_monitor *v, hl_text *out, const char *name,
                         uint32_t batch_size, const char *quantile, double value) {
  if (!isfinite(value)) return;
  char number[32];
  hl_json_format_real(value, number);
  hl_text_format(out, "hotlap_monitor_%s{log=\"", name);
  hl_openmetrics_label(out, v->path);
  hl_text_char(out, '"');
  if (batch_size) hl_text_format(out, ",batch_size=\"%" PRIu32 "\"", batch_size);
  if (quantile) hl_text_format(out, ",quantile=\"%s\"", quantile);
  hl_text_format(out, "} %s\n", number);
}

static void write_recent(const hl_web_monitor *v, hl_text *out) {
  hl_summary_recent recent[HL_SUMMARY_SIZES];
  size_t n = hl_summary_by_size(v->summary, recent);
  begin(out, "recent_latency_seconds", "gauge", "seconds",
        "Time of a batch, of the recent inferences.");
  for (size_t i = 0; i < n; i++) {
    const hl_summary_recent *r = &recent[i];
    write_sample(v, out, "recent_latency_seconds", r->batch_size, "0.5", r->p50_ms / 1e3);
    write_sample(v, out, "recent_latency_seconds", r->batch_size, "0.9", r->p90_ms / 1e3);
    write_sample(v, out, "recent_latency_seconds", r->batch_size, "0.99", r->p99_ms / 1e3);
    write_sample(v, out, "recent_latency_seconds", r->batch_size, "1", r->max_ms / 1e3);
  }
  begin(out, "recent_images_per_second", "gauge", "",
        "Median throughput of the recent inferences.");
  for (size_t i = 0; i < n; i++)
    write_sample(v, out, "recent_images_per_second", recent[i].batch_size, NULL,
                 recent[i].throughput_ips);
  begin(out, "recent_memory_bytes", "gauge", "bytes",
        "Largest memory that recent inferences were logged with.");
  for (size_t i = 0; i < n; i++)
    write_sample(v, out, "recent_memory_bytes", recent[i].batch_size, NULL,
                 recent[i].memory_mb * 1e6);
  begin(out, "degraded", "gauge", "", "Whether inference is slow now.");
  for (size_t i = 0; i < n; i++)
    write_sample(v, out, "degraded", recent[i].batch_size, NULL, recent[i].degraded);
}

void hl_web_monitor_openmetrics(const hl_web_monitor *v, hl_text *out) {
  const hl_summary_totals *t = hl_summary_total(v->summary);
  write_counter(v, out, "inferences", t->inferences, "Batches that were logged.");
  write_counter(v, out, "images", t->images, "Images in them.");
  write_counter(v, out, "slow", t->slow, "Inferences below the drop of the median.");
  write_counter(v, out, "degradations", t->degradations, "Slow inferences in succession.");
  write_counter(v, out, "changes", t->changes, "Changes of level.");
  write_counter(v, out, "dropped", t->dropped, "Records that found the ring full.");
  write_counter(v, out, "failed_alerts", t->failed_alerts, "Alerts that reached nobody.");
  write_counter(v, out, "malformed_lines", v->count->malformed, "Lines that were passed over.");
  begin(out, "last_inference_timestamp_seconds", "gauge", "seconds",
        "When the last inference was logged.");
  write_sample(v, out, "last_inference_timestamp_seconds", 0, NULL,
               t->last_ns ? (double)t->last_ns / 1e9 : (double)NAN);
  write_recent(v, out);
}
