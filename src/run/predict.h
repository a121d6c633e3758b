/*
 * run/predict.h - volumes predicted by a worker, one after the other, with the time of each part.
 *
 *     hl_predict_request request = {.configuration = &c, .data = "cells", .task = "segmentation"};
 *     hl_predict_result result;
 *     hl_predict_run(&environment, &request, &view, &result, error);
 *     hl_predict_result_release(&result);
 *
 * What the parts are: workloads/prediction.h. A run that fails has what it predicted before.
 */
#ifndef HL_RUN_PREDICT_H
#define HL_RUN_PREDICT_H

#include "run/run.h"

typedef enum hl_predict_part {
  HL_PREDICT_READ,
  HL_PREDICT_GATHER,
  HL_PREDICT_TRANSFER,
  HL_PREDICT_FORWARD,
  HL_PREDICT_STITCH,
  HL_PREDICT_POST,
  HL_PREDICT_WRITE,
  HL_PREDICT_PREPARE,
  HL_PREDICT_PARTS
} hl_predict_part;
const char *hl_predict_part_name(hl_predict_part part); /* "read", ... */

typedef struct hl_predict_request {
  const hl_configuration *configuration; /* `batch_size` windows of a call */
  const char *data, *task, *recipe;      /* of the verb `volumes`, see docs/protocol.md */
  const char *folder;                    /* for the predictions; NULL: not written */
  double overlap;
  bool gaussian, compare;
  int64_t n_images; /* volumes, 0: all */
  double setup_s;   /* for configuring, loading and preparing, each */
  double volume_s;  /* for one volume */
} hl_predict_request;

typedef struct hl_predict_volume {
  char *name, *file; /* `file` NULL: none was written */
  int64_t depth, height, width, windows, batches;
  double part_s[HL_PREDICT_PARTS], total_s;
  double dice, correlation, mse; /* NaN: not compared */
} hl_predict_volume;

typedef struct hl_predict_result {
  char *data, *engine;  /* a line about each */
  int64_t batch_size;   /* that of the request, or the most windows of a volume if that is less */
  int64_t volume_count; /* to predict */
  hl_predict_volume *volumes;
  size_t count;                     /* predicted */
  double first_s[HL_PREDICT_PARTS]; /* of the first batch: gather to stitch; NaN for the others */
  double configure_s, load_s, prepare_s, total_s; /* `total_s`: of all volumes */
  double peak_mb, memory_mb, device_mb; /* of the process; less its baseline; NaN: unknown */
} hl_predict_result;

typedef struct hl_predict_view {
  void *context;
  void (*volume)(void *context, const hl_predict_result *result); /* one more is there; or NULL */
} hl_predict_view;

/* Failures of the worker, of the files, and INTERRUPTED. `ret_result` is filled in any case, as far
 * as it got. */
hl_status hl_predict_run(const hl_run_environment *environment, const hl_predict_request *request,
                         const hl_predict_view *view, hl_predict_result *ret_result,
                         hl_error *error);
void hl_predict_result_release(hl_predict_result *result);

#endif
