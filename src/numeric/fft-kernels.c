/* Compiled once per instruction set; all give the same bits (fft-internal.h). */
#include "numeric/fft-internal.h"
#include "numeric/fft-vector.h"

enum { LANES = HL__FFT_LANES };

typedef hl__fft_block block;

typedef struct number {
  vfloat re, im;
} number;

/* One pass: radix r, m = remaining length / r, s = vectors already merged, step = n / remaining. */
typedef struct pass {
  const hl__fft_axis *a;
  size_t r, m, s, step;
} pass;

HL_INLINE number load(block x, size_t at) {
  return (number){hl_vload(x.re + at), hl_vload(x.im + at)};
}

HL_INLINE void store(block y, size_t at, number v) {
  hl_vstore(y.re + at, v.re);
  hl_vstore(y.im + at, v.im);
}

HL_INLINE number turned(const hl__fft_axis *a, number v, size_t t) {
  float c = a->cosine[t], d = a->sine[t];
  return (number){v.re * c - v.im * d, v.re * d + v.im * c};
}

HL_INLINE void butterfly2(const hl__fft_axis *a, size_t t, number x, number y, number to[2]) {
  to[0] = (number){x.re + y.re, x.im + y.im};
  to[1] = turned(a, (number){x.re - y.re, x.im - y.im}, t);
}

HL_INLINE void butterfly4(const hl__fft_axis *a, size_t t, number x, number y, number z, number w,
                          number to[4]) {
  number xp = {x.re + z.re, x.im + z.im}, xm = {x.re - z.re, x.im - z.im};
  number yp = {y.re + w.re, y.im + w.im}, ym = {y.re - w.re, y.im - w.im};
  to[0] = (number){xp.re + yp.re, xp.im + yp.im};
  to[1] = turned(a, (number){xm.re + ym.im, xm.im - ym.re}, t);
  to[2] = turned(a, (number){xp.re - yp.re, xp.im - yp.im}, 2 * t);
  to[3] = turned(a, (number){xm.re - ym.im, xm.im + ym.re}, 3 * t);
}

static void pass2(const pass *p, block x, block y) {
  size_t count = p->s * LANES, half = p->m * count;
  for (size_t j = 0; j < p->m; j++)
    for (size_t q = 0; q < count; q += HL_WIDTH) {
      size_t from = j * count + q, to = 2 * j * count + q;
      number v[2];
      butterfly2(p->a, j * p->step, load(x, from), load(x, from + half), v);
      store(y, to, v[0]);
      store(y, to + count, v[1]);
    }
}

static void pass4(const pass *p, block x, block y) {
  size_t count = p->s * LANES, quarter = p->m * count;
  for (size_t j = 0; j < p->m; j++)
    for (size_t q = 0; q < count; q += HL_WIDTH) {
      size_t from = j * count + q, to = 4 * j * count + q;
      number v[4];
      butterfly4(p->a, j * p->step, load(x, from), load(x, from + quarter),
                 load(x, from + 2 * quarter), load(x, from + 3 * quarter), v);
      for (size_t k = 0; k < 4; k++) store(y, to + k * count, v[k]);
    }
}

/* A pass of radix 4 and the next, of radix `next` (4 or 2), in one walk over memory. */
HL_INLINE void pass4_with(const pass *p, size_t next, block x, block y) {
  size_t count = p->s * LANES, quarter = p->m * count, m = p->m / next;
  for (size_t j = 0; j < m; j++)
    for (size_t q = 0; q < count; q += HL_WIDTH) {
      number v[4][4]; /* of the first pass: for each input of the second its four results */
      for (size_t i = 0; i < next; i++) {
        size_t from = (j + i * m) * count + q;
        butterfly4(p->a, (j + i * m) * p->step, load(x, from), load(x, from + quarter),
                   load(x, from + 2 * quarter), load(x, from + 3 * quarter), v[i]);
      }
      for (size_t k = 0; k < 4; k++) {
        size_t to = (4 * next * j + k) * count + q;
        number w[4];
        if (next == 4)
          butterfly4(p->a, 4 * j * p->step, v[0][k], v[1][k], v[2][k], v[3][k], w);
        else
          butterfly2(p->a, 4 * j * p->step, v[0][k], v[1][k], w);
        for (size_t i = 0; i < next; i++) store(y, to + 4 * i * count, w[i]);
      }
    }
}

static void pass16(const pass *p, block x, block y) {
  pass4_with(p, 4, x, y);
}

static void pass8(const pass *p, block x, block y) {
  pass4_with(p, 2, x, y);
}

/* Any radix by its definition: output k is Σ x_i exp(-2πi i k / r), times the twiddle. */
static void pass_any(const pass *p, block x, block y) {
  size_t count = p->s * LANES, n = p->a->n;
  for (size_t j = 0; j < p->m; j++)
    for (size_t k = 0; k < p->r; k++)
      for (size_t q = 0; q < count; q += HL_WIDTH) {
        number sum = {0};
        size_t around = 0, t = j * k * p->step % n; /* i k n / r mod n, and with the twiddle */
        size_t each = k * (n / p->r), from = j * count + q, twiddle = t;
        for (size_t i = 0; i < p->r; i++) {
          number v = turned(p->a, load(x, from + i * p->m * count), t);
          sum = i ? (number){sum.re + v.re, sum.im + v.im} : v;
          around = around + each < n ? around + each : around + each - n;
          t = around + twiddle < n ? around + twiddle : around + twiddle - n;
        }
        store(y, (p->r * j + k) * count + q, sum);
      }
}

static block passes_run(const hl__fft_axis *a, block x, block y) {
  pass p = {.a = a, .s = 1, .step = 1};
  for (unsigned i = 0; i < a->pass_count; i++) {
    p.r = a->radix[i];
    p.m = a->n / p.step / p.r;
    unsigned next = i + 1 < a->pass_count && p.r == 4 ? a->radix[i + 1] : 0;
    if (next == 4 || next == 2) {
      (next == 4 ? pass16 : pass8)(&p, x, y);
      p.r *= next;
      i++;
    } else if (p.r == 4) {
      pass4(&p, x, y);
    } else if (p.r == 2) {
      pass2(&p, x, y);
    } else {
      pass_any(&p, x, y);
    }
    p.s *= p.r;
    p.step *= p.r;
    block swap = x;
    x = y;
    y = swap;
  }
  return x;
}

/* x[j] *= factor[j] for every lane. */
static void multiply(block x, const float *re, const float *im, size_t n) {
  for (size_t j = 0; j < n; j++)
    for (size_t l = j * LANES; l < (j + 1) * LANES; l++) {
      float r = x.re[l] * re[j] - x.im[l] * im[j];
      x.im[l] = x.re[l] * im[j] + x.im[l] * re[j];
      x.re[l] = r;
    }
}

/* The transform of a block in x, using y; returns where the result lies. */
static block axis_run(const hl__fft_axis *a, block x, block y) {
  if (!a->convolution) return passes_run(a, x, y);
  size_t m = a->convolution->n;
  multiply(x, a->chirp_re, a->chirp_im, a->n);
  for (size_t l = a->n * LANES; l < m * LANES; l++) x.re[l] = x.im[l] = 0;
  block f = passes_run(a->convolution, x, y);
  multiply(f, a->filter_re, a->filter_im, m);
  /* The inverse is the forward transform with the two parts exchanged. */
  block swapped = {f.im, f.re};
  block other = f.re == x.re ? (block){y.im, y.re} : (block){x.im, x.re};
  block g = passes_run(a->convolution, swapped, other);
  block ret = {g.im, g.re};
  multiply(ret, a->chirp_re, a->chirp_im, a->n);
  return ret;
}

/* Elements [first, n) of `count` lines (fewer than LANES: the first again for the others). */
static void gather_plain(const hl__fft_lines *w, const float *data, size_t count, size_t first,
                         block x) {
  for (size_t j = first; j < w->axis->n; j++)
    for (size_t l = 0; l < LANES; l++) {
      const float *value = data + 2 * (j * w->stride + (l < count ? l : 0) * w->line);
      x.re[j * LANES + l] = value[0];
      x.im[j * LANES + l] = value[1];
    }
}

static void scatter_plain(const hl__fft_lines *w, float *data, size_t count, size_t first,
                          block x) {
  for (size_t j = first; j < w->axis->n; j++)
    for (size_t l = 0; l < count; l++) {
      float *value = data + 2 * (j * w->stride + l * w->line);
      value[0] = x.re[j * LANES + l] * w->scale;
      value[1] = x.im[j * LANES + l] * w->scale;
    }
}

/* Lines beside each other: columns of a picture. */
static void gather_columns(const hl__fft_lines *w, const float *data, block x) {
  for (size_t j = 0; j < w->axis->n; j++)
    for (size_t l = 0; l < LANES; l += HL_WIDTH) {
      const float *from = data + 2 * (j * w->stride + l);
      number v;
      hl_vsplit(hl_vload(from), hl_vload(from + HL_WIDTH), &v.re, &v.im);
      store(x, j * LANES + l, v);
    }
}

static void scatter_columns(const hl__fft_lines *w, float *data, block x) {
  for (size_t j = 0; j < w->axis->n; j++)
    for (size_t l = 0; l < LANES; l += HL_WIDTH) {
      float *to = data + 2 * (j * w->stride + l);
      number v = load(x, j * LANES + l);
      vfloat a, b;
      hl_vjoin(v.re * w->scale, v.im * w->scale, &a, &b);
      hl_vstore(to, a);
      hl_vstore(to + HL_WIDTH, b);
    }
}

/* Lines of elements that lie beside each other: squares of HL_PAIRS numbers are turned. */
static size_t gather_rows(const hl__fft_lines *w, const float *data, block x) {
  size_t j = 0;
  for (; j + HL_PAIRS <= w->axis->n; j += HL_PAIRS)
    for (size_t l = 0; l < LANES; l += HL_WIDTH) {
      vfloat a[HL_PAIRS], b[HL_PAIRS];
      for (size_t i = 0; i < HL_PAIRS; i++) {
        a[i] = hl_vload(data + 2 * ((l + i) * w->line + j));
        b[i] = hl_vload(data + 2 * ((l + i + HL_PAIRS) * w->line + j));
      }
      hl_vtranspose(a);
      hl_vtranspose(b);
      for (size_t i = 0; i < HL_PAIRS; i++) {
        number v;
        hl_vsplit(a[i], b[i], &v.re, &v.im);
        store(x, (j + i) * LANES + l, v);
      }
    }
  return j;
}

static size_t scatter_rows(const hl__fft_lines *w, float *data, block x) {
  size_t j = 0;
  for (; j + HL_PAIRS <= w->axis->n; j += HL_PAIRS)
    for (size_t l = 0; l < LANES; l += HL_WIDTH) {
      vfloat a[HL_PAIRS], b[HL_PAIRS];
      for (size_t i = 0; i < HL_PAIRS; i++) {
        number v = load(x, (j + i) * LANES + l);
        hl_vjoin(v.re * w->scale, v.im * w->scale, &a[i], &b[i]);
      }
      hl_vtranspose(a);
      hl_vtranspose(b);
      for (size_t i = 0; i < HL_PAIRS; i++) {
        hl_vstore(data + 2 * ((l + i) * w->line + j), a[i]);
        hl_vstore(data + 2 * ((l + i + HL_PAIRS) * w->line + j), b[i]);
      }
    }
  return j;
}

static block exchanged(block x) {
  return (block){x.im, x.re};
}

static void lines_run(const hl__fft_lines *w, float *data) {
  block x = {w->scratch, w->scratch + w->part};
  block y = {w->scratch + 2 * w->part, w->scratch + 3 * w->part};
  size_t n = w->axis->n;
  for (size_t first = 0; first < w->lines; first += LANES) {
    size_t count = w->lines - first < LANES ? w->lines - first : LANES;
    float *values = data + 2 * first * w->line;
    block in = w->inverse ? exchanged(x) : x;
    int full = count == LANES, columns = w->line == 1 && w->stride != 1;
    size_t done = 0;
    if (full && columns) {
      gather_columns(w, values, in);
      done = n;
    } else if (full && w->stride == 1) {
      done = gather_rows(w, values, in);
    }
    gather_plain(w, values, count, done, in);
    block f = axis_run(w->axis, x, y);
    if (w->inverse) f = exchanged(f);
    done = 0;
    if (full && columns) {
      scatter_columns(w, values, f);
      done = n;
    } else if (full && w->stride == 1) {
      done = scatter_rows(w, values, f);
    }
    scatter_plain(w, values, count, done, f);
  }
}

extern const hl__fft_kernels HL_FN(hl__fft_kernels);
const hl__fft_kernels HL_FN(hl__fft_kernels) = {
    .lines = lines_run, .passes = passes_run, .run = axis_run};
