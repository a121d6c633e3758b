/*
 * The gradient of the weights by F(3x3, 4x4): the transpose of the forward algorithm. With V the
 * transformed input and M the transformed gradient of the result (both 36 points a tile), the
 * gradient of the transformed weights at a point is the product of V and M over all tiles.
 *
 * Where V and M of all tiles fit into the outer cache, each thread multiplies at all points for
 * some of the channels and transforms back at once. Else the tiles are done in blocks: the threads
 * transform some of a block's tiles each, then multiply at some of the points each, and add to sums
 * in memory. Either way there is one sum for all threads, whose rounding does not depend on them.
 */
#include "kernels/kernels.h"
#include "winograd/transform.h"
#include <string.h>

enum {
  ALL_FLOATS = 3 << 20,   /* V and M: all tiles at once */
  SMALL_FLOATS = 1 << 19, /* of a block while the sums stay in the inner caches, */
  LARGE_FLOATS = 1 << 21, /* and where reading them takes long */
  SMALL_SUMS = 128 * 128, /* channels times channels */
  LEAST_TILES = 48,       /* a block */
  RUN = 128,              /* tiles whose part of V and M stays in the L1 cache */
  WIDE = 2 * LANES,       /* output channels at a time */
  HIGH = 8,               /* input channels at a time */
  GROUP = 64,             /* input channels of a unit whose sums stay in the L2 cache */
};

typedef struct job {
  const hl_winograd_shape *shape;
  size_t rows, columns, planes; /* tiles down, across; of a slice of all pictures */
  size_t ic, oc;                /* rounded up to blocks */
  size_t depth, odepth, taps;   /* slices; 1 of each for pictures */
  size_t block;                 /* places of tiles at a time, each in all slices */
  size_t v_strip, m_strip;      /* floats of 16 input, 32 output channels at a point */
  size_t v_plane, m_plane;      /* floats from point to point */
  size_t u_row, u_tap, u_plane; /* of the sums: from input channel, tap, point to the next */
  const float *x, *dy;
  float *dw;
  float *v, *m, *u;
  size_t first, count; /* places of the block that is being done */
} job;

static size_t tiles_at_a_time(const job *j) {
  size_t each = POINTS * (j->depth * j->ic + j->odepth * j->oc);
  if (j->planes * each <= ALL_FLOATS) return j->planes;
  size_t most = (j->taps * j->ic * j->oc > SMALL_SUMS ? LARGE_FLOATS : SMALL_FLOATS) / each;
  size_t least = (LEAST_TILES + j->depth - 1) / j->depth;
  if (most < least) most = least;
  size_t blocks = (j->planes + most - 1) / most;
  return (j->planes + blocks - 1) / blocks;
}

static job job_of(const hl_winograd_shape *s) {
  job j = {.shape = s,
           .rows = (s->oh + OUT - 1) / OUT,
           .columns = (s->ow + OUT - 1) / OUT,
           .ic = hl_winograd_round_up(s->ic, LANES),
           .oc = hl_winograd_round_up(s->oc, LANES),
           .depth = s->depth ? s->depth : 1,
           .odepth = s->depth ? s->odepth : 1,
           .taps = s->depth ? 3 : 1};
  j.planes = s->n * j.rows * j.columns;
  j.block = tiles_at_a_time(&j);
  j.v_strip = j.block * j.depth * LANES;
  j.m_strip = j.block * j.odepth * WIDE;
  j.v_plane = hl_winograd_plane(j.ic / LANES * j.v_strip);
  j.m_plane = hl_winograd_plane((j.oc + WIDE - 1) / WIDE * j.m_strip);
  j.u_row = j.oc;
  j.u_tap = j.ic * j.oc;
  j.u_plane = hl_winograd_plane(j.taps * j.u_tap);
  if (j.block == j.planes) { /* a unit's sums */
    j.u_row = WIDE;
    j.u_tap = 0;
    j.u_plane = hl_winograd_plane(GROUP * WIDE);
  }
  return j;
}

bool hl_winograd_gradient_suits(const hl_winograd_shape *s) {
  if (strcmp(hl_kernels_select()->isa, "avx512") != 0) return false;
  if (s->n == 0 || s->ic < LANES || s->oc < LANES || s->oh < OUT || s->ow < OUT) return false;
  if (s->depth && s->odepth == 0) return false;
  job j = job_of(s);
  /* Tiles that hang over the edge are work for nothing. */
  return j.rows * j.columns * OUT * OUT * 2 <= s->oh * s->ow * 3;
}

uint64_t hl_winograd_gradient_scratch_bytes(const hl_winograd_shape *s) {
  job j = job_of(s);
  uint64_t sums = j.block == j.planes ? s->threads : 1;
  return (uint64_t)POINTS * (j.v_plane + j.m_plane + j.u_plane * sums) * sizeof(float);
}

/* Pairs of an output slice and a tap that reads an input slice, not padding. */
static size_t pairs(const job *j) {
  size_t count = 0;
  for (size_t z = 0; z < j->odepth; z++)
    for (size_t tap = 0; tap < j->taps; tap++)
      count += z + tap >= j->shape->front && z + tap < j->shape->front + j->depth;
  return count;
}

double hl_winograd_gradient_flops(const hl_winograd_shape *s) {
  job j = job_of(s);
  return 2.0 * POINTS * (double)pairs(&j) * (double)j.planes * (double)j.ic * (double)j.oc;
}

/* -- transforms ----------------------------------------------------------------------------- */

static void input_tile(const job *j, const float *x, size_t row, size_t column, float *v) {
  const hl_winograd_shape *s = j->shape;
  vfloat cells[IN][IN], half[IN][IN];
  prefetch_points(v + AHEAD * LANES, j->v_plane);
  surface from = {.x = x, .h = (ptrdiff_t)s->h, .w = (ptrdiff_t)s->w, .pixel = LANES};
  load_cells(from, (ptrdiff_t)(row * OUT) - (ptrdiff_t)s->top,
             (ptrdiff_t)(column * OUT) - (ptrdiff_t)s->left, cells);
  for (int r = 0; r < IN; r++) transform_cells(cells[r], half[r]);
  for (int k = 0; k < IN; k++) {
    vfloat line[IN], points[IN];
    for (int r = 0; r < IN; r++) line[r] = half[r][k];
    transform_cells(line, points);
    for (int r = 0; r < IN; r++) *(vfloat *)(v + (size_t)(r * IN + k) * j->v_plane) = points[r];
  }
}

/* Four gradients of a row, zeros beyond the edge. */
INLINE void load_row(const float *dy, size_t columns, vfloat ret[OUT]) {
  for (size_t k = 0; k < OUT; k++)
    ret[k] = k < columns ? *(const vloose *)(dy + k * LANES) : (vfloat){0};
}

static void result_tile(const job *j, const float *dy, size_t row, size_t column, float *m) {
  const hl_winograd_shape *s = j->shape;
  size_t rows = hl_winograd_smaller(OUT, s->oh - row * OUT);
  size_t columns = hl_winograd_smaller(OUT, s->ow - column * OUT);
  const float *at = dy + (row * OUT * s->ow + column * OUT) * LANES;
  vfloat half[OUT][IN];
  prefetch_points(m + AHEAD * WIDE, j->m_plane);
  for (size_t r = 0; r < OUT; r++) {
    vfloat line[OUT] = {{0}};
    if (r < rows) load_row(at + r * s->ow * LANES, columns, line);
    transform_results(line, half[r]);
  }
  for (int k = 0; k < IN; k++) {
    vfloat line[OUT], points[IN];
    for (int r = 0; r < OUT; r++) line[r] = half[r][k];
    transform_results(line, points);
    for (int r = 0; r < IN; r++) *(vfloat *)(m + (size_t)(r * IN + k) * j->m_plane) = points[r];
  }
}

/* Where a place lies. */
typedef struct spot {
  size_t picture, row, column;
} spot;

static spot spot_of(const job *j, size_t at) {
  size_t of_picture = j->rows * j->columns, place = j->first + at, tile = place % of_picture;
  return (spot){place / of_picture, tile / j->columns, tile % j->columns};
}

/* Places [begin, end) of 16 channels of a slice. Places of V and M are counted slice by slice, so
 * that a tap along the depth is a shift. */
static void transform_input(const job *j, size_t b, size_t z, size_t begin, size_t end) {
  size_t slice = j->shape->h * j->shape->w * LANES;
  float *v = j->v + b * j->v_strip + z * j->block * LANES;
  for (size_t at = begin; at < end; at++) {
    spot p = spot_of(j, at);
    const float *x = j->x + ((p.picture * (j->ic / LANES) + b) * j->depth + z) * slice;
    input_tile(j, x, p.row, p.column, v + at * LANES);
  }
}

static void transform_result(const job *j, size_t b, size_t z, size_t begin, size_t end) {
  size_t slice = j->shape->oh * j->shape->ow * LANES;
  float *m = j->m + b / 2 * j->m_strip + b % 2 * LANES + z * j->block * WIDE;
  for (size_t at = begin; at < end; at++) {
    spot p = spot_of(j, at);
    const float *dy = j->dy + ((p.picture * (j->oc / LANES) + b) * j->odepth + z) * slice;
    result_tile(j, dy, p.row, p.column, m + at * WIDE);
  }
}

static void transform_share(void *context, unsigned thread, unsigned threads) {
  const job *j = context;
  size_t begin = j->count * thread / threads, end = j->count * (thread + 1) / threads;
  for (size_t b = 0; b < j->ic / LANES; b++)
    for (size_t z = 0; z < j->depth; z++) transform_input(j, b, z, begin, end);
  for (size_t b = 0; b < j->oc / LANES; b++)
    for (size_t z = 0; z < j->odepth; z++) transform_result(j, b, z, begin, end);
}

/* -- products ------------------------------------------------------------------------------- */

/* u (8 x `vectors` vectors, rows `u_row` apart) = aᵀ b over `count` tiles, or more by that. */
INLINE void product(size_t vectors, const float *a, const float *b, size_t count, bool more,
                    float *u, size_t u_row) {
  vfloat sum[HIGH][2];
  UNROLLED
  for (size_t i = 0; i < HIGH; i++)
    for (size_t k = 0; k < vectors; k++)
      sum[i][k] = more ? *(vfloat *)(u + i * u_row + k * LANES) : (vfloat){0};
  for (size_t t = 0; t < count; t++, a += LANES, b += WIDE) {
    vfloat row[2];
    for (size_t k = 0; k < vectors; k++) row[k] = *(const vfloat *)(b + k * LANES);
    UNROLLED
    for (size_t i = 0; i < HIGH; i++)
      for (size_t k = 0; k < vectors; k++) sum[i][k] += a[i] * row[k];
  }
  UNROLLED
  for (size_t i = 0; i < HIGH; i++)
    for (size_t k = 0; k < vectors; k++) *(vfloat *)(u + i * u_row + k * LANES) = sum[i][k];
}

/* What a thread does at a time: input channels [begin, end) and 32 output channels (or the last
 * 16). */
typedef struct unit {
  size_t begin, end, panel, width;
  float *u; /* of the first point */
} unit;

/* Its sums at a point over `count` tiles from a and b on; `more`: added to what is there. */
static void strip(const job *j, const unit *w, const float *a, const float *b, size_t count,
                  bool more, float *u) {
  for (size_t first = 0; first < count; first += RUN, more = true) {
    size_t run = hl_winograd_smaller(RUN, count - first);
    for (size_t i = w->begin; i < w->end; i += HIGH, u += HIGH * j->u_row) {
      const float *from = a + i / LANES * j->v_strip + first * LANES + i % LANES;
      if (w->width == WIDE)
        product(2, from, b + first * WIDE, run, more, u, j->u_row);
      else
        product(1, from, b + first * WIDE, run, more, u, j->u_row);
    }
    u -= (w->end - w->begin) * j->u_row;
  }
}

/* A unit's sums of a tap at a point. With a part of a block the tiles of a slice do not follow
 * those of the one before. */
static void multiply(const job *j, const unit *w, size_t point, size_t tap, bool more) {
  const float *v = j->v + point * j->v_plane;
  const float *m = j->m + point * j->m_plane + w->panel * j->m_strip;
  float *u = w->u + point * j->u_plane + tap * j->u_tap;
  /* output slices [begin, end) read input slice z + tap - front */
  size_t front = j->shape->front, begin = tap < front ? front - tap : 0;
  size_t end = hl_winograd_smaller(j->odepth, j->depth + front > tap ? j->depth + front - tap : 0);
  if (begin >= end) {
    for (size_t i = 0; i < w->end - w->begin && !more; i++)
      memset(u + i * j->u_row, 0, w->width * sizeof(float));
    return;
  }
  const float *a = v + (begin + tap - front) * j->block * LANES;
  const float *b = m + begin * j->block * WIDE;
  if (j->count == j->block) {
    strip(j, w, a, b, (end - begin) * j->block, more, u);
    return;
  }
  for (size_t z = begin; z < end; z++, a += j->block * LANES, b += j->block * WIDE, more = true)
    strip(j, w, a, b, j->count, more, u);
}

/* -- back to taps --------------------------------------------------------------------------- */

/* Nine taps of 16 output channels and an input channel, from sums at the points. */
INLINE void taps_of(const float *u, size_t plane, vfloat ret[9]) {
  vfloat half[3][IN];
  for (int k = 0; k < IN; k++) {
    vfloat line[IN], taps[3];
    for (int r = 0; r < IN; r++) line[r] = *(const vfloat *)(u + (size_t)(r * IN + k) * plane);
    transform_taps_back(line, taps);
    for (int r = 0; r < 3; r++) half[r][k] = taps[r];
  }
  for (int r = 0; r < 3; r++) transform_taps_back(half[r], &ret[3 * r]);
}

/* Slice `tap` of the kernels of a unit. */
static void write_taps(const job *j, const unit *w, size_t tap) {
  const hl_winograd_shape *s = j->shape;
  size_t each = j->taps * 9, end = hl_winograd_smaller(w->end, s->ic);
  for (size_t i = w->begin; i < end; i++)
    for (size_t o = 0; o < w->width; o += LANES) {
      vfloat taps[9];
      size_t first = w->panel * WIDE + o, count = hl_winograd_smaller(LANES, s->oc - first);
      taps_of(w->u + tap * j->u_tap + (i - w->begin) * j->u_row + o, j->u_plane, taps);
      for (size_t l = 0; l < count; l++) {
        float *to = j->dw + ((first + l) * s->ic + i) * each + tap * 9;
        for (size_t k = 0; k < 9; k++) to[k] = taps[k][l];
      }
    }
}

/* -- the whole ------------------------------------------------------------------------------ */

static size_t panels_of(const job *j) {
  return (j->oc + WIDE - 1) / WIDE;
}

static unit unit_of(const job *j, size_t begin, size_t end, size_t panel, float *u) {
  return (unit){begin, end, panel, hl_winograd_smaller(WIDE, j->oc - panel * WIDE), u};
}

/* All tiles at once: some of the channels, to the end. */
static void whole_share(void *context, unsigned thread, unsigned threads) {
  const job *j = context;
  size_t groups = (j->ic + GROUP - 1) / GROUP, panels = panels_of(j);
  size_t units = groups * panels * j->taps, end = units * (thread + 1) / threads;
  for (size_t at = units * thread / threads; at < end; at++) {
    size_t tap = at % j->taps, group = at / j->taps % groups, begin = group * GROUP;
    unit w = unit_of(j, begin, hl_winograd_smaller(begin + GROUP, j->ic), at / j->taps / groups,
                     j->u + thread * POINTS * j->u_plane);
    for (size_t point = 0; point < POINTS; point++) multiply(j, &w, point, tap, false);
    write_taps(j, &w, tap);
  }
}

/* A block of tiles: some of the points. */
static void block_share(void *context, unsigned thread, unsigned threads) {
  const job *j = context;
  size_t panels = panels_of(j), units = POINTS * panels, end = units * (thread + 1) / threads;
  for (size_t at = units * thread / threads; at < end; at++) {
    unit w = unit_of(j, 0, j->ic, at % panels, j->u + at % panels * WIDE);
    for (size_t tap = 0; tap < j->taps; tap++) multiply(j, &w, at / panels, tap, j->first > 0);
  }
}

/* The sums of all blocks: some of the input channels. */
static void write_share(void *context, unsigned thread, unsigned threads) {
  const job *j = context;
  size_t begin = j->ic * thread / threads, end = j->ic * (thread + 1) / threads;
  for (size_t i = begin; i < end; i++)
    for (size_t panel = 0; panel < panels_of(j); panel++) {
      unit w = unit_of(j, i, i + 1, panel, j->u + i * j->u_row + panel * WIDE);
      for (size_t tap = 0; tap < j->taps; tap++) write_taps(j, &w, tap);
    }
}

void hl_winograd_gradient(const hl_winograd_shape *shape, const float *x, const float *dy,
                          float *dw, void *scratch) {
  job j = job_of(shape);
  j.x = x;
  j.dy = dy;
  j.dw = dw;
  j.v = scratch;
  j.m = j.v + POINTS * j.v_plane;
  j.u = j.m + POINTS * j.m_plane;
  bool whole = j.block == j.planes;
  for (; j.first < j.planes; j.first += j.block) {
    j.count = hl_winograd_smaller(j.block, j.planes - j.first);
    hl_kernels_parallel(transform_share, &j, shape->threads);
    hl_kernels_parallel(whole ? whole_share : block_share, &j, shape->threads);
  }
  if (!whole) hl_kernels_parallel(write_share, &j, shape->threads);
}
