/*
 * method/voiding.h - which pairs of a comparison do not count, because the machine disturbed one of
 * their turns.
 *
 *     hl_voiding v;
 *     hl_void_reason reasons[rounds];
 *     hl_voiding_judge(noise_a, noise_b, rounds, reasons, &v, error);
 *     if (reasons[i] == HL_VOID_NOT) ... the pair of round i counts ...
 *     hl_voiding_format(&v, &text);                        // "2 steal, 1 throttling"
 *
 * A turn is disturbed by
 *   suspended    the system slept
 *   steal        the hypervisor took more than 1 % of the CPUs' time for certain: what the ticks of
 *                /proc/stat can show by their rounding alone does not count
 *   throttling   a control group's quota held the worker back
 *   page faults  a page came from a disk
 *   preempted    the thread that steps waited for a CPU, or
 *   canary       the canary beside the turn lost time, much more than is usual in this comparison:
 *                by more than 10 % of the time and 5 deviations (1.4826 MAD) above the median of
 *                all turns of both sides. A machine that is always busy voids nothing by these two.
 * What is unknown disturbs nothing. A pair is void when either turn is disturbed, by the first
 * reason of this list that either has.
 *
 * Why this does not favour a side. A turn's noise goes along with its time, so a rule that looked
 * at one side would drop that side's slow turns and flatter it. Here the rule is the same function
 * of both turns, with bounds from both sides together, and both turns go: exchanging A and B
 * changes nothing but the sign of the log-ratios. In identical programs the turns of a round are
 * exchangeable, as a coin decides which comes first, so the log-ratios that stay are symmetric
 * about 0, which is all that the signed-rank test needs; with a true difference of speed they are
 * symmetric about that, as far as the machine's noise does not depend on which program runs.
 * Where it does, which is seen, voiding would be wrong: when disturbed turns fall on one side more
 * than chance allows (sign test of the rounds in which just one was, 1 %) they are what that
 * program does on this machine, and every pair counts (`one_sided`).
 *
 * Pure; thread-safe.
 */
#ifndef HL_METHOD_VOIDING_H
#define HL_METHOD_VOIDING_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hl_void_reason {
  HL_VOID_SUSPENDED,
  HL_VOID_STEAL,
  HL_VOID_THROTTLING,
  HL_VOID_FAULTS,
  HL_VOID_PREEMPTED,
  HL_VOID_CANARY,
  HL_VOID_REASONS,
  HL_VOID_NOT = HL_VOID_REASONS
} hl_void_reason;

/* What happened to one turn. A real that is not known is NaN. */
typedef struct hl_turn_noise {
  bool suspended;
  double steal_least; /* share of the CPUs' time, 0..1 (machine/counters.h) */
  double throttled_s;
  double wait_share; /* of the turn, 0..1 */
  double canary_lost;
  uint64_t major_faults;
} hl_turn_noise;

typedef struct hl_voiding {
  size_t counts[HL_VOID_REASONS]; /* void pairs; each counts once */
  size_t only_a, only_b;          /* rounds in which just that side was disturbed */
  bool one_sided;                 /* none is void, as all of it falls on one side */
} hl_voiding;

/* Judges `n` rounds of two sides; ret_reasons[i] is HL_VOID_NOT where the pair counts, else why
 * not. OUT_OF_MEMORY. */
hl_status hl_voiding_judge(const hl_turn_noise *a, const hl_turn_noise *b, size_t n,
                           hl_void_reason *ret_reasons, hl_voiding *ret_voiding, hl_error *error);

size_t hl_voiding_total(const hl_voiding *voiding);
/* Adds the counts of another comparison of the same sides; one_sided if one of them is. */
void hl_voiding_add(hl_voiding *to, const hl_voiding *from);
/* Appends "2 steal, 1 throttling"; nothing where nothing is void. */
void hl_voiding_format(const hl_voiding *voiding, hl_text *out);

#endif
