/*
 * report/phase5.h - the files of PRISM's phase 5: baseline against optimised progressive imaging.
 *
 *     hl_report_phase5(&input, "reports", &written, &error);          // of the rows that there are
 *     hl_report_phase5_summary("reports", &info, &written, &error);   // of the files that there
 * are
 *
 * Which rows a file is of is told by their entry in the plan (plans/prism-phase5.yaml):
 *
 *     standard-N           repetitions of the scenario, with optimize none and all in turns
 *     progressive-N        the same of the scenario in which apertures repeat
 *     ablation-alone       none, and each optimisation alone
 *     ablation-without     all, and all but one
 *     fft-cache            images of several sizes, none and fft-plan-cache
 *     measurement-cache    progressive, none and measurement-cache
 *
 * A file whose rows are absent is not written. Every number is of records or comparisons; one that
 * is not known is null in JSON and has its reason in the text. Files are replaced atomically, their
 * paths appended to `ret_written` (may be NULL), one a line. IO, OUT_OF_MEMORY.
 */
#ifndef HL_REPORT_PHASE5_H
#define HL_REPORT_PHASE5_H

#include "report/report.h"

/* phase5_baseline_performance, phase5_optimized_performance (.json, .txt), phase5_comparison.json
 * and phase5_comparison_report.txt, phase5_checklist, phase5_ablation, fft_cache_benchmark and
 * measurement_cache_benchmark (.json, .txt). */
hl_status hl_report_phase5(const hl_report_input *input, const char *directory,
                           hl_text *ret_written, hl_error *error);

/* phase5_master_summary.json and .txt, of the JSON files above that are in the directory, whichever
 * run they are of, and of which of profiling/'s files are there. BAD_DATA names a file that is not
 * one of these; NOT_FOUND where there is none. */
hl_status hl_report_phase5_summary(const char *directory, hl_text *ret_written, hl_error *error);

#endif
