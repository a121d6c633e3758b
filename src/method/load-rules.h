/*
 * method/load-rules.h - how long a load scenario has to run, and whether its result may be claimed.
 *
 *     hl_load_rules rules = hl_load_rules_of(HL_LOAD_NORMAL, 0.99);
 *     ... run for rules.min_ns and rules.min_queries ...
 *     hl_load_judge(&rules, &seen, &verdict);       // VALID, INVALID with reasons, or QUICK
 *
 * After MLPerf LoadGen: a result is VALID if the run was long enough, had enough queries, and the
 * share of queries above the target latency is known to be small enough by early stopping
 * (statistics/early-stopping.h) with 99 % confidence. Pure.
 */
#ifndef HL_METHOD_LOAD_RULES_H
#define HL_METHOD_LOAD_RULES_H

#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* 600 s, 60 s and 10 s. A quick run claims no validity. */
typedef enum hl_load_mode { HL_LOAD_STRICT, HL_LOAD_NORMAL, HL_LOAD_QUICK } hl_load_mode;
bool hl_load_mode_from_name(const char *name, hl_load_mode *ret_mode);

#define HL_LOAD_CONFIDENCE 0.99

typedef struct hl_load_rules {
  hl_load_mode mode;
  double percentile;    /* of the latency, as 0.99; 0: Offline has none */
  uint64_t min_ns;      /* 0 of Offline, which ends when all is done */
  uint64_t min_queries; /* as the percentile needs; of Offline 24576, fewer by mode */
} hl_load_rules;

hl_load_rules hl_load_rules_of(hl_load_mode mode, double percentile);

typedef struct hl_load_seen {
  uint64_t queries, unserved, duration_ns;
  uint64_t slow;      /* queries above the target latency, unserved ones included */
  bool has_target;    /* Server; others only if the user gave one */
  uint64_t target_ns; /* where there is one */
  double rate;        /* Server: queries a second that were asked for; else 0 */
  uint64_t behind_ns; /* Server: how late the last query was taken */
  double busy;        /* share of the instances' time that the engine took, 0 .. 1 */
} hl_load_seen;

typedef enum hl_load_validity {
  HL_LOAD_VALID,
  HL_LOAD_INVALID,
  HL_LOAD_UNCLAIMED
} hl_load_validity;
const char *hl_load_validity_name(hl_load_validity validity); /* "VALID", "INVALID", "QUICK" */

/* Fewer slow queries than this pass: the largest t with h(t) + t <= queries, or 0. */
uint64_t hl_load_allowed_slow(const hl_load_rules *rules, uint64_t queries);

/* Does the target hold, however short the run? What a search for the largest rate asks. */
bool hl_load_holds(const hl_load_rules *rules, const hl_load_seen *seen);

/* Server: whether the last query was taken later than the target, half a second and a twentieth of
 * the run, or queries were left: then the rate was not what is named, and latencies grow with the
 * run. */
bool hl_load_fell_behind(const hl_load_seen *seen);

/* Appends each reason to `reasons`, separated by "; ". A quick run may be as short as it likes; it
 * is INVALID where the target does not hold or it fell behind, else QUICK. */
hl_load_validity hl_load_judge(const hl_load_rules *rules, const hl_load_seen *seen,
                               hl_text *reasons);

#endif
