/* scan-eval WHAT NUMBERS...: src/imaging on whole scans, arrays from standard input and to standard
 * output as they are, after a line of numbers. scan_eval.py is its other half. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "imaging/merge.h"

enum { max_numbers = 16 };
static int64_t number[max_numbers];
static hl_error error;

static void *zeros(int64_t count, size_t size) {
  void *a = calloc((size_t)count + 1, size);
  if (!a) exit(3);
  return a;
}

static void *read_array(int64_t count, size_t size) {
  void *a = zeros(count, size);
  if (fread(a, size, (size_t)count, stdin) != (size_t)count) exit(3);
  return a;
}

static void write_array(void *a, int64_t count, size_t size) {
  if (fwrite(a, size, (size_t)count, stdout) != (size_t)count) exit(3);
  free(a);
}

/* Complex patches, or amplitude and then phase. */
typedef struct given {
  float complex *field;
  float *amplitude, *phase;
} given;

static given read_patches(int64_t count, bool polar) {
  given g = {0};
  if (polar) {
    g.amplitude = read_array(count, sizeof(float));
    g.phase = read_array(count, sizeof(float));
  } else {
    g.field = read_array(count, sizeof(float complex));
  }
  return g;
}

/* Those from `first` on, in memory of their own, so that a sanitizer sees a step beyond. */
static given part_of(given g, int64_t first, int64_t count) {
  given part = {0};
  if (g.field) {
    part.field = zeros(count, sizeof *part.field);
    memcpy(part.field, g.field + first, (size_t)count * sizeof *part.field);
  } else {
    part.amplitude = zeros(count, sizeof(float));
    part.phase = zeros(count, sizeof(float));
    memcpy(part.amplitude, g.amplitude + first, (size_t)count * sizeof(float));
    memcpy(part.phase, g.phase + first, (size_t)count * sizeof(float));
  }
  return part;
}

static void release(given g) {
  free(g.field);
  free(g.amplitude);
  free(g.phase);
}

/* count size crop polar batch threads passes */
static hl_status reassemble(void) {
  int64_t count = number[0], size = number[1], batch = number[4];
  int threads = (int)number[5];
  double *x = read_array(count, sizeof *x), *y = read_array(count, sizeof *y);
  hl_reassembly *r = NULL;
  hl_status status = hl_reassembly_new(x, y, count, size, number[2], &r, &error);
  free(x);
  free(y);
  if (status != HL_OK) return status;
  int64_t side = hl_reassembly_side(r), pixels = size * size;
  given all = read_patches(count * pixels, number[3] != 0);
  float complex *canvas = zeros(side * side, sizeof *canvas);
  float *weights = zeros(side * side, sizeof *weights);
  for (int64_t pass = 0; pass < number[6] && status == HL_OK; pass++) {
    for (int64_t i = 0; i < count && status == HL_OK; i += batch) {
      int64_t n = count - i < batch ? count - i : batch;
      given part = part_of(all, i * pixels, n * pixels);
      hl_patches patches = {part.amplitude, part.phase, part.field};
      status = hl_reassembly_add(r, i, n, patches, threads, &error);
      release(part);
    }
    if (status == HL_OK) status = hl_reassembly_finish(r, threads, canvas, weights, &error);
  }
  release(all);
  double left = 0, top = 0;
  hl_reassembly_origin(r, &left, &top);
  if (status == HL_OK) {
    printf("%" PRId64 " %.17g %.17g\n", side, left, top);
    write_array(canvas, side * side, sizeof *canvas);
    write_array(weights, side * side, sizeof *weights);
  }
  hl_reassembly_free(r);
  return status;
}

/* groups channels size polar threads */
static hl_status merge(void) {
  int64_t groups = number[0], channels = number[1], size = number[2];
  double *relative = read_array(groups * channels * 2, sizeof *relative);
  given all = read_patches(groups * channels * size * size, number[3] != 0);
  hl_patches patches = {all.amplitude, all.phase, all.field};
  float complex *merged = zeros(groups * size * size, sizeof *merged);
  hl_status status =
      hl_merge(groups, channels, size, patches, relative, (int)number[4], merged, &error);
  if (status == HL_OK) {
    printf("\n");
    write_array(merged, groups * size * size, sizeof *merged);
  }
  free(relative);
  release(all);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc - 2 > max_numbers) return 2;
  for (int i = 2; i < argc; i++) number[i - 2] = strtoll(argv[i], NULL, 10);
  hl_status status = strcmp(argv[1], "reassemble") == 0 ? reassemble()
                     : strcmp(argv[1], "merge") == 0    ? merge()
                                                        : HL_INVALID_ARGUMENT;
  if (status == HL_OK) return 0;
  fprintf(stderr, "%s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
