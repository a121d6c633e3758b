#include "base/hash.h"

#include <string.h>

static const uint64_t prime = 0x100000001B3u;

uint64_t hl_hash_text(uint64_t state, const char *text) {
  for (; *text; text++) state = (state ^ (unsigned char)*text) * prime;
  return state;
}

uint64_t hl_hash_bytes(uint64_t seed, const void *data, size_t bytes) {
  const unsigned char *p = data;
  uint64_t hash = seed ^ HL_HASH_START;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 29; /* so that high bits reach low ones */
  }
  for (; bytes; bytes--, p++) hash = (hash ^ *p) * prime;
  return hash ^ hash >> 32;
}
