/*
 * numeric/random.h - seeded random numbers, equal on every machine and for every thread count.
 *
 * Counter-based: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC'11). Number i of stream s under seed k is a pure function of (k, s, i), so arrays can be
 * filled in any order and in parts. Pure; thread-safe.
 */
#ifndef HL_NUMERIC_RANDOM_H
#define HL_NUMERIC_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The block function: four 32-bit words for a 128-bit counter and a 64-bit key. */
void hl_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4]);

/* A sequential reader of one stream. */
typedef struct hl_random {
  uint32_t key[2], counter[4], words[4];
  unsigned used;
  double spare; /* second normal of a Box-Muller pair */
  int has_spare;
} hl_random;

void hl_random_init(hl_random *random, uint64_t seed, uint64_t stream);
uint32_t hl_random_u32(hl_random *random);
uint64_t hl_random_u64(hl_random *random);
double hl_random_uniform(hl_random *random);                 /* in (0, 1) */
double hl_random_normal(hl_random *random);                  /* mean 0, deviation 1 */
uint64_t hl_random_below(hl_random *random, uint64_t limit); /* in [0, limit), unbiased */
/* Poisson with mean `lambda` >= 0: inversion below 30, PTRS (Hormann 1993) above. */
double hl_random_poisson(hl_random *random, double lambda);

/* Fills `ret` with `count` values; the same numbers whatever else is drawn. */
void hl_random_fill_normal(float *ret, size_t count, double mean, double deviation, uint64_t seed,
                           uint64_t stream);
void hl_random_fill_uniform(float *ret, size_t count, double low, double high, uint64_t seed,
                            uint64_t stream);

/* A stream number from a name (FNV-1a), so that every weight has numbers of its own. */
uint64_t hl_random_stream(const char *name);

#endif
