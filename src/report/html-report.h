/*
 * report/html-report.h - a run as a page: summary, charts, tables, and its data.
 *
 *     hl_text page = HL_TEXT_INIT;
 *     hl_report_html(&input, &page);
 *     status = hl_file_write("benchmark_report.html", page.data, page.length, &error);
 *
 * All of it is HTML before a script runs: tables, sentences, and a table below each chart. Scripts
 * sort, filter and draw. What BENCHMARK_REPORT.md says is said in the same words. The results
 * document and the CSV file are within the page, byte for byte, for its download buttons.
 */
#ifndef HL_REPORT_HTML_REPORT_H
#define HL_REPORT_HTML_REPORT_H

#include "report/html-page.h"
#include "report/report.h"

/* The title of a run's page: of its plan, or its model. free() it. */
char *hl_report_html_title(const hl_report_input *input);

/* What stands within <main>: for a page of one's own. */
void hl_report_html_body(hl_html *html, const hl_report_input *input);

/* The whole page in one file. */
void hl_report_html(const hl_report_input *input, hl_text *out);

#endif
