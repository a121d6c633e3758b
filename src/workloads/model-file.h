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

struct hl_graph;
struct hl_foreign_model;

typedef struct hl_model_file {
  char *path;                       /* an ONNX file, or what a foreign model is called; owned */
  struct hl_foreign_model *foreign; /* NULL, or such a model (workloads/foreign-model.h); owned */
  char *source;           /* of a foreign model: which version of its code; NULL: unknown; owned */
  int memory_fd;          /* -1, or the anonymous file behind `path` */
  uint64_t hash;          /* of the content, or of what it was generated from */
  char *unread;           /* NULL, or why the reference cannot run the model; owned */
  int64_t parameters;     /* -1: not known, as some may be hidden in what is not read */
  double flops_per_image; /* nominal, at batch 1; NaN with `unread` */
  /* What its operators move at batch 1 (hl_graph_traffic_of); NaN with `unread`. */
  double weight_bytes, port_bytes_per_image, operator_bytes_per_image;
  int64_t patterns_per_input;
  hl_port *inputs, *outputs; /* an open batch is -1, other dimensions are known; owned */
  size_t input_count, output_count;
  /* Axis of the batch in each input and output, -1 for none; NULL: the first. Owned. */
  int32_t *input_axes, *output_axes;
  int64_t fixed_batch;   /* 0, or the one batch that the model runs */
  int64_t *index_limits; /* see hl_data_rule; NULL: not known. Owned */
  char *not_a_number;    /* NULL, or which weights hold NaN; owned */
  char *infinite;        /* NULL, or which hold +Inf; owned */
  bool generated;        /* was written now */
  bool quantized;        /* holds quantised operators: an int8 model */
  bool classifier;       /* the first output is (batch, classes) */
} hl_model_file;

/* Finds or generates the file and reads its description, of any ONNX model: one that the reference
 * cannot run has its reason in `unread`, and outputs as the file declares them. Where the
 * configuration has a `model_file`, `path` is that, and all else describes the model that it is a
 * copy of. `cache_directory` may be NULL. */
hl_status hl_model_file_open(const hl_configuration *configuration, const char *cache_directory,
                             hl_model_file *ret_file, hl_error *error);
void hl_model_file_release(hl_model_file *file);

/* Reads the file's graph, which must have nothing unread, and gives its inputs every dimension but
 * an open batch. */
hl_status hl_model_file_graph(const hl_model_file *file, const hl_configuration *configuration,
                              struct hl_graph **ret_graph, hl_error *error);

/* A graph that was made of the configuration's model, as a file in memory. */
hl_status hl_model_file_of_graph(const struct hl_graph *graph,
                                 const hl_configuration *configuration, hl_model_file *ret_file,
                                 hl_error *error);

static inline int32_t hl_model_file_input_axis(const hl_model_file *file, size_t i) {
  return file->input_axes ? file->input_axes[i] : 0;
}
static inline int32_t hl_model_file_output_axis(const hl_model_file *file, size_t i) {
  return file->output_axes ? file->output_axes[i] : 0;
}

#endif
