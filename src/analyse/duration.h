/*
 * analyse/duration.h - how long rows will take, by rows that were measured before.
 *
 *     const hl_duration_query q = {.model = "mlp", .engine = "native", .dtype = "float32",
 *                                  .device = "cpu", .threads = 2, .batch_size = 64,
 *                                  .warmup_steps = -1, .max_time_s = 30};
 *     double seconds = hl_duration_estimate(&stored, &q);   // NaN: nothing like it was measured
 *
 * Rows of the same model, engine, type, device and threads tell it. A step's time is the median of
 * those of the same batch size, else the line T(b) = t0 + t1 b through the others, weighted by
 * 1/T^2, which needs two sizes. Setting up (load, prepare, first call) likewise, the line
 * unweighted. Steps: as many as are asked for; where the method decides, the median time that those
 * rows warmed up and measured. Pure.
 */
#ifndef HL_ANALYSE_DURATION_H
#define HL_ANALYSE_DURATION_H

#include "record/record.h"

typedef struct hl_duration_query {
  const char *model, *engine, *dtype, *device; /* device as device_id of a row */
  int64_t threads, batch_size;
  int64_t steps;        /* 0: as the method decides */
  int64_t warmup_steps; /* -1: as the method decides */
  double min_time_s;
  double max_time_s; /* infinite: none */
} hl_duration_query;

/* Seconds, without checking outputs and starting the process. Of many rows that are alike the first
 * 1024 count: `stored` begins with the newest. */
double hl_duration_estimate(const hl_records *stored, const hl_duration_query *query);

#endif
