/*
 * base/training-names.h - losses and optimisers (hotlap/engine.h) by their names. Pure.
 */
#ifndef HL_BASE_TRAINING_NAMES_H
#define HL_BASE_TRAINING_NAMES_H

#include <hotlap/engine.h>
#include <stdbool.h>

/* "cross-entropy", "mse", "mae" (or "l1"), "poisson", "dice-ce"; false if unknown. */
bool hl_loss_from_name(const char *name, hl_loss *ret_loss);
const char *hl_loss_name(hl_loss loss);

bool hl_optimizer_from_name(const char *name, hl_optimizer *ret_optimizer); /* "sgd", ... */
const char *hl_optimizer_name(hl_optimizer optimizer);

#endif
