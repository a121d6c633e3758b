/* What GRU, LSTM and RNN do with the products of a step, forward and backward. */
#include "vmath.h"

enum { PIECE = 256 }; /* units of a sequence at a time */

/* The units of one sequence from `at` on, `count` of them. */
typedef struct piece {
  size_t row, at, count; /* row: of the sequence */
} piece;

HL_INLINE piece piece_of(size_t h, size_t unit) {
  size_t pieces = hl_ceil_div(h, PIECE), at = unit % pieces * PIECE;
  return (piece){unit / pieces, at, hl_min(PIECE, h - at)};
}

static void rnn(const hl_cell_args *a, piece p, hl_cell_kind kind) {
  size_t at = p.row * a->h + p.at;
  const float *bias = a->bias + p.at;
  float *sum = a->gates + at, *next = a->next + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float x = sum[j] + bias[j];
    next[j] = kind == HL_CELL_TANH   ? hl_tanh(x)
              : kind == HL_CELL_RELU ? hl_larger(x, 0)
                                     : hl_sigmoid(x);
  }
}

static void lstm(const hl_cell_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  const float *bias = a->bias + p.at, *memory = a->memory + at;
  float *gates = a->gates + p.row * 4 * h + p.at, *next = a->next + at;
  float *next_memory = a->next_memory + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float in = hl_sigmoid(gates[j] + bias[j]), out = hl_sigmoid(gates[h + j] + bias[h + j]);
    float forget = hl_sigmoid(gates[2 * h + j] + bias[2 * h + j]);
    float fresh = hl_tanh(gates[3 * h + j] + bias[3 * h + j]);
    float c = forget * memory[j] + in * fresh;
    gates[j] = in, gates[h + j] = out, gates[2 * h + j] = forget, gates[3 * h + j] = fresh;
    next_memory[j] = c;
    next[j] = out * hl_tanh(c);
  }
}

static void gru(const hl_cell_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  const float *bias = a->bias + p.at, *state = a->state + at;
  float *gates = a->gates + p.row * 3 * h + p.at, *next = a->next + at, *past = a->beside + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float update = hl_sigmoid(gates[j] + bias[j]), reset = hl_sigmoid(gates[h + j] + bias[h + j]);
    past[j] += bias[3 * h + j];
    float fresh = hl_tanh(gates[2 * h + j] + bias[2 * h + j] + reset * past[j]);
    gates[j] = update, gates[h + j] = reset, gates[2 * h + j] = fresh;
    next[j] = fresh + update * (state[j] - fresh);
  }
}

static void gru_early(const hl_cell_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  const float *bias = a->bias + p.at, *state = a->state + at;
  float *gates = a->gates + p.row * 3 * h + p.at, *reset_state = a->beside + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    gates[j] = hl_sigmoid(gates[j] + bias[j]);
    gates[h + j] = hl_sigmoid(gates[h + j] + bias[h + j]);
    reset_state[j] = gates[h + j] * state[j];
  }
}

static void gru_late(const hl_cell_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  const float *bias = a->bias + p.at + 2 * h, *state = a->state + at;
  float *update = a->gates + p.row * 3 * h + p.at, *sum = update + 2 * h, *next = a->next + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    sum[j] = hl_tanh(sum[j] + bias[j]);
    next[j] = sum[j] + update[j] * (state[j] - sum[j]);
  }
}

void HL_FN(cell)(const hl_cell_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n * hl_ceil_div(a->h, PIECE), thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    piece p = piece_of(a->h, unit);
    switch (a->kind) {
    case HL_CELL_TANH:
      rnn(a, p, HL_CELL_TANH);
      break;
    case HL_CELL_RELU:
      rnn(a, p, HL_CELL_RELU);
      break;
    case HL_CELL_SIGMOID:
      rnn(a, p, HL_CELL_SIGMOID);
      break;
    case HL_CELL_LSTM:
      lstm(a, p);
      break;
    case HL_CELL_GRU:
      gru(a, p);
      break;
    case HL_CELL_GRU_EARLY:
      gru_early(a, p);
      break;
    case HL_CELL_GRU_LATE:
      gru_late(a, p);
      break;
    }
  }
}

/* -- backward ------------------------------------------------------------------------------- */

static void rnn_back(const hl_cell_gradient_args *a, piece p) {
  size_t at = p.row * a->h + p.at;
  const float *y = a->next + at, *dh = a->dstate + at;
  float *sum = a->gates + at;
  hl_cell_kind kind = a->kind;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float slope = kind == HL_CELL_TANH   ? 1 - y[j] * y[j]
                  : kind == HL_CELL_RELU ? (y[j] > 0 ? 1.0f : 0.0f)
                                         : y[j] * (1 - y[j]);
    sum[j] = dh[j] * slope;
  }
}

static void lstm_back(const hl_cell_gradient_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  float *gates = a->gates + p.row * 4 * h + p.at, *dc = a->dmemory + at;
  const float *memory = a->memory + at, *next_memory = a->next_memory + at, *dh = a->dstate + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float in = gates[j], out = gates[h + j], forget = gates[2 * h + j], fresh = gates[3 * h + j];
    float shown = hl_tanh(next_memory[j]);
    float d = dc[j] + dh[j] * out * (1 - shown * shown);
    gates[j] = d * fresh * in * (1 - in);
    gates[h + j] = dh[j] * shown * out * (1 - out);
    gates[2 * h + j] = d * memory[j] * forget * (1 - forget);
    gates[3 * h + j] = d * in * (1 - fresh * fresh);
    dc[j] = d * forget;
  }
}

static void gru_back(const hl_cell_gradient_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  float *gates = a->gates + p.row * 3 * h + p.at, *past = a->beside + at, *dh = a->dstate + at;
  const float *state = a->state + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float update = gates[j], reset = gates[h + j], fresh = gates[2 * h + j];
    float dfresh = dh[j] * (1 - update) * (1 - fresh * fresh);
    gates[j] = dh[j] * (state[j] - fresh) * update * (1 - update);
    gates[h + j] = dfresh * past[j] * reset * (1 - reset);
    gates[2 * h + j] = dfresh;
    past[j] = dfresh * reset;
    dh[j] *= update;
  }
}

static void gru_late_back(const hl_cell_gradient_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  float *gates = a->gates + p.row * 3 * h + p.at, *dh = a->dstate + at;
  const float *state = a->state + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float update = gates[j], fresh = gates[2 * h + j];
    gates[j] = dh[j] * (state[j] - fresh) * update * (1 - update);
    gates[2 * h + j] = dh[j] * (1 - update) * (1 - fresh * fresh);
    dh[j] *= update;
  }
}

static void gru_early_back(const hl_cell_gradient_args *a, piece p) {
  size_t h = a->h, at = p.row * h + p.at;
  float *gates = a->gates + p.row * 3 * h + p.at, *dh = a->dstate + at;
  const float *state = a->state + at, *dreset_state = a->beside + at;
#pragma omp simd
  for (size_t j = 0; j < p.count; j++) {
    float reset = gates[h + j];
    dh[j] += dreset_state[j] * reset;
    gates[h + j] = dreset_state[j] * state[j] * reset * (1 - reset);
  }
}

void HL_FN(cell_gradient)(const hl_cell_gradient_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n * hl_ceil_div(a->h, PIECE), thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    piece p = piece_of(a->h, unit);
    size_t at = p.row * a->h + p.at;
    for (size_t j = 0; a->dy && j < p.count; j++) a->dstate[at + j] += a->dy[at + j];
    switch (a->kind) {
    case HL_CELL_TANH:
    case HL_CELL_RELU:
    case HL_CELL_SIGMOID:
      rnn_back(a, p);
      break;
    case HL_CELL_LSTM:
      lstm_back(a, p);
      break;
    case HL_CELL_GRU:
      gru_back(a, p);
      break;
    case HL_CELL_GRU_LATE:
      gru_late_back(a, p);
      break;
    case HL_CELL_GRU_EARLY:
      gru_early_back(a, p);
      break;
    }
  }
}
