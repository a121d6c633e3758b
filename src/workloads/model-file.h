/*
 * workloads/model-file.h - a configuration's model as an ONNX file, and what the file says.
 *
 * A built-in network is written once into the cache directory (models/NAME-...-HASH.onnx, where the
 * hash covers specification, seed and the program itself) and mapped from there afterwards, so that
 * every engine reads the same file and no worker pays for generating weights twice. Where the cache
 * cannot be written, an anonymous file in memory takes its place.
 */
#ifndef HL_WORKLOADS_MODEL_FILE_H
#define HL_WORKLOADS_MODEL_FILE_H

#include "base/error.h"
#include "plan/configuration.h"

typedef struct hl_model_file {
  char *path;    /* an ONNX file; owned */
  int memory_fd; /* -1, or the anonymous file behind `path` */
  uint64_t hash; /* of the content, or of what it was generated from */
  int64_t parameters;
  double flops_per_image; /* nominal, at batch 1 */
  int64_t patterns_per_input;
  hl_port *inputs, *outputs; /* batch dimension -1; owned */
  size_t input_count, output_count;
  bool generated;  /* was written now */
  bool quantised;  /* holds quantised operators: an int8 model */
  bool classifier; /* the first output is (batch, classes) */
} hl_model_file;

/* Finds or generates the file and reads its description. Where the configuration has a
 * `model_file`, `path` is that, and all else describes the model that it is a copy of.
 * `cache_directory` may be NULL. */
hl_status hl_model_file_open(const hl_configuration *configuration, const char *cache_directory,
                             hl_model_file *ret_file, hl_error *error);
void hl_model_file_release(hl_model_file *file);

#endif
