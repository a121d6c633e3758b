#include "statistics/bootstrap.h"

#include "base/splitmix.h"
#include "statistics/series.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const size_t values_most = (size_t)1 << 20;
enum { RESAMPLES_MOST = 1000000 };

/* A series that is resampled by the ranks of its values: counting them sorts a resample. */
typedef struct source {
  size_t n, block;
  double *sorted;
  uint32_t *ranks;  /* of each value in order */
  uint32_t *counts; /* of each rank in this resample */
} source;

typedef struct placed {
  double value;
  uint32_t place;
} placed;

static int compare(const void *a, const void *b) {
  double x = ((const placed *)a)->value, y = ((const placed *)b)->value;
  return (x > y) - (x < y);
}

size_t hl_bootstrap_block(size_t n, double rho) {
  if (n < 8) return 1;
  double r = fmin(fabs(rho), 0.99), ratio = r / (1 - r * r);
  double length = cbrt(6 * ratio * ratio * (double)n);
  return (size_t)fmin(fmax(ceil(length), ceil(cbrt((double)n))), floor((double)n / 4));
}

static void source_release(source *s) {
  free(s->sorted);
  free(s->ranks);
  free(s->counts);
}

static hl_status source_init(source *s, const double *values, size_t n, size_t block,
                             hl_error *error) {
  placed *order = malloc((n + 1) * sizeof *order);
  *s = (source){.n = n, .block = block};
  s->sorted = malloc((n + 1) * sizeof *s->sorted);
  s->ranks = malloc((n + 1) * sizeof *s->ranks);
  s->counts = malloc((n + 1) * sizeof *s->counts);
  if (!order || !s->sorted || !s->ranks || !s->counts) {
    free(order);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to resample %zu values", n);
  }
  for (size_t i = 0; i < n; i++) order[i] = (placed){values[i], (uint32_t)i};
  qsort(order, n, sizeof *order, compare);
  for (size_t rank = 0; rank < n; rank++) {
    s->sorted[rank] = order[rank].value;
    s->ranks[order[rank].place] = (uint32_t)rank;
  }
  free(order);
  if (s->block == 0) s->block = hl_bootstrap_block(n, hl_autocorrelation(values, n));
  if (s->block > n) s->block = n;
  return HL_OK;
}

static void draw(source *s, uint64_t *random) {
  memset(s->counts, 0, s->n * sizeof *s->counts);
  for (size_t filled = 0; filled < s->n;) {
    /* The bias of a remainder of 64 bits is below 2^-43. */
    size_t first = (size_t)(hl_splitmix(random) % (s->n - s->block + 1));
    size_t count = s->block < s->n - filled ? s->block : s->n - filled;
    for (size_t i = 0; i < count; i++) s->counts[s->ranks[first + i]]++;
    filled += count;
  }
}

/* Two neighbouring values of the resample, from place `index`. */
static void values_at(const source *s, size_t index, double ret_values[2]) {
  size_t rank = 0, seen = s->counts[0];
  while (seen <= index) seen += s->counts[++rank];
  ret_values[0] = s->sorted[rank];
  while (seen <= index + 1 && rank + 1 < s->n) seen += s->counts[++rank];
  ret_values[1] = s->sorted[rank];
}

static double resampled(const source *s, const hl_percentile_place *place) {
  double values[2];
  values_at(s, place->index, values);
  return hl_percentile_between(values[0], place->share, values[1]);
}

static hl_status check(const double *values, size_t n, const char *name, hl_error *error) {
  if (n > values_most)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu values of %s; at most %zu are resampled",
                        n, name, values_most);
  for (size_t i = 0; i < n; i++)
    if (!(values[i] > 0) || !isfinite(values[i]))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "value %zu of %s is %g; a positive, finite one is needed", i + 1, name,
                          values[i]);
  return HL_OK;
}

static hl_status check_options(const hl_bootstrap_options *o, hl_error *error) {
  if (!(o->percent > 0 && o->percent < 100))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "percentile %g is not within 0..100",
                        o->percent);
  if (!(o->level >= 0 && o->level < 0.5))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "level %g is not within 0..0.5", o->level);
  if (o->resamples && (o->resamples < HL_BOOTSTRAP_RESAMPLES || o->resamples > RESAMPLES_MOST))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu resamples are not within %d..%d",
                        o->resamples, HL_BOOTSTRAP_RESAMPLES, RESAMPLES_MOST);
  return HL_OK;
}

static bool long_enough(const double *values, size_t n, double percent) {
  hl_order_ranks ranks;
  return hl_percentile_ranks(hl_effective_count(n, hl_autocorrelation(values, n)), percent, &ranks);
}

static hl_status interval(source *a, source *b, const hl_bootstrap_options *o,
                          hl_bootstrap_ratio *ret, hl_error *error) {
  size_t count = o->resamples ? o->resamples : HL_BOOTSTRAP_RESAMPLES;
  double level = o->level > 0 ? o->level : 0.05;
  double *ratios = malloc(count * sizeof *ratios);
  if (!ratios) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu resamples", count);
  uint64_t random = o->seed;
  hl_percentile_place of_a = hl_percentile_place_of(a->n, o->percent, o->rule);
  hl_percentile_place of_b = hl_percentile_place_of(b->n, o->percent, o->rule);
  for (size_t i = 0; i < count; i++) {
    draw(a, &random);
    draw(b, &random);
    ratios[i] = resampled(a, &of_a) / resampled(b, &of_b);
  }
  hl_sort(ratios, count);
  ret->low = hl_percentile(ratios, count, 100 * level / 2, HL_PERCENTILE_LINEAR);
  ret->high = hl_percentile(ratios, count, 100 - 100 * level / 2, HL_PERCENTILE_LINEAR);
  free(ratios);
  return HL_OK;
}

hl_status hl_bootstrap_percentile_ratio(const double *a, size_t n_a, const double *b, size_t n_b,
                                        const hl_bootstrap_options *options,
                                        hl_bootstrap_ratio *ret, hl_error *error) {
  hl_status status = check_options(options, error);
  if (status == HL_OK) status = check(a, n_a, "a", error);
  if (status == HL_OK) status = check(b, n_b, "b", error);
  if (status != HL_OK) return status;
  double nan = (double)NAN;
  hl_bootstrap_ratio out = {nan, nan, nan};
  source of_a = {0}, of_b = {0};
  status = source_init(&of_a, a, n_a, options->block, error);
  if (status == HL_OK) status = source_init(&of_b, b, n_b, options->block, error);
  if (status == HL_OK) {
    out.ratio = hl_percentile(of_a.sorted, n_a, options->percent, options->rule) /
                hl_percentile(of_b.sorted, n_b, options->percent, options->rule);
    if (long_enough(a, n_a, options->percent) && long_enough(b, n_b, options->percent))
      status = interval(&of_a, &of_b, options, &out, error);
  }
  source_release(&of_a);
  source_release(&of_b);
  if (status == HL_OK) *ret = out;
  return status;
}
