#include "report/series-plot.h"

#include "report/gnuplot.h"
#include "report/plot-data.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int shapes[] = {7, 5, 9, 13, 11, 15};

/* Rows that differ in nothing but x; the names are of the first. */
typedef struct series {
  const hl_record *first;
  char *model; /* without the parameter that is x */
  size_t rows;
} series;

typedef struct drawing {
  const hl_report_input *input;
  const hl_series_plot *plot;
  const hl_metric *x; /* NULL: a parameter */
  hl_text *out;
  series *series;
  size_t series_count, dropped_series;
  size_t *of_row; /* series of each row; SIZE_MAX: not drawn */
  size_t not_passed;
  double *xs; /* different ones, rising */
  size_t x_count;
} drawing;

/* -- numbers of rows --------------------------------------------------------------------------- */

static bool is_number(const hl_metric *m) {
  return m && (m->kind == HL_METRIC_INT || m->kind == HL_METRIC_REAL);
}

static double number_of(const hl_record *r, const hl_metric *m) {
  const void *field = (const char *)r + m->offset;
  if (hl_record_is_null(r, m)) return (double)NAN;
  return m->kind == HL_METRIC_INT ? (double)*(const int64_t *)field : *(const double *)field;
}

static double x_of(const drawing *d, const hl_record *r) {
  if (d->x) return number_of(r, d->x);
  return d->plot->parameter && r->model ? d->plot->parameter(r->model, d->plot->x) : (double)NAN;
}

hl_status hl_series_plot_check(const hl_series_plot *plot, hl_error *error) {
  for (size_t i = 0; i < plot->y_count; i++)
    if (!is_number(hl_metric_find(plot->y[i])))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "'%.60s' is no metric of one number; docs/metrics.md lists them",
                          plot->y[i]);
  const hl_metric *x = hl_metric_find(plot->x);
  if (x && !is_number(x))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.60s' is not one number", plot->x);
  if (plot->y_count < 1 || plot->y_count > HL_SERIES_PANELS)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a plot has 1 to %d metrics as y",
                        HL_SERIES_PANELS);
  return HL_OK;
}

/* -- curves ------------------------------------------------------------------------------------ */

/* "mlp:hidden_dim=8,input_dim=4" without hidden_dim is "mlp:input_dim=4"; free() it. */
static char *without_parameter(const char *model, const char *key) {
  hl_text text = HL_TEXT_INIT;
  size_t name = strcspn(model, ":"), length = strlen(key);
  hl_text_append_n(&text, model, name);
  char separator = ':';
  for (const char *at = model + name; *at;) {
    at++;
    size_t part = strcspn(at, ",");
    if (strncmp(at, key, length) != 0 || at[length] != '=') {
      hl_text_char(&text, separator);
      hl_text_append_n(&text, at, part);
      separator = ',';
    }
    at += part;
  }
  return hl_text_take(&text);
}

static const char *known(const char *text) {
  return text ? text : "";
}

static bool belongs(const drawing *d, const series *s, const char *model, const hl_record *r) {
  const hl_record *f = s->first;
  bool x_is_batch = strcmp(d->plot->x, "batch_size") == 0;
  bool x_is_threads = strcmp(d->plot->x, "threads") == 0;
  return strcmp(s->model, model) == 0 && strcmp(known(f->entry), known(r->entry)) == 0 &&
         strcmp(known(f->workload), known(r->workload)) == 0 &&
         strcmp(known(f->engine), known(r->engine)) == 0 &&
         strcmp(known(f->dtype), known(r->dtype)) == 0 &&
         strcmp(known(f->device), known(r->device)) == 0 &&
         (x_is_batch || f->batch_size == r->batch_size) &&
         (x_is_threads || f->threads == r->threads);
}

static bool wanted(const hl_series_plot *plot, const hl_record *r) {
  for (size_t i = 0; i < plot->entry_count; i++)
    if (r->entry && strcmp(plot->entries[i], r->entry) == 0) return true;
  return plot->entry_count == 0;
}

static hl_status place(drawing *d, size_t row, hl_error *error) {
  const hl_record *r = &d->input->records->items[row];
  d->of_row[row] = SIZE_MAX;
  if (!wanted(d->plot, r)) return HL_OK;
  if (!hl_record_passed(r)) {
    d->not_passed++;
    return HL_OK;
  }
  if (!isfinite(x_of(d, r))) return HL_OK;
  char *model = without_parameter(known(r->model), d->plot->x);
  if (!model) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot");
  size_t at = 0;
  while (at < d->series_count && !belongs(d, &d->series[at], model, r)) at++;
  if (at == HL_SERIES_MOST) {
    d->dropped_series++;
    free(model);
    return HL_OK;
  }
  if (at == d->series_count) {
    d->series[d->series_count++] = (series){.first = r, .model = model};
    model = NULL;
  }
  free(model);
  d->series[at].rows++;
  d->of_row[row] = at;
  return HL_OK;
}

static int rising(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static hl_status gather(drawing *d, hl_error *error) {
  const hl_records *records = d->input->records;
  d->series = calloc(HL_SERIES_MOST, sizeof *d->series);
  d->of_row = calloc(records->count + 1, sizeof *d->of_row);
  d->xs = calloc(records->count + 1, sizeof *d->xs);
  if (!d->series || !d->of_row || !d->xs)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot");
  hl_status status = HL_OK;
  size_t n = 0;
  for (size_t i = 0; i < records->count && status == HL_OK; i++) {
    status = place(d, i, error);
    if (d->of_row[i] != SIZE_MAX) d->xs[n++] = x_of(d, &records->items[i]);
  }
  qsort(d->xs, n, sizeof *d->xs, rising);
  for (size_t i = 0; i < n; i++)
    if (d->x_count == 0 || d->xs[d->x_count - 1] != d->xs[i]) d->xs[d->x_count++] = d->xs[i];
  if (status == HL_OK && d->x_count == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "no plot of %.60s: no row that passed has it",
                        d->plot->x);
  return status;
}

/* What tells a curve from the others; free() it. */
static char *name_of(const drawing *d, size_t index) {
  const series *s = &d->series[index];
  hl_text name = HL_TEXT_INIT;
  bool entry = false, model = false, engine = false, dtype = false, device = false;
  bool batch = false, threads = false;
  for (size_t i = 0; i < d->series_count; i++) {
    const series *o = &d->series[i];
    entry |= strcmp(known(o->first->entry), known(s->first->entry)) != 0;
    model |= strcmp(o->model, s->model) != 0;
    engine |= strcmp(known(o->first->engine), known(s->first->engine)) != 0;
    dtype |= strcmp(known(o->first->dtype), known(s->first->dtype)) != 0;
    device |= strcmp(known(o->first->device), known(s->first->device)) != 0;
    batch |= o->first->batch_size != s->first->batch_size;
    threads |= o->first->threads != s->first->threads;
  }
  const char *parts[] = {entry ? s->first->entry : NULL, model ? s->model : NULL,
                         engine ? s->first->engine : NULL, dtype ? s->first->dtype : NULL,
                         device ? s->first->device : NULL};
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    if (parts[i]) hl_text_format(&name, "%s%s", name.length ? ", " : "", parts[i]);
  if (batch && strcmp(d->plot->x, "batch_size") != 0)
    hl_text_format(&name, "%sbatch %" PRId64, name.length ? ", " : "", s->first->batch_size);
  if (threads && strcmp(d->plot->x, "threads") != 0)
    hl_text_format(&name, "%s%" PRId64 " threads", name.length ? ", " : "", s->first->threads);
  if (name.length == 0) hl_text_append(&name, s->model[0] ? s->model : "measured");
  return hl_text_take(&name);
}

/* Of so many panels; inches. */
typedef struct layout {
  int rows, columns, width, height;
} layout;

static const layout *layout_of(const drawing *d) {
  static const layout layouts[HL_SERIES_PANELS + 1] = {
      {1, 1, 10, 7},  {1, 1, 10, 7},  {1, 2, 15, 8}, {1, 3, 15, 7},
      {2, 2, 15, 10}, {2, 3, 15, 10}, {2, 3, 15, 10}};
  return &layouts[d->plot->y_count];
}

/* -- script ------------------------------------------------------------------------------------ */

/* Rows of a curve by rising x. */
static void put_data(const drawing *d) {
  const hl_records *records = d->input->records;
  for (size_t s = 0; s < d->series_count; s++) {
    hl_text_format(d->out, "$s%zu << EOD\n", s);
    for (size_t x = 0; x < d->x_count; x++)
      for (size_t i = 0; i < records->count; i++) {
        const hl_record *r = &records->items[i];
        if (d->of_row[i] != s || x_of(d, r) != d->xs[x]) continue;
        hl_text_format(d->out, "%.9g", d->xs[x]);
        for (size_t y = 0; y < d->plot->y_count; y++) {
          double value = number_of(r, hl_metric_find(d->plot->y[y]));
          if (isfinite(value))
            hl_text_format(d->out, " %.9g", value);
          else
            hl_text_append(d->out, " NaN");
        }
        hl_text_char(d->out, '\n');
      }
    hl_text_append(d->out, "EOD\n");
  }
}

static void range_of(const drawing *d, const hl_metric *m, double *ret_low, double *ret_high) {
  const hl_records *records = d->input->records;
  *ret_low = *ret_high = (double)NAN;
  for (size_t i = 0; i < records->count; i++) {
    if (d->of_row[i] == SIZE_MAX) continue;
    double value = number_of(&records->items[i], m);
    if (!isfinite(value)) continue;
    if (!(*ret_low <= value)) *ret_low = value;
    if (!(*ret_high >= value)) *ret_high = value;
  }
}

/* Labels at the x that there are, as far as they have room. */
static void put_x_axis(const drawing *d) {
  double low = d->xs[0], high = d->xs[d->x_count - 1];
  bool log = low > 0 && high / low >= 4;
  double from = log ? log2(low) : low, to = log ? log2(high) : high;
  double margin = to > from ? 0.04 * (to - from) : 0.5, gap = (to - from) / 11, last = -1e300;
  hl_text_append(d->out, log ? "set logscale x 2\n" : "unset logscale x\n");
  hl_text_format(d->out, "set xrange [%.9g:%.9g]\nset xtics (",
                 log ? exp2(from - margin) : from - margin, log ? exp2(to + margin) : to + margin);
  bool first = true;
  for (size_t i = 0; i < d->x_count; i++) {
    double at = log ? log2(d->xs[i]) : d->xs[i];
    if (at - last < gap) continue;
    hl_text_format(d->out, "%s'%.6g' %.9g", first ? "" : ", ", d->xs[i], d->xs[i]);
    last = at;
    first = false;
  }
  hl_text_append(d->out, ")\n");
}

/* 1, 2 and 5 of each decade; 1 alone over many. */
static void put_log_axis(const drawing *d, double low, double high) {
  static const int steps[] = {1, 2, 5};
  double decades = log10(high / low);
  bool first = true;
  hl_text_format(d->out, "set logscale y 10\nset yrange [%.6g:%.6g]\nset ytics (", low / 1.3,
                 high * 1.3);
  for (int e = (int)floor(log10(low)); e <= (int)ceil(log10(high)); e++)
    for (size_t i = 0; i < HL_COUNT(steps); i++) {
      if (decades > 3 && steps[i] != 1) continue;
      double tic = steps[i] * pow(10, e);
      const char *unit = tic >= 1e6 ? "M" : tic >= 1e4 ? "k" : "";
      hl_text_format(d->out, "%s'%g%s' %.6g", first ? "" : ", ",
                     tic >= 1e6   ? tic / 1e6
                     : tic >= 1e4 ? tic / 1e3
                                  : tic,
                     unit, tic);
      first = false;
    }
  hl_text_append(d->out, ")\n");
}

static void put_y_axis(const drawing *d, const hl_metric *m) {
  double low, high;
  range_of(d, m, &low, &high);
  if (low > 0 && high / low >= 20) {
    put_log_axis(d, low, high);
    return;
  }
  double bottom = low < 0 ? 1.12 * low : 0, top = high > 0 ? 1.12 * high : 1;
  hl_text_format(d->out, "unset logscale y\nset yrange [%.6g:%.6g]\nset ytics autofreq\n",
                 isfinite(low) ? bottom : 0, isfinite(high) ? top : 1);
  hl_text_format(d->out, "set format y '%s'\n", isfinite(high) && high >= 1e5 ? "%.1s%c" : "%g");
  if (!isfinite(high))
    hl_text_append(d->out, "set label 12 'not known' at graph 0.5, graph 0.5 center\n");
}

/* "Throughput", "Latency p50", "hidden dim". */
static void metric_name(const hl_metric *m, const char *key, hl_text *out) {
  static const char latency[] = "latency_";
  bool is_latency = m && strncmp(key, latency, sizeof latency - 1) == 0;
  if (m && !is_latency) {
    hl_text_append(out, m->title);
    return;
  }
  size_t length = strlen(key);
  if (is_latency) {
    hl_text_append(out, "Latency ");
    key += sizeof latency - 1;
    length = strlen(key) - strlen("_ms");
  }
  for (size_t i = 0; i < length; i++) hl_text_char(out, key[i] == '_' ? ' ' : key[i]);
}

/* The same with its unit: "Throughput (images/s)". */
static void put_metric_title(const drawing *d, const hl_metric *m, const char *key) {
  hl_text text = HL_TEXT_INIT;
  metric_name(m, key, &text);
  if (m && m->unit[0]) hl_text_format(&text, " (%s)", m->unit);
  hl_plot_quote(d->out, text.data, 60);
  hl_text_release(&text);
}

static void put_panel(const drawing *d, size_t y) {
  const hl_metric *m = hl_metric_find(d->plot->y[y]);
  hl_text name = HL_TEXT_INIT;
  metric_name(m, m->key, &name);
  hl_text_append(d->out, "\nset title ");
  hl_plot_quote(d->out, name.data, 60);
  hl_text_release(&name);
  hl_text_append(d->out, "\nset ylabel ");
  put_metric_title(d, m, m->key);
  hl_text_append(d->out, "\nset xlabel ");
  put_metric_title(d, d->x, d->plot->x);
  hl_text_char(d->out, '\n');
  put_x_axis(d);
  put_y_axis(d, m);
  for (size_t s = 0; s < d->series_count; s++)
    hl_text_format(d->out,
                   "%s$s%zu using 1:%zu with linespoints lw 2 dt %zu pt %d ps 0.9 lc rgb '%s' "
                   "notitle",
                   s ? ", \\\n  " : "plot ", s, y + 2, s / HL_PLOT_LINES + 1,
                   shapes[(s + s / HL_PLOT_LINES) % HL_COUNT(shapes)],
                   hl_plot_line_colours[s % HL_PLOT_LINES]);
  hl_text_append(d->out, "\nunset label\n");
}

enum { legend_columns = 3 };

/* Text is as large in every picture, so its place is in inches from the top. */
static double from_top(const drawing *d, double inches) {
  return 1 - inches / layout_of(d)->height;
}

static double legend_row(const drawing *d, size_t row) {
  return from_top(d, 0.87 + 0.24 * (double)row);
}

static void put_legend(const drawing *d) {
  for (size_t s = 0; s < d->series_count; s++) {
    HL_CLEANUP(hl_free_pointer) char *name = name_of(d, s);
    hl_text_format(d->out, "set label %zu ", 20 + s);
    hl_plot_quote(d->out, name ? name : "measured", 46);
    hl_text_format(
        d->out,
        " at screen %.4g, screen %.4g left offset 1.2,0 font ',10' point pt %d ps 1.1 lc "
        "rgb '%s'\n",
        0.07 + 0.31 * (double)(s % legend_columns), legend_row(d, s / legend_columns),
        shapes[(s + s / HL_PLOT_LINES) % HL_COUNT(shapes)],
        hl_plot_line_colours[s % HL_PLOT_LINES]);
  }
}

static void put_heading(const drawing *d) {
  const hl_run_info *info = d->input->info;
  hl_text text = HL_TEXT_INIT;
  hl_text_append(d->out, "set label 10 ");
  hl_plot_quote(d->out, d->plot->title ? d->plot->title : "Benchmark", 90);
  hl_text_append(d->out, " at screen 0.5, screen ");
  hl_text_format(d->out, "%.4g center font 'sans-serif Bold,16'\n", from_top(d, 0.3));
  if (info->cpu) hl_text_append(&text, info->cpu);
  if (info->created) hl_text_format(&text, " · %.10s", info->created);
  if (info->hotlap_version) hl_text_format(&text, " · hotlap %s", info->hotlap_version);
  if (d->not_passed) hl_text_format(&text, " · %zu rows did not pass", d->not_passed);
  if (d->dropped_series)
    hl_text_format(&text, " · %zu rows of more curves than %d not drawn", d->dropped_series,
                   HL_SERIES_MOST);
  hl_text_append(d->out, "set label 11 ");
  hl_plot_quote(d->out, text.data, 140);
  hl_text_append(d->out, " at screen 0.5, screen ");
  hl_text_format(d->out, "%.4g center font ',10.5' tc rgb '#606060'\n", from_top(d, 0.57));
  hl_text_release(&text);
}

static void put_script(const drawing *d, hl_plot_kind kind) {
  size_t rows_of_legend = (d->series_count + legend_columns - 1) / legend_columns;
  const layout *l = layout_of(d);
  hl_plot_terminal(d->out, kind, l->width, l->height);
  put_data(d);
  hl_text_format(
      d->out,
      "set datafile missing 'NaN'\nset encoding utf8\nset multiplot layout %d,%d margins "
      "0.075,0.985,%.4g,%.4g spacing 0.085,%.4g\n"
      "set border 3 lc rgb '#606060' lw 0.8\nset tics nomirror out scale 0.6 tc rgb "
      "'#202020'\nset grid lc rgb '#d8d8d8' lw 0.7 lt 1\n"
      "set title font 'sans-serif Bold,12.5'\nunset key\n",
      l->rows, l->columns, 0.8 / l->height, legend_row(d, rows_of_legend) - 0.38 / l->height,
      1.5 / l->height);
  put_heading(d);
  put_legend(d);
  for (size_t y = 0; y < d->plot->y_count; y++) put_panel(d, y);
  hl_text_append(d->out, "unset multiplot\n");
}

hl_status hl_series_plot_script(const hl_report_input *input, const hl_series_plot *plot,
                                hl_plot_kind kind, hl_text *out, hl_error *error) {
  drawing d = {.input = input, .plot = plot, .x = hl_metric_find(plot->x), .out = out};
  hl_status status = hl_series_plot_check(plot, error);
  if (status == HL_OK) status = gather(&d, error);
  if (status == HL_OK) put_script(&d, kind);
  for (size_t s = 0; s < d.series_count; s++) free(d.series[s].model);
  free(d.series);
  free(d.of_row);
  free(d.xs);
  return status;
}

hl_status hl_series_plot_draw(const hl_report_input *input, const hl_series_plot *plot,
                              hl_plot_kind kind, const char *program, hl_text *ret_picture,
                              hl_error *error) {
  hl_text script = HL_TEXT_INIT;
  hl_status status = hl_series_plot_script(input, plot, kind, &script, error);
  if (status == HL_OK)
    status = hl_gnuplot_picture(program, &script, kind == HL_PLOT_PNG, ret_picture, error);
  hl_text_release(&script);
  return status;
}
