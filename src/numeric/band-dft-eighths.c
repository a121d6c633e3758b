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
void HL_FN(hl__band_spread_back)(const hl__band_job *j, size_t u);

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

/* The field of HL_WIDTH columns from t, of the row whose fields these are. */
HL_INLINE void field_at(const hl__band_plan *p, const float *fields, size_t t, size_t half,
                        vfloat re[2][EIGHTHS], vfloat im[2][EIGHTHS]) {
  series s = {.e = fields,
              .o = fields + p->lanes + half,
              .cosine = turns_at(p, t),
              .sine = turns_at(p, t) + LANES,
              .half = half,
              .step = 1,
              .turn_step = (size_t)2 * LANES,
              .turns_are_vectors = 1};
  places_of(&s, re);
  s.e = fields + p->lanes;
  s.o = fields + half;
  places_of(&s, im); /* of the place opposite */
}

HL_INLINE void amplitudes_at(const hl__band_plan *p, const float *fields, size_t t, size_t half,
                             int flip, const size_t first[2][EIGHTHS], float *row) {
  vfloat re[2][EIGHTHS], im[2][EIGHTHS];
  field_at(p, fields, t, half, re, im);
  for (int minus = 0; minus < 2; minus++)
    for (size_t m = 0; m < EIGHTHS; m++) {
      vfloat x = re[minus][m], y = im[1 - minus][opposite(m)];
      vfloat a = hl_vamplitude(x * x + y * y);
      hl_vstore(row + first[minus][m], minus != flip ? reversed(a) : a);
    }
}

/* -- back: each of these is the transpose of what has its name without `back` ------------------ */

/* even[r] = Σ_m cos(2π r m / 8) x[m], odd[r] = Σ_m sin(2π r m / 8) x[m]. */
HL_INLINE void turn_back(const vfloat x[EIGHTHS], vfloat even[5], vfloat odd[3]) {
  const float root = 0x1.6a09e6p-1f;
  vfloat sum = x[0] + x[4], difference = x[0] - x[4], two = x[2] + x[6];
  vfloat one = x[1] + x[7], three = x[3] + x[5], outer = one + three, inner = root * (one - three);
  vfloat i = x[1] - x[7], j = x[2] - x[6], k = x[3] - x[5], slope = root * (i + k);
  even[0] = sum + two + outer;
  even[4] = sum + two - outer;
  even[2] = sum - two;
  even[1] = difference + inner;
  even[3] = difference - inner;
  odd[0] = slope + j;
  odd[1] = i - k;
  odd[2] = slope - j;
}

/* What of each remainder's slope goes to e by cos and sin, and to o by sin and cos. */
typedef struct slopes {
  vfloat ec[5], os[5], es[3], oc[3];
} slopes;

HL_INLINE slopes slopes_of(vfloat x[2][EIGHTHS]) {
  remainders r;
  slopes s;
  for (int minus = 0; minus < 2; minus++) turn_back(x[minus], r.even[minus], r.odd[minus]);
  for (size_t k = 0; k < 5; k++) {
    s.ec[k] = r.even[0][k] + r.even[1][k];
    s.os[k] = r.even[0][k] - r.even[1][k];
  }
  for (size_t k = 0; k < 3; k++) {
    s.oc[k] = r.odd[0][k] + r.odd[1][k];
    s.es[k] = r.odd[1][k] - r.odd[0][k];
  }
  return s;
}

/* Sets e[v][HL_WIDTH] and o[v][HL_WIDTH] (from v = 1), or adds to them. */
HL_INLINE void collect(const slopes *s, const float *cosine, size_t half, int sets, float *e,
                       float *o) {
  HL_UNROLL
  for (size_t v = 0; v <= half; v++) {
    size_t r = v % EIGHTHS, k = r > EIGHTHS / 2 ? EIGHTHS - r : r;
    vfloat c = hl_vload(cosine + 2 * v * LANES), i = hl_vload(cosine + (2 * v + 1) * LANES);
    vfloat a = s->ec[k] * c, b = s->os[k] * i;
    if (k != 0 && k != EIGHTHS / 2) {
      vfloat turn = i, back = c;
      if (r > EIGHTHS / 2) turn = -i, back = -c;
      a += s->es[k - 1] * turn;
      b += s->oc[k - 1] * back;
    }
    if (!sets) {
      a += hl_vload(e + v * HL_WIDTH);
      b += hl_vload(o + v * HL_WIDTH);
    }
    hl_vstore(e + v * HL_WIDTH, a);
    if (v) hl_vstore(o + v * HL_WIDTH, b);
  }
}

/* Pairs of halves, then of quarters, ...: lane i of the result is the sum over v[i]. */
#define HL_FOLD(a, b, low, high)                                                                   \
  (__builtin_shufflevector(a, b, HL_LANES low) + __builtin_shufflevector(a, b, HL_LANES high))
#define HL_LANES(...) __VA_ARGS__

HL_INLINE vfloat sum_lanes(vfloat v[HL_WIDTH]) {
#if HL_VECTOR_BYTES == 64
  for (int i = 0; i < 8; i++)
    v[i] = HL_FOLD(v[i], v[i + 8], (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
                   (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
  for (int i = 0; i < 4; i++)
    v[i] = HL_FOLD(v[i], v[i + 4], (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
                   (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31));
  for (int i = 0; i < 2; i++)
    v[i] = HL_FOLD(v[i], v[i + 2], (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
                   (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31));
  return HL_FOLD(v[0], v[1], (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
                 (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31));
#elif HL_VECTOR_BYTES == 32
  for (int i = 0; i < 4; i++)
    v[i] = HL_FOLD(v[i], v[i + 4], (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
  for (int i = 0; i < 2; i++)
    v[i] = HL_FOLD(v[i], v[i + 2], (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
  return HL_FOLD(v[0], v[1], (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
#else
  for (int i = 0; i < 2; i++) v[i] = HL_FOLD(v[i], v[i + 2], (0, 1, 4, 5), (2, 3, 6, 7));
  return HL_FOLD(v[0], v[1], (0, 4, 2, 6), (1, 5, 3, 7));
#endif
}

/* Of one thread, behind its fields: the slope of a row's fields in lanes that are not yet summed
 * up, [re, im][lanes][HL_WIDTH], and that of 16 rows, [16][re, im][lanes]. */
HL_INLINE float *row_slope(const hl__band_job *j) {
  return j->fields + 32 * j->plan->lanes;
}

HL_INLINE float *rows_slope(const hl__band_job *j) {
  return row_slope(j) + 2 * j->plan->lanes * HL_WIDTH;
}

HL_INLINE void residuals_at(const hl__band_job *j, const float *fields, size_t t, size_t half,
                            int flip, const size_t first[2][EIGHTHS], const float *row,
                            hl_vsums *sums) {
  const hl__band_plan *p = j->plan;
  vfloat re[2][EIGHTHS], im[2][EIGHTHS];
  field_at(p, fields, t, half, re, im);
  for (int minus = 0; minus < 2; minus++)
    for (size_t m = 0; m < EIGHTHS; m++) {
      vfloat *x = &re[minus][m], *y = &im[1 - minus][opposite(m)];
      vfloat target = hl_vload(row + first[minus][m]);
      vfloat g = hl_vdiffer(*x * *x + *y * *y, minus != flip ? reversed(target) : target, sums);
      *x *= g;
      *y *= g;
    }
  if (!j->graded) return;
  float *to = row_slope(j), *other = to + p->lanes * HL_WIDTH;
  const float *turns = turns_at(p, t);
  slopes s = slopes_of(re);
  collect(&s, turns, half, t == 0, to, other + half * HL_WIDTH);
  s = slopes_of(im);
  collect(&s, turns, half, t == 0, other, to + half * HL_WIDTH);
}

/* The slope of row i's fields, whose lanes are summed up now. */
HL_INLINE void row_back(const hl__band_job *j, size_t i) {
  const hl__band_plan *p = j->plan;
  const float *from = row_slope(j);
  float *to = rows_slope(j) + i * 2 * p->lanes;
  for (size_t w = 0; w < 2 * p->lanes; w += HL_WIDTH) {
    vfloat v[HL_WIDTH];
    for (size_t l = 0; l < HL_WIDTH; l++) v[l] = hl_vload(from + (w + l) * HL_WIDTH);
    hl_vstore(to + w, sum_lanes(v));
  }
}

/* j->slopes[t][re, im][ec, os, es, oc][lanes]: from that of the 16 rows ±x + m n / 8. */
static void rows_back(const hl__band_job *j, size_t t) {
  size_t lanes = j->plan->lanes;
  float *to = j->slopes + t * 32 * lanes;
  for (size_t part = 0; part < 2; part++)
    for (size_t w = 0; w < lanes; w += HL_WIDTH) {
      const float *from = rows_slope(j) + part * lanes + w;
      float *at = to + part * 16 * lanes + w;
      vfloat x[2][EIGHTHS];
      for (size_t i = 0; i < 2 * EIGHTHS; i++) {
        size_t minus = i / EIGHTHS, m = i % EIGHTHS;
        vfloat v = hl_vload(from + i * 2 * lanes);
        x[part ? 1 - minus : minus][part ? opposite(m) : m] = v;
      }
      slopes s = slopes_of(x);
      for (size_t k = 0; k < 5; k++) {
        hl_vstore(at + k * lanes, s.ec[k]);
        hl_vstore(at + (5 + k) * lanes, s.os[k]);
      }
      for (size_t k = 0; k < 3; k++) {
        hl_vstore(at + (10 + k) * lanes, s.es[k]);
        hl_vstore(at + (13 + k) * lanes, s.oc[k]);
      }
    }
}

/* j->spread_slope[u], of all rows in their order. */
void HL_FN(hl__band_spread_back)(const hl__band_job *j, size_t u) {
  const hl__band_plan *p = j->plan;
  size_t lanes = p->lanes, r = u % EIGHTHS, k = r > EIGHTHS / 2 ? EIGHTHS - r : r;
  int turns = k != 0 && k != EIGHTHS / 2;
  float *to = j->spread_slope + u * 4 * lanes;
  for (size_t part = 0; part < 2; part++)
    for (size_t w = 0; w < lanes; w += HL_WIDTH) {
      vfloat e = {0}, o = {0};
      for (size_t t = 0; t < p->sixteenth; t++) {
        const float *s = j->slopes + (t * 2 + part) * 16 * lanes + w;
        const float *turn = turns_at(p, t) + 2 * u * LANES;
        float c = turn[0], i = turn[LANES];
        e += hl_vload(s + k * lanes) * c;
        o += hl_vload(s + (5 + k) * lanes) * i;
        if (!turns) continue;
        e += hl_vload(s + (9 + k) * lanes) * (r == k ? i : -i);
        o += hl_vload(s + (12 + k) * lanes) * (r == k ? c : -c);
      }
      hl_vstore(to + part * lanes + w, e);
      hl_vstore(to + (3 - part) * lanes + w, o);
    }
}

/* -- 16 rows ---------------------------------------------------------------------------------- */

HL_INLINE void places_make(const hl__band_plan *p, int flip, size_t t, size_t width,
                           size_t first[2][EIGHTHS]) {
  for (size_t i = 0; i < 2 * EIGHTHS; i++)
    first[i / EIGHTHS][i % EIGHTHS] = first_of(p, flip, t, width, i >= EIGHTHS, i % EIGHTHS);
}

HL_INLINE void see_rows(const hl__band_job *j, size_t t, size_t half, int flip) {
  const hl__band_plan *p = j->plan;
  size_t rows[2][EIGHTHS], first[2][EIGHTHS];
  places_make(p, flip, t, 1, rows);
  for (size_t c = 0; c < p->sixteenth; c += HL_WIDTH) {
    places_make(p, flip, c, HL_WIDTH, first);
    for (size_t i = 0; i < 2 * EIGHTHS; i++)
      amplitudes_at(p, j->fields + i * 2 * p->lanes, c, half, flip, first,
                    j->amplitude + rows[i / EIGHTHS][i % EIGHTHS] * p->n);
  }
}

HL_INLINE void compare_rows(const hl__band_job *j, size_t t, size_t half, int flip) {
  const hl__band_plan *p = j->plan;
  size_t rows[2][EIGHTHS], first[2][EIGHTHS];
  hl_residual_sums *loss = &j->losses[t];
  *loss = (hl_residual_sums){0, 0, 0};
  places_make(p, flip, t, 1, rows);
  for (size_t i = 0; i < 2 * EIGHTHS; i++) {
    hl_vsums sums = {0};
    for (size_t c = 0; c < p->sixteenth; c += HL_WIDTH) {
      places_make(p, flip, c, HL_WIDTH, first);
      residuals_at(j, j->fields + i * 2 * p->lanes, c, half, flip, first,
                   j->target + rows[i / EIGHTHS][i % EIGHTHS] * p->n, &sums);
    }
    loss->difference += hl_vtotal(sums.difference);
    loss->target += hl_vtotal(sums.target);
    loss->amplitude += hl_vtotal(sums.amplitude);
    if (j->graded) row_back(j, i);
  }
  if (j->graded) rows_back(j, t);
}

HL_INLINE void sixteen_rows(const hl__band_job *j, size_t t, size_t half, int flip) {
  rows_at(j, t, half);
  if (j->amplitude)
    see_rows(j, t, half, flip);
  else
    compare_rows(j, t, half, flip);
}

/* The band of the standard aperture, of radius 20, in a loop that the compiler knows. */
void HL_FN(hl__band_sixteen_rows)(const hl__band_job *j, size_t t) {
  size_t half = j->plan->half;
  if (half == 20 && j->flip)
    sixteen_rows(j, t, 20, 1);
  else
    sixteen_rows(j, t, half, j->flip);
}
