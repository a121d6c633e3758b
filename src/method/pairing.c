#include "method/pairing.h"

#include "base/splitmix.h"
#include "record/comparison.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double step_most_ns = 1e18; /* 30 years */
static const double turn_ns = 50e6, discard_ns = 5e6, long_step_ns = 500e6;
static const double rounds_in_budget = 25; /* the least 20, and some that are void */
static const double width_most = HL_EQUIVALENT_WITHIN / 2, width_share = 0.1, growth = 1.5;
/* A first step so much above the rest means that caches were still cold. */
static const double settled = 1.02;
enum { turn_samples = 5, settling_turns = 10 };

void hl_pairing_init(hl_pairing *p, const hl_pairing_options *options) {
  *p = (hl_pairing){.options = *options, .target = HL_PAIRS_LEAST, .random = options->seed};
  if (p->options.members > HL_PAIRING_MEMBERS) p->options.members = HL_PAIRING_MEMBERS;
  p->live = p->options.members;
  p->turn = p->live; /* the first round is drawn by the first request */
}

void hl_pairing_release(hl_pairing *p) {
  free(p->logs);
  free(p->noise);
  p->logs = NULL;
  p->noise = NULL;
  p->capacity = 0;
}

void hl_pairing_step(hl_pairing *p, size_t member, double step_ns) {
  hl_pairing_member *m = &p->members[member];
  m->step_ns = step_ns > 0 ? fmin(step_ns, step_most_ns) : 1;
  /* Two, as the first brings the weights back and the second finds them; one where that is long,
   * none where caches are full again within a hundredth of the step. */
  m->discard_steps = m->step_ns > long_step_ns ? 0 : 2 * m->step_ns > turn_ns ? 1 : 2;
  if (step_ns > 0 && (double)m->discard_steps * m->step_ns < discard_ns)
    m->discard_steps = (uint64_t)ceil(fmin(discard_ns / m->step_ns, step_most_ns));
}

void hl_pairing_drop(hl_pairing *p, size_t member) {
  if (p->members[member].gone) return;
  p->members[member].gone = true;
  p->live--;
}

/* Fisher and Yates. The bias of a remainder of 64 bits is below 2^-58. */
static void shuffle(hl_pairing *p) {
  size_t n = p->options.members;
  for (size_t i = 0; i < n; i++) p->order[i] = i;
  for (size_t i = n; i > 1; i--) {
    size_t k = (size_t)(hl_splitmix(&p->random) % i), kept = p->order[i - 1];
    p->order[i - 1] = p->order[k];
    p->order[k] = kept;
  }
}

static bool has_turn(const hl_pairing *p, size_t member) {
  const hl_pairing_member *m = &p->members[member];
  return !m->gone && (p->options.fixed_steps == 0 || m->steps < p->options.fixed_steps);
}

static bool any_has_turn(const hl_pairing *p) {
  for (size_t i = 0; i < p->options.members; i++)
    if (has_turn(p, i)) return true;
  return false;
}

/* Whether another round shall begin. The first does in any case, so that each row has a number. */
static bool goes_on(const hl_pairing *p, bool rows_done) {
  if (!any_has_turn(p)) return false;
  if (p->rounds == 0) return true;
  bool asked = p->options.rounds > 0;
  if (!asked && p->rounds >= HL_ROUNDS_MOST && (rows_done || p->live > 1)) return false;
  double round_ns = (double)p->spent_ns / (double)p->rounds;
  if ((double)p->spent_ns + round_ns / 2 > (double)p->options.budget_ns) return false;
  if (asked) return p->rounds < p->options.rounds;
  if (p->options.fixed_steps) return true;
  return !rows_done || (p->live > 1 && !p->precise);
}

static void request_turn(const hl_pairing *p, size_t member, hl_turn_request *ret_request) {
  const hl_pairing_member *m = &p->members[member];
  if (p->options.single) {
    *ret_request = (hl_turn_request){member, 0, 1, UINT64_MAX};
    return;
  }
  double rounds = p->options.rounds ? (double)p->options.rounds : rounds_in_budget;
  double share = (double)p->options.budget_ns / rounds / (double)p->options.members;
  double discarded = (double)m->discard_steps * m->step_ns;
  double ns = fmin(fmax(turn_ns, turn_samples * m->step_ns), share - discarded);
  double steps = fmin(fmax(1, floor(ns / m->step_ns)), 1e9);
  *ret_request = (hl_turn_request){member, m->discard_steps, (uint64_t)steps,
                                   (uint64_t)fmax(2 * ns, 2 * m->step_ns)};
  uint64_t fixed = p->options.fixed_steps;
  if (fixed == 0) return;
  uint64_t part = fixed / HL_PAIRS_LEAST + (fixed % HL_PAIRS_LEAST != 0), left = fixed - m->steps;
  ret_request->steps = part < left ? part : left;
  ret_request->max_ns = UINT64_MAX;
}

bool hl_pairing_next(hl_pairing *p, bool rows_done, hl_turn_request *ret_request) {
  for (;;) {
    for (; p->turn < p->options.members; p->turn++)
      if (has_turn(p, p->order[p->turn])) {
        request_turn(p, p->order[p->turn++], ret_request);
        return true;
      }
    if (!goes_on(p, rows_done)) return false;
    shuffle(p);
    p->turn = 0;
    p->rounds++;
  }
}

static hl_status reserve(hl_pairing *p, hl_error *error) {
  if (p->rounds <= p->capacity) return HL_OK;
  size_t capacity = p->capacity ? 2 * p->capacity : 64, members = p->options.members;
  while (capacity < p->rounds) capacity *= 2;
  double *logs = realloc(p->logs, capacity * members * sizeof *logs);
  if (logs) p->logs = logs;
  hl_turn_noise *noise = realloc(p->noise, capacity * members * sizeof *noise);
  if (noise) p->noise = noise;
  if (!logs || !noise) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pairs");
  for (size_t i = p->capacity * members; i < capacity * members; i++) {
    logs[i] = (double)NAN;
    noise[i] = (hl_turn_noise){0};
  }
  p->capacity = capacity;
  return HL_OK;
}

/* Discards more where the first step that counted was, turn after turn, above the others. */
static void watch_settling(hl_pairing_member *m, const hl_turn *turn, double median) {
  if (turn->sample_count < 3) return;
  m->settling[m->turns++ % settling_turns] = (double)turn->samples_ns[0] / median;
  if (m->turns < settling_turns) return;
  double sorted[settling_turns];
  memcpy(sorted, m->settling, sizeof sorted);
  if (hl_median(sorted, settling_turns) <= settled) return;
  if ((double)m->discard_steps * m->step_ns < turn_ns) m->discard_steps *= 2;
  m->turns = 0;
}

static hl_status median_of(const hl_turn *turn, double *ret_median, hl_error *error) {
  double *values = malloc((turn->sample_count + 1) * sizeof *values);
  if (!values) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for samples");
  for (size_t i = 0; i < turn->sample_count; i++) values[i] = (double)turn->samples_ns[i];
  *ret_median = hl_median(values, turn->sample_count);
  free(values);
  return HL_OK;
}

static hl_status check(hl_pairing *p, hl_error *error);

hl_status hl_pairing_add(hl_pairing *p, const hl_turn *turn, hl_error *error) {
  if (turn->member >= p->options.members || p->rounds == 0 || turn->steps == 0 ||
      turn->steps_per_sample == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a turn of no steps, or of no member");
  hl_status status = reserve(p, error);
  double median = (double)NAN;
  if (status == HL_OK) status = median_of(turn, &median, error);
  if (status != HL_OK) return status;
  hl_pairing_member *m = &p->members[turn->member];
  size_t at = (p->rounds - 1) * p->options.members + turn->member;
  if (__builtin_add_overflow(p->spent_ns, turn->elapsed_ns, &p->spent_ns)) p->spent_ns = UINT64_MAX;
  m->steps += turn->steps;
  p->noise[at] = turn->noise;
  if (median > 0) { /* a turn of partial batches alone has none */
    p->logs[at] = log(median / turn->steps_per_sample);
    m->step_ns = median / turn->steps_per_sample;
    watch_settling(m, turn, median);
  }
  bool last = p->turn >= p->options.members;
  return last && p->rounds >= p->target ? check(p, error) : HL_OK;
}

/* The rounds in which both had a turn: noise of each, and log-ratios. */
typedef struct rounds {
  hl_turn_noise *a, *b;
  hl_void_reason *reasons;
  double *ratios;
  size_t count;
} rounds;

static void rounds_release(rounds *r) {
  free(r->a);
  free(r->b);
  free(r->reasons);
  free(r->ratios);
}

static hl_status gather(const hl_pairing *p, size_t a, size_t b, rounds *ret, hl_error *error) {
  size_t most = p->rounds < p->capacity ? p->rounds : p->capacity;
  *ret = (rounds){.a = calloc(most + 1, sizeof *ret->a),
                  .b = calloc(most + 1, sizeof *ret->b),
                  .reasons = calloc(most + 1, sizeof *ret->reasons),
                  .ratios = calloc(most + 1, sizeof *ret->ratios)};
  if (!ret->a || !ret->b || !ret->reasons || !ret->ratios)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pairs");
  for (size_t round = 0; round < most; round++) {
    size_t i = round * p->options.members + a, k = round * p->options.members + b;
    if (isnan(p->logs[i]) || isnan(p->logs[k])) continue;
    ret->a[ret->count] = p->noise[i];
    ret->b[ret->count] = p->noise[k];
    ret->ratios[ret->count++] = p->logs[i] - p->logs[k];
  }
  return HL_OK;
}

hl_status hl_pairing_ratios(const hl_pairing *p, size_t a, size_t b, double **ret_ratios,
                            size_t *ret_count, hl_voiding *ret_voiding, hl_error *error) {
  rounds r;
  size_t n = 0;
  hl_status status = gather(p, a, b, &r, error);
  if (status == HL_OK) status = hl_voiding_judge(r.a, r.b, r.count, r.reasons, ret_voiding, error);
  if (status == HL_OK) {
    for (size_t i = 0; i < r.count; i++)
      if (r.reasons[i] == HL_VOID_NOT) r.ratios[n++] = r.ratios[i];
    *ret_ratios = r.ratios;
    *ret_count = n;
    r.ratios = NULL;
  }
  rounds_release(&r);
  return status;
}

static hl_status estimate(const hl_pairing *p, size_t a, size_t b, hl_paired *ret_paired,
                          hl_voiding *ret_voiding, hl_error *error) {
  double *ratios = NULL;
  size_t n = 0;
  hl_status status = hl_pairing_ratios(p, a, b, &ratios, &n, ret_voiding, error);
  if (status == HL_OK) status = hl_paired_estimate(ratios, n, ret_paired, error);
  free(ratios);
  return status;
}

static bool is_precise(const hl_paired *pair) {
  double half = (pair->high - pair->low) / 2;
  return pair->n >= HL_PAIRS_LEAST && half <= fmax(width_most, width_share * fabs(pair->estimate));
}

static hl_status check(hl_pairing *p, hl_error *error) {
  p->precise = true;
  for (size_t a = 0; a < p->options.members; a++)
    for (size_t b = a + 1; b < p->options.members && p->precise; b++) {
      if (p->members[a].gone || p->members[b].gone) continue;
      hl_paired pair;
      hl_voiding voiding;
      hl_status status = estimate(p, a, b, &pair, &voiding, error);
      if (status != HL_OK) return status;
      p->precise = is_precise(&pair);
    }
  while (p->target <= p->rounds) p->target = (size_t)ceil(growth * (double)p->target);
  return HL_OK;
}

const char *hl_pairing_verdict(const hl_paired *pair, double margin) {
  if (pair->n == 0) return NULL;
  return hl_comparison_verdict((hl_pair){exp(pair->low), exp(pair->high)}, margin);
}

hl_status hl_pairing_compare(const hl_pairing *p, size_t a, size_t b, hl_pairing_result *ret_result,
                             hl_error *error) {
  hl_paired pair;
  hl_voiding voiding;
  hl_status status = estimate(p, a, b, &pair, &voiding, error);
  if (status != HL_OK) return status;
  *ret_result = (hl_pairing_result){.verdict = hl_pairing_verdict(&pair, HL_EQUIVALENT_WITHIN),
                                    .pairs = pair.n,
                                    .voiding = voiding,
                                    .ratio = exp(pair.estimate),
                                    .low = exp(pair.low),
                                    .high = exp(pair.high),
                                    .detectable = hl_paired_detectable(pair.deviation, pair.n)};
  return HL_OK;
}
