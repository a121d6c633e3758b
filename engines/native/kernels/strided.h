/*
 * native/kernels/strided.h - loops over up to three strided views of one shape; private.
 *
 *   hl_strided_init(&s, rank, extent, strides, 2);        // view 0 is the output
 *   for each row r < s.rows: hl_strided_row(&s, r, at);   // offsets of the row's first element
 *     for i < s.inner: y[at[0] + i * s.inner_stride[0]] = x[at[1] + i * s.inner_stride[1]];
 *
 * Axes of extent 1 go, axes are sorted by the output's stride (largest outside), and neighbours
 * that are contiguous in every view become one.
 */
#ifndef HL_NATIVE_STRIDED_H
#define HL_NATIVE_STRIDED_H

#include "isa.h"

enum { HL_STRIDED_VIEWS = 3 };

typedef struct hl_strided {
  size_t rank, views, extent[HL_KERNELS_RANK];
  ptrdiff_t stride[HL_STRIDED_VIEWS][HL_KERNELS_RANK];
  size_t rows, inner; /* of the innermost axis; rows is 0 when the whole is empty */
  ptrdiff_t inner_stride[HL_STRIDED_VIEWS];
} hl_strided;

HL_INLINE size_t hl_magnitude(ptrdiff_t x) {
  return x < 0 ? (size_t)-x : (size_t)x;
}

HL_INLINE void hl_strided_sort(hl_strided *s) {
  for (size_t i = 1; i < s->rank; i++)
    for (size_t j = i; j > 0 && hl_magnitude(s->stride[0][j]) > hl_magnitude(s->stride[0][j - 1]);
         j--) {
      size_t extent = s->extent[j];
      s->extent[j] = s->extent[j - 1];
      s->extent[j - 1] = extent;
      for (size_t v = 0; v < s->views; v++) {
        ptrdiff_t stride = s->stride[v][j];
        s->stride[v][j] = s->stride[v][j - 1];
        s->stride[v][j - 1] = stride;
      }
    }
}

HL_INLINE void hl_strided_merge(hl_strided *s) {
  size_t kept = 0;
  for (size_t i = 1; i < s->rank; i++) {
    int contiguous = 1;
    for (size_t v = 0; v < s->views; v++)
      if (s->stride[v][kept] != s->stride[v][i] * (ptrdiff_t)s->extent[i]) contiguous = 0;
    if (contiguous)
      s->extent[kept] *= s->extent[i];
    else
      s->extent[++kept] = s->extent[i];
    for (size_t v = 0; v < s->views; v++) s->stride[v][kept] = s->stride[v][i];
  }
  s->rank = s->rank ? kept + 1 : 0;
}

HL_INLINE void hl_strided_init(hl_strided *s, size_t rank, const size_t *extent,
                               const ptrdiff_t *const *strides, size_t views) {
  *s = (hl_strided){.views = views, .rows = 1, .inner = 1};
  for (size_t i = 0; i < rank; i++) {
    if (extent[i] == 0) s->rows = 0;
    if (extent[i] == 1) continue;
    s->extent[s->rank] = extent[i];
    for (size_t v = 0; v < views; v++) s->stride[v][s->rank] = strides[v][i];
    s->rank++;
  }
  hl_strided_sort(s);
  hl_strided_merge(s);
  if (s->rank == 0) return;
  s->rank--;
  s->inner = s->extent[s->rank];
  for (size_t v = 0; v < views; v++) s->inner_stride[v] = s->stride[v][s->rank];
  for (size_t i = 0; i < s->rank; i++) s->rows *= s->extent[i];
}

/* Offsets of row `row` in each view. */
HL_INLINE void hl_strided_row(const hl_strided *s, size_t row, ptrdiff_t *ret_at) {
  for (size_t v = 0; v < s->views; v++) ret_at[v] = 0;
  for (size_t i = s->rank; i-- > 0;) {
    ptrdiff_t index = (ptrdiff_t)(row % s->extent[i]);
    row /= s->extent[i];
    for (size_t v = 0; v < s->views; v++) ret_at[v] += index * s->stride[v][i];
  }
}

#endif
