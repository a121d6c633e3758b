/* report/markdown.h - parts of BENCHMARK_REPORT.md (inside src/report only). */
#ifndef HL_REPORT_MARKDOWN_H
#define HL_REPORT_MARKDOWN_H

#include "report/report.h"

/* Of models with several engines; nothing where there are none. */
void hl__markdown_verdicts(const hl_engines *engines, hl_text *out);
void hl__markdown_engines(const hl_engines *engines, hl_text *out);

/* A table of the rows that are no points of a curve over batch sizes: of load tests, and of other
 * tools; nothing where there are none. */
void hl__markdown_rows(const hl_records *records, hl_text *out);
/* Why there is no curve, for a sentence. */
const char *hl__markdown_nothing(const hl_records *records);

/* Of a plan: a table for each entry. */
bool hl__markdown_has_entries(const hl_records *records);
void hl__markdown_entries(const hl_records *records, hl_text *out);

/* Of a test matrix: a table for each scenario, and `plots`: the pictures of its pages; nothing
 * where there is none. */
void hl__markdown_matrix(const hl_report_input *input, bool plots, hl_text *out);

/* What the machine can do, and how much of it the best row of each group takes. */
void hl__markdown_hardware(const hl_report_input *input, hl_text *out);
/* The presets of a group's advice, to be pasted into a configuration. */
void hl__markdown_presets(const hl_report_input *input, const hl_analysis_group *g, hl_text *out);
/* Of PtychoPINN's network: quotients beside those that the suite expects; nothing of others. */
void hl__markdown_expected(const hl_report_input *input, hl_text *out);

/* Metrics of the user's own; nothing where there are none. */
void hl__markdown_custom(const hl_records *records, hl_text *out);

/* A table of what was required; nothing where nothing was. */
void hl__markdown_requirements(const hl_records *records, hl_text *out);

/* Of training runs; `plot` is the picture's name, or NULL. Nothing where there are none. */
void hl__markdown_training(const hl_records *records, const char *plot, hl_text *out);
void hl__markdown_training_definitions(hl_text *out);

/* "### NAME", and the empty line below it. */
void hl__markdown_heading(hl_text *out, const char *name);

/* Throughput of the group's optimal size over that of `batch`; NaN where that has no row that
 * passed. The group has a point. */
double hl__markdown_speedup(const hl_analysis_group *g, int64_t batch);

/* Cells of a row, each up to its bar; an unknown number is "—". */
void hl__markdown_word(hl_text *out, const char *text);
void hl__markdown_cell(hl_text *out, double value);
void hl__markdown_cells(hl_text *out, const double *values, size_t count);

/* "What the Numbers Mean": a line from metrics.def for each key, up to a NULL. */
void hl__markdown_definitions(const char *const *keys, hl_text *out);

/* Of load tests; `plot` is the picture's name, or NULL. */
void hl__markdown_load(const hl_records *records, const char *plot, hl_text *out);

#endif
