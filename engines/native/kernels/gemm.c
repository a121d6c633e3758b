/*
 * Products of a matrix with weights in panels of HL_MATVEC_PANEL columns. What a register tile of
 * ROWS x VECTORS does not hold streams by: a tile's rows stay in the L1 cache, a panel's chunk of
 * DEPTH rows in the L2 cache for all tiles of a block of rows. While one chunk is multiplied the
 * next is asked for, a part of it by each tile, so that weights come from memory at the pace at
 * which they are used; so is what a tile's end reads and writes. Sums begin with the bias; a
 * function is applied to a tile that was just written.
 */
#include "gemm-panel.h"

enum {
  ROWS = HL_VECTOR_BYTES == 16 ? 4 : 6,
  VECTORS = HL_VECTOR_BYTES == 64 ? 4 : 2,
  STRIP = VECTORS * HL_LANES, /* columns of a tile */
  PANEL = HL_MATVEC_PANEL,
  DEPTH = 768,            /* at most, of a chunk */
  BLOCK_TILES = 44,       /* at most, of a block of rows */
  LINES = PANEL / 16,     /* cache lines of a panel's row */
  MANY_TILES = 4 * LINES, /* as many ask for a chunk line by line */
};

/* One register tile: c (rows x STRIP) = or += a (rows x depth) · b; `ahead` is what to ask for,
 * `lines` cache lines for every four rows of b. */
typedef struct tile {
  const float *a, *b;
  float *c;
  size_t a_row, c_row, depth;
  const char *ahead;
  size_t lines;
  const float *bias;  /* of the columns: what the sums begin with */
  const float *added; /* what is added to them in the end, as c; or NULL */
} tile;

/* The lines that the tile's end reads and writes, so that they are there by then. */
HL_INLINE void ask_for_ends(size_t rows, const tile *t) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < STRIP; j += 16) {
      size_t at = i * t->c_row + j;
      __builtin_prefetch(t->c + at, 1, 3);
      if (t->added) __builtin_prefetch(t->added + at, 0, 3);
    }
}

HL_INLINE void step(size_t rows, const float *a, size_t a_row, const float *b,
                    vfloat sum[ROWS][VECTORS]) {
  vfloat line[VECTORS];
  HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) line[j] = hl_vload(b + j * HL_LANES);
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) sum[i][j] += a[i * a_row] * line[j];
}

HL_INLINE void multiply(size_t rows, const tile *t) {
  vfloat sum[ROWS][VECTORS];
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) sum[i][j] = hl_vload(t->bias + j * HL_LANES);
  ask_for_ends(rows, t);
  const float *a = t->a, *b = t->b;
  const char *ahead = t->ahead;
  size_t k = 0, a_row = t->a_row, lines = t->lines;
  for (; k + 4 <= t->depth; k += 4) {
    for (size_t l = 0; l < lines; l++, ahead += 64) __builtin_prefetch(ahead, 0, 2);
    for (size_t i = 0; i < 4; i++, a++, b += PANEL) step(rows, a, a_row, b, sum);
  }
  for (; k < t->depth; k++, a++, b += PANEL) step(rows, a, a_row, b, sum);
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) {
    size_t at = i * t->c_row + j * HL_LANES;
    vfloat value = sum[i][j];
    if (t->added) value += hl_vload(t->added + at);
    hl_vstore(t->c + at, value);
  }
}

#define MULTIPLY(rows)                                                                             \
  static void multiply_##rows(const tile *t) {                                                     \
    multiply(rows, t);                                                                             \
  }
/* Macros that end without a semicolon: the formatter would join and indent them. */
/* clang-format off */
MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4)
#if HL_VECTOR_BYTES > 16
MULTIPLY(5) MULTIPLY(6)
#endif

static void (*const by_rows[])(const tile *t) = {
    NULL, multiply_1, multiply_2, multiply_3, multiply_4,
#if HL_VECTOR_BYTES > 16
    multiply_5, multiply_6,
#endif
};
/* clang-format on */

/* Rows [first, end) by one chunk of one panel; `next` is the chunk after it. */
typedef struct piece {
  size_t first, end, panel, chunk, depth;
  const float *next;
} piece;

static void run_piece(const hl_gemm_args *a, const piece *p, const float *bias) {
  static const float none[PANEL] = {0};
  size_t rows = p->end - p->first, tiles = hl_ceil_div(rows, ROWS);
  const float *b = a->w + p->panel * PANEL * a->k + p->chunk * PANEL;
  int last = p->chunk + p->depth == a->k && !(a->function == HL_GEMM_LEAKY && a->slope == 1);
  tile t = {.a_row = a->x_row, .c_row = a->n, .depth = p->depth};
  t.lines = tiles >= MANY_TILES ? 1 : LINES;
  /* What tiles ask for beyond the chunk's end is the first lines of the one after it. */
  t.ahead = (const char *)p->next;
  for (size_t i = 0; i < tiles; i++) {
    size_t row = p->first + rows * i / tiles, count = p->first + rows * (i + 1) / tiles - row;
    float *c = a->y + row * a->n + p->panel * PANEL;
    const float *added = p->chunk > 0 ? c : a->residual;
    if (p->chunk == 0 && added) added += row * a->n + p->panel * PANEL;
    t.a = a->x + row * a->x_row + p->chunk;
    if (i * t.lines >= MANY_TILES) t.lines = 0;
    for (size_t strip = 0; strip < PANEL; strip += STRIP) {
      t.b = b + strip;
      t.c = c + strip;
      t.bias = (p->chunk == 0 ? bias : none) + strip;
      t.added = added ? added + strip : NULL;
      by_rows[count](&t);
    }
    t.ahead += p->depth / 4 * t.lines * 64;
    for (size_t r = 0; last && r < count; r++)
      hl_gemm_finish(a->function, a->slope, c + r * a->n, PANEL);
  }
}

/* Rows [first, end) by panels [begin, stop). */
static void block(const hl_gemm_args *a, size_t first, size_t end, size_t begin, size_t stop) {
  static const float none[PANEL] = {0};
  size_t chunks = hl_ceil_div(a->k, DEPTH);
  for (size_t c = 0; c < chunks; c++) {
    piece p = {.first = first, .end = end, .chunk = a->k * c / chunks / 4 * 4};
    size_t after = c + 1 < chunks ? a->k * (c + 1) / chunks / 4 * 4 : a->k;
    p.depth = after - p.chunk;
    for (p.panel = begin; p.panel < stop; p.panel++) {
      int again = p.panel + 1 == stop;
      size_t row = !again ? p.chunk : c + 1 < chunks ? after : 0;
      p.next = a->w + (again ? begin : p.panel + 1) * PANEL * a->k + row * PANEL;
      run_piece(a, &p, a->bias ? a->bias + p.panel * PANEL : none);
    }
  }
}

void HL_FN(gemm)(const hl_gemm_args *a, unsigned thread, unsigned threads) {
  if (a->m == 0 || a->k == 0 || a->n < PANEL) return;
  hl_gemm_part part = hl_gemm_part_of(a->m, a->n / PANEL, ROWS, thread, threads);
  if (part.first == part.end || part.begin == part.stop) return;
  size_t rows = part.end - part.first, blocks = hl_ceil_div(rows, BLOCK_TILES * ROWS);
  for (size_t i = 0; i < blocks; i++)
    block(a, part.first + rows * i / blocks, part.first + rows * (i + 1) / blocks, part.begin,
          part.stop);
}
