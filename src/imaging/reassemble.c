#include "imaging/reassemble.h"

#include "base/parallel.h"
#include "imaging/translate-internal.h"
#include "numeric/complex-make.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  max_size = 16384,        /* of a patch */
  max_chunk = 256,         /* patches that are taken apart at a time */
  chunk_bytes = 4 << 20,   /* and what they may take, unless one takes more */
  max_parts = 16,          /* threads */
  worth_a_thread = 1 << 16 /* pixels: about 200 microseconds */
};

struct hl_reassembly {
  int64_t count, size, crop, side, added, chunk;
  double origin_x, origin_y;
  hl__shift *shifts;        /* of each patch */
  int64_t *by_row;          /* patches in the order of shifts[].row, then of their index */
  int64_t *row_start;       /* [side + 1]: where in by_row those of each row begin */
  double *real, *imaginary; /* sums [side][side] */
  double *ones;             /* [max_parts][side]: a row of weights */
  float *parts;             /* [chunk][2][crop][crop] */
  double *lines;            /* [max_parts][crop + 2] */
  int64_t bytes;
};

void hl_reassembly_free(hl_reassembly *r) {
  if (!r) return;
  free(r->shifts);
  free(r->by_row);
  free(r->row_start);
  free(r->real);
  free(r->imaginary);
  free(r->ones);
  free(r->parts);
  free(r->lines);
  free(r);
}

static hl_status check_sizes(int64_t count, int64_t size, int64_t crop, hl_error *error) {
  if (count >= 1 && count <= INT32_MAX && size >= 1 && size <= max_size && crop >= 1 &&
      crop <= size)
    return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "cannot reassemble the central %" PRId64 " x %" PRId64 " pixels of %" PRId64
                      " patches of %" PRId64 " x %" PRId64
                      ": give at least 1 patch, of up to %d pixels a side, and a part of it",
                      crop, crop, count, size, size, max_size);
}

static hl_status mean_of(const double *x, const double *y, int64_t count, double *ret_x,
                         double *ret_y, hl_error *error) {
  double sum_x = 0, sum_y = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(x[i]) < 1e15 && fabs(y[i]) < 1e15))
      return hl_error_set(error, HL_BAD_DATA,
                          "position %" PRId64 " is (%g, %g): give pixels, or leave the pattern out",
                          i, x[i], y[i]);
    sum_x += x[i];
    sum_y += y[i];
  }
  *ret_x = sum_x / (double)count;
  *ret_y = sum_y / (double)count;
  return HL_OK;
}

/* The canvas' side and origin, from the offset that is largest. */
static hl_status lay_out(hl_reassembly *r, const double *x, const double *y, hl_error *error) {
  double mean_x = 0, mean_y = 0, largest = 0;
  hl_status status = mean_of(x, y, r->count, &mean_x, &mean_y, error);
  if (status != HL_OK) return status;
  int64_t farthest = 0;
  for (int64_t i = 0; i < r->count; i++) {
    double offset = fmax(fabs(x[i] - mean_x), fabs(y[i] - mean_y));
    if (offset > largest) {
      largest = offset;
      farthest = i;
    }
  }
  /* Far less than a pixel apart, and not only by rounding of a mean. */
  if (largest < 0.01 && largest > 1e-9 * (fabs(mean_x) + fabs(mean_y)))
    return hl_error_set(error, HL_BAD_DATA,
                        "all positions lie within %g pixels of their mean, as those of position "
                        "%" PRId64 ", (%g, %g), show: they look like metres. Give positions in "
                        "pixels",
                        largest, farthest, x[farthest], y[farthest]);
  double side = (double)r->crop + 4 * ceil(largest / 2);
  if (side > HL_REASSEMBLY_MAX_SIDE)
    return hl_error_set(error, HL_BAD_DATA,
                        "position %" PRId64 ", (%g, %g), lies %g pixels from the mean of all: the "
                        "canvas would have %.0f pixels a side, and the limit is %d. Give positions "
                        "in pixels, or leave that pattern out",
                        farthest, x[farthest], y[farthest], largest, side, HL_REASSEMBLY_MAX_SIDE);
  int64_t pad = 2 * (int64_t)ceil(largest / 2);
  r->side = r->crop + 2 * pad;
  /* The crop begins `border` pixels into a patch, whose centre is size / 2. */
  int64_t border = (r->size - r->crop) / 2;
  r->origin_x = mean_x - (double)(pad + r->size / 2 - border);
  r->origin_y = mean_y - (double)(pad + r->size / 2 - border);
  for (int64_t i = 0; i < r->count; i++)
    r->shifts[i] = hl__shift_make(pad, pad, y[i] - mean_y, x[i] - mean_x);
  return HL_OK;
}

/* A counting sort, which keeps equal rows in the order of the patches. */
static void sort_by_row(hl_reassembly *r) {
  for (int64_t i = 0; i < r->count; i++) r->row_start[r->shifts[i].row + 1]++;
  for (int64_t row = 0; row < r->side; row++) r->row_start[row + 1] += r->row_start[row];
  for (int64_t i = 0; i < r->count; i++) r->by_row[r->row_start[r->shifts[i].row]++] = i;
  memmove(r->row_start + 1, r->row_start, (size_t)r->side * sizeof *r->row_start);
  r->row_start[0] = 0;
}

/* Zeroed memory that is counted. */
static void *hold(hl_reassembly *r, int64_t count, size_t size) {
  r->bytes += count * (int64_t)size;
  return calloc((size_t)count, size);
}

static hl_status no_memory(const hl_reassembly *r, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY,
                      "no memory to reassemble %" PRId64 " patches on %" PRId64 " x %" PRId64
                      " pixels",
                      r->count, r->side, r->side);
}

static hl_status plan(hl_reassembly *r, const double *x, const double *y, hl_error *error) {
  r->shifts = hold(r, r->count, sizeof *r->shifts);
  r->by_row = hold(r, r->count, sizeof *r->by_row);
  if (!r->shifts || !r->by_row) return no_memory(r, error);
  hl_status status = lay_out(r, x, y, error);
  if (status != HL_OK) return status;
  int64_t patch = 2 * r->crop * r->crop, fitting = chunk_bytes / (patch * (int64_t)sizeof(float));
  r->chunk = fitting < 1 ? 1 : fitting > max_chunk ? max_chunk : fitting;
  if (r->chunk > r->count) r->chunk = r->count;
  r->row_start = hold(r, r->side + 1, sizeof *r->row_start);
  r->real = hold(r, r->side * r->side, sizeof *r->real);
  r->imaginary = hold(r, r->side * r->side, sizeof *r->imaginary);
  r->ones = hold(r, max_parts * r->side, sizeof *r->ones);
  r->parts = hold(r, r->chunk * patch, sizeof *r->parts);
  r->lines = hold(r, max_parts * (r->crop + 2), sizeof *r->lines);
  if (!r->row_start || !r->real || !r->imaginary || !r->ones || !r->parts || !r->lines)
    return no_memory(r, error);
  sort_by_row(r);
  return HL_OK;
}

hl_status hl_reassembly_new(const double *x, const double *y, int64_t count, int64_t size,
                            int64_t crop, hl_reassembly **ret_reassembly, hl_error *error) {
  hl_status status = check_sizes(count, size, crop, error);
  if (status != HL_OK) return status;
  hl_reassembly *r = calloc(1, sizeof *r);
  if (!r) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reassembly");
  r->count = count;
  r->size = size;
  r->crop = crop;
  r->bytes = (int64_t)sizeof *r;
  status = plan(r, x, y, error);
  if (status != HL_OK)
    hl_reassembly_free(r);
  else
    *ret_reassembly = r;
  return status;
}

int64_t hl_reassembly_side(const hl_reassembly *r) {
  return r->side;
}

int64_t hl_reassembly_bytes(const hl_reassembly *r) {
  return r->bytes;
}

void hl_reassembly_origin(const hl_reassembly *r, double *ret_x, double *ret_y) {
  *ret_x = r->origin_x;
  *ret_y = r->origin_y;
}

void hl_reassembly_restart(hl_reassembly *r) {
  r->added = 0;
  memset(r->real, 0, (size_t)(r->side * r->side) * sizeof *r->real);
  memset(r->imaginary, 0, (size_t)(r->side * r->side) * sizeof *r->imaginary);
}

/* --- adding ------------------------------------------------------------------------------ */

/* Patches `first` to `first + n - 1` of the scan, which are `index` and on of `patches`. */
typedef struct chunk {
  hl_reassembly *r;
  hl_patches patches;
  int64_t first, index, n;
} chunk;

static int parts_for(int64_t pixels, int threads) {
  int64_t most = pixels / worth_a_thread;
  if (most > max_parts) most = max_parts;
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

static void split_part(void *context, int part, int parts) {
  const chunk *c = context;
  int64_t crop = c->r->crop, pixels = crop * crop;
  for (int64_t i = c->n * part / parts; i < c->n * (part + 1) / parts; i++) {
    float *to = c->r->parts + i * 2 * pixels;
    hl__patch_split(c->patches, c->index + i, c->r->size, crop, to, to + pixels);
  }
}

/* Rows are shared out so that as many patches begin in the rows of each thread: each pixel belongs
 * to one thread, which adds to it in the order of the patches. */
static int64_t row_of_share(const hl_reassembly *r, int part, int parts) {
  if (part == 0) return 0;
  if (part == parts) return r->side;
  int64_t before = r->count * part / parts, low = 0, high = r->side;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (r->row_start[middle] < before)
      low = middle + 1;
    else
      high = middle;
  }
  int64_t row = low + r->crop / 2; /* a patch lies below the row where it begins */
  return row < r->side ? row : r->side;
}

static void add_part(void *context, int part, int parts) {
  const chunk *c = context;
  const hl_reassembly *r = c->r;
  int64_t first = row_of_share(r, part, parts), end = row_of_share(r, part + 1, parts);
  int64_t crop = r->crop, pixels = crop * crop;
  double *line = r->lines + part * (crop + 2);
  for (int64_t i = 0; i < c->n; i++) {
    hl__shift shift = r->shifts[c->first + i];
    const float *from = r->parts + i * 2 * pixels;
    hl__shift_add(shift, from, crop, r->real, r->side, first, end, line);
    hl__shift_add(shift, from + pixels, crop, r->imaginary, r->side, first, end, line);
  }
}

hl_status hl_reassembly_add(hl_reassembly *r, int64_t first, int64_t n, hl_patches patches,
                            int threads, hl_error *error) {
  if (first != r->added || n < 0 || n > r->count - first)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "patches %" PRId64 " to %" PRId64 " of %" PRId64 " after %" PRId64
                        ": add them in order, each once",
                        first, first + n - 1, r->count, r->added);
  for (int64_t done = 0; done < n; done += r->chunk) {
    chunk c = {r, patches, first + done, done, n - done < r->chunk ? n - done : r->chunk};
    int parts = parts_for(c.n * r->crop * r->crop, threads);
    hl_parallel(parts, split_part, &c);
    hl_parallel(parts, add_part, &c);
  }
  r->added += n;
  return HL_OK;
}

/* --- the canvas -------------------------------------------------------------------------- */

typedef struct finish {
  hl_reassembly *r;
  float complex *canvas;
  float *weights;
} finish;

/* How often each pixel of a row was covered. */
static void weigh(const hl_reassembly *r, int64_t row, double *ret_ones) {
  int64_t from = row > r->crop ? row - r->crop : 0;
  memset(ret_ones, 0, (size_t)r->side * sizeof *ret_ones);
  for (int64_t i = r->row_start[from]; i < r->row_start[row + 1]; i++)
    hl__shift_add_ones(r->shifts[r->by_row[i]], r->crop, ret_ones, r->side, row);
}

static void finish_part(void *context, int part, int parts) {
  const finish *f = context;
  const hl_reassembly *r = f->r;
  int64_t side = r->side;
  double *ones = r->ones + part * side;
  for (int64_t row = part; row < side; row += parts) {
    const double *real = r->real + row * side, *imaginary = r->imaginary + row * side;
    weigh(r, row, ones);
    for (int64_t c = 0; c < side; c++) {
      double norm = 1e-9 + ones[c];
      f->canvas[row * side + c] =
          hl_complexf((float)(real[c] / norm), (float)(imaginary[c] / norm));
    }
    for (int64_t c = 0; f->weights && c < side; c++) f->weights[row * side + c] = (float)ones[c];
  }
}

hl_status hl_reassembly_finish(hl_reassembly *r, int threads, float complex *ret_canvas,
                               float *ret_weights, hl_error *error) {
  if (r->added != r->count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%" PRId64 " of %" PRId64 " patches were added: add all before the canvas",
                        r->added, r->count);
  finish f = {r, ret_canvas, ret_weights};
  hl_parallel(parts_for(r->side * r->side + r->count * r->crop * r->crop / 2, threads), finish_part,
              &f);
  hl_reassembly_restart(r);
  return HL_OK;
}
