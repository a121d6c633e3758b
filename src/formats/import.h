/*
 * formats/import.h - results of other benchmarks' files as rows of a run.
 *
 *     hl_import import;
 *     hl_status status = hl_import_file("bench.json", NULL, &import, &error);
 *     for (i < import.records.count) ... import.records.items[i], import.keys[i] ...
 *     hl_import_release(&import);
 *
 * Read are google-benchmark's JSON, optimum-benchmark's report, hyperfine's JSON, llama-bench's
 * JSON, JSON lines and CSV, asv's results of a commit, the CSV files of 594Project's runner, and
 * what hotlap.measure of the Python package timed.
 * docs/formats.md says what becomes what.
 *
 * A row's numbers come from the samples in the file, by the same functions as those of measured
 * rows (method/summary.h); where the file has no samples, from its aggregates. What the file does
 * not say is null. What it says and a row has no place for is counted in `losses`.
 *
 * Files are hostile: at most 64 MiB, 2^23 values, 64 levels, 65536 rows. Bare NaN and Infinity,
 * which google-benchmark and asv write, are read as null; other faults are BAD_DATA with file,
 * place (line, or path such as results[3].mean) and remedy. Nothing of a file that fails is kept.
 * Thread-safe: there is no state.
 */
#ifndef HL_FORMATS_IMPORT_H
#define HL_FORMATS_IMPORT_H

#include "record/record.h"

typedef enum hl_import_format {
  HL_IMPORT_GOOGLE_BENCHMARK,
  HL_IMPORT_OPTIMUM_BENCHMARK,
  HL_IMPORT_HYPERFINE,
  HL_IMPORT_LLAMA_BENCH,
  HL_IMPORT_ASV,
  HL_IMPORT_BENCH594,
  HL_IMPORT_MEASURE,
  HL_IMPORT_FORMATS
} hl_import_format;

const char *hl_import_format_name(hl_import_format format); /* "google-benchmark" ... */
/* INVALID_ARGUMENT lists the names. */
hl_status hl_import_format_from_name(const char *name, hl_import_format *ret_format,
                                     hl_error *error);

/* Something that a file says and that no row keeps. */
typedef struct hl_import_loss {
  const char *what; /* static: "user counters" */
  size_t count;
} hl_import_loss;

enum { HL_IMPORT_LOSSES = 16 };

typedef struct hl_import {
  hl_import_format format;
  hl_run_info info; /* all but the id; machine_id is never one of a real machine of hotlap */
  char hash[32];    /* of the file's bytes, for hl_store_run_begin: "import:0123456789abcdef" */
  bool machine_known;
  char *host; /* name of the machine, where the file is of hotlap's own; NULL: unknown */
  hl_records records;
  char **keys; /* of each record: its configuration, different ones, the same in each file */
  size_t key_capacity;
  hl_import_loss losses[HL_IMPORT_LOSSES];
  size_t loss_count;
} hl_import;
void hl_import_release(hl_import *import);

/*
 * Reads a file. `format` NULL: told by its content. An optimum-benchmark report takes the model's
 * name and batch size from the benchmark_config.json beside it. NOT_FOUND, IO, LIMIT (too large),
 * BAD_DATA, OUT_OF_MEMORY; `ret_import` is set on success only.
 */
hl_status hl_import_file(const char *path, const hl_import_format *format, hl_import *ret_import,
                         hl_error *error);

/* What hl_import_memory reads: a file's bytes. */
typedef struct hl_import_source {
  const char *name;     /* for messages and notes */
  const char *modified; /* UTC, for files that name no date; NULL: unknown */
  const char *data;     /* `bytes` of them, no terminator needed */
  size_t bytes;
  const char *config; /* of benchmark_config.json; NULL: there is none */
  size_t config_bytes;
  const hl_import_format *format; /* NULL: told by the content */
} hl_import_source;
hl_status hl_import_memory(const hl_import_source *source, hl_import *ret_import, hl_error *error);

/* Names the machine that the file does not name, or another one than it does. */
void hl_import_set_machine(hl_import *import, const char *machine);

#endif
