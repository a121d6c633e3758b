/* band-eval N BAND THREADS FLIP: reads a band and an N x N target on stdin; writes the amplitude,
 * the loss (double) and the gradient on stdout. */
#include "numeric/band-dft.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  size_t n = (size_t)atoi(argv[1]), b = (size_t)atoi(argv[2]);
  unsigned flags = atoi(argv[4]) ? HL_BAND_FLIP : 0;
  float complex *band = malloc(b * b * sizeof *band), *gradient = malloc(b * b * sizeof *gradient);
  float *target = malloc(n * n * sizeof *target), *amplitude = malloc(n * n * sizeof *amplitude);
  hl_band_dft *dft = NULL;
  hl_residual_sums sums;
  hl_team *team = hl_team_new(atoi(argv[3]));
  int failed = !band || !gradient || !target || !amplitude ||
               hl_band_dft_new(n, b, team, &dft, NULL) ||
               fread(band, sizeof *band, b * b, stdin) != b * b ||
               fread(target, sizeof *target, n * n, stdin) != n * n;
  if (!failed) {
    hl_band_dft_amplitude(dft, band, flags, amplitude);
    hl_band_dft_residual(dft, band, flags, target, &sums, gradient);
    fwrite(amplitude, sizeof *amplitude, n * n, stdout);
    fwrite(&sums, sizeof sums, 1, stdout);
    fwrite(gradient, sizeof *gradient, b * b, stdout);
  }
  hl_band_dft_free(dft);
  hl_team_free(team);
  free(band), free(gradient), free(target), free(amplitude);
  return failed;
}
