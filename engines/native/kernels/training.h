/*
 * native/kernels/training.h - the arguments of the kernels that only a training step uses; part of
 * kernels.h, whose rules hold: layouts, aliasing, threads.
 */
#ifndef HL_NATIVE_KERNELS_TRAINING_H
#define HL_NATIVE_KERNELS_TRAINING_H

#include <stddef.h>
#include <stdint.h>

/*
 * Adam and AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019) in place, as torch.optim has
 * them, of update number t (1 is the first):
 *   w = keep · weight, g = gradient + decay · w
 *   mean = beta1 · mean + (1 - beta1) · g, square = beta2 · square + (1 - beta2) · g²
 *   weight = w - step · mean / (√square · root + epsilon)
 * with step = rate / (1 - beta1^t), root = 1 / √(1 - beta2^t), keep = 1 - rate · weight decay of
 * AdamW (else 1) and decay the one of Adam (else 0).
 */
typedef struct hl_adam_args {
  float *weight, *mean, *square;
  const float *gradient;
  size_t n;
  float beta1, beta2, rest1, rest2; /* rest is 1 - beta, rounded once */
  float epsilon, decay, keep, rate, step, root;
  int first;   /* what `mean` and `square` were does not count: they were 0 */
  int forgets; /* and nobody will ask what they are: neither is read or written */
  /* If `gradient` is NULL it is left[i / columns] * right[i % columns]. */
  const float *left, *right;
  size_t columns;
} hl_adam_args;

/*
 * Products of a matrix w (rows, columns), as it lies, with one row or column: `rows_sum` y = x · w,
 * `rows_dot` y = w · x, `rows_outer` w = y xᵀ with y of `rows` and x of `columns` numbers.
 */
typedef struct hl_rows_args {
  const float *x;
  float *y, *w;
  size_t rows, columns;
} hl_rows_args;
typedef hl_rows_args hl_rows_sum_args, hl_rows_dot_args, hl_rows_outer_args;

/* g = gradient + decay · weight; velocity = momentum · velocity + g; weight -= rate · velocity, or
 * with Nesterov's momentum rate · (g + momentum · velocity). */
typedef struct hl_sgd_args {
  float *weight, *velocity;
  const float *gradient;
  size_t n;
  float rate, momentum, decay;
  int nesterov;
} hl_sgd_args;

/* sum = share · gradient, or more by that. */
typedef struct hl_accumulate_args {
  float *sum;
  const float *gradient;
  size_t n;
  float share;
  int first; /* what `sum` was does not count */
} hl_accumulate_args;

/*
 * Batch norm with the statistics of the batch: y = act((x - mean) · rstd · gamma + beta +
 * residual), mean and biased variance of each channel over n and s. The running statistics become
 * momentum · before + (1 - momentum) · the batch's. Two kernels with the same arguments:
 * `batch_norm_moments`, then, when all threads are done, `batch_norm`.
 */
typedef struct hl_batch_norm_args {
  const float *x;
  const float *residual; /* as x, added before the activation; or NULL */
  const float *gamma, *beta;
  float *y;                                       /* may be x or residual */
  float *ret_mean, *ret_rstd;                     /* c each, what the gradient needs */
  const float *running_mean, *running_variance;   /* c each */
  float *ret_running_mean, *ret_running_variance; /* may be those before; or NULL */
  size_t n, c, s, block;
  size_t first, blocks;           /* only these blocks of channels, `blocks` of them; 0: all */
  float epsilon, momentum, slope; /* LeakyReLU: below 0 multiplied by it; 1 none, 0 ReLU */
  double *scratch;                /* 2 · n · (c rounded up to 16) */
} hl_batch_norm_args;
typedef hl_batch_norm_args hl_batch_norm_moments_args;

/*
 * The gradient of batch norm (`batch`: sums over n, too, mean and rstd c each), or of instance norm
 * (mean and rstd n · c). With h = (x - mean) · rstd and, where a ReLU followed, dy counting in full
 * where h · gamma + beta > 0 and `slope` times elsewhere:
 *   dx = rstd · gamma · (dy - mean of dy - h · mean of dy · h), dgamma = Σ dy · h, dbeta = Σ dy
 * Two kernels with the same arguments: `norm_gradient_sums`, then, when all threads are done,
 * `norm_gradient`.
 */
typedef struct hl_norm_gradient_args {
  const float *x, *dy;
  const float *gamma, *mean, *rstd;
  const float *beta;     /* c, where a ReLU followed; else NULL */
  float *dx;             /* may be dy or x; NULL: not wanted */
  float *dgamma, *dbeta; /* c each */
  size_t n, c, s, block;
  size_t first, blocks; /* only these blocks of channels, `blocks` of them; 0: all */
  int batch;
  float slope;
  float *scratch; /* 2 · n · (c rounded up to 16) floats */
} hl_norm_gradient_args;
typedef hl_norm_gradient_args hl_norm_gradient_sums_args;

/*
 * The gradient of layer norm over the last axis of (rows, n); mean and rstd are found again. Two
 * kernels: `layer_norm_gradient`, then, when all threads are done, `layer_norm_gradient_sums` for
 * dgamma and dbeta (n each).
 */
typedef struct hl_layer_norm_gradient_args {
  const float *x, *dy, *gamma;
  float *dx; /* may be dy or x */
  float *dgamma, *dbeta;
  size_t rows, n;
  float epsilon;
  float *scratch; /* 2 · HL_SUM_PARTS · n floats */
} hl_layer_norm_gradient_args;
typedef hl_layer_norm_gradient_args hl_layer_norm_gradient_sums_args;

/* Rows are summed in this many parts, whatever the number of threads. */
enum { HL_SUM_PARTS = 32 };

/* y (n) = Σ of the rows of x (rows, n). Two kernels: `row_sums`, then, when all threads are done,
 * `row_sums_end`. */
typedef struct hl_row_sums_args {
  const float *x;
  float *y;
  size_t rows, n;
  float *scratch; /* HL_SUM_PARTS · n floats */
} hl_row_sums_args;
typedef hl_row_sums_args hl_row_sums_end_args;

/* y (c) = Σ of x over n and s. Two kernels, the second with y and scratch: `channel_sums`,
 * `channel_sums_end`. */
typedef struct hl_channel_sums_args {
  const float *x;
  float *y;
  size_t n, c, s, block;
  float *scratch; /* n · (c rounded up to 16) floats */
} hl_channel_sums_args;
typedef hl_channel_sums_args hl_channel_sums_end_args;

/* y = scale · Σ x, or of x² with `square`. Two kernels: `total`, `total_end`. */
typedef struct hl_total_args {
  const float *x;
  float *y;
  size_t n;
  float scale;
  int square;
  double *scratch; /* HL_TOTAL_PARTS */
} hl_total_args;
typedef hl_total_args hl_total_end_args;
enum { HL_TOTAL_PARTS = 64 };

/* Passes dy back to the largest element of each window (the first of several), as hl_max_pool_args;
 * dy counts where `mask` is set only where that element is above 0. */
typedef struct hl_max_pool_gradient_args {
  const float *x, *dy;
  float *dx; /* overlaps no input */
  size_t planes, h, w, block;
  size_t kernel_h, kernel_w, stride_h, stride_w, before_h, before_w, out_h, out_w;
  int mask; /* also the gradient of a ReLU whose result x is */
} hl_max_pool_gradient_args;

/* Passes dy back to all elements of each window, evenly. */
typedef struct hl_average_pool_gradient_args {
  const float *dy;
  float *dx;
  size_t planes, h, w, block;
  size_t kernel_h, kernel_w, stride_h, stride_w, before_h, before_w, out_h, out_w;
  size_t after_h, after_w;
  int with_padding; /* the padding counts in the divisor */
} hl_average_pool_gradient_args;

/* The gradient of hl_upsample_args: sums over factor_h x factor_w cells. dx (planes, h, w, block).
 * Counts only where mask > 0, if there is one, else `slope` times. */
typedef struct hl_upsample_gradient_args {
  const float *dy;
  const float *mask; /* as dx; or NULL */
  float *dx;         /* may be mask */
  size_t planes, h, w, block, factor_h, factor_w;
  float slope;
} hl_upsample_gradient_args;

/*
 * Cross-entropy of scores x (outer, classes, inner) and classes (outer, inner), which the caller
 * has checked: negative ones do not count. `class_loss` writes the loss of each place (0 where it
 * does not count), `class_loss_gradient` dx = factor · (softmax - 1 at the class).
 */
typedef struct hl_class_loss_args {
  const float *x;
  const int64_t *classes;
  size_t outer, inner, count; /* `count` classes */
  float *loss;                /* (outer, inner) */
} hl_class_loss_args;
typedef struct hl_class_loss_gradient_args {
  const float *x;
  const int64_t *classes;
  size_t outer, inner, count;
  const float *factor;
  float scale; /* of the factor */
  float *dx;   /* may be x */
} hl_class_loss_gradient_args;

/* Element i is kept, divided by 1 - ratio, where word i % 4 of Philox4x32-10 of (i / 4, step) under
 * `seed` is at least ratio · 2³²; else 0. */
typedef struct hl_dropout_args {
  const float *x;
  float *y; /* may be x */
  size_t n;
  uint64_t seed, step;
  double ratio;
} hl_dropout_args;

/* What follows the products of a step of a sequence, by operator; a row of gates has them in ONNX's
 * order. A GRU that resets before its product (HL_CELL_GRU_EARLY) takes two turns, with a product
 * of the state it has reset between them. */
typedef enum hl_cell_kind {
  HL_CELL_TANH, /* RNN: gates h */
  HL_CELL_RELU,
  HL_CELL_SIGMOID,
  HL_CELL_LSTM,      /* i, o, f, c */
  HL_CELL_GRU,       /* z, r, h; linear_before_reset */
  HL_CELL_GRU_EARLY, /* z, r and the reset state */
  HL_CELL_GRU_LATE   /* h and the next state */
} hl_cell_kind;

/*
 * One step of n sequences with h units. The gates come as sums W x + R h without biases and are
 * replaced by their values; `beside` is R h of a GRU's third gate, to which its own bias is added,
 * or receives r · h of an early one.
 */
typedef struct hl_cell_args {
  hl_cell_kind kind;
  size_t n, h;
  const float *bias;           /* of all gates, then, of HL_CELL_GRU, of `beside` */
  float *gates, *beside;       /* (n, gates · h), (n, h) */
  const float *state, *memory; /* before the step, (n, h); memory is an LSTM's c */
  float *next, *next_memory;   /* after it */
} hl_cell_args;

/*
 * Backward through it. dstate and dmemory are the gradients of next and next_memory, and receive
 * those of state and memory but for what comes through R. The gates' values are replaced by the
 * gradients of their sums, and `beside` of HL_CELL_GRU by that of R h. Turns of an early GRU:
 * HL_CELL_GRU_LATE, which leaves r as it is, then HL_CELL_GRU_EARLY with the gradient of the reset
 * state in `beside`.
 */
typedef struct hl_cell_gradient_args {
  hl_cell_kind kind;
  size_t n, h;
  float *gates, *beside;
  const float *state, *memory, *next, *next_memory;
  const float *dy; /* added to dstate first; or NULL */
  float *dstate, *dmemory;
} hl_cell_gradient_args;

/*
 * Products of few rows with a matrix that is used many times, in panels of 16 columns, each (k, 16)
 * and the last one filled up with zeros: `panels` makes them, of element x[i · row + j · column] in
 * row i and column j (one of the strides is 1), `panel_product` adds a · b to c (n, columns), or
 * writes it.
 */
enum { HL_PANEL = 16 };
typedef struct hl_panels_args {
  const float *x;
  size_t k, columns, row, column;
  float *y; /* k · columns rounded up to HL_PANEL */
} hl_panels_args;

typedef struct hl_panel_product_args {
  const float *a; /* (n, k), rows a_row apart */
  const float *b; /* panels */
  float *c;       /* rows c_row apart */
  size_t n, k, columns, a_row, c_row;
  int add;
} hl_panel_product_args;

/*
 * Convolutions of one picture by shifted sums. Its channels lie spread out in planes with a margin
 * of zeros (and, for a stride of f, in f · f planes of every f-th row and column), so that a tap is
 * a distance in memory and whole vectors are read at any place: sum over k of weight(m, k) ·
 * planes[at[k] + row · pitch + column]. Weight (m, k) is w[m · w_row + w_at[k]], wherever that is:
 * no weights are rearranged.
 */
typedef struct hl_spread_args {
  const float *x; /* (channels, h, w) */
  float *planes;  /* (channels, f, f, plane): row r is row (r + first_row) · f + phase of x */
  size_t channels, h, w, f;
  ptrdiff_t first_row, first_column;
  size_t rows, columns, pitch; /* columns from `columns` on, and what lies outside of x, are 0 */
  size_t plane;                /* floats; at least rows · pitch, what follows those is 0, too */
} hl_spread_args;

/* y (m, h · f, w · f): its row and column modulo f choose one of f · f lists of k taps. */
typedef struct hl_taps_args {
  const float *planes, *w, *bias; /* bias: m, or NULL */
  const ptrdiff_t *at, *w_at;     /* (f, f, k) each */
  float *y;
  size_t m, k, f, h, w_columns, pitch, w_row;
} hl_taps_args;

/* dw(m, k) = sum over places of a[m · plane + place] · planes[at[k] + place], places rows of
 * `pitch`, with a 0 beyond the columns. n is rounded up to whole vectors. */
typedef struct hl_taps_gradient_args {
  const float *planes, *a;
  const ptrdiff_t *at, *w_at;
  float *dw;
  size_t m, k, n, plane, w_row;
} hl_taps_gradient_args;

/* The same where places are few and `taps` of k, 16 at a time, are neighbours in dw: `gather` makes
 * t (k / taps, places, taps), `taps_outer` the gradient from it and a (m, h, w) as it is. */
typedef struct hl_taps_outer_args {
  const float *planes, *a;
  const ptrdiff_t *at, *w_at;
  float *t, *dw;
  size_t m, k, taps, h, w_columns, pitch, w_row;
} hl_taps_outer_args;
typedef hl_taps_outer_args hl_taps_gather_args;

#define HL_TRAINING_KERNELS_MAP(X)                                                                 \
  X(adam)                                                                                          \
  X(rows_sum)                                                                                      \
  X(rows_dot)                                                                                      \
  X(spread)                                                                                        \
  X(taps)                                                                                          \
  X(taps_gradient)                                                                                 \
  X(taps_gather)                                                                                   \
  X(taps_outer)                                                                                    \
  X(rows_outer)                                                                                    \
  X(sgd)                                                                                           \
  X(accumulate)                                                                                    \
  X(batch_norm_moments)                                                                            \
  X(batch_norm)                                                                                    \
  X(norm_gradient_sums)                                                                            \
  X(norm_gradient)                                                                                 \
  X(layer_norm_gradient)                                                                           \
  X(layer_norm_gradient_sums)                                                                      \
  X(row_sums)                                                                                      \
  X(row_sums_end)                                                                                  \
  X(channel_sums)                                                                                  \
  X(channel_sums_end)                                                                              \
  X(total)                                                                                         \
  X(total_end)                                                                                     \
  X(max_pool_gradient)                                                                             \
  X(average_pool_gradient)                                                                         \
  X(upsample_gradient)                                                                             \
  X(class_loss)                                                                                    \
  X(class_loss_gradient)                                                                           \
  X(cell)                                                                                          \
  X(cell_gradient)                                                                                 \
  X(panels)                                                                                        \
  X(panel_product)                                                                                 \
  X(dropout)

#endif
