/*
 * base/splitmix.h - 64 random bits at a time, for orders and draws; the numbers of models and data
 * come from numeric/random.h.
 *
 *     uint64_t random = seed;
 *     bool heads = hl_splitmix(&random) >> 63;
 *
 * SplitMix64 (G. Steele, D. Lea and C. Flood, 2014). Thread-safe for different states.
 */
#ifndef HL_BASE_SPLITMIX_H
#define HL_BASE_SPLITMIX_H

#include <stdint.h>

static inline uint64_t hl_splitmix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#endif
