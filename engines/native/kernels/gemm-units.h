/*
 * native/kernels/gemm-units.h - products of 4-byte units: two bfloat16 or four 8-bit numbers, which
 * one instruction multiplies and adds to a sum of 4 bytes; private. Otherwise as gemm.c.
 *
 * The file that includes this defines hl_sum (a vector of sums), HL_DOT(sum, a, b), what asks for
 * the lines that the end of a register tile reads and writes, ask_for_ends, and two such ends:
 * store_tile, which gets the sums where they are, and finish_rows, which gets them
 * in memory.
 */
#ifndef HL_NATIVE_GEMM_UNITS_H
#define HL_NATIVE_GEMM_UNITS_H

#include "gemm-panel.h"

enum {
  ROWS = 6,
  VECTORS = HL_MATVEC_PANEL / HL_LANES,
  PANEL = HL_MATVEC_PANEL,
  BLOCK_ROWS = 264, /* at most, of rows that share a panel in the L2 cache */
  MANY_TILES = 16,  /* as many ask for the next panel line by line */
};

/* How a register tile ends: the sums in memory; where they are; so, with a residual. */
enum { HL_END_IN_MEMORY, HL_END_AT_ONCE, HL_END_RESIDUAL };

/* One register tile, at `row` and `column` of the result; `ahead` is what to ask for, `lines` cache
 * lines for every four rows of b. */
typedef struct tile {
  const uint32_t *a, *b;
  size_t a_row, units; /* from row to row, and in one */
  const char *ahead;
  size_t lines;
  const void *args;
  size_t row, column;
} tile;

HL_INLINE void ask_for_ends(const tile *t, size_t rows);
HL_INLINE void store_tile(const tile *t, size_t rows, hl_sum sum[ROWS][VECTORS], int end);
static void finish_rows(const tile *t, size_t rows, const hl_sum *sums);

HL_INLINE void step(size_t rows, const tile *t, size_t k, const uint32_t *b,
                    hl_sum sum[ROWS][VECTORS]) {
  __m512i line[VECTORS];
  HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) line[j] = _mm512_loadu_si512(b + j * HL_LANES);
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) {
    int32_t unit;
    memcpy(&unit, t->a + i * t->a_row + k, sizeof unit);
    __m512i all = _mm512_set1_epi32(unit);
    HL_UNROLLED
    for (size_t j = 0; j < VECTORS; j++) sum[i][j] = HL_DOT(sum[i][j], all, line[j]);
  }
}

HL_INLINE void multiply(size_t rows, const tile *given, int end) {
  const tile t = *given;
  hl_sum sum[ROWS][VECTORS];
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) sum[i][j] = (hl_sum){0};
  const uint32_t *b = t.b;
  const char *ahead = t.ahead;
  size_t k = 0;
  ask_for_ends(&t, rows);
  for (; k + 4 <= t.units; k += 4) {
    for (size_t l = 0; l < t.lines; l++, ahead += 64) __builtin_prefetch(ahead, 0, 2);
    HL_ROLLED
    for (size_t i = 0; i < 4; i++, b += PANEL) step(rows, &t, k + i, b, sum);
  }
  for (; k < t.units; k++, b += PANEL) step(rows, &t, k, b, sum);
  if (end != HL_END_IN_MEMORY) {
    store_tile(&t, rows, sum, end);
    return;
  }
  hl_sum kept[ROWS * VECTORS];
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) kept[i * VECTORS + j] = sum[i][j];
  finish_rows(&t, rows, kept);
}

#define MULTIPLY(rows)                                                                             \
  static void in_memory_##rows(const tile *t) {                                                    \
    multiply(rows, t, HL_END_IN_MEMORY);                                                           \
  }                                                                                                \
  static void at_once_##rows(const tile *t) {                                                      \
    multiply(rows, t, HL_END_AT_ONCE);                                                             \
  }                                                                                                \
  static void residual_##rows(const tile *t) {                                                     \
    multiply(rows, t, HL_END_RESIDUAL);                                                            \
  }
/* Macros that end without a semicolon: the formatter would join and indent them. */
/* clang-format off */
MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4) MULTIPLY(5) MULTIPLY(6)

static void (*const by_rows[][ROWS + 1])(const tile *t) = {
    {NULL, in_memory_1, in_memory_2, in_memory_3, in_memory_4, in_memory_5, in_memory_6},
    {NULL, at_once_1, at_once_2, at_once_3, at_once_4, at_once_5, at_once_6},
    {NULL, residual_1, residual_2, residual_3, residual_4, residual_5, residual_6},
};
/* clang-format on */

typedef struct product {
  const uint32_t *x, *w;
  size_t m, n, units; /* units of a row of x */
  const void *args;
  int end;
} product;

/* Rows [first, end) by one panel; `next` is the panel after it. */
static void run_panel(const product *p, size_t first, size_t end, size_t panel, size_t next) {
  size_t rows = end - first, tiles = hl_ceil_div(rows, ROWS);
  tile t = {.b = p->w + panel * p->units * PANEL,
            .a_row = p->units,
            .units = p->units,
            .ahead = (const char *)(p->w + next * p->units * PANEL),
            .lines = tiles >= MANY_TILES ? 1 : VECTORS,
            .args = p->args,
            .column = panel * PANEL};
  for (size_t i = 0; i < tiles; i++) {
    size_t end_row = first + rows * (i + 1) / tiles;
    t.row = first + rows * i / tiles;
    t.a = p->x + t.row * p->units;
    if (i * t.lines >= MANY_TILES) t.lines = 0;
    by_rows[p->end][end_row - t.row](&t);
    t.ahead += p->units / 4 * t.lines * 64;
  }
}

/* The whole product; not every file that includes this needs it. */
__attribute__((unused)) static void share(void *context, unsigned thread, unsigned threads) {
  const product *p = context;
  hl_gemm_part part = hl_gemm_part_of(p->m, p->n / PANEL, ROWS, thread, threads);
  if (part.first == part.end) return;
  size_t rows = part.end - part.first, blocks = hl_ceil_div(rows, BLOCK_ROWS);
  for (size_t i = 0; i < blocks; i++)
    for (size_t panel = part.begin; panel < part.stop; panel++)
      run_panel(p, part.first + rows * i / blocks, part.first + rows * (i + 1) / blocks, panel,
                panel + 1 < part.stop ? panel + 1 : part.begin);
}

#endif
