/*
 * The loops. A thread's tiles are done in blocks whose transformed input stays in the L2 cache:
 * transform the input of a block (36 planes of tiles x channels); for every panel of 64 output
 * channels 36 small matrix products; transform back, add the bias, apply the function. With few
 * tiles (small pictures, small batches) the threads share the transformed input and each takes a
 * part of the output channels instead, so that no weight is read twice.
 */
#include "winograd/winograd.h"
#include "kernels/kernels.h"
#include <string.h>

enum {
  LANES = 16,
  OUT = 4,      /* a tile's side */
  IN = OUT + 2, /* of its input */
  POINTS = IN * IN,
  PANEL = 64, /* output channels at a time */
  L2_FLOATS = 200 * 1024,
  FEW_TILES = 12, /* a thread; with fewer, threads share the input */
};

typedef float vfloat __attribute__((vector_size(64), may_alias, aligned(64)));
typedef int32_t vint __attribute__((vector_size(64), may_alias));
typedef float vloose __attribute__((vector_size(64), may_alias, aligned(4)));

#define INLINE static inline __attribute__((always_inline))

#define A 0.70710678118654752f /* the points are ±A and ±B; A * B = 1 */
#define B 1.41421356237309505f

/* How the work is cut. */
typedef struct cut {
  size_t rows, columns, tiles; /* tiles down, across, in all pictures */
  size_t ic, oc;               /* rounded up to blocks */
  bool shared;                 /* threads share the transformed input */
  size_t block;                /* tiles at a time */
  size_t v_plane, m_plane;     /* floats between planes; 16 more than full, so that planes do not
                                  fall into the same cache sets */
} cut;

static size_t round_up(size_t x, size_t to) {
  return (x + to - 1) / to * to;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static cut cut_of(const hl_winograd_shape *s) {
  cut c = {.rows = (s->oh + OUT - 1) / OUT, .columns = (s->ow + OUT - 1) / OUT};
  c.tiles = s->n * c.rows * c.columns;
  c.ic = round_up(s->ic, LANES);
  c.oc = round_up(s->oc, LANES);
  size_t each = (c.tiles + s->threads - 1) / s->threads;
  c.shared = s->threads > 1 && each < FEW_TILES;
  size_t most = L2_FLOATS / (POINTS * (c.ic + PANEL));
  if (most < 6) most = 6;
  size_t blocks = each > most ? (each + most - 1) / most : 1;
  c.block = c.shared ? c.tiles : (each + blocks - 1) / blocks;
  c.v_plane = c.block * c.ic + LANES;
  c.m_plane = c.block * PANEL + LANES;
  return c;
}

bool hl_winograd_suits(const hl_winograd_shape *s) {
  if (strcmp(hl_kernels_select()->isa, "avx512") != 0) return false;
  if (s->ic < 32 || s->oc < 32 || s->oc % 32 != 0 || s->ic % LANES != 0) return false;
  if (s->oh < OUT || s->ow < OUT || s->n == 0) return false;
  cut c = cut_of(s);
  /* Tiles that hang over the edge are work for nothing. */
  size_t covered = c.rows * c.columns * OUT * OUT;
  if (covered * 2 > s->oh * s->ow * 3) return false;
  /* With few tiles reading the weights, four times as many as before, takes longer than the
   * arithmetic that is saved. */
  return c.tiles >= FEW_TILES || hl_winograd_weight_bytes(s) <= (uint64_t)3 << 20;
}

uint64_t hl_winograd_weight_bytes(const hl_winograd_shape *s) {
  cut c = cut_of(s);
  return (uint64_t)POINTS * c.ic * c.oc * sizeof(float);
}

uint64_t hl_winograd_scratch_bytes(const hl_winograd_shape *s) {
  cut c = cut_of(s);
  uint64_t v = (uint64_t)POINTS * c.v_plane, m = (uint64_t)POINTS * c.m_plane;
  return ((c.shared ? v : v * s->threads) + m * s->threads) * sizeof(float);
}

double hl_winograd_flops(const hl_winograd_shape *s) {
  cut c = cut_of(s);
  return 2.0 * POINTS * (double)c.tiles * (double)c.ic * (double)c.oc;
}

/* -- weights -------------------------------------------------------------------------------- */

/* Sixteen output channels in double precision. */
typedef double vdouble __attribute__((vector_size(128)));

/* G g: three taps to six points. */
INLINE void transform_taps(const vdouble g[3], vdouble ret[IN]) {
  const double a = 0.70710678118654752440, b = 1.41421356237309504880;
  vdouble even = g[0] + 0.5 * g[2], odd = a * g[1];
  ret[0] = g[0];
  ret[1] = (even + odd) * (-2.0 / 3.0); /* 1 / (2 a² (a² - b²)) */
  ret[2] = (even - odd) * (-2.0 / 3.0);
  even = g[0] + 2.0 * g[2];
  odd = b * g[1];
  ret[3] = (even + odd) * (1.0 / 6.0); /* 1 / (2 b² (b² - a²)) */
  ret[4] = (even - odd) * (1.0 / 6.0);
  ret[5] = g[2];
}

typedef struct weight_run {
  const hl_winograd_shape *shape;
  const char *kernel;
  const float *scale;
  float *u;
} weight_run;

/* Taps of output channels o to o + 15 and input channel i, scaled. */
static void load_taps(const weight_run *r, size_t o, size_t i, vdouble taps[9]) {
  const hl_winograd_shape *s = r->shape;
  for (size_t l = 0; l < LANES; l++) {
    float own[9] = {0};
    if (o + l < s->oc) memcpy(own, r->kernel + ((o + l) * s->ic + i) * sizeof(own), sizeof(own));
    double factor = r->scale && o + l < s->oc ? (double)r->scale[o + l] : 1.0;
    for (int k = 0; k < 9; k++) taps[k][l] = (double)own[k] * factor;
  }
}

/* [point][panel][input channel][64 output channels] */
static void transform_weights(const weight_run *r, size_t o) {
  cut c = cut_of(r->shape);
  size_t panel = o / PANEL, width = smaller(PANEL, c.oc - panel * PANEL);
  for (size_t i = 0; i < c.ic; i++) {
    float *to = r->u + panel * PANEL * c.ic + i * width + o % PANEL;
    vdouble taps[9] = {{0}}, half[3][IN], column[3], full[IN];
    if (i < r->shape->ic) load_taps(r, o, i, taps);
    for (int k = 0; k < 3; k++) transform_taps(&taps[3 * k], half[k]);
    for (int x = 0; x < IN; x++) {
      for (int k = 0; k < 3; k++) column[k] = half[k][x];
      transform_taps(column, full);
      for (int y = 0; y < IN; y++)
        for (int l = 0; l < LANES; l++)
          to[(size_t)(y * IN + x) * c.ic * c.oc + (size_t)l] = (float)full[y][l];
    }
  }
}

static void own_weights(void *context, unsigned thread, unsigned threads) {
  const weight_run *r = context;
  size_t blocks = round_up(r->shape->oc, LANES) / LANES;
  for (size_t b = blocks * thread / threads; b < blocks * (thread + 1) / threads; b++)
    transform_weights(r, b * LANES);
}

void hl_winograd_weights(const hl_winograd_shape *s, const void *kernel, const float *scale,
                         float *u) {
  weight_run r = {.shape = s, .kernel = kernel, .scale = scale, .u = u};
  hl_kernels_parallel(own_weights, &r, s->threads);
}

/* -- transforms ----------------------------------------------------------------------------- */

/* Bᵀ d: six cells to six points. */
INLINE void transform_cells(const vfloat d[IN], vfloat ret[IN]) {
  vfloat even = d[4] - 2.0f * d[2], odd = A * (d[3] - 2.0f * d[1]);
  ret[0] = d[0] - 2.5f * d[2] + d[4];
  ret[1] = even + odd;
  ret[2] = even - odd;
  even = d[4] - 0.5f * d[2];
  odd = B * (d[3] - 0.5f * d[1]);
  ret[3] = even + odd;
  ret[4] = even - odd;
  ret[5] = d[1] - 2.5f * d[3] + d[5];
}

/* Aᵀ m: six points to four results. */
INLINE void transform_back(const vfloat m[IN], vfloat ret[OUT]) {
  vfloat s1 = m[1] + m[2], d1 = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
  ret[0] = m[0] + s1 + s2;
  ret[1] = A * d1 + B * d2;
  ret[2] = 0.5f * s1 + 2.0f * s2;
  ret[3] = (0.5f * A) * d1 + (2.0f * B) * d2 + m[5];
}

/* One tile's 6x6 cells of 16 channels; `x` is the plane, (top, left) may lie outside. */
INLINE void load_cells(const float *x, ptrdiff_t h, ptrdiff_t w, ptrdiff_t top, ptrdiff_t left,
                       vfloat cells[IN][IN]) {
  if (top >= 0 && left >= 0 && top + IN <= h && left + IN <= w) {
    const float *at = x + (top * w + left) * LANES;
    for (ptrdiff_t r = 0; r < IN; r++)
      for (ptrdiff_t k = 0; k < IN; k++) cells[r][k] = *(const vloose *)(at + (r * w + k) * LANES);
    return;
  }
  for (ptrdiff_t r = 0; r < IN; r++)
    for (ptrdiff_t k = 0; k < IN; k++) {
      bool inside = top + r >= 0 && top + r < h && left + k >= 0 && left + k < w;
      cells[r][k] =
          inside ? *(const vloose *)(x + ((top + r) * w + left + k) * LANES) : (vfloat){0};
    }
}

static void input_tile(const float *x, ptrdiff_t h, ptrdiff_t w, ptrdiff_t top, ptrdiff_t left,
                       float *v, size_t plane) {
  vfloat cells[IN][IN], half[IN][IN];
  load_cells(x, h, w, top, left, cells);
  for (int r = 0; r < IN; r++) transform_cells(cells[r], half[r]);
  for (int k = 0; k < IN; k++) {
    vfloat column[IN], points[IN];
    for (int r = 0; r < IN; r++) column[r] = half[r][k];
    transform_cells(column, points);
    for (int r = 0; r < IN; r++) *(vfloat *)(v + (size_t)(r * IN + k) * plane) = points[r];
  }
}

/* A tile's results of 16 channels at y, of which `rows` x `columns` lie inside; `residual` lies as
 * y or is NULL. */
static void output_tile(const float *m, size_t plane, vfloat bias, const float *residual,
                        float slope, float *y, size_t row_floats, size_t rows, size_t columns) {
  vfloat half[OUT][IN];
  for (int k = 0; k < IN; k++) {
    vfloat column[IN], back[OUT];
    for (int r = 0; r < IN; r++) column[r] = *(const vfloat *)(m + (size_t)(r * IN + k) * plane);
    transform_back(column, back);
    for (int r = 0; r < OUT; r++) half[r][k] = back[r];
  }
  for (size_t r = 0; r < rows; r++) {
    vfloat result[OUT];
    transform_back(half[r], result);
    for (size_t k = 0; k < columns; k++) {
      size_t at = r * row_floats + k * LANES;
      vfloat value = result[k] + bias;
      if (residual) value += *(const vloose *)(residual + at);
      vint positive = value > 0.0f;
      value = (vfloat)((positive & (vint)value) | (~positive & (vint)(value * slope)));
      *(vloose *)(y + at) = value;
    }
  }
}

/* -- products ------------------------------------------------------------------------------- */

/* c (rows x 16 vectors) = a (rows x depth) · b (depth x 16 vectors) */
INLINE void product(size_t rows, size_t vectors, size_t depth, const float *a, const float *b,
                    float *c) {
  vfloat sum[12][4];
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) sum[i][j] = (vfloat){0};
  for (size_t k = 0; k < depth; k++, b += vectors * LANES) {
    vfloat row[4];
    for (size_t j = 0; j < vectors; j++) row[j] = *(const vfloat *)(b + j * LANES);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < vectors; j++) sum[i][j] += a[i * depth + k] * row[j];
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) *(vfloat *)(c + i * PANEL + j * LANES) = sum[i][j];
}

typedef void (*product_fn)(size_t depth, const float *a, const float *b, float *c);

#define PRODUCT(rows, vectors)                                                                     \
  static void product_##vectors##_##rows(size_t depth, const float *a, const float *b, float *c) { \
    product(rows, vectors, depth, a, b, c);                                                        \
  }
/* Macros that end without a semicolon: the formatter would join and indent them. */
/* clang-format off */
PRODUCT(1, 4) PRODUCT(2, 4) PRODUCT(3, 4) PRODUCT(4, 4) PRODUCT(5, 4) PRODUCT(6, 4)
PRODUCT(1, 2) PRODUCT(2, 2) PRODUCT(3, 2) PRODUCT(4, 2) PRODUCT(5, 2) PRODUCT(6, 2)
PRODUCT(7, 2) PRODUCT(8, 2) PRODUCT(9, 2) PRODUCT(10, 2) PRODUCT(11, 2) PRODUCT(12, 2)
    /* clang-format on */

    static const product_fn products_4[] = {product_4_1, product_4_2, product_4_3,
                                            product_4_4, product_4_5, product_4_6};
static const product_fn products_2[] = {product_2_1, product_2_2,  product_2_3,  product_2_4,
                                        product_2_5, product_2_6,  product_2_7,  product_2_8,
                                        product_2_9, product_2_10, product_2_11, product_2_12};

static void multiply(size_t tiles, size_t width, size_t depth, const float *v, const float *u,
                     float *m) {
  const product_fn *table = width == PANEL ? products_4 : products_2;
  size_t most = width == PANEL ? 6 : 12;
  /* Even pieces: 14 rows as 5, 5 and 4, not 6, 6 and 2. */
  size_t pieces = (tiles + most - 1) / most;
  for (size_t p = 0, at = 0; p < pieces; p++) {
    size_t rows = (tiles - at + pieces - p - 1) / (pieces - p);
    table[rows - 1](depth, v + at * depth, u, m + at * PANEL);
    at += rows;
  }
}

/* -- the whole ------------------------------------------------------------------------------ */

typedef struct run {
  const hl_winograd_shape *shape;
  cut cut;
  const float *x, *u, *bias, *residual;
  float slope, *y, *scratch;
} run;

/* Picture, row and column of a tile. */
typedef struct place {
  size_t picture, row, column;
} place;

static place place_of(const cut *c, size_t tile) {
  size_t of_picture = c->rows * c->columns, rest = tile % of_picture;
  return (place){tile / of_picture, rest / c->columns, rest % c->columns};
}

/* Tiles [first, first + count) of channel blocks [begin, end) into v. */
static void transform_input(const run *r, size_t first, size_t count, size_t begin, size_t end,
                            float *v) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  size_t blocks = c->ic / LANES, picture_floats = s->h * s->w * LANES;
  for (size_t t = 0; t < count; t++) {
    place at = place_of(c, first + t);
    for (size_t b = begin; b < end; b++)
      input_tile(r->x + (at.picture * blocks + b) * picture_floats, (ptrdiff_t)s->h,
                 (ptrdiff_t)s->w, (ptrdiff_t)(at.row * OUT) - (ptrdiff_t)s->top,
                 (ptrdiff_t)(at.column * OUT) - (ptrdiff_t)s->left, v + t * c->ic + b * LANES,
                 c->v_plane);
  }
}

/* Panel number `panel` of the output for tiles [first, first + count). */
static void output_panel(const run *r, size_t first, size_t count, size_t panel, const float *v,
                         float *m) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  size_t width = smaller(PANEL, c->oc - panel * PANEL);
  for (size_t p = 0; p < POINTS; p++)
    multiply(count, width, c->ic, v + p * c->v_plane,
             r->u + p * c->ic * c->oc + panel * PANEL * c->ic, m + p * c->m_plane);
  size_t row_floats = s->ow * LANES, blocks = c->oc / LANES;
  for (size_t b = 0; b < width / LANES; b++) {
    size_t block = panel * PANEL / LANES + b;
    vfloat bias = {0};
    if (r->bias) bias = *(const vloose *)(r->bias + block * LANES);
    for (size_t t = 0; t < count; t++) {
      place at = place_of(c, first + t);
      size_t offset = (at.picture * blocks + block) * s->oh * row_floats +
                      at.row * OUT * row_floats + at.column * OUT * LANES;
      output_tile(m + t * PANEL + b * LANES, c->m_plane, bias,
                  r->residual ? r->residual + offset : NULL, r->slope, r->y + offset, row_floats,
                  smaller(OUT, s->oh - at.row * OUT), smaller(OUT, s->ow - at.column * OUT));
    }
  }
}

/* Part `thread` of `threads` of `count` things. */
static size_t part(size_t count, unsigned thread, unsigned threads) {
  return count * thread / threads;
}

static void own_tiles(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  float *v = r->scratch + (size_t)thread * POINTS * (c->v_plane + c->m_plane);
  float *m = v + POINTS * c->v_plane;
  size_t end = part(c->tiles, thread + 1, threads);
  for (size_t first = part(c->tiles, thread, threads); first < end; first += c->block) {
    size_t count = smaller(c->block, end - first);
    transform_input(r, first, count, 0, c->ic / LANES, v);
    for (size_t panel = 0; panel * PANEL < c->oc; panel++)
      output_panel(r, first, count, panel, v, m);
  }
}

static void shared_input(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  size_t blocks = r->cut.ic / LANES;
  transform_input(r, 0, r->cut.tiles, part(blocks, thread, threads),
                  part(blocks, thread + 1, threads), r->scratch);
}

static void own_panels(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  float *m = r->scratch + POINTS * (c->v_plane + (size_t)thread * c->m_plane);
  size_t panels = (c->oc + PANEL - 1) / PANEL;
  for (size_t p = part(panels, thread, threads); p < part(panels, thread + 1, threads); p++)
    output_panel(r, 0, c->tiles, p, r->scratch, m);
}

void hl_winograd_run(const hl_winograd_shape *shape, const float *x, const float *u,
                     const float *bias, const float *residual, float slope, float *y,
                     void *scratch) {
  run r = {.shape = shape,
           .cut = cut_of(shape),
           .x = x,
           .u = u,
           .bias = bias,
           .residual = residual,
           .slope = slope,
           .y = y,
           .scratch = scratch};
  if (!r.cut.shared) {
    hl_kernels_parallel(own_tiles, &r, shape->threads);
    return;
  }
  hl_kernels_parallel(shared_input, &r, shape->threads);
  hl_kernels_parallel(own_panels, &r, shape->threads);
}
