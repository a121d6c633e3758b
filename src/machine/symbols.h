/*
 * machine/symbols.h - functions of a library that is opened at run time, by a table.
 *
 *     static const hl_symbol table[] = {
 *         {{"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, offsetof(api, count), true}};
 *     void *library = dlopen(...);
 *     const char *missing = hl_symbols_find(library, table, HL_COUNT(table), &functions);
 */
#ifndef HL_MACHINE_SYMBOLS_H
#define HL_MACHINE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hl_symbol {
  const char *names[2]; /* the second, if any, where the first is not there: an older version */
  size_t offset;        /* of the function pointer in the struct of functions */
  bool required;
} hl_symbol;

/* Fills `functions`; what is not there stays as it was. The first required name that is missing,
 * or NULL. */
const char *hl_symbols_find(void *library, const hl_symbol *table, size_t count, void *functions);

#endif
