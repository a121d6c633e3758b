#include "report/plot-data.h"

#include "report/matrix-pages.h"
#include "report/number.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hl_plot_line_colours[HL_PLOT_LINES] = {"#0072B2", "#E69F00", "#CC79A7",
                                                         "#56B4E9", "#009E73", "#D55E00"};

/* In double quotes: two single quotes in a row end a string of single ones. */
void hl_plot_quote(hl_text *out, const char *text, size_t columns) {
  hl_text_char(out, '"');
  for (size_t seen = 0; *text; seen++) {
    if (seen == columns) {
      hl_text_append(out, "…");
      break;
    }
    size_t control = hl_text_control(text);
    /* A whole character: its later bytes alone look like controls. */
    size_t length = (unsigned char)*text < 0x80 ? 1 : hl_utf8_length((const unsigned char *)text);
    if (strchr("\"\\`", *text)) hl_text_char(out, '\\');
    if (control || length == 0)
      hl_text_char(out, ' ');
    else
      hl_text_append_n(out, text, length);
    text += control ? control : length ? length : 1;
  }
  hl_text_char(out, '"');
}

void hl_plot_terminal(hl_text *out, hl_plot_kind kind, double width, double height) {
  if (kind == HL_PLOT_SVG)
    hl_text_format(out,
                   "set terminal svg size %.0f,%.0f noenhanced font 'sans-serif,11' background rgb "
                   "'white'\n",
                   72 * width, 72 * height);
  else
    hl_text_format(out,
                   "set terminal pngcairo size %.0f,%.0f noenhanced font 'sans-serif,11' fontscale "
                   "3.125 linewidth 4.1667 pointscale 4.1667 background rgb 'white'\n",
                   300 * width, 300 * height);
}

void hl_plot_heading(hl_text *out, const char *title, const char *remark, const hl_run_info *info) {
  hl_text line = HL_TEXT_INIT;
  hl_text_append(out, "set label 20 ");
  hl_plot_quote(out, title, 90);
  hl_text_append(out, " at screen 0.5, screen 0.965 center font 'sans-serif Bold,15'\n");
  if (info->cpu) hl_text_append(&line, info->cpu);
  if (remark) hl_text_format(&line, " · %s", remark);
  if (info->created) hl_text_format(&line, " · %.10s", info->created);
  if (info->hotlap_version) hl_text_format(&line, " · hotlap %s", info->hotlap_version);
  hl_text_append(out, "set label 21 ");
  hl_plot_quote(out, line.data, 140);
  hl_text_append(out, " at screen 0.5, screen 0.93 center font ',10' tc rgb '#606060'\n");
  hl_text_release(&line);
}

static bool power_of_two(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

void hl_plot_size_tics(hl_text *out, const int64_t *sizes, size_t count, double low, double high,
                       int most) {
  double gap = (high - low) / most;
  double *labelled = calloc(count + 1, sizeof *labelled);
  size_t labels = 0;
  hl_text_format(out, "set xrange [%.6g:%.6g]\nset xtics (", low, high);
  /* Powers of two get their labels first; others where there is room. */
  for (int pass = 0; sizes && labelled && pass < 2; pass++)
    for (size_t i = 0; i < count; i++) {
      if (power_of_two(sizes[i]) != (pass == 0)) continue;
      double x = log2((double)sizes[i]);
      bool room = true;
      for (size_t j = 0; j < labels; j++) room = room && fabs(labelled[j] - x) >= gap;
      if (!room) continue;
      hl_text_format(out, "%s'%lld' %.6g", labels ? ", " : "", (long long)sizes[i], x);
      labelled[labels++] = x;
    }
  hl_text_append(out, ")\n");
  free(labelled);
}

void hl_plot_log_axis(hl_text *out, char axis, double low, double high) {
  static const int steps[] = {1, 2, 5};
  low /= 1.25;
  high *= 1.25;
  double decades = log10(high / low);
  bool first = true;
  hl_text_format(out, "set logscale %c 10\nset %crange [%.6g:%.6g]\nset %ctics (", axis, axis, low,
                 high, axis);
  for (int d = (int)floor(log10(low)); d <= (int)ceil(log10(high)); d++)
    for (size_t i = 0; i < HL_COUNT(steps); i++) {
      if (decades > 3.2 && steps[i] != 1) continue;
      char label[HL_NUMBER_BYTES];
      double tic = steps[i] * pow(10, d);
      bool millions = tic >= 1e6, thousands = tic >= 1e4 && !millions;
      snprintf(label, sizeof label, "%g%s",
               millions    ? tic / 1e6
               : thousands ? tic / 1e3
                           : tic,
               millions    ? "M"
               : thousands ? "k"
                           : "");
      hl_text_format(out, "%s'%s' %.6g", first ? "" : ", ", label, tic);
      first = false;
    }
  hl_text_append(out, ")\n");
}

static void number(hl_text *out, double value) {
  if (isfinite(value))
    hl_text_format(out, " %.9g", value);
  else
    hl_text_append(out, " NaN");
}

static void include(hl_plot_range *range, double value) {
  if (!isfinite(value)) return;
  if (!(range->low <= value)) range->low = value;
  if (!(range->high >= value)) range->high = value;
}

typedef struct box {
  double q1, median, q3;
  size_t first_inside, last_inside; /* whiskers: the extreme samples within 1.5 quartile ranges */
} box;

static box make_box(const double *sorted, size_t count) {
  box b = {hl_percentile(sorted, count, 25, HL_PERCENTILE_LINEAR),
           hl_percentile(sorted, count, 50, HL_PERCENTILE_LINEAR),
           hl_percentile(sorted, count, 75, HL_PERCENTILE_LINEAR), 0, count - 1};
  double reach = 1.5 * (b.q3 - b.q1);
  while (b.first_inside < b.last_inside && sorted[b.first_inside] < b.q1 - reach) b.first_inside++;
  while (b.last_inside > b.first_inside && sorted[b.last_inside] > b.q3 + reach) b.last_inside--;
  return b;
}

/* At most about 40 of the outliers of a side, the extreme one among them. */
static void outliers(hl_text *out, double x, const double *sorted, size_t from, size_t to,
                     bool high_side, hl_plot_range *range) {
  size_t count = to - from, stride = count / 40 + 1;
  for (size_t i = 0; i < count; i += stride) {
    double ms = sorted[high_side ? to - 1 - i : from + i];
    number(out, x);
    number(out, ms);
    hl_text_char(out, '\n');
    include(range, ms);
  }
}

/* One record's box and outliers; false without samples. */
static bool add_box(const hl_record *record, double x, hl_text *boxes, hl_text *beyond,
                    hl_plot_range *range) {
  size_t count = record->sample_count;
  if (!record->samples_ns || count == 0) return false;
  double *sorted = malloc(count * sizeof *sorted); /* ms */
  if (!sorted) return false;
  for (size_t i = 0; i < count; i++) sorted[i] = (double)record->samples_ns[i] / 1e6;
  hl_sort(sorted, count);
  box b = make_box(sorted, count);
  double low = sorted[b.first_inside], high = sorted[b.last_inside];
  const double values[] = {x, low, b.q1, b.median, b.q3, high};
  for (size_t i = 0; i < HL_COUNT(values); i++) number(boxes, values[i]);
  hl_text_char(boxes, '\n');
  include(range, low);
  include(range, high);
  outliers(beyond, x, sorted, 0, b.first_inside, false, range);
  outliers(beyond, x, sorted, b.last_inside + 1, count, true, range);
  free(sorted);
  return true;
}

static void series_block(const hl_report_input *input, const hl_analysis_group *group, size_t s,
                         hl_plot_facts *facts, hl_text *out) {
  hl_text_format(out, "$s%zu << EOD\n", s);
  for (size_t i = 0; i < group->point_count; i++) {
    const hl_analysis_point *p = &group->points[i];
    const hl_record *r = &input->records->items[p->row];
    const double values[] = {log2((double)p->batch_size),
                             p->throughput_ips,
                             p->throughput_ci_ips.low,
                             p->throughput_ci_ips.high,
                             p->memory_mb,
                             r->planned_memory_mb,
                             p->efficiency,
                             p->speedup,
                             p->latency_ms};
    for (size_t c = 0; c < HL_COUNT(values); c++) number(out, values[c]);
    hl_text_char(out, '\n');
    include(&facts->x, values[0]);
    include(&facts->throughput, p->throughput_ips);
    include(&facts->throughput, p->throughput_ci_ips.high);
    include(&facts->latency, p->latency_ms);
    if (p->speedup > 0) include(&facts->speedup, p->speedup);
    include(&facts->memory, p->memory_mb);
    include(&facts->memory, r->planned_memory_mb);
    include(&facts->efficiency, p->efficiency);
    if (i) {
      double gap = values[0] - log2((double)group->points[i - 1].batch_size);
      if (gap > 0 && gap < facts->min_gap) facts->min_gap = gap;
    }
    facts->has_planned |= isfinite(r->planned_memory_mb);
    facts->has_intervals |= isfinite(p->throughput_ci_ips.low);
  }
  hl_text_append(out, "EOD\n");
}

static void box_blocks(const hl_report_input *input, const hl_analysis_group *group, size_t s,
                       double shift, hl_plot_facts *facts, hl_text *out) {
  hl_text boxes = HL_TEXT_INIT, beyond = HL_TEXT_INIT;
  for (size_t i = 0; i < group->point_count; i++) {
    const hl_record *r = &input->records->items[group->points[i].row];
    double x = log2((double)group->points[i].batch_size) + shift;
    facts->has_boxes |= add_box(r, x, &boxes, &beyond, &facts->latency);
  }
  /* A block may not be empty: a point that is nowhere. */
  hl_text_format(out, "$box%zu << EOD\n%sNaN NaN NaN NaN NaN NaN\nEOD\n", s, boxes.data);
  hl_text_format(out, "$out%zu << EOD\n%sNaN NaN\nEOD\n", s, beyond.data);
  hl_text_release(&boxes);
  hl_text_release(&beyond);
}

/* Whether no other row of the model is better than one of the group's in both latency and
 * throughput. */
static bool on_front(const hl_engines *engines, const hl_analysis_group *group) {
  for (size_t i = 0; engines && i < engines->count; i++)
    for (size_t k = 0; k < engines->models[i].point_count; k++) {
      const hl_engine_point *q = &engines->models[i].points[k];
      if (q->on_front && engines->models[i].members[q->member].group == group) return true;
    }
  return false;
}

/* The groups to draw, in their order. Of too many, those that no other beats before the others. */
static void choose_series(const hl_report_input *input, size_t max_series, hl_plot_facts *facts) {
  const hl_analysis *analysis = input->analysis;
  size_t most = max_series < HL_COUNT(facts->first) ? max_series : HL_COUNT(facts->first);
  size_t best = 0;
  for (size_t g = 0; g < analysis->group_count; g++)
    best += analysis->groups[g].point_count && on_front(input->engines, &analysis->groups[g]);
  size_t room = best < most ? most - best : 0; /* for the others */
  for (size_t g = 0; g < analysis->group_count && facts->series < most; g++) {
    if (analysis->groups[g].point_count == 0 ||
        !hl__matrix_answers_throughput(analysis, &analysis->groups[g]))
      continue;
    bool front = on_front(input->engines, &analysis->groups[g]);
    if (!front && room == 0) continue;
    if (!front) room--;
    facts->first[facts->series++] = g;
  }
}

void hl_plot_data(const hl_report_input *input, size_t max_series, hl_plot_facts *ret_facts,
                  hl_text *out) {
  const hl_plot_range none = {(double)NAN, (double)NAN};
  hl_plot_facts facts = {.x = none,
                         .throughput = none,
                         .memory = none,
                         .latency = none,
                         .efficiency = none,
                         .speedup = none,
                         .min_gap = 1};
  for (size_t g = 0; g < input->analysis->group_count; g++) {
    const hl_analysis_group *group = &input->analysis->groups[g];
    for (size_t i = 0; i < group->failed_count; i++) {
      int64_t batch = input->records->items[group->failed_rows[i]].batch_size;
      if (batch <= 0) continue;
      include(&facts.x, log2((double)batch));
      facts.failed++;
    }
  }
  choose_series(input, max_series, &facts);
  for (size_t s = 0; s < facts.series; s++) {
    const hl_analysis_group *group = &input->analysis->groups[facts.first[s]];
    double shift = ((double)s - (double)(facts.series - 1) / 2) * 0.7 / (double)facts.series;
    series_block(input, group, s, &facts, out);
    box_blocks(input, group, s, shift, &facts, out);
  }
  *ret_facts = facts;
}
