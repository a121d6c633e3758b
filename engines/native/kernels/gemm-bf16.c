/* Products of pairs of bfloat16 (vdpbf16ps). */
#define HL_ISA avx512bf16
#define HL_VECTOR_BYTES 64
#include "gemm-bf16.h"

#if defined(__AVX512BF16__)
#include "bfloat16.h"

typedef __m512 hl_sum;
#define HL_DOT(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#include "gemm-units.h"

/* What is constant where it is called is decided there, not for each vector. */
HL_INLINE void finish_as(const hl_gemm_bf16_args *args, const hl_sum *sums, size_t row, size_t rows,
                         size_t column, bool leaky, bool halves, bool residual) {
  const hl_gemm_bf16_args a = *args; /* a copy that y cannot alias */
  size_t width = width_of(a.n);
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < width; i += HL_LANES, sums++) {
      size_t at = (row + r) * a.n + column + i;
      vfloat v = (vfloat)*sums;
      if (a.bias) v += hl_vload(a.bias + column + i);
      if (residual) v += hl_load_bf16(a.residual + at);
      v = hl_gemm_apply(leaky ? HL_GEMM_LEAKY : a.function, a.slope, v);
      if (halves)
        _mm256_storeu_si256((__m256i *)(void *)(a.y + at), (__m256i)_mm512_cvtneps_pbh((__m512)v));
      else
        hl_vstore(a.y_float + at, v);
    }
}

static void finish(const void *args, const hl_sum *sums, size_t row, size_t rows, size_t column) {
  const hl_gemm_bf16_args *a = args;
  if (a->function != HL_GEMM_LEAKY || !a->y)
    finish_as(a, sums, row, rows, column, false, a->y != NULL, a->residual != NULL);
  else if (a->residual)
    finish_as(a, sums, row, rows, column, true, true, true);
  else
    finish_as(a, sums, row, rows, column, true, true, false);
}

static void body(void *context, unsigned thread, unsigned threads) {
  share(context, thread, threads);
}

void hl_gemm_bf16(const hl_gemm_bf16_args *a, unsigned threads) {
  product p = {.x = a->x,
               .w = a->w,
               .m = a->m,
               .n = a->n,
               .width = width_of(a->n),
               .units = a->rows.k / 2,
               .rows = a->rows,
               .finish = finish,
               .args = a};
  if (a->m > 0) hl_kernels_parallel(body, &p, threads);
}

size_t hl_gemm_bf16_width(const hl_gemm_rows *rows, size_t n) {
  bool can = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool whole = rows->k > 0 && rows->k % 2 == 0 && rows->taps > 0 && rows->taps <= HL_GEMM_TAPS;
  return can && whole ? width_of(n) : 0;
}

#else

void hl_gemm_bf16(const hl_gemm_bf16_args *args, unsigned threads) {
  (void)args, (void)threads;
}

size_t hl_gemm_bf16_width(const hl_gemm_rows *rows, size_t n) {
  (void)rows, (void)n;
  return 0;
}
#endif
