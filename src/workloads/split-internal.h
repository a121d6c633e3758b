/*
 * workloads/split-internal.h - what stands behind the opaque handles of a split engine; private to
 * split.c and split-request.c.
 */
#ifndef HL_WORKLOADS_SPLIT_INTERNAL_H
#define HL_WORKLOADS_SPLIT_INTERNAL_H

#include "plan/device.h"
#include "workloads/shapes.h"
#include "workloads/split.h"

typedef struct split_engine {
  hl_engine_ops ops; /* of the engine behind */
  const hl_model_file *file;
  const hl_host *host;
  size_t count;
  char devices[HL_DEVICE_MOST][HL_DEVICE_NAME];
  hl_engine *engines[HL_DEVICE_MOST];
} split_engine;

typedef struct split_model {
  split_engine *engine;
  hl_model *models[HL_DEVICE_MOST];
} split_model;

typedef struct split_program {
  split_engine *engine;
  int64_t batch;
  size_t count;                   /* of devices that have a part */
  int64_t images[HL_DEVICE_MOST]; /* of each part */
  int64_t first[HL_DEVICE_MOST];  /* its first image */
  hl_program *programs[HL_DEVICE_MOST];
  size_t input_count;
  hl_port inputs[HL_INPUTS_MAX]; /* of the whole batch */
} split_program;

/* Adds the device's name to the error of one of its hooks. */
hl_status hl_split_failed(const split_engine *engine, size_t device, hl_status status,
                          hl_error *error);

/* Hooks of a request, on handles that are ours. */
hl_status hl_split_request(hl_program *program, hl_request **ret_request, hl_error *error);
hl_status hl_split_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                        hl_error *error);
hl_status hl_split_submit(hl_request *request, hl_error *error);
hl_status hl_split_wait(hl_request *request, hl_error *error);
hl_status hl_split_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                          hl_error *error);
void hl_split_request_free(hl_request *opaque);

#endif
