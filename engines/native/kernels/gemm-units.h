/*
 * native/kernels/gemm-units.h - products of 4-byte units: two bfloat16 or four 8-bit numbers, which
 * one instruction multiplies and adds to a sum of 4 bytes; private.
 *
 * Weights lie in panels of `width` columns (64, 32 or 16), each (taps · units, width) units. A
 * panel's sums are made for a register tile of rows at a time, whole, and handed to `finish`. The
 * file that includes this defines hl_sum (a vector of sums) and HL_DOT(sum, a, b).
 */
#ifndef HL_NATIVE_GEMM_UNITS_H
#define HL_NATIVE_GEMM_UNITS_H

#include "gemm-panel.h"
#include "gemm-rows.h"

enum {
  TILE_ROWS = 8,
  BLOCK_ROWS = 264, /* at most, of rows that share a panel in the L2 cache */
  MANY_TILES = 16,  /* as many ask for the next panel line by line */
};

/* One register tile: `a` points to its rows, tap by tap; `ahead` is what to ask for, `lines` cache
 * lines for every four rows of b. */
typedef struct tile {
  const uint32_t *a[HL_GEMM_TAPS * TILE_ROWS];
  const uint32_t *b;
  size_t taps, units;
  const char *ahead;
  size_t lines;
} tile;

HL_INLINE void step(size_t rows, size_t vectors, const uint32_t *const *a, size_t k,
                    const uint32_t *b, hl_sum sum[TILE_ROWS][4]) {
  __m512i line[4];
  for (size_t j = 0; j < vectors; j++) line[j] = _mm512_loadu_si512(b + j * HL_LANES);
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) {
    int32_t unit;
    memcpy(&unit, a[i] + k, sizeof unit);
    __m512i both = _mm512_set1_epi32(unit);
    for (size_t j = 0; j < vectors; j++) sum[i][j] = HL_DOT(sum[i][j], both, line[j]);
  }
}

HL_INLINE void multiply(size_t rows, size_t vectors, const tile *t, hl_sum *ret) {
  hl_sum sum[TILE_ROWS][4];
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) sum[i][j] = (hl_sum){0};
  const uint32_t *b = t->b;
  const char *ahead = t->ahead;
  size_t units = t->units, lines = t->lines, width = vectors * HL_LANES;
  for (size_t tap = 0; tap < t->taps; tap++) {
    const uint32_t *a[TILE_ROWS];
    for (size_t i = 0; i < rows; i++) a[i] = t->a[tap * rows + i];
    size_t k = 0;
    for (; k + 4 <= units; k += 4) {
      for (size_t l = 0; l < lines; l++, ahead += 64) __builtin_prefetch(ahead, 0, 2);
      for (size_t i = 0; i < 4; i++, b += width) step(rows, vectors, a, k + i, b, sum);
    }
    for (; k < units; k++, b += width) step(rows, vectors, a, k, b, sum);
  }
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) ret[i * vectors + j] = sum[i][j];
}

#define MULTIPLY(rows, vectors)                                                                    \
  static void multiply_##vectors##_##rows(const tile *t, hl_sum *ret) {                            \
    multiply(rows, vectors, t, ret);                                                               \
  }
/* Macros that end without a semicolon: the formatter would join and indent them. */
/* clang-format off */
MULTIPLY(1, 4) MULTIPLY(2, 4) MULTIPLY(3, 4) MULTIPLY(4, 4) MULTIPLY(5, 4) MULTIPLY(6, 4)
MULTIPLY(1, 2) MULTIPLY(2, 2) MULTIPLY(3, 2) MULTIPLY(4, 2) MULTIPLY(5, 2) MULTIPLY(6, 2)
MULTIPLY(7, 2) MULTIPLY(8, 2)
MULTIPLY(1, 1) MULTIPLY(2, 1) MULTIPLY(3, 1) MULTIPLY(4, 1) MULTIPLY(5, 1) MULTIPLY(6, 1)
MULTIPLY(7, 1) MULTIPLY(8, 1)

static void (*const by_rows[][TILE_ROWS + 1])(const tile *t, hl_sum *ret) = {
    {NULL, multiply_1_1, multiply_1_2, multiply_1_3, multiply_1_4, multiply_1_5, multiply_1_6,
     multiply_1_7, multiply_1_8},
    {NULL, multiply_2_1, multiply_2_2, multiply_2_3, multiply_2_4, multiply_2_5, multiply_2_6,
     multiply_2_7, multiply_2_8},
    {NULL},
    {NULL, multiply_4_1, multiply_4_2, multiply_4_3, multiply_4_4, multiply_4_5, multiply_4_6},
};
/* clang-format on */

/* A product, or the part of it that a thread does. */
typedef struct product {
  const void *x, *w;
  size_t m, n, width, units; /* of the result; columns of a panel; units of a pixel */
  hl_gemm_rows rows;
  /* `rows` rows of sums, from row `row` and column `column` of the result on. */
  void (*finish)(const void *args, const hl_sum *sums, size_t row, size_t rows, size_t column);
  const void *args;
} product;

/* Where a row of the result is. */
typedef struct cursor {
  size_t picture, line, column;
} cursor;

static cursor cursor_of(const hl_gemm_rows *r, size_t row) {
  if (!r->lines) return (cursor){0, 0, 0};
  size_t line = row / r->columns;
  return (cursor){line / r->line_count, line % r->line_count, row % r->columns};
}

/* Points to the pixels of `count` rows, and moves on. */
static void gather(const product *p, cursor *at, size_t first, size_t count, tile *t) {
  const hl_gemm_rows *r = &p->rows;
  const uint32_t *x = p->x;
  size_t across = r->lines ? r->taps / r->along : 0;
  for (size_t i = 0; i < count; i++) {
    if (!r->lines) {
      t->a[i] = x + (first + i) * p->units;
      continue;
    }
    const uint32_t *picture = x + at->picture * r->pixels * p->units, **to = t->a + i;
    const int32_t *lines = r->lines + at->line * across, *cells = r->cells + at->column * r->along;
    for (size_t k = 0; k < across; k++)
      for (size_t l = 0; l < r->along; l++, to += count)
        *to = lines[k] < 0 || cells[l] < 0
                  ? r->outside
                  : picture + ((size_t)lines[k] + (size_t)cells[l]) * p->units;
    if (++at->column < r->columns) continue;
    at->column = 0;
    if (++at->line < r->line_count) continue;
    at->line = 0;
    at->picture++;
  }
}

/* Rows [first, end) by one panel; `next` is the panel after it. */
static void run_panel(const product *p, size_t first, size_t end, size_t panel, size_t next) {
  const uint32_t *w = p->w;
  size_t vectors = p->width / HL_LANES, most = vectors == 4 ? 6 : TILE_ROWS, rows = end - first;
  size_t tiles = hl_ceil_div(rows, most), floats = p->rows.taps * p->units * p->width;
  cursor at = cursor_of(&p->rows, first);
  tile t;
  t.b = w + panel * floats;
  t.taps = p->rows.taps;
  t.units = p->units;
  t.ahead = (const char *)(w + next * floats);
  t.lines = tiles >= MANY_TILES ? 1 : vectors;
  size_t asked = 0;
  for (size_t i = 0; i < tiles; i++) {
    size_t row = first + rows * i / tiles, count = first + rows * (i + 1) / tiles - row;
    hl_sum sums[TILE_ROWS * 4];
    gather(p, &at, row, count, &t);
    if (asked >= floats * sizeof(uint32_t)) t.lines = 0;
    by_rows[vectors - 1][count](&t, sums);
    size_t more = p->rows.taps * (p->units / 4) * t.lines * 64;
    asked += more;
    t.ahead += more;
    p->finish(p->args, sums, row, count, panel * p->width);
  }
}

static void share(const product *p, unsigned thread, unsigned threads) {
  size_t most = p->width == 64 ? 6 : TILE_ROWS;
  hl_gemm_part part = hl_gemm_part_of(p->m, p->n / p->width, most, thread, threads);
  if (part.first == part.end) return;
  size_t rows = part.end - part.first, blocks = hl_ceil_div(rows, BLOCK_ROWS);
  for (size_t i = 0; i < blocks; i++)
    for (size_t panel = part.begin; panel < part.stop; panel++)
      run_panel(p, part.first + rows * i / blocks, part.first + rows * (i + 1) / blocks, panel,
                panel + 1 < part.stop ? panel + 1 : part.begin);
}

/* Columns of a panel where a result has n: 0 if there is none. */
HL_INLINE size_t width_of(size_t n) {
  return n == 0 ? 0 : n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : n % 16 == 0 ? 16 : 0;
}

#endif
