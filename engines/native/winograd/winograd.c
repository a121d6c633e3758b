/*
 * The loops. A thread's tiles are done in blocks whose transformed input stays in the L2 cache:
 * transform the input of a block (36 planes of tiles x channels); for every panel of 64 output
 * channels 36 small matrix products; transform back, add the bias, apply the function. With few
 * tiles (small pictures, small batches) the threads share the transformed input and each takes a
 * part of the output channels instead, so that no weight is read twice.
 */
#include "kernels/kernels.h"
#include "winograd/transform.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
  L2_FLOATS = 140 * 1024,
  FEW_TILES = 12, /* a thread; with fewer, threads share the input */
};

typedef int32_t vint __attribute__((vector_size(64), may_alias));

cut hl_winograd_cut(const hl_winograd_shape *s) {
  cut c = {.rows = (s->oh + OUT - 1) / OUT,
           .columns = (s->ow + OUT - 1) / OUT,
           .taps = s->depth ? 3 : 1};
  c.tiles = s->n * c.rows * c.columns;
  c.ic = hl_winograd_round_up(s->ic, LANES);
  c.oc = hl_winograd_round_up(s->oc, LANES);
  size_t each = (c.tiles + s->threads - 1) / s->threads;
  /* A volume's weights are read again for every slice and stay in the cache. */
  c.shared = s->threads > 1 && each < FEW_TILES && !s->depth;
  size_t most = L2_FLOATS / (POINTS * (c.taps * c.ic + hl_winograd_smaller(PANEL, c.oc)));
  if (most < 6) most = 6;
  size_t blocks = each > most ? (each + most - 1) / most : 1;
  c.block = c.shared ? c.tiles : (each + blocks - 1) / blocks;
  c.v_plane = hl_winograd_plane(c.block * c.ic);
  c.m_row = hl_winograd_smaller(PANEL, c.oc);
  c.m_plane = hl_winograd_plane(c.block * c.m_row);
  return c;
}

bool hl_winograd_suits(const hl_winograd_shape *s) {
  if (strcmp(hl_kernels_select()->isa, "avx512") != 0) return false;
  size_t least = s->depth ? LANES : 32; /* channels: what the transforms cost must be saved again */
  if (s->ic < least || s->oc < least || s->oc % least != 0 || s->ic % LANES != 0) return false;
  if (s->depth && s->odepth == 0) return false;
  if (s->oh < OUT || s->ow < OUT || s->n == 0) return false;
  cut c = hl_winograd_cut(s);
  /* Tiles that hang over the edge are work for nothing. */
  size_t covered = c.rows * c.columns * OUT * OUT;
  if (covered * 2 > s->oh * s->ow * 3) return false;
  /* Bfloat16's direct products are twice as fast: nothing is left where weights come from memory.
   */
  if (s->bfloat16 && hl_winograd_weight_bytes(s) > (uint64_t)16 << 20) return false;
  /* With few tiles reading the weights, four times as many as before, takes longer than the
   * arithmetic that is saved. */
  return s->any_batch || c.tiles >= FEW_TILES || hl_winograd_weight_bytes(s) <= (uint64_t)3 << 20;
}

uint64_t hl_winograd_weight_bytes(const hl_winograd_shape *s) {
  cut c = hl_winograd_cut(s);
  return (uint64_t)POINTS * c.taps * c.ic * c.oc * sizeof(float);
}

uint64_t hl_winograd_scratch_bytes(const hl_winograd_shape *s) {
  cut c = hl_winograd_cut(s);
  uint64_t v = (uint64_t)POINTS * c.taps * c.v_plane, m = (uint64_t)POINTS * c.m_plane;
  return ((c.shared ? v : v * s->threads) + m * s->threads) * sizeof(float);
}

/* Pairs of an output slice and a tap that reads an input slice, not padding. */
static size_t taps_inside(const hl_winograd_shape *s) {
  size_t count = 0;
  for (size_t z = 0; z < s->odepth; z++)
    for (size_t tap = 0; tap < 3; tap++)
      count += z + tap >= s->front && z + tap < s->front + s->depth;
  return count;
}

double hl_winograd_flops(const hl_winograd_shape *s) {
  cut c = hl_winograd_cut(s);
  double slices = s->depth ? (double)taps_inside(s) : 1.0;
  return 2.0 * POINTS * slices * (double)c.tiles * (double)c.ic * (double)c.oc;
}

/* -- transforms ----------------------------------------------------------------------------- */

INLINE void input_tile(surface p, ptrdiff_t top, ptrdiff_t left, float *v, size_t plane) {
  vfloat cells[IN][IN], half[IN][IN];
  load_cells(p, top, left, cells);
  for (int r = 0; r < IN; r++) transform_cells(cells[r], half[r]);
  for (int k = 0; k < IN; k++) {
    vfloat column[IN], points[IN];
    for (int r = 0; r < IN; r++) column[r] = half[r][k];
    transform_cells(column, points);
    for (int r = 0; r < IN; r++) *(vfloat *)(v + (size_t)(r * IN + k) * plane) = points[r];
  }
}

static void input_tile_float(surface p, ptrdiff_t top, ptrdiff_t left, float *v, size_t plane) {
  p.half = false;
  input_tile(p, top, left, v, plane);
}

static void input_tile_half(surface p, ptrdiff_t top, ptrdiff_t left, float *v, size_t plane) {
  p.half = true;
  input_tile(p, top, left, v, plane);
}

/* Where a tile's results go: `rows` x `columns` of them lie inside, `at` elements from y on;
 * `residual` and `mask` lie as y or are NULL. */
typedef struct results {
  void *y;
  const void *residual;
  const float *mask;
  float slope;
  size_t at, row, pixel; /* elements from row to row and pixel to pixel */
  size_t rows, columns;
} results;

/* The columns of a tile transformed back, its rows not yet. */
INLINE void columns_back(const float *m, size_t plane, vfloat half[OUT][IN]) {
  for (int k = 0; k < IN; k++) {
    vfloat column[IN], back[OUT];
    for (int r = 0; r < IN; r++) column[r] = *(const vfloat *)(m + (size_t)(r * IN + k) * plane);
    transform_back(column, back);
    for (int r = 0; r < OUT; r++) half[r][k] = back[r];
  }
}

/* With a slope of 0 -inf becomes 0 and not NaN, as everywhere (kernels/vmath.h). */
INLINE vfloat leaky(vfloat value, vint positive, float slope) {
  const vfloat least = (slope == 0 ? -FLT_MAX : -INFINITY) - (vfloat){0};
  vint too_low = value < least;
  vfloat low = (vfloat)((too_low & (vint)least) | (~too_low & (vint)value));
  return (vfloat)((positive & (vint)value) | (~positive & (vint)(low * slope)));
}

INLINE void output_tile(const float *m, size_t plane, vfloat bias, const results *o, bool half_y) {
  vfloat half[OUT][IN];
  columns_back(m, plane, half);
  for (size_t r = 0; r < o->rows; r++) {
    vfloat result[OUT];
    transform_back(half[r], result);
    for (size_t k = 0; k < o->columns; k++) {
      size_t at = o->at + r * o->row + k * o->pixel;
      vfloat value = result[k] + bias;
      if (o->residual) value += load_lanes(o->residual, at, half_y);
      value = leaky(value, (o->mask ? *(const vloose *)(o->mask + at) : value) > 0.0f, o->slope);
      store_lanes(o->y, at, value, half_y);
    }
  }
}

INLINE vfloat larger(vfloat a, vfloat b) {
  vint a_wins = (a > b) | (a != a); /* NOLINT(misc-redundant-expression): NaN stays */
  return (vfloat)((a_wins & (vint)a) | (~a_wins & (vint)b));
}

/* The largest of each 2x2 results; what follows, with a slope of at least 0, keeps their order. */
INLINE void pooled_tile(const float *m, size_t plane, vfloat bias, const results *o, bool half_y) {
  vfloat half[OUT][IN];
  columns_back(m, plane, half);
  for (size_t r = 0; 2 * r < o->rows; r++) {
    vfloat upper[OUT], lower[OUT];
    transform_back(half[2 * r], upper);
    transform_back(half[2 * r + 1], lower);
    for (size_t k = 0; 2 * k < o->columns; k++) {
      vfloat value =
          larger(larger(upper[2 * k], upper[2 * k + 1]), larger(lower[2 * k], lower[2 * k + 1])) +
          bias;
      value = leaky(value, value > 0.0f, o->slope);
      store_lanes(o->y, o->at + r * o->row + k * o->pixel, value, half_y);
    }
  }
}

static void pooled_tile_float(const float *m, size_t plane, vfloat bias, const results *o) {
  pooled_tile(m, plane, bias, o, false);
}

static void pooled_tile_half(const float *m, size_t plane, vfloat bias, const results *o) {
  pooled_tile(m, plane, bias, o, true);
}

static void output_tile_float(const float *m, size_t plane, vfloat bias, const results *o) {
  output_tile(m, plane, bias, o, false);
}

static void output_tile_half(const float *m, size_t plane, vfloat bias, const results *o) {
  output_tile(m, plane, bias, o, true);
}

/* -- products ------------------------------------------------------------------------------- */

/* One product: for each tap, a (rows x depth) lies at v + place[tap] and b (depth x vectors) `taps`
 * apart. */
typedef struct operands {
  const float *v, *u;
  size_t place[3], u_tap; /* floats */
  size_t taps, depth, m_row;
} operands;

/* c (rows x 16 vectors) = the sum of a · b over the taps; `at` is where the rows of each a begin */
INLINE void product(size_t rows, size_t vectors, const operands *o, size_t at, float *c) {
  vfloat sum[24][4];
  UNROLLED
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) sum[i][j] = (vfloat){0};
  size_t depth = o->depth;
  for (size_t tap = 0; tap < o->taps; tap++) {
    const float *a = o->v + o->place[tap] + at, *b = o->u + tap * o->u_tap;
    for (size_t k = 0; k < depth; k++, b += vectors * LANES) {
      vfloat row[4];
      for (size_t j = 0; j < vectors; j++) row[j] = *(const vfloat *)(b + j * LANES);
      UNROLLED
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < vectors; j++) sum[i][j] += a[i * depth + k] * row[j];
    }
  }
  UNROLLED
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < vectors; j++) *(vfloat *)(c + i * o->m_row + j * LANES) = sum[i][j];
}

typedef void (*product_fn)(const operands *o, size_t at, float *c);

#define PRODUCT(rows, vectors)                                                                     \
  static void product_##vectors##_##rows(const operands *o, size_t at, float *c) {                 \
    product(rows, vectors, o, at, c);                                                              \
  }
/* Macros that end without a semicolon: the formatter would join and indent them. */
/* clang-format off */
PRODUCT(1, 4) PRODUCT(2, 4) PRODUCT(3, 4) PRODUCT(4, 4) PRODUCT(5, 4) PRODUCT(6, 4)
PRODUCT(1, 3) PRODUCT(2, 3) PRODUCT(3, 3) PRODUCT(4, 3) PRODUCT(5, 3) PRODUCT(6, 3)
PRODUCT(7, 3) PRODUCT(8, 3)
PRODUCT(1, 2) PRODUCT(2, 2) PRODUCT(3, 2) PRODUCT(4, 2) PRODUCT(5, 2) PRODUCT(6, 2)
PRODUCT(7, 2) PRODUCT(8, 2) PRODUCT(9, 2) PRODUCT(10, 2) PRODUCT(11, 2) PRODUCT(12, 2)
PRODUCT(1, 1) PRODUCT(2, 1) PRODUCT(3, 1) PRODUCT(4, 1) PRODUCT(6, 1) PRODUCT(8, 1)
PRODUCT(12, 1) PRODUCT(16, 1) PRODUCT(20, 1) PRODUCT(24, 1)

/* By rows; 0: none, the next smaller one and the rest. */
#define P4(rows) product_4_##rows
#define P3(rows) product_3_##rows
#define P2(rows) product_2_##rows
#define P1(rows) product_1_##rows
static const product_fn products[4][25] = {
    {0, P1(1), P1(2), P1(3), P1(4), 0, P1(6), 0, P1(8), 0, 0, 0, P1(12), 0, 0, 0, P1(16), 0, 0, 0,
     P1(20), 0, 0, 0, P1(24)},
    {0, P2(1), P2(2), P2(3), P2(4), P2(5), P2(6), P2(7), P2(8), P2(9), P2(10), P2(11), P2(12)},
    {0, P3(1), P3(2), P3(3), P3(4), P3(5), P3(6), P3(7), P3(8)},
    {0, P4(1), P4(2), P4(3), P4(4), P4(5), P4(6)},
};
/* clang-format on */

static void multiply(size_t tiles, size_t width, const operands *o, float *m) {
  size_t vectors = width / LANES, most = 24 / vectors;
  const product_fn *table = products[vectors - 1];
  /* Even pieces: 14 rows as 5, 5 and 4, not 6, 6 and 2. */
  size_t pieces = (tiles + most - 1) / most;
  for (size_t at = 0; at < tiles;) {
    size_t left = pieces ? pieces : 1, rows = (tiles - at + left - 1) / left;
    if (rows > most) rows = most;
    while (!table[rows]) rows--;
    table[rows](o, at * o->depth, m + at * o->m_row);
    at += rows;
    if (pieces) pieces--;
  }
}

/* -- the whole ------------------------------------------------------------------------------ */

typedef struct run {
  const hl_winograd_shape *shape;
  cut cut;
  const void *x, *residual;
  const float *u, *bias, *mask;
  void *y;
  float slope, *scratch;
} run;

/* Picture, row and column of a tile. */
typedef struct place {
  size_t picture, row, column;
} place;

static place place_of(const cut *c, size_t tile) {
  size_t of_picture = c->rows * c->columns, rest = tile % of_picture;
  return (place){tile / of_picture, rest / c->columns, rest % c->columns};
}

/* Some tiles of a slice. */
typedef struct tiles {
  size_t first, count, slice;
} tiles;

static size_t at_least_one(size_t depth) {
  return depth ? depth : 1;
}

/* Block `block` of `blocks` blocks of channels, of slice `slice` of `depth`, in elements. */
static size_t offset_of(const run *r, size_t picture, size_t blocks, size_t block, size_t depth,
                        size_t slice, size_t pixels) {
  if (r->shape->bfloat16)
    return (picture * depth + slice) * pixels * blocks * LANES + block * LANES;
  return ((picture * blocks + block) * depth + slice) * pixels * LANES;
}

/* Those tiles' input, in channel blocks [begin, end), into v. */
static void transform_input(const run *r, tiles part, size_t begin, size_t end, float *v) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  size_t blocks = c->ic / LANES, depth = at_least_one(s->depth);
  surface p = {.h = (ptrdiff_t)s->h, .w = (ptrdiff_t)s->w, .pixel = s->bfloat16 ? c->ic : LANES};
  /* Tile after tile of one block, so that the processor foresees what is read. */
  for (size_t b = begin; b < end; b++)
    for (size_t t = 0; t < part.count; t++) {
      place at = place_of(c, part.first + t);
      size_t offset = offset_of(r, at.picture, blocks, b, depth, part.slice, s->h * s->w);
      p.x = (const char *)r->x + offset * (s->bfloat16 ? sizeof(uint16_t) : sizeof(float));
      (s->bfloat16 ? input_tile_half : input_tile_float)(
          p, (ptrdiff_t)(at.row * OUT) - (ptrdiff_t)s->top,
          (ptrdiff_t)(at.column * OUT) - (ptrdiff_t)s->left, v + t * c->ic + b * LANES, c->v_plane);
    }
}

/* Panel number `panel` of the output for those tiles, from the products of `o`, whose weights are
 * those of the first tap. */
static void output_panel(const run *r, tiles part, size_t panel, operands o, float *m) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  size_t width = hl_winograd_smaller(PANEL, c->oc - panel * PANEL);
  const float *v = o.v, *u = o.u + panel * PANEL * c->ic;
  for (size_t p = 0; p < POINTS; p++) {
    o.v = v + p * c->v_plane;
    o.u = u + p * c->ic * c->oc;
    multiply(part.count, width, &o, m + p * c->m_plane);
  }
  size_t blocks = c->oc / LANES, depth = at_least_one(s->odepth);
  results to = {.y = r->y,
                .residual = r->residual,
                .mask = r->mask,
                .slope = r->slope,
                .pixel = s->bfloat16 ? c->oc : LANES};
  static void (*const ends[2][2])(const float *m, size_t plane, vfloat bias, const results *o) = {
      {output_tile_float, output_tile_half}, {pooled_tile_float, pooled_tile_half}};
  size_t shrunk = s->pools ? 2 : 1;
  to.row = s->ow / shrunk * to.pixel;
  for (size_t b = 0; b < width / LANES; b++) {
    size_t block = panel * PANEL / LANES + b;
    vfloat bias = {0};
    if (r->bias) bias = *(const vloose *)(r->bias + block * LANES);
    for (size_t t = 0; t < part.count; t++) {
      place at = place_of(c, part.first + t);
      to.at = offset_of(r, at.picture, blocks, block, depth, part.slice,
                        s->oh / shrunk * (s->ow / shrunk)) +
              at.row * OUT / shrunk * to.row + at.column * OUT / shrunk * to.pixel;
      to.rows = hl_winograd_smaller(OUT, s->oh - at.row * OUT);
      to.columns = hl_winograd_smaller(OUT, s->ow - at.column * OUT);
      ends[s->pools][s->bfloat16](m + t * c->m_row + b * LANES, c->m_plane, bias, &to);
    }
  }
}

static void output_panels(const run *r, tiles part, const operands *o, float *m) {
  for (size_t panel = 0; panel * PANEL < r->cut.oc; panel++) output_panel(r, part, panel, *o, m);
}

static operands of_picture(const run *r, const float *v) {
  return (operands){.v = v, .u = r->u, .taps = 1, .depth = r->cut.ic, .m_row = r->cut.m_row};
}

/* A block of tiles through all slices: each slice of input is transformed once, and three stay. */
static void volume_block(const run *r, size_t first, size_t count, float *v, float *m) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  size_t next = 0, ring = POINTS * c->v_plane, u_tap = POINTS * c->ic * c->oc;
  for (size_t z = 0; z < s->odepth; z++) {
    for (; next < s->depth && next + s->front <= z + 2; next++)
      transform_input(r, (tiles){first, count, next}, 0, c->ic / LANES, v + next % 3 * ring);
    operands o = {.v = v, .u = r->u, .u_tap = u_tap, .depth = c->ic, .m_row = c->m_row};
    for (size_t tap = 0; tap < 3; tap++) {
      size_t slice = z + tap - s->front; /* wraps, and so is too large, before the first */
      if (slice >= s->depth) continue;
      if (o.taps == 0) o.u = r->u + tap * u_tap;
      o.place[o.taps++] = slice % 3 * ring;
    }
    output_panels(r, (tiles){first, count, z}, &o, m);
  }
}

/* Part `thread` of `threads` of `count` things. */
static size_t part(size_t count, unsigned thread, unsigned threads) {
  return count * thread / threads;
}

static void own_tiles(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  float *v = r->scratch + (size_t)thread * POINTS * (c->taps * c->v_plane + c->m_plane);
  float *m = v + POINTS * c->taps * c->v_plane;
  size_t end = part(c->tiles, thread + 1, threads);
  for (size_t first = part(c->tiles, thread, threads); first < end; first += c->block) {
    size_t count = hl_winograd_smaller(c->block, end - first);
    if (r->shape->depth) {
      volume_block(r, first, count, v, m);
      continue;
    }
    transform_input(r, (tiles){first, count, 0}, 0, c->ic / LANES, v);
    operands o = of_picture(r, v);
    output_panels(r, (tiles){first, count, 0}, &o, m);
  }
}

static void shared_input(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  size_t blocks = r->cut.ic / LANES;
  transform_input(r, (tiles){0, r->cut.tiles, 0}, part(blocks, thread, threads),
                  part(blocks, thread + 1, threads), r->scratch);
}

static void own_panels(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  float *m = r->scratch + POINTS * (c->v_plane + (size_t)thread * c->m_plane);
  size_t panels = (c->oc + PANEL - 1) / PANEL;
  for (size_t p = part(panels, thread, threads); p < part(panels, thread + 1, threads); p++)
    output_panel(r, (tiles){0, c->tiles, 0}, p, of_picture(r, r->scratch), m);
}

void hl_winograd_run(const hl_winograd_shape *shape, const void *x, const float *u,
                     const float *bias, const void *residual, const float *mask, float slope,
                     void *y, void *scratch) {
  run r = {.shape = shape,
           .cut = hl_winograd_cut(shape),
           .x = x,
           .u = u,
           .bias = bias,
           .residual = residual,
           .mask = mask,
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
