/*
 * Lines are transformed LANES at a time: a block is gathered into split real and imaginary arrays
 * [length][LANES], so that every loop of every pass is a plain vector loop whatever the axis, and
 * rows need no transposed copy of the picture.
 */
#include "numeric/fft.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { LANES = 16, MAX_PRIME = 61, MAX_PASSES = 24 };

/* One block of lines: element j of line l is re[j * LANES + l] + i im[j * LANES + l]. */
typedef struct block {
  float *re, *im;
} block;

typedef struct axis {
  size_t n;
  unsigned pass_count, radix[MAX_PASSES];
  float *cosine, *sine; /* exp(-2πi j / n) */
  /* Bluestein, for lengths with a large prime factor: */
  struct axis *convolution; /* of a power of two; NULL otherwise */
  float *chirp_re, *chirp_im, *filter_re, *filter_im;
} axis;

struct hl_fft {
  size_t h, w;
  axis *rows, *columns; /* the same object when h = w */
  float *scratch;
  size_t scratch_length; /* elements of each of its four arrays, over LANES */
};

static void axis_free(axis *a) {
  if (!a) return;
  axis_free(a->convolution);
  free(a->cosine);
  free(a->chirp_re);
  free(a);
}

/* Radices in `a`; 0 if a prime factor is too large for a direct pass. */
static int factorize(axis *a) {
  static const unsigned first[] = {4, 2, 3, 5};
  size_t rest = a->n;
  for (size_t i = 0; i < 4; i++)
    for (; rest % first[i] == 0; rest /= first[i]) a->radix[a->pass_count++] = first[i];
  for (unsigned p = 7; p <= MAX_PRIME; p += 2)
    for (; rest % p == 0; rest /= p) a->radix[a->pass_count++] = p;
  return rest == 1;
}

/* One pass: radix r, m = remaining length / r, s = vectors already merged, step = n / remaining. */
typedef struct pass {
  const axis *a;
  size_t r, m, s, step;
} pass;

static void pass2(const pass *p, block x, block y) {
  size_t count = p->s * LANES;
  for (size_t j = 0; j < p->m; j++) {
    float c = p->a->cosine[j * p->step], d = p->a->sine[j * p->step];
    const float *ar = x.re + j * count, *ai = x.im + j * count;
    const float *br = ar + p->m * count, *bi = ai + p->m * count;
    float *restrict yr = y.re + 2 * j * count, *restrict yi = y.im + 2 * j * count;
#pragma omp simd
    for (size_t q = 0; q < count; q++) {
      float tr = ar[q] - br[q], ti = ai[q] - bi[q];
      yr[q] = ar[q] + br[q];
      yi[q] = ai[q] + bi[q];
      yr[q + count] = tr * c - ti * d;
      yi[q + count] = tr * d + ti * c;
    }
  }
}

static void pass4(const pass *p, block x, block y) {
  size_t count = p->s * LANES, quarter = p->m * count;
  const float *cosine = p->a->cosine, *sine = p->a->sine;
  for (size_t j = 0; j < p->m; j++) {
    size_t t = j * p->step;
    float c1 = cosine[t], d1 = sine[t], c2 = cosine[2 * t], d2 = sine[2 * t];
    float c3 = cosine[3 * t], d3 = sine[3 * t];
    const float *xr = x.re + j * count, *xi = x.im + j * count;
    float *restrict yr = y.re + 4 * j * count, *restrict yi = y.im + 4 * j * count;
#pragma omp simd
    for (size_t q = 0; q < count; q++) {
      float ar = xr[q], ai = xi[q], br = xr[q + quarter], bi = xi[q + quarter];
      float cr = xr[q + 2 * quarter], ci = xi[q + 2 * quarter];
      float dr = xr[q + 3 * quarter], di = xi[q + 3 * quarter];
      float apr = ar + cr, api = ai + ci, amr = ar - cr, ami = ai - ci;
      float bpr = br + dr, bpi = bi + di, bmr = br - dr, bmi = bi - di;
      float ur = amr + bmi, ui = ami - bmr, vr = apr - bpr, vi = api - bpi;
      float wr = amr - bmi, wi = ami + bmr;
      yr[q] = apr + bpr;
      yi[q] = api + bpi;
      yr[q + count] = ur * c1 - ui * d1;
      yi[q + count] = ur * d1 + ui * c1;
      yr[q + 2 * count] = vr * c2 - vi * d2;
      yi[q + 2 * count] = vr * d2 + vi * c2;
      yr[q + 3 * count] = wr * c3 - wi * d3;
      yi[q + 3 * count] = wr * d3 + wi * c3;
    }
  }
}

/* Any radix by its definition: output k is Σ x_i exp(-2πi i k / r), times the twiddle. */
static void pass_any(const pass *p, block x, block y) {
  size_t count = p->s * LANES, n = p->a->n;
  for (size_t j = 0; j < p->m; j++)
    for (size_t k = 0; k < p->r; k++) {
      size_t twiddle = j * k * p->step;
      float *restrict yr = y.re + (p->r * j + k) * count;
      float *restrict yi = y.im + (p->r * j + k) * count;
      for (size_t i = 0; i < p->r; i++) {
        size_t t = (i * k % p->r * (n / p->r) + twiddle) % n;
        float c = p->a->cosine[t], d = p->a->sine[t];
        const float *xr = x.re + (j + i * p->m) * count, *xi = x.im + (j + i * p->m) * count;
#pragma omp simd
        for (size_t q = 0; q < count; q++) {
          float re = xr[q] * c - xi[q] * d, im = xr[q] * d + xi[q] * c;
          yr[q] = i ? yr[q] + re : re;
          yi[q] = i ? yi[q] + im : im;
        }
      }
    }
}

/* Stockham's passes from x to y and back; returns the one that holds the result. */
static block passes_run(const axis *a, block x, block y) {
  pass p = {.a = a, .s = 1, .step = 1};
  for (unsigned i = 0; i < a->pass_count; i++) {
    p.r = a->radix[i];
    p.m = a->n / p.step / p.r;
    if (p.r == 4)
      pass4(&p, x, y);
    else if (p.r == 2)
      pass2(&p, x, y);
    else
      pass_any(&p, x, y);
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
static block axis_run(const axis *a, block x, block y) {
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

static axis *axis_new(size_t n);

/* exp(-πi j² / n), and the transform of its conjugate, wrapped round, over m. */
static int axis_add_convolution(axis *a) {
  size_t n = a->n, m = 1;
  while (m < 2 * n - 1) m *= 2;
  float *buffer = calloc(4 * m * LANES, sizeof *buffer);
  a->chirp_re = malloc(2 * (n + m) * sizeof *a->chirp_re);
  a->convolution = axis_new(m);
  if (!buffer || !a->chirp_re || !a->convolution) {
    free(buffer);
    return 0;
  }
  a->chirp_im = a->chirp_re + n;
  a->filter_re = a->chirp_im + n;
  a->filter_im = a->filter_re + m;
  block x = {buffer, buffer + m * LANES}, y = {buffer + 2 * m * LANES, buffer + 3 * m * LANES};
  for (size_t j = 0; j < n; j++) {
    double angle = -M_PI * (double)((uint64_t)j * j % (2 * n)) / (double)n;
    a->chirp_re[j] = (float)cos(angle);
    a->chirp_im[j] = (float)sin(angle);
    size_t mirrored = j ? m - j : 0;
    x.re[j * LANES] = x.re[mirrored * LANES] = a->chirp_re[j];
    x.im[j * LANES] = x.im[mirrored * LANES] = -a->chirp_im[j];
  }
  block f = passes_run(a->convolution, x, y);
  for (size_t j = 0; j < m; j++) {
    a->filter_re[j] = f.re[j * LANES] / (float)m; /* with the inverse's factor */
    a->filter_im[j] = f.im[j * LANES] / (float)m;
  }
  free(buffer);
  return 1;
}

static axis *axis_new(size_t n) {
  axis *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->n = n;
  if (!factorize(a)) {
    if (axis_add_convolution(a)) return a;
    axis_free(a);
    return NULL;
  }
  a->cosine = malloc(2 * n * sizeof *a->cosine);
  if (!a->cosine) {
    axis_free(a);
    return NULL;
  }
  a->sine = a->cosine + n;
  for (size_t j = 0; j < n; j++) {
    double angle = -2 * M_PI * (double)j / (double)n;
    a->cosine[j] = (float)cos(angle);
    a->sine[j] = (float)sin(angle);
  }
  return a;
}

static size_t axis_scratch(const axis *a) {
  return a->convolution ? a->convolution->n : a->n;
}

hl_status hl_fft_new(size_t h, size_t w, hl_fft **ret_fft, hl_error *error) {
  if (h == 0 || w == 0 || h > HL_FFT_MAX_LENGTH || w > HL_FFT_MAX_LENGTH)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "FFT of %zu x %zu; each length must be between 1 and %d", h, w,
                        HL_FFT_MAX_LENGTH);
  hl_fft *fft = calloc(1, sizeof *fft);
  if (fft) {
    fft->h = h;
    fft->w = w;
    fft->columns = axis_new(h);
    fft->rows = h == w ? fft->columns : axis_new(w);
  }
  if (fft && fft->columns && fft->rows) {
    size_t a = axis_scratch(fft->columns), b = axis_scratch(fft->rows);
    fft->scratch_length = a > b ? a : b;
    fft->scratch = aligned_alloc(64, 4 * fft->scratch_length * LANES * sizeof *fft->scratch);
  }
  if (!fft || !fft->scratch) {
    hl_fft_free(fft);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an FFT of %zu x %zu", h, w);
  }
  *ret_fft = fft;
  return HL_OK;
}

void hl_fft_free(hl_fft *fft) {
  if (!fft) return;
  if (fft->rows != fft->columns) axis_free(fft->rows);
  axis_free(fft->columns);
  free(fft->scratch);
  free(fft);
}

/* One axis of a whole picture: `lines` lines, `line` apart, elements `stride` apart. */
static void lines_run(const hl_fft *fft, const axis *a, unsigned flags, float complex *data,
                      size_t lines, size_t line, size_t stride) {
  if (a->n == 1) return;
  size_t part = fft->scratch_length * LANES;
  size_t inverse = (flags & HL_FFT_INVERSE) != 0;
  float scale = flags & HL_FFT_ORTHONORMAL ? (float)(1 / sqrt((double)a->n))
                : inverse                  ? (float)(1 / (double)a->n)
                                           : 1.0f;
  for (size_t first = 0; first < lines; first += LANES) {
    size_t count = lines - first < LANES ? lines - first : LANES;
    block x = {fft->scratch, fft->scratch + part};
    block y = {fft->scratch + 2 * part, fft->scratch + 3 * part};
    float *values = (float *)(data + first * line);
    size_t re = inverse, im = !inverse; /* the inverse exchanges the parts, here and back */
    for (size_t j = 0; j < a->n; j++)
      for (size_t l = 0; l < LANES; l++) {
        const float *value = values + 2 * (j * stride + (l < count ? l : 0) * line);
        x.re[j * LANES + l] = value[re];
        x.im[j * LANES + l] = value[im];
      }
    block f = axis_run(a, x, y);
    for (size_t j = 0; j < a->n; j++)
      for (size_t l = 0; l < count; l++) {
        float *value = values + 2 * (j * stride + l * line);
        value[re] = f.re[j * LANES + l] * scale;
        value[im] = f.im[j * LANES + l] * scale;
      }
  }
}

void hl_fft2(hl_fft *fft, unsigned flags, float complex *data, size_t batch) {
  if (fft->h == 1) { /* a batch of rows fills the lanes */
    lines_run(fft, fft->rows, flags, data, batch, fft->w, 1);
    return;
  }
  for (size_t i = 0; i < batch; i++) {
    float complex *picture = data + i * fft->h * fft->w;
    lines_run(fft, fft->rows, flags, picture, fft->h, fft->w, 1);
    lines_run(fft, fft->columns, flags, picture, fft->w, 1, fft->w);
  }
}
