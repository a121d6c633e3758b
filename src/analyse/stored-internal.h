/* analyse/stored-internal.h - the steps of a comparison of stored runs. */
#ifndef HL_ANALYSE_STORED_INTERNAL_H
#define HL_ANALYSE_STORED_INTERNAL_H

#include "analyse/stored.h"

#include "base/text.h"
#include "statistics/series.h"
#include "statistics/unpaired.h"

/* What a row measures, as texts that are the same where the work is. */
enum { HL__STORED_KEYS = 13 };

typedef struct hl__stored_key {
  const char *name;
  bool is_work; /* where it differs a ratio says nothing about speed */
} hl__stored_key;
extern const hl__stored_key hl__stored_keys[HL__STORED_KEYS];

typedef struct hl__stored_row {
  size_t row; /* of the run's records */
  const hl_record *record;
  char *values[HL__STORED_KEYS]; /* NULL: not known, which differs from nothing */
  bool taken;
} hl__stored_row;

typedef struct hl__stored_rows {
  hl__stored_row *items;
  size_t count;
} hl__stored_rows;

hl_status hl__stored_rows_make(const hl_stored_run *run, hl__stored_rows *ret_rows,
                               hl_error *error);
void hl__stored_rows_release(hl__stored_rows *rows);

/* Appends "seed (42, 7)", after a comma where `out` has text. */
void hl__stored_differ(hl_text *out, const char *name, const char *a, const char *b);

/* The keys in which no row of A is like one of B. */
typedef struct hl__stored_differences {
  bool apart[HL__STORED_KEYS];
  bool common[HL__STORED_KEYS]; /* and each side has one value: what is compared */
  char *compared;               /* "engine (native, openvino)" of `common`; "" if none */
  char *work;                   /* of `apart`, those of the work; "" if none */
} hl__stored_differences;

hl_status hl__stored_differences_make(const hl__stored_rows *a, const hl__stored_rows *b,
                                      hl__stored_differences *ret_differences, hl_error *error);
void hl__stored_differences_release(hl__stored_differences *differences);

/* Whether two rows are alike in all keys but those that are `ignored`. */
bool hl__stored_alike(const hl__stored_row *a, const hl__stored_row *b,
                      const bool ignored[HL__STORED_KEYS]);

/* The values of a row that are compared. */
typedef struct hl__stored_values {
  double logs[HL_BATCHES]; /* of nanoseconds a step */
  size_t count;            /* 0: there are no steps, or their order is lost */
  double autocorrelation;  /* lag 1, of `logs` */
  bool joined, dependent; /* batches were joined; their medians depend on each other all the same */
  double estimate_log, deviation_log; /* of the row's own median and its interval; NaN: unknown */
} hl__stored_values;

hl_status hl__stored_values_make(const hl_record *record, hl__stored_values *ret_values,
                                 hl_error *error);

/* B against A at this level; `shift` is added to the logarithms of A. Interval and p are those of
 * so many independent values as the autocorrelated ones are worth. Everything NaN where neither
 * steps nor intervals allow an estimate. */
hl_status hl__stored_estimate(const hl__stored_values *a, const hl__stored_values *b, double shift,
                              double level, hl_unpaired *ret_estimate, hl_error *error);

/* Whether the row's clock was simulated, so that its times were not measured. */
bool hl__stored_is_simulated(const hl_record *record);

/* Whether steps came back from a histogram, in ascending order. */
bool hl__stored_order_is_lost(const hl_record *record);

/* Fills the percentiles' ratios of a comparison and says in its notes what is missing. */
hl_status hl__stored_tails(const hl_record *a, const hl_record *b, double shift, uint64_t seed,
                           hl_comparison *comparison, hl_error *error);

/* Everything of one comparison of runs. */
typedef struct hl__stored_comparing {
  const hl_stored_run *run[2];
  const hl_stored_options *options;
  hl__stored_rows rows[2];
  hl__stored_differences differences;
  hl_stored found;
  hl_text notes;
} hl__stored_comparing;

/* The record of A (side 0) or B of a pair. */
static inline const hl_record *hl__stored_record(const hl__stored_comparing *c, size_t side,
                                                 size_t pair) {
  const hl_stored_pair *p = &c->found.pairs[pair];
  return &c->run[side]->records->items[side ? p->b : p->a];
}

static inline const char *hl__stored_or_unknown(const char *text) {
  return text ? text : "unknown";
}

/* Fills the comparisons of all pairs. */
hl_status hl__stored_judge(hl__stored_comparing *c, hl_error *error);

/* Adds to the notes of one comparison, or of all (once). */
void hl__stored_note(hl_comparison *comparison, const char *format, ...) HL_PRINTF(2, 3);
void hl__stored_note_all(hl__stored_comparing *c, const char *format, ...) HL_PRINTF(2, 3);
/* What the runs differ in that is no reason not to compare them. */
void hl__stored_note_runs(hl__stored_comparing *c);

#endif
