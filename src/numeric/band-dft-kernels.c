/* Compiled once per instruction set, with fused products (band-dft-internal.h). */
#include <string.h>

#include "numeric/amplitude-vector.h"
#include "numeric/band-dft-internal.h"
#include "numeric/fft-vector.h"

enum {
  TILE = HL__BAND_TILE,
  TURNS = HL_VECTOR_BYTES == 64 ? 4 : 2, /* pairs of columns at a time: registers for their sums */
};

typedef struct number {
  vfloat re, im;
} number;

/* Where the pairs of one axis lie in the picture. */
typedef struct places {
  size_t n;
  int flip;
} places;

HL_INLINE size_t place(places p, size_t t, int minus) {
  size_t at = minus ? (p.n - 1) / 2 - t : p.n / 2 + t;
  return p.flip ? p.n - 1 - at : at;
}

/* Columns of HL_WIDTH pairs lie side by side; do they run backwards? */
HL_INLINE int backwards(places p, int minus) {
  return (minus != 0) != (p.flip != 0);
}

/* fields[w][+re, +im, -re, -im]: the sums over u for the rows of one block of pairs. */
static void fields_of(const hl__band_job *j, size_t row) {
  const hl__band_plan *p = j->plan;
  const float *cosine = p->row_cos + row, *sine = p->row_sin + row;
  for (size_t w = 0; w < p->band; w += TILE) {
    const float *b = j->folded + w * (p->half + 1) * 4;
    vfloat c[TILE][2] = {0}, s[TILE][2] = {0};
    for (size_t u = 0; u <= p->half; u++, b += 4 * TILE) {
      vfloat cu = hl_vload(cosine + u * p->padded), su = hl_vload(sine + u * p->padded);
      for (size_t i = 0; i < TILE; i++) {
        c[i][0] += cu * b[4 * i];
        c[i][1] += cu * b[4 * i + 1];
        s[i][0] += su * b[4 * i + 2];
        s[i][1] += su * b[4 * i + 3];
      }
    }
    for (size_t i = 0; i < TILE; i++) {
      float *to = j->fields + (w + i) * 4 * HL_WIDTH;
      hl_vstore(to, c[i][0] + s[i][1]);
      hl_vstore(to + HL_WIDTH, c[i][1] - s[i][0]);
      hl_vstore(to + 2 * HL_WIDTH, c[i][0] - s[i][1]);
      hl_vstore(to + 3 * HL_WIDTH, c[i][1] + s[i][0]);
    }
  }
}

/* The field of TURNS pairs of columns from t: plus[] and minus[], of the rows + (side 0) or -. */
HL_INLINE void field_at(const hl__band_job *j, size_t t, size_t side, number plus[TURNS],
                        number minus[TURNS]) {
  const hl__band_plan *p = j->plan;
  const float *table = p->columns + t / TILE * (p->half + 1) * 2 * TILE + t % TILE;
  const float *even = j->fields + side * 2 * HL_WIDTH, *odd = even + p->half * 4 * HL_WIDTH;
  number c[TURNS], s[TURNS];
  for (size_t i = 0; i < TURNS; i++) {
    c[i] = (number){hl_vload(even), hl_vload(even + HL_WIDTH)};
    s[i] = (number){0};
  }
  for (size_t v = 1; v <= p->half; v++) {
    const float *e = even + v * 4 * HL_WIDTH, *o = odd + v * 4 * HL_WIDTH;
    const float *turn = table + v * 2 * TILE;
    vfloat er = hl_vload(e), ei = hl_vload(e + HL_WIDTH);
    vfloat or = hl_vload(o), oi = hl_vload(o + HL_WIDTH);
    for (size_t i = 0; i < TURNS; i++) {
      c[i].re += er * turn[i];
      c[i].im += ei * turn[i];
      s[i].re += or *turn[i + TILE];
      s[i].im += oi * turn[i + TILE];
    }
  }
  for (size_t i = 0; i < TURNS; i++) {
    plus[i] = (number){c[i].re + s[i].im, c[i].im - s[i].re};
    minus[i] = (number){c[i].re - s[i].im, c[i].im + s[i].re};
  }
}

/* Of those sums only v of one parity: cosines in c, sines in s. */
HL_INLINE void sums_at(const hl__band_job *j, size_t t, size_t side, size_t parity, number c[TURNS],
                       number s[TURNS]) {
  const hl__band_plan *p = j->plan;
  const float *table = p->columns + t / TILE * (p->half + 1) * 2 * TILE + t % TILE;
  const float *even = j->fields + side * 2 * HL_WIDTH, *odd = even + p->half * 4 * HL_WIDTH;
  for (size_t i = 0; i < TURNS; i++) {
    number none = {0};
    c[i] = parity ? none : (number){hl_vload(even), hl_vload(even + HL_WIDTH)};
    s[i] = none;
  }
  for (size_t v = parity ? 1 : 2; v <= p->half; v += 2) {
    const float *e = even + v * 4 * HL_WIDTH, *o = odd + v * 4 * HL_WIDTH;
    const float *turn = table + v * 2 * TILE;
    vfloat er = hl_vload(e), ei = hl_vload(e + HL_WIDTH);
    vfloat or = hl_vload(o), oi = hl_vload(o + HL_WIDTH);
    for (size_t i = 0; i < TURNS; i++) {
      c[i].re += er * turn[i];
      c[i].im += ei * turn[i];
      s[i].re += or *turn[i + TILE];
      s[i].im += oi * turn[i + TILE];
    }
  }
}

/* The field of TURNS pairs from t and of their mirrors about a quarter of the picture, at n/2 - h,
 * where cos changes its sign for odd v and sin for even v: [0] and [1] as in field_at, [2] and [3]
 * of the mirrors. */
typedef struct quarter {
  number c[2][TURNS], s[2][TURNS]; /* by the parity of v */
} quarter;

HL_INLINE void fields_at(const quarter *f, size_t i, number z[4]) {
  number ce = f->c[0][i], co = f->c[1][i], se = f->s[0][i], so = f->s[1][i];
  number cc = {ce.re + co.re, ce.im + co.im}, cd = {ce.re - co.re, ce.im - co.im};
  number ss = {so.re + se.re, so.im + se.im}, sd = {so.re - se.re, so.im - se.im};
  z[0] = (number){cc.re + ss.im, cc.im - ss.re};
  z[1] = (number){cc.re - ss.im, cc.im + ss.re};
  z[2] = (number){cd.re + sd.im, cd.im - sd.re};
  z[3] = (number){cd.re - sd.im, cd.im + sd.re};
}

HL_INLINE void quarter_at(const hl__band_job *j, size_t t, size_t side, quarter *ret) {
  for (size_t parity = 0; parity < 2; parity++)
    sums_at(j, t, side, parity, ret->c[parity], ret->s[parity]);
}

/* Of a block of columns the block in which their mirrors lie, backwards. */
HL_INLINE size_t mirror_of(const hl__band_plan *p, size_t column) {
  return p->pairs - HL_WIDTH - column;
}

/* v[t][lane of a row] into rows of the picture, or out of them. */
static void put_square(const hl__band_job *j, vfloat v[HL_WIDTH], size_t row, int row_minus,
                       size_t column, int column_minus) {
  const hl__band_plan *p = j->plan;
  places at = {p->n, j->flip};
  if (row + HL_WIDTH <= p->pairs && column + HL_WIDTH <= p->pairs) {
    int back = backwards(at, column_minus);
    size_t first = place(at, back ? column + HL_WIDTH - 1 : column, column_minus);
    ptrdiff_t down = (ptrdiff_t)p->n * (backwards(at, row_minus) ? -1 : 1);
    float *to = j->amplitude + place(at, row, row_minus) * p->n + first;
    vfloat turned[HL_WIDTH];
    if (back)
      for (size_t i = 0; i < HL_WIDTH; i++) turned[i] = v[HL_WIDTH - 1 - i];
    else
      for (size_t i = 0; i < HL_WIDTH; i++) turned[i] = v[i];
    hl_vsquare(turned);
    for (ptrdiff_t i = 0; i < HL_WIDTH; i++) hl_vstore(to + i * down, turned[i]);
    return;
  }
  for (size_t l = 0; l < HL_WIDTH && row + l < p->pairs; l++)
    for (size_t i = 0; i < HL_WIDTH && column + i < p->pairs; i++)
      j->amplitude[place(at, row + l, row_minus) * p->n + place(at, column + i, column_minus)] =
          v[i][l];
}

static void get_square(const hl__band_job *j, vfloat v[HL_WIDTH], size_t row, int row_minus,
                       size_t column, int column_minus) {
  const hl__band_plan *p = j->plan;
  places at = {p->n, j->flip};
  if (row + HL_WIDTH <= p->pairs && column + HL_WIDTH <= p->pairs) {
    int back = backwards(at, column_minus);
    size_t first = place(at, back ? column + HL_WIDTH - 1 : column, column_minus);
    vfloat turned[HL_WIDTH];
    for (size_t i = 0; i < HL_WIDTH; i++)
      turned[i] = hl_vload(j->target + place(at, row + i, row_minus) * p->n + first);
    hl_vsquare(turned);
    for (size_t i = 0; i < HL_WIDTH; i++) v[back ? HL_WIDTH - 1 - i : i] = turned[i];
    return;
  }
  memset(v, 0, HL_WIDTH * sizeof *v);
  for (size_t l = 0; l < HL_WIDTH && row + l < p->pairs; l++)
    for (size_t i = 0; i < HL_WIDTH && column + i < p->pairs; i++)
      v[i][l] =
          j->target[place(at, row + l, row_minus) * p->n + place(at, column + i, column_minus)];
}

static void amplitudes(const hl__band_job *j, size_t row, size_t column, int side) {
  vfloat a[2][HL_WIDTH];
  for (size_t t = 0; t < HL_WIDTH; t += TURNS) {
    number z[2][TURNS];
    field_at(j, column + t, (size_t)side, z[0], z[1]);
    for (size_t sign = 0; sign < 2; sign++)
      for (size_t i = 0; i < TURNS; i++) {
        number x = z[sign][i];
        a[sign][t + i] = hl_vamplitude(x.re * x.re + x.im * x.im);
      }
  }
  for (int sign = 0; sign < 2; sign++) put_square(j, a[sign], row, side, column, sign);
}

static void mirrored_amplitudes(const hl__band_job *j, size_t row, size_t column, int side) {
  vfloat a[4][HL_WIDTH];
  for (size_t t = 0; t < HL_WIDTH; t += TURNS) {
    quarter f;
    quarter_at(j, column + t, (size_t)side, &f);
    HL_NO_UNROLL
    for (size_t i = 0; i < TURNS; i++) {
      number z[4];
      fields_at(&f, i, z);
      for (size_t k = 0; k < 4; k++)
        a[k][k < 2 ? t + i : HL_WIDTH - 1 - t - i] =
            hl_vamplitude(z[k].re * z[k].re + z[k].im * z[k].im);
    }
  }
  for (int k = 0; k < 4; k++)
    put_square(j, a[k], row, side, k < 2 ? column : mirror_of(j->plan, column), k % 2);
}

/* Which lanes are pixels that no other pair has: not beyond the picture, and its middle only once.
 */
HL_INLINE vfloat counted(const hl__band_plan *p, size_t row, int minus) {
  vfloat ret = {0};
  for (size_t l = 0; l < HL_WIDTH; l++)
    ret[l] = row + l < p->pairs && !(minus && p->n % 2 && row + l == 0);
  return ret;
}

/* hl_vdiffer where `lanes` is 1; 0 elsewhere. */
HL_INLINE vfloat differ(number z, vfloat target, vfloat lanes, hl_vsums *sums) {
  return hl_vdiffer((z.re * z.re + z.im * z.im) * lanes, target * lanes, sums);
}

/* sums[v][side][cos re, cos im, sin re, sin im] += those of g[t][sum re, im, difference re, im]. */
static void gather_gradient(const hl__band_job *j, size_t column, size_t side,
                            vfloat g[HL_WIDTH][4]) {
  const hl__band_plan *p = j->plan;
  enum { AT_ONCE = HL_VECTOR_BYTES == 64 ? 4 : 2 };
  for (size_t v = 0; v <= p->half; v += AT_ONCE) {
    vfloat sum[AT_ONCE][4];
    float *to = j->sums + (v * 2 + side) * 4 * HL_WIDTH;
    for (size_t i = 0; i < AT_ONCE; i++)
      for (size_t k = 0; k < 4; k++) sum[i][k] = hl_vload(to + (8 * i + k) * HL_WIDTH);
    /* Beyond the last v the table is another's; those sums are not used. */
    for (size_t t = 0; t < HL_WIDTH; t++) {
      const float *turn =
          p->columns + ((column + t) / TILE * (p->half + 1) + v) * 2 * TILE + (column + t) % TILE;
      for (size_t i = 0; i < AT_ONCE; i++) {
        float c = turn[i * 2 * TILE], s = turn[i * 2 * TILE + TILE];
        sum[i][0] += g[t][0] * c;
        sum[i][1] += g[t][1] * c;
        sum[i][2] += g[t][2] * s;
        sum[i][3] += g[t][3] * s;
      }
    }
    for (size_t i = 0; i < AT_ONCE; i++)
      for (size_t k = 0; k < 4; k++) hl_vstore(to + (8 * i + k) * HL_WIDTH, sum[i][k]);
  }
}

/* The same of g[t][parity of v], which holds those of the mirrors too. */
static void gather_mirrored(const hl__band_job *j, size_t column, size_t side,
                            vfloat g[HL_WIDTH][2][4]) {
  const hl__band_plan *p = j->plan;
  enum { AT_ONCE = HL_VECTOR_BYTES == 64 ? 4 : 2 };
  for (size_t parity = 0; parity < 2; parity++)
    for (size_t v = parity; v <= p->half; v += 2 * AT_ONCE) {
      size_t count = (p->half - v) / 2 + 1;
      vfloat sum[AT_ONCE][4];
      float *to = j->sums + (v * 2 + side) * 4 * HL_WIDTH;
      for (size_t i = 0; i < AT_ONCE; i++)
        for (size_t k = 0; k < 4; k++) sum[i][k] = hl_vload(to + (16 * i + k) * HL_WIDTH);
      for (size_t t = 0; t < HL_WIDTH; t++) {
        const float *turn =
            p->columns + ((column + t) / TILE * (p->half + 1) + v) * 2 * TILE + (column + t) % TILE;
        const vfloat *x = g[t][parity];
        for (size_t i = 0; i < AT_ONCE; i++) {
          float c = turn[i * 4 * TILE], s = turn[i * 4 * TILE + TILE];
          sum[i][0] += x[0] * c;
          sum[i][1] += x[1] * c;
          sum[i][2] += x[2] * s;
          sum[i][3] += x[3] * s;
        }
      }
      for (size_t i = 0; i < AT_ONCE && i < count; i++)
        for (size_t k = 0; k < 4; k++) hl_vstore(to + (16 * i + k) * HL_WIDTH, sum[i][k]);
    }
}

static void add_sums(const hl__band_job *j, size_t row, const hl_vsums *sums) {
  hl_residual_sums *loss = &j->losses[row / HL_WIDTH];
  loss->difference += hl_vtotal(sums->difference);
  loss->target += hl_vtotal(sums->target);
  loss->amplitude += hl_vtotal(sums->amplitude);
}

static void mirrored_residuals(const hl__band_job *j, size_t row, size_t column, int side) {
  vfloat target[4][HL_WIDTH], g[HL_WIDTH][2][4];
  hl_vsums sums = {0};
  for (int k = 0; k < 4; k++)
    get_square(j, target[k], row, side, k < 2 ? column : mirror_of(j->plan, column), k % 2);
  for (size_t t = 0; t < HL_WIDTH; t += TURNS) {
    quarter f;
    quarter_at(j, column + t, (size_t)side, &f);
    HL_NO_UNROLL
    for (size_t i = 0; i < TURNS; i++) {
      number x[4], z[4];
      fields_at(&f, i, z);
      for (size_t k = 0; k < 4; k++) {
        number y = z[k];
        vfloat s = hl_vdiffer(y.re * y.re + y.im * y.im,
                              target[k][k < 2 ? t + i : HL_WIDTH - 1 - t - i], &sums);
        x[k] = (number){y.re * s, y.im * s};
      }
      number e = {x[0].re + x[1].re, x[0].im + x[1].im}, o = {x[0].re - x[1].re, x[0].im - x[1].im};
      number m = {x[2].re + x[3].re, x[2].im + x[3].im}, q = {x[2].re - x[3].re, x[2].im - x[3].im};
      vfloat(*to)[4] = g[t + i];
      to[0][0] = e.re + m.re, to[0][1] = e.im + m.im, to[0][2] = o.re - q.re;
      to[0][3] = o.im - q.im, to[1][0] = e.re - m.re, to[1][1] = e.im - m.im;
      to[1][2] = o.re + q.re, to[1][3] = o.im + q.im;
    }
  }
  add_sums(j, row, &sums);
  if (j->graded) gather_mirrored(j, column, (size_t)side, g);
}

static void residuals(const hl__band_job *j, size_t row, size_t column, int side) {
  const hl__band_plan *p = j->plan;
  vfloat target[2][HL_WIDTH], g[HL_WIDTH][4], lanes = counted(p, row, side);
  hl_vsums sums = {0};
  for (int sign = 0; sign < 2; sign++) get_square(j, target[sign], row, side, column, sign);
  for (size_t t = 0; t < HL_WIDTH; t += TURNS) {
    number z[2][TURNS];
    field_at(j, column + t, (size_t)side, z[0], z[1]);
    for (size_t i = 0; i < TURNS; i++) {
      size_t at = column + t + i;
      vfloat none = {0}, there = at < p->pairs ? lanes : none;
      vfloat once = p->n % 2 && at == 0 ? none : there;
      vfloat a = differ(z[0][i], target[0][t + i], there, &sums);
      vfloat b = differ(z[1][i], target[1][t + i], once, &sums);
      number x = {z[0][i].re * a, z[0][i].im * a}, y = {z[1][i].re * b, z[1][i].im * b};
      g[t + i][0] = x.re + y.re;
      g[t + i][1] = x.im + y.im;
      g[t + i][2] = x.re - y.re;
      g[t + i][3] = x.im - y.im;
    }
  }
  add_sums(j, row, &sums);
  if (j->graded) gather_gradient(j, column, (size_t)side, g);
}

/* The gradient along each row, at ±v, and of it the sums and differences over the rows ±. */
static void rows_of(const hl__band_job *j, size_t row) {
  const hl__band_plan *p = j->plan;
  for (size_t v = 0; v <= p->half; v++)
    for (int minus = 0; minus < (v ? 2 : 1); minus++) {
      number x[2];
      for (size_t side = 0; side < 2; side++) {
        const float *s = j->sums + (v * 2 + side) * 4 * HL_WIDTH;
        vfloat cr = hl_vload(s), ci = hl_vload(s + HL_WIDTH);
        vfloat sr = hl_vload(s + 2 * HL_WIDTH), si = hl_vload(s + 3 * HL_WIDTH);
        x[side] = minus ? (number){cr + si, ci - sr} : (number){cr - si, ci + sr};
      }
      float *to = j->rows + (minus ? p->half - v : p->half + v) * 4 * p->padded + row;
      hl_vstore(to, x[0].re + x[1].re);
      hl_vstore(to + p->padded, x[0].im + x[1].im);
      hl_vstore(to + 2 * p->padded, x[0].re - x[1].re);
      hl_vstore(to + 3 * p->padded, x[0].im - x[1].im);
    }
}

HL_INLINE float total(vfloat v) {
#if HL_VECTOR_BYTES == 64
  return _mm512_reduce_add_ps((__m512)v);
#else
  float ret = 0;
  for (int i = 0; i < HL_WIDTH; i++) ret += v[i];
  return ret;
#endif
}

static void gradient(const hl__band_job *j, size_t v) {
  const hl__band_plan *p = j->plan;
  const float *x = j->rows + v * 4 * p->padded;
  for (size_t u = 0; u <= p->half; u++) {
    vfloat sum[4] = {0};
    for (size_t t = 0; t < p->pairs; t += HL_WIDTH) {
      vfloat c = hl_vload(p->row_cos + u * p->padded + t);
      vfloat s = hl_vload(p->row_sin + u * p->padded + t);
      sum[0] += c * hl_vload(x + t);
      sum[1] += c * hl_vload(x + p->padded + t);
      sum[2] += s * hl_vload(x + 2 * p->padded + t);
      sum[3] += s * hl_vload(x + 3 * p->padded + t);
    }
    float cr = total(sum[0]), ci = total(sum[1]), sr = total(sum[2]), si = total(sum[3]);
    float *plus = j->gradient + ((p->half + u) * p->band + v) * 2;
    float *minus = j->gradient + ((p->half - u) * p->band + v) * 2;
    minus[0] = cr + si;
    minus[1] = ci - sr;
    plus[0] = cr - si; /* at u = 0 both are the same: sin is 0 */
    plus[1] = ci + sr;
  }
}

static void rows(const hl__band_job *j, size_t at) {
  const hl__band_plan *p = j->plan;
  size_t row = at * HL_WIDTH;
  fields_of(j, row);
  j->losses[at] = (hl_residual_sums){0, 0, 0};
  if (j->graded) memset(j->sums, 0, (p->half + 1 + TILE) * 8 * HL_WIDTH * sizeof *j->sums);
  int mirrors = p->n % (4 * HL_WIDTH) == 0;
  for (size_t column = 0; column < (mirrors ? p->pairs / 2 : p->pairs); column += HL_WIDTH)
    for (int side = 0; side < 2; side++)
      if (mirrors)
        (j->amplitude ? mirrored_amplitudes : mirrored_residuals)(j, row, column, side);
      else
        (j->amplitude ? amplitudes : residuals)(j, row, column, side);
  if (j->graded) rows_of(j, row);
}

/* band-dft-eighths.c */
void HL_FN(hl__band_sixteen_rows)(const hl__band_job *job, size_t t);
void HL_FN(hl__band_spread_back)(const hl__band_job *job, size_t u);

extern const hl__band_kernels HL_FN(hl__band_kernels);
const hl__band_kernels HL_FN(hl__band_kernels) = {.width = HL_WIDTH,
                                                  .rows = rows,
                                                  .gradient = gradient,
                                                  .sixteen_rows = HL_FN(hl__band_sixteen_rows),
                                                  .spread_back = HL_FN(hl__band_spread_back)};
