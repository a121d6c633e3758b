#include "imaging/translate-internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

hl__shift hl__shift_make(int64_t row, int64_t column, double dy, double dx) {
  double y = floor(dy), x = floor(dx);
  return (hl__shift){row + (int64_t)y, column + (int64_t)x, dy - y, dx - x};
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* line[1 + c] = (1 - f) source[r][c] + f source[r - 1][c], zero outside of the source; line[0] and
 * line[n + 1] are the zeros on either side. */
static void blend_rows(const float *source, int64_t n, int64_t r, double f, double *line) {
  const float *below = source + r * n, *above = below - n;
  line[0] = line[n + 1] = 0;
  if (r == 0)
    for (int64_t c = 0; c < n; c++) line[1 + c] = (1 - f) * (double)below[c];
  else if (r == n)
    for (int64_t c = 0; c < n; c++) line[1 + c] = f * (double)above[c];
  else
    for (int64_t c = 0; c < n; c++) line[1 + c] = (1 - f) * (double)below[c] + f * (double)above[c];
}

void hl__shift_add(hl__shift shift, const float *source, int64_t n, double *target, int64_t width,
                   int64_t row_first, int64_t row_end, double *line) {
  int64_t first = larger(0, row_first - shift.row), end = smaller(n + 1, row_end - shift.row);
  int64_t left = larger(0, -shift.column), right = smaller(n + 1, width - shift.column);
  double f = shift.column_fraction;
  for (int64_t r = first; r < end; r++) {
    blend_rows(source, n, r, shift.row_fraction, line);
    int64_t at = (shift.row + r) * width + shift.column;
    for (int64_t c = left; c < right; c++) target[at + c] += (1 - f) * line[1 + c] + f * line[c];
  }
}

/* What one direction of a moved square of ones has at place i of its n + 1. */
static double profile(int64_t i, int64_t n, double f) {
  return i == 0 ? 1 - f : i == n ? f : 1;
}

void hl__shift_add_ones(hl__shift shift, int64_t n, double *target, int64_t width, int64_t row) {
  int64_t r = row - shift.row;
  if (r < 0 || r > n) return;
  int64_t left = larger(0, -shift.column), right = smaller(n + 1, width - shift.column);
  double w = profile(r, n, shift.row_fraction), f = shift.column_fraction;
  if (left == 0 && right > 0) target[shift.column + left++] += w * (1 - f);
  if (right == n + 1 && left < right) target[shift.column + --right] += w * f;
  for (int64_t c = left; c < right; c++) target[shift.column + c] += w;
}

/* --- amplitude and phase ----------------------------------------------------------------- */

enum { max_reduced = 1000 }; /* radians that the reduction below is good for */

/* amplitude * (cos, sin)(phase): Cody and Waite's reduction to +-pi/4 and the polynomials of
 * Moshier's Cephes library (sinf.c); within 2 units in the last place. No branches and no
 * library calls, so that it is vectorised, and the same everywhere. */
static void polar_row(const float *amplitude, const float *phase, int64_t n, float *ret_real,
                      float *ret_imaginary) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to whole numbers */
  for (int64_t i = 0; i < n; i++) {
    union {
      float f;
      uint32_t bits;
    } quarter = {.f = phase[i] * 0.636619772f + magic}; /* 2 / pi */
    float k = quarter.f - magic;
    float r =
        ((phase[i] - k * 1.5703125f) - k * 4.837512969970703125e-4f) - k * 7.549789948768648e-8f;
    float z = r * r;
    float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
    float c =
        ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
        0.5f * z + 1.0f;
    uint32_t q = quarter.bits;
    float cosine = q & 1 ? s : c, sine = q & 1 ? c : s;
    ret_real[i] = amplitude[i] * ((q + 1) & 2 ? -cosine : cosine);
    ret_imaginary[i] = amplitude[i] * (q & 2 ? -sine : sine);
  }
}

static void polar_row_far(const float *amplitude, const float *phase, int64_t n, float *ret_real,
                          float *ret_imaginary) {
  for (int64_t i = 0; i < n; i++) {
    ret_real[i] = amplitude[i] * cosf(phase[i]);
    ret_imaginary[i] = amplitude[i] * sinf(phase[i]);
  }
}

static bool is_near(const float *phase, int64_t n) {
  bool near = true;
  for (int64_t i = 0; i < n; i++) near &= fabsf(phase[i]) <= max_reduced;
  return near;
}

void hl__patch_split(hl_patches patches, int64_t index, int64_t size, int64_t n, float *ret_real,
                     float *ret_imaginary) {
  int64_t border = (size - n) / 2, at = (index * size + border) * size + border;
  for (int64_t r = 0; r < n; r++, at += size, ret_real += n, ret_imaginary += n) {
    if (patches.field)
      for (int64_t c = 0; c < n; c++) {
        ret_real[c] = crealf(patches.field[at + c]);
        ret_imaginary[c] = cimagf(patches.field[at + c]);
      }
    else if (is_near(patches.phase + at, n))
      polar_row(patches.amplitude + at, patches.phase + at, n, ret_real, ret_imaginary);
    else
      polar_row_far(patches.amplitude + at, patches.phase + at, n, ret_real, ret_imaginary);
  }
}
