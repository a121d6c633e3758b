#include "cli/monitor.h"

#include "statistics/percentile.h"
#include <inttypes.h>
#include <math.h>

enum { COURSE = 60, LEVELS = 8 };

static void show_totals(const hl_web_monitor *v, hl_text *out) {
  const hl_summary_totals *t = hl_summary_total(v->summary);
  char first[32], last[32];
  hl_log_time_format(t->first_ns, first);
  hl_log_time_format(t->last_ns, last);
  hl_text_line(out, "%s", v->path);
  hl_text_format(out, "%" PRIu64 " inferences, %" PRIu64 " images", t->inferences, t->images);
  if (t->inferences) hl_text_format(out, ", %s to %s UTC", first, last);
  if (t->last_ns && v->now_ns > t->last_ns)
    hl_text_format(out, ", the last %.0f s ago", (double)(v->now_ns - t->last_ns) / 1e9);
  hl_text_format(out,
                 "\n%" PRIu64 " slow (%.2g %%), %" PRIu64 " degradation%s, %" PRIu64
                 " change%s of level, %" PRIu64 " dropped\n",
                 t->slow, t->inferences ? 100 * (double)t->slow / (double)t->inferences : 0,
                 t->degradations, t->degradations == 1 ? "" : "s", t->changes,
                 t->changes == 1 ? "" : "s", t->dropped);
}

static void show_damage(const hl_log_count *c, hl_text *out) {
  if (c->malformed)
    hl_text_line(out, "%" PRIu64 " malformed line%s passed over, the first: %s", c->malformed,
                 c->malformed == 1 ? "" : "s", c->first_malformed);
  if (c->torn_bytes)
    hl_text_line(out, "the last line has no end (%zu bytes): it is being written, or was torn",
                 c->torn_bytes);
}

static void show_sizes(const hl_summary_recent *recent, size_t n, hl_text *out) {
  hl_text_format(out, "\n%8s %7s %10s %9s %9s %9s  %9s %10s\n", "batch", "recent", "images/s",
                 "p50 ms", "p90 ms", "p99 ms", "max ms", "memory MB");
  bool few = false;
  for (size_t i = 0; i < n; i++) {
    const hl_summary_recent *r = &recent[i];
    bool is_few = r->count < hl_percentile_least_n(99);
    few = few || is_few;
    hl_text_format(out, "%8" PRIu32 " %7zu %10.4g %9.4g %9.4g %9.4g%c %9.4g ", r->batch_size,
                   r->count, r->throughput_ips, r->p50_ms, r->p90_ms, r->p99_ms, is_few ? '~' : ' ',
                   r->max_ms);
    if (isnan(r->memory_mb))
      hl_text_format(out, "%10s", "-");
    else
      hl_text_format(out, "%10.5g", r->memory_mb);
    hl_text_append(out, r->degraded ? "  DEGRADED\n" : "\n");
  }
  if (few) hl_text_format(out, "~ of fewer than %zu\n", hl_percentile_least_n(99));
}

/* A block for each part, from the least to the largest. */
static void show_course(const hl_web_monitor *v, const hl_summary_recent *most, hl_text *out) {
  static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double values[COURSE], low = (double)INFINITY, high = 0;
  size_t n = hl_summary_course(v->summary, most->batch_size, values, COURSE);
  for (size_t i = 0; i < n; i++) {
    low = fmin(low, values[i]);
    high = fmax(high, values[i]);
  }
  hl_text_append(out, "\n");
  for (size_t i = 0; i < n; i++) {
    double share = high > low ? (values[i] - low) / (high - low) : 0.5;
    hl_text_append(out, blocks[(size_t)fmin(share * LEVELS, LEVELS - 1)]);
  }
  hl_text_format(out, "  batch %" PRIu32 ", %.4g to %.4g images/s\n", most->batch_size, low, high);
}

static void show_events(const hl_web_monitor *v, hl_text *out) {
  if (hl_summary_event(v->summary, 0)) hl_text_append(out, "\n");
  for (size_t back = HL_SUMMARY_EVENTS; back-- > 0;) {
    const hl_log_entry *e = hl_summary_event(v->summary, back);
    if (!e) continue;
    char time[32];
    hl_log_time_format(e->time_ns, time);
    if (e->count)
      hl_text_line(out, "%s  %s: %" PRIu64 " records", time, e->event, e->count);
    else
      hl_text_line(out, "%s  %s: %s", time, e->event, e->message);
  }
}

void hl_cli_monitor_table(const hl_web_monitor *v, hl_text *out) {
  hl_summary_recent recent[HL_SUMMARY_SIZES];
  size_t n = hl_summary_by_size(v->summary, recent), most = 0;
  show_totals(v, out);
  show_damage(v->count, out);
  if (n) {
    for (size_t i = 1; i < n; i++)
      if (recent[i].count > recent[most].count) most = i;
    show_sizes(recent, n, out);
    show_course(v, &recent[most], out);
  }
  show_events(v, out);
}
