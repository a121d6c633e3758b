/* A training specification from words "key=value": loss, optimizer, momentum, nesterov, beta1,
 * beta2, epsilon, weight_decay, clip_norm, accumulate, recompute, seed. */
#ifndef HL_TESTS_TRAINING_SPEC_H
#define HL_TESTS_TRAINING_SPEC_H

#include "graph/training.h"
#include <stdlib.h>
#include <string.h>

static inline bool training_spec_set(hl_training_spec *spec, const char *word) {
  const char *value = strchr(word, '=');
  if (!value) return false;
  value++;
  const struct {
    const char *key;
    double *to;
  } reals[] = {{"momentum=", &spec->momentum},
               {"beta1=", &spec->beta1},
               {"beta2=", &spec->beta2},
               {"epsilon=", &spec->epsilon},
               {"weight_decay=", &spec->weight_decay},
               {"clip_norm=", &spec->clip_norm}};
  for (size_t i = 0; i < HL_COUNT(reals); i++)
    if (strncmp(word, reals[i].key, strlen(reals[i].key)) == 0)
      return *reals[i].to = strtod(value, NULL), true;
  if (strncmp(word, "nesterov=", 9) == 0) return spec->nesterov = value[0] == '1', true;
  if (strncmp(word, "accumulate=", 11) == 0)
    return spec->accumulate = (uint32_t)strtoul(value, NULL, 10), true;
  if (strncmp(word, "recompute=", 10) == 0) return spec->recompute = value[0] == '1', true;
  if (strncmp(word, "seed=", 5) == 0) return spec->seed = strtoull(value, NULL, 10), true;
  if (strncmp(word, "loss=", 5) == 0) return hl_loss_from_name(value, &spec->loss);
  return strncmp(word, "optimizer=", 10) == 0 && hl_optimizer_from_name(value, &spec->optimizer);
}

#endif
