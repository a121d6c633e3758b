/* Random numbers of a volume or a patch: a reader whose numbers depend on (seed, epoch, sample,
 * purpose) alone, so that volumes are made and patches are cut in any order and by any thread. */
#ifndef HL_IMAGING_VOLUME_RANDOM_H
#define HL_IMAGING_VOLUME_RANDOM_H

#include "numeric/random.h"

/* One block of Philox turns seed, epoch and sample into a seed of their own; `purpose` is a stream
 * of it. */
static inline void hl__volume_random(uint64_t seed, uint32_t epoch, uint64_t sample,
                                     uint64_t purpose, hl_random *ret_random) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), epoch, 0x766F6C75u};
  uint32_t words[4];
  hl_philox4x32(counter, key, words);
  hl_random_init(ret_random, (uint64_t)words[1] << 32 | words[0], purpose);
}

#endif
