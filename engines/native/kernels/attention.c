/*
 * Attention in tiles of QUERIES rows against blocks of KEYS keys. Per head, keys are packed
 * transposed into panels of PANEL columns and values into panels of PANEL columns, so that both
 * products run on one micro-kernel of ROWS x PANEL held in registers; scores never leave the L1
 * cache. Rows are rescaled as their maximum grows (online softmax).
 */
#include <math.h>

#include "vector.h"

enum {
  ROWS = 6,
  VECTORS = HL_VECTOR_BYTES == 64 ? 4 : 2, /* as many as the registers hold */
  PANEL = VECTORS * HL_LANES,
  PANEL_MAX = 64, /* of any build: the size of the scratch is the same for all */
  QUERIES = 24,
  KEYS = 256,
  SCORE_STRIDE = KEYS + 16, /* no power of two: rows would share cache sets */
};

/* c (ROWS x vectors) = a (ROWS x depth) · b (depth x PANEL), added to c if `add`. */
HL_INLINE void product(size_t vectors, size_t depth, const float *a, size_t a_stride,
                       const float *b, float *c, size_t c_stride, int add) {
  vfloat sum[ROWS][VECTORS];
  HL_UNROLLED
  for (size_t i = 0; i < ROWS; i++) HL_UNROLLED
  for (size_t j = 0; j < vectors; j++) sum[i][j] = (vfloat){0};
  for (size_t k = 0; k < depth; k++, b += PANEL) {
    vfloat row[VECTORS];
    HL_UNROLLED
    for (size_t j = 0; j < vectors; j++) row[j] = hl_vload(b + j * HL_LANES);
    HL_UNROLLED
    for (size_t i = 0; i < ROWS; i++) HL_UNROLLED
    for (size_t j = 0; j < vectors; j++) sum[i][j] += a[i * a_stride + k] * row[j];
  }
  HL_UNROLLED
  for (size_t i = 0; i < ROWS; i++) HL_UNROLLED
  for (size_t j = 0; j < vectors; j++) {
    float *to = c + i * c_stride + j * HL_LANES;
    vfloat value = sum[i][j];
    if (add) value += hl_vload(to);
    hl_vstore(to, value);
  }
}

static void product1(size_t depth, const float *a, size_t as, const float *b, float *c, size_t cs,
                     int add) {
  product(1, depth, a, as, b, c, cs, add);
}

static void product2(size_t depth, const float *a, size_t as, const float *b, float *c, size_t cs,
                     int add) {
  product(2, depth, a, as, b, c, cs, add);
}

#if HL_VECTOR_BYTES == 64
static void product3(size_t depth, const float *a, size_t as, const float *b, float *c, size_t cs,
                     int add) {
  product(3, depth, a, as, b, c, cs, add);
}

static void product4(size_t depth, const float *a, size_t as, const float *b, float *c, size_t cs,
                     int add) {
  product(4, depth, a, as, b, c, cs, add);
}
#endif

/* c (rows x columns) = a (rows x depth) · b, with b in panels `panel_floats` apart; rows are a
 * multiple of ROWS and c has room for columns rounded up to whole vectors. */
static void multiply(size_t rows, size_t columns, size_t depth, const float *a, size_t a_stride,
                     const float *b, size_t panel_floats, float *c, size_t c_stride, int add) {
  static void (*const kernels[])(size_t, const float *, size_t, const float *, float *, size_t,
                                 int) = {
    product1,
    product2,
#if HL_VECTOR_BYTES == 64
    product3,
    product4,
#endif
  };
  for (size_t j = 0; j < columns; j += PANEL, b += panel_floats) {
    size_t vectors = hl_ceil_div(hl_min(PANEL, columns - j), HL_LANES);
    for (size_t i = 0; i < rows; i += ROWS)
      kernels[vectors - 1](depth, a + i * a_stride, a_stride, b, c + i * c_stride + j, c_stride,
                           add);
  }
}

/* One thread's scratch. */
typedef struct scratch {
  float *keys;   /* panels of (head_dim, PANEL) */
  float *values; /* panels of (keys, PANEL) */
  float *query;  /* (QUERIES, head_dim), scaled */
  float *score;  /* (QUERIES, SCORE_STRIDE) */
  float *sum;    /* (QUERIES, head_dim in whole panels) */
} scratch;

static size_t round_up(size_t n, size_t to) {
  return hl_ceil_div(n, to) * to;
}

static size_t thread_floats(size_t keys, size_t d) {
  return round_up(round_up(keys, PANEL_MAX) * d + keys * round_up(d, PANEL_MAX) + QUERIES * d +
                      QUERIES * SCORE_STRIDE + QUERIES * round_up(d, PANEL_MAX),
                  16);
}

#ifdef HL_KERNEL_SCRATCH
size_t hl_attention_scratch_bytes(size_t keys, size_t head_dim, unsigned threads) {
  return thread_floats(keys, head_dim) * sizeof(float) * threads;
}
#endif

static scratch scratch_of(const hl_attention_args *a, unsigned thread) {
  float *p = (float *)a->scratch + thread * thread_floats(a->keys, a->head_dim);
  scratch s = {.keys = p};
  s.values = s.keys + round_up(a->keys, PANEL_MAX) * a->head_dim;
  s.score = s.values + a->keys * round_up(a->head_dim, PANEL_MAX);
  s.sum = s.score + QUERIES * SCORE_STRIDE;
  s.query = s.sum + QUERIES * round_up(a->head_dim, PANEL_MAX);
  return s;
}

static void pack_keys(const hl_attention_args *a, const float *k, float *ret) {
  size_t d = a->head_dim;
  for (size_t first = 0; first < a->keys; first += PANEL, ret += d * PANEL) {
    size_t count = hl_min(PANEL, a->keys - first);
    const float *from = k + (ptrdiff_t)first * a->k.token;
    if (a->k.dim == 1) {
      hl_transpose(ret, PANEL, from, a->k.token, d, count);
    } else {
      for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l < count; l++)
          ret[i * PANEL + l] = from[(ptrdiff_t)l * a->k.token + (ptrdiff_t)i * a->k.dim];
    }
    for (size_t i = 0; count < PANEL && i < d; i++) /* scores of no keys must be finite */
      memset(ret + i * PANEL + count, 0, (PANEL - count) * sizeof *ret);
  }
}

static void pack_values(const hl_attention_args *a, const float *v, float *ret) {
  size_t d = a->head_dim;
  for (size_t first = 0; first < d; first += PANEL)
    for (size_t j = 0; j < a->keys; j++, ret += PANEL) {
      const float *from = v + (ptrdiff_t)j * a->v.token + (ptrdiff_t)first * a->v.dim;
      size_t count = hl_min(PANEL, d - first);
      if (count == PANEL && a->v.dim == 1) {
        for (size_t l = 0; l < PANEL; l += HL_LANES) hl_vstore(ret + l, hl_vload(from + l));
        continue;
      }
      for (size_t l = 0; l < count; l++) ret[l] = from[(ptrdiff_t)l * a->v.dim];
      for (size_t l = count; l < PANEL; l++) ret[l] = 0;
    }
}

static void pack_query(const hl_attention_args *a, const float *q, size_t rows, float *ret) {
  size_t d = a->head_dim;
  float scale = a->scale;
  for (size_t r = 0; r < rows; r++) {
    const float *from = q + (ptrdiff_t)r * a->q.token;
    float *to = ret + r * d;
    if (a->q.dim == 1) {
#pragma omp simd
      for (size_t i = 0; i < d; i++) to[i] = from[i] * scale;
    } else {
      for (size_t i = 0; i < d; i++) to[i] = from[(ptrdiff_t)i * a->q.dim] * scale;
    }
  }
  memset(ret + rows * d, 0, (round_up(rows, ROWS) - rows) * d * sizeof *ret);
}

/* A row of scores to exp(score - top); returns the factor for what was summed before. */
static float softmax_block(float *x, const float *mask, size_t n, float *top, float *total) {
  float largest = mask ? hl_row_scale(x, x, mask, n, 1) : hl_row_max(x, n);
  largest = largest > *top ? largest : *top;
  float base = largest > -INFINITY ? largest : 0; /* all masked so far: every exponential is 0 */
  float sum = hl_row_exp(x, x, n, base);
  float factor = *top > -INFINITY ? expf(*top - base) : 0;
  *top = largest;
  *total = *total * factor + sum;
  return factor;
}

/* Softmax of a block of keys for all rows of a tile, and the rescaling of their sums. */
static void softmax_tile(const hl_attention_args *a, const scratch *s, const float *mask,
                         size_t rows, size_t first_key, size_t keys, float *top, float *total) {
  size_t width = round_up(a->head_dim, PANEL);
  for (size_t r = 0; r < rows; r++) {
    const float *m = mask ? mask + (ptrdiff_t)r * a->mask_query + first_key : NULL;
    float factor = softmax_block(s->score + r * SCORE_STRIDE, m, keys, &top[r], &total[r]);
    if (first_key == 0 || factor == 1) continue;
    float *sum = s->sum + r * width;
    for (size_t i = 0; i < width; i++) sum[i] *= factor;
  }
}

/* Rows [first, first + rows) of one head, whose keys and values are packed. */
static void tile(const hl_attention_args *a, const scratch *s, size_t b, size_t h, size_t first,
                 size_t rows) {
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
    size_t keys = hl_min(KEYS, a->keys - key);
    multiply(padded, keys, d, s->query, d, s->keys + key * d, d * PANEL, s->score, SCORE_STRIDE, 0);
    softmax_tile(a, s, mask, rows, key, keys, top, total);
    multiply(padded, d, keys, s->score, SCORE_STRIDE, s->values + key * PANEL, a->keys * PANEL,
             s->sum, width, key > 0);
  }
  float *out = a->out + sb * a->out_batch + sh * a->out_head + sf * a->out_token;
  for (size_t r = 0; r < rows; r++) {
    float inverse = 1 / total[r], *to = out + (ptrdiff_t)r * a->out_token;
    const float *from = s->sum + r * width;
#pragma omp simd
    for (size_t i = 0; i < d; i++) to[i] = from[i] * inverse;
  }
}

/* Asks for rows [first, end) of a head that lie far apart, so that the processor would not foresee
 * them. */
static void ask_for(const hl_attention_view *x, size_t d, size_t b, size_t h, size_t first,
                    size_t end) {
  if (x->dim != 1) return;
  const float *from = x->data + (ptrdiff_t)b * x->batch + (ptrdiff_t)h * x->head;
  for (size_t r = first; r < end; r++)
    for (size_t i = 0; i < d; i += 16) __builtin_prefetch(from + (ptrdiff_t)r * x->token + i, 0, 2);
}

void HL_FN(attention)(const hl_attention_args *a, unsigned thread, unsigned threads) {
  if (a->keys == 0 || a->head_dim == 0) return;
  size_t tiles = hl_ceil_div(a->queries, QUERIES), packed = SIZE_MAX;
  hl_share share = hl_share_of(a->batch * a->heads * tiles, thread, threads);
  scratch s = scratch_of(a, thread);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t head = unit / tiles, b = head / a->heads, h = head % a->heads;
    if (head != packed) {
      ptrdiff_t sb = (ptrdiff_t)b, sh = (ptrdiff_t)h;
      pack_keys(a, a->k.data + sb * a->k.batch + sh * a->k.head, s.keys);
      pack_values(a, a->v.data + sb * a->v.batch + sh * a->v.head, s.values);
      packed = head;
    }
    size_t at = unit % tiles, first = at * QUERIES, next = head + 1;
    if (next * tiles < share.end) { /* a part of the next head's keys and values with each tile */
      size_t begin = a->keys * at / tiles, end = a->keys * (at + 1) / tiles;
      ask_for(&a->k, a->head_dim, next / a->heads, next % a->heads, begin, end);
      ask_for(&a->v, a->head_dim, next / a->heads, next % a->heads, begin, end);
    }
    tile(a, &s, b, h, first, hl_min(QUERIES, a->queries - first));
  }
}
