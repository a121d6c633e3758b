/*
 * The loops are those of winograd.c: a thread's tiles in blocks whose transformed input stays in
 * the L2 cache; for every panel of 64 output channels 16 small products; back, with bias, residual
 * and function. A unit of two numbers, as the products take them, holds channels that lie 16 apart
 * in the transformed input, and weights follow that order: so 32 channels are unpacked by a shift
 * and a mask and packed by one instruction.
 *
 * The middle point, (1, 1), is a sum of four cells and so the only one that what neighbouring
 * pixels have in common does not leave: rounded it would give most of the error. It stays in
 * float32, from the input to the products.
 */
#define HL_ISA avx512bf16
#define HL_VECTOR_BYTES 64
#include "winograd/half.h"
#include "kernels/kernels.h"

#if defined(__AVX512BF16__)
#include "kernels/bfloat16.h"

typedef __m512 hl_sum;
#define HL_DOT(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#include "kernels/gemm-units.h"

enum {
  OUT = 2, /* a tile's side */
  IN = OUT + 2,
  POINTS = IN * IN,
  MIDDLE = IN + 1, /* the point in float32 */
  HALVES = POINTS - 1,
  GROUP = 32, /* channels at a time */
  L2_BYTES = 560 * 1024,
  FEW_TILES = 48, /* a thread; with fewer, threads share the input */
};

typedef struct cut {
  size_t rows, columns, tiles; /* tiles down, across, of all pictures */
  size_t panels;
  bool shared;    /* threads share the transformed input */
  size_t block;   /* tiles at a time */
  size_t v_plane; /* numbers between planes of the transformed input */
  size_t w_plane; /* floats of the middle point */
  size_t m_plane; /* floats between those of the products */
} cut;

/* An odd number of cache lines, so that planes do not fall into the same sets. */
static size_t spread(size_t lines) {
  return lines | 1;
}

static cut cut_of(const hl_winograd_shape *s) {
  cut c = {
      .rows = hl_ceil_div(s->oh, OUT), .columns = hl_ceil_div(s->ow, OUT), .panels = s->oc / PANEL};
  c.tiles = s->n * c.rows * c.columns;
  size_t each = hl_ceil_div(c.tiles, s->threads);
  c.shared = s->threads > 1 && each < FEW_TILES && c.panels % s->threads == 0;
  size_t most = L2_BYTES / (POINTS * (s->ic * sizeof(uint16_t) + PANEL * sizeof(float)));
  most = most < 2 * ROWS ? 2 * ROWS : most / ROWS * ROWS;
  size_t blocks = hl_ceil_div(each, most);
  c.block = c.shared ? c.tiles : hl_ceil_div(each, blocks ? blocks : 1);
  c.v_plane = spread(hl_ceil_div(c.block * s->ic, 32)) * 32;
  c.w_plane = c.block * s->ic;
  c.m_plane = spread(c.block * PANEL / 16) * 16;
  return c;
}

bool hl_winograd_half_suits(const hl_winograd_shape *s) {
  if (s->depth || !s->bfloat16 || !__builtin_cpu_supports("avx512bf16") ||
      strcmp(hl_kernels_select()->isa, "avx512") != 0)
    return false;
  if (s->ic == 0 || s->ic % GROUP != 0 || s->oc == 0 || s->oc % PANEL != 0) return false;
  if (s->oh < IN || s->ow < IN || s->n == 0) return false;
  cut c = cut_of(s);
  return s->any_batch || c.tiles >= 16;
}

uint64_t hl_winograd_half_weight_bytes(const hl_winograd_shape *s) {
  return (uint64_t)s->ic * s->oc * (HALVES * sizeof(uint16_t) + sizeof(float));
}

static uint64_t v_bytes(const cut *c) {
  return ((uint64_t)HALVES * c->v_plane * sizeof(uint16_t) + c->w_plane * sizeof(float) + 63) / 64 *
         64;
}

static uint64_t m_bytes(const cut *c) {
  return (uint64_t)POINTS * c->m_plane * sizeof(float);
}

uint64_t hl_winograd_half_scratch_bytes(const hl_winograd_shape *s) {
  cut c = cut_of(s);
  return v_bytes(&c) * (c.shared ? 1 : s->threads) + m_bytes(&c) * s->threads;
}

double hl_winograd_half_flops(const hl_winograd_shape *s) {
  return 2.0 * POINTS * (double)cut_of(s).tiles * (double)s->ic * (double)s->oc;
}

/* -- weights -------------------------------------------------------------------------------- */

typedef struct weight_run {
  const hl_winograd_shape *shape;
  const char *kernel;
  const float *scale;
  uint16_t *u;
} weight_run;

/* G g: three taps to four points. */
static void transform_taps(const double g[3], double ret[IN]) {
  ret[0] = g[0];
  ret[1] = (g[0] + g[1] + g[2]) / 2;
  ret[2] = (g[0] - g[1] + g[2]) / 2;
  ret[3] = g[2];
}

static uint16_t rounded(double x) {
  uint16_t ret[HL_LANES];
  hl_store_bf16(ret, hl_vset((float)x));
  return ret[0];
}

/* Where input channel i lies in its unit: channels that are neighbours in a picture fall into
 * different halves of a group. */
static size_t position(size_t i) {
  size_t within = i % GROUP;
  return i - within + within % 2 * (GROUP / 2) + within / 2;
}

/* The planes of halves and, behind them, that of floats. */
static size_t plane_of(size_t point) {
  return point < MIDDLE ? point : point - 1;
}

/* [plane][panel][unit][64 output channels][2 numbers], then [panel][channel][64 output channels] */
static void transform_weights(const weight_run *r, size_t o, size_t i) {
  const hl_winograd_shape *s = r->shape;
  double factor = r->scale ? (double)r->scale[o] : 1, half[3][IN], full[IN];
  float own[9];
  memcpy(own, r->kernel + (o * s->ic + i) * sizeof own, sizeof own);
  for (size_t k = 0; k < 3; k++) {
    double taps[3];
    for (size_t q = 0; q < 3; q++) taps[q] = (double)own[3 * k + q] * factor;
    transform_taps(taps, half[k]);
  }
  size_t at = position(i), unit = at / 2;
  size_t plane = s->ic * s->oc, panel = o / PANEL, lane = o % PANEL;
  uint16_t *to = r->u + ((panel * (s->ic / 2) + unit) * PANEL + lane) * 2 + at % 2;
  float *middle = (float *)(void *)(r->u + HALVES * plane) + (panel * s->ic + at) * PANEL + lane;
  for (size_t x = 0; x < IN; x++) {
    transform_taps((double[]){half[0][x], half[1][x], half[2][x]}, full);
    for (size_t y = 0; y < IN; y++) {
      if (y * IN + x == MIDDLE)
        *middle = (float)full[y];
      else
        to[plane_of(y * IN + x) * plane] = rounded(full[y]);
    }
  }
}

static void own_weights(void *context, unsigned thread, unsigned threads) {
  const weight_run *r = context;
  hl_share part = hl_share_of(r->shape->oc / PANEL, thread, threads);
  for (size_t panel = part.first; panel < part.end; panel++)
    for (size_t i = 0; i < r->shape->ic; i++)
      for (size_t o = 0; o < PANEL; o++) transform_weights(r, panel * PANEL + o, i);
}

void hl_winograd_half_weights(const hl_winograd_shape *s, const void *kernel, const float *scale,
                              uint16_t *u) {
  weight_run r = {s, kernel, scale, u};
  hl_kernels_parallel(own_weights, &r, s->threads);
}

/* -- transforms ----------------------------------------------------------------------------- */

/* Bᵀ d: four cells to four points. */
HL_INLINE void transform_cells(const vfloat d[IN], vfloat ret[IN]) {
  ret[0] = d[0] - d[2];
  ret[1] = d[1] + d[2];
  ret[2] = d[2] - d[1];
  ret[3] = d[1] - d[3];
}

/* Aᵀ m: four points to two results. */
HL_INLINE void transform_back(const vfloat m[IN], vfloat ret[OUT]) {
  ret[0] = m[0] + m[1] + m[2];
  ret[1] = m[1] - m[2] - m[3];
}

/* A picture; pixels lie `pixel` numbers apart. */
typedef struct surface {
  const uint16_t *x;
  ptrdiff_t h, w;
  size_t pixel;
} surface;

/* 32 channels of a tile whose first cell is (top, left), into the planes of halves, v, and that of
 * floats; cells outside are 0. */
HL_INLINE void input_tile(surface p, ptrdiff_t top, ptrdiff_t left, uint16_t *v, float *middle,
                          size_t plane, bool inside) {
  vfloat even[IN][IN], odd[IN][IN];
  HL_UNROLLED
  for (ptrdiff_t k = 0; k < IN; k++) {
    vfloat e[IN], o[IN], points[IN];
    HL_UNROLLED
    for (ptrdiff_t r = 0; r < IN; r++) {
      ptrdiff_t row = top + r, column = left + k;
      __m512i cell = _mm512_setzero_si512();
      if (inside || (row >= 0 && row < p.h && column >= 0 && column < p.w))
        cell = _mm512_loadu_si512(p.x + (size_t)(row * p.w + column) * p.pixel);
      e[r] = (vfloat)_mm512_slli_epi32(cell, 16);
      o[r] = (vfloat)_mm512_and_si512(cell, _mm512_set1_epi32((int)0xFFFF0000));
    }
    transform_cells(e, points);
    HL_UNROLLED
    for (int r = 0; r < IN; r++) even[r][k] = points[r];
    transform_cells(o, points);
    HL_UNROLLED
    for (int r = 0; r < IN; r++) odd[r][k] = points[r];
  }
  HL_UNROLLED
  for (size_t r = 0; r < IN; r++) {
    vfloat e[IN], o[IN];
    transform_cells(even[r], e);
    transform_cells(odd[r], o);
    HL_UNROLLED
    for (size_t k = 0; k < IN; k++) {
      size_t point = r * IN + k;
      if (point == MIDDLE) {
        hl_vstore(middle, e[k]);
        hl_vstore(middle + HL_LANES, o[k]);
      } else {
        _mm512_storeu_si512(v + plane_of(point) * plane,
                            (__m512i)_mm512_cvtne2ps_pbh((__m512)o[k], (__m512)e[k]));
      }
    }
  }
}

static void inner_tile(surface p, ptrdiff_t top, ptrdiff_t left, uint16_t *v, float *middle,
                       size_t plane) {
  input_tile(p, top, left, v, middle, plane, true);
}

static void edge_tile(surface p, ptrdiff_t top, ptrdiff_t left, uint16_t *v, float *middle,
                      size_t plane) {
  input_tile(p, top, left, v, middle, plane, false);
}

/* Where a tile's results go: `rows` x `columns` of them lie inside, `at` numbers from y on;
 * `residual` lies as y or is NULL. */
typedef struct results {
  uint16_t *y;
  const uint16_t *residual;
  float slope;
  size_t at, row, pixel; /* numbers from row to row and pixel to pixel */
  size_t rows, columns;
} results;

HL_INLINE void results_of(const float *m, size_t plane, vfloat ret[OUT][OUT]) {
  vfloat half[OUT][IN];
  HL_UNROLLED
  for (size_t k = 0; k < IN; k++) {
    vfloat column[IN], back[OUT];
    HL_UNROLLED
    for (size_t r = 0; r < IN; r++) column[r] = hl_vload(m + (r * IN + k) * plane);
    transform_back(column, back);
    half[0][k] = back[0];
    half[1][k] = back[1];
  }
  transform_back(half[0], ret[0]);
  transform_back(half[1], ret[1]);
}

HL_INLINE void store_lanes(uint16_t *y, vfloat v) {
  _mm256_storeu_si256((__m256i *)(void *)y, (__m256i)_mm512_cvtneps_pbh((__m512)v));
}

HL_INLINE void output_tile(const float *m, size_t plane, vfloat bias, const results *o) {
  vfloat found[OUT][OUT];
  results_of(m, plane, found);
  for (size_t r = 0; r < o->rows; r++)
    for (size_t k = 0; k < o->columns; k++) {
      size_t at = o->at + r * o->row + k * o->pixel;
      vfloat value = found[r][k] + bias;
      if (o->residual) value += hl_load_bf16(o->residual + at);
      store_lanes(o->y + at, hl_vleaky(value, o->slope));
    }
}

HL_INLINE vfloat larger(vfloat a, vfloat b) {
  return hl_vselect((a > b) | (a != a), a, b); /* NOLINT(misc-redundant-expression): NaN stays */
}

/* The largest of the tile; what follows, with a slope of at least 0, keeps their order. */
HL_INLINE void pooled_tile(const float *m, size_t plane, vfloat bias, const results *o) {
  vfloat found[OUT][OUT];
  results_of(m, plane, found);
  vfloat value = larger(larger(found[0][0], found[0][1]), larger(found[1][0], found[1][1])) + bias;
  store_lanes(o->y + o->at, hl_vleaky(value, o->slope));
}

/* -- products ------------------------------------------------------------------------------- */

HL_INLINE void ask_for_ends(const tile *t, size_t rows) {
  (void)t, (void)rows; /* the products stay in the cache */
}

/* Sums to (tiles, PANEL). */
HL_INLINE void store_tile(const tile *t, size_t rows, hl_sum sum[ROWS][VECTORS], int end) {
  float *m = *(float *const *)t->args;
  (void)end;
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++)
    hl_vstore(m + (t->row + i) * PANEL + j * HL_LANES, (vfloat)sum[i][j]);
}

static void finish_rows(const tile *t, size_t rows, const hl_sum *sums) {
  (void)t, (void)rows, (void)sums; /* every tile ends at once */
}

/* m (rows x PANEL) = v (rows x depth) · u (depth x PANEL), in float32. */
HL_INLINE void float_tile(size_t rows, size_t depth, const float *v, const float *u, float *m) {
  vfloat sum[ROWS][VECTORS];
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) sum[i][j] = (vfloat){0};
  for (size_t k = 0; k < depth; k++, u += PANEL) {
    vfloat line[VECTORS];
    HL_UNROLLED
    for (size_t j = 0; j < VECTORS; j++) line[j] = hl_vload(u + j * HL_LANES);
    HL_UNROLLED
    for (size_t i = 0; i < rows; i++) HL_UNROLLED
    for (size_t j = 0; j < VECTORS; j++) sum[i][j] += v[i * depth + k] * line[j];
  }
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) hl_vstore(m + i * PANEL + j * HL_LANES, sum[i][j]);
}

#define FLOAT_TILE(rows)                                                                           \
  case rows:                                                                                       \
    float_tile(rows, depth, v + first * depth, u, m + first * PANEL);                              \
    break;

static void multiply_middle(size_t count, size_t depth, const float *v, const float *u, float *m) {
  size_t tiles = hl_ceil_div(count, ROWS);
  for (size_t i = 0; i < tiles; i++) {
    size_t first = count * i / tiles;
    switch (count * (i + 1) / tiles - first) {
      FLOAT_TILE(1)
      FLOAT_TILE(2)
      FLOAT_TILE(3)
      FLOAT_TILE(4)
      FLOAT_TILE(5)
      FLOAT_TILE(6)
    }
  }
}

/* -- the whole ------------------------------------------------------------------------------ */

typedef struct run {
  const hl_winograd_shape *shape;
  cut cut;
  const uint16_t *x, *u, *residual;
  const float *bias;
  uint16_t *y;
  float slope;
  char *scratch;
} run;

/* Picture, row and column of a tile. */
typedef struct place {
  size_t picture, row, column;
} place;

static place place_of(const cut *c, size_t at) {
  size_t of_picture = c->rows * c->columns, rest = at % of_picture;
  return (place){at / of_picture, rest / c->columns, rest % c->columns};
}

/* The plane of floats behind those of halves. */
static float *middle_of(const cut *c, const uint16_t *v) {
  return (float *)(uintptr_t)(v + HALVES * c->v_plane);
}

/* `count` tiles from `first` on, groups [begin, end) of their channels. */
static void transform_input(const run *r, size_t first, size_t count, size_t begin, size_t end,
                            uint16_t *v) {
  const hl_winograd_shape *s = r->shape;
  float *middle = middle_of(&r->cut, v);
  for (size_t t = 0; t < count; t++) {
    place at = place_of(&r->cut, first + t);
    ptrdiff_t top = (ptrdiff_t)(at.row * OUT) - (ptrdiff_t)s->top;
    ptrdiff_t left = (ptrdiff_t)(at.column * OUT) - (ptrdiff_t)s->left;
    surface p = {.x = r->x + at.picture * s->h * s->w * s->ic,
                 .h = (ptrdiff_t)s->h,
                 .w = (ptrdiff_t)s->w,
                 .pixel = s->ic};
    bool inside = top >= 0 && left >= 0 && top + IN <= p.h && left + IN <= p.w;
    p.x += begin * GROUP;
    for (size_t g = begin; g < end; g++, p.x += GROUP)
      (inside ? inner_tile : edge_tile)(p, top, left, v + t * s->ic + g * GROUP,
                                        middle + t * s->ic + g * GROUP, r->cut.v_plane);
  }
}

/* The products of one panel of output channels, at all points. */
static void multiply_panel(const run *r, size_t count, size_t panel, const uint16_t *v, float *m) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  for (size_t p = 0; p < POINTS; p++) {
    float *to = m + p * c->m_plane;
    size_t plane = plane_of(p), next = plane + 1 < HALVES ? plane + 1 : 0;
    if (p == MIDDLE) {
      const float *u = (const float *)(const void *)(r->u + HALVES * s->ic * s->oc);
      multiply_middle(count, s->ic, middle_of(c, v), u + panel * s->ic * PANEL, to);
      continue;
    }
    product o = {.x = (const void *)(v + plane * c->v_plane),
                 .w = (const void *)r->u,
                 .m = count,
                 .n = s->oc,
                 .units = s->ic / 2,
                 .args = &to,
                 .end = HL_END_AT_ONCE};
    run_panel(&o, 0, count, plane * c->panels + panel, next * c->panels + panel);
  }
}

static void output_panel(const run *r, size_t first, size_t count, size_t panel, const uint16_t *v,
                         float *m) {
  const hl_winograd_shape *s = r->shape;
  const cut *c = &r->cut;
  multiply_panel(r, count, panel, v, m);
  size_t shrunk = s->pools ? OUT : 1, side = OUT / shrunk;
  size_t height = s->oh / shrunk, width = s->ow / shrunk;
  results to = {.y = r->y, .residual = r->residual, .slope = r->slope, .pixel = s->oc};
  to.row = width * s->oc;
  for (size_t t = 0; t < count; t++) {
    place at = place_of(c, first + t);
    size_t row = at.row * side, column = at.column * side;
    to.rows = hl_min(side, height - row);
    to.columns = hl_min(side, width - column);
    size_t pixel = (at.picture * height + row) * width + column;
    for (size_t j = 0; j < PANEL; j += HL_LANES) {
      size_t channel = panel * PANEL + j;
      vfloat bias = r->bias ? hl_vload(r->bias + channel) : (vfloat){0};
      to.at = pixel * s->oc + channel;
      if (s->pools)
        pooled_tile(m + t * PANEL + j, c->m_plane, bias, &to);
      else
        output_tile(m + t * PANEL + j, c->m_plane, bias, &to);
    }
  }
}

static void own_tiles(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  char *own = r->scratch + thread * (v_bytes(c) + m_bytes(c));
  uint16_t *v = (void *)own;
  float *m = (void *)(own + v_bytes(c));
  hl_share part = hl_share_of(c->tiles, thread, threads);
  for (size_t first = part.first; first < part.end; first += c->block) {
    size_t count = hl_min(c->block, part.end - first);
    transform_input(r, first, count, 0, r->shape->ic / GROUP, v);
    for (size_t panel = 0; panel < c->panels; panel++) output_panel(r, first, count, panel, v, m);
  }
}

static void shared_input(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  hl_share part = hl_share_of(r->shape->ic / GROUP, thread, threads);
  transform_input(r, 0, r->cut.tiles, part.first, part.end, (void *)r->scratch);
}

static void own_panels(void *context, unsigned thread, unsigned threads) {
  const run *r = context;
  const cut *c = &r->cut;
  float *m = (void *)(r->scratch + v_bytes(c) + thread * m_bytes(c));
  hl_share part = hl_share_of(c->panels, thread, threads);
  for (size_t panel = part.first; panel < part.end; panel++)
    output_panel(r, 0, c->tiles, panel, (const void *)r->scratch, m);
}

void hl_winograd_half_run(const hl_winograd_shape *s, const uint16_t *x, const uint16_t *u,
                          const float *bias, const uint16_t *residual, float slope, uint16_t *y,
                          void *scratch) {
  run r = {.shape = s,
           .cut = cut_of(s),
           .x = x,
           .u = u,
           .bias = bias,
           .residual = residual,
           .slope = slope,
           .y = y,
           .scratch = scratch};
  if (!r.cut.shared) {
    hl_kernels_parallel(own_tiles, &r, s->threads);
    return;
  }
  hl_kernels_parallel(shared_input, &r, s->threads);
  hl_kernels_parallel(own_panels, &r, s->threads);
}

#else

bool hl_winograd_half_suits(const hl_winograd_shape *s) {
  (void)s;
  return false;
}

uint64_t hl_winograd_half_weight_bytes(const hl_winograd_shape *s) {
  (void)s;
  return 0;
}

uint64_t hl_winograd_half_scratch_bytes(const hl_winograd_shape *s) {
  (void)s;
  return 0;
}

double hl_winograd_half_flops(const hl_winograd_shape *s) {
  (void)s;
  return 0;
}

void hl_winograd_half_weights(const hl_winograd_shape *s, const void *kernel, const float *scale,
                              uint16_t *u) {
  (void)s, (void)kernel, (void)scale, (void)u;
}

void hl_winograd_half_run(const hl_winograd_shape *s, const uint16_t *x, const uint16_t *u,
                          const float *bias, const uint16_t *residual, float slope, uint16_t *y,
                          void *scratch) {
  (void)s, (void)x, (void)u, (void)bias, (void)residual, (void)slope, (void)y, (void)scratch;
}
#endif
