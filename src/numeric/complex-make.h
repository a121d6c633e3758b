/*
 * numeric/complex-make.h - a complex number of its two parts.
 *
 *     float complex z = hl_complexf(re, NAN);
 *
 * re + I * im makes NaN of infinite parts, and CMPLXF is not there for each compiler. Pure.
 */
#ifndef HL_NUMERIC_COMPLEX_MAKE_H
#define HL_NUMERIC_COMPLEX_MAKE_H

#include <complex.h>

static inline float complex hl_complexf(float re, float im) {
  return __builtin_complex(re, im);
}

#endif
