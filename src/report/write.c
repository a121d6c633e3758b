#include "report/report.h"

#include "base/file.h"
#include "formats/csv.h"
#include "formats/google-benchmark.h"
#include "formats/openmetrics.h"
#include "report/plot.h"
#include <stdio.h>
#include <string.h>

hl_status hl_report_formats(const char *list, unsigned *ret_formats, hl_error *error) {
  static const struct {
    const char *name;
    unsigned format;
  } names[] = {{"json", HL_REPORT_JSON},
               {"csv", HL_REPORT_CSV},
               {"md", HL_REPORT_MARKDOWN},
               {"markdown", HL_REPORT_MARKDOWN},
               {"plot", HL_REPORT_PLOT},
               {"png", HL_REPORT_PLOT},
               {"svg", HL_REPORT_PLOT},
               {"google-benchmark", HL_REPORT_GOOGLE_BENCHMARK},
               {"openmetrics", HL_REPORT_OPENMETRICS}};
  static const char separators[] = ", \t";
  unsigned formats = 0;
  for (const char *at = list + strspn(list, separators); *at; at += strspn(at, separators)) {
    size_t length = strcspn(at, separators), i = 0;
    while (i < HL_COUNT(names) &&
           (strlen(names[i].name) != length || strncmp(names[i].name, at, length) != 0))
      i++;
    if (i == HL_COUNT(names))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "unknown export format '%.*s'; expected json, csv, md, "
                          "google-benchmark or openmetrics",
                          (int)length, at);
    formats |= names[i].format;
    at += length;
  }
  if (!formats)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--export-format names no format; expected json, csv, md, "
                        "google-benchmark or openmetrics");
  *ret_formats = formats;
  return HL_OK;
}

typedef struct writer {
  const char *directory;
  hl_text *written;
  hl_status status; /* the first failure */
  hl_error *error;
} writer;

/* Keeps the first failure and its message. */
static void keep(writer *w, hl_status status, const hl_error *error) {
  if (status == HL_OK || w->status != HL_OK) return;
  w->status = status;
  if (w->error) *w->error = *error;
}

static bool put_file(writer *w, const char *name, const hl_text *content) {
  hl_error error = {0};
  hl_status status = HL_OK;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", w->directory, name);
  if (!path || content->failed)
    status = hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  else
    status = hl_file_write(path, content->data, content->length, &error);
  keep(w, status, &error);
  if (status == HL_OK && w->written) hl_text_format(w->written, "%s\n", path);
  return status == HL_OK;
}

/* "benchmark_results_20261127_120000.csv", as 594Project names it, from the UTC time of the run. */
static void suite_name(const char *created, char *ret_name, size_t size) {
  char digits[15] = "00000000000000";
  size_t n = 0;
  for (const char *c = created ? created : ""; *c && n < 14; c++)
    if (*c >= '0' && *c <= '9') digits[n++] = *c;
  snprintf(ret_name, size, "benchmark_results_%.8s_%.6s.csv", digits, digits + 8);
}

static void write_csv(writer *w, const hl_report_input *input, bool suite) {
  char name[64] = "benchmark_results.csv";
  hl_text text = HL_TEXT_INIT;
  if (suite) suite_name(input->info->created, name, sizeof name);
  hl_csv_write(input->records, suite ? HL_CSV_SUITE : HL_CSV_ALL, &text);
  put_file(w, name, &text);
  hl_text_release(&text);
}

/* What other tools read. */
static void write_foreign(writer *w, const hl_report_input *input, unsigned formats) {
  hl_text text = HL_TEXT_INIT;
  if (formats & HL_REPORT_GOOGLE_BENCHMARK) {
    hl_error error = {0};
    hl_status status = hl_google_benchmark_write(input->info, input->records, &text, &error);
    keep(w, status, &error);
    if (status == HL_OK) put_file(w, "benchmark_results.google-benchmark.json", &text);
  }
  hl_text_clear(&text);
  if (formats & HL_REPORT_OPENMETRICS) {
    hl_openmetrics_write(input->info, input->records, &text);
    put_file(w, "benchmark_results.prom", &text);
  }
  hl_text_release(&text);
}

/* Both pictures; the status of drawing is kept apart, since a report without plots is still one. */
static bool write_plots(writer *w, const hl_report_input *input, hl_status *ret_status,
                        hl_error *ret_error) {
  static const char *const names[] = {
      [HL_PLOT_PNG] = "performance_analysis.png", [HL_PLOT_SVG] = "performance_analysis.svg"};
  bool png = false;
  for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG; kind++) {
    hl_text picture = HL_TEXT_INIT;
    hl_status status = hl_plot_draw(input, (hl_plot_kind)kind, NULL, &picture, ret_error);
    if (status != HL_OK) *ret_status = status;
    if (status == HL_OK && put_file(w, names[kind], &picture) && kind == HL_PLOT_PNG) png = true;
    hl_text_release(&picture);
    if (status != HL_OK) break;
  }
  return png;
}

hl_status hl_report_write(const hl_report_input *input, const char *directory, unsigned formats,
                          hl_text *ret_written, hl_error *error) {
  writer w = {.directory = directory, .written = ret_written, .error = error};
  hl_status status = hl_directory_make(directory, error);
  if (status != HL_OK) return status;
  hl_text text = HL_TEXT_INIT;
  if (formats & HL_REPORT_JSON) {
    hl_report_json(input, &text);
    put_file(&w, "benchmark_results.json", &text);
  }
  if (formats & HL_REPORT_CSV) write_csv(&w, input, formats & HL_REPORT_CSV_SUITE);
  write_foreign(&w, input, formats);
  hl_error plot_error = {0};
  hl_status plot_status = HL_OK;
  bool plotted = (formats & HL_REPORT_PLOT) && write_plots(&w, input, &plot_status, &plot_error);
  if (formats & HL_REPORT_MARKDOWN) {
    hl_text_clear(&text);
    hl_report_markdown(input, plotted ? "performance_analysis.png" : NULL, &text);
    put_file(&w, "BENCHMARK_REPORT.md", &text);
  }
  hl_text_release(&text);
  if (plot_status != HL_OK && w.status == HL_OK) {
    /* One status to the caller for "all but the plots", whatever was wrong with them. */
    if (error) *error = plot_error;
    if (error) error->status = HL_UNAVAILABLE;
    return HL_UNAVAILABLE;
  }
  return w.status;
}
