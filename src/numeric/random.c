#include "numeric/random.h"

#include "base/hash.h"
#include <math.h>

void hl_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  ret_words[0] = c0;
  ret_words[1] = c1;
  ret_words[2] = c2;
  ret_words[3] = c3;
}

void hl_random_init(hl_random *random, uint64_t seed, uint64_t stream) {
  *random = (hl_random){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                        .counter = {0, 0, (uint32_t)stream, (uint32_t)(stream >> 32)},
                        .used = 4};
}

uint32_t hl_random_u32(hl_random *random) {
  if (random->used == 4) {
    hl_philox4x32(random->counter, random->key, random->words);
    if (++random->counter[0] == 0) random->counter[1]++;
    random->used = 0;
  }
  return random->words[random->used++];
}

uint64_t hl_random_u64(hl_random *random) {
  uint64_t low = hl_random_u32(random);
  return low | (uint64_t)hl_random_u32(random) << 32;
}

double hl_random_uniform(hl_random *random) {
  return ((double)(hl_random_u64(random) >> 11) + 0.5) * 0x1p-53;
}

double hl_random_normal(hl_random *random) {
  if (random->has_spare) {
    random->has_spare = 0;
    return random->spare;
  }
  double radius = sqrt(-2 * log(hl_random_uniform(random)));
  double angle = 6.283185307179586477 * hl_random_uniform(random);
  random->spare = radius * sin(angle);
  random->has_spare = 1;
  return radius * cos(angle);
}

uint64_t hl_random_below(hl_random *random, uint64_t limit) {
  if (limit < 2) return 0;
  uint64_t reject = (0 - limit) % limit, value; /* 2^64 mod limit */
  do value = hl_random_u64(random);
  while (value < reject);
  return value % limit;
}

static double poisson_inversion(hl_random *random, double lambda) {
  double limit = exp(-lambda), product = hl_random_uniform(random);
  double count = 0;
  while (product > limit) {
    product *= hl_random_uniform(random);
    count++;
  }
  return count;
}

double hl_random_poisson(hl_random *random, double lambda) {
  if (!(lambda > 0)) return 0;
  if (lambda < 30) return poisson_inversion(random, lambda);
  double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = hl_random_uniform(random) - 0.5, v = hl_random_uniform(random);
    double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + lambda + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
        -lambda + k * log(lambda) - lgamma(k + 1))
      return k;
  }
}

/* Four normals from a block, in single precision: weights need no more, and models have 10^8. */
static void block_normals(const uint32_t words[4], float ret[4]) {
  for (int i = 0; i < 4; i += 2) {
    float u = ((float)(words[i] >> 8) + 0.5f) * 0x1p-24f;
    float angle = (float)(words[i + 1] >> 8) * (6.2831853f * 0x1p-24f);
    float radius = sqrtf(-2 * logf(u));
    ret[i] = radius * cosf(angle);
    ret[i + 1] = radius * sinf(angle);
  }
}

static void fill(float *ret, size_t count, double offset, double scale, uint64_t seed,
                 uint64_t stream, int normal) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (size_t i = 0; i < count; i += 4) {
    uint64_t block = i / 4;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    uint32_t words[4];
    float values[4];
    hl_philox4x32(counter, key, words);
    if (normal)
      block_normals(words, values);
    else
      for (int j = 0; j < 4; j++) values[j] = ((float)(words[j] >> 8) + 0.5f) * 0x1p-24f;
    for (size_t j = 0; j < 4 && i + j < count; j++)
      ret[i + j] = (float)(offset + scale * (double)values[j]);
  }
}

void hl_random_fill_normal(float *ret, size_t count, double mean, double deviation, uint64_t seed,
                           uint64_t stream) {
  fill(ret, count, mean, deviation, seed, stream, 1);
}

void hl_random_fill_uniform(float *ret, size_t count, double low, double high, uint64_t seed,
                            uint64_t stream) {
  fill(ret, count, low, high - low, seed, stream, 0);
}

uint64_t hl_random_stream(const char *name) {
  return hl_hash_text(HL_HASH_START, name);
}
