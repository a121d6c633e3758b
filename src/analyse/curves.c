/* Best, optimal and plateau sizes, speed-ups, and the fits of time and memory. */
#include "analyse/internal.h"

#include "analyse/number.h"
#include "statistics/line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double plateau_share = 0.95, bic_gain_least = 10;
/* Medians are known to 1 %: residuals below half of that are no evidence for a second piece. */
static const double relative_error = 0.005;

/* Sizes beyond this are not fitted; a sweep has a dozen. */
enum { FIT_MOST = 512 };

static hl_pair interval_of(const hl_analysis_point *p) {
  if (isfinite(p->throughput_ci_ips.low) && isfinite(p->throughput_ci_ips.high))
    return p->throughput_ci_ips;
  return (hl_pair){p->throughput_ips, p->throughput_ips};
}

static bool overlap(hl_pair a, hl_pair b) {
  return a.low <= b.high && b.low <= a.high;
}

static void best_sizes(hl_analysis_group *g) {
  size_t best = 0;
  for (size_t i = 1; i < g->point_count; i++)
    if (g->points[i].throughput_ips > g->points[best].throughput_ips) best = i;
  hl_pair interval = interval_of(&g->points[best]);
  g->best_point = best;
  g->max_throughput_ips = g->points[best].throughput_ips;
  for (size_t i = g->point_count; i-- > 0;) {
    hl_analysis_point *p = &g->points[i];
    p->ties_with_best = i == best || overlap(interval_of(p), interval);
    /* Backwards, so that the smallest stays. A larger size never beats a smaller one that ties. */
    if (p->ties_with_best) g->optimal_point = i;
    if (p->throughput_ips >= plateau_share * g->max_throughput_ips) g->plateau_point = i;
  }
  g->optimal_batch_size = g->points[g->optimal_point].batch_size;
  g->plateau_batch_size = g->points[g->plateau_point].batch_size;
}

static double least(double a, double b) {
  return !isfinite(a) || b < a ? b : a;
}

static void speedups(hl_analysis_group *g) {
  double base = g->points[0].throughput_ips;
  g->baseline_batch = g->points[0].batch_size;
  g->speedup_vs_batch_1 = g->max_throughput_ips / base;
  for (size_t i = 0; i < g->point_count; i++) {
    hl_analysis_point *p = &g->points[i];
    p->speedup = p->throughput_ips / base;
    if (p->batch_size == 32) g->speedup_vs_batch_32 = g->max_throughput_ips / p->throughput_ips;
    g->best_latency_per_image_ms = least(g->best_latency_per_image_ms, p->latency_per_image_ms);
    if (p->efficiency > 0) g->best_efficiency = fmax(g->best_efficiency, p->efficiency);
  }
}

static hl_analysis_line line_of(const hl_line *line) {
  return (hl_analysis_line){line->n, line->a0, line->a1, line->r_squared};
}

static void fit_time(hl_analysis_group *g) {
  double x[FIT_MOST], y[FIT_MOST], weights[FIT_MOST];
  size_t n = 0;
  for (size_t i = 0; i < g->point_count && n < FIT_MOST; i++) {
    if (!(g->points[i].latency_ms > 0)) continue;
    x[n] = (double)g->points[i].batch_size;
    y[n] = g->points[i].latency_ms;
    weights[n] = 1 / (y[n] * y[n]);
    n++;
  }
  hl_line line;
  hl_two_lines two;
  if (!hl_line_fit(x, y, weights, n, &line)) return;
  g->time_fit = line_of(&line);
  double limit = line.a1 > 0 ? 1000 / line.a1 : (double)NAN;
  /* A line that some row is surely above of describes no limit. */
  if (limit >= interval_of(&g->points[g->best_point]).low) {
    g->x_max_ips = limit;
    if (line.a0 > 0) g->half_speed_batch = line.a0 / line.a1;
  }
  if (!hl_line_fit_two(x, y, weights, n, relative_error * relative_error, &two)) return;
  g->bic_gain = two.bic_gain;
  g->two_pieces = two.bic_gain > bic_gain_least;
  if (!g->two_pieces) return;
  g->break_batch_size = (int64_t)x[two.low_count - 1];
  g->time_fit_low = line_of(&two.low);
  g->time_fit_high = line_of(&two.high);
}

static void fit_memory(hl_analysis_group *g) {
  double x[FIT_MOST], y[FIT_MOST];
  size_t n = 0;
  for (size_t i = 0; i < g->point_count && n < FIT_MOST; i++) {
    if (!isfinite(g->points[i].memory_mb)) continue;
    x[n] = (double)g->points[i].batch_size;
    y[n++] = g->points[i].memory_mb;
  }
  hl_line line;
  if (hl_line_fit(x, y, NULL, n, &line)) g->memory_fit = line_of(&line);
}

/* What the search wrote into the group's rows; else the largest size that passed, if the next one
 * ran out of memory when it was run. */
static void boundary(const hl_analysis_input *input, hl_analysis_group *g) {
  for (size_t i = 0; i < g->point_count + g->failed_count; i++) {
    size_t row = i < g->point_count ? g->points[i].row : g->failed_rows[i - g->point_count];
    const hl_record *r = hl__analysis_record(input, row);
    if (r->max_batch_size != HL_INT_NULL) g->max_batch_size = r->max_batch_size;
  }
  if (g->max_batch_size != HL_INT_NULL || g->point_count == 0) return;
  int64_t next = g->points[g->point_count - 1].batch_size + 1;
  for (size_t i = 0; i < g->failed_count; i++) {
    const hl_record *r = hl__analysis_record(input, g->failed_rows[i]);
    bool no_memory = r->outcome && strcmp(r->outcome, "OUT_OF_MEMORY") == 0;
    if (no_memory && !hl_record_predicted(r) && r->batch_size == next) g->max_batch_size = next - 1;
  }
}

void hl__analyse_curves(const hl_analysis_input *input, hl_analysis_group *g) {
  boundary(input, g);
  if (g->point_count == 0) return;
  best_sizes(g);
  speedups(g);
  fit_time(g);
  fit_memory(g);
}

static void describe_time(const hl_analysis_line *line, const char *where, hl_text *out) {
  hl_text_format(out, "T(b) = %s ms %c %s ms/image * b%s", HL_NUM(line->a0),
                 line->a1 < 0 ? '-' : '+', HL_NUM(fabs(line->a1)), where);
  if (isfinite(line->r_squared))
    hl_text_format(out, " (R2 %.4f", line->r_squared);
  else
    hl_text_append(out, " (exact through its points");
  hl_text_format(out, ", %zu sizes)", line->points);
}

void hl_analysis_describe_fit(const hl_analysis_group *g, hl_text *out) {
  if (g->time_fit.points) {
    describe_time(&g->time_fit, "", out);
    if (g->x_max_ips >= g->max_throughput_ips)
      hl_text_format(out, ": at most %s images/s", HL_NUM(g->x_max_ips));
    else if (isfinite(g->x_max_ips)) /* within the interval of the best */
      hl_text_format(out, ": no more than the best row's %s images/s",
                     HL_NUM(g->max_throughput_ips));
    if (g->half_speed_batch >= 1)
      hl_text_format(out, ", half of it at batch %.0f", ceil(g->half_speed_batch));
    hl_text_char(out, '\n');
  }
  if (g->two_pieces) {
    char where[64];
    snprintf(where, sizeof where, " up to batch %" PRId64, g->break_batch_size);
    hl_text_append(out, "Two lines fit better: ");
    describe_time(&g->time_fit_low, where, out);
    hl_text_append(out, ", then ");
    describe_time(&g->time_fit_high, "", out);
    hl_text_format(out, " (BIC better by %.0f)\n", g->bic_gain);
  }
  if (g->memory_fit.points) {
    const hl_analysis_line *m = &g->memory_fit;
    hl_text_format(out, "M(b) = %s MB %c %s MB/image * b", HL_NUM(m->a0), m->a1 < 0 ? '-' : '+',
                   HL_NUM(fabs(m->a1)));
    if (isfinite(m->r_squared))
      hl_text_format(out, " (R2 %.4f, %zu sizes)", m->r_squared, m->points);
    hl_text_char(out, '\n');
  }
}
