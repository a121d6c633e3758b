/* Where batch sizes are worth their while: the region around the best, the gain over a fixed batch
 * of 32, and what a plateau, linear memory and a constant share of a step's time are evidence of.
 */
#include "analyse/internal.h"

#include "analyse/number.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double region_share = 0.95, linear_least = 0.99;
enum { FINDINGS = 3 };

/* The neighbouring sizes around the best that have 95 % of it. */
static void region(hl_analysis_group *g) {
  size_t first = g->best_point, last = g->best_point;
  double least = region_share * g->max_throughput_ips;
  while (first > 0 && g->points[first - 1].throughput_ips >= least) first--;
  while (last + 1 < g->point_count && g->points[last + 1].throughput_ips >= least) last++;
  g->region_first = g->points[first].batch_size;
  g->region_last = g->points[last].batch_size;
}

/* Of a quotient of two independent intervals the ends that are farthest apart: not below 95 %. */
static void gain_over_32(hl_analysis_group *g) {
  const hl_analysis_point *best = &g->points[g->best_point];
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_analysis_point *p = &g->points[i];
    if (p->batch_size != 32) continue;
    if (p != best && p->throughput_ci_ips.low > 0 && isfinite(best->throughput_ci_ips.low))
      g->speedup_vs_batch_32_ci =
          (hl_pair){best->throughput_ci_ips.low / p->throughput_ci_ips.high,
                    best->throughput_ci_ips.high / p->throughput_ci_ips.low};
  }
}

static bool add(hl_analysis_group *g, const char *name, int holds, char *evidence) {
  if (!evidence) return false;
  g->findings[g->finding_count++] = (hl_finding){name, holds, evidence};
  return true;
}

/* Whether throughput stops to rise within what was measured. */
static bool plateau(hl_analysis_group *g) {
  const hl_analysis_point *best = &g->points[g->best_point], *last = &g->points[g->point_count - 1];
  double share = 100 * last->throughput_ips / best->throughput_ips;
  const char *name = "throughput_plateau";
  if (g->point_count < 3)
    return add(g, name, -1,
               hl_format("%zu batch size%s: at least 3 are needed to see one", g->point_count,
                         g->point_count == 1 ? "" : "s"));
  if (last->throughput_ips < region_share * best->throughput_ips)
    return add(g, name, 0,
               hl_format("throughput falls beyond batch %" PRId64 ": batch %" PRId64
                         " has %.0f %% of the best",
                         best->batch_size, last->batch_size, share));
  if (g->points[g->plateau_point].batch_size == last->batch_size)
    return add(g, name, 0,
               hl_format("throughput still rises at the largest size that passed, batch %" PRId64
                         ": larger ones may be better",
                         last->batch_size));
  double least = best->throughput_ips;
  for (size_t i = g->plateau_point; i < g->point_count; i++)
    least = fmin(least, g->points[i].throughput_ips);
  return add(g, name, least >= region_share * best->throughput_ips,
             hl_format("from batch %" PRId64 " to %" PRId64
                       " throughput stays within %.0f %% of the best (%zu sizes). That it does not "
                       "tell why: arithmetic, bandwidth and overhead all end in one",
                       g->plateau_batch_size, last->batch_size,
                       100 * (1 - least / best->throughput_ips),
                       g->point_count - g->plateau_point));
}

static bool linear_memory(hl_analysis_group *g) {
  const hl_analysis_line *m = &g->memory_fit;
  const char *name = "memory_linear";
  if (m->points < 3)
    return add(g, name, -1,
               hl_format("memory is known of %zu batch size%s: at least 3 are needed", m->points,
                         m->points == 1 ? "" : "s"));
  if (!(m->r_squared >= linear_least))
    return add(g, name, 0,
               hl_format("a line explains %s of the variance of memory over %zu sizes (R2)",
                         HL_NUM(m->r_squared), m->points));
  return add(
      g, name, 1,
      hl_format("M(b) = %s MB + %s MB b over %zu sizes (R2 %.4f): an image more takes %s MB. "
                "It tells how far memory reaches, and nothing of its bandwidth",
                HL_NUM(m->a0), HL_NUM(m->a1), m->points, m->r_squared, HL_NUM(m->a1)));
}

/* What of a step does not depend on the batch: the only part that larger batches make cheaper. */
static bool constant_part(hl_analysis_group *g) {
  const hl_analysis_line *t = &g->time_fit;
  const char *name = "overhead_amortised";
  if (t->points < 3 || !(t->a1 > 0))
    return add(g, name, -1,
               hl_strdup("no line fits the times: what does not depend on the batch is not known"));
  if (!(t->a0 > 0))
    return add(
        g, name, 0,
        hl_format("the fit sees no part of a step that does not depend on the batch (t0 = %s "
                  "ms, R2 %.4f): a larger batch saves nothing",
                  HL_NUM(t->a0), t->r_squared));
  double batch = (double)g->optimal_batch_size, t0 = t->a0;
  double at_1 = 100 * t0 / (t0 + t->a1), at_best = 100 * t0 / (t0 + t->a1 * batch);
  hl_text text = HL_TEXT_INIT;
  hl_text_format(
      &text, "by the fit %s ms of a step do not depend on the batch, %.0f %% of a step at batch 1",
      HL_NUM(t0), at_1);
  if (g->optimal_batch_size != 1)
    hl_text_format(&text, " and %.1f %% at batch %" PRId64, at_best, g->optimal_batch_size);
  hl_text_append(&text, ". That is all that a larger batch can save");
  return add(g, name, at_1 > 5, hl_text_take(&text));
}

bool hl__analyse_scaling(hl_analysis_group *g) {
  if (g->point_count == 0) return true;
  g->findings = calloc(FINDINGS, sizeof *g->findings);
  if (!g->findings) return false;
  region(g);
  gain_over_32(g);
  return plateau(g) && linear_memory(g) && constant_part(g);
}
