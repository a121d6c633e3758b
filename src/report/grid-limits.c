/* Compilation, and the roofline. */
#include "report/grid-plot-internal.h"
#include "report/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- compilation ---- */

/* Bars of one model and member, which compiles. */
typedef struct bars {
  size_t model, member, mark; /* mark: its colour */
} bars;

enum { BARS = 8, BREAK_EVENS = 16 };

static const char *const bar_colours[BARS] = {"#0072B2", "#E69F00", "#CC79A7", "#56B4E9",
                                              "#009E73", "#D55E00", "#888888", "#332288"};

static size_t find_bars(const hl_grid_drawing *d, bars *ret_bars, size_t *ret_all) {
  size_t count = 0;
  *ret_all = 0;
  for (size_t m = 0; m < d->grid->model_count; m++)
    for (size_t e = 0; e < d->grid->member_count; e++) {
      bool any = false;
      for (size_t k = 0; k < d->grid->batch_count && !any; k++)
        any = hl_grid_compile_ms(hl_grid_at(d->grid, m, e, k)) > 0;
      if (any && (*ret_all)++ < BARS) {
        ret_bars[count] = (bars){m, e, count};
        count++;
      }
    }
  return count;
}

static void put_bars(const hl_grid_drawing *d, const bars *all, size_t count, size_t columns) {
  const hl_grid *g = d->grid;
  double most = 0, width = 0.8 / (double)count;
  for (size_t i = 0; i < count; i++) {
    hl_text_format(d->out, "$c%zu << EOD\n", i);
    for (size_t k = 0; k < columns; k++) {
      double ms = hl_grid_compile_ms(hl_grid_at(g, all[i].model, all[i].member, k));
      if (!(ms > 0)) continue;
      if (ms > most) most = ms;
      hl_text_format(d->out, "%.6g %.9g\n", (double)k - 0.4 + width * ((double)i + 0.5), ms);
    }
    hl_text_append(d->out, "NaN NaN\nEOD\n");
  }
  double unit = most >= 1000 ? 1000 : 1; /* seconds, or milliseconds */
  hl_text_format(d->out,
                 "set title 'Time to compile'\nset ylabel 'Time (%s)'\nset xlabel 'Batch size'\n"
                 "set grid y lc rgb '#d8d8d8' lw 0.7 lt 1\nset boxwidth %.6g\nset style fill solid "
                 "0.85 noborder\nset xrange [-0.6:%.6g]\nset yrange [0:%.6g]\nset key inside left "
                 "top Left reverse samplen 1.2 font ',9.5' noenhanced\nset xtics (",
                 unit > 1 ? "s" : "ms", 0.92 * width, (double)columns - 0.4,
                 /* room for the names */ (1.15 + 0.07 * (double)count) * most / unit);
  for (size_t k = 0; k < columns; k++)
    hl_text_format(d->out, "%s'%lld' %zu", k ? ", " : "", (long long)g->batch_sizes[k], k);
  hl_text_format(d->out, ") font ',%s'\n", columns > 10 ? "8" : "11");
  for (size_t i = 0; i < count; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *name = hl_format("%.24s, %.18s", g->models[all[i].model], g->members[all[i].member].name);
    hl_text_format(d->out, "%s$c%zu using 1:(column(2)/%g) with boxes lc rgb '%s' title ",
                   i ? ", \\\n  " : "plot ", i, unit, bar_colours[all[i].mark]);
    hl_plot_quote(d->out, name ? name : "", 36);
  }
  hl_text_append(d->out, "\n");
}

/* The colour of its bars. */
static const char *colour_of(const hl_break_even *e, const bars *all, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (all[i].model == e->model && all[i].member == e->member) return bar_colours[all[i].mark];
  return "#606060";
}

static void put_break_evens(const hl_grid_drawing *d, const bars *all, size_t count) {
  const hl_grid *g = d->grid;
  size_t lines = g->break_even_count < BREAK_EVENS ? g->break_even_count : BREAK_EVENS;
  double low = (double)NAN, high = (double)NAN;
  for (size_t i = 0; i < lines; i++) {
    const hl_break_even *e = &g->break_evens[i];
    const double ends[] = {e->images, e->images_ci.low, e->images_ci.high};
    for (size_t k = 0; k < HL_COUNT(ends); k++) {
      if (isfinite(ends[k]) && !(low <= ends[k])) low = ends[k];
      if (isfinite(ends[k]) && !(high >= ends[k])) high = ends[k];
    }
  }
  if (!isfinite(low)) low = 1, high = 100;
  low /= 3;
  high *= 30; /* room for "or never" */
  hl_text_format(d->out,
                 "set title '%s'\nunset ylabel\nset xlabel 'Images'\nunset key\nunset grid\nset "
                 "grid x lc rgb '#d8d8d8' lw 0.7 lt 1\nset yrange [%zu.5:-0.5]\n",
                 lines < g->break_even_count ? "Pays off after (the first 16)" : "Pays off after",
                 lines ? lines - 1 : 0);
  hl_plot_log_axis(d->out, 'x', low, high);
  hl_text_append(d->out, "set ytics (");
  for (size_t i = 0; i < lines; i++) {
    const hl_break_even *e = &g->break_evens[i];
    HL_CLEANUP(hl_free_pointer)
    char *name = hl_format("%.16s %.9s/%.9s, %lld", g->models[e->model], g->members[e->member].name,
                           g->members[e->reference].name, (long long)g->batch_sizes[e->batch]);
    hl_text_append(d->out, i ? ", " : "");
    hl_plot_quote(d->out, name ? name : "", 40);
    hl_text_format(d->out, " %zu", i);
  }
  hl_text_append(d->out, ") font ',8.5' scale 0\n");
  for (size_t i = 0; i < lines; i++) {
    const hl_break_even *e = &g->break_evens[i];
    const char *colour = colour_of(e, all, count);
    char number[HL_NUMBER_BYTES];
    bool unsure = e->verdict == HL_VERDICT_INCONCLUSIVE;
    snprintf(number, sizeof number, e->images < 1e9 ? "%.0f%s" : "%.3g%s", e->images,
             unsure ? " ?" : "");
    bool interval = isfinite(e->images_ci.low), closed = interval && isfinite(e->images_ci.high);
    if (interval)
      hl_text_format(
          d->out,
          "set arrow %zu from first %.9g, first %zu to first %.9g, first %zu %s lw 2.2 lc "
          "rgb '%s'\n",
          300 + i, e->images_ci.low, i, closed ? e->images_ci.high : high, i,
          closed ? "nohead" : "head filled size graph 0.02,20", colour);
    if (isfinite(e->images))
      hl_text_format(d->out,
                     "set label %zu '  %s' at first %.9g, first %.4g left font ',8.5' point pt 7 "
                     "ps 0.9 lc rgb '%s' offset 0.4,0.6 front\n",
                     300 + i, number, e->images, (double)i, colour);
    else
      hl_text_format(d->out,
                     "set label %zu '%s' at graph 0.97, first %.4g right font ',8.5' tc rgb "
                     "'#606060' front\n",
                     300 + i, unsure ? "never: it is slower ?" : "never: it is slower", (double)i);
  }
  if (lines == 0)
    hl_text_append(d->out, "set label 300 'nothing to compare with' at graph 0.5, graph 0.5 center "
                           "tc rgb '#606060'\n");
  hl_text_append(d->out, "plot NaN notitle\n");
}

hl_status hl__grid_plot_compile(const hl_grid_drawing *d, hl_error *error) {
  bars all[BARS];
  size_t total = 0, count = find_bars(d, all, &total);
  size_t columns = d->grid->batch_count < HL_GRID_COLUMNS ? d->grid->batch_count : HL_GRID_COLUMNS;
  if (count == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "no compilation: no row tells its time");
  hl_text remark = HL_TEXT_INIT;
  hl_grid_drawing whole = *d; /* its models and frameworks are not those of the curves */
  whole.all_models = whole.model_count;
  whole.all_members = whole.member_count;
  if (total > count)
    hl_text_format(&remark, "%zu of %zu models and frameworks drawn", count, total);
  else
    hl_text_append(&remark,
                   "right: where faster steps have made up for it, with the 95 % interval");
  hl__grid_begin(&whole, "Compilation", remark.data, 15, 6);
  hl_text_release(&remark);
  hl_text_append(d->out, "set multiplot\nset lmargin at screen 0.075\nset rmargin at screen "
                         "0.50\nset tmargin at screen 0.81\nset bmargin at screen 0.11\n");
  put_bars(d, all, count, columns);
  hl_text_append(d->out,
                 "unset label 20\nunset label 21\nset lmargin at screen 0.70\nset rmargin at "
                 "screen 0.98\n");
  put_break_evens(d, all, count);
  hl_text_append(d->out, "unset multiplot\n");
  return HL_OK;
}

/* ---- roofline ---- */

static bool can_be_placed(const hl_grid_cell *cell) {
  return cell->point && cell->point->roofline.gflops > 0 &&
         cell->point->roofline.intensity.low > 0 && cell->point->roofline.intensity.high > 0;
}

typedef struct extent {
  double x_low, x_high, y_low, y_high;
  bool ranges; /* some traffic is not known but for its ends */
} extent;

static void widen(extent *e, const hl_analysis_roofline *p) {
  if (!(e->x_low <= p->intensity.low)) e->x_low = p->intensity.low;
  if (!(e->x_high >= p->intensity.high)) e->x_high = p->intensity.high;
  if (!(e->y_low <= p->gflops)) e->y_low = p->gflops;
  if (!(e->y_high >= p->gflops)) e->y_high = p->gflops;
  e->ranges = e->ranges || p->intensity.low < p->intensity.high;
}

/* A block for each model and member: middle, low and high intensity, GFLOP/s, batch. */
static void put_points(const hl_grid_drawing *d, extent *e) {
  for (size_t m = 0; m < d->model_count; m++)
    for (size_t i = 0; i < d->member_count; i++) {
      hl_text_format(d->out, "$r%zu << EOD\n", m * d->member_count + i);
      for (size_t k = 0; k < d->grid->batch_count; k++) {
        const hl_grid_cell *cell = hl_grid_at(d->grid, d->models[m], d->members[i], k);
        if (!can_be_placed(cell)) continue;
        const hl_analysis_roofline *p = &cell->point->roofline;
        widen(e, p);
        hl_text_format(d->out, "%.9g %.9g %.9g %.9g %lld\n",
                       sqrt(p->intensity.low * p->intensity.high), p->intensity.low,
                       p->intensity.high, p->gflops, (long long)d->grid->batch_sizes[k]);
      }
      hl_text_append(d->out, "NaN NaN NaN NaN 0\nEOD\n");
    }
}

static void put_roofs(const hl_grid_drawing *d) {
  const hl_run_info *info = d->input->info;
  double peak = info->peak_gflops, bandwidth = info->peak_bandwidth_gbs;
  hl_text_format(d->out,
                 "plot (%.9g*x < %.9g ? %.9g*x : %.9g) with lines lw 2.4 lc rgb '#202020' title "
                 "'measured limits: %.4g GFLOP/s, %.4g GB/s'",
                 bandwidth, peak, bandwidth, peak, peak, bandwidth);
  double rounded = info->peak_bfloat16_gflops;
  bool used = false;
  for (size_t i = 0; i < d->member_count; i++)
    used = used || hl_text_same(d->grid->members[d->members[i]].first->dtype, "bfloat16");
  if (used && rounded > 0)
    hl_text_format(d->out,
                   ", \\\n  (%.9g*x < %.9g ? %.9g*x : %.9g) with lines lw 1.8 dt (6,4) lc rgb "
                   "'#606060' title 'bfloat16: %.4g GFLOP/s'",
                   bandwidth, rounded, bandwidth, rounded, rounded);
}

hl_status hl__grid_plot_roofline(const hl_grid_drawing *d, hl_error *error) {
  const hl_run_info *info = d->input->info;
  double nan = (double)NAN;
  extent e = {nan, nan, nan, nan, false};
  if (!(info->peak_gflops > 0) || !(info->peak_bandwidth_gbs > 0))
    return hl_error_set(error, HL_UNAVAILABLE,
                        "no roofline: peak FLOP/s and bandwidth were not measured in this run");
  hl_text points = HL_TEXT_INIT;
  hl_grid_drawing inner = *d;
  inner.out = &points;
  put_points(&inner, &e);
  if (!isfinite(e.x_low)) {
    hl_text_release(&points);
    return hl_error_set(error, HL_UNAVAILABLE,
                        "no roofline: of no row FLOPs and memory traffic are known");
  }
  double ridge = info->peak_gflops / info->peak_bandwidth_gbs;
  double x_low = fmin(e.x_low, ridge) / 2, x_high = fmax(e.x_high, ridge) * 2;
  double y_low = fmin(e.y_low, info->peak_bandwidth_gbs * x_low) / 1.5;
  double y_high = fmax(e.y_high, info->peak_gflops) * 1.8;
  hl__grid_begin(
      d, "Roofline",
      e.ranges ? "numbers: batch sizes · a bar: traffic that the engine does not tell, by the model"
               : "numbers: batch sizes",
      12, 8);
  hl_text_append(d->out, points.data);
  hl_text_release(&points);
  hl_text_append(d->out,
                 "set lmargin at screen 0.08\nset rmargin at screen 0.975\nset tmargin at "
                 "screen 0.88\nset bmargin at screen 0.09\nset samples 400\nset grid lc rgb "
                 "'#e4e4e4' lw 0.7 lt 1\nset xlabel 'Arithmetic intensity (FLOP/byte)'\nset "
                 "ylabel 'Performance (GFLOP/s)'\nset key inside right bottom Left reverse "
                 "samplen 1.6 spacing 1.15 font ',9.5' noenhanced\n");
  hl_plot_log_axis(d->out, 'x', x_low, x_high);
  hl_plot_log_axis(d->out, 'y', y_low, y_high);
  put_roofs(d);
  for (size_t m = 0; m < d->model_count; m++)
    for (size_t i = 0; i < d->member_count; i++) {
      size_t block = m * d->member_count + i;
      const char *colour = hl_plot_line_colours[i];
      bool any = false;
      for (size_t k = 0; k < d->grid->batch_count; k++)
        any = any || can_be_placed(hl_grid_at(d->grid, d->models[m], d->members[i], k));
      if (!any) continue;
      HL_CLEANUP(hl_free_pointer)
      char *name =
          hl_format("%s, %s", d->grid->models[d->models[m]], d->grid->members[d->members[i]].name);
      hl_text_format(d->out,
                     ", \\\n  $r%zu using 1:4:2:3 with xerrorbars lw 1.3 pt 0 lc rgb '%s' notitle, "
                     "\\\n  $r%zu using 1:4 with points pt %d ps 1.2 lc rgb '%s' title ",
                     block, colour, block, hl__grid_shapes[m], colour);
      hl_plot_quote(d->out, name ? name : "", 44);
      hl_text_format(
          d->out,
          ", \\\n  $r%zu using 1:4:(sprintf('%%d', column(5))) with labels offset 0.9,0.7 "
          "font ',8.5' tc rgb '%s' notitle",
          block, colour);
    }
  hl_text_append(d->out, "\n");
  return HL_OK;
}
