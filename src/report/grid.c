#include "report/grid.h"

#include "formats/markdown.h"
#include "report/cells.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BATCHES_A_TABLE = 8 };

typedef struct view {
  const hl_grid *grid;
  const hl_run_info *info;
  bool markdown;
  hl_text *out;
} view;

bool hl_report_grid_fits(const hl_analysis *analysis) {
  size_t with_points = 0;
  for (size_t i = 0; i < analysis->group_count; i++)
    with_points += analysis->groups[i].point_count > 0;
  return with_points >= 2;
}

static void heading(const view *v, const char *title) {
  hl_text_format(v->out, v->markdown ? "## %s\n\n" : "\n%s\n", title);
}

static void put_cells(const view *v, const hl_cells *cells) {
  if (v->markdown)
    hl_cells_markdown(cells, v->out);
  else
    hl_cells_text(cells, v->out);
}

static void sentence(const view *v, const char *text) {
  hl_text_append(v->out, v->markdown ? "" : "  ");
  if (v->markdown)
    hl_text_append(v->out, text);
  else
    hl_text_wrap(v->out, text, 2, 2, 100);
  hl_text_append(v->out, v->markdown ? "\n\n" : "\n");
}

/* A member has rows of a model. */
static bool has_rows(const hl_grid *g, size_t model, size_t member) {
  for (size_t k = 0; k < g->batch_count; k++)
    if (hl_grid_at(g, model, member, k)->row) return true;
  return false;
}

/* ---- batch sizes as columns ---- */

typedef void (*cell_fn)(const hl_grid_cell *cell, hl_cells *cells);

static void latency_cell(const hl_grid_cell *cell, hl_cells *cells) {
  char p50[HL_NUMBER_BYTES], p99[HL_NUMBER_BYTES];
  hl_report_number(cell->row->latency_p50_ms, "-", p50);
  hl_report_number(cell->row->latency_p99_ms, "-", p99);
  hl_cells_format(cells, "%s (%s)", p50, p99);
}

static void throughput_cell(const hl_grid_cell *cell, hl_cells *cells) {
  hl_cells_number(cells, cell->row->throughput_ips);
}

static void memory_cell(const hl_grid_cell *cell, hl_cells *cells) {
  hl_cells_number(cells, cell->row->memory_mb);
}

static void put_part(const view *v, size_t from, size_t to, cell_fn put) {
  const hl_grid *g = v->grid;
  hl_cells cells = HL_CELLS_INIT;
  char number[HL_NUMBER_BYTES];
  hl_cells_column(&cells, "Model", false);
  hl_cells_column(&cells, "Framework", false);
  for (size_t k = from; k < to; k++) {
    HL_CLEANUP(hl_free_pointer)
    char *title = hl_format("batch %s", hl_report_int(g->batch_sizes[k], "-", number));
    hl_cells_column(&cells, title ? title : "", true);
  }
  for (size_t m = 0; m < g->model_count; m++) {
    bool first = true;
    for (size_t e = 0; e < g->member_count; e++) {
      if (!has_rows(g, m, e)) continue;
      hl_cells_row(&cells);
      hl_cells_put(&cells, first || v->markdown ? g->models[m] : "");
      hl_cells_put(&cells, g->members[e].name);
      for (size_t k = from; k < to; k++) {
        const hl_grid_cell *cell = hl_grid_at(g, m, e, k);
        if (cell->point)
          put(cell, &cells);
        else
          hl_cells_put(&cells, cell->row ? hl_grid_why(cell) : "-");
      }
      first = false;
    }
  }
  put_cells(v, &cells);
  hl_cells_release(&cells);
}

static void put_by_batch(const view *v, const char *title, cell_fn put) {
  heading(v, title);
  for (size_t from = 0; from < v->grid->batch_count; from += BATCHES_A_TABLE) {
    size_t to = from + BATCHES_A_TABLE;
    put_part(v, from, to < v->grid->batch_count ? to : v->grid->batch_count, put);
  }
}

/* ---- speed-ups ---- */

static void speedup_cell(const hl_grid *g, size_t m, size_t k, size_t a, size_t b,
                         hl_cells *cells) {
  const hl_grid_cell *x = hl_grid_at(g, m, a, k), *y = hl_grid_at(g, m, b, k);
  const hl_engine_ratio *r = hl_grid_ratio(g, m, k, a, b);
  hl_text text = HL_TEXT_INIT;
  if (a == b)
    hl_text_append(&text, y->point ? "1" : "-");
  else if (r)
    hl_report_ratio_cell(r, &text);
  else
    hl_text_format(&text, "- (%s)",
                   !y->point   ? hl_grid_why(y)
                   : !x->point ? hl_grid_why(x)
                               : "not compared");
  if (r && !isfinite(r->ci.low)) hl_text_append(&text, " (no interval)");
  hl_cells_put(cells, text.data);
  hl_text_release(&text);
}

static void put_speedups(const view *v) {
  const hl_grid *g = v->grid;
  if (g->member_count < 2) return;
  hl_cells cells = HL_CELLS_INIT;
  char number[HL_NUMBER_BYTES];
  heading(v, "Speed-up");
  sentence(v, "How many times faster the line's framework is than the column's: the ratio of their "
              "times of a step, with its 95 % interval where rows took turns; ~ where they did "
              "not, ? where the interval does not tell, = within 1 %.");
  size_t columns = g->member_count < HL_CELLS_COLUMNS - 3 ? g->member_count : HL_CELLS_COLUMNS - 3;
  hl_cells_column(&cells, "Model", false);
  hl_cells_column(&cells, "Batch", true);
  hl_cells_column(&cells, "Framework", false);
  for (size_t a = 0; a < columns; a++) {
    HL_CLEANUP(hl_free_pointer) char *title = hl_format("over %s", g->members[a].name);
    hl_cells_column(&cells, title ? title : "", false);
  }
  for (size_t m = 0; m < g->model_count; m++)
    for (size_t k = 0; k < g->batch_count; k++)
      for (size_t b = 0; b < g->member_count; b++) {
        if (!has_rows(g, m, b)) continue;
        hl_cells_row(&cells);
        hl_cells_put(&cells, g->models[m]);
        hl_cells_put(&cells, hl_report_int(g->batch_sizes[k], "-", number));
        hl_cells_put(&cells, g->members[b].name);
        for (size_t a = 0; a < columns; a++) speedup_cell(g, m, k, a, b, &cells);
      }
  put_cells(v, &cells);
  if (columns < g->member_count)
    sentence(v, "More frameworks than columns: the JSON document has every pair.");
  hl_cells_release(&cells);
}

/* ---- compilation ---- */

static void images(double count, hl_text *out) {
  hl_text_format(out, count < 1e9 ? "%.0f" : "%.3g", count);
}

static void images_text(const hl_break_even *e, hl_text *out) {
  bool interval = isfinite(e->images_ci.low);
  if (isfinite(e->images)) {
    images(e->images, out);
    hl_text_append(out, " images");
  } else {
    hl_text_append(out, "never: it is slower");
  }
  if (interval) {
    hl_text_append(out, " [");
    images(e->images_ci.low, out);
    hl_text_append(out, ", ");
    if (isfinite(e->images_ci.high))
      images(e->images_ci.high, out);
    else
      hl_text_append(out, "never");
    hl_text_append(out, "]");
  }
  if (e->verdict == HL_VERDICT_INCONCLUSIVE) hl_text_append(out, " ?");
}

static void put_compiled(const view *v, size_t m, size_t e, size_t k, hl_cells *cells) {
  const hl_grid *g = v->grid;
  const hl_grid_cell *cell = hl_grid_at(g, m, e, k);
  char number[HL_NUMBER_BYTES];
  bool any = false;
  if (!(hl_grid_compile_ms(cell) > 0)) return;
  for (size_t i = 0; i <= g->break_even_count; i++) {
    const hl_break_even *b = i < g->break_even_count ? &g->break_evens[i] : NULL;
    /* At the end a line for one that no other is there to be compared with. */
    if (b ? b->model != m || b->member != e || b->batch != k : any) continue;
    any = true;
    hl_cells_row(cells);
    hl_cells_put(cells, g->models[m]);
    hl_cells_put(cells, hl_report_int(g->batch_sizes[k], "-", number));
    hl_cells_put(cells, g->members[e].name);
    hl_cells_number(cells, hl_grid_compile_ms(cell));
    if (!b) {
      hl_cells_put(cells, "-");
      continue;
    }
    hl_text text = HL_TEXT_INIT;
    images_text(b, &text);
    hl_cells_put(cells, g->members[b->reference].name);
    hl_cells_number(cells, b->saving_ms);
    hl_cells_put(cells, text.data);
    hl_text_release(&text);
  }
}

static void put_compilation(const view *v) {
  const hl_grid *g = v->grid;
  hl_cells cells = HL_CELLS_INIT;
  static const char *const titles[] = {"Model", "Batch",          "Framework",     "Compile ms",
                                       "over",  "Saves ms/image", "Pays off after"};
  for (size_t i = 0; i < HL_COUNT(titles); i++)
    hl_cells_column(&cells, titles[i], i == 1 || i == 3 || i == 5);
  for (size_t m = 0; m < g->model_count; m++)
    for (size_t e = 0; e < g->member_count; e++)
      for (size_t k = 0; k < g->batch_count; k++) put_compiled(v, m, e, k, &cells);
  heading(v, "Compilation");
  if (cells.text_count == 0) {
    sentence(v, "No row tells a compilation time.");
  } else {
    if (v->markdown)
      sentence(v, "Images after which what compiling takes longer is made up for by faster steps: "
                  "the difference of the compilation times by the difference of the times of an "
                  "image, with the ends of the ratio's interval. A row that tells no compilation "
                  "time counts as needing none.");
    put_cells(v, &cells);
  }
  hl_cells_release(&cells);
}

/* ---- roofline ---- */

static void range_text(hl_pair pair, double factor, const char *unit, hl_cells *cells) {
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
  hl_pair p = {pair.low * factor, pair.high * factor};
  if (!isfinite(p.low) || !isfinite(p.high))
    hl_cells_put(cells, "-");
  else if (unit[0] == '%' && p.low == p.high)
    hl_cells_put(cells, hl_report_percent(p.low, low));
  else if (unit[0] == '%')
    hl_cells_format(cells, "%.*f to %s", p.low < 9.5, p.low, hl_report_percent(p.high, high));
  else if (p.low == p.high)
    hl_cells_number(cells, p.low);
  else
    hl_cells_format(cells, "%s to %s", hl_report_number(p.low, "-", low),
                    hl_report_number(p.high, "-", high));
}

static void class_text(const hl_analysis_roofline *p, hl_cells *cells) {
  if (p->bottleneck != HL_BOUND_UNKNOWN)
    hl_cells_put(cells, hl_bottleneck_name(p->bottleneck));
  else if (p->ends[0] != HL_BOUND_UNKNOWN)
    hl_cells_format(cells, "%s or %s", hl_bottleneck_name(p->ends[0]),
                    hl_bottleneck_name(p->ends[1]));
  else
    hl_cells_format(cells, "- (%s)", p->reason ? p->reason : "unknown");
}

static void roofline_row(const view *v, size_t m, size_t e, size_t k, hl_cells *cells) {
  const hl_grid *g = v->grid;
  const hl_grid_cell *cell = hl_grid_at(g, m, e, k);
  char number[HL_NUMBER_BYTES];
  if (!cell->point) return;
  const hl_analysis_roofline *p = &cell->point->roofline;
  hl_cells_row(cells);
  hl_cells_put(cells, g->models[m]);
  hl_cells_put(cells, g->members[e].name);
  hl_cells_put(cells, hl_report_int(g->batch_sizes[k], "-", number));
  hl_cells_number(cells, p->gflops);
  hl_cells_put(cells, hl_report_percent(100 * p->compute_use, number));
  range_text(p->traffic_mb, 1, "MB", cells);
  range_text(p->intensity, 1, "FLOP/byte", cells);
  range_text(p->memory_use, 100, "%", cells);
  class_text(p, cells);
}

/* The one reason of all rows, or NULL. */
static const char *common_reason(const hl_grid *g) {
  const char *reason = NULL;
  size_t cells = g->model_count * g->member_count * g->batch_count;
  for (size_t i = 0; i < cells; i++) {
    const hl_analysis_point *point = g->cells[i].point;
    if (!point) continue;
    if (!point->roofline.reason || point->roofline.ends[0] != HL_BOUND_UNKNOWN) return NULL;
    if (reason && strcmp(reason, point->roofline.reason) != 0) return NULL;
    reason = point->roofline.reason;
  }
  return reason;
}

static void put_limits(const view *v) {
  const hl_run_info *info = v->info;
  char peak[HL_NUMBER_BYTES], bandwidth[HL_NUMBER_BYTES], ridge[HL_NUMBER_BYTES];
  HL_CLEANUP(hl_free_pointer)
  char *text = hl_format(
      "Measured in this run: %s GFLOP/s of float32 and %s GB/s, which meet at %s FLOP/byte. Rows "
      "of engines that tell no plan stand by the model: its nominal FLOPs, and traffic between "
      "weights, inputs and outputs once and all that each operator reads and writes.",
      hl_report_number(info->peak_gflops, "-", peak),
      hl_report_number(info->peak_bandwidth_gbs, "-", bandwidth),
      hl_report_number(info->peak_gflops / info->peak_bandwidth_gbs, "-", ridge));
  if (text) sentence(v, text);
}

static void put_roofline(const view *v) {
  const hl_grid *g = v->grid;
  static const char *const titles[] = {"Model",     "Framework",    "Batch",
                                       "GFLOP/s",   "of peak",      "Traffic MB",
                                       "FLOP/byte", "of bandwidth", "Bottleneck"};
  heading(v, "Roofline and bottleneck");
  const char *reason = common_reason(g);
  if (reason) {
    HL_CLEANUP(hl_free_pointer) char *text = hl_format("Not known: %s.", reason);
    sentence(v, text ? text : "Not known.");
    return;
  }
  put_limits(v);
  hl_cells cells = HL_CELLS_INIT;
  for (size_t i = 0; i < HL_COUNT(titles); i++) hl_cells_column(&cells, titles[i], i > 1 && i < 8);
  for (size_t m = 0; m < g->model_count; m++)
    for (size_t e = 0; e < g->member_count; e++)
      for (size_t k = 0; k < g->batch_count; k++) roofline_row(v, m, e, k, &cells);
  put_cells(v, &cells);
  hl_cells_release(&cells);
}

/* ---- the whole ---- */

static void put_remarks(const view *v) {
  if (v->grid->replaced) {
    HL_CLEANUP(hl_free_pointer)
    char *text = hl_format("%zu row%s measured again later: of rows of one framework, model and "
                           "batch size the last counts.",
                           v->grid->replaced, v->grid->replaced == 1 ? " was" : "s were");
    if (text) sentence(v, text);
  }
  if (v->grid->left_out) {
    HL_CLEANUP(hl_free_pointer)
    char *text =
        hl_format("Not shown: %zu model%s, frameworks or batch sizes beyond %d, %d and %d.",
                  v->grid->left_out, v->grid->left_out == 1 ? "" : "s", HL_GRID_MODELS_MOST,
                  HL_GRID_MEMBERS_MOST, HL_GRID_BATCHES_MOST);
    if (text) sentence(v, text);
  }
}

void hl_report_grid(const hl_grid *grid, const hl_report_input *input, bool markdown,
                    hl_text *out) {
  const view v = {grid, input->info, markdown, out};
  put_by_batch(&v, "Latency of a step: p50 (p99), ms", latency_cell);
  put_by_batch(&v, "Throughput, images/s", throughput_cell);
  put_by_batch(&v, "Memory, MB", memory_cell);
  if (markdown) put_speedups(&v);
  put_compilation(&v);
  put_roofline(&v);
  put_remarks(&v);
}

void hl_report_side_by_side(const hl_report_input *input, hl_text *out) {
  hl_grid grid;
  if (!hl_report_grid_fits(input->analysis) ||
      hl_grid_make(input->analysis, input->records, input->engines, &grid, NULL) != HL_OK)
    return;
  hl_report_grid(&grid, input, false, out);
  hl_grid_release(&grid);
}

void hl_report_grid_head(const hl_report_input *input, hl_text *out) {
  const hl_run_info *info = input->info;
  hl_text_append(out, "# Analysis\n\n");
  hl_markdown_text(out, info->cpu ? info->cpu : "machine unknown");
  if (info->created) hl_text_format(out, " · %.10s", info->created);
  if (info->hotlap_version) hl_text_format(out, " · hotlap %s", info->hotlap_version);
  hl_text_append(out, " · ");
  hl_markdown_code(out, info->command ? info->command : info->id);
  hl_text_append(out, "\n\n");
}
