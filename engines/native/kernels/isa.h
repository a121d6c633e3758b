/*
 * native/kernels/isa.h - what the kernel sources share; private to this folder.
 *
 * The sources are compiled once per instruction set with HL_ISA and HL_VECTOR_BYTES defined and
 * other compiler flags. Loops over arrays are plain C that the compiler vectorises (`omp simd`
 * allows the reordering of sums); the matrix kernels use GNU vectors of the full width.
 */
#ifndef HL_NATIVE_ISA_H
#define HL_NATIVE_ISA_H

#include <stdint.h>
#include <string.h>

#include "kernels.h"

#define HL_CAT_(a, b) a##_##b
#define HL_CAT(a, b) HL_CAT_(a, b)
#define HL_FN(name) HL_CAT(hl_##name, HL_ISA) /* hl_softmax_avx2 */

#define HL_INLINE static inline __attribute__((always_inline, unused))

enum { HL_LANES = HL_VECTOR_BYTES / sizeof(float) };

typedef float vfloat __attribute__((vector_size(HL_VECTOR_BYTES), may_alias));
typedef float vfloat_unaligned
    __attribute__((vector_size(HL_VECTOR_BYTES), may_alias, aligned(sizeof(float))));

/* Thread `thread`'s part [first, end) of `count` units, contiguous and even. */
typedef struct hl_share {
  size_t first, end;
} hl_share;

HL_INLINE hl_share hl_share_of(size_t count, unsigned thread, unsigned threads) {
  size_t each = count / threads, more = count % threads;
  size_t first = thread * each + (thread < more ? thread : more);
  return (hl_share){first, first + each + (thread < more)};
}

HL_INLINE size_t hl_min(size_t a, size_t b) {
  return a < b ? a : b;
}

HL_INLINE size_t hl_ceil_div(size_t a, size_t b) {
  return (a + b - 1) / b;
}

#define X(name) void HL_FN(name)(const hl_##name##_args *args, unsigned thread, unsigned threads);
HL_KERNELS_MAP(X)
#undef X

#endif
