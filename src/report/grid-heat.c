/* Heat maps: latency and throughput, and the matrix of speed-ups. */
#include "report/grid-plot-internal.h"
#include "report/number.h"
#include <math.h>
#include <string.h>

static const double blue[2][3] = {{247, 251, 255}, {8, 48, 107}};
static const double green[2][3] = {{247, 252, 245}, {0, 68, 27}};

/* The different sizes that are drawn. */
static size_t columns_of(const hl_grid *g) {
  return g->batch_count < HL_GRID_COLUMNS ? g->batch_count : HL_GRID_COLUMNS;
}

/* A map: its lines are members of one model, or models of one member. */
typedef struct map {
  const hl_grid_drawing *d;
  bool by_member; /* the lines are members */
  size_t fixed;   /* model, or member */
  bool rate;      /* throughput, else latency of an image */
  size_t columns, lines;
} map;

static const hl_grid_cell *cell_of(const map *m, size_t line, size_t column) {
  const hl_grid_drawing *d = m->d;
  return m->by_member ? hl_grid_at(d->grid, m->fixed, d->members[line], column)
                      : hl_grid_at(d->grid, d->models[line], m->fixed, column);
}

static double value_of(const map *m, const hl_grid_cell *cell) {
  if (!cell->point) return (double)NAN;
  return m->rate ? cell->row->throughput_ips : cell->point->latency_ms;
}

/* Axes of a map of `lines` x `columns` cells, the first line at the top. */
static void axes(const hl_grid_drawing *d, size_t lines, size_t columns) {
  hl_text_format(d->out, "set xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\nset xtics (",
                 columns - 1, lines - 1);
  for (size_t k = 0; k < columns; k++)
    hl_text_format(d->out, "%s'%lld' %zu", k ? ", " : "", (long long)d->grid->batch_sizes[k], k);
  hl_text_format(d->out, ") scale 0 font ',%s'\nset xlabel 'Batch size'\nset ytics (",
                 columns > 8 ? "7.5" : "11");
}

static void put_rectangle(hl_text *out, int tag, size_t line, size_t column, const char *colour) {
  hl_text_format(out,
                 "set object %d rectangle center %zu,%zu size 0.98,0.96 fc rgb '%s' fs solid 1 "
                 "noborder behind\n",
                 tag, column, line, colour);
}

static void put_label(hl_text *out, int tag, size_t line, size_t column, double down,
                      const char *text, double size, const char *colour) {
  hl_text_format(out, "set label %d ", tag);
  hl_plot_quote(out, text, 16);
  hl_text_format(out, " at first %zu, first %.4g center font ',%.3g' tc rgb '%s' front\n", column,
                 (double)line + down, size, colour);
}

static void clear(hl_text *out, int first, int count) {
  for (int i = 0; i < count; i++)
    hl_text_format(out, "unset object %d\nunset label %d\nunset label %d\n", first + i, first + i,
                   first + 1000 + i);
}

/* Short, since a cell is narrow. */
static const char *short_why(const hl_grid_cell *cell) {
  const char *why = hl_grid_why(cell);
  if (strcmp(why, "OUT_OF_MEMORY") == 0) return "no memory";
  if (strcmp(why, "UNIMPLEMENTED") == 0) return "unimpl.";
  return cell->row ? why : "–";
}

static void put_map(const map *m) {
  const hl_grid_drawing *d = m->d;
  const hl_grid *g = d->grid;
  double low = (double)NAN, high = (double)NAN;
  for (size_t l = 0; l < m->lines; l++)
    for (size_t k = 0; k < m->columns; k++) {
      double v = value_of(m, cell_of(m, l, k));
      if (!(v > 0)) continue;
      if (!(low <= v)) low = v;
      if (!(high >= v)) high = v;
    }
  HL_CLEANUP(hl_free_pointer)
  char *title =
      hl_format("%.30s: %s", m->by_member ? g->models[m->fixed] : g->members[m->fixed].name,
                m->rate ? "throughput (images/s)" : "latency of a step, p50 (ms)");
  hl_text_append(d->out, "set title ");
  hl_plot_quote(d->out, title ? title : "", 60);
  hl_text_char(d->out, '\n');
  axes(d, m->lines, m->columns);
  for (size_t l = 0; l < m->lines; l++) {
    hl_text_append(d->out, l ? ", " : "");
    hl_plot_quote(d->out, m->by_member ? g->members[d->members[l]].name : g->models[d->models[l]],
                  16);
    hl_text_format(d->out, " %zu", l);
  }
  hl_text_append(d->out, ") scale 0 font ',9'\n");
  int tag = 200;
  double size = m->columns > 10 ? 6.5 : m->columns > 6 ? 8 : 10;
  for (size_t l = 0; l < m->lines; l++)
    for (size_t k = 0; k < m->columns; k++, tag++) {
      const hl_grid_cell *cell = cell_of(m, l, k);
      double v = value_of(m, cell);
      char number[HL_NUMBER_BYTES];
      if (!(v > 0)) {
        put_rectangle(d->out, tag, l, k, "#f0f0f0");
        put_label(d->out, tag, l, k, 0, cell->point ? "not known" : short_why(cell), size - 2,
                  "#606060");
        continue;
      }
      double share = high > low ? log(v / low) / log(high / low) : 0.5;
      const double(*scale)[3] = m->rate ? green : blue;
      hl_grid_colour colour = hl__grid_blend(scale[0], scale[1], 0.06 + 0.84 * share);
      put_rectangle(d->out, tag, l, k, colour.text);
      put_label(d->out, tag, l, k, 0, hl_report_number(v, "-", number), size,
                colour.dark ? "white" : "black");
    }
  hl_text_append(d->out, "plot NaN notitle\n");
  clear(d->out, 200, tag - 200);
}

hl_status hl__grid_plot_heat(const hl_grid_drawing *d, hl_error *error) {
  (void)error;
  const hl_grid *g = d->grid;
  size_t columns = columns_of(g);
  /* Models of one member, where there are several: else they are lines of the maps above. */
  size_t by_model = d->model_count > 1 ? d->member_count : 0;
  if (by_model > HL_GRID_PANELS) by_model = HL_GRID_PANELS;
  size_t lines = d->model_count + by_model;
  double height = 0.9 + 2.7 * (double)lines;
  hl_text remark = HL_TEXT_INIT;
  hl_text_append(&remark, "darker is more, on a logarithmic scale in each map");
  if (columns < g->batch_count)
    hl_text_format(&remark, " · %zu of %zu batch sizes drawn", columns, g->batch_count);
  hl__grid_begin(d, "Heat maps", remark.data, 15, height);
  hl_text_release(&remark);
  hl_text_format(d->out,
                 "set multiplot layout %zu,2 margins 0.10,0.985,%.4g,%.4g spacing 0.10,%.4g\nunset "
                 "key\nunset border\n",
                 lines, 0.65 / height, 1 - 1.2 / height, 1.1 / height);
  for (size_t i = 0; i < lines; i++) {
    bool by_member = i < d->model_count;
    map m = {.d = d,
             .by_member = by_member,
             .fixed = by_member ? d->models[i] : d->members[i - d->model_count],
             .columns = columns,
             .lines = by_member ? d->member_count : d->model_count};
    put_map(&m);
    if (i == 0) hl_text_append(d->out, "unset label 20\nunset label 21\n");
    m.rate = true;
    put_map(&m);
  }
  hl_text_append(d->out, "unset multiplot\n");
  return HL_OK;
}

/* ---- speed-ups ---- */

/* White where both are the same, blue where the line's is faster, orange where it is slower; full
 * at a factor of 4. */
static hl_grid_colour colour_of(double ratio) {
  static const double white[3] = {250, 250, 250}, faster[3] = {0, 114, 178},
                      slower[3] = {213, 94, 0};
  double share = fabs(log2(ratio)) / 2;
  return hl__grid_blend(white, ratio >= 1 ? faster : slower, share > 0.85 ? 0.85 : share);
}

typedef struct pair {
  size_t a, b; /* b over a */
} pair;

enum { PAIRS = 12 };

/* Each over each other; of many, each over the first and the first over each. */
static size_t pairs_of(const hl_grid_drawing *d, pair *ret_pairs) {
  size_t count = 0;
  for (size_t b = 0; b < d->member_count; b++)
    for (size_t a = 0; a < d->member_count; a++)
      if (a != b && count < PAIRS && (d->member_count <= 4 || a == 0 || b == 0))
        ret_pairs[count++] = (pair){d->members[a], d->members[b]};
  return count;
}

static void put_ratio(const hl_grid_drawing *d, int tag, size_t model, const pair *p, size_t line,
                      size_t column, double size) {
  const hl_grid *g = d->grid;
  const hl_engine_ratio *r = hl_grid_ratio(g, model, column, p->a, p->b);
  if (!r) {
    const hl_grid_cell *x = hl_grid_at(g, model, p->a, column);
    const hl_grid_cell *y = hl_grid_at(g, model, p->b, column);
    put_rectangle(d->out, tag, line, column, "#f0f0f0");
    put_label(d->out, tag, line, column, 0,
              !y->point   ? short_why(y)
              : !x->point ? short_why(x)
                          : "–",
              size - 2, "#606060");
    return;
  }
  hl_grid_colour colour = colour_of(r->ratio);
  const char *ink = colour.dark ? "white" : "black";
  hl_text text = HL_TEXT_INIT;
  hl_engines_ratio_text(r, &text);
  size_t whole = strcspn(text.data, " ");
  HL_CLEANUP(hl_free_pointer)
  char *ratio = hl_format("%.*s×%s", (int)whole, text.data,
                          r->verdict == HL_VERDICT_INCONCLUSIVE ? " ?" : "");
  bool interval = text.data[whole] == ' ';
  put_rectangle(d->out, tag, line, column, colour.text);
  put_label(d->out, tag, line, column, interval ? -0.13 : 0, ratio ? ratio : "", size, ink);
  if (interval)
    put_label(d->out, tag + 1000, line, column, 0.2, text.data + whole + 1, size - 2.5, ink);
  hl_text_release(&text);
}

static void put_speedups(const hl_grid_drawing *d, size_t model, const pair *pairs, size_t count,
                         size_t columns) {
  const hl_grid *g = d->grid;
  hl_text_append(d->out, "set title ");
  hl_plot_quote(d->out, g->models[model], 60);
  hl_text_char(d->out, '\n');
  axes(d, count, columns);
  for (size_t i = 0; i < count; i++) {
    HL_CLEANUP(hl_free_pointer)
    char *name = hl_format("%s over %s", g->members[pairs[i].b].name, g->members[pairs[i].a].name);
    hl_text_append(d->out, i ? ", " : "");
    hl_plot_quote(d->out, name ? name : "", 28);
    hl_text_format(d->out, " %zu", i);
  }
  hl_text_append(d->out, ") scale 0\n");
  double size = columns > 10 ? 7 : 10;
  int tag = 200;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < columns; k++, tag++) put_ratio(d, tag, model, &pairs[i], i, k, size);
  hl_text_append(d->out, "plot NaN notitle\n");
  clear(d->out, 200, tag - 200);
}

hl_status hl__grid_plot_speedup(const hl_grid_drawing *d, hl_error *error) {
  pair pairs[PAIRS];
  size_t count = pairs_of(d, pairs), columns = columns_of(d->grid);
  if (count == 0)
    return hl_error_set(error, HL_UNAVAILABLE, "no speed-ups: only one framework has rows");
  double height = 1.0 + (1.1 + 0.62 * (double)count) * (double)d->model_count;
  hl__grid_begin(d, "Speed-up",
                 "blue: the first is faster · 95 % interval below · ~ not paired · ? inconclusive",
                 12, height);
  hl_text_format(d->out,
                 "set multiplot layout %zu,1 margins 0.18,0.985,%.4g,%.4g spacing 0,%.4g\nunset "
                 "key\nunset border\n",
                 d->model_count, 0.65 / height, 1 - 1.2 / height, 1.1 / height);
  for (size_t i = 0; i < d->model_count; i++) {
    put_speedups(d, d->models[i], pairs, count, columns);
    if (i == 0) hl_text_append(d->out, "unset label 20\nunset label 21\n");
  }
  hl_text_append(d->out, "unset multiplot\n");
  return HL_OK;
}
