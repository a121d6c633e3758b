/*
 * workloads/training-data.h - what a network is trained with: inputs and targets, batch by batch.
 *
 *     hl_training_data data;
 *     hl_training_data_open(&configuration, &file, loss, &data, error);
 *     hl_training_data_start(&data, epoch, number, error);     (threads load from here on)
 *     const hl_batch *batch;
 *     hl_loader_next(data.loader, &batch, error);
 *     hl_training_data_check(&data, batch, error);
 *     hl_loader_return(data.loader, batch);
 *     hl_training_data_release(&data);
 *
 * A batch holds the model's inputs in their order, then a target for each output. The data can be
 *   an npz file        targets come from an array with the output's name; of a network with one
 *                      output also from "target", "targets", "label", "labels", "mask" or "y"
 *   a folder of pictures    sub-folders are the classes (data/image-folder.h)
 *   volumes            patches of them (workloads/volume-set.h), prepared by --transform: masks for
 *                      dice-ce, else another image of the same place
 * Of --loss physics (workloads/training-physics.h) they are made elsewhere: patterns, and as
 * targets the same patterns' intensities. Without data inputs and targets are drawn: inputs as for
 * inference; classes, uniform; masks of zeros and ones; else standard normal numbers (of poisson
 * their absolute values). Such targets have nothing to do with their inputs: a network can only
 * learn them by heart.
 *
 * Epochs are shuffled. The last batch of one has what is left; with --drop-last, of a model with a
 * fixed batch and of several processes it is left out where it is not full, another rest each time.
 * Not thread-safe.
 */
#ifndef HL_WORKLOADS_TRAINING_DATA_H
#define HL_WORKLOADS_TRAINING_DATA_H

#include "data/image-folder.h"
#include "data/loader.h"
#include "workloads/model-file.h"
#include "workloads/shapes.h"

typedef struct hl_training_data {
  const hl_configuration *configuration;
  const char *name; /* the file, or "the synthetic data" */
  hl_loss loss;
  hl_dataset *dataset;     /* of an npz file, drawn, or made by somebody else; else NULL */
  bool dataset_is_lent;    /* that of somebody else */
  hl_image_folder *folder; /* of pictures, else NULL */
  bool is_volumes;         /* patches are cut by the loader */
  hl_source *source;
  hl_loader *loader; /* NULL before the start */
  size_t input_count, target_count;
  int64_t classes[HL_INPUTS_MAX]; /* of each target, with cross-entropy */
  int64_t rank, ranks;            /* the part of each joint batch; of one process 0 and 1 */
  int64_t batches;                /* in an epoch; joint ones */
  int64_t rest;                   /* samples of the last of them where it is not full, else 0 */
  int64_t left_out;               /* samples at the end of an epoch */
  char *description;
} hl_training_data;

/* Opens the data for a model file that is read whole: `made`, which then lives as long, or where
 * that is NULL what the configuration names; `rank` of `ranks` processes takes its part.
 * BAD_DATA, INVALID_ARGUMENT (a loss that does not fit the outputs, a batch larger than the data),
 * UNIMPLEMENTED ... with the remedy. */
hl_status hl_training_data_open(const hl_configuration *configuration, const hl_model_file *file,
                                hl_loss loss, hl_dataset *made, int64_t rank, int64_t ranks,
                                hl_training_data *ret_data, hl_error *error);
void hl_training_data_release(hl_training_data *data);

/* Starts the loader, whose first batch is that one. */
hl_status hl_training_data_start(hl_training_data *data, int64_t epoch, int64_t number,
                                 hl_error *error);

/* BAD_DATA names file, sample and value of a target that the loss cannot take: a label that is no
 * class, a mask beyond 0 to 1, a negative count, a number that is not finite. Opening has looked at
 * those that lie in memory. */
hl_status hl_training_data_check(const hl_training_data *data, const hl_batch *batch,
                                 hl_error *error);

#endif
