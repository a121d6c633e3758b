#include "analyse/duration.h"

#include "base/text.h"
#include "statistics/line.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most = 1024 };

/* Rows like the one that is asked for: ms of a step, of setting up, of warming up and measuring. */
typedef struct like {
  double batch[most], step[most], setup[most], work[most], warmup[most];
  size_t count;
} like;

static bool is_like(const hl_record *r, const hl_duration_query *q) {
  return hl_record_passed(r) && r->workload && strcmp(r->workload, HL_WORKLOAD_INFERENCE) == 0 &&
         hl_text_same(r->model, q->model) && hl_text_same(r->engine, q->engine) &&
         hl_text_same(r->dtype, q->dtype) && hl_text_same(r->device_id, q->device) &&
         r->threads == q->threads && r->batch_size >= 1 && r->latency_mean_ms > 0;
}

static double known(double value) {
  return isfinite(value) ? value : 0;
}

static void gather(const hl_records *stored, const hl_duration_query *q, like *ret) {
  ret->count = 0;
  for (size_t i = 0; i < stored->count && ret->count < most; i++) {
    const hl_record *r = &stored->items[i];
    if (!is_like(r, q)) continue;
    size_t n = ret->count++;
    int64_t steps = r->measurement_iterations == HL_INT_NULL ? 0 : r->measurement_iterations;
    ret->batch[n] = (double)r->batch_size;
    ret->step[n] = r->latency_mean_ms;
    ret->setup[n] = known(r->load_ms) + known(r->prepare_ms) + known(r->first_call_ms);
    ret->warmup[n] = known(r->warmup_ms);
    ret->work[n] = ret->warmup[n] + (double)steps * r->latency_mean_ms;
  }
}

/* Of the values whose batch is `batch`, of all for NaN; NaN where there are none. */
static double median(const like *l, const double *values, double batch) {
  double kept[most];
  size_t n = 0;
  for (size_t i = 0; i < l->count; i++)
    if (isnan(batch) || l->batch[i] == batch) kept[n++] = values[i];
  return hl_median(kept, n);
}

/* At the batch itself, else by a line through the others; not below the least of them, which a line
 * with a negative part would reach. */
static double at_batch(const like *l, const double *values, const double *weights, double batch) {
  double exact = median(l, values, batch);
  if (isfinite(exact)) return exact;
  hl_line line;
  if (!hl_line_fit(l->batch, values, weights, l->count, &line)) return (double)NAN;
  double least = values[0];
  for (size_t i = 1; i < l->count; i++) least = fmin(least, values[i]);
  return fmax(line.a0 + line.a1 * batch, least);
}

/* ms of warming up and measuring. */
static double work_ms(const like *l, const hl_duration_query *q, double step) {
  double batch = (double)q->batch_size, longest = q->max_time_s * 1e3;
  double usual = median(l, l->work, batch);
  if (!isfinite(usual)) usual = median(l, l->work, (double)NAN);
  double work = fmax(usual, fmax(q->min_time_s * 1e3, step));
  if (q->steps > 0) {
    double warmup =
        q->warmup_steps >= 0 ? (double)q->warmup_steps * step : median(l, l->warmup, (double)NAN);
    work = warmup + (double)q->steps * step;
  }
  /* A step is not broken off. */
  return isfinite(longest) ? fmin(work, longest + step) : work;
}

double hl_duration_estimate(const hl_records *stored, const hl_duration_query *query) {
  like *l = malloc(sizeof *l);
  double weights[most], seconds = (double)NAN;
  if (!l) return seconds;
  gather(stored, query, l);
  for (size_t i = 0; i < l->count; i++) weights[i] = 1 / (l->step[i] * l->step[i]);
  double batch = (double)query->batch_size;
  double step = at_batch(l, l->step, weights, batch);
  double setup = at_batch(l, l->setup, NULL, batch);
  if (isfinite(step)) seconds = (known(setup) + work_ms(l, query, step)) / 1e3;
  free(l);
  return seconds;
}
