/*
 * imaging/merge.h - PtychoPINN's merge inside the model: the patches of a group as one.
 *
 *     float complex *merged = ...;                              // (n, N, N)
 *     hl_merge(n, 4, 64, patches, relative, threads, merged, error);
 *
 * With gridsize g an input is a group of g^2 patches, taken at positions around their mean. Each is
 * moved back by its relative position, bilinearly and with zeros around it; the sum is divided by
 * 0.001 + the sum of as many masks, each 1 within the central N/2 x N/2 pixels of its patch. The
 * canvas of N + 4 (g - 1) + 10 pixels, which PtychoPINN moves them on, does not show in the result:
 * it is trimmed to N. Pure; the same to the bit whatever the threads.
 */
#ifndef HL_IMAGING_MERGE_H
#define HL_IMAGING_MERGE_H

#include "imaging/reassemble.h"

/* `patches` are (n, channels, size, size). relative[n][channels][2] is (x, y) of -(coordinate -
 * mean of the group), in pixels, as the model's input `positions` has it. INVALID_ARGUMENT for
 * sizes; BAD_DATA names a relative position that is not finite; OUT_OF_MEMORY. */
hl_status hl_merge(int64_t n, int64_t channels, int64_t size, hl_patches patches,
                   const double *relative, int threads, float complex *ret_merged, hl_error *error);

#endif
