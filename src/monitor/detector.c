#include "monitor/detector.h"

#include "monitor/change.h"
#include "monitor/sorted-window.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The inferences of one batch size. */
typedef struct series {
  uint32_t batch_size; /* 0: free */
  uint64_t used;       /* number of the inference that was its last */
  hl_sorted_window window;
  hl_change change;
  double *streak; /* throughputs of the last `persist` */
  size_t streak_count;
  uint64_t streak_ns; /* when it began */
  bool degraded;
  double held;         /* median before the degradation */
  size_t degraded_for; /* inferences since it began */
} series;

struct hl_detector {
  hl_detector_rules rules;
  uint64_t count;
  series all[HL_DETECTOR_SERIES];
};

const char *hl_detector_kind_name(hl_detector_kind kind) {
  static const char *const names[] = {"degraded", "recovered", "change", "settled"};
  return (size_t)kind < HL_COUNT(names) ? names[kind] : "unknown";
}

static hl_status check(const hl_detector_rules *r, hl_error *error) {
  if (r->window < HL_DETECTOR_LEAST || r->window > HL_DETECTOR_WINDOW_MOST)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "window %u; expected %d to %d", r->window,
                        HL_DETECTOR_LEAST, HL_DETECTOR_WINDOW_MOST);
  if (r->persist > r->window)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "persist %u; the window, %u, at most",
                        r->persist, r->window);
  if (!(r->drop > 0 && r->drop < 1))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "drop %g; expected 0 to 1, such as 0.8",
                        r->drop);
  if (!(r->change < 1)) /* negative: off */
    return hl_error_set(error, HL_INVALID_ARGUMENT, "change %g; below 1, such as 0.05", r->change);
  return HL_OK;
}

hl_status hl_detector_new(const hl_detector_rules *rules, hl_detector **ret_detector,
                          hl_error *error) {
  hl_detector_rules r = *rules;
  if (!r.window) r.window = 100;
  if (!r.persist) r.persist = 5;
  if (r.drop == 0) r.drop = 0.8;
  if (r.change == 0) r.change = 0.05;
  hl_status status = check(&r, error);
  if (status) return status;
  hl_detector *detector = calloc(1, sizeof *detector);
  if (!detector) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a detector");
  detector->rules = r;
  *ret_detector = detector;
  return HL_OK;
}

static void release(series *s) {
  hl_sorted_window_release(&s->window);
  free(s->streak);
  *s = (series){0};
}

void hl_detector_free(hl_detector *detector) {
  for (size_t i = 0; detector && i < HL_DETECTOR_SERIES; i++) release(&detector->all[i]);
  free(detector);
}

/* That of the batch size, in the place of the one unused for longest. NULL without memory. */
static series *find(hl_detector *d, uint32_t batch_size) {
  series *oldest = &d->all[0];
  for (size_t i = 0; i < HL_DETECTOR_SERIES; i++) {
    if (d->all[i].batch_size == batch_size) return &d->all[i];
    if (d->all[i].used < oldest->used) oldest = &d->all[i];
  }
  release(oldest);
  oldest->streak = calloc(d->rules.persist, sizeof *oldest->streak);
  if (!oldest->streak || !hl_sorted_window_init(&oldest->window, d->rules.window)) {
    release(oldest);
    return NULL;
  }
  oldest->batch_size = batch_size;
  hl_change_init(&oldest->change, fmax(d->rules.change, 0));
  return oldest;
}

static void tell(hl_detector_answer *answer, const series *s, hl_detector_kind kind,
                 uint64_t time_ns, uint64_t since_ns, double throughput, double baseline) {
  answer->events[answer->count++] = (hl_detector_event){.kind = kind,
                                                        .batch_size = s->batch_size,
                                                        .time_ns = time_ns,
                                                        .since_ns = since_ns,
                                                        .throughput = throughput,
                                                        .baseline = baseline,
                                                        .degraded = s->degraded};
}

/* Counts inferences in succession that are `as_expected` (slow while all is well, well while it is
 * degraded); true with the last that is needed. */
static bool persists(const hl_detector *d, series *s, bool as_expected, const hl_inference *record,
                     double throughput) {
  if (!as_expected) {
    s->streak_count = 0;
    return false;
  }
  if (s->streak_count == 0) s->streak_ns = record->time_ns;
  s->streak[s->streak_count++] = throughput;
  return s->streak_count >= d->rules.persist;
}

/* What is slow is the norm from here on. */
static void settle(series *s, const hl_inference *record, double throughput,
                   hl_detector_answer *answer) {
  s->degraded = false;
  s->streak_count = 0;
  hl_sorted_window_clear(&s->window);
  tell(answer, s, HL_DETECTED_SETTLED, record->time_ns, record->time_ns, throughput, s->held);
}

static void judge(const hl_detector *d, series *s, const hl_inference *record, double throughput,
                  hl_detector_answer *answer) {
  double median = s->degraded ? s->held : hl_sorted_window_median(&s->window);
  bool judged = s->degraded || s->window.count >= HL_DETECTOR_LEAST;
  bool slow = judged && throughput < d->rules.drop * median;
  if (s->degraded && !slow) hl_sorted_window_add(&s->window, throughput);
  if (slow) answer->slow = throughput / median;
  if (!persists(d, s, slow != s->degraded, record, throughput)) {
    if (s->degraded && ++s->degraded_for >= d->rules.window) settle(s, record, throughput, answer);
    return;
  }
  double level = hl_median(s->streak, s->streak_count);
  s->streak_count = 0;
  s->degraded = slow;
  s->degraded_for = 0;
  if (slow) s->held = median;
  tell(answer, s, slow ? HL_DETECTED_DEGRADED : HL_DETECTED_RECOVERED, record->time_ns,
       s->streak_ns, level, median);
}

hl_detector_answer hl_detector_add(hl_detector *d, const hl_inference *record) {
  hl_detector_answer answer = {.slow = (double)NAN};
  double throughput = record->batch_size / record->elapsed_s;
  if (!isfinite(throughput)) return answer; /* less than a time can be */
  series *s = find(d, record->batch_size);
  if (!s) return answer;
  s->used = ++d->count;
  if (!s->degraded) hl_sorted_window_add(&s->window, throughput);
  judge(d, s, record, throughput, &answer);
  hl_change_found found;
  if (d->rules.change > 0 &&
      hl_change_add(&s->change, log(record->elapsed_s), record->time_ns, &found)) {
    double size = s->batch_size;
    tell(&answer, s, HL_DETECTED_CHANGE, record->time_ns, found.since_ns, size / exp(found.after),
         size / exp(found.before));
  }
  return answer;
}
