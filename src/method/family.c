#include "method/family.h"

#include "method/pairing.h"
#include "statistics/distribution.h"
#include <math.h>
#include <stdlib.h>

static const double spread_level = 0.05;

/* Sums over the pairs of the processes. */
typedef struct spread {
  size_t processes;
  double mean;            /* of the processes' means */
  double deviation;       /* of the processes' means, n - 1 in the denominator */
  double between, within; /* sums of squares, as an analysis of variance has them */
} spread;

static spread spread_of(const hl_family_member *m) {
  spread s = {0};
  double means = 0, squares = 0, grand = 0;
  for (size_t i = 0; i < m->count; i++) grand += m->ratios[i] / (double)m->count;
  for (size_t first = 0, next; first < m->count; first = next) {
    double sum = 0;
    for (next = first; next < m->count && m->processes[next] == m->processes[first]; next++)
      sum += m->ratios[next];
    double n = (double)(next - first), mean = sum / n, before = means;
    s.processes++;
    means += (mean - means) / (double)s.processes;
    squares += (mean - before) * (mean - means);
    s.between += n * (mean - grand) * (mean - grand);
    for (size_t i = first; i < next; i++) s.within += (m->ratios[i] - mean) * (m->ratios[i] - mean);
  }
  s.mean = means;
  s.deviation = s.processes > 1 ? sqrt(squares / (double)(s.processes - 1)) : 0;
  return s;
}

/* P(F > f) = I_{d2 / (d2 + d1 f)}(d2 / 2, d1 / 2), and d1 f / d2 = between / within. */
static bool processes_differ(const spread *s, size_t count) {
  if (s->processes < 2 || count <= s->processes || !(s->between > 0)) return false;
  double d1 = (double)(s->processes - 1), d2 = (double)(count - s->processes);
  return hl_beta_regularised(s->within / (s->within + s->between), d2 / 2, d1 / 2) < spread_level;
}

static hl_status judge_at(const hl_family_member *m, double level, double margin,
                          hl_family_result *ret_result, hl_paired *ret_pair, hl_error *error) {
  hl_paired pair;
  hl_status status = hl_paired_estimate_at(m->ratios, m->count, level, &pair, error);
  if (status != HL_OK) return status;
  double detectable = hl_paired_detectable_at(pair.deviation, pair.n, level);
  spread s = spread_of(m);
  bool widened = false;
  if (processes_differ(&s, m->count)) {
    double error_of_mean = s.deviation / sqrt((double)s.processes);
    double half = hl_student_quantile(1 - level / 2, (double)(s.processes - 1)) * error_of_mean;
    widened = s.mean - half < pair.low || s.mean + half > pair.high;
    pair.low = fmin(pair.low, s.mean - half);
    pair.high = fmax(pair.high, s.mean + half);
    if (widened) detectable = hl_paired_detectable_at(s.deviation, s.processes, level);
  }
  *ret_result = (hl_family_result){.verdict = hl_pairing_verdict(&pair, margin),
                                   .ratio = exp(pair.estimate),
                                   .low = exp(pair.low),
                                   .high = exp(pair.high),
                                   .detectable = detectable,
                                   .level = level,
                                   .by_processes = widened};
  *ret_pair = pair;
  return HL_OK;
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
    distances[i] = isnan(pair.z) ? -1 : fabs(pair.z);
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
