#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { huge = 2 << 20, line = 64 };

void *hl_pages_new(size_t bytes) {
  if (bytes > SIZE_MAX - huge) return NULL;
  size_t unit = bytes < huge ? line : huge, rounded = (bytes + unit - 1) / unit * unit;
  void *memory = aligned_alloc(unit, rounded ? rounded : unit);
  if (!memory) return NULL;
  if (unit == huge) (void)madvise(memory, rounded, MADV_HUGEPAGE);
  memset(memory, 0, rounded);
  return memory;
}
