/*
 * numeric/residual.h - what is summed up where a picture's amplitude is compared with a measured
 * one.
 *
 *     double loss = sums.target > 0 ? sums.difference / sums.target : ...;
 */
#ifndef HL_NUMERIC_RESIDUAL_H
#define HL_NUMERIC_RESIDUAL_H

/* Over all pixels: sum |amplitude - target|, sum |target|, sum amplitude. */
typedef struct hl_residual_sums {
  double difference, target, amplitude;
} hl_residual_sums;

#endif
