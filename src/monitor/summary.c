#include "monitor/summary.h"

#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
  uint32_t batch_size;
  bool degraded;
} state;

struct hl_summary {
  hl_summary_totals totals;
  hl_log_entry *recent; /* a ring */
  uint64_t recent_count;
  hl_log_entry events[HL_SUMMARY_EVENTS]; /* a ring */
  uint64_t event_count;
  state states[HL_SUMMARY_SIZES]; /* a ring: of the sizes that events were about last */
  uint64_t state_count;
  double *values; /* scratch for HL_SUMMARY_RECENT */
};

hl_summary *hl_summary_new(void) {
  hl_summary *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->recent = malloc(HL_SUMMARY_RECENT * sizeof *s->recent);
  s->values = malloc(HL_SUMMARY_RECENT * sizeof *s->values);
  if (s->recent && s->values) return s;
  hl_summary_free(s);
  return NULL;
}

void hl_summary_free(hl_summary *s) {
  if (!s) return;
  free(s->recent);
  free(s->values);
  free(s);
}

static void set_state(hl_summary *s, uint32_t batch_size, bool degraded) {
  for (size_t i = 0; i < HL_SUMMARY_SIZES; i++)
    if (s->states[i].batch_size == batch_size) {
      s->states[i].degraded = degraded;
      return;
    }
  s->states[s->state_count++ % HL_SUMMARY_SIZES] =
      (state){.batch_size = batch_size, .degraded = degraded};
}

static bool is_degraded(const hl_summary *s, uint32_t batch_size) {
  for (size_t i = 0; i < HL_SUMMARY_SIZES; i++)
    if (s->states[i].batch_size == batch_size) return s->states[i].degraded;
  return false;
}

static void add_event(hl_summary *s, const hl_log_entry *e) {
  hl_summary_totals *t = &s->totals;
  if (strcmp(e->event, "start") == 0) return; /* every file begins with one: it is no news */
  if (strcmp(e->event, "dropped") == 0) {
    t->dropped += e->count;
  } else if (strcmp(e->event, "degraded") == 0) {
    t->degradations++;
    set_state(s, e->batch_size, true);
  } else if (strcmp(e->event, "recovered") == 0) {
    t->recoveries++;
    set_state(s, e->batch_size, false);
  } else if (strcmp(e->event, "settled") == 0) {
    set_state(s, e->batch_size, false);
  } else if (strcmp(e->event, "change") == 0) {
    t->changes++;
  } else if (strcmp(e->event, "alert_failed") == 0) {
    t->failed_alerts++;
  }
  s->events[s->event_count++ % HL_SUMMARY_EVENTS] = *e;
}

void hl_summary_add(hl_summary *s, const hl_log_entry *e) {
  if (e->event[0]) {
    add_event(s, e);
    return;
  }
  hl_summary_totals *t = &s->totals;
  t->inferences++;
  t->images += e->batch_size;
  t->slow += isnan(e->slow) ? 0 : 1;
  t->busy_s += e->elapsed_s;
  if (e->time_ns && !t->first_ns) t->first_ns = e->time_ns;
  if (e->time_ns > t->last_ns) t->last_ns = e->time_ns;
  s->recent[s->recent_count++ % HL_SUMMARY_RECENT] = *e;
}

const hl_summary_totals *hl_summary_total(const hl_summary *s) {
  return &s->totals;
}

const hl_log_entry *hl_summary_event(const hl_summary *s, size_t back) {
  if (back >= s->event_count || back >= HL_SUMMARY_EVENTS) return NULL;
  return &s->events[(s->event_count - 1 - back) % HL_SUMMARY_EVENTS];
}

static size_t kept(const hl_summary *s) {
  return s->recent_count < HL_SUMMARY_RECENT ? (size_t)s->recent_count : HL_SUMMARY_RECENT;
}

/* Of the recent ones, oldest first. */
static const hl_log_entry *recent_at(const hl_summary *s, size_t i) {
  return &s->recent[(s->recent_count - kept(s) + i) % HL_SUMMARY_RECENT];
}

/* The sizes of recent inferences and how many there are of each, the rarest left out. */
static size_t list_sizes(const hl_summary *s, hl_summary_recent *ret) {
  size_t n = 0;
  for (size_t i = 0; i < kept(s); i++) {
    uint32_t size = recent_at(s, i)->batch_size;
    size_t k = 0;
    while (k < n && ret[k].batch_size != size) k++;
    if (k == HL_SUMMARY_SIZES) {
      for (k = 0; k < n && ret[k].count > 1; k++) {
      }
      if (k == n) continue;
      ret[k] = (hl_summary_recent){0};
    } else if (k == n) {
      n++;
      ret[k] = (hl_summary_recent){0};
    }
    ret[k].batch_size = size;
    ret[k].count++;
  }
  return n;
}

static int by_batch_size(const void *a, const void *b) {
  uint32_t x = ((const hl_summary_recent *)a)->batch_size;
  uint32_t y = ((const hl_summary_recent *)b)->batch_size;
  return (x > y) - (x < y);
}

static void describe(hl_summary *s, hl_summary_recent *r) {
  size_t n = 0;
  r->memory_mb = (double)NAN;
  for (size_t i = 0; i < kept(s); i++) {
    const hl_log_entry *e = recent_at(s, i);
    if (e->batch_size != r->batch_size) continue;
    s->values[n++] = e->elapsed_s;
    r->memory_mb = fmax(r->memory_mb, e->memory_mb); /* which leaves a NaN out */
  }
  r->count = n;
  hl_sort(s->values, n);
  double p50_s = hl_percentile(s->values, n, 50, HL_PERCENTILE_LINEAR);
  r->throughput_ips = r->batch_size / p50_s;
  r->p50_ms = p50_s * 1e3;
  r->p90_ms = hl_percentile(s->values, n, 90, HL_PERCENTILE_LINEAR) * 1e3;
  r->p99_ms = hl_percentile(s->values, n, 99, HL_PERCENTILE_LINEAR) * 1e3;
  r->max_ms = s->values[n - 1] * 1e3;
  r->degraded = is_degraded(s, r->batch_size);
}

size_t hl_summary_by_size(hl_summary *s, hl_summary_recent ret[HL_SUMMARY_SIZES]) {
  size_t n = list_sizes(s, ret);
  for (size_t i = 0; i < n; i++) describe(s, &ret[i]);
  qsort(ret, n, sizeof *ret, by_batch_size);
  return n;
}

size_t hl_summary_course(hl_summary *s, uint32_t batch_size, double *ret_values, size_t columns) {
  size_t n = 0;
  for (size_t i = 0; i < kept(s); i++) {
    const hl_log_entry *e = recent_at(s, i);
    if (e->batch_size == batch_size) s->values[n++] = batch_size / e->elapsed_s;
  }
  size_t parts = n < columns ? n : columns;
  for (size_t k = 0; k < parts; k++) {
    size_t from = k * n / parts, to = (k + 1) * n / parts;
    ret_values[k] = hl_median(s->values + from, to - from);
  }
  return parts;
}
