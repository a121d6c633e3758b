/*
 * workloads/training-physics.h - training a ptychography network on diffraction alone.
 *
 *     hl_training_physics physics;
 *     hl_training_physics_open(&configuration, &network, &physics, error);
 *     ... physics.file is the network with the physics, physics.dataset inputs and targets ...
 *     hl_training_physics_release(&physics);
 *
 * Nobody knows the object: the network's answer is taken to the detector (models/physics.h) and
 * compared with the pattern that it was given, by the likelihood of its counts (--loss physics).
 * The scan is --test-data, which needs a probe, or a simulated one.
 *
 * Patterns are normalised as PtychoPINN does it, X^2 with a mean of (N/2)^2 of a pattern's sum, and
 * the probe is divided by probe_scale * mean(|mask * probe|), the mean over all N^2 pixels, the
 * mask a circle of radius N/4. PtychoPINN's loss is the Poisson likelihood of both times photons /
 * (N/2)^2, which is this one but for that factor and a constant. Not thread-safe.
 */
#ifndef HL_WORKLOADS_TRAINING_PHYSICS_H
#define HL_WORKLOADS_TRAINING_PHYSICS_H

#include "data/loader.h"
#include "workloads/model-file.h"

typedef struct hl_training_physics {
  hl_model_file file;  /* what an engine trains: its weights are the network's */
  hl_dataset *dataset; /* diffraction, positions where patterns are merged, intensity; or NULL */
  double *least;       /* of each sample: the loss that a perfect answer would have */
} hl_training_physics;

/* Whether `auto` is physics: a ptychography network, and a scan without the network's outputs. */
bool hl_training_physics_suit(const hl_configuration *configuration, const hl_model_file *network);

/* INVALID_ARGUMENT for another network, BAD_DATA for a scan without a probe, and as reading data.
 */
hl_status hl_training_physics_open(const hl_configuration *configuration,
                                   const hl_model_file *network, hl_training_physics *ret_physics,
                                   hl_error *error);
void hl_training_physics_release(hl_training_physics *physics);

/* What is added to an engine's loss of a batch, mean(x - t log(x + 1e-8)), so that it is 0 where
 * x = t: half the deviance of Poisson's distribution a pixel. 0 without physics. */
double hl_training_physics_rest(const hl_training_physics *physics, const hl_batch *batch);

#endif
