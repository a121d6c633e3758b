#include "data/array.h"
#include "data/scan-internal.h"
#include "numeric/fft.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const probe_keys[] = {
    "probeGuess", "probe", "entry_1/instrument_1/source_1/illumination",
    "entry_1/instrument_1/source_1/probe", "entry_1/instrument_1/detector_1/probe"};
static const char *const object_keys[] = {"objectGuess", "object", "entry_1/image_1/data"};

/* A complex picture of a file, the last two axes of its array. */
typedef struct field {
  hl_tensor_view array; /* complex64 */
  const char *key;
  int64_t height, width, planes;
} field;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the probe and the object of a scan");
}

static const hl_npz_entry *find(const hl_npz *npz, const char *const *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const hl_npz_entry *entry = hl_npz_find(npz, keys[i]);
    if (entry) return entry;
  }
  return NULL;
}

/* Squares of what is larger are beyond a float, and of all that is smaller nothing. */
static hl_status check_size(const hl_tensor_view *array, int64_t count, const char *what,
                            hl_error *problem) {
  const float complex *data = array->data;
  float largest = 0;
  for (int64_t i = 0; i < count; i++)
    largest = fmaxf(largest, fmaxf(fabsf(crealf(data[i])), fabsf(cimagf(data[i]))));
  if (largest == 0 || (largest >= 1e-15F && largest <= 1e15F)) return HL_OK;
  return hl_error_set(problem, HL_BAD_DATA,
                      "%s is %g at most; expected 1e-15 to 1e15. Save it in other units", what,
                      (double)largest);
}

/* Whether the array is what it has to be, else why not: in `problem`. */
static hl_status read_field(hl_npz *npz, const hl_npz_entry *entry, field *ret, hl_error *problem) {
  hl_tensor_view raw;
  hl_status status = hl_npz_read(npz, entry->name, &raw, problem);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer)
  char *what = hl_format("%s: array '%s'", hl_npz_name(npz), entry->name);
  int64_t count = 0;
  if (!what) status = no_memory(problem);
  if (status == HL_OK && (raw.rank < 2 || !hl_array_count(raw.rank, raw.dims, &count) || !count))
    status = hl_error_set(problem, HL_BAD_DATA, "%s is no picture: give it as (N, N)", what);
  if (status == HL_OK) status = hl_array_check_finite(&raw, what, problem);
  if (status == HL_OK && (raw.dtype == HL_COMPLEX64 || raw.dtype == HL_COMPLEX128))
    status = hl_array_convert(&raw, HL_COMPLEX64, what, &ret->array, problem);
  else if (status == HL_OK)
    status = hl_error_set(problem, HL_BAD_DATA, "%s is %s, and has to be complex", what,
                          hl_dtype_name(raw.dtype));
  hl_array_release(&raw);
  if (status == HL_OK) status = check_size(&ret->array, count, what, problem);
  if (status != HL_OK) return status;
  ret->key = entry->name;
  ret->height = ret->array.dims[ret->array.rank - 2];
  ret->width = ret->array.dims[ret->array.rank - 1];
  ret->planes = count / (ret->height * ret->width);
  return HL_OK;
}

/* Both sides' spectrum, centred, cut to h x w around the zero frequency. */
static void cut(const float complex *from, int64_t height, int64_t width, int64_t h, int64_t w,
                float complex *to) {
  int64_t top = height / 2 - h / 2, left = width / 2 - w / 2;
  for (int64_t r = 0; r < h; r++)
    memcpy(to + r * w, from + (top + r) * width + left, (size_t)w * sizeof *to);
}

/* `data`, (height, width), in coarser pixels: the lowest h x w frequencies of it. Orthonormal
 * transforms keep the light that falls onto these; `factor` multiplies the result. With `centred`
 * the place [height/2, width/2] stays the centre, else [0, 0] stays the corner. */
static hl_status resample(float complex *data, int64_t height, int64_t width, int64_t h, int64_t w,
                          bool centred, float factor, float complex **ret, hl_error *error) {
  hl_fft *large = NULL, *small = NULL;
  float complex *out = calloc((size_t)(h * w), sizeof *out);
  hl_status status = out ? HL_OK : no_memory(error);
  if (status == HL_OK) status = hl_fft_new((size_t)height, (size_t)width, &large, error);
  if (status == HL_OK) status = hl_fft_new((size_t)h, (size_t)w, &small, error);
  if (status == HL_OK) {
    if (centred) hl_fft_unshift(data, 1, (size_t)height, (size_t)width);
    hl_fft2(large, HL_FFT_FORWARD | HL_FFT_ORTHONORMAL, data, 1);
    hl_fft_shift(data, 1, (size_t)height, (size_t)width);
    cut(data, height, width, h, w, out);
    hl_fft_unshift(out, 1, (size_t)h, (size_t)w);
    hl_fft2(small, HL_FFT_INVERSE | HL_FFT_ORTHONORMAL, out, 1);
    if (centred) hl_fft_shift(out, 1, (size_t)h, (size_t)w);
    for (int64_t i = 0; i < h * w; i++) out[i] *= factor;
    *ret = out;
  } else {
    free(out);
  }
  hl_fft_free(large);
  hl_fft_free(small);
  return status;
}

static bool is_constant(const float complex *data, int64_t count) {
  bool same = true;
  for (int64_t i = 1; i < count && same; i++) same = data[i] == data[0];
  return same;
}

static hl_status take_probe(const field *f, hl_scan *scan, hl_text *notes, hl_error *problem) {
  int64_t n = scan->file_size, pixels = n * n;
  float complex *data = (float complex *)(uintptr_t)f->array.data;
  if (f->height != n || f->width != n)
    return hl_error_set(problem, HL_BAD_DATA,
                        "%s: probe '%s' is %" PRId64 " x %" PRId64 " and the patterns are %" PRId64
                        " x %" PRId64 ". Save it on their grid",
                        scan->file, f->key, f->height, f->width, n, n);
  bool dark = is_constant(data, pixels) && crealf(data[0]) == 0 && cimagf(data[0]) == 0;
  if (dark)
    return hl_error_set(problem, HL_BAD_DATA, "%s: probe '%s' is zero everywhere", scan->file,
                        f->key);
  if (f->planes > 1)
    hl_text_format(notes, "; the first of %" PRId64 " modes of the probe", f->planes);
  if (scan->size != n)
    return resample(data, n, n, scan->size, scan->size, true, 1, &scan->probe, problem);
  scan->probe = calloc((size_t)pixels, sizeof *scan->probe);
  if (!scan->probe) return no_memory(problem);
  memcpy(scan->probe, data, (size_t)pixels * sizeof *data);
  return HL_OK;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  return b ? common_divisor(b, a % b) : a;
}

/* In the scan's coarser pixels; edges are repeated up to a side of which these are a whole
 * number. */
static hl_status coarsen_object(const field *f, hl_scan *scan, hl_error *problem) {
  int64_t common = common_divisor(scan->file_size, scan->size);
  int64_t from = scan->file_size / common, to = scan->size / common;
  int64_t height = (f->height + from - 1) / from * from,
          width = (f->width + from - 1) / from * from;
  const float complex *data = f->array.data;
  HL_CLEANUP(hl_free_pointer)
  float complex *padded = calloc((size_t)height * (size_t)width, sizeof *padded);
  if (!padded) return no_memory(problem);
  for (int64_t r = 0; r < height; r++)
    for (int64_t c = 0; c < width; c++)
      padded[r * width + c] =
          data[(r < f->height ? r : f->height - 1) * f->width + (c < f->width ? c : f->width - 1)];
  int64_t h = height / from * to, w = width / from * to;
  double factor = sqrt((double)h * (double)w / ((double)height * (double)width));
  hl_status status =
      resample(padded, height, width, h, w, false, (float)factor, &scan->object, problem);
  if (status != HL_OK) return status;
  scan->object_height = h;
  scan->object_width = w;
  return HL_OK;
}

static hl_status take_object(const field *f, hl_scan *scan, hl_error *problem) {
  int64_t pixels = f->height * f->width;
  if (is_constant(f->array.data, pixels))
    return hl_error_set(problem, HL_BAD_DATA, "%s: object '%s' is constant: no truth", scan->file,
                        f->key);
  if (scan->size != scan->file_size) return coarsen_object(f, scan, problem);
  scan->object = calloc((size_t)pixels, sizeof *scan->object);
  if (!scan->object) return no_memory(problem);
  memcpy(scan->object, f->array.data, (size_t)pixels * sizeof *scan->object);
  scan->object_height = f->height;
  scan->object_width = f->width;
  return HL_OK;
}

/* The reason of a field that is missing or no use. */
static hl_status keep_problem(const hl_error *problem, char **ret, hl_error *error) {
  if (problem->status == HL_OUT_OF_MEMORY)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "%s", problem->msg);
  *ret = hl_strdup(problem->msg);
  return *ret ? HL_OK : no_memory(error);
}

hl_status hl__scan_read_fields(hl_npz *npz, hl_scan *scan, hl_text *notes, hl_error *error) {
  field probe = {0}, object = {0};
  hl_error problem = {0};
  const hl_npz_entry *entry = find(npz, probe_keys, HL_COUNT(probe_keys));
  hl_status status = entry ? read_field(npz, entry, &probe, &problem)
                           : hl_error_set(&problem, HL_NOT_FOUND,
                                          "%s has no probe (probeGuess or probe)", scan->file);
  if (status == HL_OK) status = take_probe(&probe, scan, notes, &problem);
  hl_array_release(&probe.array);
  if (status != HL_OK) status = keep_problem(&problem, &scan->probe_problem, error);
  if (status != HL_OK) return status;
  entry = find(npz, object_keys, HL_COUNT(object_keys));
  status = entry ? read_field(npz, entry, &object, &problem)
                 : hl_error_set(&problem, HL_NOT_FOUND,
                                "%s has no true object (objectGuess or object)", scan->file);
  if (status == HL_OK) status = take_object(&object, scan, &problem);
  hl_array_release(&object.array);
  return status == HL_OK ? HL_OK : keep_problem(&problem, &scan->object_problem, error);
}
