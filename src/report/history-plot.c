#include "report/history-plot.h"

#include "report/gnuplot.h"
#include "report/number.h"
#include "report/plot-data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PANELS = 6, LINES = HL_PLOT_LINES, COMMIT_SHOWN = 7 };

static const int shapes[LINES] = {7, 5, 9, 13, 11, 15};
static const char *const worse_colour = "#D55E00", *const better_colour = "#009E73",
                         *const grey = "#606060";

/* A point and where it stands along x. */
typedef struct placed {
  const hl_history_point *point;
  size_t line; /* of the panel */
  double x;
} placed;

/* One configuration; a line for each machine. */
typedef struct panel {
  const hl_history_series *lines[LINES];
  size_t line_count, left_out; /* machines beyond LINES */
  size_t changes;
  placed *placed; /* of all lines, in order along x */
  size_t count;
  bool by_git;
} panel;

typedef struct plot {
  const hl_history *history;
  panel *panels;
  size_t panel_count;
  hl_text *out;
} plot;

/* ---- panels ---- */

static panel *panel_of(plot *p, const char *name) {
  for (size_t i = 0; i < p->panel_count; i++)
    if (strcmp(p->panels[i].lines[0]->name, name) == 0) return &p->panels[i];
  return &p->panels[p->panel_count++];
}

static int by_changes(const void *a, const void *b) {
  const panel *x = a, *y = b;
  if (x->changes != y->changes) return x->changes > y->changes ? -1 : 1;
  const hl_history_series *s = x->lines[0], *t = y->lines[0];
  return (s > t) - (s < t); /* as the history has them */
}

static int by_time(const void *a, const void *b) {
  const hl_history_point *x = ((const placed *)a)->point, *y = ((const placed *)b)->point;
  int c = strcmp(x->time ? x->time : "", y->time ? y->time : "");
  return c ? c : (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static int by_git(const void *a, const void *b) {
  const hl_history_point *x = ((const placed *)a)->point, *y = ((const placed *)b)->point;
  if (x->behind != y->behind) return x->behind > y->behind ? -1 : 1;
  return x->dirty != y->dirty ? x->dirty - y->dirty : by_time(a, b);
}

/* Whether the same code was measured, on two machines. */
static bool same_code(const hl_history_point *a, const hl_history_point *b) {
  return a->commit && b->commit && !a->dirty && !b->dirty && strcmp(a->commit, b->commit) == 0;
}

static bool place_points(panel *q) {
  size_t all = 0;
  q->by_git = true;
  for (size_t i = 0; i < q->line_count; i++) {
    all += q->lines[i]->count;
    q->by_git = q->by_git && q->lines[i]->by_git;
  }
  q->placed = calloc(all + 1, sizeof *q->placed);
  if (!q->placed) return false;
  for (size_t i = 0; i < q->line_count; i++)
    for (size_t k = 0; k < q->lines[i]->count; k++)
      q->placed[q->count++] = (placed){&q->lines[i]->points[k], i, 0};
  qsort(q->placed, q->count, sizeof *q->placed, q->by_git ? by_git : by_time);
  for (size_t i = 1; i < q->count; i++)
    q->placed[i].x =
        q->placed[i - 1].x + (same_code(q->placed[i - 1].point, q->placed[i].point) ? 0 : 1);
  return true;
}

static bool make_panels(plot *p) {
  const hl_history *h = p->history;
  p->panels = calloc(h->count + 1, sizeof *p->panels);
  if (!p->panels) return false;
  for (size_t i = 0; i < h->count; i++) {
    const hl_history_series *s = &h->items[i];
    if (!s->count) continue;
    panel *q = panel_of(p, s->name);
    q->changes += s->change_count;
    if (q->line_count < LINES)
      q->lines[q->line_count++] = s;
    else
      q->left_out++;
  }
  qsort(p->panels, p->panel_count, sizeof *p->panels, by_changes);
  for (size_t i = 0; i < p->panel_count && i < PANELS; i++)
    if (!place_points(&p->panels[i])) return false;
  return true;
}

static void free_panels(plot *p) {
  for (size_t i = 0; p->panels && i < p->panel_count; i++) free(p->panels[i].placed);
  free(p->panels);
}

static size_t drawn(const plot *p) {
  return p->panel_count < PANELS ? p->panel_count : PANELS;
}

/* ---- data ---- */

static double x_of(const panel *q, const hl_history_point *point) {
  for (size_t i = 0; i < q->count; i++)
    if (q->placed[i].point == point) return q->placed[i].x;
  return (double)NAN;
}

static void put_real(hl_text *out, double value) {
  if (isfinite(value))
    hl_text_format(out, " %.12g", value);
  else
    hl_text_append(out, " NaN");
}

/* $v<panel>_<line>: x value low high; $l<panel>_<line>: the levels, a blank line between two. */
static void put_data(const plot *p, size_t number) {
  const panel *q = &p->panels[number];
  for (size_t line = 0; line < q->line_count; line++) {
    hl_text_format(p->out, "$v%zu_%zu << EOD\n", number, line);
    for (size_t i = 0; i < q->count; i++) {
      const hl_history_point *point = q->placed[i].point;
      if (q->placed[i].line != line) continue;
      const double values[] = {q->placed[i].x, point->value, point->interval.low,
                               point->interval.high};
      for (size_t k = 0; k < HL_COUNT(values); k++) put_real(p->out, values[k]);
      hl_text_char(p->out, '\n');
    }
    hl_text_format(p->out, "EOD\n$l%zu_%zu << EOD\n", number, line);
    double level = (double)NAN, end = 0;
    for (size_t i = 0; i < q->count; i++) {
      const hl_history_point *point = q->placed[i].point;
      if (q->placed[i].line != line || !isfinite(point->level)) continue;
      if (point->level != level) {
        if (isfinite(level)) hl_text_format(p->out, " %.6g %.12g\n\n", end, level);
        hl_text_format(p->out, " %.6g %.12g\n", q->placed[i].x - 0.3, point->level);
      }
      level = point->level;
      end = q->placed[i].x + 0.3;
    }
    if (isfinite(level)) hl_text_format(p->out, " %.6g %.12g\n\n", end, level);
    hl_text_append(p->out, "NaN NaN\nEOD\n");
  }
}

/* ---- axes ---- */

static void put_x_axis(const plot *p, const panel *q) {
  double last = q->count ? q->placed[q->count - 1].x : 0;
  size_t room = drawn(p) > 2 ? 12 : 20, step = (size_t)last / room + 1, put = 0;
  hl_text_format(p->out, "set xrange [%.6g:%.6g]\nset xtics rotate by 45 right (", -0.7,
                 last + 0.7);
  double labelled = -1;
  for (size_t i = 0; i < q->count; i++) {
    const hl_history_point *point = q->placed[i].point;
    if (q->placed[i].x <= labelled || fmod(q->placed[i].x, (double)step) != 0) continue;
    labelled = q->placed[i].x;
    char label[COMMIT_SHOWN + 2];
    if (point->commit)
      snprintf(label, sizeof label, "%.*s%s", COMMIT_SHOWN, point->commit, point->dirty ? "+" : "");
    else
      snprintf(label, sizeof label, "%.*s", 5,
               point->time && strlen(point->time) > 16 ? point->time + 11 /* hour and minute */
                                                       : "-");
    hl_text_format(p->out, "%s", put++ ? ", " : "");
    hl_plot_quote(p->out, label, COMMIT_SHOWN + 1);
    hl_text_format(p->out, " %.6g", q->placed[i].x);
  }
  hl_text_append(p->out, ")\n");
}

/* What is drawn fills the middle; room above for the names of changes. */
static void put_y_axis(const plot *p, const panel *q) {
  double low = (double)INFINITY, high = -(double)INFINITY;
  for (size_t i = 0; i < q->count; i++) {
    const hl_history_point *point = q->placed[i].point;
    low = fmin(low, fmin(point->value, point->interval.low));
    high = fmax(high, fmax(point->value, point->interval.high));
  }
  double span = fmax(high - low, 0.02 * fmax(fabs(high), fabs(low)));
  if (!(span > 0)) span = 1;
  hl_text_format(p->out, "set yrange [%.9g:%.9g]\n", low - 0.1 * span, high + 0.3 * span);
  hl_text_format(p->out, "set format y '%s'\n", fabs(high) >= 1e7 ? "%g" : "%.9g");
}

/* ---- changes ---- */

static void put_change(const plot *p, const panel *q, const hl_history_series *s,
                       const hl_history_change *change, int tag) {
  const hl_history_point *after = &s->points[change->at];
  const char *colour = change->worse ? worse_colour : better_colour;
  double x = x_of(q, after), last = q->placed[q->count - 1].x;
  bool refuted = change->state == HL_CHANGE_REFUTED, left = x > 0.8 * last;
  char label[80];
  snprintf(label, sizeof label, "%.*s: %+.1f %% %s", COMMIT_SHOWN,
           after->commit ? after->commit : "here", hl_history_percent(change),
           change->state == HL_CHANGE_CANDIDATE ? "" : hl_change_state_name(change->state));
  hl_text_format(p->out,
                 "set arrow %d from first %.6g, graph 0 to first %.6g, graph 0.97 nohead lw 1.4 dt "
                 "%s lc rgb '%s' back\nset label %d ",
                 tag, x - 0.5, x - 0.5, refuted ? "(2,6)" : "(6,4)", refuted ? grey : colour, tag);
  hl_plot_quote(p->out, label, 48);
  /* Neighbours would hide each other on one height. */
  hl_text_format(p->out, " at first %.6g, graph %.3g %s offset %s,0 font ',9' tc rgb '%s' front\n",
                 x - 0.5, 0.97 - 0.05 * (tag % 5), left ? "right" : "left", left ? "-0.6" : "0.6",
                 refuted ? grey : colour);
}

static void put_changes(const plot *p, const panel *q) {
  int tag = 100;
  for (size_t line = 0; line < q->line_count; line++)
    for (size_t i = 0; i < q->lines[line]->change_count; i++)
      put_change(p, q, q->lines[line], &q->lines[line]->changes[i], tag++);
}

/* ---- the whole ---- */

static void put_line_title(const plot *p, const panel *q, size_t line) {
  hl_text title = HL_TEXT_INIT;
  hl_text_format(&title, "%s (%.8s)", q->lines[line]->cpu ? q->lines[line]->cpu : "machine",
                 q->lines[line]->machine_id ? q->lines[line]->machine_id : "-");
  hl_plot_quote(p->out, title.data, 60);
  hl_text_release(&title);
}

static void put_heading(const plot *p) {
  const hl_metric *metric = p->history->metric;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%s over commits", metric->title);
  hl_text_append(p->out, "set label 1 ");
  hl_plot_quote(p->out, text.data, 90);
  hl_text_append(p->out, " at screen 0.5, screen 0.97 center font 'sans-serif Bold,15'\n");
  hl_text_clear(&text);
  hl_text_format(&text, "%s, %s is better · bars: intervals · grey: levels", metric->key,
                 metric->better == HL_BETTER_HIGHER ? "higher" : "lower");
  if (p->panel_count > drawn(p))
    hl_text_format(&text, " · %zu of %zu configurations drawn", drawn(p), p->panel_count);
  size_t left_out = 0;
  for (size_t i = 0; i < drawn(p); i++) left_out += p->panels[i].left_out;
  if (left_out) hl_text_format(&text, " · %zu machines left out", left_out);
  hl_text_append(p->out, "set label 2 ");
  hl_plot_quote(p->out, text.data, 140);
  hl_text_format(p->out, " at screen 0.5, screen %s center font ',10' tc rgb '%s'\n",
                 drawn(p) > 1 ? "0.94" : "0.915", grey);
  hl_text_release(&text);
}

static void put_panel(const plot *p, size_t number) {
  const panel *q = &p->panels[number];
  const hl_metric *metric = p->history->metric;
  hl_text_append(p->out, "\nunset arrow\nunset label\n");
  if (number == 0) put_heading(p);
  hl_text_append(p->out, "set title ");
  hl_plot_quote(p->out, q->lines[0]->name, drawn(p) > 2 ? 84 : 110);
  hl_text_append(p->out, "\nset ylabel ");
  hl_plot_quote(p->out, metric->unit[0] ? metric->unit : metric->key, 40);
  hl_text_format(p->out, "\nset xlabel '%s'\n",
                 q->by_git ? "Commit, in git''s order" : "Commit, in order of time");
  put_x_axis(p, q);
  put_y_axis(p, q);
  put_changes(p, q);
  hl_text_append(p->out, "set key left bottom\nplot ");
  for (size_t line = 0; line < q->line_count; line++) {
    hl_text_format(p->out,
                   "%s$l%zu_%zu using 1:2 with lines lw 5 lc rgb '#cfcfcf' notitle, \\\n  "
                   "$v%zu_%zu using 1:2:3:4 with yerrorbars lw 1.5 pt 0 lc rgb '%s' notitle, \\\n  "
                   "$v%zu_%zu using 1:2 with linespoints lw 1 pt %d ps %s lc rgb '%s' title ",
                   line ? ", \\\n  " : "", number, line, number, line, hl_plot_line_colours[line],
                   number, line, shapes[line], q->count > 120 ? "0.35" : "0.7",
                   hl_plot_line_colours[line]);
    put_line_title(p, q, line);
  }
  hl_text_char(p->out, '\n');
}

static void put_script(const plot *p, hl_plot_kind kind) {
  size_t count = drawn(p), columns = count > 2 ? 2 : 1, lines = (count + columns - 1) / columns;
  hl_plot_terminal(p->out, kind, count > 2 ? 15 : 10, count == 1 ? 6 : 10);
  for (size_t i = 0; i < count; i++) put_data(p, i);
  hl_text_format(p->out,
                 "set datafile missing 'NaN'\nset encoding utf8\n"
                 "set multiplot layout %zu,%zu margins %s,0.98,%s,%s spacing 0.11,%s\n"
                 "set border 3 lc rgb '%s' lw 0.8\nset tics nomirror out scale 0.6 tc rgb "
                 "'#202020' font ',9'\nset grid y lc rgb '#d8d8d8' lw 0.7 lt 1\n"
                 "set title font 'sans-serif Bold,10'\n"
                 "set key samplen 2.2 spacing 1.15 font ',9' Left reverse noopaque nobox\n",
                 lines, columns, columns > 1 ? "0.08" : "0.12", lines > 1 ? "0.11" : "0.19",
                 lines > 1 ? "0.88" : "0.82", lines > 2 ? "0.13" : "0.19", grey);
  for (size_t i = 0; i < count; i++) put_panel(p, i);
  hl_text_append(p->out, "unset multiplot\n");
}

hl_status hl_history_plot_draw(const hl_history *history, hl_plot_kind kind, const char *program,
                               hl_text *ret_picture, hl_error *error) {
  hl_text script = HL_TEXT_INIT;
  plot p = {.history = history, .out = &script};
  hl_status status = HL_OK;
  if (!make_panels(&p))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot");
  else if (!p.panel_count)
    status = hl_error_set(error, HL_UNAVAILABLE, "no plot: there is no point to draw");
  if (status == HL_OK) put_script(&p, kind);
  free_panels(&p);
  if (status == HL_OK)
    status = hl_gnuplot_picture(program, &script, kind == HL_PLOT_PNG, ret_picture, error);
  hl_text_release(&script);
  return status;
}
