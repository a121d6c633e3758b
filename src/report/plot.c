#include "report/plot.h"

#include "report/gnuplot.h"
#include "report/load-plot.h"
#include "report/matrix-pages.h"
#include "report/number.h"
#include "report/plot-data.h"
#include "report/training-plot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito's palette without its yellow: told apart with any colour vision. */
static const char *const colours[HL_PLOT_MAX_SERIES] = {"#0072B2", "#D55E00", "#009E73",
                                                        "#CC79A7", "#56B4E9", "#E69F00"};
static const int shapes[HL_PLOT_MAX_SERIES] = {7, 5, 9, 13, 11, 15};
static const char *const blue = "#0072B2", *const red = "#D55E00", *const green = "#009E73",
                         *const grey = "#606060", *const black = "#202020";

typedef struct plot {
  const hl_report_input *input;
  hl_plot_facts facts;
  hl_text *out;
} plot;

static const hl_analysis_group *group_of(const plot *p, size_t series) {
  return &p->input->analysis->groups[p->facts.first[series]];
}

/* "Throughput (images/s)", or of progressive imaging alone what it has in place of images. */
static const char *rate_label(const plot *p) {
  for (size_t i = 0; i < p->facts.series; i++)
    if (!hl_workload_is_progressive(group_of(p, i)->workload)) return "Throughput (images/s)";
  return p->facts.series ? "Throughput (samples/s)" : "Throughput (images/s)";
}

/* The colour of a series: the panel's own where there is only one. */
static const char *colour_of(const plot *p, size_t series, const char *alone) {
  return p->facts.series == 1 ? alone : colours[series];
}

/* What failed is no series: red is the colour of one where there are several. */
static const char *failed_colour(const plot *p) {
  return p->facts.series > 1 ? black : red;
}

static bool is_drawn(const plot *p, const hl_analysis_group *group) {
  for (size_t s = 0; s < p->facts.series; s++)
    if (group_of(p, s) == group) return true;
  return false;
}

/* Many sizes get small markers. */
static double marker_size(const plot *p) {
  return p->facts.min_gap < 0.25 ? 0.45 : 0.9;
}

/* ---- batch sizes along x ---- */

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The different sizes of all rows, in order; free() the result. */
static int64_t *sizes_of(const hl_records *records, size_t *ret_count) {
  int64_t *sizes = calloc(records->count + 1, sizeof *sizes);
  size_t n = 0, kept = 0;
  for (size_t i = 0; sizes && i < records->count; i++)
    if (records->items[i].batch_size > 0) sizes[n++] = records->items[i].batch_size;
  if (sizes) qsort(sizes, n, sizeof *sizes, by_size);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || sizes[kept - 1] != sizes[i]) sizes[kept++] = sizes[i];
  *ret_count = kept;
  return sizes;
}

static void x_tics(plot *p) {
  size_t count = 0;
  int64_t *sizes = sizes_of(p->input->records, &count);
  hl_plot_size_tics(p->out, sizes, count, p->facts.x.low - 0.5, p->facts.x.high + 0.5, 13);
  free(sizes);
}

/* ---- axes ---- */

/* From 0 to `high` with `room` above it, as a share of it. */
static void linear_y(plot *p, double high, double room) {
  bool known = isfinite(high) && high > 0;
  hl_text_format(p->out, "unset logscale y\nset yrange [0:%.6g]\nset ytics autofreq\n",
                 known ? (1 + room) * high : 1);
  hl_text_format(p->out, "set format y '%s'\n", known && high >= 1e5 ? "%.0s%c" : "%g");
  if (known)
    hl_text_append(p->out, "unset label 12\n");
  else
    hl_text_append(p->out, "set label 12 'not known' at graph 0.5, graph 0.5 center\n");
}

static void panel(plot *p, const char *title, const char *y_label) {
  hl_text_format(p->out, "\nset title '%s'\nset ylabel '%s'\n", title, y_label);
}

/* ---- panels ---- */

/* Crosses on the axis at sizes that did not pass, named in the first panel. */
static void mark_failed(plot *p) {
  int tag = 100;
  for (size_t g = 0; g < p->input->analysis->group_count; g++) {
    const hl_analysis_group *group = &p->input->analysis->groups[g];
    for (size_t i = 0; i < group->failed_count && tag < 160; i++) {
      const hl_record *r = &p->input->records->items[group->failed_rows[i]];
      if (r->batch_size <= 0) continue;
      hl_text_format(p->out,
                     "set label %d '' at first %.6g, graph 0 point pt 2 ps 1.3 lw 2.5 lc rgb "
                     "'%s' front\n",
                     tag++, log2((double)r->batch_size), failed_colour(p));
    }
  }
}

static void name_failed(plot *p, bool on) {
  int tag = 200;
  for (size_t g = 0; g < p->input->analysis->group_count; g++) {
    const hl_analysis_group *group = &p->input->analysis->groups[g];
    for (size_t i = 0; i < group->failed_count && tag < 260; i++) {
      const hl_record *r = &p->input->records->items[group->failed_rows[i]];
      if (r->batch_size <= 0) continue;
      if (on) {
        hl_text_format(p->out, "set label %d ", tag);
        hl_plot_quote(p->out, r->outcome ? r->outcome : "FAILED", 24);
        hl_text_format(p->out,
                       " at first %.6g, graph 0.05 rotate by 90 font ',8.5' tc rgb '%s' front\n",
                       log2((double)r->batch_size), failed_colour(p));
      } else
        hl_text_format(p->out, "unset label %d\n", tag);
      tag++;
    }
  }
}

/* The entry, of a test matrix what of it differs; nothing where groups share one: it tells them not
 * apart. */
static void entry_name(const plot *p, size_t series, hl_text *out) {
  hl__matrix_place mine, other;
  const char *entry = group_of(p, series)->entry;
  bool differs[HL__PARTS] = {false}, matrix = hl__matrix_place_of(entry, &mine);
  for (size_t s = 0; s < p->facts.series; s++) {
    const char *theirs = group_of(p, s)->entry;
    if (s != series && hl_text_same(entry, theirs)) return;
    matrix = matrix && hl__matrix_place_of(theirs, &other);
    for (size_t k = 0; matrix && k < HL__PARTS; k++)
      differs[k] = differs[k] || strcmp(mine.parts[k], other.parts[k]) != 0;
  }
  if (!matrix) hl_text_append(out, entry ? entry : "");
  for (size_t k = 0; matrix && k < HL__PARTS; k++)
    if (differs[k]) hl_text_format(out, "%s%s", out->length ? "/" : "", mine.parts[k]);
}

/* What tells a group from the others; free() it. */
static char *series_name(const plot *p, size_t series) {
  const hl_analysis_group *g = group_of(p, series);
  const char *const *mine[] = {(const char *const *)&g->model, (const char *const *)&g->engine,
                               (const char *const *)&g->dtype, (const char *const *)&g->device};
  hl_text name = HL_TEXT_INIT;
  entry_name(p, series, &name);
  if (name.length) return hl_text_take(&name);
  for (size_t k = 0; k < HL_COUNT(mine); k++) {
    bool differs = false;
    for (size_t s = 0; s < p->facts.series; s++) {
      const hl_analysis_group *o = group_of(p, s);
      const char *others[] = {o->model, o->engine, o->dtype, o->device};
      differs = differs || strcmp(others[k] ? others[k] : "", *mine[k] ? *mine[k] : "") != 0;
    }
    if (differs && *mine[k]) hl_text_format(&name, "%s%s", name.length ? ", " : "", *mine[k]);
  }
  bool threads_differ = false;
  for (size_t s = 0; s < p->facts.series; s++)
    threads_differ = threads_differ || group_of(p, s)->threads != g->threads;
  if (threads_differ && g->threads != HL_INT_NULL)
    hl_text_format(&name, "%s%lld threads", name.length ? ", " : "", (long long)g->threads);
  return hl_text_take(&name);
}

/* The names of several series, above all panels: beside the curves they would hide them. */
static void legend(plot *p) {
  enum { COLUMNS = 3 };
  static const double lefts[COLUMNS] = {0.07, 0.385, 0.70};
  for (size_t s = 0; s < p->facts.series; s++) {
    HL_CLEANUP(hl_free_pointer) char *name = series_name(p, s);
    hl_text_format(p->out, "set label %zu ", 20 + s);
    hl_plot_quote(p->out, name && name[0] ? name : "measured", 40);
    hl_text_format(
        p->out,
        " at screen %.4g, screen %.4g left offset 1.2,0 font ',10' point pt %d ps 1.1 lc "
        "rgb '%s'\n",
        lefts[s % COLUMNS], 0.905 - 0.022 * (double)(s / COLUMNS), shapes[s], colours[s]);
  }
}

static void series_title(plot *p, size_t series) {
  if (p->facts.series == 1) {
    hl_text_append(p->out, " title 'measured'");
    return;
  }
  HL_CLEANUP(hl_free_pointer) char *name = series_name(p, series);
  hl_text_append(p->out, " title ");
  hl_plot_quote(p->out, name && name[0] ? name : "measured", 36);
}

/* "$s0 using 1:column with linespoints" of each series; the first has no comma before it. */
static void line_plots(plot *p, int column, const char *alone, bool titles, bool *first) {
  for (size_t s = 0; s < p->facts.series; s++) {
    hl_text_format(p->out, "%s$s%zu using %d:%d with linespoints lw 2 pt %d ps %.3g lc rgb '%s'",
                   *first ? "plot " : ", \\\n  ", s, PLOT_X, column, shapes[s], marker_size(p),
                   colour_of(p, s, alone));
    if (titles)
      series_title(p, s);
    else
      hl_text_append(p->out, " notitle");
    *first = false;
  }
}

static void throughput_panel(plot *p) {
  panel(p, "Throughput", rate_label(p));
  linear_y(p, p->facts.throughput.high, 0.12);
  name_failed(p, true);
  /* Names of outcomes stand above sizes that failed, mostly at the right end. */
  if (p->facts.series > 1)
    hl_text_append(p->out, "unset key\n");
  else
    hl_text_append(p->out, p->facts.failed ? "set key at graph 0.88, graph 0.03 right bottom\n"
                                           : "set key at graph 0.98, graph 0.03 right bottom\n");
  const hl_analysis_group *only = p->facts.series == 1 ? group_of(p, 0) : NULL;
  bool first = true;
  if (only && only->time_fit.points > 1 && isfinite(only->time_fit.a0) &&
      isfinite(only->time_fit.a1)) {
    hl_text_format(p->out,
                   "plot 1000*2**x/(%.9g+%.9g*2**x) with lines lw 1.5 dt (6,4) lc rgb '%s' title "
                   "'fit: T(b) = t₀ + t₁ b'",
                   only->time_fit.a0, only->time_fit.a1, grey);
    first = false;
  }
  for (size_t s = 0; s < p->facts.series && p->facts.has_intervals; s++) {
    hl_text_format(p->out, "%s$s%zu using %d:%d:%d:%d with yerrorbars lw 1.5 pt 0 lc rgb '%s' ",
                   first ? "plot " : ", \\\n  ", s, PLOT_X, PLOT_THROUGHPUT, PLOT_THROUGHPUT_LOW,
                   PLOT_THROUGHPUT_HIGH, colour_of(p, s, blue));
    hl_text_append(p->out, s == 0 ? "title '95 % interval'" : "notitle");
    first = false;
  }
  line_plots(p, PLOT_THROUGHPUT, blue, p->facts.series == 1, &first);
  hl_text_append(p->out, "\n");
  name_failed(p, false);
}

static void memory_panel(plot *p) {
  panel(p, "Memory", "Memory (MB)");
  linear_y(p, p->facts.memory.high, 0.12);
  hl_text_append(p->out, "set key at graph 0.03, graph 0.98 left top\n");
  bool first = true;
  for (size_t s = 0; s < p->facts.series && p->facts.has_planned; s++) {
    hl_text_format(p->out, "%s$s%zu using %d:%d with lines lw 1.5 dt (6,4) lc rgb '%s' %s",
                   first ? "plot " : ", \\\n  ", s, PLOT_X, PLOT_PLANNED,
                   p->facts.series == 1 ? grey : colours[s],
                   s == 0 ? "title 'planned'" : "notitle");
    first = false;
  }
  line_plots(p, PLOT_MEMORY, red, p->facts.series == 1, &first);
  hl_text_append(p->out, "\n");
}

static void latency_panel(plot *p) {
  bool boxes = p->facts.has_boxes && p->facts.series == 1;
  panel(p, p->facts.series == 1 ? "Latency distribution" : "Latency (median)",
        "Latency of a step (ms)");
  double low = p->facts.latency.low, high = p->facts.latency.high;
  if (low > 0 && high / low >= 8)
    hl_plot_log_axis(p->out, 'y', low, high);
  else
    linear_y(p, high, 0.3);
  hl_text_append(p->out, "set format y '%g'\nset key at graph 0.03, graph 0.98 left top\n");
  if (!boxes) {
    /* Boxes of several series hide each other; rows without samples have their median all the same.
     */
    bool first = true;
    line_plots(p, PLOT_LATENCY, blue, p->facts.series == 1, &first);
    hl_text_append(p->out, "\n");
    return;
  }
  double width = 0.55 * p->facts.min_gap / (double)p->facts.series;
  hl_text_format(p->out, "set bars 0.6\nset boxwidth %.6g\nset style fill solid 0.3 border\n",
                 width);
  for (size_t s = 0; s < p->facts.series; s++) {
    const char *colour = colour_of(p, s, blue);
    hl_text_format(
        p->out,
        "%s$out%zu using 1:2 with points pt 6 ps 0.45 lw 1 lc rgb '%s' %s, \\\n"
        "  $box%zu using 1:3:2:6:5 with candlesticks whiskerbars 0.6 lw 1.5 lc rgb '%s' %s, \\\n"
        "  $box%zu using 1:4:4:4:4 with candlesticks lw 1.4 lc rgb 'black' %s",
        s ? ", \\\n  " : "plot ", s, colour, s == 0 ? "title 'beyond whiskers'" : "notitle", s,
        colour, s == 0 ? "title 'quartiles; whiskers: 1.5 IQR'" : "notitle", s,
        s == 0 ? "title 'median'" : "notitle");
  }
  hl_text_append(p->out, "\n");
}

static void efficiency_panel(plot *p) {
  bool samples = strstr(rate_label(p), "samples") != NULL;
  panel(p, "Efficiency", samples ? "Efficiency (samples/s/MB)" : "Efficiency (images/s/MB)");
  linear_y(p, p->facts.efficiency.high, 0.12);
  hl_text_append(p->out, "unset key\n");
  bool first = true;
  line_plots(p, PLOT_EFFICIENCY, green, false, &first);
  hl_text_append(p->out, "\n");
}

static void scaling_panel(plot *p) {
  int64_t base = group_of(p, 0)->baseline_batch;
  bool same_base = true;
  for (size_t s = 1; s < p->facts.series; s++)
    same_base = same_base && group_of(p, s)->baseline_batch == base;
  if (base < 1) base = 1;
  HL_CLEANUP(hl_free_pointer)
  char *label = same_base ? hl_format("Throughput / that of batch %lld", (long long)base)
                          : hl_strdup("Throughput / that of the smallest batch");
  panel(p, "Scaling factor", label ? label : "Scaling factor");
  double low = p->facts.speedup.low, high = p->facts.speedup.high;
  if (!(low > 0)) low = 1;
  if (!(high > 0)) high = 1;
  int from = (int)floor(log2(low)), to = (int)ceil(log2(high)) + 1;
  hl_text_format(p->out, "set logscale y 2\nset yrange [%.6g:%.6g]\nset ytics (", exp2(from - 0.15),
                 exp2(to));
  int step = (to - from) / 9 + 1;
  for (int e = from; e <= to; e += step)
    hl_text_format(p->out, "%s'%g×' %.9g", e > from ? ", " : "", exp2(e), exp2(e));
  hl_text_format(p->out,
                 ")\nset key at graph 0.98, graph %s\nplot 2**x/%lld with lines lw 1.5 "
                 "dt (6,4) lc rgb '%s' "
                 "title 'ideal: as the batch'",
                 /* where neither the curve nor the ideal is */ high < 4 ? "0.98 right top"
                                                                         : "0.03 right bottom",
                 (long long)base, grey);
  bool first = false;
  line_plots(p, PLOT_SPEEDUP, "#CC79A7", p->facts.series == 1, &first);
  hl_text_append(p->out, "\nunset logscale y\n");
}

static bool is_near_best(const hl_analysis_group *g, size_t point) {
  return g->points[point].throughput_ips >= 0.95 * g->max_throughput_ips;
}

/* A rectangle behind each run of neighbouring sizes with 95 % of the best throughput; returns how
 * many. */
static int region_objects(plot *p, const hl_analysis_group *g) {
  int tag = 0;
  for (size_t i = 0; i < g->point_count; i++) {
    if (!is_near_best(g, i)) continue;
    size_t from = i;
    while (i + 1 < g->point_count && is_near_best(g, i + 1)) i++;
    hl_text_format(p->out,
                   "set object %d rectangle from first %.6g, first 0 to first %.6g, first %.9g fc "
                   "rgb '%s' fs solid 0.16 noborder behind\n",
                   ++tag, log2((double)g->points[from].batch_size) - 0.25,
                   log2((double)g->points[i].batch_size) + 0.25, 1.06 * g->max_throughput_ips,
                   green);
  }
  return tag;
}

static void region_panel(plot *p) {
  size_t best = 0;
  for (size_t s = 1; s < p->facts.series; s++)
    if (group_of(p, s)->max_throughput_ips > group_of(p, best)->max_throughput_ips) best = s;
  const hl_analysis_group *g = group_of(p, best);
  double top = g->max_throughput_ips;
  if (g->best_point >= g->point_count) return;
  panel(p, "Optimal operating region", rate_label(p));
  linear_y(p, top, 0.45);
  int regions = region_objects(p, g);
  if (g->optimal_point < g->point_count) {
    double x = log2((double)g->optimal_batch_size);
    bool left = x > (p->facts.x.low + p->facts.x.high) / 2;
    hl_text_format(p->out,
                   "set arrow 1 from first %.6g, first 0 to first %.6g, first %.9g nohead lw 2 lc "
                   "rgb '%s'\nset label 1 'optimal: %lld' at first %.6g, graph 0.06 %s offset %s,0 "
                   "font 'sans-serif Bold,11' tc rgb '#006B4F' front\n",
                   x, x, g->points[g->optimal_point].throughput_ips, green,
                   (long long)g->optimal_batch_size, x, left ? "right" : "left",
                   left ? "-0.7" : "0.7");
  }
  if (g->max_batch_size != HL_INT_NULL)
    hl_text_format(
        p->out,
        "set label 2 'largest that runs: %lld' at graph 0.97, graph 0.79 right font ',9.5' front\n",
        (long long)g->max_batch_size);
  hl_text_format(p->out,
                 "set key at graph 0.03, graph 0.98 left top\nplot %.9g with lines lw 1.5 dt (6,4) "
                 "lc rgb '%s' title '95 %% "
                 "of the best', \\\n  NaN with boxes fs solid 0.16 noborder lc rgb '%s' title 'at "
                 "least 95 %% of the best', \\\n  $s%zu using %d:%d with linespoints lw 2 pt %d ps "
                 "%.3g lc rgb '%s' ",
                 0.95 * top, grey, green, best, PLOT_X, PLOT_THROUGHPUT, shapes[best],
                 marker_size(p), colour_of(p, best, blue));
  series_title(p, best);
  for (int tag = 1; tag <= regions; tag++) hl_text_format(p->out, "\nunset object %d", tag);
  hl_text_append(p->out, "\nunset arrow 1\nunset label 1\nunset label 2\n");
}

/* Several series: latency against throughput, the sizes as labels, rings around rows that no other
 * of the model beats in both, where they are drawn. */
static void front_panel(plot *p) {
  const hl_engines *engines = p->input->engines;
  hl_text_append(p->out, "unset label\n$front << EOD\n");
  for (size_t i = 0; i < engines->count; i++) {
    const hl_engine_model *m = &engines->models[i];
    for (size_t k = 0; k < m->point_count; k++) {
      const hl_engine_point *q = &m->points[k];
      if (q->on_front && is_drawn(p, m->members[q->member].group))
        hl_text_format(p->out, "%.9g %.9g\n", q->latency_ms, q->throughput_ips);
    }
  }
  hl_text_append(p->out, "NaN NaN\nEOD\n");
  panel(p, "Latency against throughput", rate_label(p));
  hl_text_append(p->out, "set xlabel 'Latency of a step (ms)'\nset format y '%g'\n");
  if (!(p->facts.latency.low > 0) || !(p->facts.throughput.low > 0)) return;
  hl_plot_log_axis(p->out, 'x', p->facts.latency.low, p->facts.latency.high);
  if (p->facts.throughput.high >= 8 * p->facts.throughput.low)
    hl_plot_log_axis(p->out, 'y', p->facts.throughput.low, p->facts.throughput.high);
  else
    linear_y(p, p->facts.throughput.high, 0.12);
  hl_text_append(p->out, "set key at graph 0.98, graph 0.03 right bottom\n"
                         "plot $front using 1:2 with points pt 6 ps 2 lw 1.5 lc rgb 'black' title "
                         "'no other is better in both'");
  for (size_t s = 0; s < p->facts.series; s++)
    hl_text_format(p->out,
                   ", \\\n  $s%zu using %d:%d with linespoints lw 2 pt %d ps %.3g lc rgb '%s' "
                   "notitle, \\\n  $s%zu using %d:%d:(sprintf('%%.0f', 2**column(%d))) with labels "
                   "offset 0.9,-0.6 font ',8' tc rgb '%s' notitle",
                   s, PLOT_LATENCY, PLOT_THROUGHPUT, shapes[s], marker_size(p), colours[s], s,
                   PLOT_LATENCY, PLOT_THROUGHPUT, PLOT_X, colours[s]);
  hl_text_append(p->out, "\n");
}

/* ---- the whole ---- */

static void heading(plot *p) {
  const hl_analysis_group *g = group_of(p, 0);
  const hl_run_info *info = p->input->info;
  hl_text text = HL_TEXT_INIT;
  bool one_model = true;
  for (size_t s = 1; s < p->facts.series; s++)
    one_model = one_model && strcmp(group_of(p, s)->model ? group_of(p, s)->model : "",
                                    g->model ? g->model : "") == 0;
  hl_text_append(&text, one_model && g->model ? g->model : "Performance");
  if (p->facts.series == 1 && g->engine) hl_text_format(&text, " on %s", g->engine);
  hl_text_append(p->out, "set label 10 ");
  hl_plot_quote(p->out, text.data, 90);
  hl_text_append(p->out, " at screen 0.5, screen 0.968 center font 'sans-serif Bold,16'\n");
  hl_text_clear(&text);
  if (info->cpu) hl_text_append(&text, info->cpu);
  if (p->facts.series == 1 && g->dtype) hl_text_format(&text, " · %s", g->dtype);
  if (p->facts.series == 1 && g->threads != HL_INT_NULL)
    hl_text_format(&text, " · %lld thread%s", (long long)g->threads, g->threads == 1 ? "" : "s");
  if (p->input->analysis->group_count > p->facts.series)
    hl_text_format(&text, " · %zu of %zu groups drawn", p->facts.series,
                   p->input->analysis->group_count);
  if (info->created) hl_text_format(&text, " · %.10s", info->created);
  if (info->hotlap_version) hl_text_format(&text, " · hotlap %s", info->hotlap_version);
  hl_text_append(p->out, "set label 11 ");
  hl_plot_quote(p->out, text.data, 140);
  hl_text_format(p->out, " at screen 0.5, screen 0.937 center font ',10.5' tc rgb '%s'\n", grey);
  hl_text_release(&text);
}

void hl_plot_script(const hl_report_input *input, hl_plot_kind kind, hl_text *out) {
  plot p = {.input = input, .out = out};
  hl_plot_terminal(out, kind, 15, 10);
  hl_plot_data(input, HL_PLOT_MAX_SERIES, &p.facts, out);
  if (p.facts.series == 0) return;
  hl_text_format(out,
                 "set datafile missing 'NaN'\nset samples 300\nset encoding utf8\n"
                 "set multiplot layout 2,3 margins 0.065,0.985,0.07,%s spacing 0.07,0.135\n"
                 "set border 3 lc rgb '%s' lw 0.8\nset tics nomirror out scale 0.6 tc rgb "
                 "'#202020'\nset grid y lc rgb '#d8d8d8' lw 0.7 lt 1\n"
                 "set xlabel 'Batch size'\nset title font 'sans-serif Bold,12.5'\n"
                 "set key samplen 2.2 spacing 1.15 font ',9.5' Left reverse noopaque nobox\n",
                 /* room for the names of several series */
                 p.facts.series > 1 ? "0.82" : "0.865", grey);
  x_tics(&p);
  mark_failed(&p);
  heading(&p);
  if (p.facts.series > 1) legend(&p);
  throughput_panel(&p);
  hl_text_append(out, "unset label 10\nunset label 11\n");
  for (size_t s = 0; s < p.facts.series; s++) hl_text_format(out, "unset label %zu\n", 20 + s);
  memory_panel(&p);
  latency_panel(&p);
  efficiency_panel(&p);
  scaling_panel(&p);
  if (p.facts.series > 1)
    front_panel(&p);
  else
    region_panel(&p);
  hl_text_append(out, "unset multiplot\n");
}

static bool any_passed(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (hl_record_passed(&records->items[i])) return true;
  return false;
}

static hl_status make_script(const hl_report_input *input, hl_plot_kind kind, hl_text *out,
                             hl_error *error) {
  if (hl_load_plot_fits(input->records)) {
    hl_plot_terminal(out, kind, 15, 10);
    return hl_load_plot_script(input, out, error);
  }
  if (hl_training_plot_fits(input->records)) {
    hl_plot_terminal(out, kind, 15, 10);
    return hl_training_plot_script(input, out, error);
  }
  size_t points = 0;
  for (size_t g = 0; g < input->analysis->group_count; g++)
    points += input->analysis->groups[g].point_count;
  if (points == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "no plots: %s, so there is nothing to draw",
                        any_passed(input->records) ? "no row is a point of a curve over batch sizes"
                                                   : "no row passed");
  hl_plot_script(input, kind, out);
  return HL_OK;
}

hl_status hl_plot_draw(const hl_report_input *input, hl_plot_kind kind, const char *program,
                       hl_text *ret_picture, hl_error *error) {
  hl_text script = HL_TEXT_INIT;
  hl_status status = make_script(input, kind, &script, error);
  if (status == HL_OK)
    status = hl_gnuplot_picture(program, &script, kind == HL_PLOT_PNG, ret_picture, error);
  hl_text_release(&script);
  return status;
}
