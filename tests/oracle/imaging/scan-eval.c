/* scan-eval WHAT NUMBERS...: src/imaging on whole scans, arrays from standard input and to standard
 * output as they are, after a line of numbers. scan_eval.py is its other half. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "imaging/fourier-ring.h"
#include "imaging/merge.h"
#include "imaging/reconstruction-quality.h"

enum { max_numbers = 16 };
static int64_t number[max_numbers];
static double real_number[max_numbers];
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

/* The same arguments: "ready", then for each line on standard input the seconds of one pass, from
 * positions and patches to the canvas. tests/bench/reassembly asks. */
static hl_status serve(void) {
  int64_t count = number[0], size = number[1], pixels = size * size;
  double *x = read_array(count, sizeof *x), *y = read_array(count, sizeof *y);
  given all = read_patches(count * pixels, number[3] != 0);
  hl_status status = HL_OK;
  char line[16];
  printf("ready\n");
  fflush(stdout);
  while (status == HL_OK && fgets(line, sizeof line, stdin)) {
    hl_reassembly *r = NULL;
    uint64_t start = hl_clock_ns();
    status = hl_reassembly_new(x, y, count, size, number[2], &r, &error);
    if (status != HL_OK) break;
    int64_t side = hl_reassembly_side(r);
    float complex *canvas = zeros(side * side, sizeof *canvas);
    for (int64_t i = 0; i < count && status == HL_OK; i += number[4]) {
      hl_patches patches = {all.amplitude + i * pixels, all.phase + i * pixels, NULL};
      int64_t n = count - i < number[4] ? count - i : number[4];
      status = hl_reassembly_add(r, i, n, patches, (int)number[5], &error);
    }
    if (status == HL_OK) status = hl_reassembly_finish(r, (int)number[5], canvas, NULL, &error);
    printf("%.9f\n", (double)(hl_clock_ns() - start) / 1e9);
    fflush(stdout);
    free(canvas);
    hl_reassembly_free(r);
  }
  free(x);
  free(y);
  release(all);
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

/* canvas height, width, x, y; from standard input its pixels and weights */
static hl_canvas read_canvas(void) {
  int64_t pixels = number[0] * number[1];
  const float complex *values = read_array(pixels, sizeof *values);
  const float *weights = read_array(pixels, sizeof *weights);
  return (hl_canvas){number[0], number[1], values, weights, real_number[2], real_number[3]};
}

static void release_canvas(hl_canvas canvas) {
  free((void *)(uintptr_t)canvas.pixels);
  free((void *)(uintptr_t)canvas.weights);
}

/* canvas, then height and width of the truth */
static hl_status compare(void) {
  hl_canvas canvas = read_canvas();
  float complex *truth = read_array(number[4] * number[5], sizeof *truth);
  hl_reconstruction_quality q;
  hl_status status = hl_reconstruction_compare(&canvas, truth, number[4], number[5], &q, &error);
  if (status == HL_OK) {
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, q.top, q.left, q.height, q.width);
    printf(" %.17g %.17g %.17g %.17g", creal(q.factor), cimag(q.factor), q.ramp_x, q.ramp_y);
    printf(" %.17g %.17g %.17g %.17g %.17g\n", q.amplitude_ssim, q.amplitude_psnr_db,
           q.phase_error_rad, q.frc_half, q.frc_half_bit);
    fwrite(q.frc, sizeof *q.frc, (size_t)q.rings, stdout);
    fwrite(q.half_bit, sizeof *q.half_bit, (size_t)q.rings, stdout);
    hl_reconstruction_quality_release(&q);
  }
  release_canvas(canvas);
  free(truth);
  return status;
}

/* canvas, then count, size, threads */
static hl_status residual(void) {
  hl_canvas canvas = read_canvas();
  int64_t count = number[4], size = number[5], used = 0;
  double *x = read_array(count, sizeof *x), *y = read_array(count, sizeof *y), value = 0;
  float complex *probe = read_array(size * size, sizeof *probe);
  float *amplitude = read_array(count * size * size, sizeof *amplitude);
  hl_diffraction measured = {amplitude, probe, count, size, x, y};
  hl_status status =
      hl_diffraction_residual(&canvas, &measured, (int)number[6], &value, &used, &error);
  if (status == HL_OK) printf("%.17g %" PRId64 "\n", value, used);
  release_canvas(canvas);
  free(x);
  free(y);
  free(probe);
  free(amplitude);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc - 2 > max_numbers) return 2;
  for (int i = 2; i < argc; i++)
    number[i - 2] = (int64_t)(real_number[i - 2] = strtod(argv[i], NULL));
  hl_status status = strcmp(argv[1], "reassemble") == 0 ? reassemble()
                     : strcmp(argv[1], "serve") == 0    ? serve()
                     : strcmp(argv[1], "merge") == 0    ? merge()
                     : strcmp(argv[1], "compare") == 0  ? compare()
                     : strcmp(argv[1], "residual") == 0 ? residual()
                                                        : HL_INVALID_ARGUMENT;
  if (status == HL_OK) return 0;
  fprintf(stderr, "%s: %s\n", hl_status_name(status), error.msg);
  return 1;
}
