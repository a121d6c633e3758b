/* report/memory-markdown.h - MEMORY_REPORT.md (inside src/report only). */
#ifndef HL_REPORT_MEMORY_MARKDOWN_H
#define HL_REPORT_MEMORY_MARKDOWN_H

#include "report/memory-report.h"

/* `pictures`: names of the pictures beside it, one a line; "" for none. */
void hl__markdown_memory(const hl_report_input *input, size_t layers, const char *pictures,
                         hl_text *out);

#endif
