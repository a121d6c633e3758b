#include "report/training-plot.h"

#include "report/plot-data.h"
#include <inttypes.h>
#include <math.h>

enum { RUNS = HL_PLOT_LINES, SPANS = 6, most_points = 4000 };

static const char *const grey = "#606060";
static const char *const span_names[SPANS] = {"load", "transfer", "forward",
                                              "loss", "backward", "optimizer"};

typedef struct plot {
  hl_text *out;
  const hl_record *runs[RUNS];
  size_t count, left_out;
  bool has_spans;
  double low, high; /* of the losses */
} plot;

bool hl_training_plot_fits(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (!hl_workload_is_training(records->items[i].workload)) return false;
  return records->count > 0;
}

static void find_runs(plot *p, const hl_records *records) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_record_passed(r) || r->step_loss_count == 0) continue;
    if (p->count < RUNS)
      p->runs[p->count++] = r;
    else
      p->left_out++;
  }
}

static void put_loss(plot *p, double x, double loss) {
  if (!isfinite(loss)) return;
  hl_text_format(p->out, "%.9g %.9g\n", x, loss);
  p->low = fmin(p->low, loss);
  p->high = fmax(p->high, loss);
}

/* $l<r>: step and loss, every so many of a long run; $e<r>: last step and mean of each epoch. */
static void put_losses(plot *p, size_t run) {
  const hl_record *r = p->runs[run];
  size_t stride = r->step_loss_count / most_points + 1;
  hl_text_format(p->out, "$l%zu << EOD\n", run);
  for (size_t i = 0; i < r->step_loss_count; i += stride)
    put_loss(p, (double)(i + 1), (double)r->step_losses[i]);
  hl_text_format(p->out, "EOD\n$e%zu << EOD\n", run);
  double step = 0;
  for (size_t i = 0; i < r->epochs.count; i++) {
    step += (double)r->epochs.items[i].steps;
    put_loss(p, step, r->epochs.items[i].loss);
  }
  hl_text_append(p->out, "NaN NaN\nEOD\n");
}

/* $s: a line for each run, "batch 8", then the means of its spans. */
static void put_spans(plot *p) {
  hl_text_append(p->out, "$s << EOD\n");
  for (size_t run = 0; run < p->count; run++) {
    const hl_record *r = p->runs[run];
    const double means[SPANS] = {r->data_load_ms, r->transfer_ms, r->forward_ms,
                                 r->loss_ms,      r->backward_ms, r->optimizer_ms};
    p->has_spans = p->has_spans || isfinite(r->forward_ms);
    hl_text_format(p->out, "%zu", run);
    for (size_t i = 0; i < SPANS; i++)
      hl_text_format(p->out, " %.9g", isfinite(means[i]) ? means[i] : 0);
    hl_text_char(p->out, '\n');
  }
  hl_text_append(p->out, "EOD\n");
}

static void append_name(const plot *p, const hl_record *r, hl_text *out) {
  if (p->count > 1) hl_text_format(out, "%s, ", r->model ? r->model : "?");
  hl_text_format(out, "%s, batch %" PRId64, r->engine ? r->engine : "?", r->batch_size);
}

static void put_heading(plot *p, const hl_run_info *info) {
  const hl_record *r = p->runs[0];
  hl_text text = HL_TEXT_INIT;
  bool one = p->count == 1 && r->model;
  hl_text_format(&text, "Training%s%s: %s, %s", one ? " " : "", one ? r->model : "",
                 r->loss_function ? r->loss_function : "?", r->optimizer ? r->optimizer : "?");
  HL_CLEANUP(hl_free_pointer)
  char *remark = p->left_out ? hl_format("%d runs drawn, not all", RUNS) : NULL;
  hl_plot_heading(p->out, text.data, remark, info);
  hl_text_release(&text);
}

static void loss_panel(plot *p) {
  static const double far = 30;
  hl_text_append(p->out, "set lmargin at screen 0.08\nset rmargin at screen 0.6\n"
                         "set xlabel 'Step'\nset ylabel 'Loss'\nset xrange [0:*]\n"
                         "set title 'Loss: each step, and mean of an epoch'\n"
                         "set key top right samplen 2.2 spacing 1.15 font ',10' opaque nobox\n");
  if (p->low > 0 && p->high / p->low > far) hl_text_append(p->out, "set logscale y 10\n");
  for (size_t run = 0; run < p->count; run++) {
    const char *colour = hl_plot_line_colours[run];
    hl_text name = HL_TEXT_INIT;
    append_name(p, p->runs[run], &name);
    hl_text_format(p->out,
                   "%s$l%zu using 1:2 with lines lw 0.8 lc rgb '#A0%s' notitle, \\\n  $e%zu using "
                   "1:2 with linespoints pt 7 ps 0.6 lw 2.2 lc rgb '%s' title ",
                   run ? ", \\\n  " : "plot ", run, colour + 1, run, colour);
    hl_plot_quote(p->out, name.data, 50);
    hl_text_release(&name);
  }
  hl_text_append(p->out, "\nunset label 20\nunset label 21\nunset logscale y\n");
}

static void spans_panel(plot *p) {
  hl_text_append(p->out,
                 "set lmargin at screen 0.68\nset rmargin at screen 0.97\nunset xlabel\n"
                 "set title 'Parts of a steady step'\n"
                 "set ylabel 'Time (ms)'\nset yrange [0:*]\n"
                 "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.6\n"
                 "set style fill solid 0.85 noborder\nset key outside bottom center horizontal "
                 "Left reverse samplen 1 font ',9'\nset xtics (");
  for (size_t run = 0; run < p->count; run++) {
    hl_text name = HL_TEXT_INIT;
    hl_text_format(&name, "batch %" PRId64, p->runs[run]->batch_size);
    hl_text_append(p->out, run ? ", " : "");
    hl_plot_quote(p->out, name.data, 20);
    hl_text_format(p->out, " %zu", run);
    hl_text_release(&name);
  }
  hl_text_format(p->out, ")\nset xrange [-0.7:%.1f]\n", (double)p->count - 0.3);
  for (size_t i = 0; i < SPANS; i++)
    hl_text_format(p->out, "%s$s using %zu title '%s' lc rgb '%s'", i ? ", \\\n  " : "plot ", i + 2,
                   span_names[i], hl_plot_line_colours[i % HL_PLOT_LINES]);
  hl_text_char(p->out, '\n');
}

hl_status hl_training_plot_script(const hl_report_input *input, hl_text *out, hl_error *error) {
  plot p = {.out = out, .low = (double)INFINITY, .high = -(double)INFINITY};
  find_runs(&p, input->records);
  if (p.count == 0)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "no plots: no row passed, so there is nothing to "
                        "draw");
  for (size_t run = 0; run < p.count; run++) put_losses(&p, run);
  put_spans(&p);
  hl_text_format(out,
                 "set datafile missing 'NaN'\nset encoding utf8\nset border 3 lc rgb '%s' lw 0.8\n"
                 "set tics nomirror out scale 0.6 tc rgb '#202020'\nset grid x y lc rgb '#d8d8d8' "
                 "lw 0.7 lt 1\nset title font 'sans-serif Bold,12.5'\nset bmargin at screen 0.13\n"
                 "set tmargin at screen 0.86\nset "
                 "multiplot\n",
                 grey);
  put_heading(&p, input->info);
  loss_panel(&p);
  if (p.has_spans) spans_panel(&p);
  hl_text_append(out, "unset multiplot\n");
  return HL_OK;
}
