/* Made-up rows for the tests of src/report. */
#ifndef HL_TEST_SAMPLE_RECORDS_H
#define HL_TEST_SAMPLE_RECORDS_H

#include "report/report.h"

/* A run and its analysis; `input` points into the other members. */
typedef struct sample {
  hl_run_info info;
  hl_records records;
  hl_analysis analysis;
  hl_comparisons comparisons;
  hl_engines engines;
  hl_report_input input;
} sample;

void sample_init(sample *s);
/* A row that passed, with 200 samples; T(b) = 10 + 5 b ms. */
void sample_pass(sample *s, const char *engine, int64_t batch);
void sample_fail(sample *s, const char *engine, int64_t batch, const char *outcome,
                 const char *reason);
void sample_analyse(sample *s); /* after the last row */
void sample_release(sample *s);

#endif
