/*
 * analyse/profile.h - a profile as a table: by operator, layer, kind or phase.
 *
 *     hl_profile_table table;
 *     status = hl_profile_tabulate(profile, HL_PROFILE_BY_LAYER, &table, error);
 *     for (size_t i = 0; i < table.count; i++) ... table.rows[i].self_ns ...
 *     hl_profile_table_release(&table);
 *
 * self: the time of its events less that of the events within them. total: with those, each
 * nanosecond once. On the thread that submits, the self times of all rows add up to the steps: what
 * no event covers is a row of its own, and so is what other threads and devices did meanwhile kept
 * apart (`aside`), which is no part of the sum.
 */
#ifndef HL_ANALYSE_PROFILE_H
#define HL_ANALYSE_PROFILE_H

#include "record/profile.h"

typedef enum hl_profile_by {
  HL_PROFILE_BY_OPERATOR, /* name, kind and phase */
  HL_PROFILE_BY_LAYER,
  HL_PROFILE_BY_KIND,
  HL_PROFILE_BY_PHASE,
  HL_PROFILE_BYS
} hl_profile_by;
const char *hl_profile_by_name(hl_profile_by by); /* "operator", ... */

typedef struct hl_profile_row {
  const char *name;  /* of the operator, layer, kind or phase; borrowed from the profile */
  const char *kind;  /* of an operator, and of a layer whose operators have one; else "" */
  const char *phase; /* of an operator; else "" */
  bool is_span;      /* holds others, and has only what they leave */
  bool is_gap;       /* what no event covers */
  bool aside;        /* another thread or a device: not in the sum */
  uint64_t calls;
  double self_ns, total_ns;      /* of all steps */
  double flops, bytes;           /* of all calls; NaN where it is not known of one */
  double memory_bytes;           /* the most of one call; NaN */
  double gflops, gbs, intensity; /* per second of total time; FLOPs for a byte */
  double roofline; /* share of what the machine gives at this intensity; 0.5 is half of it */
} hl_profile_row;

typedef struct hl_profile_table {
  hl_profile_row *rows; /* the largest self time first, the gap last */
  size_t count;
  double steps_ns;   /* of all steps */
  double covered_ns; /* of that, by rows that are neither the gap nor aside */
  size_t steps;
} hl_profile_table;

/* Events that no step holds are counted, too. OUT_OF_MEMORY. */
hl_status hl_profile_tabulate(const hl_profile *profile, hl_profile_by by,
                              hl_profile_table *ret_table, hl_error *error);
void hl_profile_table_release(hl_profile_table *table);

#endif
