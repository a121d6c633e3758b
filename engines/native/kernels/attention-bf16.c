/*
 * Attention on bfloat16 with AVX-512 BF16: as attention.c, with products of pairs (vdpbf16ps). Keys
 * are packed so that a vector holds two neighbouring elements of 16 keys, values so that it holds
 * 16 columns of two neighbouring keys. Scores, softmax and sums are float.
 */
#define HL_ISA avx512bf16
#define HL_VECTOR_BYTES 64
#include "attention-bf16.h"

#if defined(__AVX512BF16__)
#include <math.h>

#include "bfloat16.h"

enum {
  ROWS = 6,
  VECTORS = 4,
  PANEL = VECTORS * HL_LANES, /* keys or columns */
  QUERIES = 24,
  KEYS = 256,               /* in a block of the online softmax */
  SCORE_STRIDE = KEYS + 16, /* no power of two: rows would share cache sets */
  WEIGHT_STRIDE = KEYS + 32,
};

static size_t round_up(size_t n, size_t to) {
  return hl_ceil_div(n, to) * to;
}

/* c (ROWS x vectors) = a (ROWS x 2 depth) · b (depth x PANEL pairs), added to c if `add`. */
HL_INLINE void product(size_t vectors, size_t depth, const uint16_t *a, size_t a_stride,
                       const uint32_t *b, float *c, size_t c_stride, int add) {
  __m512 sum[ROWS][VECTORS];
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < vectors; j++)
      sum[i][j] = add ? _mm512_loadu_ps(c + i * c_stride + j * HL_LANES) : _mm512_setzero_ps();
  for (size_t k = 0; k < depth; k++, b += PANEL) {
    __m512bh row[VECTORS];
    for (size_t j = 0; j < vectors; j++) row[j] = (__m512bh)_mm512_loadu_si512(b + j * HL_LANES);
    for (size_t i = 0; i < ROWS; i++) {
      int32_t pair;
      memcpy(&pair, a + i * a_stride + 2 * k, sizeof pair);
      __m512bh both = (__m512bh)_mm512_set1_epi32(pair);
      for (size_t j = 0; j < vectors; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], both, row[j]);
    }
  }
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < vectors; j++)
      _mm512_storeu_ps(c + i * c_stride + j * HL_LANES, sum[i][j]);
}

/* c (rows x columns) = a (rows x 2 depth) · b, with b in panels `panel_pairs` apart; rows are a
 * multiple of ROWS and c has room for columns rounded up to whole vectors. */
static void multiply(size_t rows, size_t columns, size_t depth, const uint16_t *a, size_t a_stride,
                     const uint32_t *b, size_t panel_pairs, float *c, size_t c_stride, int add) {
  for (size_t j = 0; j < columns; j += PANEL, b += panel_pairs)
    for (size_t i = 0; i < rows; i += ROWS) {
      const uint16_t *from = a + i * a_stride;
      float *to = c + i * c_stride + j;
      switch (hl_ceil_div(hl_min(PANEL, columns - j), HL_LANES)) {
      case 1:
        product(1, depth, from, a_stride, b, to, c_stride, add);
        break;
      case 2:
        product(2, depth, from, a_stride, b, to, c_stride, add);
        break;
      case 3:
        product(3, depth, from, a_stride, b, to, c_stride, add);
        break;
      default:
        product(4, depth, from, a_stride, b, to, c_stride, add);
        break;
      }
    }
}

/* One thread's scratch. */
typedef struct scratch {
  uint32_t *keys;   /* panels of (head_dim / 2, PANEL) pairs */
  uint32_t *values; /* panels of (keys / 2, PANEL) pairs */
  float *score;     /* (QUERIES, SCORE_STRIDE) */
  float *sum;       /* (QUERIES, head_dim in whole panels) */
  uint16_t *query;  /* (QUERIES, head_dim) */
  uint16_t *weight; /* (QUERIES, WEIGHT_STRIDE): exponentials of a block */
} scratch;

static size_t thread_words(size_t keys, size_t d) {
  size_t words = round_up(keys, PANEL) * d / 2 + hl_ceil_div(keys, 2) * round_up(d, PANEL) +
                 QUERIES * (SCORE_STRIDE + round_up(d, PANEL)) + QUERIES * (d + WEIGHT_STRIDE) / 2;
  return round_up(words, 16);
}

size_t hl_attention_bf16_scratch_bytes(size_t keys, size_t head_dim, unsigned threads) {
  return thread_words(keys, head_dim) * sizeof(uint32_t) * threads;
}

static scratch scratch_of(const hl_attention_bf16_args *a, unsigned thread) {
  size_t d = a->head_dim, width = round_up(d, PANEL);
  scratch s = {.keys = (uint32_t *)a->scratch + thread * thread_words(a->keys, d)};
  s.values = s.keys + round_up(a->keys, PANEL) * d / 2;
  s.score = (float *)(void *)(s.values + hl_ceil_div(a->keys, 2) * width);
  s.sum = s.score + QUERIES * SCORE_STRIDE;
  s.query = (uint16_t *)(void *)(s.sum + QUERIES * width);
  s.weight = s.query + QUERIES * d;
  return s;
}

/* A pair of neighbouring elements is one 32-bit word: the packing is a transposition of words. */
static void pack_keys(const hl_attention_bf16_args *a, const uint16_t *k, uint32_t *ret) {
  size_t pairs = a->head_dim / 2;
  for (size_t first = 0; first < a->keys; first += PANEL, ret += pairs * PANEL) {
    size_t count = hl_min(PANEL, a->keys - first);
    const void *from = k + (ptrdiff_t)first * a->k.token;
    hl_transpose((float *)(void *)ret, PANEL, from, a->k.token / 2, pairs, count);
    for (size_t i = 0; count < PANEL && i < pairs; i++) /* scores of no keys must be finite */
      memset(ret + i * PANEL + count, 0, (PANEL - count) * sizeof *ret);
  }
}

static void pack_values(const hl_attention_bf16_args *a, const uint16_t *v, uint32_t *ret) {
  size_t d = a->head_dim;
  for (size_t first = 0; first < d; first += PANEL)
    for (size_t j = 0; j < a->keys; j += 2, ret += PANEL) {
      const uint16_t *even = v + (ptrdiff_t)j * a->v.token + (ptrdiff_t)first;
      const uint16_t *odd = even + a->v.token;
      size_t count = hl_min(PANEL, d - first);
      int both = j + 1 < a->keys;
#pragma omp simd
      for (size_t l = 0; l < count; l++) ret[l] = both ? even[l] | (uint32_t)odd[l] << 16 : even[l];
      for (size_t l = count; l < PANEL; l++) ret[l] = 0;
    }
}

static void pack_query(const hl_attention_bf16_args *a, const uint16_t *q, size_t rows,
                       uint16_t *ret) {
  size_t d = a->head_dim;
  for (size_t r = 0; r < rows; r++)
    memcpy(ret + r * d, q + (ptrdiff_t)r * a->q.token, d * sizeof *ret);
  memset(ret + rows * d, 0, (round_up(rows, ROWS) - rows) * d * sizeof *ret);
}

/* y = e^(x - base), with a zero behind an odd number, and its sum. */
static float row_exp(uint16_t *y, const float *x, size_t n, float base) {
  vfloat sum = {0};
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) {
    vfloat v = hl_vexp_nonpositive(hl_vload(x + i) - base);
    hl_store_bf16(y + i, v);
    sum += v;
  }
  if (i < n) {
    vfloat v = hl_vexp_nonpositive(hl_vload_part(x + i, n - i, -INFINITY) - base);
    v = hl_vpart(v, n - i); /* base may be -inf, and the filler's exponential NaN */
    hl_store_bf16(y + i, v);
    sum += v;
  } else {
    y[n] = 0;
  }
  return hl_vsum(sum);
}

/* Softmax of a block of keys for all rows of a tile, and the rescaling of their sums. */
static void softmax_tile(const hl_attention_bf16_args *a, const scratch *s, const float *mask,
                         size_t rows, size_t first_key, size_t keys, float *top, float *total) {
  size_t width = round_up(a->head_dim, PANEL);
  for (size_t r = 0; r < rows; r++) {
    const float *m = mask ? mask + (ptrdiff_t)r * a->mask_query + first_key : NULL;
    float *x = s->score + r * SCORE_STRIDE;
    float largest = hl_row_scale(x, x, m, keys, a->scale);
    largest = largest > top[r] ? largest : top[r];
    float base = largest > -INFINITY ? largest : 0; /* all masked so far: exponentials are 0 */
    float sum = row_exp(s->weight + r * WEIGHT_STRIDE, x, keys, base);
    float factor = top[r] > -INFINITY ? expf(top[r] - base) : 0;
    top[r] = largest;
    total[r] = total[r] * factor + sum;
    if (first_key == 0 || factor == 1) continue;
    for (size_t i = 0; i < width; i++) s->sum[r * width + i] *= factor;
  }
}

static void store_row(uint16_t *y, const float *x, size_t n, float factor) {
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) hl_store_bf16(y + i, hl_vload(x + i) * factor);
  if (i < n) hl_store_bf16_part(y + i, n - i, hl_vload_part(x + i, n - i, 0) * factor);
}

/* Rows [first, first + rows) of one head, whose keys and values are packed. */
static void tile(const hl_attention_bf16_args *a, const scratch *s, size_t b, size_t h,
                 size_t first, size_t rows) {
  size_t d = a->head_dim, width = round_up(d, PANEL), padded = round_up(rows, ROWS);
  float top[QUERIES], total[QUERIES];
  for (size_t r = 0; r < rows; r++) {
    top[r] = -INFINITY;
    total[r] = 0;
  }
  ptrdiff_t sb = (ptrdiff_t)b, sh = (ptrdiff_t)h, sf = (ptrdiff_t)first;
  pack_query(a, a->q.data + sb * a->q.batch + sh * a->q.head + sf * a->q.token, rows, s->query);
  const float *mask =
      a->mask ? a->mask + sb * a->mask_batch + sh * a->mask_head + sf * a->mask_query : NULL;
  for (size_t key = 0; key < a->keys; key += KEYS) {
    size_t keys = hl_min(KEYS, a->keys - key), pairs = hl_ceil_div(a->keys, 2);
    multiply(padded, keys, d / 2, s->query, d, s->keys + key * d / 2, d / 2 * PANEL, s->score,
             SCORE_STRIDE, 0);
    softmax_tile(a, s, mask, rows, key, keys, top, total);
    multiply(padded, d, hl_ceil_div(keys, 2), s->weight, WEIGHT_STRIDE, s->values + key / 2 * PANEL,
             pairs * PANEL, s->sum, width, key > 0);
  }
  uint16_t *out = a->out + sb * a->out_batch + sh * a->out_head + sf * a->out_token;
  for (size_t r = 0; r < rows; r++)
    store_row(out + (ptrdiff_t)r * a->out_token, s->sum + r * width, d, 1 / total[r]);
}

typedef struct call {
  const hl_attention_bf16_args *args;
} call;

static void body(void *context, unsigned thread, unsigned threads) {
  const hl_attention_bf16_args *a = ((const call *)context)->args;
  size_t tiles = hl_ceil_div(a->queries, QUERIES), packed = SIZE_MAX;
  hl_share share = hl_share_of(a->batch * a->heads * tiles, thread, threads);
  scratch s = scratch_of(a, thread);
  /* Rows that only fill a tile up take part in the second product, too. */
  memset(s.weight, 0, QUERIES * WEIGHT_STRIDE * sizeof *s.weight);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t head = unit / tiles, b = head / a->heads, h = head % a->heads;
    if (head != packed) {
      ptrdiff_t sb = (ptrdiff_t)b, sh = (ptrdiff_t)h;
      pack_keys(a, a->k.data + sb * a->k.batch + sh * a->k.head, s.keys);
      pack_values(a, a->v.data + sb * a->v.batch + sh * a->v.head, s.values);
      packed = head;
    }
    size_t first = unit % tiles * QUERIES;
    tile(a, &s, b, h, first, hl_min(QUERIES, a->queries - first));
  }
}

void hl_attention_bf16(const hl_attention_bf16_args *args, unsigned threads) {
  call c = {args};
  if (args->keys > 0 && args->head_dim > 0) hl_kernels_parallel(body, &c, threads);
}

bool hl_attention_bf16_suits(const hl_attention_bf16_args *a) {
  const hl_attention_bf16_view *views[] = {&a->q, &a->k, &a->v};
  for (size_t i = 0; i < 3; i++)
    if (views[i]->dim != 1) return false;
  /* whole pairs of a key, at an address that is a multiple of theirs */
  if (a->head_dim % 2 != 0 || a->k.token % 2 != 0 || a->k.head % 2 != 0 || a->k.batch % 2 != 0)
    return false;
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#else

size_t hl_attention_bf16_scratch_bytes(size_t keys, size_t head_dim, unsigned threads) {
  (void)keys, (void)head_dim, (void)threads;
  return 0;
}

void hl_attention_bf16(const hl_attention_bf16_args *args, unsigned threads) {
  (void)args, (void)threads;
}

bool hl_attention_bf16_suits(const hl_attention_bf16_args *args) {
  (void)args;
  return false;
}
#endif
