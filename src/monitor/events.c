#include "monitor/events.h"

#include "base/clock.h"
#include "monitor/alert.h"
#include "monitor/detector.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)HL_DETECTED_DEGRADED == (int)HL_MONITOR_DEGRADED &&
                   (int)HL_DETECTED_RECOVERED == (int)HL_MONITOR_RECOVERED &&
                   (int)HL_DETECTED_CHANGE == (int)HL_MONITOR_CHANGE &&
                   (int)HL_DETECTED_SETTLED == (int)HL_MONITOR_SETTLED,
               "events have the numbers of hotlap.h");

struct hl_events {
  hl_line_clock clock;
  hl_detector *detector;
  hl_alerts *alerts; /* NULL: nobody is told */
  void (*on_event)(void *context, const hl_monitor_event *event);
  void *context;
  uint64_t interval_ns;
  uint64_t told_ns; /* when the last alert was sent; 0: none was */
  bool degradation_told;
  hl_text *failures; /* lines that `failed` appends to */
  _Atomic uint64_t slow, degradations, changes, alerts_sent, alerts_failed;
};

hl_status hl_events_new(const hl_monitor_config *config, hl_events **ret_events, hl_error *error) {
  double interval_s = config->alert_interval_s == 0 ? 60 : config->alert_interval_s;
  if (!(interval_s > 0 && interval_s < 1e9))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "alert_interval_s %g; expected seconds",
                        interval_s);
  hl_events *e = calloc(1, sizeof *e);
  if (!e) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a monitor");
  e->on_event = config->on_event;
  e->context = config->context;
  e->interval_ns = (uint64_t)(interval_s * 1e9);
  const hl_detector_rules rules = {.window = config->window,
                                   .persist = config->persist,
                                   .drop = config->drop,
                                   .change = config->change};
  hl_status status = hl_detector_new(&rules, &e->detector, error);
  if (!status && (config->alert_command || config->webhook))
    status = hl_alerts_new(config->alert_command, config->webhook, &e->alerts, error);
  if (status)
    hl_events_free(e, false);
  else
    *ret_events = e;
  return status;
}

void hl_events_free(hl_events *e, bool waits) {
  if (!e) return;
  hl_detector_free(e->detector);
  if (waits)
    hl_alerts_free(e->alerts);
  else
    hl_alerts_forget(e->alerts);
  free(e);
}

void hl_events_silence(hl_events *e) {
  e->on_event = NULL;
}

static void count(_Atomic uint64_t *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void failed(void *context, const char *what) {
  hl_events *e = context;
  count(&e->alerts_failed);
  hl_line_alert_failed(e->failures, &e->clock, what);
}

static bool is_told(hl_events *e, const hl_detector_event *found) {
  if (!e->alerts) return false;
  if (found->kind == HL_DETECTED_RECOVERED) {
    bool told = e->degradation_told;
    e->degradation_told = false;
    return told;
  }
  if (found->kind == HL_DETECTED_SETTLED) e->degradation_told = false;
  if (found->kind == HL_DETECTED_SETTLED || found->throughput >= found->baseline) return false;
  if (found->kind == HL_DETECTED_CHANGE && found->degraded && e->degradation_told) return false;
  uint64_t now = hl_clock_ns();
  if (e->told_ns && now - e->told_ns < e->interval_ns) return false;
  e->told_ns = now;
  if (found->kind == HL_DETECTED_DEGRADED) e->degradation_told = true;
  return true;
}

static void describe(const hl_detector_event *found, char *ret_message, size_t size) {
  const char *what = found->kind == HL_DETECTED_DEGRADED    ? "inference is slow"
                     : found->kind == HL_DETECTED_RECOVERED ? "inference is no longer slow"
                     : found->kind == HL_DETECTED_SETTLED
                         ? "inference stays slow: the norm from now on"
                     : found->throughput < found->baseline ? "inference has become slower"
                                                           : "inference has become faster";
  snprintf(ret_message, size, "hotlap: %s: batch size %u, %.4g images/s, %.3g %% of %.4g", what,
           found->batch_size, found->throughput, 100 * found->throughput / found->baseline,
           found->baseline);
}

static void tell(hl_events *e, const hl_detector_event *found, hl_text *lines) {
  char message[256];
  describe(found, message, sizeof message);
  size_t start = lines->length;
  hl_line_event(lines, &e->clock, found, message);
  if (is_told(e, found) && !lines->failed) {
    count(&e->alerts_sent);
    HL_CLEANUP(hl_free_pointer) char *json = hl_strdup(lines->data + start);
    e->failures = lines;
    if (json) hl_alerts_send(e->alerts, json, message, failed, e);
  }
  if (!e->on_event) return;
  const hl_monitor_event event = {.size = sizeof event,
                                  .kind = (hl_monitor_kind)found->kind,
                                  .batch_size = found->batch_size,
                                  .time_ns = found->time_ns,
                                  .since_ns = found->since_ns,
                                  .throughput = found->throughput,
                                  .baseline = found->baseline,
                                  .message = message};
  e->on_event(e->context, &event);
}

void hl_events_header(hl_events *e, hl_text *lines) {
  hl_line_header(lines, &e->clock);
}

void hl_events_add(hl_events *e, const hl_inference *record, hl_text *lines) {
  hl_detector_answer answer = hl_detector_add(e->detector, record);
  if (!isnan(answer.slow)) count(&e->slow);
  hl_line_inference(lines, &e->clock, record, answer.slow);
  for (size_t i = 0; i < answer.count; i++) {
    const hl_detector_event *found = &answer.events[i];
    if (found->kind == HL_DETECTED_DEGRADED) count(&e->degradations);
    if (found->kind == HL_DETECTED_CHANGE) count(&e->changes);
    tell(e, found, lines);
  }
}

void hl_events_dropped(hl_events *e, uint64_t number, hl_text *lines) {
  hl_line_dropped(lines, &e->clock, number);
}

void hl_events_tick(hl_events *e, hl_text *lines) {
  e->failures = lines;
  if (e->alerts) hl_alerts_reap(e->alerts, failed, e);
}

void hl_events_counts(const hl_events *e, hl_monitor_stats *ret_stats) {
  ret_stats->slow = atomic_load_explicit(&e->slow, memory_order_relaxed);
  ret_stats->degradations = atomic_load_explicit(&e->degradations, memory_order_relaxed);
  ret_stats->changes = atomic_load_explicit(&e->changes, memory_order_relaxed);
  ret_stats->alerts = atomic_load_explicit(&e->alerts_sent, memory_order_relaxed);
  ret_stats->failed_alerts = atomic_load_explicit(&e->alerts_failed, memory_order_relaxed);
}
