/*
 * native/kernels/gelu.h - GELU of whole vectors; private.
 *
 *     y = hl_vgelu(v); // x/2 · (1 + erf(x / √2))
 *
 * With AVX-512: max(x, 0) - r(|x|) for r(a) = a/2 · erfc(a / √2), by a polynomial of degree 4 about
 * each of 31 places 2/11 apart (interpolated at Chebyshev's nodes in 40 digits), picked from
 * registers by its number; 0 beyond the last. Half the time of hl_gelu, whose quotient of
 * polynomials is what there is elsewhere. Error at most 1e-7 of the value or of 1; NaN stays.
 */
#ifndef HL_NATIVE_GELU_H
#define HL_NATIVE_GELU_H

#include "vector.h"

#if HL_VECTOR_BYTES == 64

#define HL_GELU_PLACES 5.5f /* to 1 */
#define HL_GELU_LAST 31     /* from here on r is 0 */

/* Of each place, by powers of the distance to it. */
/* clang-format off */
static const float hl_gelu_table[5][32] __attribute__((aligned(64), unused)) = {
    {0, 0x1.3ea41ap-4f, 0x1.0aa91ep-3f, 0x1.46fedp-3f, 0x1.5bd4dep-3f, 0x1.523386p-3f, 0x1.338caep-3f, 0x1.08b6cap-3f, 0x1.b24f7cp-4f, 0x1.55098ap-4f, 0x1.0110f6p-4f, 0x1.74bcf8p-5f, 0x1.04438ep-5f, 0x1.5e66f4p-6f, 0x1.c7259cp-7f, 0x1.1d59cap-7f, 0x1.598928p-8f, 0x1.94359ap-9f, 0x1.c8e924p-10f, 0x1.f32dfap-11f, 0x1.07964ep-11f, 0x1.0d1f8ep-12f, 0x1.09ad7ap-13f, 0x1.fb3aa2p-15f, 0x1.d43e04p-16f, 0x1.a20894p-17f, 0x1.68f364p-18f, 0x1.2d707ap-19f, 0x1.e6fb6ep-21f, 0x1.7c7cep-22f, 0x1.1f8eb8p-23f, 0},
    {0x1.745d18p-4f, 0x1.09820ap-4f, 0x1.4b1218p-5f, 0x1.395d5p-6f, 0x1.01b1fcp-9f, -0x1.5b1f24p-7f, -0x1.30fa22p-6f, -0x1.726252p-6f, -0x1.7f044ap-6f, -0x1.6638fep-6f, -0x1.36f288p-6f, -0x1.fbcbf6p-7f, -0x1.891daep-7f, -0x1.21fca4p-7f, -0x1.990718p-8f, -0x1.147262p-8f, -0x1.66ba3ep-9f, -0x1.bf736ap-10f, -0x1.0c8206p-10f, -0x1.365034p-11f, -0x1.598e24p-12f, -0x1.72f64p-13f, -0x1.801394p-14f, -0x1.7fa61ap-15f, -0x1.71d522p-16f, -0x1.5824b8p-17f, -0x1.35316p-18f, -0x1.0c4268p-19f, -0x1.c196acp-21f, -0x1.6becap-22f, -0x1.1c9812p-23f, 0},
    {-0x1.b02684p-7f, -0x1.a20a2cp-7f, -0x1.79c216p-7f, -0x1.3d03fep-7f, -0x1.e7fe8p-8f, -0x1.4f7dp-8f, -0x1.8215bep-9f, -0x1.245d98p-10f, 0x1.15c2f6p-12f, 0x1.3317d8p-10f, 0x1.b03d3p-10f, 0x1.d3e1ap-10f, 0x1.b9887ep-10f, 0x1.7b87b4p-10f, 0x1.2f589cp-10f, 0x1.c80f12p-11f, 0x1.44b0fap-11f, 0x1.b7e5ecp-12f, 0x1.1c727ap-12f, 0x1.5ff5d4p-13f, 0x1.a1684ap-14f, 0x1.db1acap-15f, 0x1.03c926p-15f, 0x1.1131c4p-16f, 0x1.14761p-17f, 0x1.0d5fcp-18f, 0x1.f9af12p-20f, 0x1.c96e14p-21f, 0x1.8ee96ep-22f, 0x1.4f7b6ap-23f, 0x1.1027f6p-24f, 0},
    {0x1.b297c2p-24f, 0x1.289c94p-12f, 0x1.133aa4p-11f, 0x1.6be7cap-11f, 0x1.95448p-11f, 0x1.8f427p-11f, 0x1.61d474p-11f, 0x1.1a3652p-11f, 0x1.8edca2p-12f, 0x1.dc32bp-13f, 0x1.97644cp-14f, 0x1.2ba98p-21f, -0x1.fe88aep-15f, -0x1.7f4d16p-14f, -0x1.9d76ep-14f, -0x1.7cc61p-14f, -0x1.3c1d62p-14f, -0x1.e4e168p-15f, -0x1.5c1ecap-15f, -0x1.d7b706p-16f, -0x1.2f315cp-16f, -0x1.731c56p-17f, -0x1.b1aceap-18f, -0x1.e4d144p-19f, -0x1.03a6fap-19f, -0x1.0acfb8p-20f, -0x1.07480ep-21f, -0x1.f3603ap-23f, -0x1.c77998p-24f, -0x1.8fc5c2p-25f, -0x1.51d254p-26f, 0},
    {0x1.2fbab8p-14f, 0x1.1a16f4p-14f, 0x1.b870b8p-15f, 0x1.0738b4p-15f, 0x1.0eda0ap-17f, -0x1.ba7a1p-17f, -0x1.e89bf2p-16f, -0x1.3f05f6p-15f, -0x1.4e98ecp-15f, -0x1.2e3c1ep-15f, -0x1.df0a9ep-16f, -0x1.4a0ceep-16f, -0x1.7850aap-17f, -0x1.242d12p-18f, 0x1.c7c42ep-22f, 0x1.aafb1p-19f, 0x1.21665cp-18f, 0x1.232648p-18f, 0x1.f76482p-19f, 0x1.88d10cp-19f, 0x1.1b1a06p-19f, 0x1.7dadf8p-20f, 0x1.e518fp-21f, 0x1.242004p-21f, 0x1.4ea382p-22f, 0x1.6d979ep-23f, 0x1.7db42cp-24f, 0x1.7d795ap-25f, 0x1.6d674ep-26f, 0x1.4fd1ecp-27f, 0x1.28608cp-28f, 0},
};
/* clang-format on */

HL_INLINE __m512 hl_gelu_pick(__m512i place, const float *row) {
  return _mm512_permutex2var_ps(_mm512_load_ps(row), place, _mm512_load_ps(row + 16));
}

HL_INLINE vfloat hl_vgelu(vfloat v) {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f); /* adding it rounds to an integer, in low bits */
  const __m512 places = _mm512_set1_ps(HL_GELU_PLACES);
  __m512 x = (__m512)v, far = _mm512_set1_ps(HL_GELU_LAST / HL_GELU_PLACES);
  __m512 a = _mm512_min_ps(far, _mm512_abs_ps(x)); /* this order keeps NaN */
  __m512 sum = _mm512_fmadd_ps(a, places, magic);
  __m512 from = _mm512_fmsub_ps(a, places, _mm512_sub_ps(sum, magic));
  __m512i place = _mm512_castps_si512(sum); /* of which the last five bits count */
  __m512 r = hl_gelu_pick(place, hl_gelu_table[4]);
  HL_UNROLLED
  for (int power = 3; power >= 0; power--)
    r = _mm512_fmadd_ps(r, from, hl_gelu_pick(place, hl_gelu_table[power]));
  return (vfloat)_mm512_sub_ps(_mm512_max_ps(_mm512_setzero_ps(), x), r);
}

#else

HL_INLINE vfloat hl_vgelu(vfloat v) {
  float lanes[HL_LANES];
  hl_vstore(lanes, v);
#pragma omp simd
  for (size_t i = 0; i < HL_LANES; i++) lanes[i] = hl_gelu(lanes[i]);
  return hl_vload(lanes);
}
#endif

#endif
