/*
 * native/kernels/kernels.h - the native engine's own kernels, one build per instruction set.
 *
 *   const hl_kernels *k = hl_kernels_select();
 *   hl_softmax_args args = {.x = x, .y = x, .rows = 12, .n = 197, .scale = 1};
 *   hl_kernel_softmax(k, &args, 2);                  // on 2 threads; returns when the work is done
 *
 * A kernel is a pure function of its arguments: no allocation, no state, no locks, no errors (the
 * caller has checked shapes; NULL only where a field says so; an extent of 0 does nothing). Results
 * are the same, bit for bit, for every number of threads.
 *
 * Two ways to call. `hl_kernel_NAME(k, &args, threads)` opens a parallel region of libgomp (called
 * by its ABI, so that gcc and clang builds share one runtime; without libgomp it runs on one
 * thread). Inside a region of the caller's, each thread calls `k->NAME(&args, thread, threads)` and
 * does its share; a barrier is needed between kernels that depend on each other.
 *
 * Layouts. Plain is n, c, s with s the product of the spatial axes. Blocked by B (8 or 16) is
 * n, ceil(c / B), s, B, oneDNN's nCdhw16c; the channels beyond c are kept 0 by every kernel that
 * writes them. `block` is 1 for plain.
 *
 * Aliasing. Input and output must be the same array or not overlap at all; where the same array is
 * allowed the field says "may be x". Pointers need 4-byte alignment; 64 bytes is fastest.
 */
#ifndef HL_NATIVE_KERNELS_H
#define HL_NATIVE_KERNELS_H

#include "training.h"

enum { HL_KERNELS_RANK = 6 }; /* most axes of a strided kernel */

/*
 * Instance norm (groups == c) and group norm: y = act((x - mean) · rstd · gamma + beta + residual),
 * mean and biased variance over each group of c / groups neighbouring channels and all of s.
 * Sums are merged from chunks (Chan et al. 1979) in double, so a large mean costs no accuracy.
 */
typedef struct hl_normalize_args {
  const float *x;
  const float *residual;         /* as x, added before the activation; or NULL */
  const float *gamma, *beta;     /* c each; NULL: 1 and 0 */
  float *y;                      /* may be x or residual */
  float *ret_mean, *ret_rstd;    /* n · groups each, what a backward pass needs; or NULL */
  size_t n, c, s, block, groups; /* groups divides c */
  float epsilon;
  float slope; /* LeakyReLU: below 0 multiplied by it; 1 none, 0 ReLU */
} hl_normalize_args;

/* Layer norm over the last axis of (rows, n): z = x + residual; y = (z - mean) · rstd · gamma +
 * beta. */
typedef struct hl_layer_norm_args {
  const float *x;
  const float *residual;      /* or NULL */
  const float *gamma, *beta;  /* n each; NULL: 1 and 0 */
  float *sum;                 /* where z is kept, may be x or residual; or NULL */
  float *y;                   /* may be x, residual or, when z is not wanted, sum */
  float *ret_mean, *ret_rstd; /* rows each; or NULL */
  size_t rows, n;
  float epsilon;
} hl_layer_norm_args;

/* y = softmax(scale · x + mask) over the last axis of (rows, n). Row r uses row
 * (r / mask_repeat) % mask_rows of the mask; a row that is all -inf becomes NaN, as everywhere. */
typedef struct hl_softmax_args {
  const float *x;
  const float *mask; /* (mask_rows, n), added; or NULL */
  float *y;          /* may be x */
  size_t rows, n, mask_rows, mask_repeat;
  float scale;
  int log; /* 1: the logarithm of it */
} hl_softmax_args;

/* One row times a matrix: y = act(x · w + bias), w in panels of HL_MATVEC_PANEL columns, each
 * (k, HL_MATVEC_PANEL). */
#define HL_MATVEC_PANEL 64
typedef struct hl_matvec_args {
  const float *x, *w;
  const float *bias; /* n, or NULL */
  float *y;
  size_t k, n; /* n is a multiple of HL_MATVEC_PANEL */
  float slope; /* LeakyReLU: below 0 multiplied by it; 1 none, 0 ReLU */
} hl_matvec_args;

/* What a product's result goes through. */
typedef enum hl_gemm_function {
  HL_GEMM_LEAKY, /* below 0 multiplied by the slope; 1 none, 0 ReLU */
  HL_GEMM_GELU,
  HL_GEMM_SWISH,
  HL_GEMM_SIGMOID,
  HL_GEMM_TANH
} hl_gemm_function;

/* The sizes of a product, x (m, k) · w (k, n), and what it goes through. */
typedef struct hl_gemm_problem {
  size_t m, k, n;
  hl_gemm_function function;
  float slope;
} hl_gemm_problem;

/* A matrix times a matrix: y = function(x · w + bias + residual), w in panels as above. */
typedef struct hl_gemm_args {
  const float *x, *w;
  const float *bias;     /* n, or NULL */
  const float *residual; /* as y, and maybe y itself; or NULL */
  float *y;              /* (m, n) */
  size_t m, k, n;        /* n is a multiple of HL_MATVEC_PANEL */
  size_t x_row;          /* floats from a row of x to the next */
  hl_gemm_function function;
  float slope;
} hl_gemm_args;

/* A strided (batch, heads, tokens, head_dim) view; strides count floats. A packed projection
 * (batch, tokens, 3, heads, d) is three of these, with no copy. */
typedef struct hl_attention_view {
  const float *data;
  ptrdiff_t batch, head, token, dim;
} hl_attention_view;

/*
 * out = softmax(scale · q kᵀ + mask) v for every batch and head, in tiles, with an online softmax
 * (Dao et al. 2022) beyond 256 keys. f32 throughout.
 */
typedef struct hl_attention_args {
  hl_attention_view q, k, v;
  const float *mask; /* or NULL; keys are contiguous */
  ptrdiff_t mask_batch, mask_head, mask_query;
  float *out;                               /* overlaps no input */
  ptrdiff_t out_batch, out_head, out_token; /* head_dim is contiguous */
  size_t batch, heads, queries, keys, head_dim;
  float scale;
  void *scratch; /* hl_attention_scratch_bytes(keys, head_dim, threads), 64-byte aligned */
} hl_attention_args;

size_t hl_attention_scratch_bytes(size_t keys, size_t head_dim, unsigned threads);

/* The steps of an elementwise program; `a` and `b` are the step's numbers. */
typedef enum hl_elementwise_kind {
  HL_EW_ADD,        /* x + a */
  HL_EW_MUL,        /* x · a */
  HL_EW_RSUB,       /* a - x */
  HL_EW_RDIV,       /* a / x */
  HL_EW_POW,        /* x to the power a */
  HL_EW_SQUARE,     /* x² */
  HL_EW_NEG,        /* -x */
  HL_EW_ABS,        /* |x| */
  HL_EW_SIGN,       /* 1, 0 or -1; NaN stays */
  HL_EW_SQRT,       /* √x */
  HL_EW_RSQRT,      /* 1 / √x */
  HL_EW_EXP,        /* e to the power x */
  HL_EW_LOG,        /* ln x */
  HL_EW_SIN,        /* sin x */
  HL_EW_COS,        /* cos x */
  HL_EW_ERF,        /* erf x */
  HL_EW_SOFTPLUS,   /* ln(1 + exp x) */
  HL_EW_TANH,       /* a · tanh x */
  HL_EW_SIGMOID,    /* 1 / (1 + exp -x) */
  HL_EW_SWISH,      /* x · sigmoid x */
  HL_EW_GELU,       /* x/2 · (1 + erf(x / √2)) */
  HL_EW_LEAKY,      /* x above 0, a · x below; a = 0 is ReLU */
  HL_EW_CLIP,       /* at least a and at most b */
  HL_EW_ADD_ARRAY,  /* x + array */
  HL_EW_SUB_ARRAY,  /* x - array */
  HL_EW_RSUB_ARRAY, /* array - x */
  HL_EW_MUL_ARRAY,  /* x · array */
  HL_EW_DIV_ARRAY,  /* x / array */
  HL_EW_MAX_ARRAY,  /* the larger */
  HL_EW_MIN_ARRAY,  /* the smaller */
  HL_EW_KIND_COUNT
} hl_elementwise_kind;

/*
 * Element i of x meets array[(i / repeat) % count · inner + i % inner]; 0 counts as 1.
 *   an array of x's shape            repeat 1, count n
 *   a bias along the last axis       repeat 1, count c
 *   one value a channel, plain       repeat s, count c
 *   one value a channel, blocked B   repeat s · B, count ceil(c / B), inner B (array padded)
 *   a single value                   repeat 1, count 1
 */
typedef struct hl_elementwise_step {
  hl_elementwise_kind kind;
  float a, b;
  const float *array;
  size_t repeat, count, inner;
} hl_elementwise_step;

/* y = the steps applied in turn to each of x's n elements, in blocks that stay in the L1 cache. */
typedef struct hl_elementwise_args {
  const float *x;
  float *y; /* may be x or, with repeat 1 and count n, a step's array */
  size_t n;
  const hl_elementwise_step *steps;
  size_t step_count; /* 0 copies */
} hl_elementwise_args;

/* Nearest-neighbour enlargement by whole factors: (planes, h, w, block) to (planes, h·fh, w·fw,
 * block); planes is n · c or n · ceil(c / block). */
typedef struct hl_upsample_args {
  const float *x;
  float *y;
  size_t planes, h, w, block, factor_h, factor_w;
} hl_upsample_args;

/* (planes, d, h, w, block) with `before` and `after` more cells of `value` along d, h and w. With
 * a value other than 0 a blocked tensor's channels beyond c get it too. */
typedef struct hl_pad_args {
  const float *x;
  float *y;
  size_t planes, d, h, w, block;
  size_t before[3], after[3];
  float value;
} hl_pad_args;

/* Largest value of each window: (planes, h, w, block) to (planes, out_h, out_w, block). Cells
 * outside the picture do not count; every window must touch it. NaN is kept. */
typedef struct hl_max_pool_args {
  const float *x;
  float *y;
  size_t planes, h, w, block;
  size_t kernel_h, kernel_w, stride_h, stride_w, before_h, before_w, out_h, out_w;
} hl_max_pool_args;

/* y[i…] = x[i…] over `rank` axes with any strides (in floats, 0 broadcasts, may be negative):
 * permutations, slices, concatenation part by part, broadcasts. Transposes go tile by tile. */
typedef struct hl_copy_args {
  const float *x;
  float *y; /* overlaps not x; no two indices share an element */
  size_t rank, extent[HL_KERNELS_RANK];
  ptrdiff_t x_stride[HL_KERNELS_RANK], y_stride[HL_KERNELS_RANK];
} hl_copy_args;

/* Plain (n, c, s) to blocked and back; the channels beyond c are written 0 or dropped. */
typedef struct hl_reorder_args {
  const float *x;
  float *y;
  size_t n, c, s;
  size_t x_block, y_block; /* one of them is 1 */
} hl_reorder_args;

/* Concatenation along channels of tensors with one n, s and block; any channel counts. */
typedef struct hl_concat_args {
  const float *const *x;    /* x_count inputs */
  const size_t *x_channels; /* c of each */
  size_t x_count;
  float *y;
  size_t n, s, block;
} hl_concat_args;

typedef enum hl_binary_kind {
  HL_BINARY_ADD,
  HL_BINARY_SUB,
  HL_BINARY_MUL,
  HL_BINARY_DIV,
  HL_BINARY_MIN,
  HL_BINARY_MAX,
  HL_BINARY_POW,
  HL_BINARY_KIND_COUNT
} hl_binary_kind;

/* y[i…] = a[i…] ∘ b[i…] with NumPy's broadcasting: a broadcast axis has stride 0. */
typedef struct hl_binary_args {
  hl_binary_kind kind;
  const float *a, *b;
  float *y; /* may be a or b where that one has y's strides */
  size_t rank, extent[HL_KERNELS_RANK];
  ptrdiff_t a_stride[HL_KERNELS_RANK], b_stride[HL_KERNELS_RANK], y_stride[HL_KERNELS_RANK];
} hl_binary_args;

/*
 * Instance norm of bfloat16 channels-last, (n, s, c), as hl_normalize_args of c groups. Two kernels
 * with the same arguments: `normalize_last_moments`, then, when all threads are done,
 * `normalize_last`.
 */
typedef struct hl_normalize_last_args {
  const uint16_t *x;
  const uint16_t *residual;  /* as x, added before the activation; or NULL */
  const float *gamma, *beta; /* c each */
  uint16_t *y;               /* may be x or residual */
  size_t n, c, s;
  float epsilon, slope;
  float *scratch; /* hl_normalize_last_scratch_bytes(n, c, s, threads) */
} hl_normalize_last_args;
typedef hl_normalize_last_args hl_normalize_last_moments_args;

size_t hl_normalize_last_scratch_bytes(size_t n, size_t c, size_t s, unsigned threads);

/* Layer norm over the last axis of bfloat16 (rows, n). */
typedef struct hl_layer_norm_bf16_args {
  const uint16_t *x;
  const float *gamma, *beta; /* n each; beta may be NULL */
  uint16_t *y;               /* may be x */
  size_t rows, n;
  float epsilon;
} hl_layer_norm_bf16_args;

/* Rows of y are the inputs' rows one after the other: concatenation along the last axis, of any
 * element type. */
typedef struct hl_join_args {
  const void *const *x;  /* x_count inputs */
  const size_t *x_bytes; /* of a row of each */
  size_t x_count;
  void *y; /* overlaps no input */
  size_t rows;
} hl_join_args;

/*
 * A convolution of stride 1 with at most 9 taps from a blocked picture x (n, c, h, w) to a plain
 * one y of few channels (n, oc, oh, ow), and its gradients. Weights are (oc, ceil(c / block), taps,
 * block), 0 beyond c. `narrow` writes y = x * weights + bias; `narrow_data` dx from y, which is the
 * gradient dy then; `narrow_weights`, then, when all threads are done, `narrow_weights_end` writes
 * dw (oc, c, taps) from x and y = dy.
 */
typedef struct hl_narrow_args {
  const float *x, *weights;
  const float *bias; /* oc; or NULL */
  float *y;
  float *dx, *dw;
  size_t n, c, h, w, oc, oh, ow, block; /* 16, or 8 without AVX-512 */
  size_t kernel_h, kernel_w, top, left; /* padding before */
  float *scratch; /* of the weights' gradient: n times as many floats as weights */
} hl_narrow_args;
typedef hl_narrow_args hl_narrow_data_args;
typedef hl_narrow_args hl_narrow_weights_args;
typedef hl_narrow_args hl_narrow_weights_end_args;

#define HL_KERNELS_MAP(X)                                                                          \
  X(normalize)                                                                                     \
  X(layer_norm)                                                                                    \
  X(softmax)                                                                                       \
  X(attention)                                                                                     \
  X(matvec)                                                                                        \
  X(gemm)                                                                                          \
  X(elementwise)                                                                                   \
  X(upsample)                                                                                      \
  X(pad)                                                                                           \
  X(max_pool)                                                                                      \
  X(copy)                                                                                          \
  X(reorder)                                                                                       \
  X(concat)                                                                                        \
  X(normalize_last_moments)                                                                        \
  X(normalize_last)                                                                                \
  X(layer_norm_bf16)                                                                               \
  X(join)                                                                                          \
  X(binary)                                                                                        \
  X(narrow)                                                                                        \
  X(narrow_data)                                                                                   \
  X(narrow_weights)                                                                                \
  X(narrow_weights_end)                                                                            \
  HL_TRAINING_KERNELS_MAP(X)

/* One kernel: does share `thread` of `threads` of the work described by its args. */
typedef struct hl_kernels {
  const char *isa; /* "baseline", "avx2" or "avx512" */
#define X(name) void (*name)(const hl_##name##_args *args, unsigned thread, unsigned threads);
  HL_KERNELS_MAP(X)
#undef X
} hl_kernels;

/* The best build that this processor and system can run. Never NULL; thread-safe. */
const hl_kernels *hl_kernels_select(void);

/* A build by name; NULL if it is not compiled in or this processor cannot run it. */
const hl_kernels *hl_kernels_by_name(const char *isa);

/* Runs `body(context, thread, threads)` on each of `threads` threads (at least 1) and waits. */
void hl_kernels_parallel(void (*body)(void *context, unsigned thread, unsigned threads),
                         void *context, unsigned threads);

/* hl_kernel_softmax(k, &args, threads) and so on: the whole kernel on `threads` threads. */
#define X(name)                                                                                    \
  void hl_kernel_##name(const hl_kernels *kernels, const hl_##name##_args *args, unsigned threads);
HL_KERNELS_MAP(X)
#undef X

#endif
