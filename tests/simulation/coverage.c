/*
 * simulate-coverage REPETITIONS LEAST MOST - how often the interval of the median, at the moment at
 * which the stopping rule ends a measurement, holds the true median, in percent of those that have
 * one.
 *
 * Exit status 1 where a share is outside LEAST..MOST, but for a series of which most measurements
 * end with the budget: their rows say so, and how wide the interval is.
 */
#include "method/stopping.h"
#include "numeric/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES_MOST = 1 << 17 };
static const double budget_ns = 21e9; /* what 30 s a row leave beside warming up */

/* A step takes `step_ns` times what `draw` gives; `state` is what one step leaves to the next. */
typedef struct kind {
  const char *name;
  double (*draw)(const struct kind *kind, hl_random *random, double *state);
  double spread, rho;
  double median; /* true, of the draws */
  double step_ns;
} kind;

static double autoregressive(const kind *k, hl_random *random, double *state) {
  *state = k->rho * *state + sqrt(1 - k->rho * k->rho) * hl_random_normal(random);
  return 1 + k->spread * *state;
}

static double lognormal(const kind *k, hl_random *random, double *state) {
  return exp(autoregressive(k, random, state) - 1);
}

/* Of two speeds, the second a share `rho` of the steps, each with a deviation of 2 %. */
static const double fast = 1, slow = 1.3, speed_spread = 0.02;

static double bimodal(const kind *k, hl_random *random, double *state) {
  (void)state;
  double speed = hl_random_uniform(random) < k->rho ? slow : fast;
  return speed * (1 + speed_spread * hl_random_normal(random));
}

static double bimodal_cdf(double x, double share) {
  double a = erfc((1 - x / fast) / speed_spread / sqrt(2)) / 2;
  double b = erfc((1 - x / slow) / speed_spread / sqrt(2)) / 2;
  return (1 - share) * a + share * b;
}

static double bimodal_median(double share) {
  double low = 0.5, high = 2;
  for (int i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    *(bimodal_cdf(middle, share) < 0.5 ? &low : &high) = middle;
  }
  return low;
}

typedef struct outcome {
  size_t covered, converged, unknown, repetitions;
  double samples, half_width;
} outcome;

static void measure(const kind *k, hl_random *random, uint64_t *all, outcome *out) {
  hl_stopping s;
  hl_stopping_init(&s, &(hl_stopping_options){.max_ns = (uint64_t)budget_ns,
                                              .step_ns = k->step_ns,
                                              .steps_per_sample = 1});
  size_t count = 0;
  double state = hl_random_normal(random);
  hl_slice_request request;
  while (hl_stopping_next(&s, &request)) {
    hl_slice slice = {.steps_per_sample = 1, .samples_ns = all + count};
    while (slice.steps < request.steps && (slice.steps == 0 || slice.elapsed_ns < request.max_ns) &&
           count < SAMPLES_MOST) {
      all[count] = (uint64_t)(k->step_ns * fmax(0.01, k->draw(k, random, &state)));
      slice.elapsed_ns += all[count++];
      slice.steps++;
    }
    if (hl_stopping_add(&s, &slice, all, count, NULL) != HL_OK) exit(2);
  }
  double truth = k->step_ns * k->median;
  bool covered = s.interval.low <= truth && truth <= s.interval.high;
  bool converged = s.reason == HL_STOP_CONVERGED;
  out->repetitions++;
  if (isnan(s.interval.low))
    out->unknown++;
  else
    out->half_width += s.interval.half_width;
  out->covered += covered;
  out->converged += converged;
  out->samples += (double)count;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  double least = strtod(argv[2], NULL), most = strtod(argv[3], NULL);
  const double ms = 1e6;
  const kind kinds[] = {
      {"normal, 2 %", autoregressive, 0.02, 0, 1, ms},
      {"normal, 10 %", autoregressive, 0.1, 0, 1, ms},
      {"AR(1), 0.3, 2 %", autoregressive, 0.02, 0.3, 1, ms},
      {"AR(1), 0.3, 10 %", autoregressive, 0.1, 0.3, 1, ms},
      {"AR(1), 0.6, 2 %", autoregressive, 0.02, 0.6, 1, ms},
      {"AR(1), 0.6, 10 %", autoregressive, 0.1, 0.6, 1, ms},
      {"AR(1), 0.9, 5 %", autoregressive, 0.05, 0.9, 1, ms},
      {"lognormal, 0.1", lognormal, 0.1, 0, 1, ms},
      {"lognormal, 0.5", lognormal, 0.5, 0, 1, ms},
      {"lognormal, 0.5, AR(1) 0.6", lognormal, 0.5, 0.6, 1, ms},
      {"two speeds, 30 % slow", bimodal, 0, 0.3, bimodal_median(0.3), ms},
      {"two speeds, 50 % slow", bimodal, 0, 0.5, bimodal_median(0.5), ms},
      {"42 steps, normal, 2 %", autoregressive, 0.02, 0, 1, 500 * ms},
      {"42 steps, AR(1) 0.3, 2 %", autoregressive, 0.02, 0.3, 1, 500 * ms},
      {"42 steps, AR(1) 0.6, 2 %", autoregressive, 0.02, 0.6, 1, 500 * ms},
      {"42 steps, lognormal, 0.5", lognormal, 0.5, 0, 1, 500 * ms},
  };
  uint64_t *all = malloc(SAMPLES_MOST * sizeof *all);
  if (!all) return 2;
  bool wrong = false;
  printf("%-28s %8s %9s %9s %12s %7s\n", "series", "samples", "+- %", "holds %", "converged %",
         "none %");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    hl_random random;
    hl_random_init(&random, 1, i);
    outcome o = {0};
    for (size_t r = 0; r < repetitions; r++) measure(&kinds[i], &random, all, &o);
    double n = (double)o.repetitions, known = n - (double)o.unknown;
    double share = 100 * (double)o.covered / known, converged = 100 * (double)o.converged / n;
    bool bad = (share < least || share > most) && converged > 50;
    wrong = wrong || bad;
    printf("%-28s %8.0f %9.2f %9.1f %12.1f %7.1f%s\n", kinds[i].name, o.samples / n,
           100 * o.half_width / known, share, converged, 100 * (double)o.unknown / n,
           bad ? "  outside" : "");
  }
  free(all);
  return wrong;
}
