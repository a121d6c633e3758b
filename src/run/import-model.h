/*
 * run/import-model.h - a foreign model written as an ONNX file, and the file run to see whether it
 * computes the same.
 */
#ifndef HL_RUN_IMPORT_MODEL_H
#define HL_RUN_IMPORT_MODEL_H

#include "run/run.h"

typedef struct hl_import_result {
  char engine_version[128];
  int64_t parameters;  /* -1: not known */
  double error;        /* max|a-b| / max|b| of the native engine on the file and the framework */
  char unchecked[512]; /* why there is no `error`, else empty */
  char notes[2048];    /* sentences of the engine, a line each */
} hl_import_result;

/* The engine of `configuration`, of a foreign model at batch 1 or what it has fixed, writes `path`;
 * each step may take `setup_s`. Failures are those of the engine; a file that does not agree is
 * written all the same. `ret_result` is set on success. */
hl_status hl_import_model(const hl_run_environment *environment,
                          const hl_configuration *configuration, const char *path, double setup_s,
                          hl_import_result *ret_result, hl_error *error);

#endif
