/* report/memory-report.h - parts of what rows of `hotlap memory` say (inside src/report only). */
#ifndef HL_REPORT_MEMORY_REPORT_H
#define HL_REPORT_MEMORY_REPORT_H

#include "analyse/memory.h"
#include "report/number.h"
#include "report/report.h"
#include <stdint.h>

/* True where a row is of memory. */
bool hl__memory_is_told(const hl_records *records);

/* "mlp, native, float32, 2 threads, batch 8, training". */
void hl__memory_name(const hl_record *r, hl_text *out);

/* Of each model and mode the row with a map that has the largest batch: what is shown by layer and
 * as a picture. Indices of rows; free() them; NULL without memory. */
size_t *hl__memory_largest(const hl_records *records, size_t *ret_count);

/* "mlp", and after it what differs among rows of memory: ", native", ", bfloat16". */
void hl__memory_subject(const hl_records *records, const hl_record *r, bool family, hl_text *out);

/* Sentences about growth and overhead, with the numbers that decide; without a line end. */
void hl__memory_growth_sentence(const hl_records *records, const hl_memory_growth *growth,
                                bool of_batch, hl_text *out);
void hl__memory_pair_sentence(const hl_records *records, const hl_memory_pair *pair, hl_text *out);

/* The kinds of memory in the order of tables, with short titles and as they are called. */
extern const char *const hl__memory_titles[HL_MEMORY_KINDS];
extern const char *const hl__memory_names[HL_MEMORY_KINDS];

/* Bytes as MB (10^6 bytes), as hl_report_number writes it, but never with an exponent. */
const char *hl__memory_mb(uint64_t bytes, char ret_text[HL_NUMBER_BYTES]);

#endif
