/*
 * imaging/reassemble.h - one picture of all patches of a ptychography scan.
 *
 *     hl_reassembly *r;
 *     hl_reassembly_new(scan->x, scan->y, scan->count, 64, HL_REASSEMBLY_CROP, &r, error);
 *     int64_t side = hl_reassembly_side(r);
 *     for (int64_t i = 0; i < scan->count; i += n)           // any batch, in order
 *       hl_reassembly_add(r, i, n, patches_of(amplitude, phase), threads, error);
 *     hl_reassembly_finish(r, threads, canvas, NULL, error); // (side, side) complex64
 *     hl_reassembly_free(r);
 *
 * PtychoPINN's reassemble_position: of each patch the central crop x crop pixels, moved by its
 * offset from the mean of all positions, bilinearly and with zeros around it, onto a canvas of
 * crop + 2 pad pixels a side, pad the largest offset rounded up to an even number; the sum of all
 * patches / (1e-9 + the sum of as many patches of ones). PtychoPINN's own batched variant adds
 * every patch of a large batch twice; this one adds it once.
 *
 * The canvas is the same to the bit whatever the batches and the threads: sums are in double, in
 * the order of the patches. A pass may begin again after hl_reassembly_finish. One caller at a
 * time.
 */
#ifndef HL_IMAGING_REASSEMBLE_H
#define HL_IMAGING_REASSEMBLE_H

#include "base/error.h"
#include <complex.h>

/* PtychoPINN's M: pixels of a patch's side that are used. */
#define HL_REASSEMBLY_CROP 20

/* A canvas of more pixels a side is refused: the sums alone are 1 GiB by then. */
enum { HL_REASSEMBLY_MAX_SIDE = 8192 };

/* Patches (n, size, size): amplitude and phase in radians, or complex numbers. Borrowed. */
typedef struct hl_patches {
  const float *amplitude, *phase;
  const float complex *field; /* used if it is not NULL */
} hl_patches;

typedef struct hl_reassembly hl_reassembly;

/* Positions in pixels; they are copied. `size` is a patch's side, `crop` at most that.
 * INVALID_ARGUMENT for sizes; BAD_DATA names the position that is not finite, or that would make
 * the canvas absurd, and where all are within a hundredth of a pixel (metres) but not the same;
 * OUT_OF_MEMORY. */
hl_status hl_reassembly_new(const double *x, const double *y, int64_t count, int64_t size,
                            int64_t crop, hl_reassembly **ret_reassembly, hl_error *error);
void hl_reassembly_free(hl_reassembly *reassembly); /* NULL is fine */

int64_t hl_reassembly_side(const hl_reassembly *reassembly);

/* Bytes that it holds, the canvas of the caller (8 side^2) not among them. */
int64_t hl_reassembly_bytes(const hl_reassembly *reassembly);

/* Where the canvas lies: its pixel [row, column] shows (x, y) = (ret_x + column, ret_y + row) in
 * the coordinates of the positions, which are the centres [size/2, size/2] of patches. */
void hl_reassembly_origin(const hl_reassembly *reassembly, double *ret_x, double *ret_y);

/* Adds patches `first` to `first + n - 1`, on up to `threads` threads where that is worth it.
 * INVALID_ARGUMENT unless `first` is the number of those added so far and all of them exist. */
hl_status hl_reassembly_add(hl_reassembly *reassembly, int64_t first, int64_t n, hl_patches patches,
                            int threads, hl_error *error);

/* The canvas (side, side), and how often each pixel was covered unless ret_weights is NULL; then
 * it is empty for the next pass. INVALID_ARGUMENT if a patch is missing. */
hl_status hl_reassembly_finish(hl_reassembly *reassembly, int threads, float complex *ret_canvas,
                               float *ret_weights, hl_error *error);

/* Drops what has been added. */
void hl_reassembly_restart(hl_reassembly *reassembly);

#endif
