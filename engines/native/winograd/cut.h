/*
 * native/winograd/cut.h - how a Winograd convolution is cut into tiles and blocks (inside winograd/
 * only).
 */
#ifndef HL_NATIVE_WINOGRAD_CUT_H
#define HL_NATIVE_WINOGRAD_CUT_H

#include "winograd/winograd.h"

enum {
  LANES = 16,
  OUT = 4,      /* a tile's side */
  IN = OUT + 2, /* of its input */
  POINTS = IN * IN,
  PANEL = 64, /* output channels at a time */
};

typedef struct cut {
  size_t rows, columns, tiles; /* tiles down, across, in a slice of all pictures */
  size_t ic, oc;               /* rounded up to blocks */
  size_t taps;                 /* along the depth: 3 in volumes, else 1 */
  bool shared;                 /* threads share the transformed input */
  size_t block;                /* tiles at a time */
  size_t m_row;                /* floats between tiles of the products */
  size_t v_plane, m_plane;     /* floats between planes */
} cut;

cut hl_winograd_cut(const hl_winograd_shape *shape);

static inline size_t hl_winograd_round_up(size_t x, size_t to) {
  return (x + to - 1) / to * to;
}

static inline size_t hl_winograd_smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

#endif
