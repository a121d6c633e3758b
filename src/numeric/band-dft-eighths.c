/* Compiled once per instruction set, with fused products (band-dft-internal.h).
 *
 * A coordinate of the picture is ±x + m n / 8, with x = t + 1/2 below n / 16 and m = 0..7. There
 *
 *   g(x) = Σ_v e[v] cos(2π v x / n) + o[v] sin(2π v x / n),
 *
 * which is the real part of a field, needs products with cos and sin of x alone: turns by an eighth
 * are those of v mod 8, so that sums over each remainder r are enough, and the 16 places of one x
 * are an addition of these. That is n² band / 4.5 products in place of n² band / 2. The imaginary
 * part is g(-x) of the other parts of e and o.
 *
 * Lanes are the band's columns where rows are computed, then columns of the picture: nothing is
 * transposed. */
#include "numeric/amplitude-vector.h"
#include "numeric/band-dft-internal.h"
#include "numeric/fft-vector.h"

void HL_FN(hl__band_sixteen_rows)(const hl__band_job *j, size_t t);

enum { EIGHTHS = HL__BAND_EIGHTHS, LANES = HL__BAND_LANES };

/* e[v * step], o[v * step] (from v = 1) and cos, sin at turn + v * turn_step: the ones scalars, the
 * others vectors. */
typedef struct series {
  const float *e, *o, *cosine, *sine;
  size_t half, step, turn_step;
  int turns_are_vectors;
} series;

/* Of each remainder r: with cos of its turns at +x and -x, and r = 1..3 with sin. */
typedef struct remainders {
  vfloat even[2][5], odd[2][3];
} remainders;

HL_INLINE vfloat splat(float x) {
  return x - (vfloat){0};
}

typedef struct four {
  vfloat ec, os, es, oc;
} four;

/* Over v = first, first + 8, ... */
HL_INLINE four products(const series *s, size_t first, four f, int minus) {
  for (size_t v = first; v <= s->half; v += EIGHTHS) {
    const float *pe = s->e + v * s->step, *po = s->o + v * s->step;
    const float *pc = s->cosine + v * s->turn_step, *ps = s->sine + v * s->turn_step;
    vfloat e = s->turns_are_vectors ? splat(*pe) : hl_vload(pe);
    vfloat o = s->turns_are_vectors ? splat(*po) : hl_vload(po);
    vfloat c = s->turns_are_vectors ? hl_vload(pc) : splat(*pc);
    vfloat i = s->turns_are_vectors ? hl_vload(ps) : splat(*ps);
    f.ec += e * c;
    f.os += o * i;
    if (minus) {
      f.es -= e * i;
      f.oc -= o * c;
    } else {
      f.es += e * i;
      f.oc += o * c;
    }
  }
  return f;
}

/* Where sin of all turns is 0: r = 0 from `first` = 8, r = 4. */
HL_INLINE void whole_turns(const series *s, size_t first, vfloat a, vfloat *plus, vfloat *minus) {
  vfloat b = {0};
  for (size_t v = first; v <= s->half; v += EIGHTHS) {
    const float *pe = s->e + v * s->step, *po = s->o + v * s->step;
    const float *pc = s->cosine + v * s->turn_step, *ps = s->sine + v * s->turn_step;
    if (s->turns_are_vectors) {
      a += *pe * hl_vload(pc);
      b += *po * hl_vload(ps);
    } else {
      a += hl_vload(pe) * *pc;
      b += hl_vload(po) * *ps;
    }
  }
  *plus = a + b;
  *minus = a - b;
}

HL_INLINE void remainder_of(const series *s, size_t k, remainders *r) {
  vfloat none = {0};
  four f = products(s, k, (four){none, none, none, none}, 0);
  f = products(s, EIGHTHS - k, f, 1); /* turns the other way */
  r->even[0][k] = f.ec + f.os;
  r->even[1][k] = f.ec - f.os;
  r->odd[0][k - 1] = f.oc - f.es;
  r->odd[1][k - 1] = f.oc + f.es;
}

HL_INLINE remainders sum_up(const series *s) {
  remainders r;
  vfloat none = {0};
  whole_turns(s, EIGHTHS, s->turns_are_vectors ? splat(*s->e) : hl_vload(s->e), &r.even[0][0],
              &r.even[1][0]);
  whole_turns(s, EIGHTHS / 2, none, &r.even[0][4], &r.even[1][4]);
  remainder_of(s, 1, &r);
  remainder_of(s, 2, &r);
  remainder_of(s, 3, &r);
  return r;
}

/* ret[m] = Σ_r cos(2π r m / 8) even[r] + sin(2π r m / 8) odd[r]. */
HL_INLINE void turn(const vfloat even[5], const vfloat odd[3], vfloat ret[EIGHTHS]) {
  const float root = 0x1.6a09e6p-1f; /* of 1/2 */
  vfloat sum = even[0] + even[4], difference = even[0] - even[4];
  vfloat outer = even[1] + even[3], inner = root * (even[1] - even[3]);
  vfloat up = sum + even[2], slope = root * (odd[0] + odd[2]);
  vfloat one = difference + inner, two = sum - even[2], three = difference - inner;
  vfloat i = slope + odd[1], j = odd[0] - odd[2], k = slope - odd[1];
  ret[0] = up + outer;
  ret[4] = up - outer;
  ret[1] = one + i, ret[7] = one - i;
  ret[2] = two + j, ret[6] = two - j;
  ret[3] = three + k, ret[5] = three - k;
}

/* ret[minus][m] = g(±x + m n / 8). */
HL_INLINE void places_of(const series *s, vfloat ret[2][EIGHTHS]) {
  remainders r = sum_up(s);
  for (int minus = 0; minus < 2; minus++) turn(r.even[minus], r.odd[minus], ret[minus]);
}

/* The same at the place opposite. */
HL_INLINE size_t opposite(size_t m) {
  return (EIGHTHS - m) % EIGHTHS;
}

HL_INLINE const float *turns_at(const hl__band_plan *p, size_t t) {
  return p->turns + t / LANES * (p->half + 1) * 2 * LANES + t % LANES;
}

/* j->fields[16 rows: minus, m][re, im][lanes]: of the rows ±x + m n / 8. */
HL_INLINE void rows_at(const hl__band_job *j, size_t t, size_t half) {
  const hl__band_plan *p = j->plan;
  size_t lanes = p->lanes, row = 2 * lanes;
  for (size_t w = 0; w < lanes; w += HL_WIDTH) {
    const float *from = j->spread + w;
    series s = {.e = from,
                .o = from + 3 * lanes,
                .cosine = turns_at(p, t),
                .sine = turns_at(p, t) + LANES,
                .half = half,
                .step = 4 * lanes,
                .turn_step = (size_t)2 * LANES};
    vfloat x[2][EIGHTHS];
    places_of(&s, x);
    for (size_t i = 0; i < 2 * EIGHTHS; i++)
      hl_vstore(j->fields + i * row + w, x[i / EIGHTHS][i % EIGHTHS]);
    s.e = from + lanes;
    s.o = from + 2 * lanes;
    places_of(&s, x);
    for (size_t i = 0; i < 2 * EIGHTHS; i++)
      hl_vstore(j->fields + i * row + lanes + w, x[1 - i / EIGHTHS][opposite(i % EIGHTHS)]);
  }
}

/* The first of HL_WIDTH places from t at ±x + m n / 8, in the order of the picture. */
HL_INLINE size_t first_of(const hl__band_plan *p, int flip, size_t t, size_t width, int minus,
                          size_t m) {
  size_t at = (minus ? p->n / 2 - t - width : p->n / 2 + t) + m * (p->n / EIGHTHS);
  if (at >= p->n) at -= p->n;
  return flip ? p->n - width - at : at;
}

HL_INLINE vfloat reversed(vfloat v) {
#if HL_VECTOR_BYTES == 64
  return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#elif HL_VECTOR_BYTES == 32
  return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
#else
  return __builtin_shufflevector(v, v, 3, 2, 1, 0);
#endif
}

/* Of one row, whose fields these are, the columns ±x + m n / 8 of HL_WIDTH x from t. */
HL_INLINE void columns_at(const hl__band_job *j, const float *fields, size_t t, size_t half,
                          int flip, const size_t first[2][EIGHTHS], float *row) {
  const hl__band_plan *p = j->plan;
  series s = {.e = fields,
              .o = fields + p->lanes + half,
              .cosine = turns_at(p, t),
              .sine = turns_at(p, t) + LANES,
              .half = half,
              .step = 1,
              .turn_step = (size_t)2 * LANES,
              .turns_are_vectors = 1};
  vfloat re[2][EIGHTHS], im[2][EIGHTHS];
  places_of(&s, re);
  s.e = fields + p->lanes;
  s.o = fields + half;
  places_of(&s, im);
  for (int minus = 0; minus < 2; minus++)
    for (size_t m = 0; m < EIGHTHS; m++) {
      vfloat x = re[minus][m], y = im[1 - minus][opposite(m)];
      vfloat a = hl_vamplitude(x * x + y * y);
      hl_vstore(row + first[minus][m], minus != flip ? reversed(a) : a);
    }
}

HL_INLINE void sixteen_rows(const hl__band_job *j, size_t t, size_t half, int flip) {
  const hl__band_plan *p = j->plan;
  rows_at(j, t, half);
  for (size_t c = 0; c < p->sixteenth; c += HL_WIDTH) {
    size_t first[2][EIGHTHS];
    for (size_t i = 0; i < 2 * EIGHTHS; i++)
      first[i / EIGHTHS][i % EIGHTHS] = first_of(p, flip, c, HL_WIDTH, i >= EIGHTHS, i % EIGHTHS);
    for (size_t i = 0; i < 2 * EIGHTHS; i++)
      columns_at(j, j->fields + i * 2 * p->lanes, c, half, flip, first,
                 j->amplitude + first_of(p, flip, t, 1, i >= EIGHTHS, i % EIGHTHS) * p->n);
  }
}

/* The band of the standard aperture, of radius 20, in a loop that the compiler knows. */
void HL_FN(hl__band_sixteen_rows)(const hl__band_job *j, size_t t) {
  size_t half = j->plan->half;
  if (half == 20 && j->flip)
    sixteen_rows(j, t, 20, 1);
  else
    sixteen_rows(j, t, half, j->flip);
}
