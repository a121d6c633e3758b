/* Ratios of high percentiles, of the steps themselves. */
#include "analyse/stored-internal.h"

#include "statistics/bootstrap.h"
#include <math.h>
#include <stdlib.h>

/* The bootstrap of so many steps of each side takes seconds. */
enum { STEPS_MOST = 1 << 18 };

/* A series of steps in order, in nanoseconds: free() it. NULL with the reason where there is none.
 */
static double *series_of(const hl_record *r, const char **ret_reason) {
  if (!r->samples_ns || r->sample_count == 0 || hl__stored_order_is_lost(r)) {
    *ret_reason = "the order of the steps is not known";
    return NULL;
  }
  if (r->steps_per_sample > 1) {
    *ret_reason = "steps are timed in groups";
    return NULL;
  }
  if (r->sample_count > STEPS_MOST) {
    *ret_reason = "there are more than 262144 steps";
    return NULL;
  }
  *ret_reason = "no memory";
  double *series = malloc(r->sample_count * sizeof *series);
  for (size_t i = 0; series && i < r->sample_count; i++) {
    series[i] = (double)r->samples_ns[i];
    if (r->samples_ns[i]) continue;
    *ret_reason = "a step took no time";
    free(series);
    return NULL;
  }
  return series;
}

typedef struct tail {
  double percent;
  double *ratio;
  hl_pair *ci;
} tail;

hl_status hl__stored_tails(const hl_record *a, const hl_record *b, double shift, uint64_t seed,
                           hl_comparison *comparison, hl_error *error) {
  const tail tails[] = {{95, &comparison->p95_ratio, &comparison->p95_ratio_ci},
                        {99, &comparison->p99_ratio, &comparison->p99_ratio_ci}};
  const char *reason = NULL;
  HL_CLEANUP(hl_free_pointer) double *of_a = series_of(a, &reason);
  HL_CLEANUP(hl_free_pointer) double *of_b = of_a ? series_of(b, &reason) : NULL;
  if (!of_a || !of_b) {
    hl__stored_note(comparison, "no ratio of p95 and p99: %s", reason);
    return HL_OK;
  }
  for (size_t i = 0; i < HL_COUNT(tails); i++) {
    const hl_bootstrap_options options = {.percent = tails[i].percent, .seed = seed};
    hl_bootstrap_ratio r;
    hl_status status = hl_bootstrap_percentile_ratio(of_a, a->sample_count, of_b, b->sample_count,
                                                     &options, &r, error);
    if (status != HL_OK) return status;
    if (!isfinite(r.low)) {
      /* what has too few steps for a percentile has too few for a higher one */
      hl__stored_note(comparison, i == 0 ? "no ratio of p95 and p99: too few steps"
                                         : "no ratio of p99: too few steps");
      break;
    }
    double factor = exp(shift);
    *tails[i].ratio = r.ratio * factor;
    *tails[i].ci = (hl_pair){r.low * factor, r.high * factor};
  }
  return HL_OK;
}
