/* Programs of elementwise steps, run block by block so that every step after the first reads the
 * L1 cache. */
#include <math.h>

#include "gelu.h"
#include "vmath.h"

enum { BLOCK = 2048 };

/* The part of a step's array that meets elements [first, first + count), spread out in `buffer`
 * unless it lies ready in memory. */
static const float *operand(const hl_elementwise_step *s, size_t first, size_t count,
                            float *buffer) {
  size_t repeat = s->repeat ? s->repeat : 1, period = s->count ? s->count : 1;
  size_t inner = s->inner ? s->inner : 1;
  size_t at = first / repeat % period;
  if (repeat == 1 && inner == 1 && at + count <= period) return s->array + at;
  for (size_t i = 0; i < count;) {
    size_t into = (first + i) % repeat;
    size_t run = hl_min(repeat - into, count - i);
    const float *from = s->array + (first + i) / repeat % period * inner;
    if (repeat == 1) { /* consecutive elements up to the end of the period */
      size_t index = (first + i) % period;
      run = hl_min(period - index, count - i);
      memcpy(buffer + i, s->array + index, run * sizeof *buffer);
    } else if (inner == 1) {
      float value = *from;
      for (size_t j = 0; j < run; j++) buffer[i + j] = value;
    } else {
      for (size_t j = 0; j < run; j++) buffer[i + j] = from[(first + i + j) % inner];
    }
    i += run;
  }
  return buffer;
}

#define EACH(expression)                                                                           \
  do {                                                                                             \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                           \
      float v = x[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)

#define EACH_SCALAR(expression)                                                                    \
  do {                                                                                             \
    for (size_t i = 0; i < n; i++) {                                                               \
      float v = x[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)

static void gelu(float *y, const float *x, size_t n) {
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES) hl_vstore(y + i, hl_vgelu(hl_vload(x + i)));
  if (i < n) hl_vstore_part(y + i, n - i, hl_vgelu(hl_vload_part(x + i, n - i, 0)));
}

static void power(float *y, const float *x, size_t n, float a) {
  if (a == 2)
    EACH(v * v);
  else if (a == 0.5f)
    EACH(__builtin_sqrtf(v));
  else if (a == -1)
    EACH(1 / v);
  else if (a == 3)
    EACH(v * v * v);
  else
    EACH_SCALAR(powf(v, a));
}

/* Steps with no array. x may be y. */
static void apply(const hl_elementwise_step *s, float *y, const float *x, size_t n) {
  float a = s->a, b = s->b;
  switch (s->kind) {
  case HL_EW_ADD:
    EACH(v + a);
    break;
  case HL_EW_MUL:
    EACH(v * a);
    break;
  case HL_EW_RSUB:
    EACH(a - v);
    break;
  case HL_EW_RDIV:
    EACH(a / v);
    break;
  case HL_EW_POW:
    power(y, x, n, a);
    break;
  case HL_EW_SQUARE:
    EACH(v * v);
    break;
  case HL_EW_NEG:
    EACH(-v);
    break;
  case HL_EW_ABS:
    EACH(hl_abs(v));
    break;
  case HL_EW_SIGN:
    EACH(v > 0 ? 1.0f : v < 0 ? -1.0f : v);
    break;
  case HL_EW_SQRT:
    EACH(__builtin_sqrtf(v));
    break;
  case HL_EW_RSQRT:
    EACH(1 / __builtin_sqrtf(v));
    break;
  case HL_EW_EXP:
    EACH(hl_exp(v));
    break;
  case HL_EW_LOG:
    EACH_SCALAR(logf(v));
    break;
  case HL_EW_SIN:
    EACH_SCALAR(sinf(v));
    break;
  case HL_EW_COS:
    EACH_SCALAR(cosf(v));
    break;
  case HL_EW_SOFTPLUS: /* log(1 + e^x) loses all digits where e^x is small */
    EACH_SCALAR(v > 0 ? v + log1pf(expf(-v)) : log1pf(expf(v)));
    break;
  case HL_EW_ERF:
    EACH(hl_erf(v));
    break;
  case HL_EW_TANH:
    EACH(a * hl_tanh(v));
    break;
  case HL_EW_SIGMOID:
    EACH(hl_sigmoid(v));
    break;
  case HL_EW_SWISH:
    EACH(v * hl_sigmoid(v));
    break;
  case HL_EW_GELU:
    gelu(y, x, n);
    break;
  case HL_EW_LEAKY:
    EACH(hl_leaky(v, a));
    break;
  case HL_EW_CLIP:
    EACH(hl_clip(v, a, b));
    break;
  default:
    break;
  }
}

static void apply_array(const hl_elementwise_step *s, float *y, const float *x, const float *r,
                        size_t n) {
  switch (s->kind) {
  case HL_EW_ADD_ARRAY:
    EACH(v + r[i]);
    break;
  case HL_EW_SUB_ARRAY:
    EACH(v - r[i]);
    break;
  case HL_EW_RSUB_ARRAY:
    EACH(r[i] - v);
    break;
  case HL_EW_MUL_ARRAY:
    EACH(v * r[i]);
    break;
  case HL_EW_DIV_ARRAY:
    EACH(v / r[i]);
    break;
  case HL_EW_MAX_ARRAY:
    EACH(hl_larger(v, r[i]));
    break;
  case HL_EW_MIN_ARRAY:
    EACH(hl_smaller(v, r[i]));
    break;
  default:
    break;
  }
}

static void run_block(const hl_elementwise_args *a, size_t first, size_t count) {
  float buffer[BLOCK], value[BLOCK];
  const float *x = a->x + first;
  if (a->step_count == 0 && a->y != a->x) memcpy(a->y + first, x, count * sizeof *x);
  for (size_t i = 0; i < a->step_count; i++) {
    const hl_elementwise_step *s = &a->steps[i];
    /* y may be a later step's array, so only the last step writes it. */
    float *y = i + 1 == a->step_count ? a->y + first : value;
    if (s->kind < HL_EW_ADD_ARRAY)
      apply(s, y, x, count);
    else
      apply_array(s, y, x, operand(s, first, count, buffer), count);
    x = y;
  }
}

void HL_FN(elementwise)(const hl_elementwise_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(hl_ceil_div(a->n, BLOCK), thread, threads);
  for (size_t i = share.first; i < share.end; i++)
    run_block(a, i * BLOCK, hl_min(BLOCK, a->n - i * BLOCK));
}
