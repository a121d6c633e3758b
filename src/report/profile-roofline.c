#include "report/profile-texts.h"

#include "analyse/profile.h"
#include "report/gnuplot.h"
#include "report/number.h"
#include "report/plot-data.h"
#include <math.h>

enum { most_labels = 7 };

static bool is_drawn(const hl_profile_row *r) {
  return !r->is_span && !r->is_gap && isfinite(r->intensity) && r->intensity > 0 &&
         isfinite(r->gflops) && r->gflops > 0;
}

typedef struct range {
  double low, high;
} range;

static void widen(range *r, double value) {
  r->low = fmin(r->low, value);
  r->high = fmax(r->high, value);
}

/* Points with a size by their share of the time. */
static size_t put_points(const hl_profile_table *t, hl_text *out, range *x, range *y) {
  size_t count = 0;
  double all = t->steps_ns > 0 ? t->steps_ns : 1;
  hl_text_append(out, "$points << EOD\n");
  for (size_t i = 0; i < t->count; i++) {
    const hl_profile_row *r = &t->rows[i];
    if (!is_drawn(r)) continue;
    hl_text_format(out, "%.6g %.6g %.3g\n", r->intensity, r->gflops,
                   0.6 + 4 * sqrt(fmin(r->self_ns / all, 1)));
    widen(x, r->intensity);
    widen(y, r->gflops);
    count++;
  }
  hl_text_append(out, "EOD\n");
  return count;
}

/* The names of the largest, of which none is written over another. */
static void put_labels(const hl_profile_table *t, range x, range y, hl_text *out) {
  static const double letter = 0.011, line = 0.045; /* of the picture's sides */
  double lefts[most_labels], rights[most_labels], heights[most_labels];
  size_t labels = 0;
  for (size_t i = 0; i < t->count && labels < most_labels; i++) {
    const hl_profile_row *r = &t->rows[i];
    if (!is_drawn(r)) continue;
    double left = log(r->intensity / x.low) / log(x.high / x.low);
    double right = left + letter * (double)(hl_report_columns(r->name) + 2);
    double height = log(r->gflops / y.low) / log(y.high / y.low);
    bool free = true;
    for (size_t k = 0; k < labels; k++)
      free &= fabs(height - heights[k]) > line || left > rights[k] || right < lefts[k];
    if (!free) continue;
    lefts[labels] = left;
    rights[labels] = right;
    heights[labels++] = height;
    hl_text_append(out, "set label ");
    hl_plot_quote(out, *r->name ? r->name : "(none)", 32);
    hl_text_format(out, " at first %.6g,%.6g left offset 1.2,0 noenhanced front\n", r->intensity,
                   r->gflops);
  }
}

static void put_title(const hl_profile *p, hl_text *out) {
  hl_text title = HL_TEXT_INIT;
  hl_text_format(&title, "Roofline: %s, %s, %s, %s", p->model, p->workload, p->engine, p->dtype);
  hl_text_append(out, "set title ");
  hl_plot_quote(out, title.data, 90);
  hl_text_append(
      out, " noenhanced\nset xlabel 'FLOPs for a byte read or written'\n"
           "set ylabel 'GFLOP/s'\nset grid lc rgb '#dddddd'\nset key left top\nset samples 2000\n");
  hl_text_release(&title);
}

static void put_plot(const hl_profile *p, const hl_profile_table *t, range x, range y,
                     hl_text *out) {
  bool roof = p->peak_gflops > 0 && p->bandwidth_gbs > 0;
  if (roof) {
    widen(&x, p->peak_gflops / p->bandwidth_gbs);
    widen(&y, p->peak_gflops);
  }
  x = (range){x.low / 2, x.high * 8}; /* room for names */
  y = (range){y.low / 2, y.high * 4}; /* and for the key */
  put_labels(t, x, y, out);
  hl_plot_log_axis(out, 'x', x.low, x.high);
  hl_plot_log_axis(out, 'y', y.low, y.high);
  hl_text_format(out, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nplot ", x.low, x.high, y.low,
                 y.high);
  if (roof)
    hl_text_format(out,
                   "(%.6g*x < %.6g ? %.6g*x : %.6g) with lines lw 2 lc rgb '#b2182b' title "
                   "'limits: %.4g GFLOP/s, %.4g GB/s', ",
                   p->bandwidth_gbs, p->peak_gflops, p->bandwidth_gbs, p->peak_gflops,
                   p->peak_gflops, p->bandwidth_gbs);
  hl_text_append(out, "$points using 1:2:3 with points pt 7 ps variable lc rgb '#2166ac' title "
                      "'operators, by their time'\n");
}

hl_status hl__profile_roofline(const hl_profile *profile, const char *gnuplot, hl_text *ret_picture,
                               hl_error *error) {
  hl_profile_table t;
  hl_status status = hl_profile_tabulate(profile, HL_PROFILE_BY_OPERATOR, &t, error);
  if (status != HL_OK) return status;
  hl_text script = HL_TEXT_INIT;
  range x = {(double)INFINITY, 0}, y = x;
  hl_plot_terminal(&script, HL_PLOT_PNG, 9, 6);
  put_title(profile, &script);
  size_t count = put_points(&t, &script, &x, &y);
  if (count) put_plot(profile, &t, x, y, &script);
  hl_profile_table_release(&t);
  if (count)
    status = hl_gnuplot_picture(gnuplot, &script, true, ret_picture, error);
  else
    status =
        hl_error_set(error, HL_UNAVAILABLE, "no operator has both FLOPs and bytes that are known");
  hl_text_release(&script);
  return status;
}
