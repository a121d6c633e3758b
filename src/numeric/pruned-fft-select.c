/* Which build this processor can run. GNU's cpu_supports also asks the system (XGETBV). */
#include "numeric/pruned-fft-internal.h"

#include <string.h>

extern const hl__pruned_kernels hl__pruned_kernels_baseline;
#if defined(__x86_64__)
extern const hl__pruned_kernels hl__pruned_kernels_avx2, hl__pruned_kernels_avx512;
#endif

const hl__pruned_kernels *hl__pruned_kernels_by_name(const char *isa) {
  if (strcmp(isa, "baseline") == 0) return &hl__pruned_kernels_baseline;
#if defined(__x86_64__)
  if (strcmp(isa, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &hl__pruned_kernels_avx2;
  if (strcmp(isa, "avx512") == 0 && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return &hl__pruned_kernels_avx512;
#endif
  return NULL;
}

const hl__pruned_kernels *hl__pruned_kernels_select(void) {
  static const char *const names[] = {"avx512", "avx2"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const hl__pruned_kernels *kernels = hl__pruned_kernels_by_name(names[i]);
    if (kernels) return kernels;
  }
  return &hl__pruned_kernels_baseline;
}
