/*
 * imaging/measurement-cache.h - pictures that were computed before, by what they were computed of.
 *
 *     hl_measurement_cache *cache;
 *     hl_measurement_cache_new(128 << 20, 512 * 512, &cache, error);
 *     hl_measurement_key key = {.object = 1, .version = 7, .row = 3, .column = -8, .radius = 20};
 *     if (!hl_measurement_cache_get(cache, &key, picture)) {
 *       compute(picture);
 *       hl_measurement_cache_put(cache, &key, picture);
 *     }
 *
 * The key names the object by identity and version, so that a look-up costs the same whatever the
 * picture's size (a hash of its pixels costs as much as the transform that it saves). Pictures are
 * copied in and out. The least recently used go first. One thread at a time.
 */
#ifndef HL_IMAGING_MEASUREMENT_CACHE_H
#define HL_IMAGING_MEASUREMENT_CACHE_H

#include "base/error.h"
#include <stdbool.h>

typedef struct hl_measurement_key {
  uint64_t object, version; /* which picture, and which state of it */
  double row, column, radius;
  uint64_t kind; /* what else tells measurements apart */
} hl_measurement_key;

typedef struct hl_measurement_counts {
  uint64_t hits, misses, evictions; /* since it was made */
  uint64_t entries, bytes, limit_bytes;
} hl_measurement_counts;

typedef struct hl_measurement_cache hl_measurement_cache;

/* Keeps as many pictures of `pixels` floats as `limit_bytes` hold with their keys: it may be none.
 * OUT_OF_MEMORY. */
hl_status hl_measurement_cache_new(uint64_t limit_bytes, int64_t pixels,
                                   hl_measurement_cache **ret_cache, hl_error *error);
void hl_measurement_cache_free(hl_measurement_cache *cache); /* NULL is fine */

/* False, and a miss, where it is not there. */
bool hl_measurement_cache_get(hl_measurement_cache *cache, const hl_measurement_key *key,
                              float *ret_picture);

/* Keeps a copy if there is room or an older one can go; without memory nothing is kept. */
void hl_measurement_cache_put(hl_measurement_cache *cache, const hl_measurement_key *key,
                              const float *picture);

void hl_measurement_cache_clear(hl_measurement_cache *cache); /* counts stay; no eviction */
void hl_measurement_cache_count(const hl_measurement_cache *cache,
                                hl_measurement_counts *ret_counts);

#endif
