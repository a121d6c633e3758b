/*
 * workloads/quantize.h - an 8-bit copy of a model, with ranges from running it on data.
 *
 *     hl_quantize_options o = {.ranges = HL_RANGES_PERCENTILE, .percentile = 99.99};
 *     hl_quantize_model(&configuration, cache, &host, &o, "q.onnx", &result, error);
 *
 * Runs the float32 network of the configuration on its data with its engine, two passes with
 * histograms, and once more with the quantised copy to see what was lost. Takes as long as three
 * runs over the images. Not thread-safe.
 */
#ifndef HL_WORKLOADS_QUANTIZE_H
#define HL_WORKLOADS_QUANTIZE_H

#include "quantize/quantize.h"
#include "workloads/inference.h"

typedef struct hl_quantize_options {
  hl_ranges ranges;
  double percentile; /* of HL_RANGES_PERCENTILE */
  /* Called before each image with what is done now; may be NULL. False ends with INTERRUPTED. */
  bool (*progress)(void *context, const char *what, int64_t done, int64_t total);
  void *context;
} hl_quantize_options;

enum { HL_QUANTIZE_IMAGES = 32 }; /* calibration images unless the configuration says how many */
#define HL_QUANTIZE_PERCENTILE 99.99

typedef struct hl_quantize_result {
  hl_quantize_summary summary;
  size_t places;
  int64_t images;
  char data[256]; /* what the ranges come from */
  double cosine;  /* least over images and outputs, of the quantised outputs and the float ones */
  const char *cosine_reason; /* NULL, or why the cosine is NaN; static */
  double error;              /* largest max|a-b| / max|b| of an output over all images */
  double top1; /* share of images with the same largest element; NaN if no classifier */
  uint64_t file_bytes, float_file_bytes;
} hl_quantize_result;

/* `configuration`: model, engine, threads, data; n_images 0 is HL_QUANTIZE_IMAGES. Its type and
 * batch size do not count. Failures as hl_quantizer_new and hl_quantizer_finish, those of the
 * engine, and BAD_DATA where an activation is not finite. */
hl_status hl_quantize_model(const hl_configuration *configuration, const char *cache_directory,
                            const hl_host *host, const hl_quantize_options *options,
                            const char *path, hl_quantize_result *ret_result, hl_error *error);

/* Images that the copy of a row is calibrated with: those of the row, HL_QUANTIZE_IMAGES at most.
 */
int64_t hl_quantize_images(const hl_configuration *configuration);

/* The path (free() it) of the cached copy with the default ranges, from the configuration's data by
 * the native engine; made now if it is not there. UNAVAILABLE without a cache directory. */
hl_status hl_quantized_copy(const hl_configuration *configuration, const hl_model_file *file,
                            const char *cache_directory, const hl_host *host, char **ret_path,
                            hl_error *error);

/* How two sets of outputs agree: `a` and `b` hold `images` times `count` elements. The cosine is
 * NaN where one of two images is all zeros, or holds other things than numbers. */
double hl_least_cosine(const float *a, const float *b, int64_t images, size_t count);
double hl_top1_agreement(const float *a, const float *b, int64_t images, size_t count);

#endif
