#include "method/voiding.h"

#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>

static const double steal_most = 0.01, unusual_share = 0.1, unusual_deviations = 5;
/* Of a normal distribution, the deviation over the median absolute deviation. */
static const double mad_to_deviation = 1.4826;
static const double one_sided_level = 0.01;

typedef struct bounds {
  double wait, canary; /* NaN: not known, and nothing is beyond */
} bounds;

/* The bound of what is usual among `n` values, which are reordered. */
static double usual_most(double *values, size_t n) {
  double median = hl_median(values, n);
  for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
  double deviation = mad_to_deviation * hl_median(values, n);
  return median + fmax(unusual_share, unusual_deviations * deviation);
}

static size_t keep_known(double value, double *values, size_t n) {
  if (isfinite(value)) values[n++] = value;
  return n;
}

static bounds bounds_of(const hl_turn_noise *a, const hl_turn_noise *b, size_t n, double *scratch) {
  bounds found;
  size_t known = 0;
  for (size_t i = 0; i < n; i++) {
    known = keep_known(a[i].wait_share, scratch, known);
    known = keep_known(b[i].wait_share, scratch, known);
  }
  found.wait = usual_most(scratch, known);
  known = 0;
  for (size_t i = 0; i < n; i++) {
    known = keep_known(a[i].canary_lost, scratch, known);
    known = keep_known(b[i].canary_lost, scratch, known);
  }
  found.canary = usual_most(scratch, known);
  return found;
}

static hl_void_reason reason_of(const hl_turn_noise *turn, const bounds *most) {
  if (turn->suspended) return HL_VOID_SUSPENDED;
  if (turn->steal_least > steal_most) return HL_VOID_STEAL;
  if (turn->throttled_s > 0) return HL_VOID_THROTTLING;
  if (turn->major_faults > 0) return HL_VOID_FAULTS;
  if (turn->wait_share > most->wait) return HL_VOID_PREEMPTED;
  if (turn->canary_lost > most->canary) return HL_VOID_CANARY;
  return HL_VOID_NOT;
}

/* Two-sided sign test: is a split of `few` to `many` rarer than the level under a fair coin? Terms
 * are logarithms, as 2^-n is 0 in double precision from 1075 rounds on. */
static bool is_one_sided(size_t few, size_t many) {
  double n = (double)(few + many), log_term = -n * log(2), sum = 0;
  if (few > many) return is_one_sided(many, few);
  for (size_t k = 0; k <= few; k++) {
    sum += exp(log_term);
    log_term += log((n - (double)k) / (double)(k + 1));
  }
  return few + many > 0 && 2 * sum < one_sided_level;
}

hl_status hl_voiding_judge(const hl_turn_noise *a, const hl_turn_noise *b, size_t n,
                           hl_void_reason *ret_reasons, hl_voiding *ret_voiding, hl_error *error) {
  hl_voiding v = {0};
  double *scratch = malloc((2 * n + 1) * sizeof *scratch);
  if (!scratch) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu pairs", n);
  const bounds most = bounds_of(a, b, n, scratch);
  free(scratch);
  for (size_t i = 0; i < n; i++) {
    hl_void_reason of_a = reason_of(&a[i], &most), of_b = reason_of(&b[i], &most);
    ret_reasons[i] = of_a < of_b ? of_a : of_b;
    v.only_a += of_a != HL_VOID_NOT && of_b == HL_VOID_NOT;
    v.only_b += of_b != HL_VOID_NOT && of_a == HL_VOID_NOT;
    if (ret_reasons[i] != HL_VOID_NOT) v.counts[ret_reasons[i]]++;
  }
  if (is_one_sided(v.only_a, v.only_b)) {
    v = (hl_voiding){.only_a = v.only_a, .only_b = v.only_b, .one_sided = true};
    for (size_t i = 0; i < n; i++) ret_reasons[i] = HL_VOID_NOT;
  }
  *ret_voiding = v;
  return HL_OK;
}

size_t hl_voiding_total(const hl_voiding *voiding) {
  size_t total = 0;
  for (size_t i = 0; i < HL_VOID_REASONS; i++) total += voiding->counts[i];
  return total;
}

void hl_voiding_add(hl_voiding *to, const hl_voiding *from) {
  for (size_t i = 0; i < HL_VOID_REASONS; i++) to->counts[i] += from->counts[i];
  to->only_a += from->only_a;
  to->only_b += from->only_b;
  to->one_sided = to->one_sided || from->one_sided;
}

void hl_voiding_format(const hl_voiding *voiding, hl_text *out) {
  static const char *const names[HL_VOID_REASONS] = {"suspended",   "steal",     "throttling",
                                                     "page faults", "preempted", "canary"};
  bool first = true;
  for (size_t i = 0; i < HL_VOID_REASONS; i++) {
    if (voiding->counts[i] == 0) continue;
    hl_text_format(out, "%s%zu %s", first ? "" : ", ", voiding->counts[i], names[i]);
    first = false;
  }
}
