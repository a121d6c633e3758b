/*
 * run.h - one random network on the native engine and by the reference functions.
 *
 *     setting s = {.isa = "avx2", .dtype = HL_FLOAT32, .threads = 2};
 *     outcome o = run_network(&m, &s);      // or run_training
 *
 * The engine is linked in, not opened: gradients are nodes that no file may hold.
 */
#ifndef HL_TESTS_KERNELS_RUN_H
#define HL_TESTS_KERNELS_RUN_H

#include "maker.h"

enum { RUN_OPTIONS = 4 };

typedef struct setting {
  hl_dtype dtype;
  int threads;
  hl_option options[RUN_OPTIONS];
  size_t option_count;
} setting;

typedef struct outcome {
  hl_status status; /* UNIMPLEMENTED and UNAVAILABLE: nothing was compared */
  double error;     /* the largest of all results: max|a-b| / max|b|; infinite for a NaN */
  double spread;    /* the same by root mean squares */
  char text[640];   /* of a failure, or the worst result's name */
} outcome;

/* Where the counts of steps by kind go; NULL: nowhere. `kind` lives as long as the program runs. */
typedef void (*run_counter)(const char *kind);
extern run_counter run_count;

/* Results and, with `gradients`, the derivatives of sum(random * result) by every input. Takes the
 * maker's graph. Results that differ between two steps on the same inputs are a failure. */
outcome run_network(maker *m, hl_value_id result, bool gradients, const setting *with);

/* One step of training by SGD from constants as weights: the change of each state. */
outcome run_training(maker *m, hl_value_id result, const setting *with);

#endif
