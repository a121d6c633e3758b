/* The verdict on a model's engines in words, and what its reader has to know. */
#include "analyse/engines-internal.h"

#include "analyse/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_SHOWN = 3, PROCESSES_LEAST = 5 };

static bool has(hl_member_set set, size_t member) {
  return set & hl__member(member);
}

static int size_of(hl_member_set set) {
  return __builtin_popcount(set);
}

static size_t first_of(hl_member_set set) {
  return (size_t)__builtin_ctz(set);
}

/* Largest output error of a member's rows; NaN where none was compared. */
static double error_of(const hl_engine_model *m, size_t member) {
  double most = (double)NAN;
  for (size_t i = 0; i < m->point_count; i++)
    if (m->points[i].member == member && isfinite(m->points[i].output_error))
      most = isfinite(most) ? fmax(most, m->points[i].output_error) : m->points[i].output_error;
  return most;
}

/* A name that is recommended; a smaller type never without what it costs. */
static void put_name(const hl_engine_model *m, size_t member, hl_text *out) {
  hl_text_append(out, m->members[member].name);
  if (hl__engines_is_float32(&m->members[member])) return;
  double error = error_of(m, member);
  if (isfinite(error))
    hl_text_format(out, " (output error %s)", HL_NUM(error));
  else
    hl_text_append(out, " (output error unknown)");
}

static void put_names(const hl_engine_model *m, hl_member_set set, hl_text *out) {
  int left = size_of(set);
  for (size_t i = 0; i < m->member_count; i++) {
    if (!has(set, i)) continue;
    put_name(m, i, out);
    left--;
    hl_text_append(out, left > 1 ? ", " : left == 1 ? " and " : "");
  }
}

/* "batch 1, 8 and 32", of the batch sizes that are marked; "every batch size" if all can be. */
static void put_sizes(const hl_engine_model *m, const bool *marked, bool all, hl_text *out) {
  size_t left = 0;
  for (size_t k = 0; k < m->batch_count; k++) left += marked[k];
  if (all && left > 1) {
    hl_text_append(out, "every batch size");
    return;
  }
  hl_text_append(out, "batch ");
  for (size_t k = 0; k < m->batch_count; k++) {
    if (!marked[k]) continue;
    hl_text_format(out, "%" PRId64, m->batch_sizes[k]);
    left--;
    hl_text_append(out, left > 1 ? ", " : left == 1 ? " and " : "");
  }
}

/* "1.24x onnxruntime [1.23, 1.25]": how much faster `b` is than `a`. */
static void put_ratio(const hl_engine_model *m, const hl_engine_ratio *r, size_t a, hl_text *out) {
  hl_text number = HL_TEXT_INIT;
  hl_engines_ratio_text(r, &number);
  size_t digits = strcspn(number.data, " ");
  hl_text_append_n(out, number.data, digits);
  hl_text_format(out, "x %s%s", m->members[a].name, number.data + digits);
  hl_text_release(&number);
}

/* ---- who is fastest ---- */

/* The one of `set` but `winner` that is least behind it. */
static size_t next_of(const hl_engine_model *m, size_t batch, hl_member_set set, size_t winner) {
  size_t next = SIZE_MAX;
  double least = (double)INFINITY;
  for (size_t i = 0; i < m->member_count; i++) {
    if (i == winner || !has(set, i)) continue;
    double ratio = hl_engines_ratio(m, batch, i, winner)->ratio;
    if (next == SIZE_MAX || ratio < least) {
      next = i;
      least = ratio;
    }
  }
  return next;
}

typedef struct fastest {
  const hl_engine_model *m;
  hl_member_set candidates;
  hl_member_set *winners; /* by batch size; 0: fewer than two have a row */
  bool *marked;
  size_t kinds; /* different sets of winners */
} fastest;

/* The lead of a lone winner over the next, at one batch size. */
static double lead_of(const fastest *f, size_t batch, size_t *ret_next) {
  size_t winner = first_of(f->winners[batch]);
  hl_member_set present = hl__engines_present(f->m, batch, f->candidates);
  *ret_next = next_of(f->m, batch, present, winner);
  return hl_engines_ratio(f->m, batch, *ret_next, winner)->ratio;
}

/* How many batch sizes are marked: of one the sentence names the size already. */
static size_t marked_count(const fastest *f) {
  size_t count = 0;
  for (size_t k = 0; k < f->m->batch_count; k++) count += f->marked[k];
  return count;
}

static void put_size(const fastest *f, size_t batch, hl_text *out) {
  if (marked_count(f) > 1) hl_text_format(out, " at batch %" PRId64, f->m->batch_sizes[batch]);
}

static void put_lead(const fastest *f, size_t batch, hl_text *out) {
  size_t next = 0;
  lead_of(f, batch, &next);
  put_ratio(f->m, hl_engines_ratio(f->m, batch, next, first_of(f->winners[batch])), next, out);
  put_size(f, batch, out);
}

/* The lead at each marked size, or of many sizes the least and the greatest. */
static void put_leads(const fastest *f, hl_text *out) {
  size_t shown = 0, low = SIZE_MAX, high = SIZE_MAX, count = marked_count(f), next;
  for (size_t k = 0; k < f->m->batch_count; k++) {
    if (!f->marked[k]) continue;
    if (low == SIZE_MAX || lead_of(f, k, &next) < lead_of(f, low, &next)) low = k;
    if (high == SIZE_MAX || lead_of(f, k, &next) > lead_of(f, high, &next)) high = k;
  }
  hl_text_append(out, " (");
  if (count > SIZES_SHOWN) {
    hl_text_append(out, "from ");
    put_lead(f, low, out);
    hl_text_append(out, " to ");
    put_lead(f, high, out);
  }
  for (size_t k = 0; count <= SIZES_SHOWN && k < f->m->batch_count; k++) {
    if (!f->marked[k]) continue;
    hl_text_append(out, shown++ ? ", " : "");
    put_lead(f, k, out);
  }
  hl_text_char(out, ')');
}

/* Whether each (or `any`) two of `set` have this verdict at the marked sizes. */
static bool all_are(const fastest *f, hl_member_set set, hl_verdict verdict, bool any) {
  for (size_t k = 0; k < f->m->batch_count; k++)
    for (size_t a = 0; f->marked[k] && a < f->m->member_count; a++)
      for (size_t b = 0; b < f->m->member_count; b++)
        if (a != b && has(set, a) && has(set, b) &&
            (hl_engines_ratio(f->m, k, a, b)->verdict == verdict) == any)
          return any;
  return !any;
}

/* One sentence for the sizes at which `set` wins. */
static void put_winners(const fastest *f, hl_member_set set, hl_text *out) {
  if (size_of(set) == 1) {
    put_names(f->m, set, out);
    hl_text_append(out, " is fastest at ");
    put_sizes(f->m, f->marked, f->kinds == 1, out);
    put_leads(f, out);
    return;
  }
  bool equivalent = all_are(f, set, HL_VERDICT_EQUIVALENT, false);
  put_names(f->m, set, out);
  hl_text_append(out, equivalent ? " are equally fast at " : " cannot be told apart at ");
  put_sizes(f->m, f->marked, f->kinds == 1, out);
  bool unknown = all_are(f, set, HL_VERDICT_NONE, true);
  hl_text_append(out, equivalent ? " (equivalent within 1 %"
                      : unknown  ? " (a row has no interval"
                                 : " (inconclusive");
  size_t a = first_of(set), b = first_of(set & ~hl__member(a)), shown = 0;
  for (size_t k = 0; size_of(set) == 2 && k < f->m->batch_count && shown < SIZES_SHOWN; k++) {
    if (!f->marked[k]) continue;
    hl_text_format(out, "%s%s ", shown++ ? ", " : ": ", f->m->members[b].name);
    put_ratio(f->m, hl_engines_ratio(f->m, k, a, b), a, out);
    put_size(f, k, out);
  }
  hl_text_char(out, ')');
}

/* Appends who of `candidates` is fastest where; nothing where no two have a row of one size. False
 * without memory. */
static bool put_fastest(const hl_engine_model *m, hl_member_set candidates, hl_text *out) {
  fastest f = {.m = m, .candidates = candidates};
  f.winners = calloc(m->batch_count + 1, sizeof *f.winners);
  f.marked = calloc(m->batch_count + 1, sizeof *f.marked);
  HL_CLEANUP(hl_free_pointer) bool *done = calloc(m->batch_count + 1, sizeof *done);
  bool ok = f.winners && f.marked && done;
  for (size_t k = 0; ok && k < m->batch_count; k++) {
    if (size_of(hl__engines_present(m, k, candidates)) < 2) continue;
    f.winners[k] = hl__engines_fastest(m, k, candidates);
    bool seen = false;
    for (size_t j = 0; j < k; j++) seen |= f.winners[j] == f.winners[k];
    f.kinds += !seen;
  }
  bool first = true;
  for (size_t k = 0; ok && k < m->batch_count; k++) {
    if (!f.winners[k] || done[k]) continue;
    for (size_t j = 0; j < m->batch_count; j++) {
      f.marked[j] = f.winners[j] == f.winners[k];
      done[j] |= f.marked[j];
    }
    hl_text_append(out, first ? "" : ", ");
    put_winners(&f, f.winners[k], out);
    first = false;
  }
  free(f.winners);
  free(f.marked);
  return ok;
}

/* ---- best for one thing ---- */

static void put_throughput(const hl_engine_model *m, hl_text *out) {
  for (size_t i = 0; i < m->best_throughput_count; i++) {
    const hl_engine_point *best = NULL;
    for (size_t p = 0; p < m->point_count; p++)
      if (m->points[p].member == m->best_throughput[i] &&
          (!best || m->points[p].throughput_ips > best->throughput_ips))
        best = &m->points[p];
    if (!best) continue;
    hl_text_append(out, i ? " or " : "; most throughput: ");
    put_name(m, m->best_throughput[i], out);
    hl_text_format(out, " at batch %" PRId64 ", %s images/s", best->batch_size,
                   HL_NUM(best->throughput_ips));
  }
}

static void put_latency(const hl_engine_model *m, hl_text *out) {
  for (size_t i = 0; i < m->best_latency_count; i++) {
    const hl_engine_point *p = hl__engines_point(m, m->best_latency[i], m->batch_sizes[0]);
    hl_text_append(out, i ? " or " : "; least latency: ");
    put_name(m, m->best_latency[i], out);
    hl_text_format(out, " at batch %" PRId64 ", %s ms", p->batch_size, HL_NUM(p->latency_ms));
  }
}

/* Who needs least memory at which sizes, with the numbers at the first of them. */
static bool put_memory(const hl_engine_model *m, hl_text *out) {
  const hl_member_set all = ~(hl_member_set)0;
  HL_CLEANUP(hl_free_pointer) bool *marked = calloc(m->batch_count + 1, sizeof *marked);
  HL_CLEANUP(hl_free_pointer) hl_member_set *least = calloc(m->batch_count + 1, sizeof *least);
  if (!marked || !least) return false;
  size_t kinds = 0;
  for (size_t k = 0; k < m->batch_count; k++) {
    bool seen = false;
    if (size_of(hl__engines_present(m, k, all)) > 1) least[k] = hl__engines_smallest(m, k, all);
    for (size_t j = 0; j < k; j++) seen |= least[j] == least[k];
    kinds += least[k] && !seen;
  }
  bool first = true;
  for (size_t k = 0; k < m->batch_count; k++) {
    bool seen = false;
    for (size_t j = 0; j < k; j++) seen |= least[j] == least[k];
    if (!least[k] || seen) continue;
    for (size_t j = 0; j < m->batch_count; j++) marked[j] = least[j] == least[k];
    hl_text_append(out, first ? "; " : ", ");
    first = false;
    put_names(m, least[k], out);
    hl_text_append(out, size_of(least[k]) > 1 ? " use least memory at " : " uses least memory at ");
    put_sizes(m, marked, kinds == 1, out);
    const hl_engine_point *p = hl__engines_point(m, first_of(least[k]), m->batch_sizes[k]);
    size_t sizes = 0;
    for (size_t j = 0; j < m->batch_count; j++) sizes += marked[j];
    hl_text_format(out, " (%s MB", HL_NUM(p->memory_mb));
    if (sizes > 1) hl_text_format(out, " at batch %" PRId64, p->batch_size);
    hl_member_set next = hl__engines_smallest(m, k, all & ~least[k]);
    if (next)
      hl_text_format(out, ", next %s %s MB", m->members[first_of(next)].name,
                     HL_NUM(hl__engines_point(m, first_of(next), p->batch_size)->memory_mb));
    hl_text_char(out, ')');
  }
  return true;
}

/* A smaller type: how much faster, smaller and less exact. */
static void put_precision(const hl_engine_model *m, hl_text *out) {
  for (size_t i = 0; i < m->precision_count; i++) {
    const hl_engine_precision *p = &m->precisions[i];
    if (i && m->precisions[i - 1].member == p->member) continue; /* its smallest size speaks */
    hl_text_format(out, "; %s is ", m->members[p->member].name);
    put_ratio(m, &p->speedup, p->reference, out);
    hl_text_format(out, " at batch %" PRId64, p->batch_size);
    if (isfinite(p->memory_ratio))
      hl_text_format(out, ", with %.3g times the memory", p->memory_ratio);
    if (isfinite(p->output_error))
      hl_text_format(out, ", at an output error of %s", HL_NUM(p->output_error));
    else
      hl_text_append(out, ", at an unknown output error");
    if (isfinite(p->reference_output_error))
      hl_text_format(out, " instead of %.2g", p->reference_output_error);
    if (isfinite(p->cosine)) hl_text_format(out, ", cosine %.6g", p->cosine);
    if (isfinite(p->top1)) hl_text_format(out, ", top-1 agreement %.4g %%", 100 * p->top1);
  }
}

/* ---- what the reader has to know ---- */

/* "openvino at batch 8, 32 (MISTRUSTED)" for each outcome of the rows of a list. */
static void put_excluded(const hl_records *records, const hl_engine_member *member,
                         const size_t *rows, size_t count, hl_text *out) {
  for (size_t i = 0; i < count; i++) {
    const hl_record *r = &records->items[rows[i]];
    bool told = false, first = true;
    for (size_t j = 0; j < i; j++)
      told |= hl_text_same(records->items[rows[j]].outcome, r->outcome);
    if (told) continue;
    hl_text_format(out, "%s%s at batch ", out->length ? "; " : "", member->name);
    for (size_t j = i; j < count; j++) {
      const hl_record *o = &records->items[rows[j]];
      if (!hl_text_same(o->outcome, r->outcome) || o->batch_size == HL_INT_NULL) continue;
      hl_text_format(out, "%s%" PRId64, first ? "" : ", ", o->batch_size);
      first = false;
    }
    hl_text_format(out, " (%s)", r->outcome ? r->outcome : "FAILED");
  }
}

static bool remark_excluded(const hl_records *records, hl_engine_model *m) {
  hl_text text = HL_TEXT_INIT, all = HL_TEXT_INIT;
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_analysis_group *g = m->members[i].group;
    put_excluded(records, &m->members[i], g->failed_rows, g->failed_count, &text);
    put_excluded(records, &m->members[i], g->skipped_rows, g->skipped_count, &text);
  }
  bool ok = !text.failed;
  if (ok && text.length) {
    hl_text_format(&all, "Not in it: %s", text.data);
    ok = hl__engines_remark(m, hl_text_take(&all));
  }
  hl_text_release(&text);
  hl_text_release(&all);
  return ok;
}

/* By how much outputs disagree. Of 8 bits the cosine decides, and of different shapes nothing is
 * known. */
static char *disagreement(const char *a, const char *b, int64_t batch, const hl_comparison *c) {
  if (isfinite(c->max_relative) && isfinite(c->tolerance))
    return hl_format("The outputs of %s and %s differ by %.3g at batch %" PRId64
                     ", more than the allowed %.3g",
                     a, b, c->max_relative, batch, c->tolerance);
  if (isfinite(c->cosine))
    return hl_format("The outputs of %s and %s disagree at batch %" PRId64 ": their cosine is %.4f",
                     a, b, batch, c->cosine);
  return hl_format("The outputs of %s and %s disagree at batch %" PRId64 "%s%s", a, b, batch,
                   c->notes ? ": " : "", c->notes ? c->notes : "");
}

/* Pairs whose outputs do not agree, each once. */
static bool remark_disagreement(hl_engine_model *m) {
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t a = 0; a < m->member_count; a++)
      for (size_t b = a + 1; b < m->member_count; b++) {
        const hl_comparison *c = hl_engines_ratio(m, k, a, b)->comparison;
        if (!c || c->agree != 0) continue;
        char *text = disagreement(m->members[a].name, m->members[b].name, m->batch_sizes[k], c);
        if (!hl__engines_remark(m, text)) return false;
      }
  return true;
}

static bool remark_pairs(hl_engine_model *m) {
  size_t unpaired = 0, paired = 0;
  int64_t least = INT64_MAX;
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t a = 0; a < m->member_count; a++)
      for (size_t b = a + 1; b < m->member_count; b++) {
        const hl_engine_ratio *r = hl_engines_ratio(m, k, a, b);
        if (!isfinite(r->ratio)) continue;
        paired += r->paired;
        unpaired += !r->paired;
        if (r->paired && r->processes != HL_INT_NULL && r->processes < least) least = r->processes;
      }
  if (unpaired &&
      !hl__engines_remark(m, hl_format("%s: these rows did not take turns, so what "
                                       "the machine did meanwhile is in the ratio",
                                       paired ? "~ is not paired" : "No ratio is paired (~)")))
    return false;
  if (least >= PROCESSES_LEAST || least == INT64_MAX) return true;
  return hl__engines_remark(
      m, least == 1 ? hl_strdup("Paired within a single process a side: what differs from one "
                                "start to the next is not in the intervals")
                    : hl_format("Paired over %" PRId64 " processes a side (fewer than %d): what "
                                "differs from one start to the next is hardly in the intervals",
                                least, PROCESSES_LEAST));
}

static bool remark_baseline(hl_engine_model *m) {
  if (m->baseline == 0 || m->baseline == SIZE_MAX) return true;
  return hl__engines_remark(m, hl_format("The baseline is %s: no row of %s passed",
                                         m->members[m->baseline].name, m->members[0].name));
}

/* ---- the whole ---- */

static hl_member_set of_type(const hl_engine_model *m, const char *dtype) {
  hl_member_set set = 0;
  for (size_t i = 0; i < m->member_count; i++)
    if (hl_text_same(m->members[i].group->dtype, dtype)) set |= hl__member(i);
  return set;
}

static void put_clause(hl_text *out, const char *where, const char *clause) {
  if (clause[0]) hl_text_format(out, "%s%s%s", out->length ? "; " : "", where, clause);
}

/* Each type by itself, then all. */
static bool put_speed(const hl_engine_model *m, hl_text *out) {
  const hl_member_set everyone = ~(hl_member_set)0;
  hl_text all = HL_TEXT_INIT, one = HL_TEXT_INIT;
  hl_member_set done = 0;
  const char *same_as_all = NULL;
  bool ok = put_fastest(m, everyone, &all), several = false;
  for (size_t i = 0; i < m->member_count; i++)
    several |= !hl_text_same(m->members[i].group->dtype, m->members[0].group->dtype);
  for (size_t i = 0; ok && several && i < m->member_count; i++) {
    if (has(done, i)) continue;
    const char *dtype = m->members[i].group->dtype ? m->members[i].group->dtype : "unknown type";
    hl_member_set set = of_type(m, m->members[i].group->dtype);
    HL_CLEANUP(hl_free_pointer) char *where = hl_format("in %s ", dtype);
    done |= set;
    hl_text_clear(&one);
    ok = where && put_fastest(m, set, &one);
    if (ok) put_clause(out, where, one.data);
    if (one.length && strcmp(one.data, all.data) == 0) same_as_all = dtype;
  }
  if (ok && same_as_all)
    hl_text_format(out, "; of all types the same as in %s", same_as_all);
  else if (ok)
    put_clause(out, several ? "of all types " : "", all.data);
  ok = ok && !all.failed && !one.failed;
  hl_text_release(&all);
  hl_text_release(&one);
  return ok;
}

static void put_nothing(const hl_engine_model *m, hl_text *out) {
  if (m->point_count == 0)
    hl_text_append(out, "nothing can be compared: no row passed");
  else if (hl__engines_present(m, 0, ~(hl_member_set)0) &&
           m->point_count == m->members[m->baseline].group->point_count)
    hl_text_format(out, "nothing can be compared: only %s has rows that passed",
                   m->members[m->baseline].name);
  else
    hl_text_append(out, "no batch size was measured on two engines");
}

bool hl__engines_verdict(const hl_records *records, hl_engine_model *m) {
  hl_text words = HL_TEXT_INIT;
  bool ok = put_speed(m, &words);
  if (words.length == 0) put_nothing(m, &words);
  if (m->point_count) {
    put_latency(m, &words);
    put_throughput(m, &words);
    ok = put_memory(m, &words) && ok;
    put_precision(m, &words);
  }
  hl_text whole = HL_TEXT_INIT;
  hl_text_format(&whole, "%s: %s", m->name, words.data);
  ok = ok && !words.failed;
  hl_text_release(&words);
  m->verdict = hl_text_take(&whole);
  hl_text_release(&whole);
  return ok && m->verdict && remark_baseline(m) && remark_excluded(records, m) &&
         remark_disagreement(m) && remark_pairs(m);
}
