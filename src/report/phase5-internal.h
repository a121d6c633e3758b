/* report/phase5-internal.h - what the files of phase 5 share (inside src/report only). */
#ifndef HL_REPORT_PHASE5_INTERNAL_H
#define HL_REPORT_PHASE5_INTERNAL_H

#include "base/json-writer.h"
#include "report/phase5.h"

enum { HL__PHASE5_ROWS = 32, HL__PHASE5_OPTIMIZATIONS = 11 };

/* What the document expects of an optimisation. */
typedef struct hl__phase5_optimization {
  const char *name;     /* of --optimize */
  const char *expected; /* the document's: "1.05-1.1x"; NULL: it has none of it */
  const char *what;     /* the document's name for it, or ours */
} hl__phase5_optimization;
extern const hl__phase5_optimization hl__phase5_optimizations[HL__PHASE5_OPTIMIZATIONS];

/* Rows of one configuration that passed: repetitions, in the order of the plan. */
typedef struct hl__phase5_side {
  const hl_record *rows[HL__PHASE5_ROWS];
  size_t count;
  const hl_record *failed; /* one that did not pass, or NULL */
} hl__phase5_side;

/* Of the entries `entry`, `entry`-1, `entry`-2 ..., with these optimisations as rows say them. */
void hl__phase5_select(const hl_records *records, const char *entry, const char *optimizations,
                       hl__phase5_side *ret_side);

/* A metric of a row; NaN where it is null. The median over a side's rows; NaN where none has it. */
double hl__phase5_value(const hl_record *record, const char *key);
double hl__phase5_median(const hl__phase5_side *side, const char *key);
double hl__phase5_largest(const hl__phase5_side *side, const char *key);
/* The mean of 2 values or more; its 95 % interval by Student is so wide on either side. */
double hl__phase5_mean(const double *values, size_t n, double *ret_half);
/* Samples of a pass; NaN where not known. */
double hl__phase5_samples(const hl_record *record);

/* How much faster b is than a. */
typedef struct hl__phase5_ratio {
  double value;     /* NaN: not known */
  double low, high; /* of its interval at 95 %; NaN: none */
  int64_t pairs;    /* interleaved ones; 0: it is the quotient of two medians */
} hl__phase5_ratio;
hl__phase5_ratio hl__phase5_compare(const hl_report_input *input, const hl_record *a,
                                    const hl_record *b);
/* Of the sides' repetitions, in the order of the plan. Where their pairs of passes are 6 or more
 * together, the Hodges-Lehmann estimate of all of them with its interval; else the repetitions'
 * median, and the interval that holds all of theirs. `ret_each` has HL__PHASE5_ROWS places. */
hl__phase5_ratio hl__phase5_compare_sides(const hl_report_input *input, const hl__phase5_side *a,
                                          const hl__phase5_side *b, hl__phase5_ratio *ret_each,
                                          size_t *ret_count);

/* Members of the open object: value, its ends and pairs. */
void hl__phase5_json_ratio(hl_json *json, const char *key, const hl__phase5_ratio *ratio);
/* What stands behind a row: "3 passes of each row in turns, of 10 samples: ...", and an
 * empty line. */
void hl__phase5_passes_text(const hl_record *record, hl_text *out);
/* "3.21x [3.10, 3.33]", "3.21x (no interval)" or "-". */
void hl__phase5_ratio_text(const hl__phase5_ratio *ratio, hl_text *out);

/* One item of the document's checklist. */
typedef struct hl__phase5_item {
  const char *name, *requirement;
  double value, low, high; /* NaN: not known, no interval */
  const char *unit;
  int passed;         /* 1, 0, or -1: not known */
  char sentence[400]; /* why, or what the number is of; "" if nothing is to be said */
} hl__phase5_item;
enum { HL__PHASE5_ITEMS = 12 };
size_t hl__phase5_check(const hl_report_input *input, hl__phase5_item items[HL__PHASE5_ITEMS]);

/* Replaces a file and tells its path. */
hl_status hl__phase5_put(const char *directory, const char *name, const hl_text *content,
                         hl_text *ret_written, hl_error *error);

/* Each writes a whole document. */
void hl__phase5_json_head(const hl_report_input *input, const char *report, hl_json *json);
void hl__phase5_text_head(const hl_report_input *input, const char *title, hl_text *out);
void hl__phase5_performance_json(const hl_report_input *input, const char *optimizations,
                                 hl_text *out);
void hl__phase5_performance_text(const hl_report_input *input, const char *optimizations,
                                 hl_text *out);
void hl__phase5_comparison_json(const hl_report_input *input, hl_text *out);
void hl__phase5_comparison_text(const hl_report_input *input, hl_text *out);
void hl__phase5_checklist_json(const hl_report_input *input, hl_text *out);
void hl__phase5_checklist_text(const hl_report_input *input, hl_text *out);
void hl__phase5_ablation_json(const hl_report_input *input, hl_text *out);
void hl__phase5_ablation_text(const hl_report_input *input, hl_text *out);
void hl__phase5_fft_cache_json(const hl_report_input *input, hl_text *out);
void hl__phase5_fft_cache_text(const hl_report_input *input, hl_text *out);
void hl__phase5_measurement_cache_json(const hl_report_input *input, hl_text *out);
void hl__phase5_measurement_cache_text(const hl_report_input *input, hl_text *out);

#endif
