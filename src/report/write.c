#include "report/report.h"

#include "base/file.h"
#include "formats/csv.h"
#include "formats/google-benchmark.h"
#include "formats/openmetrics.h"
#include "report/gnuplot.h"
#include "report/grid.h"
#include "report/html-report.h"
#include "report/image-plot.h"
#include "report/imaging-plot.h"
#include "report/matrix-pages.h"
#include "report/memory-markdown.h"
#include "report/memory-plot.h"
#include "report/plot.h"
#include <ctype.h>
#include <math.h>
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
               {"html", HL_REPORT_HTML},
               {"plot", HL_REPORT_PLOT},
               {"png", HL_REPORT_PLOT},
               {"svg", HL_REPORT_PLOT},
               {"analysis", HL_REPORT_ANALYSIS},
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
                          "html, analysis, google-benchmark or openmetrics",
                          (int)length, at);
    formats |= names[i].format;
    at += length;
  }
  if (!formats)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--export-format names no format; expected json, csv, md, "
                        "html, analysis, google-benchmark or openmetrics");
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

/* NAME.png and NAME.svg; the status of drawing is kept apart, since a report without plots is still
 * one. */
static bool write_picture(writer *w, const hl_report_input *input, const char *name,
                          hl_status *ret_status, hl_error *ret_error) {
  static const char *const endings[] = {[HL_PLOT_PNG] = "png", [HL_PLOT_SVG] = "svg"};
  bool png = false;
  for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG; kind++) {
    hl_text picture = HL_TEXT_INIT;
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s.%s", name, endings[kind]);
    hl_status status = hl_plot_draw(input, (hl_plot_kind)kind, NULL, &picture, ret_error);
    if (status != HL_OK) *ret_status = status;
    if (status == HL_OK && file && put_file(w, file, &picture) && kind == HL_PLOT_PNG) png = true;
    hl_text_release(&picture);
    if (status != HL_OK) break;
  }
  return png;
}

/* Of all rows, and of a test matrix of each of its pages. */
static bool write_plots(writer *w, const hl_report_input *input, hl_status *ret_status,
                        hl_error *ret_error) {
  hl__matrix_pages pages = {0};
  hl_error error = {0};
  bool drawn = write_picture(w, input, "performance_analysis", ret_status, ret_error);
  if (!drawn) return false;
  keep(w, hl__matrix_pages_make(input->analysis, &pages, &error), &error);
  for (size_t i = 0; i < pages.count; i++) {
    hl_report_input page = *input;
    page.analysis = &pages.items[i].analysis;
    write_picture(w, &page, pages.items[i].name, ret_status, ret_error);
  }
  hl__matrix_pages_release(&pages);
  return true;
}

/* -- memory ----------------------------------------------------------------------------------- */

/* Pictures that are written, for the report; the first that could not be drawn. */
typedef struct memory_pictures {
  hl_text names;
  hl_status status;
  hl_error error;
} memory_pictures;

typedef hl_status (*draw_fn)(const hl_report_input *input, hl_plot_kind kind, const char *program,
                             hl_text *ret_picture, hl_error *error);

static hl_status draw(const hl_report_input *input, const hl_record *record, draw_fn of_all,
                      hl_plot_kind kind, hl_text *picture, hl_error *error) {
  return record ? hl_memory_plot_arena(record, kind, NULL, picture, error)
                : of_all(input, kind, NULL, picture, error);
}

/* One picture in both kinds: of all rows, or of one. */
static void write_memory_picture(writer *w, const hl_report_input *input, const hl_record *record,
                                 draw_fn of_all, const char *name, memory_pictures *pictures) {
  static const char *const endings[] = {[HL_PLOT_PNG] = "png", [HL_PLOT_SVG] = "svg"};
  for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG; kind++) {
    hl_error error = {0};
    hl_text picture = HL_TEXT_INIT;
    HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s.%s", name, endings[kind]);
    hl_status status = file ? draw(input, record, of_all, (hl_plot_kind)kind, &picture, &error)
                            : hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for %s", name);
    if (status == HL_OK && put_file(w, file, &picture) && kind == HL_PLOT_PNG)
      hl_text_format(&pictures->names, "%s\n", file);
    if (status != HL_OK && pictures->status == HL_OK) {
      pictures->status = status;
      pictures->error = error;
    }
    hl_text_release(&picture);
    if (status != HL_OK) return;
  }
}

static bool has(const hl_records *records, const char *mode, bool with_map) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (hl_workload_is_memory(r->workload) && hl_record_passed(r) && r->mode &&
        (!mode || strcmp(r->mode, mode) == 0) && (!with_map || isfinite(r->plan_peak_mb)))
      return true;
  }
  return false;
}

/* Of rows with equal names, such as one model in two types, the later ones get a number. */
static void write_arenas(writer *w, const hl_report_input *input, memory_pictures *pictures) {
  size_t count = 0;
  HL_CLEANUP(hl_free_pointer) size_t *rows = hl__memory_largest(input->records, &count);
  for (size_t i = 0; rows && i < count; i++) {
    const hl_record *r = &input->records->items[rows[i]];
    HL_CLEANUP(hl_free_pointer) char *name = hl_memory_arena_name(r);
    size_t alike = 0;
    for (size_t k = 0; name && k < i; k++) {
      HL_CLEANUP(hl_free_pointer)
      char *other = hl_memory_arena_name(&input->records->items[rows[k]]);
      alike += other && strcmp(other, name) == 0;
    }
    HL_CLEANUP(hl_free_pointer)
    char *numbered = alike ? hl_format("%s_%zu", name, alike + 1) : hl_strdup(name);
    if (numbered) write_memory_picture(w, input, r, NULL, numbered, pictures);
  }
}

static void write_memory(writer *w, const hl_report_input *input, unsigned formats,
                         hl_status *ret_plot_status, hl_error *plot_error) {
  memory_pictures pictures = {.names = HL_TEXT_INIT};
  hl_text text = HL_TEXT_INIT;
  if ((formats & HL_REPORT_PLOT) && has(input->records, NULL, false)) {
    bool both = has(input->records, "training", false) && has(input->records, "inference", false);
    if (both)
      write_memory_picture(w, input, NULL, hl_memory_plot_comparison, "memory_comparison",
                           &pictures);
    if (has(input->records, "training", true))
      write_memory_picture(w, input, NULL, hl_memory_plot_breakdown, "training_memory_breakdown",
                           &pictures);
    write_arenas(w, input, &pictures);
  }
  if (formats & HL_REPORT_MARKDOWN) {
    hl__markdown_memory(input, input->memory_layers, pictures.names.data, &text);
    put_file(w, "MEMORY_REPORT.md", &text);
  }
  if (pictures.status != HL_OK) {
    *ret_plot_status = pictures.status;
    *plot_error = pictures.error;
  }
  hl_text_release(&text);
  hl_text_release(&pictures.names);
}

/* reconstruction.png of a pipeline; of further networks, engines and types with a number. */
static void write_images(writer *w, const hl_report_input *input, hl_status *ret_status,
                         hl_error *ret_error) {
  size_t shown = 0;
  for (size_t i = 0; i < input->records->count; i++) {
    if (!hl__image_is_shown(input->records, i)) continue;
    hl_error error = {0};
    hl_text picture = HL_TEXT_INIT;
    HL_CLEANUP(hl_free_pointer)
    char *name =
        ++shown > 1 ? hl_format("reconstruction_%zu.png", shown) : hl_strdup("reconstruction.png");
    hl_status status = name ? hl__image_plot(input, i, &picture, &error)
                            : hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for a picture");
    if (status == HL_OK) put_file(w, name, &picture);
    hl_text_release(&picture);
    if (status == HL_OK || *ret_status != HL_OK) continue;
    *ret_status = status;
    *ret_error = error;
  }
}

/* progressive_imaging.png; of further networks, engines and lists of optimisations with a number.
 */
static void write_imaging(writer *w, const hl_report_input *input, hl_status *ret_status,
                          hl_error *ret_error) {
  size_t shown = 0;
  for (size_t i = 0; i < input->records->count; i++) {
    if (!hl__imaging_is_shown(input->records, i)) continue;
    hl_error error = {0};
    hl_text picture = HL_TEXT_INIT;
    HL_CLEANUP(hl_free_pointer)
    char *name = ++shown > 1 ? hl_format("progressive_imaging_%zu.png", shown)
                             : hl_strdup("progressive_imaging.png");
    hl_status status = name ? hl__imaging_plot(input, i, &picture, &error)
                            : hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for a picture");
    if (status == HL_OK) put_file(w, name, &picture);
    hl_text_release(&picture);
    if (status == HL_OK || *ret_status != HL_OK) continue;
    *ret_status = status;
    *ret_error = error;
  }
}

/* -- frameworks side by side ------------------------------------------------------------------ */

/* What can be drawn; the reasons of the others stand in the report. */
static void write_grid_pictures(writer *w, const hl_report_input *input, const hl_grid *grid,
                                hl_text *lines, hl_status *ret_status, hl_error *ret_error) {
  static const char *const endings[] = {[HL_PLOT_PNG] = "png", [HL_PLOT_SVG] = "svg"};
  for (int plot = 0; plot < HL_GRID_PLOTS; plot++) {
    const char *name = hl_grid_plot_name((hl_grid_plot)plot);
    for (int kind = HL_PLOT_PNG; kind <= HL_PLOT_SVG; kind++) {
      hl_error error = {0};
      hl_text picture = HL_TEXT_INIT, script = HL_TEXT_INIT;
      HL_CLEANUP(hl_free_pointer) char *file = hl_format("%s.%s", name, endings[kind]);
      hl_status can =
          hl_grid_plot_script((hl_grid_plot)plot, grid, input, (hl_plot_kind)kind, &script, &error);
      hl_status status =
          can == HL_OK ? hl_gnuplot_picture(NULL, &script, kind == HL_PLOT_PNG, &picture, &error)
                       : can;
      hl_text_release(&script);
      if (can != HL_OK)
        hl_text_format(lines, "%c%s.\n\n", toupper((unsigned char)error.msg[0]), error.msg + 1);
      if (status == HL_OK && file && put_file(w, file, &picture) && kind == HL_PLOT_PNG)
        hl_text_format(lines, "![%s](%s)\n\n", hl_grid_plot_title((hl_grid_plot)plot), file);
      hl_text_release(&picture);
      if (can == HL_OK && status != HL_OK && *ret_status == HL_OK) {
        *ret_status = status;
        *ret_error = error;
      }
      if (status != HL_OK) break;
    }
  }
}

static void write_analysis(writer *w, const hl_report_input *input, hl_status *ret_status,
                           hl_error *ret_error) {
  hl_grid grid;
  hl_error error = {0};
  hl_status status = hl_grid_make(input->analysis, input->records, input->engines, &grid, &error);
  if (status != HL_OK) {
    keep(w, status, &error);
    return;
  }
  hl_text text = HL_TEXT_INIT;
  hl_report_grid_head(input, &text);
  write_grid_pictures(w, input, &grid, &text, ret_status, ret_error);
  hl_report_grid(&grid, input, true, &text);
  put_file(w, "ANALYSIS.md", &text);
  hl_text_release(&text);
  hl_grid_release(&grid);
}

/* Whether there are rows of anything else. */
static bool is_all_memory(const hl_records *records) {
  for (size_t i = 0; i < records->count; i++)
    if (!hl_workload_is_memory(records->items[i].workload)) return false;
  return records->count > 0;
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
  if (formats & HL_REPORT_HTML) {
    hl_text_clear(&text);
    hl_report_html(input, &text);
    put_file(&w, "benchmark_report.html", &text);
  }
  hl_error plot_error = {0};
  hl_status plot_status = HL_OK;
  bool only_memory = is_all_memory(input->records);
  /* A plan with pictures of its own has them in this one's place. */
  bool plotted = (formats & HL_REPORT_PLOT) && !only_memory && !input->picture_count &&
                 write_plots(&w, input, &plot_status, &plot_error);
  if (formats & HL_REPORT_PLOT) write_images(&w, input, &plot_status, &plot_error);
  if (formats & HL_REPORT_PLOT) write_imaging(&w, input, &plot_status, &plot_error);
  if (hl__memory_is_told(input->records))
    write_memory(&w, input, formats, &plot_status, &plot_error);
  if ((formats & HL_REPORT_ANALYSIS) && hl_report_grid_fits(input->analysis))
    write_analysis(&w, input, &plot_status, &plot_error);
  else if ((formats & HL_REPORT_ANALYSIS) && plot_status == HL_OK)
    plot_status =
        hl_error_set(&plot_error, HL_UNAVAILABLE,
                     "no analysis: there are no two frameworks, types or models with rows "
                     "that passed, to set side by side");
  if ((formats & HL_REPORT_MARKDOWN) && !only_memory) {
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
