/*
 * Lines are transformed LANES at a time: a block is gathered into split real and imaginary arrays
 * [length][LANES], so that every loop of every pass is a plain vector loop whatever the axis, and
 * rows need no transposed copy of the picture. fft-kernels.c does that; here are its tables.
 */
#include "numeric/fft.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "numeric/fft-internal.h"

enum { LANES = HL__FFT_LANES, MAX_PRIME = 61 };

typedef hl__fft_block block;
typedef hl__fft_axis axis;

struct hl_fft {
  size_t h, w;
  axis *rows, *columns; /* the same object when h = w */
  float *scratch;
  size_t scratch_length; /* elements of each of its four arrays, over LANES */
};

void hl__fft_axis_free(axis *a) {
  if (!a) return;
  hl__fft_axis_free(a->convolution);
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

/* exp(-πi j² / n), and the transform of its conjugate, wrapped round, over m. */
static int axis_add_convolution(axis *a) {
  size_t n = a->n, m = 1;
  while (m < 2 * n - 1) m *= 2;
  float *buffer = calloc(4 * m * LANES, sizeof *buffer);
  a->chirp_re = malloc(2 * (n + m) * sizeof *a->chirp_re);
  a->convolution = hl__fft_axis_new(m);
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
  block f = hl__fft_kernels_select()->passes(a->convolution, x, y);
  for (size_t j = 0; j < m; j++) {
    a->filter_re[j] = f.re[j * LANES] / (float)m; /* with the inverse's factor */
    a->filter_im[j] = f.im[j * LANES] / (float)m;
  }
  free(buffer);
  return 1;
}

axis *hl__fft_axis_new(size_t n) {
  axis *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->n = n;
  if (!factorize(a)) {
    if (axis_add_convolution(a)) return a;
    hl__fft_axis_free(a);
    return NULL;
  }
  a->cosine = malloc(2 * n * sizeof *a->cosine);
  if (!a->cosine) {
    hl__fft_axis_free(a);
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

size_t hl__fft_axis_scratch(const axis *a) {
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
    fft->columns = hl__fft_axis_new(h);
    fft->rows = h == w ? fft->columns : hl__fft_axis_new(w);
  }
  if (fft && fft->columns && fft->rows) {
    size_t a = hl__fft_axis_scratch(fft->columns), b = hl__fft_axis_scratch(fft->rows);
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
  if (fft->rows != fft->columns) hl__fft_axis_free(fft->rows);
  hl__fft_axis_free(fft->columns);
  free(fft->scratch);
  free(fft);
}

static size_t axis_bytes(const axis *a) {
  size_t bytes = sizeof *a + (a->cosine ? 2 * a->n * sizeof *a->cosine : 0);
  if (!a->convolution) return bytes;
  return bytes + 2 * (a->n + a->convolution->n) * sizeof *a->chirp_re + axis_bytes(a->convolution);
}

size_t hl_fft_bytes(const hl_fft *fft) {
  size_t bytes = sizeof *fft + 4 * fft->scratch_length * LANES * sizeof *fft->scratch;
  return bytes + axis_bytes(fft->columns) + (fft->rows != fft->columns ? axis_bytes(fft->rows) : 0);
}

/* One axis of a whole picture: `lines` lines, `line` apart, elements `stride` apart. */
static void lines_run(const hl_fft *fft, const axis *a, unsigned flags, float complex *data,
                      size_t lines, size_t line, size_t stride) {
  if (a->n == 1) return;
  int inverse = (flags & HL_FFT_INVERSE) != 0;
  float scale = flags & HL_FFT_ORTHONORMAL ? (float)(1 / sqrt((double)a->n))
                : inverse                  ? (float)(1 / (double)a->n)
                                           : 1.0f;
  hl__fft_lines what = {.axis = a,
                        .scratch = fft->scratch,
                        .part = fft->scratch_length * LANES,
                        .lines = lines,
                        .line = line,
                        .stride = stride,
                        .inverse = inverse,
                        .scale = scale};
  hl__fft_kernels_select()->lines(&what, (float *)data);
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
