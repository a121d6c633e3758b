/*
 * formats/import-internal.h - what the readers of the formats share (inside src/formats only).
 *
 * A reader walks through the document, fills an hl_record and hands it over with its samples:
 *
 *     hl__import_place(importer, "results[%zu]", i);
 *     status = hl__import_durations(importer, object, "times", 1e9, &samples, error);
 *     if (status == HL_OK) status = hl__import_row(importer, &row, error);
 */
#ifndef HL_FORMATS_IMPORT_INTERNAL_H
#define HL_FORMATS_IMPORT_INTERNAL_H

#include "formats/import.h"
#include <jansson.h>

enum {
  HL_IMPORT_MAX_DEPTH = 64,
  HL_IMPORT_MAX_VALUES = 1 << 23,
  HL_IMPORT_MAX_ROWS = 65536,
  HL_IMPORT_MAX_NAME = 4096, /* bytes */
  HL_IMPORT_MAX_STEPS = 1000000000
};
#define HL_IMPORT_MAX_BYTES ((size_t)64 << 20)
#define HL_IMPORT_MEASURE_SCHEMA "hotlap.measure/1"
#define HL_IMPORT_CONFIG_NAME "benchmark_config.json" /* beside optimum-benchmark's report */

typedef struct hl_importer {
  const hl_import_source *source;
  hl_import_format format;
  hl_import *import;
  char place[192]; /* of the object that is read: "benchmarks[3]" */
} hl_importer;

/* -- documents (import-json.c) --------------------------------------------------------------- */

/* The JSON of `bytes`; json_decref() it. `line` is that of their start in the file, for messages.
 * Bare NaN and Infinity become null and are counted as a loss. */
hl_status hl__import_parse(hl_importer *importer, const char *data, size_t bytes, size_t line,
                           json_t **ret_root, hl_error *error);

/* Where the reader is, for messages. */
void hl__import_place(hl_importer *importer, const char *format, ...) HL_PRINTF(2, 3);
/* BAD_DATA: "FILE: place.key: what. remedy"; key NULL: the place itself. */
hl_status hl__import_wrong(const hl_importer *importer, const char *key, hl_error *error,
                           const char *format, ...) HL_PRINTF(4, 5);

/* A member of an object: NaN, HL_INT_NULL or NULL where it is absent or null; BAD_DATA for
 * another type. Texts are borrowed from the object. */
hl_status hl__import_number(const hl_importer *importer, const json_t *object, const char *key,
                            double *ret_value, hl_error *error);
hl_status hl__import_int(const hl_importer *importer, const json_t *object, const char *key,
                         int64_t *ret_value, hl_error *error);
hl_status hl__import_text(const hl_importer *importer, const json_t *object, const char *key,
                          const char **ret_text, hl_error *error);
/* A time in units of `unit_ns`, in ns: not negative, at most 10^18 ns. */
hl_status hl__import_duration(const hl_importer *importer, const json_t *object, const char *key,
                              double unit_ns, double *ret_ns, hl_error *error);

/* Times of `steps` steps each; free() ns. */
typedef struct hl_import_samples {
  double *ns;
  size_t count;
  uint32_t steps;
} hl_import_samples;
/* An array of times; none where it is absent or null, BAD_DATA for one with another element. */
hl_status hl__import_durations(const hl_importer *importer, const json_t *object, const char *key,
                               double unit_ns, hl_import_samples *ret_samples, hl_error *error);

/* -- rows (import-row.c) ---------------------------------------------------------------------- */

typedef struct hl_import_row {
  hl_record record;
  hl_import_samples samples; /* count 0: the record has what is known */
  int64_t batch_size;        /* HL_INT_NULL: unknown */
  const char *variant;       /* tells rows of one name apart; NULL: the name does */
  const json_t *own;         /* hotlap's own row, which the file carries; NULL: none */
} hl_import_row;
void hl__import_row_init(hl_import_row *row);
void hl__import_row_release(hl_import_row *row);

/* The benchmark's name as the row's model. */
void hl__import_row_name(hl_import_row *row, const char *name);
/* Summarises the samples, fills what all rows of the file share and moves the record to the
 * import. The row stays to be released. */
hl_status hl__import_row(hl_importer *importer, hl_import_row *row, hl_error *error);

/* Fields of the record from an object with the keys of metrics.def (import-own.c): BAD_DATA for a
 * wrong type or outcome; other keys are counted as lost. */
hl_status hl__import_own(hl_importer *importer, const json_t *object, hl_record *record,
                         hl_error *error);

/* Counts something that is not kept. */
void hl__import_lose(hl_importer *importer, const char *what, size_t count);
/* The machine from the words that name it; NULL ones are left out. */
void hl__import_machine(hl_importer *importer, const char *const *words, size_t count);
/* Text without control characters, at most HL_IMPORT_MAX_NAME bytes; free() it. */
char *hl__import_clean(const char *text);

/* "2026-11-28T09:25:54+00:00", "2016-08-02 17:44:46" or "2015/03/17-18:40:25" as UTC of
 * hl_clock_utc; false for another text. `ret_zoned`: it names its zone, else it is taken as UTC. */
bool hl__import_time(const char *text, char ret_utc[32], bool *ret_zoned);
/* The same from milliseconds since 1970. */
bool hl__import_time_ms(double ms, char ret_utc[32]);

/* -- formats ----------------------------------------------------------------------------------- */

hl_status hl__import_google_benchmark(hl_importer *importer, const json_t *root, hl_error *error);
hl_status hl__import_optimum(hl_importer *importer, const json_t *root, hl_error *error);
hl_status hl__import_hyperfine(hl_importer *importer, const json_t *root, hl_error *error);
hl_status hl__import_llama_bench(hl_importer *importer, const json_t *root, hl_error *error);
hl_status hl__import_asv(hl_importer *importer, const json_t *root, hl_error *error);
hl_status hl__import_measure(hl_importer *importer, const json_t *root, hl_error *error);

hl_status hl__import_bench594(hl_importer *importer, const json_t *root, hl_error *error);
/* Whether the first line of a text has its columns. */
bool hl__import_is_bench594(const char *data, size_t bytes);

/* A table of cells as an array: the names of its first line, then an object by those names for each
 * other line; cells stay text, empty ones are left out. json_decref() it. */
hl_status hl__import_csv(const hl_importer *importer, const char *data, size_t bytes,
                         json_t **ret_root, hl_error *error);

#endif
