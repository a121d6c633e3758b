/*
 * statistics-eval - src/statistics as a filter, for comparison with SciPy.
 *
 * Each line of standard input is a function and numbers, each line of output its results:
 *
 *     beta 0.3 2 5
 *     percentile linear 90 1 2 3 4
 */
#include "statistics/adjust.h"
#include "statistics/bootstrap.h"
#include "statistics/descriptive.h"
#include "statistics/distribution.h"
#include "statistics/early-stopping.h"
#include "statistics/line.h"
#include "statistics/paired.h"
#include "statistics/percentile.h"
#include "statistics/series.h"
#include "statistics/step-fit.h"
#include "statistics/unpaired.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static double v[MOST], scratch[MOST], result[MOST];

static size_t read_numbers(char *text, double *ret_values) {
  size_t n = 0;
  for (char *word = strtok(text, " \n"); word && n < MOST; word = strtok(NULL, " \n"))
    ret_values[n++] = strtod(word, NULL);
  return n;
}

static size_t fit(const hl_line *line) {
  result[0] = line->a0;
  result[1] = line->a1;
  result[2] = line->r_squared;
  return 3;
}

static size_t distribution(const char *name) {
  hl_order_ranks ranks;
  if (strcmp(name, "beta") == 0)
    result[0] = hl_beta_regularised(v[0], v[1], v[2]);
  else if (strcmp(name, "cdf") == 0)
    result[0] = hl_binomial_cdf((int64_t)v[0], (int64_t)v[1], v[2]);
  else if (strcmp(name, "student") == 0)
    result[0] = hl_student_quantile(v[0], v[1]);
  else if (strcmp(name, "normal") == 0)
    result[0] = hl_normal_quantile(v[0]);
  else if (strcmp(name, "passing") == 0)
    result[0] = (double)hl_early_stopping_passing(v[0], v[1], v[2], (size_t)v[3]);
  else if (strcmp(name, "allowed") == 0)
    result[0] = (double)hl_early_stopping_allowed(v[0], v[1], v[2], (size_t)v[3]);
  else if (strcmp(name, "effective") == 0)
    result[0] = (double)hl_effective_count((size_t)v[0], v[1]);
  else if (strcmp(name, "least") == 0)
    result[0] = (double)hl_percentile_least_n(v[0]);
  else if (strcmp(name, "cut") == 0)
    result[0] = (double)hl_signed_rank_cut_at((size_t)v[0], v[1]);
  else if (strcmp(name, "detectable") == 0)
    result[0] = hl_paired_detectable_at(v[0], (size_t)v[1], v[2]);
  else if (strcmp(name, "mannwhitney") == 0)
    result[0] = hl_mann_whitney_cdf((int64_t)v[0], (size_t)v[1], (size_t)v[2]);
  else if (strcmp(name, "ranks") == 0) {
    if (!hl_percentile_ranks((size_t)v[0], v[1], &ranks)) return 0;
    result[0] = (double)ranks.low;
    result[1] = (double)ranks.high;
    return 2;
  } else
    return 0;
  return 1;
}

static size_t series(const char *name, size_t n) {
  if (strcmp(name, "describe") == 0) {
    hl_description d = hl_describe(v, n);
    result[0] = d.mean;
    result[1] = d.std;
    result[2] = d.min;
    result[3] = d.max;
    return 4;
  }
  if (strcmp(name, "autocorrelation") == 0)
    result[0] = hl_autocorrelation(v, n);
  else if (strcmp(name, "slope") == 0)
    result[0] = hl_slope(v, n);
  else if (strcmp(name, "mser5") == 0)
    result[0] = (double)hl_mser5(v, n);
  else if (strcmp(name, "medians") == 0) {
    hl_batch_medians(v + 1, n - 1, (size_t)v[0], result, scratch);
    return (size_t)v[0];
  } else
    return 0;
  return 1;
}

/* Numbers are a percentile and an autocorrelation, then the values. */
static size_t interval(const char *name, size_t n) {
  if (strcmp(name, "interval") != 0) return 0;
  hl_sort(v + 2, n - 2);
  return hl_percentile_interval(v + 2, n - 2, v[0], v[1], &result[0], &result[1]) ? 2 : 0;
}

static size_t paired(const char *name, size_t n) {
  hl_paired p;
  if (strcmp(name, "signedrank") == 0) {
    result[0] = hl_signed_rank_cdf((int64_t)v[0], (size_t)v[1]);
    return 1;
  }
  if (strcmp(name, "paired") != 0 || hl_paired_estimate(v, n, &p, NULL) != HL_OK) return 0;
  result[0] = p.estimate;
  result[1] = p.low;
  result[2] = p.high;
  result[3] = p.deviation;
  return 4;
}

/* Numbers are n_a, a level, then a, then b. */
static size_t unpaired(const char *name, size_t n) {
  hl_unpaired u;
  size_t n_a = (size_t)v[0], n_b = n - 2 - n_a;
  if (strcmp(name, "unpaired") != 0 ||
      hl_unpaired_estimate_at(v + 2, n_a, v + 2 + n_a, n_b, v[1], &u, NULL) != HL_OK)
    return 0;
  const double out[] = {u.estimate, u.low, u.high, u.p, u.cliffs_delta, u.detectable};
  memcpy(result, out, sizeof out);
  return 6;
}

/* Numbers are n_a, a percentile, resamples and a block, then a, then b. */
static size_t bootstrap(const char *name, size_t n) {
  hl_bootstrap_ratio r;
  size_t n_a = (size_t)v[0], n_b = n - 4 - n_a;
  if (strcmp(name, "bootstrap") != 0) return 0;
  hl_bootstrap_options options = {
      .percent = v[1], .resamples = (size_t)v[2], .block = (size_t)v[3], .seed = 1};
  if (hl_bootstrap_percentile_ratio(v + 4, n_a, v + 4 + n_a, n_b, &options, &r, NULL) != HL_OK)
    return 0;
  result[0] = r.ratio;
  result[1] = r.low;
  result[2] = r.high;
  return 3;
}

/* The objective, rho, then where levels begin, then the levels. */
static size_t steps(const char *name, size_t n) {
  hl_step_fit_result fit;
  if (strcmp(name, "steps") != 0 || hl_step_fit(v, n, &fit, NULL) != HL_OK) return 0;
  result[0] = fit.objective;
  result[1] = fit.rho;
  for (size_t i = 0; i < fit.count; i++) {
    result[2 + i] = (double)fit.starts[i];
    result[2 + fit.count + i] = fit.levels[i];
  }
  size_t count = 2 + 2 * fit.count;
  hl_step_fit_release(&fit);
  return count;
}

static size_t adjust(const char *name, size_t n) {
  if (strcmp(name, "benjaminihochberg") != 0) return 0;
  return hl_adjust_benjamini_hochberg(v, n, result, NULL) == HL_OK ? n : 0;
}

/* Numbers are x of all points, then y, then weights. */
static size_t lines(const char *name, size_t n) {
  hl_line line;
  hl_two_lines two;
  size_t third = n / 3;
  if (strcmp(name, "line") == 0)
    return hl_line_fit(v, v + third, v + 2 * third, third, &line) ? fit(&line) : 0;
  if (strcmp(name, "two") != 0) return 0;
  if (!hl_line_fit_two(v, v + third, v + 2 * third, third, 1e-8, &two)) return 0;
  result[0] = (double)two.low_count;
  result[1] = two.bic_gain;
  return 2;
}

static bool rule_of(const char *name, hl_percentile_rule *ret_rule) {
  static const char *const names[] = {[HL_PERCENTILE_LINEAR] = "linear",
                                      [HL_PERCENTILE_LOADGEN] = "loadgen",
                                      [HL_PERCENTILE_NEAREST] = "nearest"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], name) == 0) {
      *ret_rule = (hl_percentile_rule)i;
      return true;
    }
  return false;
}

static size_t evaluate(char *line) {
  char *rest = strchr(line, ' ');
  if (!rest) return 0;
  *rest++ = '\0';
  if (strcmp(line, "percentile") == 0) {
    hl_percentile_rule rule;
    char *numbers = strchr(rest, ' ');
    if (!numbers) return 0;
    *numbers++ = '\0';
    size_t n = read_numbers(numbers, v);
    if (n < 2 || !rule_of(rest, &rule)) return 0;
    hl_sort(v + 1, n - 1);
    result[0] = hl_percentile(v + 1, n - 1, v[0], rule);
    return 1;
  }
  size_t n = read_numbers(rest, v), count = distribution(line);
  if (!count) count = series(line, n);
  if (!count) count = interval(line, n);
  if (!count) count = paired(line, n);
  if (!count) count = unpaired(line, n);
  if (!count) count = bootstrap(line, n);
  if (!count) count = steps(line, n);
  if (!count) count = adjust(line, n);
  return count ? count : lines(line, n);
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    size_t count = evaluate(line);
    for (size_t i = 0; i < count; i++) printf("%s%.17g", i ? " " : "", result[i]);
    putchar('\n');
  }
  free(line);
  return 0;
}
