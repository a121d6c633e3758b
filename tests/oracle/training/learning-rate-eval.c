/*
 * Prints the learning rate of each step, and where training stops early.
 *
 *     learning-rate-eval SCHEDULE RATE DECAY MIN PATIENCE WARMUP EARLY STEPS_AN_EPOCH LOSS...
 *
 * A LOSS is that of an epoch. Output: a line for each step; "stop" after an epoch that ends it.
 */
#include "workloads/learning-rate.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  if (count < 10) return 2;
  char **a = arguments;
  hl_train_spec spec = {.learning_rate = strtod(a[2], NULL),
                        .decay = strtod(a[3], NULL),
                        .min_learning_rate = strtod(a[4], NULL),
                        .patience = strtoll(a[5], NULL, 10),
                        .warmup_steps = strtoll(a[6], NULL, 10),
                        .early_stop = strtoll(a[7], NULL, 10)};
  int64_t steps = strtoll(a[8], NULL, 10), epochs = count - 9;
  if (!hl_schedule_from_name(a[1], &spec.schedule)) return 2;
  hl_learning learning;
  hl_learning_init(&learning, &spec, steps * epochs);
  for (int64_t epoch = 0; epoch < epochs; epoch++) {
    for (int64_t step = 1; step <= steps; step++)
      printf("%.17g\n", hl_learning_rate(&learning, epoch * steps + step, epoch));
    if (hl_learning_epoch_end(&learning, strtod(a[9 + epoch], NULL))) {
      puts("stop");
      break;
    }
  }
  return 0;
}
