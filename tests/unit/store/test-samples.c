/* Samples as blobs: lossless up to 2^20, a histogram of stated error beyond, damage refused. */
#include "store/samples.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void round_trip(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 2, 1000, 1u << 20};
  for (size_t c = 0; c < HL_COUNT(counts); c++) {
    uint64_t seed = 42, *samples = malloc((counts[c] + 1) * sizeof *samples);
    for (size_t i = 0; i < counts[c]; i++) samples[i] = next(&seed) >> (i % 64);
    hl_samples_blob blob;
    assert_int_equal(hl_samples_encode(samples, counts[c], &blob, NULL), HL_OK);
    uint64_t *back = NULL;
    size_t count = 0;
    assert_int_equal(
        hl_samples_decode(blob.codec, blob.data, blob.bytes, counts[c], &back, &count, NULL),
        HL_OK);
    assert_int_equal(count, counts[c]);
    assert_memory_equal(back, samples, count * sizeof *back);
    free(back);
    free(blob.data);
    free(samples);
  }
}

static void typical_samples_are_small(void **state) {
  (void)state;
  uint64_t seed = 1, samples[1000];
  for (size_t i = 0; i < HL_COUNT(samples); i++) samples[i] = 12000000 + next(&seed) % 100000;
  hl_samples_blob blob;
  assert_int_equal(hl_samples_encode(samples, HL_COUNT(samples), &blob, NULL), HL_OK);
  assert_true(blob.bytes <= 3 * HL_COUNT(samples) + 8);
  free(blob.data);
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void histogram_keeps_its_error(void **state) {
  (void)state;
  size_t many = ((size_t)3 << 20) + 7, count = 0;
  uint64_t seed = 7, *samples = malloc(many * sizeof *samples), *back = NULL;
  for (size_t i = 0; i < many; i++) samples[i] = next(&seed) >> (i % 60);
  hl_samples_blob blob;
  assert_int_equal(hl_samples_encode(samples, many, &blob, NULL), HL_OK);
  assert_string_equal(blob.codec, "log-histogram");
  assert_int_equal(hl_samples_decode(blob.codec, blob.data, blob.bytes, many, &back, &count, NULL),
                   HL_OK);
  size_t stride = 4;
  assert_int_equal(count, (many + stride - 1) / stride);
  qsort(samples, many, sizeof *samples, by_value);
  for (size_t i = 0; i < count; i++) {
    uint64_t exact = samples[i * stride];
    uint64_t difference = back[i] > exact ? back[i] - exact : exact - back[i];
    assert_true(difference <= exact / 256);
  }
  free(back);
  free(blob.data);
  free(samples);
}

static void damage_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *codec;
    unsigned char data[12];
    size_t bytes;
    uint64_t count;
  } cases[] = {
      {"delta-varint", {2, 2}, 2, 3},       /* too few */
      {"delta-varint", {2, 2, 2}, 3, 2},    /* too many */
      {"delta-varint", {0x80}, 1, 1},       /* cut in a number */
      {"delta-varint", {2}, 1, UINT64_MAX}, /* a count that wants all memory */
      {"delta-varint", {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 11, 1},
      {"log-histogram", {5, 9}, 2, 8},                /* more than the count */
      {"log-histogram", {5, 7}, 2, 8},                /* less */
      {"log-histogram", {0xff, 0xff, 0x7f, 1}, 4, 1}, /* no such bucket */
      {"log-histogram", {5}, 1, 1},
      {"zstd", {1}, 1, 1},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    uint64_t *samples = NULL;
    size_t count = 0;
    hl_error error = {0};
    assert_int_equal(hl_samples_decode(cases[i].codec, cases[i].data, cases[i].bytes,
                                       cases[i].count, &samples, &count, &error),
                     HL_BAD_DATA);
    assert_null(samples);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip),
      cmocka_unit_test(typical_samples_are_small),
      cmocka_unit_test(histogram_keeps_its_error),
      cmocka_unit_test(damage_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
