#include "cli/sweep-view.h"

#include "base/clock.h"
#include "cli/cli.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void clear_progress(const hl_sweep_view *v) {
  if (v->show_progress) fputs("\r\033[K", stderr);
}

void hl_sweep_view_end(hl_sweep_view *view) {
  clear_progress(view);
}

void hl_sweep_view_release(hl_sweep_view *view) {
  hl_suite_view_release(&view->suite);
}

static void print(hl_text *text) {
  fputs(text->data, stdout);
  fflush(stdout);
  hl_text_release(text);
}

/* Shown when the first row is under way: what is wrong with the command is said without a table. */
static void show_header(hl_sweep_view *v) {
  if (!v->show_table || v->as_suite || v->header_shown) return;
  v->header_shown = true;
  hl_text text = HL_TEXT_INIT;
  hl_report_table_header(&v->table, &text);
  print(&text);
}

static void row_begin(void *context, const hl_configuration *c, size_t index, size_t count) {
  hl_sweep_view *v = context;
  v->index = index;
  v->count = count;
  snprintf(v->current, sizeof v->current, "%s, %s, batch %" PRId64, c->model, c->engine,
           c->batch_size);
  hl_text_blank(v->current, "");
}

/* Time left at most: each row ends within its budget, plus what goes before it. */
static void phase(void *context, const char *text) {
  hl_sweep_view *v = context;
  show_header(v);
  if (!v->show_progress) return;
  double spent = (double)(hl_clock_ns() - v->start_ns) / 1e9;
  double per_row = v->index ? spent / (double)v->index : v->budget_s;
  double left = per_row * (double)(v->count - v->index);
  fprintf(stderr, "\r\033[K[%zu/%zu] %s: %s, about %.0f s left", v->index + 1, v->count, v->current,
          text, left);
}

static void row_end(void *context, const hl_record *record) {
  hl_sweep_view *v = context;
  clear_progress(v);
  if (!v->show_table) return;
  show_header(v);
  hl_text text = HL_TEXT_INIT;
  if (v->as_suite)
    hl_suite_view_row(&v->suite, record, &text);
  else
    hl_report_table_row(&v->table, record, &text);
  print(&text);
}

void hl_probe_show(const hl_run_probe *p) {
  printf("  probe batch %-7" PRId64 " ", p->batch_size);
  if (p->outcome == HL_PASSED)
    printf("runs, worker's peak %.0f MB\n", p->memory_mb);
  else if (p->predicted)
    printf("predicted not to fit (%.0f MB)\n", p->memory_mb);
  else
    printf("%s: %s\n", hl_outcome_name(p->outcome), p->reason ? p->reason : "");
  fflush(stdout);
}

static void probe(void *context, const hl_run_probe *p) {
  hl_sweep_view *v = context;
  clear_progress(v);
  if (!v->show_table) return;
  show_header(v);
  hl_probe_show(p);
}

static void message(void *context, const char *text) {
  hl_sweep_view *v = context;
  clear_progress(v);
  if (!v->show_table) return;
  /* Between the lines of a box it would be part of it. */
  fprintf(v->as_suite ? stderr : stdout, "%s\n", text);
  fflush(stdout);
}

/* Said at once, and once: the rest of a long sweep is not lost on a disk that is full. */
static void not_kept(void *context, const hl_error *error) {
  hl_sweep_view *v = context;
  clear_progress(v);
  if (v->not_kept++ == 0)
    fprintf(stderr,
            "hotlap: not kept: %s. Measuring goes on; what is not kept is in the other "
            "outputs only\n",
            error->msg);
}

void hl_sweep_view_init(hl_sweep_view *view, const hl_plan *plan, const hl_options *options) {
  bool quiet = hl_options_on(options, HL_OPTION_QUIET);
  *view = (hl_sweep_view){.show_table = !quiet && !hl_options_on(options, HL_OPTION_JSON),
                          .show_progress = !quiet && isatty(STDERR_FILENO),
                          .verbose = hl_options_on(options, HL_OPTION_VERBOSE),
                          .start_ns = hl_clock_ns(),
                          .budget_s = plan->method.max_time_s};
  view->as_suite = hl_options_given(options, HL_OPTION_FRAMEWORK);
  if (view->as_suite) hl_suite_view_init(&view->suite, plan);
  hl_report_table_init(&view->table, hl_cli_colour(STDOUT_FILENO));
  for (size_t i = 0; i < plan->count; i++) {
    const hl_configuration *c = &plan->items[i];
    hl_report_table_expect(&view->table,
                           c->memory        ? HL_WORKLOAD_MEMORY
                           : c->train       ? HL_WORKLOAD_TRAINING
                           : c->load        ? HL_WORKLOAD_LOAD
                           : c->pipeline    ? HL_WORKLOAD_PIPELINE
                           : c->progressive ? HL_WORKLOAD_PROGRESSIVE
                                            : HL_WORKLOAD_INFERENCE,
                           c->model, c->engine, c->dtype, c->threads, c->device);
  }
}

hl_run_view hl_sweep_view_hooks(hl_sweep_view *view) {
  return (hl_run_view){.context = view,
                       .row_begin = row_begin,
                       .row_end = row_end,
                       .phase = phase,
                       .probe = probe,
                       .message = message,
                       .not_kept = not_kept};
}
