/*
 * base/hash.h - 64-bit hashes for names and cache keys, not for secrets. Pure; thread-safe.
 *
 *     uint64_t hash = hl_hash_text(HL_HASH_START, "conv1");
 */
#ifndef HL_BASE_HASH_H
#define HL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HL_HASH_START 0xCBF29CE484222325u

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv) of the text's bytes, continued from `state`:
 * the same on every machine, so it may be stored. */
uint64_t hl_hash_text(uint64_t state, const char *text);

/* FNV-1a over words of 8 bytes, for whole buffers: several times faster, other values than
 * hl_hash_text, and dependent on byte order. */
uint64_t hl_hash_bytes(uint64_t seed, const void *data, size_t bytes);

#endif
