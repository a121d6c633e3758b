#include "imaging/measurement-cache.h"

#include <stdlib.h>
#include <string.h>

enum { bucket_count = 1024 };

typedef struct entry {
  hl_measurement_key key;
  struct entry *next;          /* of its bucket */
  struct entry *older, *newer; /* by use */
  float picture[];
} entry;

struct hl_measurement_cache {
  size_t pixels, entry_bytes;
  entry *buckets[bucket_count];
  entry *oldest, *newest;
  entry *
      spare; /* memory of those that were cleared, by `next`: new pages cost as much as a picture */
  hl_measurement_counts counts;
};

hl_status hl_measurement_cache_new(uint64_t limit_bytes, int64_t pixels,
                                   hl_measurement_cache **ret_cache, hl_error *error) {
  hl_measurement_cache *cache = calloc(1, sizeof *cache);
  if (!cache) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a cache");
  cache->pixels = (size_t)pixels;
  cache->entry_bytes = sizeof(entry) + (size_t)pixels * sizeof(float);
  cache->counts.limit_bytes = limit_bytes;
  *ret_cache = cache;
  return HL_OK;
}

void hl_measurement_cache_clear(hl_measurement_cache *cache) {
  for (entry *e = cache->oldest, *newer; e; e = newer) {
    newer = e->newer;
    e->next = cache->spare;
    cache->spare = e;
  }
  memset(cache->buckets, 0, sizeof cache->buckets);
  cache->oldest = cache->newest = NULL;
  cache->counts.entries = cache->counts.bytes = 0;
}

void hl_measurement_cache_free(hl_measurement_cache *cache) {
  if (!cache) return;
  hl_measurement_cache_clear(cache);
  for (entry *e = cache->spare, *next; e; e = next) {
    next = e->next;
    free(e);
  }
  free(cache);
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t bits(double x) {
  uint64_t word;
  x += 0; /* -0 is 0 */
  memcpy(&word, &x, sizeof word);
  return word;
}

static entry **bucket_of(hl_measurement_cache *cache, const hl_measurement_key *key) {
  uint64_t hash = mixed(mixed(mixed(0, key->object), key->version), key->kind);
  hash = mixed(mixed(mixed(hash, bits(key->row)), bits(key->column)), bits(key->radius));
  return &cache->buckets[hash >> 32 & (bucket_count - 1)];
}

static bool same(const hl_measurement_key *a, const hl_measurement_key *b) {
  return a->object == b->object && a->version == b->version && a->kind == b->kind &&
         a->row == b->row && a->column == b->column && a->radius == b->radius;
}

static entry *find(hl_measurement_cache *cache, const hl_measurement_key *key) {
  entry *e = *bucket_of(cache, key);
  while (e && !same(&e->key, key)) e = e->next;
  return e;
}

static void unlink_use(hl_measurement_cache *cache, entry *e) {
  *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
  *(e->newer ? &e->newer->older : &cache->newest) = e->older;
}

static void link_newest(hl_measurement_cache *cache, entry *e) {
  e->older = cache->newest;
  e->newer = NULL;
  *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
  cache->newest = e;
}

bool hl_measurement_cache_get(hl_measurement_cache *cache, const hl_measurement_key *key,
                              float *ret_picture) {
  entry *e = find(cache, key);
  if (!e) {
    cache->counts.misses++;
    return false;
  }
  cache->counts.hits++;
  unlink_use(cache, e);
  link_newest(cache, e);
  memcpy(ret_picture, e->picture, cache->pixels * sizeof *ret_picture);
  return true;
}

/* Takes the oldest out of its lists. */
static entry *evict(hl_measurement_cache *cache) {
  entry *e = cache->oldest, **link = bucket_of(cache, &e->key);
  while (*link != e) link = &(*link)->next;
  *link = e->next;
  unlink_use(cache, e);
  cache->counts.evictions++;
  cache->counts.entries--;
  cache->counts.bytes -= cache->entry_bytes;
  return e;
}

static entry *new_entry(hl_measurement_cache *cache) {
  if (cache->counts.bytes + cache->entry_bytes > cache->counts.limit_bytes) return evict(cache);
  entry *e = cache->spare;
  if (!e) return malloc(cache->entry_bytes);
  cache->spare = e->next;
  return e;
}

void hl_measurement_cache_put(hl_measurement_cache *cache, const hl_measurement_key *key,
                              const float *picture) {
  if (cache->entry_bytes > cache->counts.limit_bytes) return;
  entry *e = find(cache, key);
  if (!e) {
    e = new_entry(cache);
    if (!e) return;
    e->key = *key;
    entry **bucket = bucket_of(cache, key);
    e->next = *bucket;
    *bucket = e;
    cache->counts.entries++;
    cache->counts.bytes += cache->entry_bytes;
  } else {
    unlink_use(cache, e);
  }
  link_newest(cache, e);
  memcpy(e->picture, picture, cache->pixels * sizeof *picture);
}

void hl_measurement_cache_count(const hl_measurement_cache *cache,
                                hl_measurement_counts *ret_counts) {
  *ret_counts = cache->counts;
}
