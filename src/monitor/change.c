#include "monitor/change.h"

#include "statistics/percentile.h"
#include "statistics/step-fit.h"
#include <math.h>
#include <string.h>

/* Of the reference's deviation: what a sum forgets with each block, and where the gate opens. The
 * step fit behind it holds the rate of false alarms; a lower gate costs time only. */
static const double allowance = 0.5, gate = 5;
/* No machine is steadier than 0.5 % from block to block for long. */
static const double scale_least = 0.005;
static const double mad_to_deviation = 1.4826;
enum { REFUSED_MOST = 64 };

void hl_change_init(hl_change *c, double least_ratio) {
  *c = (hl_change){.least = log1p(least_ratio)};
}

static double median_of(const double *values, size_t n) {
  double copy[HL_DETECTOR_BLOCKS];
  memcpy(copy, values, n * sizeof *copy);
  return hl_median(copy, n);
}

/* The last HL_DETECTOR_REFERENCE blocks are the norm from now on. */
static void take_reference(hl_change *c) {
  const double *last = c->medians + c->count - HL_DETECTOR_REFERENCE;
  double deviations[HL_DETECTOR_REFERENCE];
  c->centre = median_of(last, HL_DETECTOR_REFERENCE);
  for (size_t i = 0; i < HL_DETECTOR_REFERENCE; i++) deviations[i] = fabs(last[i] - c->centre);
  c->scale = fmax(mad_to_deviation * median_of(deviations, HL_DETECTOR_REFERENCE), scale_least);
  c->up = c->down = 0;
  c->refused = 0;
  c->has_reference = true;
}

static void forget_before(hl_change *c, size_t first) {
  memmove(c->medians, c->medians + first, (c->count - first) * sizeof *c->medians);
  memmove(c->starts_ns, c->starts_ns + first, (c->count - first) * sizeof *c->starts_ns);
  c->count -= first;
}

/* The last step of the fit, if it is large enough and in the direction of the sum. */
static bool judge(hl_change *c, hl_change_found *ret_found) {
  hl_step_fit_result fit;
  if (hl_step_fit(c->medians, c->count, &fit, NULL) != HL_OK) return false;
  bool found = false;
  if (fit.count > 1) {
    size_t start = fit.starts[fit.count - 1];
    double before = fit.levels[fit.count - 2], after = fit.levels[fit.count - 1];
    found = fabs(after - before) >= c->least && (after > before) == (c->up > c->down);
    if (found) {
      *ret_found =
          (hl_change_found){.since_ns = c->starts_ns[start], .before = before, .after = after};
      forget_before(c, start);
      c->has_reference = false;
    }
  }
  hl_step_fit_release(&fit);
  return found;
}

/* A fit takes a millisecond: after 1, 2, 3, 4, 6, 8, 12, 16, ... blocks beyond the gate. */
static bool is_due(size_t refused) {
  size_t power = 1;
  while (2 * power <= refused) power *= 2;
  return refused == power || refused == power + power / 2;
}

static bool add_block(hl_change *c, double median, uint64_t start_ns, hl_change_found *ret_found) {
  if (c->count == HL_DETECTOR_BLOCKS) forget_before(c, 1);
  c->medians[c->count] = median;
  c->starts_ns[c->count++] = start_ns;
  if (!c->has_reference) {
    if (c->count >= HL_DETECTOR_REFERENCE) take_reference(c);
    return false;
  }
  double z = (median - c->centre) / c->scale;
  c->up = fmax(0, c->up + z - allowance);
  c->down = fmax(0, c->down - z - allowance);
  if (fmax(c->up, c->down) < gate) {
    c->refused = 0;
    return false;
  }
  if (is_due(++c->refused) && judge(c, ret_found)) return true;
  /* A drift below what counts: the norm follows it. */
  if (c->refused > REFUSED_MOST) take_reference(c);
  return false;
}

bool hl_change_add(hl_change *c, double log_value, uint64_t time_ns, hl_change_found *ret_found) {
  if (c->in_block == 0) c->block_ns = time_ns;
  c->block[c->in_block++] = log_value;
  if (c->in_block < HL_DETECTOR_BLOCK) return false;
  c->in_block = 0;
  return add_block(c, hl_median(c->block, HL_DETECTOR_BLOCK), c->block_ns, ret_found);
}
