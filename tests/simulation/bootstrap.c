/*
 * simulate-bootstrap REPETITIONS LEAST MOST - how often the bootstrapped interval of the ratio of a
 * percentile of two equal lognormal series holds 1, in percent of those that have one.
 *
 * Exit status 1 where a share for independent values is outside LEAST..MOST.
 */
#include "statistics/bootstrap.h"
#include "numeric/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1500 };
static const double spread = 0.2;

static void draw(hl_random *random, double rho, double *values, size_t n) {
  double state = hl_random_normal(random);
  for (size_t i = 0; i < n; i++) {
    state = rho * state + sqrt(1 - rho * rho) * hl_random_normal(random);
    values[i] = exp(spread * state);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  double least = strtod(argv[2], NULL), most = strtod(argv[3], NULL);
  static const struct {
    size_t n;
    double rho, percent;
  } settings[] = {{100, 0, 95},  {400, 0, 95},   {1500, 0, 95},
                  {1500, 0, 99}, {400, 0.6, 95}, {1500, 0.6, 95}};
  printf("%8s %5s %10s %9s %7s %7s\n", "values", "rho", "percentile", "holds %", "+- %", "none %");
  bool wrong = false;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    static double a[MOST], b[MOST];
    hl_random random;
    hl_random_init(&random, 1, i);
    size_t n = settings[i].n, held = 0, known = 0;
    double width = 0;
    for (size_t r = 0; r < repetitions; r++) {
      draw(&random, settings[i].rho, a, n);
      draw(&random, settings[i].rho, b, n);
      const hl_bootstrap_options options = {.percent = settings[i].percent, .seed = r};
      hl_bootstrap_ratio ratio;
      if (hl_bootstrap_percentile_ratio(a, n, b, n, &options, &ratio, NULL) != HL_OK) return 2;
      if (isnan(ratio.low)) continue;
      known++;
      held += ratio.low <= 1 && 1 <= ratio.high;
      width += 50 * (ratio.high - ratio.low);
    }
    double share = 100 * (double)held / (double)known;
    bool bad = settings[i].rho == 0 && (share < least || share > most);
    wrong = wrong || bad;
    printf("%8zu %5.1f %10.0f %9.1f %7.1f %7.1f%s\n", n, settings[i].rho, settings[i].percent,
           share, width / (double)known, 100 - 100 * (double)known / (double)repetitions,
           bad ? "  outside" : "");
  }
  return wrong;
}
