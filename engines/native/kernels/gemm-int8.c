/* Products of fours of 8-bit numbers (vpdpbusd). */
#define HL_ISA avx512vnni
#define HL_VECTOR_BYTES 64
#include "gemm-int8.h"

#if defined(__AVX512VNNI__)
#include "vector.h"

typedef __m512i hl_sum;
#define HL_DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#include "gemm-units.h"

HL_INLINE vfloat load_bytes(const uint8_t *x) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
  return (vfloat)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

HL_INLINE void store(const hl_gemm_int8_args *a, size_t at, vfloat v, int to) {
  if (to == HL_GEMM_TO_FLOAT) {
    hl_vstore((float *)a->y + at, v);
    return;
  }
  float low = to == HL_GEMM_TO_UINT8 ? 0 : -128, high = low + 255;
  __m512 scaled = (__m512)(v * a->y_inverse + a->y_zero);
  /* This order makes NaN the lowest. */
  scaled = _mm512_min_ps(_mm512_max_ps(scaled, _mm512_set1_ps(low)), _mm512_set1_ps(high));
  __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(scaled));
  _mm_storeu_si128((__m128i *)(void *)((uint8_t *)a->y + at), bytes);
}

/* What is constant where it is called is decided there, not for each vector. */
HL_INLINE void finish_as(const hl_gemm_int8_args *args, const hl_sum *sums, size_t row, size_t rows,
                         size_t column, bool leaky, int to, bool residual) {
  const hl_gemm_int8_args a = *args; /* a copy that y cannot alias */
  size_t width = width_of(a.n);
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < width; i += HL_LANES, sums++) {
      size_t at = (row + r) * a.n + column + i;
      vfloat v = (vfloat)_mm512_cvtepi32_ps(*sums) * hl_vload(a.scale + column + i) +
                 hl_vload(a.bias + column + i);
      if (residual) v += (load_bytes(a.residual + at) - a.residual_zero) * a.residual_scale;
      store(&a, at, hl_gemm_apply(leaky ? HL_GEMM_LEAKY : a.function, a.slope, v), to);
    }
}

static void finish(const void *args, const hl_sum *sums, size_t row, size_t rows, size_t column) {
  const hl_gemm_int8_args *a = args;
  if (a->function != HL_GEMM_LEAKY || a->to != HL_GEMM_TO_UINT8)
    finish_as(a, sums, row, rows, column, false, (int)a->to, a->residual != NULL);
  else if (a->residual)
    finish_as(a, sums, row, rows, column, true, HL_GEMM_TO_UINT8, true);
  else
    finish_as(a, sums, row, rows, column, true, HL_GEMM_TO_UINT8, false);
}

static void body(void *context, unsigned thread, unsigned threads) {
  share(context, thread, threads);
}

void hl_gemm_int8(const hl_gemm_int8_args *a, unsigned threads) {
  product p = {.x = a->x,
               .w = a->w,
               .m = a->m,
               .n = a->n,
               .width = width_of(a->n),
               .units = a->rows.k / 4,
               .rows = a->rows,
               .finish = finish,
               .args = a};
  if (a->m > 0) hl_kernels_parallel(body, &p, threads);
}

size_t hl_gemm_int8_width(const hl_gemm_rows *rows, size_t n) {
  bool can = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool whole = rows->k > 0 && rows->k % 4 == 0 && rows->taps > 0 && rows->taps <= HL_GEMM_TAPS;
  return can && whole ? width_of(n) : 0;
}

#else

void hl_gemm_int8(const hl_gemm_int8_args *args, unsigned threads) {
  (void)args, (void)threads;
}

size_t hl_gemm_int8_width(const hl_gemm_rows *rows, size_t n) {
  (void)rows, (void)n;
  return 0;
}
#endif
