/*
 * base/pages.h - memory for large tables that are walked through again and again.
 *
 *     float *table = hl_pages_new(bytes);
 *     free(table);
 *
 * Huge pages where the system has them to give: with small ones, a walk that follows much other
 * work finds none of its addresses translated.
 */
#ifndef HL_BASE_PAGES_H
#define HL_BASE_PAGES_H

#include <stddef.h>

/* `bytes` of zeros, 64 bytes aligned, to be freed with free(); NULL without memory. */
void *hl_pages_new(size_t bytes);

#endif
