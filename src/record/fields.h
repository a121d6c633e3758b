/*
 * record/fields.h - structs whose fields are listed in a table: everything null, freed, written.
 *
 * metrics.def describes hl_record, comparisons.def describes hl_comparison; a row of such a table
 * is an hl_metric. An unknown value is null: NULL, HL_INT_NULL, NaN, -1.
 */
#ifndef HL_RECORD_FIELDS_H
#define HL_RECORD_FIELDS_H

#include "base/error.h"
#include "base/json-writer.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define HL_INT_NULL INT64_MIN

typedef struct hl_pair {
  double low, high;
} hl_pair;

#define HL_FIELD_TEXT char *
#define HL_FIELD_INT int64_t
#define HL_FIELD_REAL double
#define HL_FIELD_BOOL int8_t
#define HL_FIELD_PAIR hl_pair

typedef enum hl_metric_kind {
  HL_METRIC_TEXT,
  HL_METRIC_INT,
  HL_METRIC_REAL,
  HL_METRIC_BOOL,
  HL_METRIC_PAIR
} hl_metric_kind;
typedef enum hl_metric_better {
  HL_BETTER_NEITHER,
  HL_BETTER_HIGHER,
  HL_BETTER_LOWER
} hl_metric_better;

/* A row of a table of fields; `offset` is that of the field in its struct. */
typedef struct hl_metric {
  hl_metric_kind kind;
  const char *key, *unit;
  hl_metric_better better;
  const char *title, *doc;
  size_t offset;
} hl_metric;

/* An interval as a list of two, null where an end is not known. */
void hl_json_pair(hl_json *json, const char *key, hl_pair pair);

/* Below, `fields` is the struct that the table describes. */

void hl_fields_init(void *fields, const hl_metric *table, size_t count);    /* all null */
void hl_fields_release(void *fields, const hl_metric *table, size_t count); /* frees the texts */
/* Each field of `from` to `to`, whose texts are freed before; a text without memory is NULL. */
void hl_fields_copy(const void *from, void *to, const hl_metric *table, size_t count);
bool hl_field_is_null(const void *fields, const hl_metric *metric);
/* Writes all as members of the object that is open in `json`; null `notes` as "". */
void hl_fields_write_json(const void *fields, const hl_metric *table, size_t count, hl_json *json);
/* Adds a sentence to the text `notes`, separated by "; "; as it was without memory. */
void hl_fields_note(char **notes, const char *format, va_list arguments);
/* As the text of a CSV cell before quoting; empty for null. */
void hl_field_text(const void *fields, const hl_metric *metric, hl_text *out);

#endif
