/* Products of fours of 8-bit numbers (vpdpbusd). */
#define HL_ISA avx512vnni
#define HL_VECTOR_BYTES 64
#include "gemm-int8.h"

#if defined(__AVX512VNNI__)
#include "vector.h"

typedef vint hl_sum;
#define HL_DOT(sum, a, b) dot(sum, a, b)

/* As _mm512_dpbusd_epi32, whose change of types makes gcc keep sums in memory. */
HL_INLINE hl_sum dot(hl_sum sum, __m512i a, __m512i b) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

#include "gemm-units.h"

HL_INLINE vfloat load_bytes(const uint8_t *x) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
  return (vfloat)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

HL_INLINE vfloat add_residual(const hl_gemm_int8_args *a, vfloat v, size_t at) {
  __m512 cut = _mm512_max_ps((__m512)v, _mm512_set1_ps(a->least));
  cut = _mm512_min_ps(cut, _mm512_set1_ps(a->most));
  return (vfloat)cut + load_bytes(a->residual + at) * a->residual_scale;
}

/* Rounded to nearest, ties to even, between 0 and 255; NaN becomes `low`. */
HL_INLINE void store_bytes(uint8_t *y, vfloat v, __m512 low) {
  __m512i whole = _mm512_cvtps_epi32(_mm512_max_ps((__m512)v, low)); /* too large: 2^31 */
  _mm_storeu_si128((__m128i *)(void *)y, _mm512_cvtusepi32_epi8(whole));
}

HL_INLINE void ask_for_ends(const tile *t, size_t rows) {
  const hl_gemm_int8_args *a = t->args;
  for (size_t i = 0; i < rows; i++) {
    size_t at = (t->row + i) * a->of.n + t->column;
    if (a->y) __builtin_prefetch(a->y + at, 1, 3);
    if (a->residual) __builtin_prefetch(a->residual + at, 0, 3);
  }
}

HL_INLINE void store_tile(const tile *t, size_t rows, hl_sum sum[ROWS][VECTORS], int end) {
  const hl_gemm_int8_args a = *(const hl_gemm_int8_args *)t->args; /* y cannot alias a copy */
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) {
    size_t column = t->column + j * HL_LANES, at = (t->row + i) * a.of.n + column;
    vfloat v = (vfloat)_mm512_cvtepi32_ps((__m512i)sum[i][j]) * hl_vload(a.scale + column) +
               hl_vload(a.bias + column);
    if (end == HL_END_RESIDUAL) v = add_residual(&a, v, at);
    store_bytes(a.y + at, v, _mm512_set1_ps(a.low));
  }
}

static void finish_rows(const tile *t, size_t rows, const hl_sum *sums) {
  const hl_gemm_int8_args a = *(const hl_gemm_int8_args *)t->args;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < VECTORS; j++) {
      size_t column = t->column + j * HL_LANES, at = (t->row + i) * a.of.n + column;
      vfloat v =
          (vfloat)_mm512_cvtepi32_ps((__m512i)sums[i * VECTORS + j]) * hl_vload(a.scale + column) +
          hl_vload(a.bias + column);
      if (a.residual) v = add_residual(&a, v, at);
      v = hl_gemm_apply(a.of.function, a.of.slope, v);
      if (a.y)
        store_bytes(a.y + at, v * a.y_inverse + a.y_zero, _mm512_setzero_ps());
      else
        hl_vstore(a.y_float + at, v);
    }
}

void hl_gemm_int8(const hl_gemm_int8_args *a, unsigned threads) {
  product p = {.x = (const void *)a->x,
               .w = (const void *)a->w,
               .m = a->of.m,
               .n = a->of.n,
               .units = a->of.k / 4,
               .args = a,
               .end = !a->y || a->y_inverse != 0 ? HL_END_IN_MEMORY
                      : a->residual              ? HL_END_RESIDUAL
                                                 : HL_END_AT_ONCE};
  if (a->of.m > 0 && a->of.n > 0) hl_kernels_parallel(share, &p, threads);
}

bool hl_gemm_int8_suits(size_t k, size_t n) {
  return k > 0 && k % 4 == 0 && n > 0 && n % PANEL == 0 && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#else

void hl_gemm_int8(const hl_gemm_int8_args *args, unsigned threads) {
  (void)args, (void)threads;
}

bool hl_gemm_int8_suits(size_t k, size_t n) {
  (void)k, (void)n;
  return false;
}
#endif
