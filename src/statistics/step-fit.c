#include "statistics/step-fit.h"

#include "statistics/percentile.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double value_most = 1e150, penalty = 4, noise_floor = 0.001, step_share = 0.1;

typedef struct breakpoint {
  double at, weight;
} breakpoint;

/* All there is while a series is fitted. */
typedef struct fitting {
  const double *values;
  size_t n;
  double *cost;       /* [last][first]: sum of |value - median| from first to last */
  double *best[2];    /* [end]: least cost of the first `end` values by k - 1 and by k levels */
  uint16_t *from;     /* [k][end]: where the last of k levels begins in that fit */
  size_t from_levels; /* k that `from` has room for */
  double *scratch;    /* n */
  double *errors;     /* n */
  breakpoint *breaks; /* n */
  hl_step_fit_result trial;
} fitting;

/* A value added to a set costs its distance to the set's medians, from the lower to the upper. */
static void costs_to(fitting *f, size_t last) {
  double *sorted = f->scratch, cost = 0;
  size_t count = 0;
  for (size_t first = last + 1; first-- > 0; count++) {
    double x = f->values[first];
    if (count) {
      double low = sorted[(count - 1) / 2], high = sorted[count / 2];
      cost += x < low ? low - x : x > high ? x - high : 0;
    }
    size_t low = 0, high = count;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (sorted[middle] < x)
        low = middle + 1;
      else
        high = middle;
    }
    memmove(sorted + low + 1, sorted + low, (count - low) * sizeof *sorted);
    sorted[low] = x;
    f->cost[last * f->n + first] = cost;
  }
}

/* Fits of k levels, k >= 1, from those of k - 1. A longer last level costs more, so that the search
 * ends where that alone costs more than the best. */
static void fit_levels(fitting *f, size_t k) {
  const double *before = f->best[0];
  double *now = f->best[1];
  uint16_t *from = f->from + k * (f->n + 1);
  for (size_t end = 0; end <= f->n; end++) {
    now[end] = (double)INFINITY;
    if (end < k * HL_STEP_LEAST && !(k == 1 && end == f->n)) continue;
    const double *cost = end ? f->cost + (end - 1) * f->n : f->cost;
    size_t latest = k == 1 ? 0 : end - HL_STEP_LEAST;
    for (size_t first = latest + 1; first-- > 0;) {
      if (cost[first] >= now[end]) break;
      if (before[first] + cost[first] < now[end]) {
        now[end] = before[first] + cost[first];
        from[end] = (uint16_t)first;
      }
    }
  }
  f->best[0] = now;
  f->best[1] = (double *)before;
}

static void read_trial(fitting *f, size_t k) {
  hl_step_fit_result *t = &f->trial;
  t->n = f->n;
  t->count = k;
  for (size_t level = k, end = f->n; level > 0; level--) {
    size_t first = f->from[level * (f->n + 1) + end], length = end - first;
    t->starts[level - 1] = first;
    memcpy(f->scratch, f->values + first, length * sizeof *f->scratch);
    t->levels[level - 1] = hl_median(f->scratch, length);
    for (size_t i = first; i < end; i++) f->errors[i] = f->values[i] - t->levels[level - 1];
    end = first;
  }
}

static int compare(const void *a, const void *b) {
  double x = ((const breakpoint *)a)->at, y = ((const breakpoint *)b)->at;
  return (x > y) - (x < y);
}

/* The rho within -1..1 of least sum |e_i - rho e_{i-1}|: a median of e_i / e_{i-1}, each weighing
 * |e_{i-1}|. */
static double best_rho(fitting *f) {
  size_t count = 0;
  double all = 0, below = 0;
  for (size_t i = 1; i < f->n; i++) {
    double weight = fabs(f->errors[i - 1]), at = f->errors[i] / f->errors[i - 1];
    if (!(weight > 0) || !isfinite(at)) continue;
    f->breaks[count++] = (breakpoint){at, weight};
    all += weight;
  }
  if (count == 0) return 0;
  qsort(f->breaks, count, sizeof *f->breaks, compare);
  size_t i = 0;
  while (i + 1 < count && below + f->breaks[i].weight < all / 2) below += f->breaks[i++].weight;
  return fmax(-1, fmin(1, f->breaks[i].at));
}

static double floor_of(const hl_step_fit_result *t) {
  double least = (double)INFINITY;
  for (size_t k = 1; k < t->count; k++) least = fmin(least, fabs(t->levels[k] - t->levels[k - 1]));
  return t->count > 2 ? fmax(noise_floor, step_share * least) : noise_floor;
}

static double penalty_of(const fitting *f) {
  return penalty * log((double)f->n) / (double)f->n;
}

static void judge_trial(fitting *f) {
  hl_step_fit_result *t = &f->trial;
  t->rho = best_rho(f);
  double sum = fabs(f->errors[0]);
  for (size_t i = 1; i < f->n; i++) sum += fabs(f->errors[i] - t->rho * f->errors[i - 1]);
  t->objective = penalty_of(f) * (double)t->count + log(floor_of(t) + sum);
}

static void keep_trial(const fitting *f, hl_step_fit_result *best) {
  const hl_step_fit_result *t = &f->trial;
  memcpy(best->starts, t->starts, t->count * sizeof *t->starts);
  memcpy(best->levels, t->levels, t->count * sizeof *t->levels);
  best->count = t->count;
  best->rho = t->rho;
  best->objective = t->objective;
}

static hl_status reserve_levels(fitting *f, size_t k, hl_error *error) {
  if (k < f->from_levels) return HL_OK;
  size_t levels = 2 * k + 8;
  uint16_t *from = realloc(f->from, levels * (f->n + 1) * sizeof *from);
  if (!from) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu levels", levels);
  f->from = from;
  f->from_levels = levels;
  return HL_OK;
}

static hl_status fit_all(fitting *f, hl_step_fit_result *ret, hl_error *error) {
  for (size_t last = 0; last < f->n; last++) costs_to(f, last);
  for (size_t end = 1; end <= f->n; end++) f->best[0][end] = (double)INFINITY;
  f->best[0][0] = 0;
  size_t most = f->n / HL_STEP_LEAST ? f->n / HL_STEP_LEAST : 1;
  for (size_t k = 1; k <= most; k++) {
    /* No fit of k levels or more can be below that, as sigma_0 is at least the floor. */
    if (k > 1 && penalty_of(f) * (double)k + log(noise_floor) >= ret->objective) break;
    hl_status status = reserve_levels(f, k, error);
    if (status != HL_OK) return status;
    fit_levels(f, k);
    read_trial(f, k);
    judge_trial(f);
    if (k == 1 || f->trial.objective < ret->objective) keep_trial(f, ret);
  }
  return HL_OK;
}

static hl_status check(const double *values, size_t n, hl_error *error) {
  if (n > HL_STEP_FIT_MOST)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%zu values; steps are looked for in %d at most", n, HL_STEP_FIT_MOST);
  for (size_t i = 0; i < n; i++)
    if (!(fabs(values[i]) <= value_most))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "value %zu is %g; a finite one below 1e150 is needed", i + 1, values[i]);
  return HL_OK;
}

static void release(fitting *f) {
  free(f->cost);
  free(f->best[0]);
  free(f->best[1]);
  free(f->from);
  free(f->scratch);
  free(f->errors);
  free(f->breaks);
  hl_step_fit_release(&f->trial);
}

static bool has_room(size_t n, hl_step_fit_result *result) {
  result->starts = calloc(n + 1, sizeof *result->starts);
  result->levels = calloc(n + 1, sizeof *result->levels);
  return result->starts && result->levels;
}

hl_status hl_step_fit(const double *log_values, size_t n, hl_step_fit_result *ret,
                      hl_error *error) {
  hl_status status = check(log_values, n, error);
  if (status != HL_OK) return status;
  hl_step_fit_result result = {.n = n, .objective = (double)NAN};
  fitting f = {.values = log_values, .n = n};
  f.cost = calloc(n * n + 1, sizeof *f.cost);
  f.best[0] = calloc(n + 1, sizeof(double));
  f.best[1] = calloc(n + 1, sizeof(double));
  f.scratch = calloc(n + 1, sizeof(double));
  f.errors = calloc(n + 1, sizeof(double));
  f.breaks = calloc(n + 1, sizeof *f.breaks);
  bool room = has_room(n, &result) && has_room(n, &f.trial);
  if (!room || !f.cost || !f.best[0] || !f.best[1] || !f.scratch || !f.errors || !f.breaks)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the fit of %zu values", n);
  else if (n)
    status = fit_all(&f, &result, error);
  release(&f);
  if (status == HL_OK)
    *ret = result;
  else
    hl_step_fit_release(&result);
  return status;
}

void hl_step_fit_release(hl_step_fit_result *result) {
  free(result->starts);
  free(result->levels);
  *result = (hl_step_fit_result){.objective = (double)NAN};
}
