#include "data/image-internal.h"

enum { channels = HL_IMAGE_CHANNELS, half = 1 << (HL__FILTER_BITS - 1) };

static uint8_t clip(int32_t sum) {
  int32_t value = sum >> HL__FILTER_BITS;
  return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static int32_t weight(const hl__filter *f, int32_t i, int32_t tap) {
  size_t at = (size_t)i * (size_t)f->taps + (size_t)tap;
  return f->high[at] * (1 << HL__FILTER_LOW_BITS) + f->low[at];
}

static void across_baseline(const uint8_t *from, size_t from_stride, int32_t rows,
                            const hl__filter *f, uint8_t *to, size_t to_stride) {
  for (int32_t y = 0; y < rows; y++)
    for (int32_t i = 0; i < f->count; i++) {
      const uint8_t *pixel = from + (size_t)y * from_stride + (size_t)f->first[i] * channels;
      int32_t sum[channels] = {half, half, half};
      for (int32_t x = 0; x < f->length[i]; x++, pixel += channels)
        for (int c = 0; c < channels; c++) sum[c] += pixel[c] * weight(f, i, x);
      uint8_t *out = to + (size_t)y * to_stride + (size_t)i * channels;
      for (int c = 0; c < channels; c++) out[c] = clip(sum[c]);
    }
}

static void down_baseline(const uint8_t *rows, size_t stride, size_t bytes, const hl__filter *f,
                          int32_t i, uint8_t *to) {
  enum { block = 64 };
  for (size_t b = 0; b < bytes; b += block) {
    int32_t sum[block];
    size_t count = bytes - b < block ? bytes - b : block;
    for (size_t k = 0; k < count; k++) sum[k] = half;
    for (int32_t y = 0; y < f->length[i]; y++) {
      const uint8_t *row = rows + (size_t)(f->first[i] + y) * stride + b;
      int32_t w = weight(f, i, y);
      for (size_t k = 0; k < count; k++) sum[k] += row[k] * w;
    }
    for (size_t k = 0; k < count; k++) to[b + k] = clip(sum[k]);
  }
}

const hl__image_kernels hl__image_kernels_baseline = {"baseline", across_baseline, down_baseline};

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

/* Two weights side by side, for each pair of 16-bit lanes. */
AVX2 static inline __m256i pair(const int16_t *weights) {
  int32_t both;
  memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi32(both);
}

AVX2 static inline __m256i finish(__m256i high, __m256i low) {
  __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, HL__FILTER_LOW_BITS), low);
  return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(half)), HL__FILTER_BITS);
}

/* One pixel of two rows, a row in each half of the register; four taps at a time. */
AVX2 static inline __m256i pixel_of_two(const uint8_t *a, const uint8_t *b, const int16_t *high,
                                        const int16_t *low, int32_t taps) {
  const __m256i taps01 = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,
                                          0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m256i taps23 =
      _mm256_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                       -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  __m256i sum_high = _mm256_setzero_si256(), sum_low = sum_high;
  for (int32_t t = 0; t < taps; t += 4, a += 4 * channels, b += 4 * channels) {
    __m128i row_a = _mm_loadu_si128((const __m128i *)(const void *)a);
    __m128i row_b = _mm_loadu_si128((const __m128i *)(const void *)b);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(row_a), row_b, 1);
    __m256i p01 = _mm256_shuffle_epi8(both, taps01), p23 = _mm256_shuffle_epi8(both, taps23);
    sum_high = _mm256_add_epi32(sum_high, _mm256_madd_epi16(p01, pair(high + t)));
    sum_low = _mm256_add_epi32(sum_low, _mm256_madd_epi16(p01, pair(low + t)));
    sum_high = _mm256_add_epi32(sum_high, _mm256_madd_epi16(p23, pair(high + t + 2)));
    sum_low = _mm256_add_epi32(sum_low, _mm256_madd_epi16(p23, pair(low + t + 2)));
  }
  __m256i sum = finish(sum_high, sum_low);
  sum = _mm256_packs_epi32(sum, sum);
  return _mm256_packus_epi16(sum, sum);
}

AVX2 static void across_avx2(const uint8_t *from, size_t from_stride, int32_t rows,
                             const hl__filter *f, uint8_t *to, size_t to_stride) {
  for (int32_t y = 0; y < rows; y += 2) {
    const uint8_t *a = from + (size_t)y * from_stride;
    uint8_t *to_a = to + (size_t)y * to_stride;
    const uint8_t *b = y + 1 < rows ? a + from_stride : a;
    uint8_t *to_b = y + 1 < rows ? to_a + to_stride : to_a;
    for (int32_t i = 0; i < f->count; i++) {
      size_t at = (size_t)f->first[i] * channels, weights = (size_t)i * (size_t)f->taps;
      __m256i pixels =
          pixel_of_two(a + at, b + at, f->high + weights, f->low + weights, f->length[i]);
      int32_t of_a = _mm256_extract_epi32(pixels, 0), of_b = _mm256_extract_epi32(pixels, 4);
      memcpy(to_a + (size_t)i * channels, &of_a, sizeof of_a); /* the fourth is written over */
      memcpy(to_b + (size_t)i * channels, &of_b, sizeof of_b);
    }
  }
}

AVX2 static inline __m256i widen(const uint8_t *bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}

AVX2 static void down_avx2(const uint8_t *rows, size_t stride, size_t bytes, const hl__filter *f,
                           int32_t i, uint8_t *to) {
  const int16_t *high = f->high + (size_t)i * (size_t)f->taps;
  const int16_t *low = f->low + (size_t)i * (size_t)f->taps;
  const uint8_t *first = rows + (size_t)f->first[i] * stride;
  for (size_t b = 0; b < bytes; b += 16) {
    __m256i high_a = _mm256_setzero_si256(), high_b = high_a, low_a = high_a, low_b = high_a;
    for (int32_t y = 0; y < f->length[i]; y += 2) {
      const uint8_t *row = first + (size_t)y * stride + b;
      __m256i one = widen(row); /* behind the last row its weight is 0 */
      __m256i two = y + 1 < f->length[i] ? widen(row + stride) : one;
      __m256i a = _mm256_unpacklo_epi16(one, two), c = _mm256_unpackhi_epi16(one, two);
      high_a = _mm256_add_epi32(high_a, _mm256_madd_epi16(a, pair(high + y)));
      low_a = _mm256_add_epi32(low_a, _mm256_madd_epi16(a, pair(low + y)));
      high_b = _mm256_add_epi32(high_b, _mm256_madd_epi16(c, pair(high + y)));
      low_b = _mm256_add_epi32(low_b, _mm256_madd_epi16(c, pair(low + y)));
    }
    __m256i words = _mm256_packs_epi32(finish(high_a, low_a), finish(high_b, low_b));
    __m128i packed =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)(void *)(to + b), packed);
  }
}

const hl__image_kernels *hl__image_kernels_avx2(void) {
  static const hl__image_kernels kernels = {"avx2", across_avx2, down_avx2};
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}
#else
const hl__image_kernels *hl__image_kernels_avx2(void) {
  return NULL;
}
#endif
