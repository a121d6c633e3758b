/*
 * workloads/prediction.h - whole volumes through a network that takes patches, with the time of
 * each part.
 *
 *     hl_prediction *prediction;
 *     hl_prediction_new(&inference, &options, set, &prediction, error);   (takes the set)
 *     hl_prediction_result result;
 *     hl_prediction_run(prediction, 0, &result, error);
 *     hl_prediction_free(prediction);
 *
 * Parts of a volume, in this order: read (the file, zoom, normalisation), then for each batch of
 * windows gather (copied out of the volume), transfer (bound to the engine), forward (submit and
 * wait: on a GPU with the copies to it and back), stitch (weighted into the prediction); then
 * post-processing (division by the weights; the sigmoid of a segmentation; the smallest value to 0,
 * the largest to 255, in bytes) and write (a TIFF). The last batch of a volume, where it is not
 * full, is run as what it is, by a program of its own, whose compilation is counted apart.
 *
 * `inference` is prepared and outlives the object. Not thread-safe.
 */
#ifndef HL_WORKLOADS_PREDICTION_H
#define HL_WORKLOADS_PREDICTION_H

#include "imaging/volume-windows.h"
#include "workloads/inference.h"
#include "workloads/volume-set.h"

typedef struct hl_prediction_options {
  hl_windows_options windows; /* `roi` and `batch` are the network's */
  bool compare;               /* with the targets, where there are any */
  const char *folder;         /* for NAME_prediction.tif; NULL: nothing is written */
} hl_prediction_options;

typedef struct hl_prediction_times {
  uint64_t read_ns, gather_ns, transfer_ns, forward_ns, stitch_ns, post_ns, write_ns;
  uint64_t prepare_ns; /* of programs for partial batches */
} hl_prediction_times;

typedef struct hl_prediction_result {
  hl_volume_shape shape; /* after the zoom */
  int64_t windows, batches;
  hl_prediction_times all, first; /* `first`: gather to stitch of the first batch alone */
  uint64_t total_ns;
  bool compared;
  double dice;             /* of sigmoid > 0.5 with the mask; NaN for a label-free prediction */
  double correlation, mse; /* with the normalised target; NaN for a segmentation */
  char *file;              /* written; owned; or NULL */
} hl_prediction_result;

void hl_prediction_result_release(hl_prediction_result *result);

/* `wanted`, or the most windows of one of the volumes where these are less: a larger batch would
 * never be full. Volumes that cannot be opened count for nothing, reading them says why; where none
 * can, or the network takes no windows or one batch only, it is `wanted`. */
int64_t hl_prediction_batch(const hl_model_file *file, const hl_prediction_options *options,
                            const hl_volume_set *set, int64_t wanted);

typedef struct hl_prediction hl_prediction;

/* Owns `set` from now on, also on failure. INVALID_ARGUMENT where the network does not map a patch
 * to one of the same size, OUT_OF_MEMORY. */
hl_status hl_prediction_new(hl_inference *inference, const hl_prediction_options *options,
                            hl_volume_set *set, hl_prediction **ret_prediction, hl_error *error);
void hl_prediction_free(hl_prediction *prediction);
const hl_volume_set *hl_prediction_set(const hl_prediction *prediction);

/* Predicts volume number `index`. BAD_DATA where the network's output is not finite. */
hl_status hl_prediction_run(hl_prediction *prediction, int64_t index,
                            hl_prediction_result *ret_result, hl_error *error);

#endif
