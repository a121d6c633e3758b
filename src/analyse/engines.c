/* Models with several members: their points, and the ratio of each two at each batch size. */
#include "analyse/engines-internal.h"

#include "analyse/number.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hl_verdict_name(hl_verdict verdict) {
  static const char *const names[] = {[HL_VERDICT_EQUIVALENT] = "equivalent",
                                      [HL_VERDICT_FASTER] = "faster",
                                      [HL_VERDICT_SLOWER] = "slower",
                                      [HL_VERDICT_INCONCLUSIVE] = "inconclusive"};
  return (size_t)verdict < HL_COUNT(names) ? names[verdict] : NULL;
}

static hl_verdict verdict_from_name(const char *name) {
  for (int v = HL_VERDICT_EQUIVALENT; v <= HL_VERDICT_INCONCLUSIVE; v++)
    if (name && strcmp(name, hl_verdict_name((hl_verdict)v)) == 0) return (hl_verdict)v;
  return HL_VERDICT_NONE;
}

static hl_verdict verdict_of(hl_pair ci) {
  if (!isfinite(ci.low) || !isfinite(ci.high)) return HL_VERDICT_NONE;
  return verdict_from_name(hl_comparison_verdict(ci, HL_EQUIVALENT_WITHIN));
}

static hl_engine_ratio unknown_ratio(void) {
  double nan = (double)NAN;
  return (hl_engine_ratio){
      .ratio = nan, .ci = {nan, nan}, .pairs = HL_INT_NULL, .processes = HL_INT_NULL};
}

/* ---- members and points ---- */

bool hl__engines_is_float32(const hl_engine_member *member) {
  return hl_text_same(member->group->dtype, "float32");
}

static void add_words(hl_text *out, const char *words) {
  if (words && words[0]) hl_text_format(out, "%s%s", out->length ? " " : "", words);
}

/* The engine, and what else the model's members differ in. */
static bool name_members(hl_engine_model *m) {
  bool dtype = false, threads = false, device = false;
  const hl_analysis_group *first = m->members[0].group;
  for (size_t i = 1; i < m->member_count; i++) {
    const hl_analysis_group *g = m->members[i].group;
    dtype |= !hl_text_same(g->dtype, first->dtype);
    threads |= g->threads != first->threads;
    device |= !hl_text_same(g->device, first->device);
  }
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_analysis_group *g = m->members[i].group;
    hl_text name = HL_TEXT_INIT;
    add_words(&name, g->engine);
    if (dtype) add_words(&name, g->dtype);
    if (threads && g->threads != HL_INT_NULL)
      hl_text_format(&name, "%s%" PRId64 " thread%s", name.length ? " " : "", g->threads,
                     g->threads == 1 ? "" : "s");
    if (device && g->device) hl_text_format(&name, "%son %s", name.length ? " " : "", g->device);
    if (name.length == 0) hl_text_format(&name, "member %zu", i + 1);
    m->members[i].name = hl_text_take(&name);
    hl_text_release(&name);
    hl_text_blank(m->members[i].name, "");
    if (!m->members[i].name) return false;
  }
  return true;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int by_latency(const void *a, const void *b) {
  const hl_engine_point *p = a, *q = b;
  if (p->latency_ms != q->latency_ms) return p->latency_ms < q->latency_ms ? -1 : 1;
  if (p->throughput_ips != q->throughput_ips) return p->throughput_ips > q->throughput_ips ? -1 : 1;
  return p->member != q->member ? (p->member < q->member ? -1 : 1)
                                : by_size(&p->batch_size, &q->batch_size);
}

static bool collect_points(const hl_records *records, hl_engine_model *m) {
  size_t count = 0;
  for (size_t i = 0; i < m->member_count; i++) count += m->members[i].group->point_count;
  m->points = calloc(count + 1, sizeof *m->points);
  m->batch_sizes = calloc(count + 1, sizeof *m->batch_sizes);
  if (!m->points || !m->batch_sizes) return false;
  m->baseline = SIZE_MAX;
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_analysis_group *g = m->members[i].group;
    if (g->point_count && m->baseline == SIZE_MAX) m->baseline = i;
    for (size_t p = 0; p < g->point_count; p++) {
      const hl_analysis_point *from = &g->points[p];
      const hl_record *r = &records->items[from->row];
      m->batch_sizes[m->point_count] = from->batch_size;
      m->points[m->point_count++] = (hl_engine_point){.member = i,
                                                      .batch_size = from->batch_size,
                                                      .latency_ms = from->latency_ms,
                                                      .throughput_ips = from->throughput_ips,
                                                      .memory_mb = from->memory_mb,
                                                      .latency_ci_ms = r->latency_p50_ci_ms,
                                                      .throughput_ci_ips = from->throughput_ci_ips,
                                                      .output_error = r->output_error};
    }
  }
  qsort(m->batch_sizes, m->point_count, sizeof *m->batch_sizes, by_size);
  for (size_t i = 0; i < m->point_count; i++)
    if (m->batch_count == 0 || m->batch_sizes[m->batch_count - 1] != m->batch_sizes[i])
      m->batch_sizes[m->batch_count++] = m->batch_sizes[i];
  qsort(m->points, m->point_count, sizeof *m->points, by_latency);
  return true;
}

const hl_engine_point *hl__engines_point(const hl_engine_model *m, size_t member,
                                         int64_t batch_size) {
  for (size_t i = 0; i < m->point_count; i++)
    if (m->points[i].member == member && m->points[i].batch_size == batch_size)
      return &m->points[i];
  return NULL;
}

/* ---- ratios ---- */

/* The row of a group at a batch size, or NULL. */
static const hl_record *row_at(const hl_records *records, const hl_analysis_group *g,
                               int64_t batch_size) {
  for (size_t i = 0; i < g->point_count; i++)
    if (g->points[i].batch_size == batch_size) return &records->items[g->points[i].row];
  return NULL;
}

/* The quotient of two throughputs. Each interval misses its value once in 20 at most, so that the
 * quotient of their ends misses once in 10 at most. */
static void divide(const hl_record *a, const hl_record *b, hl_engine_ratio *r) {
  if (!(a->throughput_ips > 0) || !(b->throughput_ips > 0)) return;
  r->ratio = b->throughput_ips / a->throughput_ips;
  hl_pair x = a->throughput_ci_ips, y = b->throughput_ci_ips;
  if (!(x.low > 0) || !(y.low > 0)) return;
  r->ci = (hl_pair){y.low / x.high, y.high / x.low};
  r->verdict = verdict_of(r->ci);
}

static void take_pairs(const hl_comparison *c, bool swapped, hl_engine_ratio *r) {
  r->comparison = c;
  if (!(c->ratio > 0)) return;
  r->paired = true;
  r->ratio = swapped ? 1 / c->ratio : c->ratio;
  if (c->ci.low > 0 && c->ci.high > 0)
    r->ci = swapped ? (hl_pair){1 / c->ci.high, 1 / c->ci.low} : c->ci;
  r->pairs = c->pairs;
  r->processes = c->processes;
  r->verdict = verdict_from_name(c->verdict);
  if (swapped && r->verdict == HL_VERDICT_FASTER)
    r->verdict = HL_VERDICT_SLOWER;
  else if (swapped && r->verdict == HL_VERDICT_SLOWER)
    r->verdict = HL_VERDICT_FASTER;
}

static hl_engine_ratio make_ratio(const hl_comparisons *comparisons, const hl_record *a,
                                  const hl_record *b) {
  hl_engine_ratio r = unknown_ratio();
  if (!a || !b || a == b) return r;
  bool swapped = false;
  const hl_comparison *c = comparisons ? hl_comparisons_find(comparisons, a, b, &swapped) : NULL;
  if (c) take_pairs(c, swapped, &r);
  if (!r.paired) divide(a, b, &r);
  return r;
}

static bool make_ratios(const hl_records *records, const hl_comparisons *comparisons,
                        hl_engine_model *m) {
  size_t n = m->member_count;
  m->ratios = calloc(m->batch_count * n * n + 1, sizeof *m->ratios);
  if (!m->ratios) return false;
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t a = 0; a < n; a++)
      for (size_t b = 0; b < n; b++)
        m->ratios[(k * n + a) * n + b] =
            make_ratio(comparisons, row_at(records, m->members[a].group, m->batch_sizes[k]),
                       row_at(records, m->members[b].group, m->batch_sizes[k]));
  return true;
}

const hl_engine_ratio *hl_engines_ratio(const hl_engine_model *m, size_t batch, size_t a,
                                        size_t b) {
  return &m->ratios[(batch * m->member_count + a) * m->member_count + b];
}

void hl_engines_ratio_text(const hl_engine_ratio *r, hl_text *out) {
  if (!isfinite(r->ratio)) return;
  double width = r->ci.high - r->ci.low;
  int decimals = 2;
  if (isfinite(width)) decimals = width > 0 ? 1 - (int)floor(log10(width)) : 3;
  if (decimals < 0) decimals = 0;
  if (decimals > 3) decimals = 3;
  /* A ratio far below 1 has three digits all the same. */
  if (r->ratio < 0.1 && r->ratio > 1e-6 && decimals < 2 - (int)floor(log10(r->ratio)))
    decimals = 2 - (int)floor(log10(r->ratio));
  hl_text_format(out, "%s%.*f", r->paired ? "" : "~", decimals, r->ratio);
  if (isfinite(width))
    hl_text_format(out, " [%.*f, %.*f]", decimals, r->ci.low, decimals, r->ci.high);
}

/* ---- the whole ---- */

static void model_release(hl_engine_model *m) {
  for (size_t i = 0; i < m->member_count; i++) free(m->members[i].name);
  for (size_t i = 0; i < m->remark_count; i++) free(m->remarks[i]);
  void *owned[] = {m->name,        m->members,    m->batch_sizes,  m->ratios,
                   m->points,      m->precisions, m->best_latency, m->best_throughput,
                   m->best_memory, m->verdict,    m->remarks};
  for (size_t i = 0; i < HL_COUNT(owned); i++) free(owned[i]);
}

void hl_engines_release(hl_engines *engines) {
  for (size_t i = 0; i < engines->count; i++) model_release(&engines->models[i]);
  free(engines->models);
  *engines = (hl_engines){0};
}

bool hl__engines_remark(hl_engine_model *m, char *text) {
  char **remarks = text ? realloc(m->remarks, (m->remark_count + 1) * sizeof *remarks) : NULL;
  if (!remarks) {
    free(text);
    return false;
  }
  m->remarks = remarks;
  m->remarks[m->remark_count++] = text;
  return true;
}

static bool name_model(hl_engine_model *m) {
  const char *model = m->model ? m->model : "unknown model";
  bool told = m->workload && strcmp(m->workload, "inference") != 0;
  m->name = hl_format("%s%s%s%s%s", m->entry ? m->entry : "", m->entry ? ": " : "",
                      told ? m->workload : "", told ? ", " : "", model);
  hl_text_blank(m->name, "");
  return m->name != NULL;
}

static bool analyse_model(const hl_records *records, const hl_comparisons *comparisons,
                          hl_engine_model *m) {
  if (!name_model(m) || !name_members(m) || !collect_points(records, m) ||
      !make_ratios(records, comparisons, m))
    return false;
  hl__engines_front(m);
  return hl__engines_best(m) && hl__engines_precision(m) && hl__engines_verdict(records, m);
}

/* All groups of one model as members; the first HL_ENGINES_MEMBERS_MOST are kept. */
static bool gather(const hl_analysis *analysis, size_t from, hl_engine_model *m, size_t *ret_all) {
  const hl_analysis_group *first = &analysis->groups[from];
  m->members = calloc(HL_ENGINES_MEMBERS_MOST, sizeof *m->members);
  m->entry = first->entry;
  m->model = first->model;
  m->workload = first->workload;
  *ret_all = 0;
  for (size_t i = from; m->members && i < analysis->group_count; i++) {
    const hl_analysis_group *g = &analysis->groups[i];
    if (!hl_text_same(g->entry, first->entry) || !hl_text_same(g->model, first->model) ||
        !hl_text_same(g->workload, first->workload))
      continue;
    if (m->member_count < HL_ENGINES_MEMBERS_MOST) m->members[m->member_count++].group = g;
    ++*ret_all;
  }
  return m->members != NULL;
}

static bool is_first(const hl_analysis *analysis, size_t at) {
  const hl_analysis_group *g = &analysis->groups[at];
  for (size_t i = 0; i < at; i++)
    if (hl_text_same(analysis->groups[i].entry, g->entry) &&
        hl_text_same(analysis->groups[i].model, g->model) &&
        hl_text_same(analysis->groups[i].workload, g->workload))
      return false;
  return true;
}

static bool make(const hl_analysis *analysis, const hl_records *records,
                 const hl_comparisons *comparisons, hl_engines *engines) {
  engines->models = calloc(analysis->group_count + 1, sizeof *engines->models);
  if (!engines->models) return false;
  for (size_t i = 0; i < analysis->group_count; i++) {
    if (!is_first(analysis, i)) continue;
    hl_engine_model *m = &engines->models[engines->count];
    size_t all = 0;
    engines->count++;
    if (!gather(analysis, i, m, &all)) return false;
    if (all < 2) { /* nothing to compare */
      model_release(m);
      *m = (hl_engine_model){0};
      engines->count--;
      continue;
    }
    if (!analyse_model(records, comparisons, m)) return false;
    if (all > m->member_count &&
        !hl__engines_remark(
            m, hl_format("Only the first %zu of %zu engines are compared", m->member_count, all)))
      return false;
  }
  return true;
}

hl_status hl_engines_make(const hl_analysis *analysis, const hl_records *records,
                          const hl_comparisons *comparisons, hl_engines *ret_engines,
                          hl_error *error) {
  hl_engines engines = {0};
  if (!make(analysis, records, comparisons, &engines)) {
    hl_engines_release(&engines);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compare the engines of %zu groups",
                        analysis->group_count);
  }
  *ret_engines = engines;
  return HL_OK;
}
