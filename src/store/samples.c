#include "store/samples.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char codec_varint[] = "delta-varint";
static const char codec_histogram[] = "log-histogram";

enum { VARINT_MAX_BYTES = 10, KEPT_BITS = 8, BUCKETS = (64 - KEPT_BITS + 1) << KEPT_BITS };

static size_t varint_put(unsigned char *at, uint64_t value) {
  size_t n = 0;
  for (; value >= 0x80; value >>= 7) at[n++] = (unsigned char)(value | 0x80);
  at[n++] = (unsigned char)value;
  return n;
}

/* Reads one number and moves `*at`; false at the end or for more than 64 bits. */
static bool varint_get(const unsigned char **at, const unsigned char *end, uint64_t *ret_value) {
  uint64_t value = 0;
  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    unsigned char byte = *(*at)++;
    uint64_t part = byte & 0x7f;
    if (shift == 63 && part > 1) return false;
    value |= part << shift;
    if (!(byte & 0x80)) {
      *ret_value = value;
      return true;
    }
  }
  return false;
}

static size_t bucket_of(uint64_t value) {
  unsigned shift = 0;
  while (value >> shift >= (1u << KEPT_BITS)) shift++;
  return ((size_t)shift << KEPT_BITS) + (size_t)(value >> shift);
}

static uint64_t bucket_middle(size_t bucket) {
  unsigned shift = (unsigned)(bucket >> KEPT_BITS);
  uint64_t low = (uint64_t)(bucket & ((1u << KEPT_BITS) - 1)) << shift;
  return shift ? low + (1ull << (shift - 1)) : low;
}

static hl_status encode_histogram(const uint64_t *samples, size_t count, hl_samples_blob *ret_blob,
                                  hl_error *error) {
  uint64_t *counts = calloc(BUCKETS, sizeof *counts);
  unsigned char *data = malloc((size_t)BUCKETS * 2 * VARINT_MAX_BYTES);
  if (!counts || !data) {
    free(counts);
    free(data);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a histogram of samples");
  }
  for (size_t i = 0; i < count; i++) counts[bucket_of(samples[i])]++;
  size_t bytes = 0;
  for (size_t b = 0; b < BUCKETS; b++) {
    if (!counts[b]) continue;
    bytes += varint_put(data + bytes, b);
    bytes += varint_put(data + bytes, counts[b]);
  }
  free(counts);
  *ret_blob = (hl_samples_blob){codec_histogram, data, bytes};
  return HL_OK;
}

hl_status hl_samples_encode(const uint64_t *samples, size_t count, hl_samples_blob *ret_blob,
                            hl_error *error) {
  if (count > HL_STORE_MAX_SAMPLES) return encode_histogram(samples, count, ret_blob, error);
  unsigned char *data = malloc(count * VARINT_MAX_BYTES + 1);
  if (!data) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", count);
  size_t bytes = 0;
  uint64_t before = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t delta = samples[i] - before; /* wraps; decoding wraps back */
    bytes += varint_put(data + bytes, (delta << 1) ^ (0 - (delta >> 63)));
    before = samples[i];
  }
  *ret_blob = (hl_samples_blob){codec_varint, data, bytes};
  return HL_OK;
}

static bool decode_varint(const unsigned char *data, size_t bytes, uint64_t *samples,
                          size_t count) {
  const unsigned char *at = data, *end = data + bytes;
  uint64_t value = 0, code = 0;
  for (size_t i = 0; i < count; i++) {
    if (!varint_get(&at, end, &code)) return false;
    value += (code >> 1) ^ (0 - (code & 1));
    samples[i] = value;
  }
  return at == end;
}

/* Every `stride`-th value of the sorted samples, `kept` in all. */
static bool decode_histogram(const unsigned char *data, size_t bytes, uint64_t count,
                             uint64_t stride, uint64_t *samples, size_t kept) {
  const unsigned char *at = data, *end = data + bytes;
  uint64_t seen = 0;
  size_t n = 0;
  while (at < end) {
    uint64_t bucket = 0, in_bucket = 0;
    if (!varint_get(&at, end, &bucket) || !varint_get(&at, end, &in_bucket)) return false;
    if (bucket >= BUCKETS || in_bucket > count - seen) return false;
    seen += in_bucket;
    for (; n < kept && n * stride < seen; n++) samples[n] = bucket_middle((size_t)bucket);
  }
  return seen == count && n == kept;
}

hl_status hl_samples_decode(const char *codec, const unsigned char *data, size_t bytes,
                            uint64_t count, uint64_t **ret_samples, size_t *ret_count,
                            hl_error *error) {
  bool histogram = strcmp(codec, codec_histogram) == 0;
  if (!histogram && strcmp(codec, codec_varint) != 0)
    return hl_error_set(error, HL_BAD_DATA, "unknown codec of samples '%.40s'", codec);
  /* A varint takes a byte at least, which bounds what a damaged count can make us allocate. */
  if (!histogram && count > bytes)
    return hl_error_set(error, HL_BAD_DATA, "samples are damaged: too short for their count");
  uint64_t stride = count ? (count - 1) / HL_STORE_MAX_SAMPLES + 1 : 1;
  size_t kept = (size_t)(histogram ? (count + stride - 1) / stride : count);
  uint64_t *samples = malloc((kept + 1) * sizeof *samples);
  if (!samples) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", kept);
  bool good = histogram ? decode_histogram(data, bytes, count, stride, samples, kept)
                        : decode_varint(data, bytes, samples, kept);
  if (!good) {
    free(samples);
    return hl_error_set(error, HL_BAD_DATA, "samples are damaged: their bytes do not decode");
  }
  *ret_samples = samples;
  *ret_count = kept;
  return HL_OK;
}
