#include "machine/symbols.h"

#include <dlfcn.h>
#include <string.h>

const char *hl_symbols_find(void *library, const hl_symbol *table, size_t count, void *functions) {
  for (size_t i = 0; i < count; i++) {
    void *symbol = dlsym(library, table[i].names[0]);
    if (!symbol && table[i].names[1]) symbol = dlsym(library, table[i].names[1]);
    /* ISO C has no cast from an object pointer to a function pointer; the bytes are the same. */
    if (symbol)
      memcpy((char *)functions + table[i].offset, &symbol, sizeof symbol);
    else if (table[i].required)
      return table[i].names[0];
  }
  return NULL;
}
