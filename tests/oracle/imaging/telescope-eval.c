/* telescope-eval pattern NAME COUNT IMAGE RADIUS REACH SEED: apertures as lines of row and column.
 * telescope-eval see IMAGE OBJECT RADIUS OPTIONS THREADS CACHE_BYTES SNR COUNT ROUNDS: from
 * standard input the truth, a reconstruction and an image (float32), then COUNT apertures (float64
 * row and column), visited ROUNDS times. For each: what is seen of both, both losses (float64) and
 * the gradient; at the end the mask (bytes) and a line of counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "imaging/telescope.h"

static hl_error error;

static void ok(hl_status status) {
  if (status == HL_OK) return;
  fprintf(stderr, "%s\n", error.msg);
  exit(2);
}

static void *read_array(size_t count, size_t size) {
  void *a = calloc(count + 1, size);
  if (!a || fread(a, size, count, stdin) != count) exit(3);
  return a;
}

static void write_array(const void *a, size_t count, size_t size) {
  if (fwrite(a, size, count, stdout) != count) exit(3);
}

static int pattern(char **word) {
  hl_aperture_spec spec = {.count = strtoll(word[1], NULL, 10),
                           .image = strtoll(word[2], NULL, 10),
                           .radius = strtod(word[3], NULL),
                           .reach = strtod(word[4], NULL),
                           .seed = strtoull(word[5], NULL, 10)};
  hl_aperture *apertures;
  if (!hl_pattern_parse(word[0], &spec.pattern)) return 2;
  ok(hl_aperture_pattern(&spec, &apertures, &error));
  for (int64_t i = 0; i < spec.count; i++)
    printf("%.17g %.17g\n", apertures[i].row, apertures[i].column);
  free(apertures);
  return 0;
}

static int see(char **word) {
  hl_telescope_spec spec = {.image = strtoll(word[0], NULL, 10),
                            .object = strtoll(word[1], NULL, 10),
                            .radius = strtod(word[2], NULL),
                            .options = (unsigned)strtoul(word[3], NULL, 10),
                            .threads = atoi(word[4]),
                            .cache_bytes = strtoull(word[5], NULL, 10),
                            .snr = strtod(word[6], NULL),
                            .seed = 7};
  hl_telescope *t;
  ok(hl_telescope_new(&spec, &t, &error));
  size_t pixels = (size_t)(spec.image * spec.image), count = strtoull(word[7], NULL, 10);
  size_t rounds = strtoull(word[8], NULL, 10);
  float *truth = read_array(pixels, 4), *first = read_array(pixels, 4);
  float *image = read_array(pixels, 4), *old = calloc(pixels, 4), *new = calloc(pixels, 4);
  float *gradient = calloc(pixels, 4);
  hl_aperture *apertures = read_array(count, sizeof *apertures);
  if (!old || !new || !gradient) return 3;
  hl_telescope_set_truth(t, truth, 1);
  for (size_t i = 0; i < rounds * count; i++) {
    hl_aperture a = apertures[i % count];
    hl_telescope_losses losses;
    ok(hl_telescope_measure(t, (int64_t)i, a, first, old, new, &error));
    ok(hl_telescope_loss(t, a, image, old, new, &losses, gradient, &error));
    ok(hl_telescope_add(t, a, &error));
    write_array(old, pixels, 4);
    write_array(new, pixels, 4);
    write_array(&losses, 2, sizeof(double));
    write_array(gradient, pixels, 4);
  }
  write_array(hl_telescope_mask(t), pixels, 1);
  hl_telescope_counts c;
  hl_telescope_count(t, &c);
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
         " %" PRIu64 "\n",
         c.measurements.hits, c.measurements.misses, c.measurements.evictions,
         c.measurements.entries, c.measurements.bytes, c.plan_hits, c.plan_misses, c.open_pixels);
  hl_telescope_free(t);
  free(truth);
  free(first);
  free(image);
  free(old);
  free(new);
  free(gradient);
  free(apertures);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 8 && strcmp(argv[1], "pattern") == 0) return pattern(argv + 2);
  if (argc == 11 && strcmp(argv[1], "see") == 0) return see(argv + 2);
  return 2;
}
