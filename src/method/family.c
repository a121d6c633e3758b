#include "method/family.h"

#include "base/text.h"
#include "method/pairing.h"
#include "statistics/distribution.h"
#include "statistics/percentile.h"
#include "statistics/step-down.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An interval so much wider than that of the pairs is worth a note. */
static const double noted_width = 2;
static const double power = 0.8;

/* What the processes say, each by the median of its pairs: it has few, and where the
 * Hodges-Lehmann estimate bears one wild pair of four the median bears two of five. */
typedef struct opinions {
  size_t count;
  double mean, deviation; /* n - 1 in the denominator; 0 for one process */
} opinions;

static hl_status opinions_of(const hl_family_member *m, opinions *ret, hl_error *error) {
  double mean = 0, squares = 0, *own = malloc((m->count + 1) * sizeof *own);
  if (!own) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu pairs", m->count);
  size_t count = 0;
  for (size_t first = 0, next = 0; first < m->count; first = next) {
    while (next < m->count && m->processes[next] == m->processes[first]) next++;
    memcpy(own, m->ratios + first, (next - first) * sizeof *own);
    double median = hl_median(own, next - first), before = mean;
    mean += (median - mean) / (double)++count;
    squares += (median - before) * (median - mean);
  }
  free(own);
  double deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
  *ret = (opinions){count, mean, deviation};
  return HL_OK;
}

/* Widens the interval of the pairs to hold Student's over the processes. Returns whether that is
 * worth a note. */
static bool widen(const opinions *o, double level, double margin, hl_paired *pair,
                  double *detectable) {
  /* One process tells nothing of others; one pair in each is what signed ranks are for. */
  if (o->count < 2 || o->count == pair->n || !isfinite(pair->low)) return false;
  double dof = (double)(o->count - 1), error_of_mean = o->deviation / sqrt((double)o->count);
  double quantile = hl_student_quantile(1 - level / 2, dof), half = quantile * error_of_mean;
  bool noted = 2 * half > noted_width * (pair->high - pair->low) && half > margin;
  pair->low = fmin(pair->low, o->mean - half);
  pair->high = fmax(pair->high, o->mean + half);
  double found = (quantile + hl_student_quantile(power, dof)) * error_of_mean;
  *detectable = fmax(*detectable, found);
  return noted;
}

static hl_status judge_at(const hl_family_member *m, double level, double margin,
                          hl_family_result *ret_result, hl_paired *ret_pair, hl_error *error) {
  hl_paired pair;
  opinions o = {0};
  hl_status status = hl_paired_estimate_at(m->ratios, m->count, level, &pair, error);
  if (status == HL_OK) status = opinions_of(m, &o, error);
  if (status != HL_OK) return status;
  double detectable = hl_paired_detectable_at(pair.deviation, pair.n, level);
  bool by_processes = widen(&o, level, margin, &pair, &detectable);
  *ret_result = (hl_family_result){.verdict = hl_pairing_verdict(&pair, margin),
                                   .ratio = exp(pair.estimate),
                                   .low = exp(pair.low),
                                   .high = exp(pair.high),
                                   .detectable = detectable,
                                   .level = level,
                                   .by_processes = by_processes};
  *ret_pair = pair;
  return HL_OK;
}

/* How far the estimate is from no difference, in half widths of its interval; -1: unknown. */
static double distance_of(const hl_paired *pair) {
  double half = (pair->high - pair->low) / 2, estimate = fabs(pair->estimate);
  if (isnan(half)) return -1;
  return half > 0 ? estimate / half : estimate > 0 ? (double)INFINITY : 0;
}

typedef struct family {
  const hl_family_member *members;
  double margin;
  hl_family_result *results;
} family;

static hl_status judge_member(void *context, size_t i, double level, bool *ret_differs,
                              hl_error *error) {
  const family *f = context;
  hl_paired pair = {0};
  hl_status status = judge_at(&f->members[i], level, f->margin, &f->results[i], &pair, error);
  *ret_differs = pair.low > 0 || pair.high < 0;
  return status;
}

hl_status hl_family_judge(const hl_family_member *members, size_t count, double alpha,
                          double margin, hl_family_result *ret_results, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) double *distances = calloc(count + 1, sizeof *distances);
  if (!distances) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  for (size_t i = 0; i < count; i++) {
    hl_paired pair = {0};
    hl_status status = judge_at(&members[i], alpha, margin, &ret_results[i], &pair, error);
    if (status != HL_OK) return status;
    distances[i] = distance_of(&pair);
  }
  family f = {members, margin, ret_results};
  return hl_step_down(distances, count, alpha, judge_member, &f, error);
}
