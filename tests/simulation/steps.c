/*
 * simulate-steps REPETITIONS - in how many histories statistics/step-fit.h finds steps where there
 * are none, and in how many it finds the one of 5 % that is there, where it is.
 *
 * Histories of 20 to 200 values with noise of 2 %, independent or autocorrelated. Exit status 1 if
 * a history of independent noise has a step, or if more than a tenth of the steps are missed.
 */
#include "numeric/random.h"
#include "statistics/step-fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 200 };
static const double deviation = 0.02, step = 0.05;

static void draw(hl_random *random, double rho, double *values, size_t n, size_t start) {
  double state = hl_random_normal(random);
  for (size_t i = 0; i < n; i++) {
    if (i) state = rho * state + sqrt(1 - rho * rho) * hl_random_normal(random);
    values[i] = log(12) + deviation * state + (i >= start ? log1p(step) : 0);
  }
}

/* Levels found, and whether the second begins within two values of `start`. */
static size_t levels(const double *values, size_t n, size_t start, bool *ret_there) {
  hl_step_fit_result fit;
  if (hl_step_fit(values, n, &fit, NULL) != HL_OK) exit(2);
  size_t count = fit.count;
  *ret_there = count == 2 && fit.starts[1] + 2 >= start && fit.starts[1] <= start + 2;
  hl_step_fit_release(&fit);
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  static const struct {
    size_t n;
    double rho;
  } settings[] = {{20, 0}, {50, 0}, {100, 0}, {200, 0}, {50, 0.5}, {100, 0.5}};
  printf("%8s %5s %10s %10s\n", "values", "rho", "false", "found");
  bool wrong = false;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    size_t n = settings[i].n, falsely = 0, found = 0;
    hl_random random;
    hl_random_init(&random, 1, i);
    for (size_t r = 0; r < repetitions; r++) {
      double values[MOST];
      bool there;
      draw(&random, settings[i].rho, values, n, n);
      falsely += levels(values, n, n, &there) > 1;
      draw(&random, settings[i].rho, values, n, n / 2);
      levels(values, n, n / 2, &there);
      found += there;
    }
    printf("%8zu %5.1f %4zu of %3zu %4zu of %3zu\n", n, settings[i].rho, falsely, repetitions,
           found, repetitions);
    bool missed = n >= 100 && 100 * found < 85 * repetitions;
    if (settings[i].rho == 0) wrong = wrong || falsely > 0 || missed;
  }
  return wrong;
}
