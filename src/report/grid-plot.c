/* Pictures of a grid: what they share, and the curves over batch sizes. */
#include "report/gnuplot.h"
#include "report/grid-plot-internal.h"
#include <math.h>
#include <string.h>

const int hl__grid_shapes[HL_GRID_LINES] = {7, 5, 9, 13, 11, 15};

const char *hl_grid_plot_name(hl_grid_plot plot) {
  static const char *const names[HL_GRID_PLOTS] = {"batch_analysis", "heatmaps", "speedup_matrix",
                                                   "compile_time", "roofline"};
  return names[plot];
}

const char *hl_grid_plot_title(hl_grid_plot plot) {
  static const char *const titles[HL_GRID_PLOTS] = {
      "Latency, throughput and memory against the batch size", "Heat maps", "Speed-up",
      "Compilation", "Roofline"};
  return titles[plot];
}

/* ---- shared ---- */

hl_grid_colour hl__grid_blend(const double light[3], const double dark[3], double share) {
  hl_grid_colour colour = {"#ffffff", false};
  if (!(share >= 0)) share = 0;
  if (share > 1) share = 1;
  int parts[3];
  for (int i = 0; i < 3; i++) parts[i] = (int)lround(light[i] + share * (dark[i] - light[i]));
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 3; i++) {
    colour.text[1 + 2 * i] = digits[(parts[i] >> 4) & 15];
    colour.text[2 + 2 * i] = digits[parts[i] & 15];
  }
  colour.dark = 0.30 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2] < 150;
  return colour;
}

void hl__grid_begin(const hl_grid_drawing *d, const char *title, const char *remark, double width,
                    double height) {
  hl_text line = HL_TEXT_INIT;
  hl_plot_terminal(d->out, d->kind, width, height);
  if (remark) hl_text_append(&line, remark);
  if (d->all_models > d->model_count)
    hl_text_format(&line, "%s%zu of %zu models drawn", line.length ? " · " : "", d->model_count,
                   d->all_models);
  if (d->all_members > d->member_count)
    hl_text_format(&line, "%s%zu of %zu frameworks drawn", line.length ? " · " : "",
                   d->member_count, d->all_members);
  hl_text_append(d->out, "set encoding utf8\nset datafile missing 'NaN'\n");
  hl_plot_heading(d->out, title, line.length ? line.data : NULL, d->input->info);
  /* At a distance from the top, whatever the height. */
  hl_text_format(d->out,
                 "set label 20 at screen 0.5, screen %.4g\nset label 21 at screen 0.5, screen "
                 "%.4g\n",
                 1 - 0.28 / height, 1 - 0.55 / height);
  hl_text_release(&line);
  hl_text_append(d->out, "set border 3 lc rgb '#606060' lw 0.8\nset tics nomirror out scale 0.6 tc "
                         "rgb '#202020'\nset title font 'sans-serif Bold,12'\n");
}

void hl__grid_legend(const hl_grid_drawing *d, double screen_y) {
  for (size_t i = 0; i < d->member_count; i++) {
    hl_text_format(d->out, "set label %zu ", 30 + i);
    hl_plot_quote(d->out, d->grid->members[d->members[i]].name, 20);
    hl_text_format(
        d->out,
        " at screen %.4g, screen %.4g left offset 1.2,0 font ',10' point pt %d ps 1.1 lc "
        "rgb '%s'\n",
        0.07 + 0.15 * (double)i, screen_y, hl__grid_shapes[i], hl_plot_line_colours[i]);
  }
}

static bool has_points(const hl_grid *g, size_t model, size_t member) {
  for (size_t k = 0; k < g->batch_count; k++)
    if (hl_grid_at(g, model, member, k)->point) return true;
  return false;
}

static void choose(hl_grid_drawing *d) {
  const hl_grid *g = d->grid;
  for (size_t m = 0; m < g->model_count; m++) {
    bool any = false;
    for (size_t e = 0; e < g->member_count && !any; e++) any = has_points(g, m, e);
    if (any && d->all_models++ < HL_GRID_PANELS) d->models[d->model_count++] = m;
  }
  for (size_t e = 0; e < g->member_count; e++) {
    bool any = false;
    for (size_t m = 0; m < g->model_count && !any; m++) any = has_points(g, m, e);
    if (any && d->all_members++ < HL_GRID_LINES) d->members[d->member_count++] = e;
  }
}

hl_status hl_grid_plot_script(hl_grid_plot plot, const hl_grid *grid, const hl_report_input *input,
                              hl_plot_kind kind, hl_text *out, hl_error *error) {
  hl_grid_drawing d = {.grid = grid, .input = input, .kind = kind, .out = out};
  choose(&d);
  if (d.model_count == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "no row passed, so there is nothing to draw");
  switch (plot) {
  case HL_GRID_PLOT_BATCH:
    return hl__grid_plot_batch(&d, error);
  case HL_GRID_PLOT_HEAT:
    return hl__grid_plot_heat(&d, error);
  case HL_GRID_PLOT_SPEEDUP:
    return hl__grid_plot_speedup(&d, error);
  case HL_GRID_PLOT_COMPILE:
    return hl__grid_plot_compile(&d, error);
  case HL_GRID_PLOT_ROOFLINE:
    return hl__grid_plot_roofline(&d, error);
  case HL_GRID_PLOTS:
    break;
  }
  return HL_OK;
}

/* ---- curves over batch sizes ---- */

enum { X = 1, P50, P99, RATE, RATE_LOW, RATE_HIGH, MEMORY };

/* Limits of a model's panels; NaN: nothing is known. */
typedef struct span {
  double low, high;
} span;

static void include(span *s, double value) {
  if (!isfinite(value)) return;
  if (!(s->low <= value)) s->low = value;
  if (!(s->high >= value)) s->high = value;
}

static void number(hl_text *out, double value) {
  if (isfinite(value))
    hl_text_format(out, " %.9g", value);
  else
    hl_text_append(out, " NaN");
}

typedef struct spans {
  span latency, rate, memory;
  bool has_intervals;
} spans;

/* A block for each member. Their points stand beside each other, so that bars are seen. */
static void put_blocks(const hl_grid_drawing *d, size_t model, spans *s) {
  for (size_t i = 0; i < d->member_count; i++) {
    double shift = 0.05 * ((double)i - (double)(d->member_count - 1) / 2);
    hl_text_format(d->out, "$m%zu << EOD\n", i);
    for (size_t k = 0; k < d->grid->batch_count; k++) {
      const hl_grid_cell *cell = hl_grid_at(d->grid, model, d->members[i], k);
      if (!cell->point) continue;
      const hl_record *r = cell->row;
      const double values[] = {log2((double)r->batch_size) + shift,
                               cell->point->latency_ms,
                               r->latency_p99_ms >= cell->point->latency_ms
                                   ? r->latency_p99_ms
                                   : cell->point->latency_ms,
                               r->throughput_ips,
                               r->throughput_ci_ips.low,
                               r->throughput_ci_ips.high,
                               r->memory_mb};
      for (size_t c = 0; c < HL_COUNT(values); c++) number(d->out, values[c]);
      hl_text_char(d->out, '\n');
      include(&s->latency, values[P50 - 1]);
      include(&s->latency, values[P99 - 1]);
      include(&s->rate, values[RATE - 1]);
      include(&s->rate, values[RATE_HIGH - 1]);
      include(&s->memory, values[MEMORY - 1]);
      s->has_intervals = s->has_intervals || isfinite(r->throughput_ci_ips.low);
    }
    hl_text_append(d->out, "NaN NaN NaN NaN NaN NaN NaN\nEOD\n");
  }
}

/* Crosses on the axis at sizes that a member did not pass. */
static void mark_failed(const hl_grid_drawing *d, size_t model) {
  int tag = 100;
  for (size_t i = 0; i < d->member_count; i++)
    for (size_t k = 0; k < d->grid->batch_count && tag < 160; k++) {
      const hl_grid_cell *cell = hl_grid_at(d->grid, model, d->members[i], k);
      if (cell->point || !cell->row) continue;
      hl_text_format(d->out,
                     "set label %d '' at first %.6g, graph %.3g point pt 2 ps 1.1 lw 2 lc rgb '%s' "
                     "front\n",
                     tag++, log2((double)d->grid->batch_sizes[k]), 0.015 + 0.035 * (double)i,
                     hl_plot_line_colours[i]);
    }
  for (; tag < 160; tag++) hl_text_format(d->out, "unset label %d\n", tag);
}

static void linear(hl_text *out, const span *s) {
  double low = s->low < 0 ? 1.1 * s->low : 0, high = s->high > 0 ? 1.15 * s->high : 1;
  hl_text_format(out,
                 "unset logscale y\nset yrange [%.6g:%.6g]\nset ytics autofreq\nset format y "
                 "'%s'\n",
                 low, high, high >= 1e5 ? "%.0s%c" : "%g");
}

/* Logarithmic where the numbers span `factor` and more. */
static void scale(hl_text *out, const span *s, double factor) {
  if (s->low > 0 && s->high >= factor * s->low)
    hl_plot_log_axis(out, 'y', s->low, s->high);
  else
    linear(out, s);
}

static void put_lines(const hl_grid_drawing *d, int column, int low, int high) {
  for (size_t i = 0; i < d->member_count; i++) {
    if (low)
      hl_text_format(d->out, "%s$m%zu using %d:%d:%d:%d with yerrorbars lw 1.3 pt 0 lc rgb '%s'",
                     i ? ", \\\n  " : "plot ", i, X, column, low, high, hl_plot_line_colours[i]);
    hl_text_format(d->out, "%s$m%zu using %d:%d with linespoints lw 2 pt %d ps 0.9 lc rgb '%s'",
                   i || low ? ", \\\n  " : "plot ", i, X, column, hl__grid_shapes[i],
                   hl_plot_line_colours[i]);
  }
  hl_text_append(d->out, "\n");
}

static void title(const hl_grid_drawing *d, size_t model, const char *what, const char *label) {
  HL_CLEANUP(hl_free_pointer) char *text = hl_format("%.28s: %s", d->grid->models[model], what);
  hl_text_append(d->out, "set title ");
  hl_plot_quote(d->out, text ? text : what, 60);
  hl_text_format(d->out, "\nset ylabel '%s'\n", label);
}

/* "not known" where nothing of it is. */
static void unknown(hl_text *out, bool known) {
  hl_text_append(out, known ? "unset label 12\n"
                            : "set label 12 'not known' at graph 0.5, graph 0.5 center\n");
}

static void put_model(const hl_grid_drawing *d, size_t model) {
  const span none = {(double)NAN, (double)NAN};
  spans s = {none, none, none, false};
  put_blocks(d, model, &s);
  mark_failed(d, model);
  title(d, model, "latency, p50 to p99", "Latency of a step (ms)");
  unknown(d->out, s.latency.low > 0);
  scale(d->out, &s.latency, 8);
  put_lines(d, P50, P50, P99);
  title(d, model, s.has_intervals ? "throughput, 95 % interval" : "throughput",
        "Throughput (images/s)");
  scale(d->out, &s.rate, 200);
  put_lines(d, RATE, RATE_LOW, RATE_HIGH);
  title(d, model, "memory", "Memory (MB)");
  unknown(d->out, isfinite(s.memory.high));
  scale(d->out, &s.memory, 200);
  put_lines(d, MEMORY, 0, 0);
  hl_text_append(d->out, "unset label 12\n");
}

hl_status hl__grid_plot_batch(const hl_grid_drawing *d, hl_error *error) {
  (void)error;
  const hl_grid *g = d->grid;
  double height = 0.9 + 3.8 * (double)d->model_count;
  bool failed = false;
  for (size_t i = 0; i < g->model_count * g->member_count * g->batch_count; i++)
    failed = failed || (g->cells[i].row && !g->cells[i].point);
  hl__grid_begin(d, "Latency, throughput and memory against the batch size",
                 failed ? "×: did not pass" : NULL, 15, height);
  hl__grid_legend(d, 1 - 0.85 / height);
  hl_text_format(d->out,
                 "set multiplot layout %zu,3 margins 0.06,0.985,%.4g,%.4g spacing 0.07,%.4g\n"
                 "set grid y lc rgb '#d8d8d8' lw 0.7 lt 1\nunset key\nset xlabel 'Batch size'\n"
                 "set bars 0.7\n",
                 d->model_count, 0.62 / height, 1 - 1.45 / height, 1.15 / height);
  double low = log2((double)g->batch_sizes[0]);
  double high = log2((double)g->batch_sizes[g->batch_count - 1]);
  hl_plot_size_tics(d->out, g->batch_sizes, g->batch_count, low - 0.5, high + 0.5,
                    high < 10 ? 13 : 7 /* wide numbers */);
  for (size_t i = 0; i < d->model_count; i++) {
    put_model(d, d->models[i]);
    /* The heading belongs to the whole picture: it is drawn with the first panel. */
    if (i == 0) hl_text_append(d->out, "unset label 20\nunset label 21\n");
    for (size_t k = 0; i == 0 && k < d->member_count; k++)
      hl_text_format(d->out, "unset label %zu\n", 30 + k);
  }
  hl_text_append(d->out, "unset multiplot\n");
  return HL_OK;
}
