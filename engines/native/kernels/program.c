/* Programs of element-wise steps on several arrays. */
#include <math.h>

#include "vmath.h"

enum { BLOCK = 1024 };

/* The part of an input that meets elements [first, first + count): as it lies in memory, or spread
 * out in `buffer`. A single value was spread once. */
static const float *operand(const hl_program_input *s, size_t first, size_t count, float *buffer) {
  size_t repeat = s->repeat ? s->repeat : 1, period = s->count ? s->count : 1;
  size_t inner = s->inner ? s->inner : 1;
  if (period == 1 && inner == 1) return buffer;
  size_t at = first / repeat % period;
  if (repeat == 1 && inner == 1 && at + count <= period) return s->array + at;
  for (size_t i = 0; i < count;) {
    size_t into = (first + i) % repeat, run = hl_min(repeat - into, count - i);
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
      float u = a[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)
#define EACH_TWO(expression)                                                                       \
  do {                                                                                             \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                           \
      float u = a[i], v = b[i];                                                                    \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)
#define EACH_SCALAR(expression)                                                                    \
  do {                                                                                             \
    for (size_t i = 0; i < n; i++) {                                                               \
      float u = a[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)

/* Steps with one operand. y overlaps no operand, or is one of them. */
static void unary(const hl_program_step *s, const float *a, float *y, size_t n) {
  float p = s->p, q = s->q;
  switch (s->kind) {
  case HL_PROGRAM_NOT:
    EACH(u == 0 ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_NEG:
    EACH(-u);
    break;
  case HL_PROGRAM_ABS:
    EACH(hl_abs(u));
    break;
  case HL_PROGRAM_SIGN:
    EACH(u > 0 ? 1.0f : u < 0 ? -1.0f : u);
    break;
  case HL_PROGRAM_SQRT:
    EACH(__builtin_sqrtf(u));
    break;
  case HL_PROGRAM_RECIPROCAL:
    EACH(1 / u);
    break;
  case HL_PROGRAM_EXP:
    EACH(hl_exp(u));
    break;
  case HL_PROGRAM_LOG:
    EACH_SCALAR(logf(u));
    break;
  case HL_PROGRAM_SIN:
    EACH_SCALAR(sinf(u));
    break;
  case HL_PROGRAM_COS:
    EACH_SCALAR(cosf(u));
    break;
  case HL_PROGRAM_ERF:
    EACH(hl_erf(u));
    break;
  case HL_PROGRAM_SOFTPLUS: /* log(1 + e^x) loses all digits where e^x is small */
    EACH_SCALAR(u > 0 ? u + log1pf(expf(-u)) : log1pf(expf(u)));
    break;
  case HL_PROGRAM_TANH:
    EACH(hl_tanh(u));
    break;
  case HL_PROGRAM_SIGMOID:
    EACH(hl_sigmoid(u));
    break;
  case HL_PROGRAM_SWISH:
    EACH(u * hl_sigmoid(u));
    break;
  case HL_PROGRAM_GELU:
    EACH(hl_gelu(u));
    break;
  case HL_PROGRAM_LEAKY:
    EACH(u > 0 ? u : u * p);
    break;
  case HL_PROGRAM_CLIP:
    EACH(hl_clip(u, p, q));
    break;
  default: /* HL_PROGRAM_COPY */
    if (y != a) memcpy(y, a, n * sizeof *y);
    break;
  }
}

static void binary(const hl_program_step *s, const float *a, const float *b, const float *c,
                   float *y, size_t n) {
  float p = s->p;
  switch (s->kind) {
  case HL_PROGRAM_ADD:
    EACH_TWO(u + v);
    break;
  case HL_PROGRAM_SUB:
    EACH_TWO(u - v);
    break;
  case HL_PROGRAM_MUL:
    EACH_TWO(u * v);
    break;
  case HL_PROGRAM_DIV:
    EACH_TWO(u / v);
    break;
  case HL_PROGRAM_MIN:
    EACH_TWO(hl_smaller(u, v));
    break;
  case HL_PROGRAM_MAX:
    EACH_TWO(hl_larger(u, v));
    break;
  case HL_PROGRAM_POW:
    for (size_t i = 0; i < n; i++) y[i] = b[i] == 2 ? a[i] * a[i] : powf(a[i], b[i]);
    break;
  case HL_PROGRAM_GREATER:
    EACH_TWO(u > v ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_GREATER_EQUAL:
    EACH_TWO(u >= v ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_EQUAL:
    EACH_TWO(u == v ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_AND:
    EACH_TWO(u != 0 && v != 0 ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_OR:
    EACH_TWO(u != 0 || v != 0 ? 1.0f : 0.0f);
    break;
  case HL_PROGRAM_MASK:
    EACH_TWO(u > 0 ? v : v * p);
    break;
  case HL_PROGRAM_WHERE:
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = a[i] != 0 ? b[i] : c[i];
    break;
  default:
    unary(s, a, y, n);
    break;
  }
}

typedef struct frame {
  float input[HL_PROGRAM_INPUTS][BLOCK]; /* of inputs that do not lie ready */
  float value[HL_PROGRAM_STEPS][BLOCK];
} frame;

/* Where a step writes: to its result at once, unless that array is still to be read as an input. */
static float *target(const hl_program_args *a, frame *f, size_t step, size_t first) {
  for (size_t k = 0; k < a->output_count; k++)
    if (a->result[k] == step && step + 1 == a->step_count) return a->y[k] + first;
  return f->value[step];
}

static void run_block(const hl_program_args *a, frame *f, size_t first, size_t count) {
  const float *at[HL_PROGRAM_INPUTS + HL_PROGRAM_STEPS];
  for (size_t i = 0; i < a->input_count; i++)
    at[i] = operand(&a->inputs[i], first, count, f->input[i]);
  for (size_t i = 0; i < a->step_count; i++) {
    const hl_program_step *s = &a->steps[i];
    float *y = target(a, f, i, first);
    binary(s, at[s->a], at[s->b], at[s->c], y, count);
    at[HL_PROGRAM_INPUTS + i] = y;
  }
  for (size_t k = 0; k < a->output_count; k++) {
    const float *from = at[HL_PROGRAM_INPUTS + a->result[k]];
    if (from != a->y[k] + first) memcpy(a->y[k] + first, from, count * sizeof *from);
  }
}

void HL_FN(program)(const hl_program_args *a, unsigned thread, unsigned threads) {
  frame f;
  for (size_t k = 0; k < a->input_count; k++)
    if (a->inputs[k].count <= 1 && a->inputs[k].inner <= 1)
      for (size_t i = 0; i < BLOCK; i++) f.input[k][i] = *a->inputs[k].array;
  hl_share share = hl_share_of(hl_ceil_div(a->n, BLOCK), thread, threads);
  for (size_t i = share.first; i < share.end; i++)
    run_block(a, &f, i * BLOCK, hl_min(BLOCK, a->n - i * BLOCK));
}
