#include "method/load-rules.h"

#include "statistics/early-stopping.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const mode_names[] = {
    [HL_LOAD_STRICT] = "strict", [HL_LOAD_NORMAL] = "normal", [HL_LOAD_QUICK] = "quick"};
static const char *const validity_names[] = {
    [HL_LOAD_VALID] = "VALID", [HL_LOAD_INVALID] = "INVALID", [HL_LOAD_UNCLAIMED] = "QUICK"};

/* A twentieth of the shortest run that a mode asks for: machines hesitate. */
static const uint64_t least_behind_ns = 500000000;

bool hl_load_mode_from_name(const char *name, hl_load_mode *ret_mode) {
  for (size_t i = 0; i < HL_COUNT(mode_names); i++)
    if (strcmp(name, mode_names[i]) == 0) {
      *ret_mode = (hl_load_mode)i;
      return true;
    }
  return false;
}

const char *hl_load_validity_name(hl_load_validity validity) {
  return (size_t)validity < HL_COUNT(validity_names) ? validity_names[validity] : "unknown";
}

hl_load_rules hl_load_rules_of(hl_load_mode mode, double percentile) {
  static const uint64_t seconds[] = {600, 60, 10};
  static const uint64_t samples[] = {24576, 2458, 410}; /* in proportion to the seconds */
  hl_load_rules r = {.mode = mode, .percentile = percentile};
  if (!(percentile > 0)) {
    r.min_queries = samples[mode];
    return r;
  }
  r.min_ns = seconds[mode] * 1000000000u;
  if (mode == HL_LOAD_QUICK) {
    r.min_queries = 1;
    return r;
  }
  /* One slow query is allowed, as in LoadGen: 64 for p90, 662 for p99. */
  r.min_queries = hl_early_stopping_passing(r.percentile, 0, HL_LOAD_CONFIDENCE, 1) + 1;
  return r;
}

uint64_t hl_load_allowed_slow(const hl_load_rules *rules, uint64_t queries) {
  return hl_early_stopping_allowed(rules->percentile, 0, HL_LOAD_CONFIDENCE, queries);
}

bool hl_load_holds(const hl_load_rules *rules, const hl_load_seen *seen) {
  if (!seen->has_target) return true;
  uint64_t queries = seen->queries + seen->unserved;
  if (rules->mode != HL_LOAD_QUICK) return seen->slow <= hl_load_allowed_slow(rules, queries);
  return (double)seen->slow <= (1 - rules->percentile) * (double)queries;
}

bool hl_load_fell_behind(const hl_load_seen *seen) {
  if (!(seen->rate > 0)) return false;
  if (seen->unserved > 0) return true;
  return seen->behind_ns > least_behind_ns && seen->behind_ns > seen->duration_ns / 20 &&
         seen->behind_ns > seen->target_ns;
}

static void add_reason(hl_text *reasons, const char *text) {
  if (reasons->length) hl_text_append(reasons, "; ");
  hl_text_append(reasons, text);
}

/* Who could not keep up is a matter of shares: engine and generator work in the same threads. */
static void add_behind(const hl_load_seen *seen, hl_text *reasons) {
  static const double engine_alone = 0.9;
  char text[200];
  double served = seen->duration_ns ? (double)seen->queries / (double)seen->duration_ns * 1e9 : 0;
  bool both = seen->busy < engine_alone;
  int digits = seen->rate < 1000 ? 1 : 0;
  snprintf(text, sizeof text, "fell %.3g s behind: served %.*f of %.*f queries/s",
           (double)seen->behind_ns / 1e9, digits, served, digits, seen->rate);
  add_reason(reasons, text);
  snprintf(text, sizeof text, "the engine was busy %.0f %% of the time%s", 100 * seen->busy,
           both ? ", the generator the rest" : "");
  add_reason(reasons, text);
}

hl_load_validity hl_load_judge(const hl_load_rules *rules, const hl_load_seen *seen,
                               hl_text *reasons) {
  char text[200];
  size_t before = reasons->length;
  if (seen->queries < rules->min_queries) {
    snprintf(text, sizeof text, "%" PRIu64 " queries, %" PRIu64 " are needed", seen->queries,
             rules->min_queries);
    add_reason(reasons, text);
  }
  if (rules->mode != HL_LOAD_QUICK && seen->duration_ns < rules->min_ns) {
    snprintf(text, sizeof text, "ran for %.1f s, %.0f s are needed",
             (double)seen->duration_ns / 1e9, (double)rules->min_ns / 1e9);
    add_reason(reasons, text);
  }
  if (seen->unserved) {
    snprintf(text, sizeof text, "%" PRIu64 " queries were due and not served in time",
             seen->unserved);
    add_reason(reasons, text);
  }
  if (hl_load_fell_behind(seen)) add_behind(seen, reasons);
  if (!hl_load_holds(rules, seen)) {
    uint64_t queries = seen->queries + seen->unserved;
    snprintf(text, sizeof text,
             "%" PRIu64 " of %" PRIu64 " queries took longer than the target, %" PRIu64
             " may for p%g",
             seen->slow, queries,
             rules->mode == HL_LOAD_QUICK ? (uint64_t)((1 - rules->percentile) * (double)queries)
                                          : hl_load_allowed_slow(rules, queries),
             rules->percentile * 100);
    add_reason(reasons, text);
  }
  if (reasons->length > before) return HL_LOAD_INVALID;
  return rules->mode == HL_LOAD_QUICK ? HL_LOAD_UNCLAIMED : HL_LOAD_VALID;
}
