/*
 * report/report.h - what people and their tools read: JSON, CSV, Markdown, plots, and the table on
 * the terminal.
 *
 *     hl_report_input input = {.info = &info, .records = &records, .analysis = &analysis};
 *     hl_text written = HL_TEXT_INIT;
 *     hl_status status = hl_report_write(&input, "results", HL_REPORT_JSON | HL_REPORT_PLOT,
 *                                        &written, &error);
 *
 * Everything comes from records; an unknown number is null in JSON, empty in CSV, a dash in text.
 * Files are replaced atomically. Nothing here prints.
 */
#ifndef HL_REPORT_REPORT_H
#define HL_REPORT_REPORT_H

#include "analyse/analyse.h"
#include "analyse/engines.h"
#include "record/comparison.h"

/* A picture beside the report: NAME.png. */
typedef struct hl_report_picture {
  const char *name, *title; /* no title: the name */
} hl_report_picture;

typedef struct hl_report_input {
  const hl_run_info *info;
  const hl_records *records;
  const hl_analysis *analysis;       /* of these records */
  const hl_engines *engines;         /* of these records */
  const hl_comparisons *comparisons; /* NULL: none */
  const char *title;                 /* of a plan, with what it is about; NULL: none */
  const char *description;
  const char *order;                 /* of measuring, a sentence; NULL: as listed */
  const hl_report_picture *pictures; /* of a plan */
  size_t picture_count;
  size_t memory_layers; /* lines of a table by layer in MEMORY_REPORT.md */
} hl_report_input;

enum hl_report_format {
  HL_REPORT_JSON = 1 << 0, /* benchmark_results.json */
  HL_REPORT_CSV = 1 << 1,  /* benchmark_results.csv */
  /* BENCHMARK_REPORT.md; of rows of `hotlap memory` MEMORY_REPORT.md */
  HL_REPORT_MARKDOWN = 1 << 2,
  /* performance_analysis.png and .svg; of memory memory_comparison, training_memory_breakdown and
   * memory_arena_MODE_MODEL */
  HL_REPORT_PLOT = 1 << 3,
  /* with CSV: the suites' 22 columns alone, benchmark_results_YYYYMMDD_HHMMSS.csv */
  HL_REPORT_CSV_SUITE = 1 << 4,
  HL_REPORT_GOOGLE_BENCHMARK = 1 << 5, /* benchmark_results.google-benchmark.json */
  HL_REPORT_OPENMETRICS = 1 << 6,      /* benchmark_results.prom */
  /* Frameworks, models and batch sizes side by side: ANALYSIS.md with batch_analysis, heatmaps,
   * speedup_matrix, compile_time and roofline, what of them can be drawn, as .png and .svg */
  HL_REPORT_ANALYSIS = 1 << 7,
  HL_REPORT_HTML = 1 << 8 /* benchmark_report.html: one page with all in it (html-report.h) */
};

/* "json,csv,md,html,analysis,google-benchmark,openmetrics" (also "markdown", "png", "svg", "plot")
 * -> mask; INVALID_ARGUMENT names the word. */
hl_status hl_report_formats(const char *list, unsigned *ret_formats, hl_error *error);

/*
 * Writes the files of `formats` into `directory`, which is made where it is missing. Their paths
 * are appended to `ret_written` (may be NULL), one a line. UNAVAILABLE when all went well but for
 * the plots (no gnuplot); every other failure is worse and is what is returned, yet the files that
 * could be written are there.
 */
hl_status hl_report_write(const hl_report_input *input, const char *directory, unsigned formats,
                          hl_text *ret_written, hl_error *error);

/* The document of schema "hotlap.results/1", with a line break at its end. */
void hl_report_json(const hl_report_input *input, hl_text *out);

/* BENCHMARK_REPORT.md; `plot` is the picture's name beside it, or NULL. */
void hl_report_markdown(const hl_report_input *input, const char *plot, hl_text *out);

/* Best batch, fits, bottleneck, advice; of several groups without the fits, which the report has.
 */
void hl_report_advice(const hl_analysis *analysis, bool colour, hl_text *out);

/* Of load tests: the parts of the latency at each rate, and of each row whether the result is valid
 * and why not; nothing where there are none. */
void hl_report_load(const hl_records *records, hl_text *out);

/* Of training runs: where a step's time goes, first and steady, the loss of each epoch, and whether
 * the loader is the bottleneck; nothing where there are none. */
void hl_report_training(const hl_records *records, hl_text *out);

/* Of training by several numbers of ranks: samples/s, speed-up and efficiency, and the time lost in
 * waiting for gradients; weak scaling where the batch of a rank is kept, strong where that of all
 * is. Nothing where there are none. */
void hl_report_scaling(const hl_records *records, hl_text *out);

/* Of each model with several engines or types: speed-ups, the latency-throughput front, what a
 * smaller type costs, and the verdict; nothing where there are none. */
void hl_report_engines(const hl_engines *engines, bool colour, hl_text *out);

/* The parts that terminal and Markdown share. A ratio with its mark: "~1.02 [0.99, 1.05] ?"; what
 * the marks of a model's matrix, or of its baseline's column, mean; whether output errors are told
 * beside its numbers. */
void hl_report_ratio_cell(const hl_engine_ratio *ratio, hl_text *out);
void hl_report_ratio_legend(const hl_engine_model *model, bool baseline_only, hl_text *out);
bool hl_report_shows_error(const hl_engine_model *model);

/* Of rows of `hotlap memory`: by phase and by layer (the largest `layers`, the rest summed up),
 * what training adds, and how it grows; nothing where there are none. */
void hl_report_memory_map(const hl_records *records, size_t layers, hl_text *out);

/* --profile-memory: a line per row with its memory by phase. */
void hl_report_memory(const hl_records *records, hl_text *out);

/* Tables of what only some rows know: energy, counters; with why some do not. Nothing where none
 * does, unless it was asked for. */
void hl_report_details(const hl_records *records, hl_text *out);

/* Tables of frameworks, models and batch sizes side by side; nothing where there is one only. */
void hl_report_side_by_side(const hl_report_input *input, hl_text *out);

/* Metrics of the user's own, with their rows; nothing where there are none. */
void hl_report_custom(const hl_records *records, hl_text *out);

/* What was required of rows, and whether they meet it; nothing where nothing was. */
void hl_report_requirements(const hl_records *records, hl_text *out);

/* One line for a run that has ended: "8 rows: 7 passed, 1 OUT_OF_MEMORY". */
void hl_report_summary(const hl_records *records, hl_text *out);

#endif
