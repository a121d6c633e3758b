/*
 * monitor/change.h - changes of level in a series that arrives value by value: a CUSUM as the gate,
 * a step fit as the judge. The rules are in monitor/detector.h.
 *
 *     hl_change change;
 *     hl_change_init(&change, 0.05);
 *     hl_change_found found;
 *     if (hl_change_add(&change, log(elapsed_s), time_ns, &found)) ...
 *
 * Does not hold memory; a step fit takes some while it runs. One thread.
 */
#ifndef HL_MONITOR_CHANGE_H
#define HL_MONITOR_CHANGE_H

#include "monitor/detector.h"

typedef struct hl_change {
  double least; /* |log ratio| of a change that counts */
  double block[HL_DETECTOR_BLOCK];
  size_t in_block;
  uint64_t block_ns;                  /* of its first value */
  double medians[HL_DETECTOR_BLOCKS]; /* oldest first */
  uint64_t starts_ns[HL_DETECTOR_BLOCKS];
  size_t count;
  bool has_reference;
  double centre, scale; /* of the reference: median, and deviation by the median's deviation */
  double up, down;      /* the two sums */
  size_t refused; /* blocks for which the sums were beyond the gate and the fit found nothing */
} hl_change;

typedef struct hl_change_found {
  uint64_t since_ns;
  double before, after; /* levels of the logarithm */
} hl_change_found;

void hl_change_init(hl_change *change, double least_ratio);
/* True at the end of a block with which a change is found; it is the new reference then. */
bool hl_change_add(hl_change *change, double log_value, uint64_t time_ns,
                   hl_change_found *ret_found);

#endif
