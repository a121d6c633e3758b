/*
 * statistics/distribution.h - incomplete beta function and binomial distribution.
 *
 *     double p = hl_binomial_cdf(9, 30, 0.5);   // 0.0214: P(B <= 9)
 *
 * Pure and thread-safe. Accurate to about 1e-12 relative also for parameters of millions: the
 * density is taken from Loader's saddle-point form (C. Loader, Fast and accurate computation of
 * binomial probabilities, 2000), because differences of lgamma lose digits there.
 */
#ifndef HL_STATISTICS_DISTRIBUTION_H
#define HL_STATISTICS_DISTRIBUTION_H

#include <stdint.h>

/* Regularised incomplete beta function I_x(a, b), a and b > 0, 0 <= x <= 1; NaN outside. Continued
 * fraction of DLMF 8.17.22, evaluated by Lentz's method. */
double hl_beta_regularised(double x, double a, double b);

/* P(B <= k) for n trials of probability p: I_{1-p}(n - k, k + 1), DLMF 8.17.5. 0 below k = 0, 1
 * from k = n; NaN if n < 0 or p is not a probability. */
double hl_binomial_cdf(int64_t k, int64_t n, double p);

/* The t with P(T <= t) = p for Student's distribution of `dof` >= 0.01 degrees of freedom, 0 < p
 * < 1; NaN outside. P(|T| > t) = I_{dof / (dof + t^2)}(dof / 2, 1 / 2), solved by bisection. */
double hl_student_quantile(double p, double dof);

/* The z with P(Z <= z) = p for the standard normal distribution, 0 < p < 1; NaN outside. P(Z > z) =
 * erfc(z / sqrt(2)) / 2, solved by bisection. */
double hl_normal_quantile(double p);

#endif
