/*
 * method/warmup.h - runs steps until their time is steady, within a cap.
 *
 *     hl_warmup w;
 *     hl_warmup_init(&w, &(hl_warmup_options){.fixed_steps = -1, .row_ns = 30000000000});
 *     hl_slice_request request;
 *     while (hl_warmup_next(&w, &request)) {
 *       ... run it in the worker ...
 *       hl_warmup_add(&w, &slice, error);
 *     }
 *     record->steady = hl_warmup_steady(&w);
 *
 * The first 3 steps are dropped. Then blocks of at least 100 ms and 10 steps, shrunk to fit the cap
 * of 30 % of the row's time but never below 2 steps. Steady: over the last 5 blocks |slope| 5 /
 * median <= 1 %, max / min <= 1.05 (of the blocks' medians), no major fault and about no minor
 * fault a step. Where not even 5 blocks of 2 steps fit, 3 steps are dropped and that is all.
 */
#ifndef HL_METHOD_WARMUP_H
#define HL_METHOD_WARMUP_H

#include "base/error.h"
#include "method/slice.h"
#include <stdbool.h>

typedef enum hl_warmup_verdict {
  HL_WARMUP_RUNNING,
  HL_WARMUP_STEADY,
  HL_WARMUP_NO_STEADY_STATE,
  HL_WARMUP_UNCHECKED,
  HL_WARMUP_FIXED /* the number of steps was given */
} hl_warmup_verdict;

typedef struct hl_warmup_options {
  int64_t fixed_steps;     /* run exactly these, without a check; negative: auto */
  uint64_t row_ns;         /* the budget of the whole row */
  bool budget_binds_fixed; /* of fixed_steps no more than half of that time, and one at least */
} hl_warmup_options;

enum { HL_WARMUP_DROP = 3, HL_WARMUP_BLOCKS = 5 };

typedef struct hl_warmup_block {
  double median_ns; /* of a full step; while the block is open, the sum of the medians of its
                     * slices times their full steps */
  uint64_t full_steps, steps, elapsed_ns, minor_faults, major_faults;
} hl_warmup_block;

/* Read-only for callers. */
typedef struct hl_warmup {
  hl_warmup_options options;
  uint64_t cap_ns;
  hl_warmup_verdict verdict;
  uint64_t steps, elapsed_ns; /* all of the warm-up so far */
  uint64_t first_ns;          /* duration of the first sample: the first call */
  double step_ns;             /* latest estimate of a step; 0 while unknown */
  uint64_t block_steps;       /* size of blocks */
  double block_ns;
  hl_warmup_block open;                   /* being filled */
  hl_warmup_block last[HL_WARMUP_BLOCKS]; /* oldest first */
  size_t block_count;                     /* finished blocks so far */
} hl_warmup;

void hl_warmup_init(hl_warmup *warmup, const hl_warmup_options *options);

/* The next request, or false when warming up has ended. */
bool hl_warmup_next(hl_warmup *warmup, hl_slice_request *ret_request);

/* Takes what a request brought. INVALID_ARGUMENT for a slice without steps, which would not end;
 * OUT_OF_MEMORY. */
hl_status hl_warmup_add(hl_warmup *warmup, const hl_slice *slice, hl_error *error);

/* For hl_record.steady: 1 or 0, -1 (null) where nothing was checked. */
int8_t hl_warmup_steady(const hl_warmup *warmup);

/* A sentence for the row's notes: why it is not steady, or what was not checked; "" if steady or
 * fixed. `size` of at least 160 holds every text. */
void hl_warmup_explain(const hl_warmup *warmup, char *ret_text, size_t size);

#endif
