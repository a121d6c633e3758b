/*
 * engines/onnxruntime/library.h - opens ONNX Runtime's shared library.
 *
 *     const hl_ort_library *library;
 *     hl_status status = hl_ort_library_open(host, &library, error);
 *     library->api.CreateSessionOptions(&options);
 */
#ifndef HOTLAP_ONNXRUNTIME_LIBRARY_H
#define HOTLAP_ONNXRUNTIME_LIBRARY_H

#include "api.h"
#include "common/library.h"

typedef struct hl_ort_library {
  hl_ort_api api;
  char version[64]; /* "onnxruntime 1.32.0" */
  hl_library file;
} hl_ort_library;

/* Opens the library that `host` (may be NULL) names, or that lies where it usually does. Once: what
 * is open stays so until the process ends, and serves every later call. UNAVAILABLE, with the
 * remedy, if it is not found or too old. */
hl_status hl_ort_library_open(const hl_host *host, const hl_ort_library **ret_library,
                              hl_error *error);

/* The library that is open, or NULL. */
const hl_ort_library *hl_ort_library_current(void);

#endif
