#include "report/load-plot.h"

#include "report/load-rows.h"
#include "report/number.h"
#include "report/plot-data.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SERVERS = HL_PLOT_LINES, PERCENTILES = 3 };

static const char *const good = "#009E73", *const grey = "#606060";

/* What is said of a rate, as it is drawn. */
typedef enum mark { MARK_HELD, MARK_NOT_HELD, MARK_VALID, MARK_INVALID, MARK_QUICK, MARKS } mark;
static const struct {
  const char *title, *colour;
  int shape;
  double size;
} marks[MARKS] = {
    [MARK_HELD] = {"tried, target held", "#009E73", 6, 0.7},
    [MARK_NOT_HELD] = {"tried, target not held", "#D55E00", 2, 0.7},
    [MARK_VALID] = {"VALID", "#009E73", 7, 1.3},
    [MARK_INVALID] = {"INVALID", "#D55E00", 2, 1.6},
    [MARK_QUICK] = {"QUICK", "#202020", 6, 1.4},
};

typedef struct plot {
  const hl_records *records;
  hl_text *out;
  const hl_record *servers[SERVERS]; /* the first row of each */
  size_t server_count, left_out;
  size_t counts[MARKS];
  double low_qps, high_qps, low_ms, high_ms;
} plot;

static bool has_rates(const hl_record *r) {
  return (hl_load_is_told(r) && isfinite(r->target_qps)) || r->rates.count;
}

/* Column of the judged percentile in the data: 2 is p50, 3 p90, 4 p99. */
static int judged_column(const hl_record *r) {
  return r->target_percentile == 50 ? 2 : r->target_percentile == 90 ? 3 : 4;
}

static mark mark_of(const hl_record *r) {
  if (r->validity && strcmp(r->validity, "VALID") == 0) return MARK_VALID;
  return r->validity && strcmp(r->validity, "QUICK") == 0 ? MARK_QUICK : MARK_INVALID;
}

static void find_servers(plot *p) {
  for (size_t i = 0; i < p->records->count; i++) {
    const hl_record *r = &p->records->items[i];
    bool known = !has_rates(r);
    for (size_t s = 0; s < p->server_count && !known; s++)
      known = hl_load_same_server(p->servers[s], r);
    if (known) continue;
    if (p->server_count < SERVERS)
      p->servers[p->server_count++] = r;
    else
      p->left_out++;
  }
}

/* ---- data ---- */

static void put_point(plot *p, double qps, double p50, double p90, double p99, mark m) {
  const double values[] = {p50, p90, p99};
  if (!(qps > 0) || !(p50 > 0) || !isfinite(p99)) return;
  hl_text_format(p->out, "%.9g %.9g %.9g %.9g %d\n", qps, p50, p90, p99, (int)m);
  p->counts[m]++;
  p->low_qps = fmin(p->low_qps, qps);
  p->high_qps = fmax(p->high_qps, qps);
  for (size_t i = 0; i < PERCENTILES; i++) {
    p->low_ms = fmin(p->low_ms, values[i]);
    p->high_ms = fmax(p->high_ms, values[i]);
  }
}

/* $r<s>: rate, p50, p90, p99 and the mark of every rate of server `s`. */
static void put_data(plot *p, size_t s) {
  hl_text_format(p->out, "$r%zu << EOD\n", s);
  for (size_t i = 0; i < p->records->count; i++) {
    const hl_record *r = &p->records->items[i];
    if (!has_rates(r) || !hl_load_same_server(p->servers[s], r)) continue;
    for (size_t k = 0; k < r->rates.count; k++) {
      const hl_rate *rate = &r->rates.items[k];
      put_point(p, rate->qps, rate->latency_p50_ms, rate->latency_p90_ms, rate->latency_p99_ms,
                rate->held == 1 ? MARK_HELD : MARK_NOT_HELD);
    }
    if (hl_load_is_told(r))
      put_point(p, r->target_qps, r->latency_p50_ms, r->latency_p90_ms, r->latency_p99_ms,
                mark_of(r));
  }
  hl_text_append(p->out, "NaN NaN NaN NaN -1\nEOD\n");
}

/* ---- axes and lines ---- */

/* 1, 2 and 5 of each decade, or 1 alone over many. */
static void put_log_axis(plot *p, char axis, double low, double high) {
  static const int steps[] = {1, 2, 5};
  bool few = high / low < 2000, first = true;
  hl_text_format(p->out, "set logscale %c 10\nset %crange [%.6g:%.6g]\nset %ctics (", axis, axis,
                 low, high, axis);
  for (int d = (int)floor(log10(low)); d <= (int)ceil(log10(high)); d++)
    for (size_t i = 0; i < HL_COUNT(steps); i++) {
      char label[HL_NUMBER_BYTES];
      double tic = steps[i] * pow(10, d);
      if (!few && steps[i] != 1) continue;
      const char *unit = tic >= 1e6 ? "M" : tic >= 1e4 ? "k" : "";
      snprintf(label, sizeof label, "%g%s",
               tic >= 1e6   ? tic / 1e6
               : tic >= 1e4 ? tic / 1e3
                            : tic,
               unit);
      hl_text_format(p->out, "%s'%s' %.6g", first ? "" : ", ", label, tic);
      first = false;
    }
  hl_text_append(p->out, ")\n");
}

/* The first row with a target: all of a run have the same. */
static const hl_record *targeted(const plot *p) {
  for (size_t i = 0; i < p->records->count; i++)
    if (p->records->items[i].target_latency_ms > 0) return &p->records->items[i];
  return NULL;
}

static void put_target(plot *p, const hl_record *r) {
  char number[HL_NUMBER_BYTES];
  double target_ms = r->target_latency_ms;
  hl_text_format(p->out,
                 "set arrow 1 from graph 0, first %.9g to graph 1, first %.9g nohead lw 1.5 dt "
                 "(6,4) lc rgb '%s' back\nset label 1 'target of p%g: %s ms' at graph 0.01, first "
                 "%.9g left offset 0,0.6 font ',10' tc rgb '%s'\n",
                 target_ms, target_ms, grey, r->target_percentile,
                 hl_report_number(target_ms, "-", number), target_ms, grey);
}

/* The name stands on the side that has room. */
static void put_largest(plot *p) {
  int tag = 10;
  double middle = sqrt(p->low_qps * p->high_qps);
  for (size_t i = 0; i < p->records->count && tag < 10 + SERVERS; i++) {
    const hl_record *r = &p->records->items[i];
    char number[HL_NUMBER_BYTES];
    if (!(r->max_qps > 0)) continue;
    bool left = r->max_qps > middle;
    hl_text_format(p->out,
                   "set arrow %d from first %.9g, graph 0 to first %.9g, graph 1 nohead lw 1.5 lc "
                   "rgb '%s' back\nset label %d 'largest rate: %s/s' at first %.9g, graph %.3g %s "
                   "offset %s,0 font 'sans-serif Bold,10.5' tc rgb '#006B4F'\n",
                   tag, r->max_qps, r->max_qps, good, tag,
                   hl_report_number(r->max_qps, "-", number), r->max_qps, 0.03 + 0.04 * (tag - 10),
                   left ? "right" : "left", left ? "-0.7" : "0.7");
    tag++;
  }
}

static void put_heading(plot *p, const hl_run_info *info) {
  const hl_record *r = p->servers[0];
  hl_text text = HL_TEXT_INIT;
  if (p->server_count == 1)
    hl_load_append_server(r, &text);
  else
    hl_text_append(&text, "Latency of the Server scenario");
  HL_CLEANUP(hl_free_pointer)
  char *most = p->left_out ? hl_format("%d servers drawn, not all · ", SERVERS) : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *remark = hl_format("%spercentiles of the queries that were served", most ? most : "");
  hl_plot_heading(p->out, text.data, remark, info);
  hl_text_release(&text);
}

/* ---- curves ---- */

static void put_separator(plot *p, bool *first) {
  hl_text_append(p->out, *first ? "plot " : ", \\\n  ");
  *first = false;
}

/* Between the points of one rate the curve goes through their mean. */
static void put_curves(plot *p, bool *first) {
  static const char *const names[PERCENTILES] = {"p50", "p90", "p99"};
  for (size_t s = 0; s < p->server_count; s++) {
    int from = 2, to = 4;
    if (p->server_count > 1) from = to = judged_column(p->servers[s]);
    for (int column = from; column <= to; column++) {
      const char *colour = hl_plot_line_colours[p->server_count > 1 ? s : (size_t)(column - 2)];
      put_separator(p, first);
      hl_text_format(p->out, "$r%zu using 1:%d smooth unique with lines lw 2 lc rgb '%s' title ", s,
                     column, colour);
      hl_text title = HL_TEXT_INIT;
      if (p->server_count > 1) hl_load_append_server(p->servers[s], &title);
      hl_text_format(&title, "%s%s", title.length ? ": " : "", names[column - 2]);
      hl_plot_quote(p->out, title.data, 60);
      hl_text_release(&title);
    }
  }
}

static void put_dots(plot *p, bool *first) {
  if (p->server_count > 1) return;
  for (int column = 2; column <= 4; column++) {
    if (column == judged_column(p->servers[0])) continue; /* these have marks */
    put_separator(p, first);
    hl_text_format(p->out, "$r0 using 1:%d with points pt 7 ps 0.45 lc rgb '%s' notitle", column,
                   hl_plot_line_colours[column - 2]);
  }
}

static void put_marks(plot *p, bool *first) {
  for (int m = 0; m < MARKS; m++) {
    bool titled = false;
    for (size_t s = 0; s < p->server_count && p->counts[m]; s++) {
      put_separator(p, first);
      hl_text_format(p->out,
                     "$r%zu using 1:($5==%d?column(%d):NaN) with points pt %d ps %.3g lw 2 lc rgb "
                     "'%s' ",
                     s, m, judged_column(p->servers[s]), marks[m].shape, marks[m].size,
                     marks[m].colour);
      if (titled)
        hl_text_append(p->out, "notitle");
      else
        hl_text_format(p->out, "title '%s'", marks[m].title);
      titled = true;
    }
  }
}

bool hl_load_plot_fits(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (hl_workload_is_load(records->items[i].workload)) return true;
  return false;
}

hl_status hl_load_plot_script(const hl_report_input *input, hl_text *out, hl_error *error) {
  plot p = {.records = input->records,
            .out = out,
            .low_qps = (double)INFINITY,
            .low_ms = (double)INFINITY};
  find_servers(&p);
  for (size_t s = 0; s < p.server_count; s++) put_data(&p, s);
  if (p.server_count == 0 || !(p.high_qps > 0) || !(p.high_ms > 0))
    return hl_error_set(error, HL_UNAVAILABLE,
                        "no plots: latency is drawn against the rate of the server scenario, and "
                        "no row has one");
  const hl_record *target = targeted(&p);
  if (target) p.low_ms = fmin(p.low_ms, target->target_latency_ms);
  if (target) p.high_ms = fmax(p.high_ms, target->target_latency_ms);
  hl_text_format(out,
                 "set datafile missing 'NaN'\nset encoding utf8\nset border 3 lc rgb '%s' lw 0.8\n"
                 "set tics nomirror out scale 0.6 tc rgb '#202020'\nset grid x y lc rgb '#d8d8d8' "
                 "lw 0.7 lt 1\nset lmargin at screen 0.08\nset rmargin at screen 0.97\nset bmargin "
                 "at screen 0.1\nset tmargin at screen 0.9\nset xlabel 'Rate of arrivals "
                 "(queries/s)'\nset ylabel 'Latency from the intended start (ms)'\n"
                 "set key top left samplen 2.2 spacing 1.15 font ',10' Left reverse opaque nobox\n",
                 grey);
  put_log_axis(&p, 'x', p.low_qps / 1.3, p.high_qps * 1.3);
  put_log_axis(&p, 'y', p.low_ms / 1.5, p.high_ms * 3);
  put_heading(&p, input->info);
  if (target) put_target(&p, target);
  put_largest(&p);
  bool first = true;
  put_curves(&p, &first);
  put_dots(&p, &first);
  put_marks(&p, &first);
  hl_text_char(out, '\n');
  return HL_OK;
}
