/* pruned-eval N OBJECT THREADS FLIP TOP LEFT BAND: reads the object, the mask (bytes), an N x N
 * target and a band's gradient on stdin; writes the amplitude, the band, the sums (3 doubles) and
 * the gradient of half the difference plus a quarter of the band's on stdout. */
#include "numeric/pruned-fft.h"

#include <stdio.h>
#include <stdlib.h>

static int evaluate(size_t n, size_t m, int threads, unsigned flags, ptrdiff_t top, ptrdiff_t left,
                    size_t b) {
  hl_team *team = hl_team_new(threads);
  hl_pruned_fft *fft = NULL;
  hl_residual_sums sums;
  float *object = malloc(m * m * sizeof *object), *gradient = malloc(m * m * sizeof *gradient);
  float *target = malloc(n * n * sizeof *target), *amplitude = malloc(n * n * sizeof *amplitude);
  float complex *band = malloc(b * b * sizeof *band), *slope = malloc(b * b * sizeof *slope);
  unsigned char *mask = malloc(n * n);
  int failed = !team || !object || !gradient || !target || !amplitude || !band || !slope || !mask ||
               hl_pruned_fft_new(n, m, team, &fft, NULL) ||
               fread(object, sizeof *object, m * m, stdin) != m * m ||
               fread(mask, 1, n * n, stdin) != n * n ||
               fread(target, sizeof *target, n * n, stdin) != n * n ||
               fread(slope, sizeof *slope, b * b, stdin) != b * b;
  if (!failed) {
    hl_pruned_fft_object(fft, object, m);
    hl_pruned_fft_amplitude(fft, mask, flags, amplitude);
    hl_pruned_fft_cut(fft, top, left, b, band);
    hl_pruned_fft_residual(fft, mask, flags, target, &sums);
    hl_pruned_fft_add(fft, top, left, b, slope, 0.5f);
    hl_pruned_fft_gradient(fft, 0.5f, gradient, m);
    fwrite(amplitude, sizeof *amplitude, n * n, stdout);
    fwrite(band, sizeof *band, b * b, stdout);
    fwrite(&sums, sizeof sums, 1, stdout);
    fwrite(gradient, sizeof *gradient, m * m, stdout);
  }
  hl_pruned_fft_free(fft);
  hl_team_free(team);
  free(object), free(gradient), free(target), free(amplitude), free(band), free(slope), free(mask);
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 8) return 2;
  return evaluate((size_t)atoi(argv[1]), (size_t)atoi(argv[2]), atoi(argv[3]),
                  atoi(argv[4]) ? HL_PRUNED_FLIP : 0, atoi(argv[5]), atoi(argv[6]),
                  (size_t)atoi(argv[7]));
}
