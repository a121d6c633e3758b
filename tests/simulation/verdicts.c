/*
 * simulate-verdicts REPETITIONS MOST - how often several processes of pairs are given a verdict of
 * faster or slower where there is no difference, and where B takes 3 % more time, in percent.
 *
 * Pairs have a deviation of 2 %, in one kind with every tenth five times as far off, and processes
 * differ by a share of the variance of pairs. Verdicts are those of method/family.h at 5 %. Exit
 * status 1 if identical sides get more than MOST percent in any row.
 */
#include "method/family.h"
#include "numeric/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 64 };
static const double deviation = 0.02, slow_down = 0.03;

typedef struct setting {
  size_t processes, pairs; /* of each process */
  bool heavy;
  double rho;   /* lag-1 autocorrelation of the pairs of a process */
  double ratio; /* variance between processes over that of pairs */
} setting;

static double pair_noise(const setting *s, hl_random *random) {
  double x = hl_random_normal(random);
  if (s->heavy) x *= (hl_random_uniform(random) < 0.1 ? 5 : 1) / sqrt(0.9 + 0.1 * 25);
  return x;
}

static void draw(const setting *s, hl_random *random, double shift, double *ratios,
                 size_t *processes) {
  size_t at = 0;
  for (size_t p = 0; p < s->processes; p++) {
    double own = shift + deviation * sqrt(s->ratio) * hl_random_normal(random);
    double state = pair_noise(s, random);
    for (size_t i = 0; i < s->pairs; i++, at++) {
      if (i) state = s->rho * state + sqrt(1 - s->rho * s->rho) * pair_noise(s, random);
      ratios[at] = own + deviation * state;
      processes[at] = p;
    }
  }
}

typedef struct counts {
  size_t faster, slower, equivalent;
  double width;
} counts;

static counts judge(const setting *s, hl_random *random, double shift, size_t repetitions) {
  double ratios[PAIRS_MOST];
  size_t processes[PAIRS_MOST];
  counts c = {0};
  for (size_t r = 0; r < repetitions; r++) {
    draw(s, random, shift, ratios, processes);
    const hl_family_member member = {ratios, processes, s->processes * s->pairs};
    hl_family_result result;
    if (hl_family_judge(&member, 1, 0.05, 0.01, &result, NULL) != HL_OK) exit(2);
    c.faster += strcmp(result.verdict, "faster") == 0;
    c.slower += strcmp(result.verdict, "slower") == 0;
    c.equivalent += strcmp(result.verdict, "equivalent") == 0;
    c.width += (result.high - result.low) / 2 / (double)repetitions;
  }
  return c;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  size_t repetitions = (size_t)strtoul(argv[1], NULL, 10);
  double most = strtod(argv[2], NULL), n = (double)repetitions;
  static const setting settings[] = {
      {5, 10, false, 0, 0},   {5, 10, false, 0, 0.1}, {5, 10, false, 0, 0.2},
      {5, 10, false, 0, 1},   {5, 10, false, 0, 3},   {5, 10, true, 0, 0},
      {5, 10, true, 0, 0.2},  {5, 10, true, 0, 1},    {5, 10, false, 0.5, 0},
      {5, 10, false, 0.5, 1}, {5, 4, false, 0, 0},    {5, 4, false, 0, 1},
      {2, 25, false, 0, 0.2}, {2, 25, false, 0, 1},   {10, 5, false, 0, 0.2},
      {10, 5, false, 0.5, 1},
  };
  printf("%-22s %-8s %5s %7s %8s %8s %8s %7s\n", "processes x pairs", "tails", "rho", "between",
         "false %", "equal %", "found %", "+- %");
  bool wrong = false;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const setting *s = &settings[i];
    hl_random random;
    hl_random_init(&random, 1, i);
    counts same = judge(s, &random, 0, repetitions);
    counts slower = judge(s, &random, -slow_down, repetitions);
    double falsely = 100 * (double)(same.faster + same.slower) / n;
    bool bad = falsely > most;
    wrong = wrong || bad;
    printf("%2zu x %-17zu %-8s %5.1f %7.1f %8.1f %8.1f %8.1f %7.2f%s\n", s->processes, s->pairs,
           s->heavy ? "heavy" : "normal", s->rho, s->ratio, falsely,
           100 * (double)same.equivalent / n, 100 * (double)slower.slower / n, 100 * same.width,
           bad ? "  too many" : "");
  }
  return wrong;
}
