#include "report/memory-plot.h"

#include "report/gnuplot.h"
#include "report/memory-report.h"
#include "report/number.h"
#include "report/plot-data.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito's palette, by kind of memory. */
static const char *const kind_colours[HL_MEMORY_KINDS] = {
    [HL_ALLOCATION_WEIGHT] = "#0072B2",     [HL_ALLOCATION_OPTIMIZER] = "#56B4E9",
    [HL_ALLOCATION_ACTIVATION] = "#F0E442", [HL_ALLOCATION_SAVED] = "#009E73",
    [HL_ALLOCATION_GRADIENT] = "#D55E00",   [HL_ALLOCATION_ACTIVATION_GRADIENT] = "#E69F00",
    [HL_ALLOCATION_WORKSPACE] = "#999999",  [HL_ALLOCATION_INPUT_OUTPUT] = "#CC79A7"};
static const char *const phase_colours[HL_PHASE_COUNT] = {"#56B4E9", "#F0E442", "#D55E00",
                                                          "#009E73"};
static const char *const grey = "#606060";
static const int shapes[HL_PLOT_LINES] = {7, 5, 9, 13, 11, 15};
enum { BARS = 24, LABEL = 34, LABEL_BYTES = 100 }; /* most bars, columns and bytes of a label */

static hl_status nothing(hl_error *error, const char *what) {
  return hl_error_set(error, HL_UNAVAILABLE, "no picture of %s: no row has it", what);
}

static void begin(hl_text *out, hl_plot_kind kind, double width, double height) {
  hl_plot_terminal(out, kind, width, height);
  hl_text_format(out,
                 "set datafile missing 'NaN'\nset encoding utf8\nset border 3 lc rgb '%s' lw 0.8\n"
                 "set tics nomirror out scale 0.6 tc rgb '#202020'\n"
                 "set grid y lc rgb '#d8d8d8' lw 0.7 lt 1\nset title font 'sans-serif Bold,12.5'\n"
                 "set key samplen 2 spacing 1.15 font ',9.5' noopaque nobox\n",
                 grey);
}

static bool is_training(const hl_record *r) {
  return hl_text_same(r->mode, "training");
}

static double finite_or_nan(double value) {
  return isfinite(value) ? value : (double)NAN;
}

/* ---- inference beside training ---- */

static void curve_points(const hl_records *records, const hl_memory_growth *g, size_t number,
                         hl_text *out) {
  hl_text_format(out, "$c%zu << EOD\n", number);
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    const hl_record *f = g->first;
    if (!hl_workload_is_memory(r->workload) || !hl_record_passed(r)) continue;
    if (strcmp(r->model, f->model) != 0 || strcmp(r->mode, f->mode) != 0 ||
        strcmp(r->engine, f->engine) != 0 || strcmp(r->dtype, f->dtype) != 0 ||
        r->threads != f->threads)
      continue;
    hl_text_format(out, "%" PRId64 " %.9g %.9g\n", r->batch_size,
                   finite_or_nan(r->planned_memory_mb), finite_or_nan(r->memory_mb));
  }
  hl_text_append(out, "EOD\n");
}

/* One curve for each model and mode: the growths have each twice, planned and measured. */
static size_t put_curves(const hl_report_input *input, const hl_memory_analysis *a, hl_text *out) {
  size_t drawn = 0;
  for (size_t i = 0; i < a->growth_count && drawn < HL_PLOT_LINES; i++)
    if (i == 0 || a->growths[i].first != a->growths[i - 1].first)
      curve_points(input->records, &a->growths[i], drawn++, out);
  return drawn;
}

static void growth_panel(const hl_memory_analysis *a, size_t curves, hl_text *out) {
  hl_text_append(
      out, "set title 'Memory over the batch'\nset xlabel 'Batch size'\n"
           "set ylabel 'MB'\nset logscale x 2\nset yrange [0:*]\n"
           "set key at graph 0.5, graph -0.2 center top vertical Left reverse maxrows 4\nplot ");
  size_t drawn = 0;
  for (size_t i = 0; i < a->growth_count && drawn < curves; i++) {
    if (i > 0 && a->growths[i].first == a->growths[i - 1].first) continue;
    const hl_record *r = a->growths[i].first;
    char title[120];
    snprintf(title, sizeof title, "%.70s, %s", r->model, r->mode);
    hl_text_format(out,
                   "%s$c%zu using 1:2 with lines lw 2 lc rgb '%s' notitle, \\\n  $c%zu using 1:3 "
                   "with points pt %d ps 0.9 lc rgb '%s' title ",
                   drawn ? ", \\\n  " : "", drawn, hl_plot_line_colours[drawn], drawn,
                   shapes[drawn], hl_plot_line_colours[drawn]);
    hl_plot_quote(out, title, 60);
    drawn++;
  }
  hl_text_append(out, ", \\\n  NaN with lines lw 2 lc rgb '#606060' title 'lines: planned, marks: "
                      "measured'\nunset logscale x\n");
}

/* The pair with the largest batch of each model. */
static size_t largest_pairs(const hl_memory_analysis *a, const hl_memory_pair **ret_pairs) {
  size_t count = 0;
  for (size_t i = 0; i < a->pair_count; i++) {
    const hl_memory_pair *p = &a->pairs[i];
    size_t at = 0;
    while (at < count && strcmp(ret_pairs[at]->training->model, p->training->model) != 0) at++;
    if (at == count && count < BARS) ret_pairs[count++] = p;
    if (at < count && ret_pairs[at]->training->batch_size < p->training->batch_size)
      ret_pairs[at] = p;
  }
  return count;
}

static void name_bar(const hl_record *r, char ret_label[LABEL_BYTES]) {
  snprintf(ret_label, LABEL_BYTES, "%.60s, batch %" PRId64, r->model, r->batch_size);
}

/* Inches that the row's label takes where labels are written upwards, at font size 8. */
static double label_inches(const hl_record *r) {
  char label[LABEL_BYTES];
  name_bar(r, label);
  size_t columns = hl_report_columns(label);
  return 0.2 + 0.063 * (double)(columns < LABEL ? columns : LABEL);
}

static void pairs_panel(const hl_memory_pair *const *pairs, size_t count, hl_text *out) {
  hl_text_append(out, "$p << EOD\n");
  for (size_t i = 0; i < count; i++) {
    char label[LABEL_BYTES];
    name_bar(pairs[i]->training, label);
    hl_plot_quote(out, label, LABEL);
    hl_text_format(out, " %.9g %.9g %.9g\n", finite_or_nan(pairs[i]->inference->memory_mb),
                   finite_or_nan(pairs[i]->training->memory_mb), finite_or_nan(pairs[i]->measured));
  }
  hl_text_append(out, "EOD\nset title 'Inference and training, measured'\nunset xlabel\n"
                      "set style data histograms\nset style histogram clustered gap 1.5\n"
                      "set style fill solid 0.85 noborder\nset xrange [-0.7:*]\n"
                      "set offsets 0.2,0.2,0,0\n");
  hl_text_append(out, count > 2 ? "set xtics rotate by 90 right scale 0 font ',8'\n"
                                : "set xtics scale 0 font ',9'\n");
  hl_text_append(out,
                 "stats $p using 3 nooutput\nset yrange [0:1.2*STATS_max]\n"
                 "set key at graph 0.03, graph 0.98 left top Left reverse\n"
                 "plot $p using 2:xtic(1) lc rgb '#0072B2' title 'inference', \\\n"
                 "  $p using 3 lc rgb '#D55E00' title 'training', \\\n"
                 "  $p using ($0+0.2):3:(sprintf('%.2f×', $4)) with labels offset 0,0.7 font ',9' "
                 "notitle\n");
}

hl_status hl_memory_plot_comparison(const hl_report_input *input, hl_plot_kind kind,
                                    const char *program, hl_text *ret_picture, hl_error *error) {
  hl_memory_analysis a;
  const hl_memory_pair *pairs[BARS];
  hl_text out = HL_TEXT_INIT;
  hl_status status = hl_memory_analyse(input->records, &a, error);
  if (status != HL_OK) return status;
  size_t pair_count = largest_pairs(&a, pairs), curves = put_curves(input, &a, &out);
  int panels = (curves > 0) + (pair_count > 0);
  if (panels == 0) {
    status = nothing(error, "inference beside training");
  } else {
    hl_text data = HL_TEXT_INIT;
    hl_text_append(&data, out.data);
    hl_text_clear(&out);
    double bottom = 1.5, height = 3.5; /* inches: for the key, and of the panels */
    for (size_t i = 0; i < pair_count && pair_count > 2; i++)
      bottom = fmax(bottom, label_inches(pairs[i]->training));
    begin(&out, kind, panels == 2 ? 12 : 7, bottom + height);
    hl_text_append(&out, data.data);
    hl_text_release(&data);
    hl_text_format(&out, "set multiplot layout 1,%d margins %s,%.4f,0.92 spacing 0.08,0.1\n",
                   panels, panels == 2 ? "0.06,0.985" : "0.12,0.97", bottom / (bottom + height));
    if (curves) growth_panel(&a, curves, &out);
    if (pair_count) pairs_panel(pairs, pair_count, &out);
    hl_text_append(&out, "unset multiplot\n");
    status = hl_gnuplot_picture(program, &out, kind == HL_PLOT_PNG, ret_picture, error);
  }
  hl_text_release(&out);
  hl_memory_analysis_release(&a);
  return status;
}

/* ---- what a training step holds ---- */

typedef struct breakdown {
  size_t bars, left_out; /* rows */
  double top;            /* MB */
  double label;          /* inches of the longest label */
} breakdown;

static breakdown breakdown_data(const hl_records *records, hl_text *out) {
  breakdown b = {0};
  hl_text_append(out, "$b << EOD\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_workload_is_memory(r->workload) || !hl_record_passed(r) || !is_training(r) ||
        !isfinite(r->plan_peak_mb))
      continue;
    if (b.bars == BARS) {
      b.left_out++;
      continue;
    }
    char label[LABEL_BYTES];
    name_bar(r, label);
    hl_plot_quote(out, label, LABEL);
    hl_text_format(out, " %.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g", r->weights_mb,
                   r->optimizer_state_mb, r->activations_mb, r->saved_mb, r->gradients_mb,
                   r->activation_gradients_mb, r->workspace_mb, r->outputs_mb);
    hl_text_format(out, " %.9g %.9g %.9g %.9g\n", finite_or_nan(r->forward_peak_mb),
                   finite_or_nan(r->loss_peak_mb), finite_or_nan(r->backward_peak_mb),
                   finite_or_nan(r->optimizer_peak_mb));
    b.top = fmax(b.top, r->plan_peak_mb);
    b.label = fmax(b.label, label_inches(r));
    b.bars++;
  }
  hl_text_append(out, "EOD\n");
  return b;
}

hl_status hl_memory_plot_breakdown(const hl_report_input *input, hl_plot_kind kind,
                                   const char *program, hl_text *ret_picture, hl_error *error) {
  hl_text out = HL_TEXT_INIT;
  static const double height = 4.2; /* inches of the panels */
  hl_text data = HL_TEXT_INIT;
  breakdown b = breakdown_data(input->records, &data);
  if (b.bars == 0) {
    hl_text_release(&data);
    return nothing(error, "what a training step holds");
  }
  begin(&out, kind, 13, b.label + height);
  hl_text_append(&out, data.data);
  hl_text_release(&data);
  hl_text_format(&out, "set multiplot layout 1,2 margins 0.06,0.985,%.4f,0.93 spacing 0.06,0.1\n",
                 b.label / (b.label + height));
  hl_text_append(&out, "set style data histograms\nset style fill solid 0.9 noborder\n"
                       "set boxwidth 0.8\nset ylabel 'MB'\n"
                       "set xtics rotate by 90 right scale 0 font ',8'\n"
                       "set key inside top left horizontal Left reverse maxcols 3 width -2\n");
  hl_text_format(&out, "set yrange [0:%.9g]\n", 1.3 * b.top); /* room for the key */
  hl_text_append(&out, "set title 'At the fullest step of training, planned'\n"
                       "set style histogram rowstacked\nplot ");
  for (int k = 0; k < HL_MEMORY_KINDS; k++) {
    hl_text_format(&out, "%s$b using %d%s lc rgb '%s' title ", k ? ", \\\n  " : "", k + 2,
                   k ? "" : ":xtic(1)", kind_colours[k]);
    hl_plot_quote(&out, hl__memory_names[k], 40);
  }
  hl_text_append(&out, "\nset title 'Fullest step of each phase, planned'\n"
                       "set style histogram clustered gap 1\nplot ");
  for (int p = 0; p < HL_PHASE_COUNT; p++)
    hl_text_format(&out, "%s$b using %d%s lc rgb '%s' title '%s'", p ? ", \\\n  " : "",
                   p + 2 + HL_MEMORY_KINDS, p ? "" : ":xtic(1)", phase_colours[p],
                   hl_phase_name((hl_phase)p));
  if (b.left_out)
    hl_text_format(&out, ", \\\n  NaN with points pt -1 title '(%zu more rows are not drawn)'",
                   b.left_out);
  hl_text_append(&out, "\nunset multiplot\n");
  hl_status status = hl_gnuplot_picture(program, &out, kind == HL_PLOT_PNG, ret_picture, error);
  hl_text_release(&out);
  return status;
}

/* ---- the arena ---- */

static void arena_boxes(const hl_memory_map *map, int kind, hl_text *out) {
  hl_text_format(out, "$k%d << EOD\n", kind);
  for (size_t i = 0; i < map->piece_count; i++) {
    const hl_allocation *a = &map->pieces[i];
    if (a->first < 0 || (int)a->kind != kind) continue;
    hl_text_format(out, "%d %d %.9g %.9g\n", a->first, a->last + 1, (double)a->offset / 1e6,
                   (double)(a->offset + a->bytes) / 1e6);
  }
  hl_text_append(out, "NaN NaN NaN NaN\nEOD\n");
}

typedef struct layer_place {
  const char *name;
  size_t piece; /* the first of the layer, in the order of the pieces */
} layer_place;

static int by_layer(const void *a, const void *b) {
  const layer_place *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c ? c : (x->piece > y->piece) - (x->piece < y->piece);
}

static int by_piece(const void *a, const void *b) {
  const layer_place *x = a, *y = b;
  return (x->piece > y->piece) - (x->piece < y->piece);
}

/* Numbers layers in the order in which a step comes to them. */
static size_t *number_layers(const hl_memory_map *map, size_t *ret_count) {
  size_t n = map->piece_count, kept = 0;
  layer_place *places = calloc(2 * n + 1, sizeof *places), *firsts = places + n;
  size_t *numbers = calloc(n + 1, sizeof *numbers), *group = calloc(n + 1, sizeof *group);
  bool ok = places && numbers && group;
  for (size_t i = 0; ok && i < n; i++) places[i] = (layer_place){map->pieces[i].layer, i};
  if (ok) qsort(places, n, sizeof *places, by_layer);
  for (size_t i = 0; ok && i < n; i++) {
    if (i == 0 || strcmp(places[i - 1].name, places[i].name) != 0) firsts[kept++] = places[i];
    numbers[places[i].piece] = firsts[kept - 1].piece; /* for now: the layer's first piece */
  }
  if (ok) qsort(firsts, kept, sizeof *firsts, by_piece);
  for (size_t k = 0; ok && k < kept; k++) group[firsts[k].piece] = k;
  for (size_t i = 0; ok && i < n; i++) numbers[i] = group[numbers[i]];
  free(places);
  free(group);
  if (!ok) free(numbers);
  *ret_count = kept;
  return ok ? numbers : NULL;
}

/* Boxes with the number of their layer, and labels for those with room for one. */
static bool layer_boxes(const hl_memory_map *map, const hl_memory_sums *sums, size_t *ret_layers,
                        hl_text *out) {
  size_t *numbers = number_layers(map, ret_layers);
  if (!numbers) return false;
  double steps = (double)map->step_count, top = (double)sums->arena_bytes;
  hl_text_append(out, "$l << EOD\n");
  for (size_t i = 0; i < map->piece_count; i++) {
    const hl_allocation *a = &map->pieces[i];
    if (a->first >= 0)
      hl_text_format(out, "%d %d %.9g %.9g %zu\n", a->first, a->last + 1, (double)a->offset / 1e6,
                     (double)(a->offset + a->bytes) / 1e6, numbers[i]);
  }
  hl_text_append(out, "NaN NaN NaN NaN NaN\nEOD\n$t << EOD\nNaN NaN \"\"\n");
  for (size_t i = 0; i < map->piece_count; i++) {
    const hl_allocation *a = &map->pieces[i];
    double life = (double)(a->last - a->first + 1), high = (double)a->bytes;
    if (a->first < 0 || life < 0.008 * steps * (double)strlen(a->layer) || high < 0.035 * top)
      continue;
    hl_text_format(out, "%.9g %.9g ", (double)a->first + life / 2,
                   ((double)a->offset + high / 2) / 1e6);
    hl_plot_quote(out, a->layer, 40);
    hl_text_char(out, '\n');
  }
  hl_text_append(out, "EOD\n");
  free(numbers);
  return true;
}

/* Where the main phases begin: forward, the loss, backward. */
static void phase_marks(const hl_memory_map *map, hl_text *out) {
  hl_phase seen = HL_PHASE_FORWARD;
  int tag = 1;
  for (size_t n = 0; n < map->step_count; n++) {
    hl_phase phase = map->steps[n].phase;
    if (phase <= seen || phase == HL_PHASE_OPTIMIZER) continue;
    seen = phase;
    hl_text_format(
        out,
        "set arrow %d from first %zu, graph 0 to first %zu, graph 1 nohead lw 1 dt (4,4) "
        "lc rgb '#202020' front\nset label %d '%s' at first %zu, graph 1.02 left font "
        "',9' front\n",
        tag, n, n, tag, hl_phase_name(phase), n);
    tag++;
  }
}

static void arena_script(const hl_record *r, const hl_memory_sums *sums, size_t layers,
                         hl_text *out) {
  hl_text name = HL_TEXT_INIT;
  hl__memory_name(r, &name);
  hl_text_format(&name, ": the arena over one step");
  hl_text_format(out, "set multiplot layout 2,1 margins 0.07,0.985,0.085,0.89 spacing 0.1,0.12\n"
                      "set label 10 ");
  hl_plot_quote(out, name.data, 110);
  hl_text_release(&name);
  double top = (double)sums->arena_bytes / 1e6;
  hl_text_format(out,
                 " at screen 0.5, screen 0.975 center font 'sans-serif Bold,13'\n"
                 "set xrange [0:%zu]\nset yrange [0:%.9g]\nset ylabel 'Address (MB)'\n"
                 "set xlabel 'Step'\nset style fill solid 0.9 noborder\n",
                 r->memory_map->step_count, top);
  phase_marks(r->memory_map, out);
  hl_text_append(out, "set key at screen 0.5, screen 0.952 center center horizontal Left reverse "
                      "maxcols 8 width -1\nplot ");
  bool first = true;
  for (int k = 0; k < HL_MEMORY_KINDS; k++) {
    if (sums->most[k] == sums->always[k]) continue; /* none of it in the arena */
    hl_text_format(out,
                   "%s$k%d using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror lc rgb '%s' "
                   "title ",
                   first ? "" : ", \\\n  ", k, kind_colours[k]);
    hl_plot_quote(out, hl__memory_names[k], 40);
    first = false;
  }
  if (first) hl_text_append(out, "NaN notitle");
  hl_text_format(
      out,
      "\nunset label 10\nunset key\nset title 'by layer: %zu layers, in the order of the "
      "step' font 'sans-serif,10' offset 0,0.2\n"
      "set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 '#5ec962', "
      "1 '#fde725')\nset cbrange [0:%zu]\nunset colorbox\n"
      "plot $l using (($1+$2)/2):(($3+$4)/2):1:2:3:4:5 with boxxyerror lc palette "
      "notitle, \\\n"
      "  $t using 1:2:3 with labels font ',7' tc rgb '#ffffff' notitle\n"
      "unset multiplot\n",
      layers, layers > 1 ? layers - 1 : 1);
}

hl_status hl_memory_plot_arena(const hl_record *record, hl_plot_kind kind, const char *program,
                               hl_text *ret_picture, hl_error *error) {
  hl_memory_sums sums;
  size_t layers = 0;
  if (!record->memory_map) return nothing(error, "an arena");
  hl_status status = hl_memory_map_sum(record->memory_map, &sums, error);
  if (status != HL_OK) return status;
  if (sums.arena_bytes == 0) return nothing(error, "an arena");
  hl_text out = HL_TEXT_INIT;
  begin(&out, kind, 12, 8);
  for (int k = 0; k < HL_MEMORY_KINDS; k++) arena_boxes(record->memory_map, k, &out);
  if (!layer_boxes(record->memory_map, &sums, &layers, &out))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a plot");
  if (status == HL_OK) arena_script(record, &sums, layers, &out);
  if (status == HL_OK)
    status = hl_gnuplot_picture(program, &out, kind == HL_PLOT_PNG, ret_picture, error);
  hl_text_release(&out);
  return status;
}

char *hl_memory_arena_name(const hl_record *record) {
  enum { MOST = 80 };
  char model[MOST + 1];
  size_t n = 0;
  const char *from = strrchr(record->model, '/');
  for (const char *c = from ? from + 1 : record->model; *c && n < MOST; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                 *c == '-' || *c == '.';
    if (plain || (n > 0 && model[n - 1] != '_')) model[n++] = plain ? *c : '_';
  }
  model[n] = '\0';
  return hl_format("memory_arena_%s_%s", record->mode ? record->mode : "", model);
}
