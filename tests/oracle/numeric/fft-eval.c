/* fft-eval BATCH H W WHAT: complex64 from standard input, transformed, to standard output. WHAT is
 * the sum of hl_fft_flags, or `shift` or `unshift`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/fft.h"

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  size_t batch = strtoull(argv[1], NULL, 10), h = strtoull(argv[2], NULL, 10);
  size_t w = strtoull(argv[3], NULL, 10), count = batch * h * w;
  float complex *data = calloc(count ? count : 1, sizeof *data);
  hl_fft *fft = NULL;
  if (!data || hl_fft_new(h, w, &fft, NULL) || fread(data, sizeof *data, count, stdin) != count) {
    hl_fft_free(fft);
    free(data);
    return 1;
  }
  if (strcmp(argv[4], "shift") == 0)
    hl_fft_shift(data, batch, h, w);
  else if (strcmp(argv[4], "unshift") == 0)
    hl_fft_unshift(data, batch, h, w);
  else
    hl_fft2(fft, (unsigned)strtoul(argv[4], NULL, 10), data, batch);
  int failed = fwrite(data, sizeof *data, count, stdout) != count;
  hl_fft_free(fft);
  free(data);
  return failed;
}
