/*
 * engines/onnxruntime/provider.h - execution providers: what ONNX Runtime computes on.
 *
 *     hl_ort_choice choice;
 *     status = hl_ort_choose("cuda", "cuda:1", &choice, error);
 *     status = hl_ort_add_provider(engine, options, error);   // of engine->choice
 *
 * cpu is always there. cuda and tensorrt are only in a build for GPUs (PyPI: onnxruntime-gpu); the
 * nodes that TensorRT does not take go to cuda, as ONNX Runtime's documentation advises.
 */
#ifndef HOTLAP_ONNXRUNTIME_PROVIDER_H
#define HOTLAP_ONNXRUNTIME_PROVIDER_H

#include "library.h"

typedef enum hl_ort_provider { HL_ORT_CPU, HL_ORT_CUDA, HL_ORT_TENSORRT } hl_ort_provider;

typedef struct hl_ort_choice {
  hl_ort_provider provider;
  int device; /* number of the GPU */
} hl_ort_choice;

/* The names that --provider may have, ending with NULL. */
extern const char *const hl_ort_providers[];

/* Which provider: `provider` if not NULL, else the one that belongs to `device` ("cpu"; "cuda:1",
 * "gpu:1"). INVALID_ARGUMENT for names that are none or do not belong together. */
hl_status hl_ort_choose(const char *provider, const char *device, hl_ort_choice *ret_choice,
                        hl_error *error);

/* Adds the engine's provider to `options`. UNAVAILABLE, in ONNX Runtime's own words and with the
 * providers that there are, if the library lacks it or it finds no device. */
hl_status hl_ort_add_provider(const hl_engine *engine, hl_ort_session_options *options,
                              hl_error *error);

/* The library's providers, "CPUExecutionProvider, …"; `capacity` bytes of `ret_list`. */
void hl_ort_list_providers(const hl_ort_api *api, char *ret_list, size_t capacity);

#endif
