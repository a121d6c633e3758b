#include "statistics/distribution.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* log(n!) - log(sqrt(2 pi n) (n/e)^n), for real n > 0: Stirling's series where it has converged. */
static double stirling_error(double n) {
  if (n < 15) {
    int sign;
    return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - 0.91893853320467274178;
  }
  double s = 1 / (n * n);
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - s / 1188) * s) * s) * s) / n;
}

/* x log(x/m) + m - x without cancellation near x = m. */
static double deviance(double x, double m) {
  if (fabs(x - m) >= 0.1 * (x + m)) return x * log(x / m) + m - x;
  double v = (x - m) / (x + m);
  double sum = (x - m) * v, term = 2 * x * v;
  for (int j = 1; j < 1000; j++) {
    term *= v * v;
    double next = sum + term / (2 * j + 1);
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

/* x^a (1-x)^b / B(a, b), 0 < x < 1. */
static double beta_power(double x, double a, double b) {
  double n = a + b;
  double exponent = stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) -
                    deviance(b, n * (1 - x));
  return exp(exponent) * sqrt(a * b / (2 * 3.14159265358979323846 * n));
}

static double away_from_zero(double value) {
  return fabs(value) < DBL_MIN * 16 ? DBL_MIN * 16 : value;
}

/* Converges in O(sqrt(max(a, b))) steps for x < (a + 1)/(a + b + 2). */
static double continued_fraction(double x, double a, double b) {
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < 1000000; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    double factor = d * c;
    h *= factor;
    if (fabs(factor - 1) < 4 * DBL_EPSILON) break;
  }
  return h;
}

double hl_beta_regularised(double x, double a, double b) {
  bool valid = a > 0 && b > 0 && x >= 0 && x <= 1 && isfinite(a) && isfinite(b);
  if (!valid) return (double)NAN;
  if (x == 0 || x == 1) return x;
  double power = beta_power(x, a, b);
  if (x < (a + 1) / (a + b + 2)) return power * continued_fraction(x, a, b) / a;
  return 1 - power * continued_fraction(1 - x, b, a) / b;
}

double hl_binomial_cdf(int64_t k, int64_t n, double p) {
  if (n < 0 || !(p >= 0 && p <= 1)) return (double)NAN;
  if (k < 0) return 0;
  if (k >= n) return 1;
  return hl_beta_regularised(1 - p, (double)(n - k), (double)k + 1);
}

static const double dof_least = 0.01, dof_normal = 1e12;

double hl_student_quantile(double p, double dof) {
  if (!(p > 0 && p < 1 && dof >= dof_least)) return (double)NAN;
  if (dof > dof_normal) return hl_normal_quantile(p);
  double low = 0, high = 1, tail = 2 * fmin(p, 1 - p);
  while (hl_beta_regularised(dof / (dof + high * high), dof / 2, 0.5) > tail && high < 1e100)
    high *= 2;
  for (int i = 0; i < 200 && low < high; i++) {
    double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    if (hl_beta_regularised(dof / (dof + middle * middle), dof / 2, 0.5) > tail)
      low = middle;
    else
      high = middle;
  }
  double t = low + (high - low) / 2;
  return p < 0.5 ? -t : t;
}

double hl_normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return (double)NAN;
  if (p > 0.5) return -hl_normal_quantile(1 - p);
  double low = -40, high = 0; /* P(Z <= -40) is below the least double */
  for (;;) {
    double middle = (low + high) / 2;
    if (middle == low || middle == high) return middle;
    if (erfc(-middle * 0.70710678118654752440) / 2 < p)
      low = middle;
    else
      high = middle;
  }
}
