/*
 * statistics/step-fit.h - where did a series change its level: a piecewise constant fit.
 *
 *     hl_step_fit_result fit;
 *     hl_status status = hl_step_fit(log_medians, n, &fit, error);
 *     for (size_t k = 1; k < fit.count; k++)
 *       printf("%+.1f %% at %zu\n", 100 * expm1(fit.levels[k] - fit.levels[k - 1]), fit.starts[k]);
 *     hl_step_fit_release(&fit);
 *
 * For one logarithm of a time per run or commit, in order. The objective is that of asv
 * (airspeed velocity, asv/step_detect.py): of all fits by k levels it takes the one of least
 *
 *     beta k + ln(sigma_0 + |e_0| + sum |e_i - rho e_{i-1}|),    beta = 4 ln(n) / n,
 *
 * where e are the deviations from the levels, and rho within -1..1 makes the sum least, so that
 * noise that drifts is not taken for steps. For each k the fit is the one of least sum |e_i|, found
 * exactly by dynamic programming (the L1 Potts problem; F. Friedrich et al., Complexity Penalized
 * M-Estimation, 2008). sigma_0, below which a deviation is no evidence, is 0.001 (0.1 % of a time),
 * and for three levels or more at least a tenth of the smallest step.
 *
 * A level lasts at least HL_STEP_LEAST values, so that a single spike is no step; hence a change is
 * seen from its second value on.
 *
 * Pure and thread-safe.
 */
#ifndef HL_STATISTICS_STEP_FIT_H
#define HL_STATISTICS_STEP_FIT_H

#include "base/error.h"
#include <stddef.h>

enum { HL_STEP_LEAST = 2, HL_STEP_FIT_MOST = 2048 };

typedef struct hl_step_fit_result {
  size_t n, count;  /* values, levels; 0 levels for n = 0 */
  size_t *starts;   /* of each level, from 0, ascending; starts[0] = 0 */
  double *levels;   /* its median */
  double rho;       /* lag-1 autocorrelation of the deviations that the objective took */
  double objective; /* NaN for n = 0 */
} hl_step_fit_result;

/* INVALID_ARGUMENT for more than HL_STEP_FIT_MOST values or one that is not finite or beyond 1e150;
 * OUT_OF_MEMORY: it takes n^2 doubles. Seconds at worst for the most values. */
hl_status hl_step_fit(const double *log_values, size_t n, hl_step_fit_result *ret, hl_error *error);

void hl_step_fit_release(hl_step_fit_result *result);

#endif
