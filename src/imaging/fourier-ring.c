#include "imaging/fourier-ring.h"

#include "numeric/fft.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t hl_fourier_rings(int64_t height, int64_t width) {
  return smaller(height, width) / 2 + 1;
}

/* Periodic, so that it is one cosine of the transform. */
static double hann(int64_t i, int64_t n) {
  return 0.5 - 0.5 * cos(2 * pi * (double)i / (double)n);
}

static void transform(hl_fft *fft, const float complex *from, int64_t h, int64_t w,
                      float complex *to) {
  double complex mean = 0;
  for (int64_t i = 0; i < h * w; i++) mean += (double complex)from[i];
  mean /= (double)(h * w);
  for (int64_t r = 0; r < h; r++)
    for (int64_t c = 0; c < w; c++)
      to[r * w + c] =
          (float complex)(((double complex)from[r * w + c] - mean) * hann(r, h) * hann(c, w));
  hl_fft2(fft, HL_FFT_FORWARD | HL_FFT_ORTHONORMAL, to, 1);
}

/* Cycles a pixel along one side. */
static double frequency(int64_t i, int64_t n) {
  return (double)(i <= (n - 1) / 2 ? i : i - n) / (double)n;
}

/* sums[ring] are Re A conj B, |A|^2, |B|^2 and how many. */
static void add_up(const float complex *a, const float complex *b, int64_t h, int64_t w,
                   double (*sums)[4]) {
  double side = (double)smaller(h, w);
  int64_t rings = hl_fourier_rings(h, w);
  for (int64_t r = 0; r < h; r++)
    for (int64_t c = 0; c < w; c++) {
      int64_t ring = llround(side * hypot(frequency(r, h), frequency(c, w)));
      if (ring >= rings) continue;
      double complex x = (double complex)a[r * w + c], y = (double complex)b[r * w + c];
      sums[ring][0] += creal(x * conj(y));
      sums[ring][1] += creal(x * conj(x));
      sums[ring][2] += creal(y * conj(y));
      sums[ring][3] += 1;
    }
}

hl_status hl_fourier_ring_correlation(const float complex *a, const float complex *b,
                                      int64_t height, int64_t width, double *ret_curve,
                                      double *ret_half_bit, hl_error *error) {
  if (height < 2 || width < 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "Fourier rings of %" PRId64 " x %" PRId64 " pixels: give 2 x 2 or more",
                        height, width);
  int64_t rings = hl_fourier_rings(height, width);
  size_t pixels = (size_t)height * (size_t)width;
  float complex *spectra = calloc(2 * pixels, sizeof *spectra);
  double(*sums)[4] = calloc((size_t)rings, sizeof *sums);
  hl_fft *fft = NULL;
  hl_status status = spectra && sums
                         ? hl_fft_new((size_t)height, (size_t)width, &fft, error)
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for Fourier rings");
  if (status == HL_OK) {
    transform(fft, a, height, width, spectra);
    transform(fft, b, height, width, spectra + pixels);
    add_up(spectra, spectra + pixels, height, width, sums);
    for (int64_t k = 0; k < rings; k++) {
      double root = sqrt(sums[k][3]);
      ret_curve[k] = sums[k][0] / sqrt(sums[k][1] * sums[k][2]);
      if (ret_half_bit) ret_half_bit[k] = (0.2071 * root + 1.9102) / (1.2071 * root + 0.9102);
    }
  }
  hl_fft_free(fft);
  free(spectra);
  free(sums);
  return status;
}

double hl_fourier_ring_crossing(const double *curve, const double *threshold, double level,
                                int64_t rings, int64_t height, int64_t width) {
  double side = (double)smaller(height, width), above = 0;
  for (int64_t k = 1; k < rings; k++) {
    double margin = curve[k] - (threshold ? threshold[k] : level);
    if (!(margin >= 0)) {
      if (k == 1) return 0;
      double part = isnan(margin) ? 0 : above / (above - margin);
      return ((double)(k - 1) + part) / side;
    }
    above = margin;
  }
  return 0.5;
}
