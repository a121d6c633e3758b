/*
 * engines/onnxruntime/library.h - finds and opens ONNX Runtime's shared library.
 *
 *     const hl_ort_library *library;
 *     hl_status status = hl_ort_library_open(NULL, &library, error);   // where it usually lies
 *     library->api.CreateSessionOptions(&options);
 *
 * Looked at in this order, and the first that exists is the one:
 *   1. the file that the environment variable HOTLAP_ONNXRUNTIME_LIBRARY names
 *   2. libonnxruntime.so.1, as the system's loader finds it
 *   3. the Python package onnxruntime of $VIRTUAL_ENV, then of each python3 on $PATH, then of
 * ~/.local
 */
#ifndef HOTLAP_ONNXRUNTIME_LIBRARY_H
#define HOTLAP_ONNXRUNTIME_LIBRARY_H

#include "api.h"
#include <hotlap/engine.h>

typedef struct hl_ort_library {
  hl_ort_api api;
  char version[64]; /* "onnxruntime 1.32.0" */
  char path[4096];
} hl_ort_library;

/* Opens the library at `path`, or where it usually lies if NULL. One library at a time is open in a
 * process: another one takes its place, so no session of the first may be alive. Stays open, and
 * `*ret_library` valid, until then. UNAVAILABLE, with the remedy, if it is not found or too old. */
hl_status hl_ort_library_open(const char *path, const hl_ort_library **ret_library,
                              hl_error *error);

/* The library that is open, or NULL. */
const hl_ort_library *hl_ort_library_current(void);

/* Fills `error` if not NULL; `sys_errno` is 0. Returns `status`. */
__attribute__((format(printf, 3, 4))) hl_status hl_ort_fail(hl_error *error, hl_status status,
                                                            const char *format, ...);

#endif
