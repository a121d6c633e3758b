/* Engines and batch sizes as a table whose cells are shaded. */
#include "analyse/grid.h"
#include "report/html-internal.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>

enum { SHADES = 9 };

static hl_pair range_of(const hl_grid *grid, size_t model) {
  hl_pair range = hl_chart_no_interval;
  for (size_t m = 0; m < grid->member_count; m++)
    for (size_t b = 0; b < grid->batch_count; b++) {
      const hl_grid_cell *cell = hl_grid_at(grid, model, m, b);
      if (!cell->point || !(cell->point->throughput_ips > 0)) continue;
      range.low = fmin(range.low, cell->point->throughput_ips);
      range.high = fmax(range.high, cell->point->throughput_ips);
    }
  return range;
}

/* By the logarithm, as throughput spans decades: 1 the least of the model, SHADES the most. */
static int shade(double value, hl_pair range) {
  if (!(value > 0)) return 0;
  if (!(range.high > range.low)) return SHADES;
  double part = log(value / range.low) / log(range.high / range.low);
  return 1 + (int)floor(part * (SHADES - 1) + 0.5);
}

static void put_cell(hl_html *html, const hl_grid_cell *cell, hl_pair range) {
  char text[HL_NUMBER_BYTES], exact[32];
  if (!cell->point) {
    hl_html_element(html, "td", hl_grid_why(cell), "class", "quiet", NULL);
    return;
  }
  double value = cell->point->throughput_ips;
  HL_CLEANUP(hl_free_pointer) char *classes = hl_format("number heat-%d", shade(value, range));
  hl_json_format_real(value, exact);
  hl_html_element(html, "td", hl_report_number(value, "—", text), "class", classes, "data-value",
                  isfinite(value) ? exact : NULL, NULL);
}

static void put_model(hl_html *html, const hl_grid *grid, size_t model) {
  hl_pair range = range_of(grid, model);
  if (!isfinite(range.low)) return;
  hl_html_open(html, "div", "class", "scroll", NULL);
  hl_html_open(html, "table", "class", "sortable heat", NULL);
  hl_html_element(html, "caption", grid->models[model], NULL);
  hl_html_open(html, "thead", NULL);
  hl_html_open(html, "tr", NULL);
  hl_html_element(html, "th", "Engine", "scope", "col", NULL);
  for (size_t b = 0; b < grid->batch_count; b++) {
    hl_html_open(html, "th", "scope", "col", "class", "number", NULL);
    hl_html_format(html, "Batch %" PRId64, grid->batch_sizes[b]);
    hl_html_close(html);
  }
  hl_html_close_to(html, html->depth - 2);
  hl_html_open(html, "tbody", NULL);
  for (size_t m = 0; m < grid->member_count; m++) {
    hl_html_open(html, "tr", NULL);
    hl_html_element(html, "th", grid->members[m].name, "scope", "row", NULL);
    for (size_t b = 0; b < grid->batch_count; b++)
      put_cell(html, hl_grid_at(grid, model, m, b), range);
    hl_html_close(html);
  }
  hl_html_close_to(html, html->depth - 3);
}

void hl__html_heat(hl_html *html, const hl_report_input *input) {
  hl_grid grid;
  if (hl_grid_make(input->analysis, input->records, input->engines, &grid, NULL) != HL_OK) {
    html->out->failed = true;
    return;
  }
  if (grid.member_count > 1 && grid.batch_count > 0) {
    hl_html_open(html, "section", "id", "heat", NULL);
    hl_html_element(html, "h2", "Engines and Batch Sizes", NULL);
    hl_html_element(html, "p",
                    "Throughput in images/s. The stronger its colour, the more, by its logarithm "
                    "from the least to the most of the network.",
                    "class", "note", NULL);
    for (size_t i = 0; i < grid.model_count; i++) put_model(html, &grid, i);
    hl_html_close(html);
  }
  hl_grid_release(&grid);
}
