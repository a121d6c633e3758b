/* What tests/bench/transforms measures: turns of one kind each, timed one by one.
 *
 * bench-transforms IMAGE OBJECT RADIUS THREADS COUNT: the truth (IMAGE x IMAGE float32) from
 * standard input, then lines "WHAT OPTIONS SAMPLE", WHAT one of fft, new, step, loss and amplitude;
 * answers with nanoseconds, to `amplitude` with the picture seen instead. The cumulative mask holds
 * the SAMPLE apertures of a Fermat spiral before; that is made ready outside of the clock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pages.h"
#include "imaging/telescope.h"
#include "numeric/fft.h"

enum { kinds = 2 }; /* telescopes: by the definition, and with the options of a line */

typedef struct bench {
  hl_telescope_spec spec;
  size_t pixels;
  float *truth, *first, *old, *new, *gradient;
  hl_aperture *apertures;
  int64_t count;
  hl_telescope *telescopes[kinds];
  unsigned options[kinds];
  hl_fft *fft;
  float complex *field;
  hl_error error;
} bench;

static void ok(const bench *b, hl_status status) {
  if (status == HL_OK) return;
  fprintf(stderr, "bench-transforms: %s\n", b->error.msg);
  exit(1);
}

static void *make(size_t count, size_t size) {
  void *ret = hl_pages_new(count * size); /* as the workload's pictures */
  if (!ret) exit(1);
  return ret;
}

static void start(bench *b, char **word) {
  b->spec = (hl_telescope_spec){.image = strtoll(word[0], NULL, 10),
                                .object = strtoll(word[1], NULL, 10),
                                .radius = strtod(word[2], NULL),
                                .threads = atoi(word[3])};
  b->count = strtoll(word[4], NULL, 10);
  b->pixels = (size_t)(b->spec.image * b->spec.image);
  b->truth = make(b->pixels, sizeof *b->truth);
  b->first = make(b->pixels, sizeof *b->first);
  b->old = make(b->pixels, sizeof *b->old);
  b->new = make(b->pixels, sizeof *b->new);
  b->gradient = make(b->pixels, sizeof *b->gradient);
  b->field = make(b->pixels, sizeof *b->field);
  if (fread(b->truth, sizeof *b->truth, b->pixels, stdin) != b->pixels) exit(1);
  for (size_t i = 0; i < b->pixels; i++) b->first[i] = b->truth[i] * 0.9f;
  hl_aperture_spec pattern = {HL_PATTERN_FERMAT, b->count, b->spec.image, b->spec.radius, 0, 0};
  ok(b, hl_aperture_pattern(&pattern, &b->apertures, &b->error));
  ok(b, hl_fft_new((size_t)b->spec.image, (size_t)b->spec.image, &b->fft, &b->error));
}

/* Which telescope; its mask is that before `sample`. */
static hl_telescope *ready(bench *b, unsigned options, int64_t sample) {
  int i = options != 0;
  if (!b->telescopes[i] || b->options[i] != options) {
    hl_telescope_free(b->telescopes[i]);
    b->spec.options = b->options[i] = options;
    ok(b, hl_telescope_new(&b->spec, &b->telescopes[i], &b->error));
    hl_telescope_set_truth(b->telescopes[i], b->truth, 1);
    ok(b, hl_telescope_measure(b->telescopes[i], 0, b->apertures[0], b->first, b->old, b->new,
                               &b->error)); /* makes plans, and what is kept of the truth */
  }
  hl_telescope *t = b->telescopes[i];
  hl_telescope_restart(t);
  for (int64_t k = 0; k < sample; k++) ok(b, hl_telescope_add(t, b->apertures[k], &b->error));
  return t;
}

static uint64_t turn(bench *b, const char *what, unsigned options, int64_t sample) {
  hl_telescope_losses losses;
  hl_aperture aperture = b->apertures[sample];
  hl_telescope *t = ready(b, options, sample);
  if (strcmp(what, "loss") == 0)
    ok(b, hl_telescope_measure(t, sample, aperture, b->first, b->old, b->new, &b->error));
  for (size_t i = 0; i < b->pixels; i++) b->field[i] = b->truth[i];
  uint64_t begin = hl_clock_ns();
  if (strcmp(what, "fft") == 0)
    hl_fft2(b->fft, HL_FFT_ORTHONORMAL, b->field, 1);
  else if (strcmp(what, "new") == 0)
    ok(b, hl_telescope_measure_new(t, sample, aperture, b->new, &b->error));
  else if (strcmp(what, "loss") == 0)
    ok(b,
       hl_telescope_loss(t, aperture, b->truth, b->old, b->new, &losses, b->gradient, &b->error));
  else
    ok(b, hl_telescope_measure(t, sample, aperture, b->first, b->old, b->new, &b->error));
  return hl_clock_ns() - begin;
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  static bench b;
  start(&b, argv + 1);
  char what[16];
  unsigned options;
  int64_t sample;
  while (scanf("%15s %u %" SCNd64, what, &options, &sample) == 3) {
    if (sample < 0 || sample >= b.count) return 2;
    uint64_t ns = turn(&b, what, options, sample);
    if (strcmp(what, "amplitude") == 0) {
      fwrite(b.old, sizeof *b.old, b.pixels, stdout);
      fwrite(b.new, sizeof *b.new, b.pixels, stdout);
    } else {
      printf("%" PRIu64 "\n", ns);
    }
    fflush(stdout);
  }
  return 0;
}
