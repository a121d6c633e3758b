#include "base/training-names.h"

#include "base/error.h"
#include <string.h>

/* The first name of a loss is the one it is called by. */
static const struct {
  const char *name;
  hl_loss loss;
} losses[] = {{"cross-entropy", HL_LOSS_CROSS_ENTROPY},
              {"mse", HL_LOSS_MEAN_SQUARE},
              {"mae", HL_LOSS_MEAN_ABSOLUTE},
              {"l1", HL_LOSS_MEAN_ABSOLUTE},
              {"poisson", HL_LOSS_POISSON},
              {"dice-ce", HL_LOSS_DICE_CROSS_ENTROPY}};

static const char *const optimizers[] = {
    [HL_OPTIMIZER_SGD] = "sgd", [HL_OPTIMIZER_ADAM] = "adam", [HL_OPTIMIZER_ADAMW] = "adamw"};

bool hl_loss_from_name(const char *name, hl_loss *ret_loss) {
  for (size_t i = 0; i < HL_COUNT(losses); i++)
    if (strcmp(losses[i].name, name) == 0) return *ret_loss = losses[i].loss, true;
  return false;
}

const char *hl_loss_name(hl_loss loss) {
  for (size_t i = 0; i < HL_COUNT(losses); i++)
    if (losses[i].loss == loss) return losses[i].name;
  return "unknown";
}

bool hl_optimizer_from_name(const char *name, hl_optimizer *ret_optimizer) {
  for (size_t i = 0; i < HL_COUNT(optimizers); i++)
    if (strcmp(optimizers[i], name) == 0) return *ret_optimizer = (hl_optimizer)i, true;
  return false;
}

const char *hl_optimizer_name(hl_optimizer optimizer) {
  return (size_t)optimizer < HL_COUNT(optimizers) ? optimizers[optimizer] : "unknown";
}
