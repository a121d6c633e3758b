/*
 * formats/google-benchmark.h - a run in google-benchmark's JSON, for its tools/compare.py.
 *
 *     hl_text out = HL_TEXT_INIT;
 *     hl_google_benchmark_write(&info, &records, &out, &error);
 *
 * A row that passed is a benchmark: MODEL/engine:E/dtype:D/batch:B/.../real_time, with a repetition
 * for the median of each of the 30 contiguous batches of its samples, or for each sample where
 * there are fewer than 150: the values that the interval of the median stands on
 * (method/interval.h). cpu_time is the row's mean user and system time of a step, scaled as the
 * repetition's real_time to their mean, or real_time where it is not known: compare.py reads no
 * benchmark without it. Aggregates (mean, median, stddev, cv) are of the repetitions, as
 * google-benchmark's own; the median's entry holds all of the row as member `hotlap`, which
 * hl_import_file reads back. Rows that did not pass have no times, and context.not_exported names
 * them.
 */
#ifndef HL_FORMATS_GOOGLE_BENCHMARK_H
#define HL_FORMATS_GOOGLE_BENCHMARK_H

#include "record/record.h"

/* OUT_OF_MEMORY; `out->failed` is to be checked as well. Thread-safe. */
hl_status hl_google_benchmark_write(const hl_run_info *info, const hl_records *records,
                                    hl_text *out, hl_error *error);

/* The name of a row among `records`: rows of one name are numbered by row:N. */
void hl_google_benchmark_name(const hl_records *records, size_t index, hl_text *out);

#endif
