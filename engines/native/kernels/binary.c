/* Strided copies and broadcasting arithmetic over axes that have been put in order and merged. */
#include <math.h>

#include "strided.h"
#include "vmath.h"

#define ROW(expression)                                                                            \
  do {                                                                                             \
    if (sa == 1 && sb == 1 && sy == 1) {                                                           \
      _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                         \
        float u = a[i], v = b[i];                                                                  \
        y[i] = (expression);                                                                       \
      }                                                                                            \
    } else if (sa == 1 && sb == 0 && sy == 1) {                                                    \
      float v = *b;                                                                                \
      _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                         \
        float u = a[i];                                                                            \
        y[i] = (expression);                                                                       \
      }                                                                                            \
    } else if (sa == 0 && sb == 1 && sy == 1) {                                                    \
      float u = *a;                                                                                \
      _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                         \
        float v = b[i];                                                                            \
        y[i] = (expression);                                                                       \
      }                                                                                            \
    } else {                                                                                       \
      for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                                               \
        float u = a[i * sa], v = b[i * sb];                                                        \
        y[i * sy] = (expression);                                                                  \
      }                                                                                            \
    }                                                                                              \
  } while (0)

/* One run along the innermost axis. */
static void row(hl_binary_kind kind, const float *a, ptrdiff_t sa, const float *b, ptrdiff_t sb,
                float *y, ptrdiff_t sy, size_t n) {
  switch (kind) {
  case HL_BINARY_ADD:
    ROW(u + v);
    break;
  case HL_BINARY_SUB:
    ROW(u - v);
    break;
  case HL_BINARY_MUL:
    ROW(u * v);
    break;
  case HL_BINARY_DIV:
    ROW(u / v);
    break;
  case HL_BINARY_MIN:
    ROW(hl_smaller(u, v));
    break;
  case HL_BINARY_MAX:
    ROW(hl_larger(u, v));
    break;
  case HL_BINARY_POW:
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
      float u = a[i * sa], v = b[i * sb];
      y[i * sy] = v == 2 ? u * u : powf(u, v);
    }
    break;
  default:
    break;
  }
}

void HL_FN(binary)(const hl_binary_args *args, unsigned thread, unsigned threads) {
  const ptrdiff_t *strides[3] = {args->y_stride, args->a_stride, args->b_stride};
  hl_strided s;
  hl_strided_init(&s, args->rank, args->extent, strides, 3);
  if (s.rows == 0) return;
  size_t parts = s.rows >= threads ? 1 : hl_ceil_div(threads, s.rows); /* few rows: split them */
  hl_share share = hl_share_of(s.rows * parts, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    ptrdiff_t at[3];
    hl_strided_row(&s, unit / parts, at);
    hl_share run = hl_share_of(s.inner, (unsigned)(unit % parts), (unsigned)parts);
    ptrdiff_t from = (ptrdiff_t)run.first;
    row(args->kind, args->a + at[1] + from * s.inner_stride[1], s.inner_stride[1],
        args->b + at[2] + from * s.inner_stride[2], s.inner_stride[2],
        args->y + at[0] + from * s.inner_stride[0], s.inner_stride[0], run.end - run.first);
  }
}
