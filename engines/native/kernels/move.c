/* Copies that change the order of elements: strided, plain to blocked, concatenation. */
#include "strided.h"
#include "vector.h"

enum {
  TILE = 16, /* a cache line of floats */
  SHORT = 8  /* rows below this are cheaper than finding them one by one */
};

static void copy_row(float *y, ptrdiff_t sy, const float *x, ptrdiff_t sx, size_t n) {
  if (sx == 1 && sy == 1) {
    memcpy(y, x, n * sizeof *y);
    return;
  }
  for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) y[i * sy] = x[i * sx];
}

/* Moves the axis along which x is contiguous out of s; rank if there is none. */
static size_t contiguous_axis(const hl_strided *s) {
  if (s->inner_stride[0] != 1 || s->inner_stride[1] == 1) return s->rank;
  size_t axis = 0;
  while (axis < s->rank && s->stride[1][axis] != 1) axis++;
  return axis;
}

static void copy_transposed(const hl_copy_args *a, hl_strided *s, size_t axis, unsigned thread,
                            unsigned threads) {
  size_t extent = s->extent[axis], blocks = hl_ceil_div(extent, TILE);
  ptrdiff_t y_stride = s->stride[0][axis];
  s->rows /= extent;
  s->extent[axis] = 1; /* an axis that hl_strided_row passes over */
  hl_share share = hl_share_of(s->rows * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    ptrdiff_t at[2];
    hl_strided_row(s, unit / blocks, at);
    size_t first = unit % blocks * TILE;
    hl_transpose(a->y + at[0] + (ptrdiff_t)first * y_stride, y_stride,
                 a->x + at[1] + (ptrdiff_t)first, s->inner_stride[1], hl_min(TILE, extent - first),
                 s->inner);
  }
}

/* Short rows, such as complex numbers: all along the axis around them in one go. */
static void copy_short(const hl_copy_args *a, hl_strided *s, unsigned thread, unsigned threads) {
  size_t around = s->extent[--s->rank];
  ptrdiff_t y_step = s->stride[0][s->rank], x_step = s->stride[1][s->rank];
  ptrdiff_t inner = (ptrdiff_t)s->inner, sy = s->inner_stride[0], sx = s->inner_stride[1];
  s->rows /= around;
  size_t parts = s->rows >= threads ? 1 : hl_ceil_div(threads, s->rows);
  hl_share share = hl_share_of(s->rows * parts, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    ptrdiff_t at[2];
    hl_strided_row(s, unit / parts, at);
    hl_share run = hl_share_of(around, (unsigned)(unit % parts), (unsigned)parts);
    float *y = a->y + at[0];
    const float *x = a->x + at[1];
    for (ptrdiff_t k = (ptrdiff_t)run.first; k < (ptrdiff_t)run.end; k++) {
      if (inner == 2 && sy == 1 && sx == 1)
        memcpy(y + k * y_step, x + k * x_step, 2 * sizeof *y);
      else
        for (ptrdiff_t i = 0; i < inner; i++) y[k * y_step + i * sy] = x[k * x_step + i * sx];
    }
  }
}

void HL_FN(copy)(const hl_copy_args *a, unsigned thread, unsigned threads) {
  const ptrdiff_t *strides[2] = {a->y_stride, a->x_stride};
  hl_strided s;
  hl_strided_init(&s, a->rank, a->extent, strides, 2);
  if (s.rows == 0) return;
  size_t axis = contiguous_axis(&s);
  if (axis < s.rank) {
    copy_transposed(a, &s, axis, thread, threads);
    return;
  }
  if (s.inner < SHORT && s.rank > 0) {
    copy_short(a, &s, thread, threads);
    return;
  }
  size_t parts = s.rows >= threads ? 1 : hl_ceil_div(threads, s.rows);
  hl_share share = hl_share_of(s.rows * parts, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    ptrdiff_t at[2];
    hl_strided_row(&s, unit / parts, at);
    hl_share run = hl_share_of(s.inner, (unsigned)(unit % parts), (unsigned)parts);
    ptrdiff_t from = (ptrdiff_t)run.first;
    copy_row(a->y + at[0] + from * s.inner_stride[0], s.inner_stride[0],
             a->x + at[1] + from * s.inner_stride[1], s.inner_stride[1], run.end - run.first);
  }
}

/* Plain (c <= block channels, s) to (s, block), and back. */
static void to_blocked(float *y, const float *x, size_t c, size_t s, size_t block) {
  hl_transpose(y, (ptrdiff_t)block, x, (ptrdiff_t)s, s, c);
  if (c == block) return;
  for (size_t i = 0; i < s; i++) memset(y + i * block + c, 0, (block - c) * sizeof *y);
}

static void from_blocked(float *y, const float *x, size_t c, size_t s, size_t block) {
  hl_transpose(y, (ptrdiff_t)s, x, (ptrdiff_t)block, c, s);
}

void HL_FN(reorder)(const hl_reorder_args *a, unsigned thread, unsigned threads) {
  size_t block = a->x_block > 1 ? a->x_block : a->y_block, blocks = hl_ceil_div(a->c, block);
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t first = unit % blocks * block, c = hl_min(block, a->c - first);
    size_t plain = (unit / blocks * a->c + first) * a->s, blocked = unit * a->s * block;
    if (block == 1)
      memcpy(a->y + plain, a->x + plain, a->s * sizeof *a->y);
    else if (a->y_block > 1)
      to_blocked(a->y + blocked, a->x + plain, c, a->s, block);
    else
      from_blocked(a->y + plain, a->x + blocked, c, a->s, block);
  }
}

/* One output block (n, b): lane by lane from whichever input holds the channel. */
static void concat_block(const hl_concat_args *a, size_t n, size_t b, size_t c_total) {
  size_t block = a->block, s = a->s;
  float *y = a->y + (n * hl_ceil_div(c_total, block) + b) * s * block;
  size_t input = 0, start = 0; /* input `input` begins at channel `start` */
  for (size_t l = 0; l < block;) {
    size_t c = b * block + l;
    while (input < a->x_count && c >= start + a->x_channels[input]) start += a->x_channels[input++];
    if (input == a->x_count) {
      for (size_t i = 0; i < s; i++) memset(y + i * block + l, 0, (block - l) * sizeof *y);
      return;
    }
    size_t within = c - start, lane = within % block;
    size_t blocks = hl_ceil_div(a->x_channels[input], block);
    const float *x = a->x[input] + (n * blocks + within / block) * s * block;
    size_t run = hl_min(hl_min(block - lane, a->x_channels[input] - within), block - l);
    if (run == block)
      memcpy(y, x, s * block * sizeof *y);
    else
      for (size_t i = 0; i < s; i++)
        for (size_t k = 0; k < run; k++) y[i * block + l + k] = x[i * block + lane + k];
    l += run;
  }
}

/* Plain: what an input has of picture n lies together. */
static void concat_plain(const hl_concat_args *a, size_t c_total, unsigned thread,
                         unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  for (size_t n = share.first; n < share.end; n++) {
    float *y = a->y + n * c_total * a->s;
    for (size_t i = 0; i < a->x_count; i++) {
      size_t run = a->x_channels[i] * a->s;
      memcpy(y, a->x[i] + n * run, run * sizeof *y);
      y += run;
    }
  }
}

void HL_FN(concat)(const hl_concat_args *a, unsigned thread, unsigned threads) {
  size_t c = 0;
  for (size_t i = 0; i < a->x_count; i++) c += a->x_channels[i];
  if (a->block == 1 && a->n >= threads) {
    concat_plain(a, c, thread, threads);
    return;
  }
  size_t blocks = hl_ceil_div(c, a->block);
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++)
    concat_block(a, unit / blocks, unit % blocks, c);
}
