/*
 * store/samples.h - durations as a blob (inside src/store only).
 *
 * Codec "delta-varint", up to 2^20 samples, lossless and in order: the difference from the sample
 * before (from 0 for the first), zigzag-mapped to unsigned ((d << 1) ^ (d >> 63)), in groups of 7
 * bits, least significant first, the top bit of a byte set when another follows.
 *
 * Codec "log-histogram", beyond: pairs of varints (bucket, count) in ascending order of bucket. A
 * value below 256 is its own bucket; another has its 8 leading bits kept, so that the middle of a
 * bucket is within 1/256 of the value. The order of the samples is lost.
 */
#ifndef HL_STORE_SAMPLES_H
#define HL_STORE_SAMPLES_H

#include "base/error.h"

enum { HL_STORE_MAX_SAMPLES = 1 << 20 };

typedef struct hl_samples_blob {
  const char *codec;   /* static */
  unsigned char *data; /* free() */
  size_t bytes;
} hl_samples_blob;

hl_status hl_samples_encode(const uint64_t *samples, size_t count, hl_samples_blob *ret_blob,
                            hl_error *error);

/*
 * The samples of a blob, free() them; `count` is what the store says was encoded. A histogram gives
 * at most 2^20 middles of buckets, thinned evenly, in ascending order. BAD_DATA for a damaged blob
 * or an unknown codec.
 */
hl_status hl_samples_decode(const char *codec, const unsigned char *data, size_t bytes,
                            uint64_t count, uint64_t **ret_samples, size_t *ret_count,
                            hl_error *error);

#endif
