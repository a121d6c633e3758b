/* From the object to the picture; compiled once per instruction set, with fused products. */
#include <math.h>

#include "numeric/amplitude-vector.h"
#include "numeric/pruned-fft-lines.h"

/* Two rows of the object make a line: even + i odd. */
static void pixels_in(const job *j, size_t group, block x) {
  const plan *p = j->plan;
  static const float none[LANES];
  size_t first = group * 2 * LANES;
  for (size_t odd = 0; odd < 2; odd++) {
    float *to = odd ? x.im : x.re;
    for (size_t i = 0; i < p->object; i += LANES) {
      float from[SQUARE], square[SQUARE];
      size_t count = p->object - i < LANES ? p->object - i : LANES;
      for (size_t l = 0; l < LANES; l++) {
        size_t row = first + 2 * l + odd;
        memcpy(from + l * LANES, none, sizeof none);
        if (row < p->object)
          memcpy(from + l * LANES, j->pixels + row * j->stride + i, count * sizeof *from);
      }
      turn(from, LANES, square, LANES);
      for (size_t k = 0; k < count; k++)
        memcpy(to + wrapped(p, i + k) * LANES, square + k * LANES, LANES * sizeof *to);
    }
  }
}

static void rows_in(const job *j, size_t group, float *scratch) {
  const plan *p = j->plan;
  block x = scratch_x(p, scratch), y = scratch_y(p, scratch);
  size_t after = p->object - p->object / 2;
  clear(x, after, p->n - p->object);
  pixels_in(j, group, x);
  block z = forward(p, x, y);
  float scale = 0.5f / (float)p->n;
  for (size_t b = 0; b < p->blocks; b++) {
    float even[2][SQUARE] = {0}, odd[2][SQUARE] = {0};
    for (size_t i = 0; i < LANES && b * LANES + i <= p->half; i++)
      for (size_t l = 0; l < LANES; l += HL_WIDTH) {
        size_t v = b * LANES + i, at = i * LANES + l;
        number a = load(z, v * LANES + l), c = load(z, mirrored(p, v) * LANES + l);
        hl_vstore(even[0] + at, (a.re + c.re) * scale);
        hl_vstore(even[1] + at, (a.im - c.im) * scale);
        hl_vstore(odd[0] + at, (a.im + c.im) * scale);
        hl_vstore(odd[1] + at, (c.re - a.re) * scale);
      }
    block to = block_at(p->rows, p->groups * 2 * LANES, b);
    for (size_t part = 0; part < 2; part++) {
      float *rows = (part ? to.im : to.re) + group * 2 * LANES * LANES;
      turn(even[part], LANES, rows, 2 * LANES);
      turn(odd[part], LANES, rows + LANES, 2 * LANES);
    }
  }
}

static void columns_in(const job *j, size_t b, float *scratch) {
  const plan *p = j->plan;
  block x = scratch_x(p, scratch), from = block_at(p->rows, p->groups * 2 * LANES, b);
  block to = block_at(p->spectrum, p->n, b);
  size_t before = p->object / 2, after = p->object - before;
  copy(x, 0, from, before, after);
  clear(x, after, p->n - p->object);
  copy(x, p->n - before, from, 0, before);
  /* The result may come to lie where it belongs; Bluestein's lines are longer than that. */
  block f = forward(p, x, p->length == p->n ? to : scratch_y(p, scratch));
  if (f.re != to.re) copy(to, 0, f, 0, p->n);
}

static void mask_in(const job *j, size_t at, float *scratch) {
  const plan *p = j->plan;
  size_t b = at / 2, minus = at % 2;
  block x = scratch_x(p, scratch), from = block_at(p->spectrum, p->n, b);
  int any = 0;
  for (size_t u = 0; u < p->n; u++) {
    float lanes[LANES];
    any |= open_lanes(p, j->mask, u, b, minus, lanes);
    size_t source = (minus ? mirrored(p, u) : u) * LANES;
    for (size_t l = 0; l < LANES; l += HL_WIDTH) {
      vfloat open = hl_vload(lanes + l);
      number s = load(from, source + l);
      store(x, u * LANES + l, (number){s.re * open, minus ? -s.im * open : s.im * open});
    }
  }
  p->open[at] = (uint8_t)any;
  if (!any) return;
  block f = forward(p, x, scratch_y(p, scratch));
  float scale = 1 / (float)p->n;
  for (size_t row = 0; row < p->n; row += LANES) {
    block to = tile_at(p, row / LANES, b, minus);
    for (size_t i = 0; i < SQUARE; i += HL_WIDTH) {
      number z = load(f, row * LANES + i);
      store(to, i, (number){z.re * scale, z.im * scale});
    }
  }
}

/* The columns of one block, or its mirror, into the lines of a block of rows: `line` is that of the
 * first, the others follow or precede it. */
HL_INLINE void lines_in(const plan *p, block from, size_t b, size_t minus, block x) {
  size_t v = b * LANES, last = p->half - v < LANES ? p->half - v : LANES - 1;
  if (!minus && v < p->half) {
    turn(from.re, LANES, x.re + v * LANES, LANES);
    turn(from.im, LANES, x.im + v * LANES, LANES);
  } else if (minus && v && last == LANES - 1) {
    turn(from.re, LANES, x.re + (p->n - v) * LANES, -LANES);
    turn(from.im, LANES, x.im + (p->n - v) * LANES, -LANES);
  } else if (minus) {
    float re[SQUARE], im[SQUARE];
    turn(from.re, LANES, re, LANES);
    turn(from.im, LANES, im, LANES);
    for (size_t l = v ? 0 : 1; l <= last; l++) copy(x, p->n - v - l, (block){re, im}, l, 1);
  }
}

static block field_of(const plan *p, size_t row_block, float *scratch) {
  block x = scratch_x(p, scratch);
  for (size_t b = 0; b < p->blocks; b++)
    for (size_t minus = 0; minus < 2; minus++) {
      size_t v = b * LANES, last = p->half - v < LANES ? p->half - v : LANES - 1;
      if (p->open[2 * b + minus])
        lines_in(p, tile_at(p, row_block, b, minus), b, minus, x);
      else if (!minus && v < p->half)
        clear(x, v, LANES);
      else if (minus)
        clear(x, p->n - v - last, v ? last + 1 : last);
    }
  return forward(p, x, scratch_y(p, scratch));
}

/* Where LANES rows and columns of a block lie in a picture, and whether they run backwards. */
typedef struct corner {
  size_t row, column;
  ptrdiff_t down;
} corner;

HL_INLINE corner corner_of(const job *j, size_t row_block, size_t q) {
  const plan *p = j->plan;
  size_t row = (row_block * LANES + p->half) % p->n, column = (q + p->half) % p->n;
  if (!j->flip) return (corner){row, column, (ptrdiff_t)p->n};
  return (corner){p->n - 1 - row, p->n - LANES - column, -(ptrdiff_t)p->n};
}

static void amplitudes(const job *j, size_t row_block, block f) {
  const plan *p = j->plan;
  for (size_t q = 0; q < p->n; q += LANES) {
    float square[SQUARE];
    for (size_t i = 0; i < SQUARE; i += HL_WIDTH) {
      number z = load(f, q * LANES + i);
      hl_vstore(square + i, hl_vamplitude(z.re * z.re + z.im * z.im));
    }
    corner c = corner_of(j, row_block, q);
    float *to = j->amplitude + c.row * p->n + c.column;
    if (j->flip)
      turn(square + (LANES - 1) * LANES, -LANES, to, c.down);
    else
      turn(square, LANES, to, c.down);
  }
}

/* f becomes the slope: each field's direction times the sign of its difference. */
static void residual(const job *j, size_t row_block, block f) {
  const plan *p = j->plan;
  hl_vsums sums = {0};
  for (size_t q = 0; q < p->n; q += LANES) {
    float square[SQUARE];
    corner c = corner_of(j, row_block, q);
    const float *from = j->target + c.row * p->n + c.column;
    if (j->flip)
      turn(from, c.down, square + (LANES - 1) * LANES, -LANES);
    else
      turn(from, c.down, square, LANES);
    for (size_t i = 0; i < SQUARE; i += HL_WIDTH) {
      number z = load(f, q * LANES + i);
      vfloat s = hl_vdiffer(z.re * z.re + z.im * z.im, hl_vload(square + i), &sums);
      store(f, q * LANES + i, (number){z.re * s, z.im * s});
    }
  }
  p->sums[row_block] = (hl_residual_sums){hl_vtotal(sums.difference), hl_vtotal(sums.target),
                                          hl_vtotal(sums.amplitude)};
}

static void lines_out(const plan *p, block f, size_t b, size_t minus, block to) {
  size_t v = b * LANES, last = p->half - v < LANES ? p->half - v : LANES - 1;
  if (!minus && v < p->half) {
    turn(f.re + v * LANES, LANES, to.re, LANES);
    turn(f.im + v * LANES, LANES, to.im, LANES);
  } else if (minus && v && last == LANES - 1) {
    turn(f.re + (p->n - v) * LANES, -LANES, to.re, LANES);
    turn(f.im + (p->n - v) * LANES, -LANES, to.im, LANES);
  } else if (minus) {
    float re[SQUARE] = {0}, im[SQUARE] = {0};
    for (size_t l = v ? 0 : 1; l <= last; l++) copy((block){re, im}, l, f, p->n - v - l, 1);
    turn(re, LANES, to.re, LANES);
    turn(im, LANES, to.im, LANES);
  }
}

static void picture(const job *j, size_t row_block, float *scratch) {
  const plan *p = j->plan;
  block f = field_of(p, row_block, scratch);
  if (j->amplitude) {
    amplitudes(j, row_block, f);
    return;
  }
  residual(j, row_block, f);
  block x = scratch_x(p, scratch), y = scratch_y(p, scratch);
  block g = inverse(p, f, f.re == x.re ? y : x);
  for (size_t at = 0; at < 2 * p->blocks; at++)
    if (p->open[at]) lines_out(p, g, at / 2, at % 2, tile_at(p, row_block, at / 2, at % 2));
}

extern const hl__pruned_kernels HL_FN(hl__pruned_kernels);
const hl__pruned_kernels HL_FN(hl__pruned_kernels) = {
    .rows_in = rows_in,
    .columns_in = columns_in,
    .mask_in = mask_in,
    .picture = picture,
    .mask_back = HL_FN(hl__pruned_mask_back),
    .columns_back = HL_FN(hl__pruned_columns_back),
    .rows_back = HL_FN(hl__pruned_rows_back),
};
