#include "data/ptychography.h"

#include "base/text.h"
#include "data/array.h"
#include "data/scan-internal.h"
#include "data/scan-layout.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const pattern_keys[] = {"diff3d", "diffraction", "data"};

enum {
  max_size = 16384, /* pixels of a side: keeps products of two far from overflow */
  dc_images = 64    /* patterns looked at to find the zero frequency */
};

/* The patterns as they are in the file, and how they lie there. */
typedef struct source {
  hl_tensor_view array;
  const char *file; /* borrowed */
  char *what;       /* "x.npz: array 'diff3d'" */
  int64_t count, size;
  bool transposed; /* (N, N, M) */
} source;

void hl_scan_free(hl_scan *scan) {
  if (!scan) return;
  free(scan->amplitude);
  free(scan->x);
  free(scan->y);
  free(scan->probe);
  free(scan->probe_problem);
  free(scan->object);
  free(scan->object_problem);
  free(scan->file);
  free(scan->key);
  free(scan->notes);
  free(scan);
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the scan");
}

static bool is_real(hl_dtype dtype) {
  return dtype != HL_DTYPE_NONE && dtype != HL_STRING && dtype != HL_COMPLEX64 &&
         dtype != HL_COMPLEX128;
}

static bool is_integer(hl_dtype dtype) {
  return is_real(dtype) && dtype != HL_FLOAT16 && dtype != HL_FLOAT32 && dtype != HL_FLOAT64 &&
         dtype != HL_BFLOAT16;
}

const hl_npz_entry *hl_scan_find(const hl_npz *npz) {
  for (size_t i = 0; i < HL_COUNT(pattern_keys); i++) {
    const hl_npz_entry *entry = hl_npz_find(npz, pattern_keys[i]);
    if (entry) return entry;
  }
  const hl_npz_entry *only = NULL;
  if (hl_scan_layout_of(npz, &only)) return only;
  for (size_t i = 0; i < hl_npz_count(npz); i++) {
    const hl_npz_entry *entry = hl_npz_at(npz, i);
    if (entry->header.rank < 3 || !is_real(entry->header.dtype)) continue;
    if (only) return NULL;
    only = entry;
  }
  return only;
}

static hl_status no_patterns(const hl_npz *npz, hl_error *error) {
  hl_text list = HL_TEXT_INIT;
  for (size_t i = 0; i < hl_npz_count(npz) && list.length < 250; i++) {
    const hl_npz_entry *entry = hl_npz_at(npz, i);
    hl_text_format(&list, "%s%.40s ", i ? ", " : "", entry->name);
    hl_array_format_shape(&list, entry->header.rank, entry->header.dims);
  }
  hl_error_set(error, HL_NOT_FOUND,
               "%s has no diffraction patterns: expected an array 'diff3d' (images, N, N); it has: "
               "%s",
               hl_npz_name(npz), list.length ? list.data : "no arrays");
  hl_text_release(&list);
  return HL_NOT_FOUND;
}

/* --- positions --------------------------------------------------------------------------- */

static hl_status read_positions_array(hl_npz *npz, const char *name, hl_tensor_view *ret,
                                      hl_error *error) {
  hl_tensor_view raw;
  hl_status status = hl_npz_read(npz, name, &raw, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *what = hl_format("%s: array '%s'", hl_npz_name(npz), name);
  status = what ? hl_array_check_finite(&raw, what, error) : no_memory(error);
  if (status == HL_OK) status = hl_array_convert(&raw, HL_FLOAT64, what, ret, error);
  hl_array_release(&raw);
  return status;
}

/* xcoords and ycoords: one number an image in each. */
static hl_status read_coordinates(hl_npz *npz, hl_scan *scan, int64_t *ret_count, hl_error *error) {
  hl_tensor_view x = {0}, y = {0};
  int64_t nx = 0, ny = 0;
  hl_status status = read_positions_array(npz, "xcoords", &x, error);
  if (status == HL_OK) status = read_positions_array(npz, "ycoords", &y, error);
  if (status == HL_OK) {
    hl_array_count(x.rank, x.dims, &nx);
    hl_array_count(y.rank, y.dims, &ny);
    if (nx != ny)
      status = hl_error_set(error, HL_BAD_DATA,
                            "%s: xcoords has %" PRId64 " entries and ycoords %" PRId64
                            ". Each needs one for every image",
                            hl_npz_name(npz), nx, ny);
  }
  if (status == HL_OK) {
    scan->x = x.data;
    scan->y = y.data;
    x.data = y.data = NULL;
    *ret_count = nx;
  }
  hl_array_release(&x);
  hl_array_release(&y);
  return status;
}

/* tike's scan: (..., M, 2), vertical first. */
static hl_status read_scan(hl_npz *npz, hl_scan *scan, int64_t *ret_count, hl_error *error) {
  hl_tensor_view all = {0};
  hl_status status = read_positions_array(npz, "scan", &all, error);
  if (status != HL_OK) return status;
  int64_t count = 0;
  hl_array_count(all.rank, all.dims, &count);
  if (all.rank < 2 || all.dims[all.rank - 1] != 2) {
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s: array 'scan' must have 2 columns (vertical, horizontal). Save "
                          "positions as xcoords and ycoords, or as scan (images, 2)",
                          hl_npz_name(npz));
  } else {
    const double *v = all.data;
    scan->x = calloc((size_t)count / 2 + 1, sizeof *scan->x);
    scan->y = calloc((size_t)count / 2 + 1, sizeof *scan->y);
    if (!scan->x || !scan->y) status = no_memory(error);
    for (int64_t i = 0; status == HL_OK && i < count / 2; i++) {
      scan->y[i] = v[2 * i];
      scan->x[i] = v[2 * i + 1];
    }
    *ret_count = count / 2;
  }
  hl_array_release(&all);
  return status;
}

/* *ret_count is -1 without positions. */
static hl_status read_positions(hl_npz *npz, const hl_scan_layout *layout, hl_scan *scan,
                                int64_t *ret_count, hl_error *error) {
  *ret_count = -1;
  bool x = hl_npz_find(npz, "xcoords"), y = hl_npz_find(npz, "ycoords");
  if (x && y) return read_coordinates(npz, scan, ret_count, error);
  if (x || y)
    return hl_error_set(error, HL_BAD_DATA, "%s has %s but no %s. Save both", hl_npz_name(npz),
                        x ? "xcoords" : "ycoords", x ? "ycoords" : "xcoords");
  if (hl_npz_find(npz, "scan")) return read_scan(npz, scan, ret_count, error);
  if (layout) return hl_scan_layout_positions(layout, npz, scan, ret_count, error);
  return HL_OK;
}

/* --- patterns ---------------------------------------------------------------------------- */

static void drop_leading_axes(hl_tensor_view *array, hl_text *notes) {
  int32_t dropped = 0;
  while (array->rank > 3 && array->dims[0] == 1) {
    memmove(array->dims, array->dims + 1, sizeof array->dims - sizeof array->dims[0]);
    array->rank--;
    dropped++;
  }
  if (dropped)
    hl_text_format(notes, "; %d leading ax%s of size 1 dropped", dropped,
                   dropped == 1 ? "is" : "es");
}

static hl_status shape_error(const source *s, const char *expected, hl_error *error) {
  hl_text shape = HL_TEXT_INIT;
  hl_array_format_shape(&shape, s->array.rank, s->array.dims);
  hl_error_set(error, HL_BAD_DATA, "%s has shape %s; %s", s->what, shape.data, expected);
  hl_text_release(&shape);
  return HL_BAD_DATA;
}

/* Which axis counts images. With positions their number decides; else the two equal axes do. */
static hl_status set_orientation(source *s, int64_t positions, hl_error *error) {
  const int64_t *d = s->array.dims;
  if (s->array.rank != 3)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s has %d dimension%s; expected 3 (images, N, N). Save one pattern for "
                        "each position, e.g. with numpy.stack",
                        s->what, s->array.rank, s->array.rank == 1 ? "" : "s");
  bool straight = d[1] == d[2], turned = d[0] == d[1];
  if (!straight && !turned)
    return shape_error(s, "expected square patterns, (images, N, N). Crop or pad them", error);
  if (straight && turned) turned = false; /* (N, N, N): every axis may count images */
  s->transposed = turned;
  s->count = turned ? d[2] : d[0];
  s->size = d[1];
  if (s->count > 0 && s->size == 1)
    return shape_error(s, "patterns of one pixel tell nothing. Is it the right array?", error);
  if (s->count == 0 || s->size < 2)
    return shape_error(s, "it is empty. Save at least one pattern", error);
  if (s->size > max_size)
    return shape_error(s, "patterns of more than 16384 pixels a side are not supported", error);
  if (positions >= 0 && positions != s->count)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s has %" PRId64 " patterns but there are %" PRId64
                        " positions. Both must describe the same images",
                        s->what, s->count, positions);
  return HL_OK;
}

static int64_t source_index(const source *s, int64_t image, int64_t row, int64_t column) {
  int64_t pixel = row * s->size + column;
  return s->transposed ? pixel * s->count + image : image * s->size * s->size + pixel;
}

/* The value, with the common types inlined: every pixel of a scan passes through here. */
static double source_value(const source *s, int64_t index) {
  if (s->array.dtype == HL_FLOAT32) return ((const float *)s->array.data)[index];
  if (s->array.dtype == HL_FLOAT64) return ((const double *)s->array.data)[index];
  if (s->array.dtype == HL_UINT16) return ((const uint16_t *)s->array.data)[index];
  return hl_array_at(&s->array, index);
}

static hl_status check_values(const source *s, hl_error *error) {
  hl_status status = hl_array_check_finite(&s->array, s->what, error);
  if (status != HL_OK) return status;
  int64_t count = s->count * s->size * s->size;
  double largest = 0;
  for (int64_t i = 0; i < count; i++) {
    double v = source_value(s, i);
    if (v > largest) largest = v;
    if (v >= 0 && v <= 1e18) continue;
    hl_text at = HL_TEXT_INIT;
    hl_array_format_index(&at, s->array.rank, s->array.dims, i);
    hl_error_set(error, HL_BAD_DATA,
                 "%s holds %g at %s; amplitudes and counts are between 0 and 1e18. %s", s->what, v,
                 at.data,
                 v < 0 ? "Subtract the background with a floor of 0" : "Save it in other units");
    hl_text_release(&at);
    return HL_BAD_DATA;
  }
  if (largest >= 1e-18) return HL_OK;
  if (largest > 0) /* what normalises it would be beyond a float */
    return hl_error_set(error, HL_BAD_DATA, "%s is %g at most. Save it in other units", s->what,
                        largest);
  return hl_error_set(error, HL_BAD_DATA, "%s is zero everywhere. Is it the right array?", s->what);
}

/* True if the zero frequency is at the corner: there is more light in a block around the corner
 * (wrapped) than in a block around the centre. */
static bool find_corner(const source *s) {
  int64_t half = s->size / 2, radius = s->size / 8 > 0 ? s->size / 8 : 1;
  int64_t images = s->count < dc_images ? s->count : dc_images;
  double centre = 0, corner = 0;
  for (int64_t n = 0; n < images; n++)
    for (int64_t r = -radius; r < radius; r++)
      for (int64_t c = -radius; c < radius; c++) {
        int64_t image = n * s->count / images;
        int64_t rc = (r + s->size) % s->size, cc = (c + s->size) % s->size;
        centre += source_value(s, source_index(s, image, half + r, half + c));
        corner += source_value(s, source_index(s, image, rc, cc));
      }
  return corner > centre;
}

static void copy_pattern(const source *s, const hl_scan *scan, int64_t image, float *to) {
  int64_t n = scan->size, first = s->size / 2 - n / 2;
  for (int64_t row = 0; row < n; row++)
    for (int64_t column = 0; column < n; column++) {
      int64_t r = first + row, c = first + column;
      if (scan->corner) { /* fftshift: index i shows frequency i - size/2 */
        r = (r + s->size - s->size / 2) % s->size;
        c = (c + s->size - s->size / 2) % s->size;
      }
      double v = source_value(s, source_index(s, image, r, c));
      *to++ = (float)(scan->counts ? sqrt(v) : v);
    }
}

/* A long scan is not to be in memory twice: float32 patterns stay where they were read. Pattern i
 * is written before pattern i + 1 is read, and is no larger than it was. */
static hl_status copy_patterns(source *s, hl_scan *scan, hl_error *error) {
  size_t pixels = (size_t)(scan->size * scan->size), count = (size_t)scan->count, bytes = 0;
  bool stay = s->array.dtype == HL_FLOAT32 && !s->transposed;
  if (__builtin_mul_overflow(count, pixels * sizeof(float), &bytes)) return no_memory(error);
  HL_CLEANUP(hl_free_pointer) float *one = malloc(pixels * sizeof *one);
  float *all = stay ? s->array.data : malloc(bytes);
  if (!one || !all) {
    if (!stay) free(all);
    return no_memory(error);
  }
  for (size_t i = 0; i < count; i++) {
    copy_pattern(s, scan, (int64_t)i, one);
    memcpy(all + i * pixels, one, pixels * sizeof *one);
  }
  float *fitting = stay && scan->size < s->size ? realloc(all, bytes) : all;
  scan->amplitude = fitting ? fitting : all;
  if (stay) s->array.data = NULL; /* the scan's now */
  return HL_OK;
}

static hl_status fill(source *s, int64_t size, hl_scan *scan, hl_text *notes, hl_error *error) {
  scan->file_size = s->size;
  scan->size = size ? size : s->size;
  if (scan->size > s->size)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s has patterns of %" PRId64 " x %" PRId64 " but the model needs %" PRId64
                        " x %" PRId64 ". Use a model with N=%" PRId64 ", or pad the patterns",
                        s->what, s->size, s->size, scan->size, scan->size, s->size);
  hl_status status = check_values(s, error);
  if (status != HL_OK) return status;
  scan->corner = find_corner(s);
  if (s->transposed) hl_text_append(notes, "; transposed from (N, N, images)");
  hl_text_append(notes, scan->counts ? "; counts: square root taken" : "; amplitudes");
  if (scan->corner)
    hl_text_append(notes, "; zero frequency moved from the corner to the centre (fftshift)");
  status = copy_patterns(s, scan, error);
  if (status != HL_OK || scan->size == s->size) return status;
  double scale = (double)scan->size / (double)s->size;
  for (int64_t i = 0; scan->x && i < scan->count; i++) {
    scan->x[i] *= scale;
    scan->y[i] *= scale;
  }
  hl_text_format(notes, "; cropped to the central %" PRId64 " x %" PRId64 "%s", scan->size,
                 scan->size, scan->x ? ", positions scaled with it" : "");
  return HL_OK;
}

static hl_status read_scan_into(hl_npz *npz, const hl_npz_entry *entry, int64_t size, hl_scan *scan,
                                hl_text *notes, hl_error *error) {
  source s = {.file = hl_npz_name(npz)};
  HL_CLEANUP(hl_free_pointer) char *what = hl_format("%s: array '%s'", s.file, entry->name);
  scan->key = hl_strdup(entry->name);
  scan->file = hl_strdup(s.file);
  if (!what || !scan->key || !scan->file) return no_memory(error);
  s.what = what;
  if (!entry->problem && !is_real(entry->header.dtype))
    return hl_error_set(
        error, HL_BAD_DATA,
        "%s is %s; expected real amplitudes or counts. For a complex field save its "
        "modulus: numpy.abs(array)",
        what, hl_dtype_name(entry->header.dtype));
  const hl_npz_entry *found = NULL;
  const hl_scan_layout *layout = hl_scan_layout_of(npz, &found);
  if (found != entry) layout = NULL;
  int64_t positions = -1;
  hl_status status = read_positions(npz, layout, scan, &positions, error);
  int parts = 0;
  if (status == HL_OK) status = hl_scan_parts_read(npz, entry->name, &s.array, &parts, error);
  if (status != HL_OK) return status;
  if (parts > 1) hl_text_format(notes, "; %d chunks", parts);
  if (layout) status = hl_scan_layout_mask(layout, npz, &s.array, notes, error);
  drop_leading_axes(&s.array, notes);
  if (status == HL_OK) status = set_orientation(&s, positions, error);
  scan->count = s.count;
  scan->counts = is_integer(s.array.dtype) || strcmp(scan->key, "data") == 0 || layout;
  if (status == HL_OK && layout && positions >= 0)
    status = hl_scan_layout_to_pixels(layout, npz, s.size, scan, notes, error);
  if (status == HL_OK) status = fill(&s, size, scan, notes, error);
  hl_array_release(&s.array);
  return status == HL_OK ? hl__scan_read_fields(npz, scan, notes, error) : status;
}

hl_status hl_scan_from_npz(hl_npz *npz, int64_t size, hl_scan **ret_scan, hl_error *error) {
  const hl_npz_entry *entry = hl_scan_find(npz);
  if (!entry) return no_patterns(npz, error);
  hl_scan *scan = calloc(1, sizeof *scan);
  if (!scan) return no_memory(error);
  hl_text notes = HL_TEXT_INIT;
  hl_status status = read_scan_into(npz, entry, size, scan, &notes, error);
  if (status == HL_OK) {
    scan->notes = hl_format("%s: %" PRId64 " patterns of %" PRId64 " x %" PRId64 " from '%s'%s",
                            hl_npz_name(npz), scan->count, scan->file_size, scan->file_size,
                            scan->key, notes.data);
    if (!scan->notes) status = no_memory(error);
  }
  hl_text_release(&notes);
  if (status != HL_OK)
    hl_scan_free(scan);
  else
    *ret_scan = scan;
  return status;
}

hl_status hl_scan_read(const char *path, int64_t size, hl_scan **ret_scan, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  status = hl_scan_from_npz(npz, size, ret_scan, error);
  hl_npz_free(npz);
  return status;
}

double hl_scan_normalise_factor(const hl_scan *scan, double photons) {
  int64_t pixels = scan->count * scan->size * scan->size;
  return hl_scan_factor_of(scan, hl_scan_add_squares(0, scan->amplitude, pixels), photons);
}

double hl_scan_add_squares(double sum, const float *amplitude, int64_t pixels) {
  for (int64_t i = 0; i < pixels; i++) sum += (double)amplitude[i] * (double)amplitude[i];
  return sum;
}

double hl_scan_factor_of(const hl_scan *scan, double sum, double photons) {
  double half = (double)scan->size / 2;
  double mean = sum / (double)scan->count;
  if (!(mean > 0)) return 0; /* only a crop without any light */
  return sqrt(half * half / mean) * (sqrt(photons) / half);
}
