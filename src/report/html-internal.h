/* report/html-internal.h - parts of a run's page (inside src/report only). */
#ifndef HL_REPORT_HTML_INTERNAL_H
#define HL_REPORT_HTML_INTERNAL_H

#include "report/html-chart.h"
#include "report/html-report.h"

/* All rows of the run, a table: what they are, and what rows of their kind measure. */
void hl__html_rows(hl_html *html, const hl_records *records);

/* Charts of rows over batch sizes, of each model; of engines, the front and the roofline. */
void hl__html_charts(hl_html *html, const hl_report_input *input);
/* Of load tests, of training, and of what memory is for. Nothing where there are none. */
void hl__html_charts_load(hl_html *html, const hl_records *records);
void hl__html_charts_training(hl_html *html, const hl_records *records);
void hl__html_charts_memory(hl_html *html, const hl_records *records);
/* The arena of each network and mode at its largest batch, drawn; nothing without a map. */
void hl__html_arenas(hl_html *html, const hl_records *records);

/* What rows reconstructed, beside the true object where it is known; nothing where none did. */
void hl__html_pictures(hl_html *html, const hl_records *records);

/* Sentences on top of the page where the report has no summary: of load tests, training, memory,
 * and of plans. */
void hl__html_words(hl_html *html, const hl_report_input *input);

/* Ratios of `hotlap compare` and of interleaved rows, with their intervals. */
void hl__html_charts_comparisons(hl_html *html, const hl_comparisons *comparisons);

/* Throughput of each engine and batch size, shaded; nothing where there is one engine only. */
void hl__html_heat(hl_html *html, const hl_report_input *input);

#endif
