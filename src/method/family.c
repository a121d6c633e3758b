#include "method/family.h"

#include "method/pairing.h"
#include "statistics/distribution.h"
#include "statistics/percentile.h"
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

/* The candidate farthest from no difference among those that are not judged yet. */
static size_t farthest(const double *distances, const bool *judged, size_t count) {
  size_t best = count;
  for (size_t i = 0; i < count; i++)
    if (!judged[i] && (best == count || distances[i] > distances[best])) best = i;
  return best;
}

static hl_status judge_all(const hl_family_member *members, size_t count, double alpha,
                           double margin, double *distances, bool *judged,
                           hl_family_result *ret_results, hl_error *error) {
  hl_status status = HL_OK;
  hl_paired pair = {0};
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    status = judge_at(&members[i], alpha, margin, &ret_results[i], &pair, error);
    distances[i] = distance_of(&pair);
  }
  size_t left = count; /* the divisor of the level */
  bool stopped = false;
  for (size_t k = 0; k < count && status == HL_OK; k++) {
    size_t i = farthest(distances, judged, count);
    if (i == count) break;
    judged[i] = true;
    status = judge_at(&members[i], alpha / (double)left, margin, &ret_results[i], &pair, error);
    stopped = stopped || !(pair.low > 0 || pair.high < 0);
    if (!stopped) left--;
  }
  return status;
}

hl_status hl_family_judge(const hl_family_member *members, size_t count, double alpha,
                          double margin, hl_family_result *ret_results, hl_error *error) {
  double *distances = calloc(count + 1, sizeof *distances);
  bool *judged = calloc(count + 1, sizeof *judged);
  hl_status status =
      distances && judged
          ? judge_all(members, count, alpha, margin, distances, judged, ret_results, error)
          : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  free(distances);
  free(judged);
  return status;
}
