/* Who is best: the latency-throughput front, the fastest at a batch size, the least memory. */
#include "analyse/engines-internal.h"

#include <math.h>
#include <stdlib.h>

/* A measured peak of memory repeats to about this. */
static const double same_memory = 0.01;

static hl_pair or_point(hl_pair interval, double value) {
  return isfinite(interval.low) && isfinite(interval.high) ? interval : (hl_pair){value, value};
}

/* -1 where `a` is surely below `b`, 1 above, 0 where the intervals meet. */
static int order(hl_pair a, hl_pair b) {
  return a.high < b.low ? -1 : a.low > b.high;
}

static size_t batch_index(const hl_engine_model *m, int64_t batch_size) {
  size_t i = 0;
  while (m->batch_sizes[i] != batch_size) i++;
  return i;
}

/*
 * q dominates p: surely better in latency or throughput and not surely worse in the other. At one
 * batch size the pairs of two members say it, where there are any: both orders are that of the time
 * of a step. The quotient has to agree, so that no ring of dominators leaves the front empty.
 */
static bool dominates(const hl_engine_model *m, const hl_engine_point *q,
                      const hl_engine_point *p) {
  if (!(q->throughput_ips / q->latency_ms > p->throughput_ips / p->latency_ms)) return false;
  if (q->batch_size == p->batch_size) {
    const hl_engine_ratio *r =
        hl_engines_ratio(m, batch_index(m, q->batch_size), p->member, q->member);
    if (r->paired) return r->verdict == HL_VERDICT_FASTER;
  }
  int latency =
      order(or_point(q->latency_ci_ms, q->latency_ms), or_point(p->latency_ci_ms, p->latency_ms));
  int throughput = order(or_point(q->throughput_ci_ips, q->throughput_ips),
                         or_point(p->throughput_ci_ips, p->throughput_ips));
  return latency <= 0 && throughput >= 0 && (latency < 0 || throughput > 0);
}

void hl__engines_front(hl_engine_model *m) {
  for (size_t i = 0; i < m->point_count; i++) {
    hl_engine_point *p = &m->points[i];
    p->on_front = p->latency_ms > 0;
    for (size_t j = 0; j < m->point_count && p->on_front; j++)
      if (j != i && m->points[j].latency_ms > 0) p->on_front = !dominates(m, &m->points[j], p);
  }
}

hl_member_set hl__engines_present(const hl_engine_model *m, size_t batch,
                                  hl_member_set candidates) {
  hl_member_set present = 0;
  for (size_t i = 0; i < m->member_count; i++)
    if ((candidates & hl__member(i)) && hl__engines_point(m, i, m->batch_sizes[batch]))
      present |= hl__member(i);
  return present;
}

hl_member_set hl__engines_fastest(const hl_engine_model *m, size_t batch,
                                  hl_member_set candidates) {
  hl_member_set present = hl__engines_present(m, batch, candidates), left = present;
  for (size_t a = 0; a < m->member_count; a++)
    for (size_t b = 0; b < m->member_count; b++)
      if ((present & hl__member(a)) && (present & hl__member(b)) &&
          hl_engines_ratio(m, batch, a, b)->verdict == HL_VERDICT_FASTER)
        left &= ~hl__member(a);
  return left ? left : present;
}

hl_member_set hl__engines_smallest(const hl_engine_model *m, size_t batch,
                                   hl_member_set candidates) {
  hl_member_set set = 0;
  double least = (double)INFINITY;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < m->member_count; i++) {
      const hl_engine_point *p =
          (candidates & hl__member(i)) ? hl__engines_point(m, i, m->batch_sizes[batch]) : NULL;
      if (!p || !isfinite(p->memory_mb)) continue;
      if (pass == 0)
        least = fmin(least, p->memory_mb);
      else if (p->memory_mb <= least * (1 + same_memory))
        set |= hl__member(i);
    }
  return set;
}

/* ---- best for latency, throughput and memory ---- */

/* The value by which members are ordered: less is better. */
typedef double (*rank)(const hl_engine_point *point);

static double by_time(const hl_engine_point *p) {
  return p->latency_ms;
}

static double by_throughput(const hl_engine_point *p) {
  return -p->throughput_ips;
}

static double by_memory(const hl_engine_point *p) {
  return p->memory_mb;
}

/* A member's best point by `of`, at `batch_size` only unless that is null; or NULL. */
static const hl_engine_point *best_point(const hl_engine_model *m, size_t member, rank of,
                                         int64_t batch_size) {
  const hl_engine_point *best = NULL;
  for (size_t i = 0; i < m->point_count; i++) {
    const hl_engine_point *p = &m->points[i];
    if (p->member != member || (batch_size != HL_INT_NULL && p->batch_size != batch_size)) continue;
    if (isfinite(of(p)) && (!best || of(p) < of(best))) best = p;
  }
  return best;
}

/* The members of `set` by rising `of`. False without memory. */
static bool put_in_order(const hl_engine_model *m, hl_member_set set, rank of, int64_t batch_size,
                         size_t **ret_members, size_t *ret_count) {
  size_t *members = calloc(m->member_count, sizeof *members), n = 0;
  if (!members) return false;
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_engine_point *p = (set & hl__member(i)) ? best_point(m, i, of, batch_size) : NULL;
    if (!p) continue;
    size_t at = n++;
    for (; at > 0 && of(best_point(m, members[at - 1], of, batch_size)) > of(p); at--)
      members[at] = members[at - 1];
    members[at] = i;
  }
  *ret_members = members;
  *ret_count = n;
  return true;
}

/* Whether `p` cannot be told from `top`, the best by its estimate: by the pairs where both are of
 * one batch size, else by the rows' intervals. */
static bool ties(const hl_engine_model *m, const hl_engine_point *p, const hl_engine_point *top,
                 bool latency) {
  if (p->batch_size == top->batch_size) {
    const hl_engine_ratio *r =
        hl_engines_ratio(m, batch_index(m, p->batch_size), p->member, top->member);
    if (r->paired) return r->verdict != HL_VERDICT_FASTER;
  }
  return latency ? order(or_point(p->latency_ci_ms, p->latency_ms),
                         or_point(top->latency_ci_ms, top->latency_ms)) == 0
                 : order(or_point(p->throughput_ci_ips, p->throughput_ips),
                         or_point(top->throughput_ci_ips, top->throughput_ips)) == 0;
}

/* Members whose best point by `of` cannot be told from the best of all. */
static hl_member_set best_members(const hl_engine_model *m, rank of, int64_t batch_size) {
  const hl_engine_point *top = NULL;
  hl_member_set set = 0;
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_engine_point *p = best_point(m, i, of, batch_size);
    if (p && (!top || of(p) < of(top))) top = p;
  }
  for (size_t i = 0; top && i < m->member_count; i++) {
    const hl_engine_point *p = best_point(m, i, of, batch_size);
    if (p && (p == top || ties(m, p, top, of == by_time))) set |= hl__member(i);
  }
  return set;
}

bool hl__engines_best(hl_engine_model *m) {
  if (m->batch_count == 0) return true;
  const hl_member_set all = ~(hl_member_set)0;
  int64_t least = m->batch_sizes[0];
  return put_in_order(m, best_members(m, by_time, least), by_time, least, &m->best_latency,
                      &m->best_latency_count) &&
         put_in_order(m, best_members(m, by_throughput, HL_INT_NULL), by_throughput, HL_INT_NULL,
                      &m->best_throughput, &m->best_throughput_count) &&
         put_in_order(m, hl__engines_smallest(m, 0, all), by_memory, least, &m->best_memory,
                      &m->best_memory_count);
}
