/* From the picture's slope to the object's; compiled once per instruction set, with fused products.
 */
#include "numeric/pruned-fft-lines.h"

/* The object is real: what -v says, conjugate and mirrored, is said to v. */
void HL_FN(hl__pruned_mask_back)(const job *j, size_t b, float *scratch) {
  const plan *p = j->plan;
  block to = block_at(p->slope, p->n, b);
  float scale = 1 / (float)p->n;
  clear(to, 0, p->n);
  for (size_t minus = 0; minus < 2; minus++) {
    if (!p->open[2 * b + minus]) continue;
    block x = scratch_x(p, scratch);
    for (size_t row = 0; row < p->n; row += LANES)
      copy(x, row, tile_at(p, row / LANES, b, minus), 0, LANES);
    block f = inverse(p, x, scratch_y(p, scratch));
    for (size_t u = 0; u < p->n; u++) {
      float lanes[LANES];
      if (!open_lanes(p, j->mask, u, b, minus, lanes)) continue;
      size_t at = (minus ? mirrored(p, u) : u) * LANES;
      for (size_t l = 0; l < LANES; l += HL_WIDTH) {
        vfloat open = hl_vload(lanes + l) * scale;
        number z = load(f, u * LANES + l), sum = load(to, at + l);
        sum.re += z.re * open;
        sum.im += minus ? -z.im * open : z.im * open;
        store(to, at + l, sum);
      }
    }
  }
}

void HL_FN(hl__pruned_columns_back)(const job *j, size_t b, float *scratch) {
  const plan *p = j->plan;
  block x = scratch_x(p, scratch), to = block_at(p->rows, p->groups * 2 * LANES, b);
  size_t before = p->object / 2, after = p->object - before;
  copy(x, 0, block_at(p->slope, p->n, b), 0, p->n);
  block f = inverse(p, x, scratch_y(p, scratch));
  copy(to, before, f, 0, after);
  copy(to, 0, f, p->n - before, before);
}

/* Rows beyond the object hold what they did: their lanes are not written out. */
void HL_FN(hl__pruned_rows_back)(const job *j, size_t group, float *scratch) {
  const plan *p = j->plan;
  block x = scratch_x(p, scratch);
  float scale = j->factor / (float)p->n;
  for (size_t b = 0; b < p->blocks; b++) {
    block from = block_at(p->rows, p->groups * 2 * LANES, b);
    float even[2][SQUARE], odd[2][SQUARE];
    for (size_t part = 0; part < 2; part++) {
      const float *rows = (part ? from.im : from.re) + group * 2 * LANES * LANES;
      turn(rows, 2 * LANES, even[part], LANES);
      turn(rows + LANES, 2 * LANES, odd[part], LANES);
    }
    for (size_t i = 0; i < LANES && b * LANES + i <= p->half; i++)
      for (size_t l = 0; l < LANES; l += HL_WIDTH) {
        size_t v = b * LANES + i, at = i * LANES + l;
        number e = {hl_vload(even[0] + at), hl_vload(even[1] + at)};
        number o = {hl_vload(odd[0] + at), hl_vload(odd[1] + at)};
        if (v == 0 || v == p->half) {
          store(x, v * LANES + l, (number){e.re * scale, o.re * scale});
          continue;
        }
        vfloat half = scale * 0.5f - (vfloat){0};
        store(x, v * LANES + l, (number){(e.re - o.im) * half, (e.im + o.re) * half});
        store(x, (p->n - v) * LANES + l, (number){(e.re + o.im) * half, (o.re - e.im) * half});
      }
  }
  block f = inverse(p, x, scratch_y(p, scratch));
  for (size_t odd = 0; odd < 2; odd++)
    for (size_t i = 0; i < p->object; i += LANES) {
      float lines[SQUARE] = {0}, square[SQUARE];
      size_t count = p->object - i < LANES ? p->object - i : LANES;
      for (size_t k = 0; k < count; k++)
        memcpy(lines + k * LANES, (odd ? f.im : f.re) + wrapped(p, i + k) * LANES,
               LANES * sizeof *lines);
      turn(lines, LANES, square, LANES);
      for (size_t l = 0; l < LANES; l++) {
        size_t row = group * 2 * LANES + 2 * l + odd;
        if (row < p->object)
          memcpy(j->gradient + row * j->stride + i, square + l * LANES, count * sizeof *square);
      }
    }
}
