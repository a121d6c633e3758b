#include "imaging/merge.h"

#include "base/parallel.h"
#include "imaging/translate-internal.h"
#include "numeric/complex-make.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { max_size = 4096, max_channels = 64 };

typedef struct job {
  int64_t n, channels, size;
  hl_patches patches;
  const double *relative;
  float complex *merged;
  char *scratch;
  size_t scratch_bytes; /* of one part */
} job;

/* Sums (3 planes: real, imaginary, masks), a line, and a patch (2 planes). */
static size_t scratch_of(int64_t size) {
  size_t pixels = (size_t)size * (size_t)size;
  return 3 * pixels * sizeof(double) + ((size_t)size + 2) * sizeof(double) +
         2 * pixels * sizeof(float);
}

static void merge_one(const job *j, int64_t group, double *sums) {
  int64_t size = j->size, pixels = size * size, half = size / 2, border = (size - half) / 2;
  double *real = sums, *imaginary = sums + pixels, *ones = sums + 2 * pixels;
  double *line = ones + pixels;
  float *patch = (float *)(line + size + 2);
  for (int64_t p = 0; p < 3 * pixels; p++) sums[p] = 0;
  for (int64_t c = 0; c < j->channels; c++) {
    const double *relative = j->relative + (group * j->channels + c) * 2;
    hl__shift whole = hl__shift_make(0, 0, -relative[1], -relative[0]);
    if (llabs(whole.row) > size || llabs(whole.column) > size) continue; /* off the canvas */
    hl__shift mask = whole;
    mask.row += border;
    mask.column += border;
    hl__patch_split(j->patches, group * j->channels + c, size, size, patch, patch + pixels);
    hl__shift_add(whole, patch, size, real, size, 0, size, line);
    hl__shift_add(whole, patch + pixels, size, imaginary, size, 0, size, line);
    for (int64_t r = 0; r < size; r++) hl__shift_add_ones(mask, half, ones + r * size, size, r);
  }
  float complex *to = j->merged + group * pixels;
  for (int64_t p = 0; p < pixels; p++) {
    double norm = ones[p] + 0.001;
    to[p] = hl_complexf((float)(real[p] / norm), (float)(imaginary[p] / norm));
  }
}

static void merge_part(void *context, int part, int parts) {
  const job *j = context;
  double *sums = (double *)(void *)(j->scratch + (size_t)part * j->scratch_bytes);
  for (int64_t i = j->n * part / parts; i < j->n * (part + 1) / parts; i++) merge_one(j, i, sums);
}

static hl_status check(const job *j, hl_error *error) {
  if (j->size < 2 || j->size > max_size || j->channels < 1 || j->channels > max_channels ||
      j->n < 1 || j->n > INT64_MAX / (j->channels * j->size * j->size))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "cannot merge %" PRId64 " groups of %" PRId64 " patches of %" PRId64
                        " pixels a side: give at least 1 group, of 1 to %d, of 2 to %d",
                        j->n, j->channels, j->size, max_channels, max_size);
  for (int64_t i = 0; i < j->n * j->channels * 2; i++)
    if (!(fabs(j->relative[i]) < 1e15))
      return hl_error_set(error, HL_BAD_DATA,
                          "the relative position of patch %" PRId64 " of group %" PRId64
                          " is %g: give pixels",
                          i / 2 % j->channels, i / 2 / j->channels, j->relative[i]);
  return HL_OK;
}

hl_status hl_merge(int64_t n, int64_t channels, int64_t size, hl_patches patches,
                   const double *relative, int threads, float complex *ret_merged,
                   hl_error *error) {
  job j = {.n = n,
           .channels = channels,
           .size = size,
           .patches = patches,
           .relative = relative,
           .merged = ret_merged};
  hl_status status = check(&j, error);
  if (status != HL_OK) return status;
  int parts = threads < 1 ? 1 : threads > HL_PARALLEL_MAX ? HL_PARALLEL_MAX : threads;
  if (parts > n) parts = (int)n;
  j.scratch_bytes = (scratch_of(size) + 63) / 64 * 64;
  j.scratch = malloc((size_t)parts * j.scratch_bytes);
  if (!j.scratch)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to merge patches of %" PRId64 " pixels",
                        size);
  hl_parallel(parts, merge_part, &j);
  free(j.scratch);
  return HL_OK;
}
