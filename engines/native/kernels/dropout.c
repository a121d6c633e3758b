/* Dropout by a counter-based generator: which elements are dropped is found again, not stored. */
#include <math.h>

#include "isa.h"

enum { COUNTERS = 64, FOUR = 4 };

/* Philox4x32-10 (Salmon et al. 2011) of the counters (block + i, step). */
static void philox(uint64_t block, uint64_t step, uint64_t seed, uint32_t words[FOUR][COUNTERS]) {
  uint32_t *x0 = words[0], *x1 = words[1], *x2 = words[2], *x3 = words[3];
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  for (size_t i = 0; i < COUNTERS; i++) {
    x0[i] = (uint32_t)(block + i);
    x1[i] = (uint32_t)((block + i) >> 32);
    x2[i] = (uint32_t)step;
    x3[i] = (uint32_t)(step >> 32);
  }
  for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u)
#pragma omp simd
    for (size_t i = 0; i < COUNTERS; i++) {
      uint64_t a = (uint64_t)x0[i] * 0xD2511F53u, b = (uint64_t)x2[i] * 0xCD9E8D57u;
      uint32_t y0 = (uint32_t)(b >> 32) ^ x1[i] ^ key0, y2 = (uint32_t)(a >> 32) ^ x3[i] ^ key1;
      x1[i] = (uint32_t)b;
      x3[i] = (uint32_t)a;
      x0[i] = y0;
      x2[i] = y2;
    }
}

void HL_FN(dropout)(const hl_dropout_args *a, unsigned thread, unsigned threads) {
  enum { UNIT = COUNTERS * FOUR };
  /* word · 2^-32 >= ratio, in integers */
  double least = ceil(a->ratio * 0x1p32), rest = 1 - a->ratio;
  uint64_t threshold = least <= 0 ? 0 : least >= 0x1p32 ? (uint64_t)1 << 32 : (uint64_t)least;
  hl_share share = hl_share_of(hl_ceil_div(a->n, UNIT), thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    uint32_t words[FOUR][COUNTERS];
    size_t first = unit * UNIT, count = hl_min(UNIT, a->n - first);
    philox((uint64_t)unit * COUNTERS, a->step, a->seed, words);
    for (size_t i = 0; i < count; i++) {
      float x = a->x[first + i];
      a->y[first + i] = words[i % FOUR][i / FOUR] >= threshold ? (float)((double)x / rest) : 0;
    }
  }
}
