/*
 * workloads/load-inference.h - a loaded network as the server of a load test.
 *
 *     hl_load_inference server;
 *     hl_status status = hl_load_inference_init(&inference, instances, max_batch, &server, error);
 *     if (status == HL_OK) status = hl_load_run(&server.server, &request, &result, error);
 *     hl_load_inference_release(&server);
 *
 * There is a program for each power of two below the largest batch and one for that; a batch is run
 * by the smallest that holds it, what is left of it filled with the samples of an earlier one, as
 * engines with fixed shapes have to. The inputs of a batch are gathered into a buffer of the
 * instance: that is part of a query's time in the engine.
 */
#ifndef HL_WORKLOADS_LOAD_INFERENCE_H
#define HL_WORKLOADS_LOAD_INFERENCE_H

#include "workloads/inference.h"
#include "workloads/load.h"

#define HL_LOAD_SIZES 18 /* 1, 2, 4 ... 65536, and one that is no power of two */

typedef struct hl_load_instance {
  hl_request *requests[HL_LOAD_SIZES]; /* by size */
  char **staging;                      /* by input: room for the largest batch */
} hl_load_instance;

typedef struct hl_load_inference {
  hl_load_server server; /* its context is the object, which must not move */
  const hl_inference *inference;
  uint32_t sizes[HL_LOAD_SIZES], size_count; /* ascending */
  hl_program *programs[HL_LOAD_SIZES];
  hl_load_instance *instances;
  uint32_t instance_count;
} hl_load_inference;

/* Compiles the programs and allocates the requests of every instance. `inference` is loaded and
 * outlives the object; its own programs are not used. */
hl_status hl_load_inference_init(const hl_inference *inference, uint32_t instances,
                                 uint32_t max_batch, hl_load_inference *ret_server,
                                 hl_error *error);
void hl_load_inference_release(hl_load_inference *server);

#endif
