/* A row times a matrix: each weight is used once, so what counts is how fast memory gives them. */
#include "vector.h"

enum {
  VECTORS = HL_MATVEC_PANEL / HL_LANES,
  /* Independent sums, so that a product need not wait for the one before. */
  DEPTH = VECTORS >= 16 ? 1 : 16 / VECTORS,
  AHEAD_FLOATS = 4096, /* the hardware's prefetcher stops at the end of each page */
};

HL_INLINE void ask_for(const float *w) {
#if defined(__SSE2__)
  for (size_t i = 0; i < (size_t)DEPTH * HL_MATVEC_PANEL; i += 16)
    _mm_prefetch((const char *)(w + AHEAD_FLOATS + i), _MM_HINT_T0);
#else
  (void)w;
#endif
}

static void panel(const hl_matvec_args *a, size_t p) {
  const float *w = a->w + p * HL_MATVEC_PANEL * a->k;
  vfloat sum[DEPTH][VECTORS];
  for (size_t d = 0; d < DEPTH; d++)
    for (size_t j = 0; j < VECTORS; j++) sum[d][j] = (vfloat){0};
  size_t k = 0;
  for (; k + DEPTH <= a->k; k += DEPTH, w += DEPTH * HL_MATVEC_PANEL) {
    ask_for(w);
    for (size_t d = 0; d < DEPTH; d++)
      for (size_t j = 0; j < VECTORS; j++)
        sum[d][j] += a->x[k + d] * hl_vload(w + d * HL_MATVEC_PANEL + j * HL_LANES);
  }
  for (; k < a->k; k++, w += HL_MATVEC_PANEL)
    for (size_t j = 0; j < VECTORS; j++) sum[0][j] += a->x[k] * hl_vload(w + j * HL_LANES);
  for (size_t j = 0; j < VECTORS; j++) {
    for (size_t d = 1; d < DEPTH; d++) sum[0][j] += sum[d][j];
    size_t at = p * HL_MATVEC_PANEL + j * HL_LANES;
    vfloat v = sum[0][j];
    if (a->bias) v += hl_vload(a->bias + at);
    hl_vstore(a->y + at, hl_vleaky(v, a->slope));
  }
}

void HL_FN(matvec)(const hl_matvec_args *args, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(args->n / HL_MATVEC_PANEL, thread, threads);
  for (size_t p = share.first; p < share.end; p++) panel(args, p);
}
