/*
 * report/load-plot.h - latency against the rate of arrivals, of load tests (inside src/report
 * only).
 *
 * p50, p90 and p99 at every rate that was tried, those of a search too, on logarithmic axes; the
 * target, the largest rate that was found, and at each rate whether the target held or the result
 * is valid. Of several servers the judged percentile of each. A percentile is of the queries that
 * were served.
 */
#ifndef HL_REPORT_LOAD_PLOT_H
#define HL_REPORT_LOAD_PLOT_H

#include "report/report.h"

/* Whether the records are a load test's. */
bool hl_load_plot_fits(const hl_records *records);

/* Appends gnuplot's script after that of its terminal. UNAVAILABLE where no row has a rate. */
hl_status hl_load_plot_script(const hl_report_input *input, hl_text *out, hl_error *error);

#endif
