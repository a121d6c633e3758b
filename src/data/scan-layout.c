#include "data/scan-layout.h"

#include "data/array.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double planck = 6.62607015e-34, light = 299792458,
                    kilo_electron_volt = 1.602176634e-16;

#define CXI "entry_1/instrument_1/"

/* CXI, PtyD. */
static const hl_scan_layout layouts[] = {
    {.patterns = {"entry_1/data_1/data", CXI "detector_1/data"},
     .positions = {"entry_1/data_1/translation", "entry_1/sample_1/geometry_1/translation",
                   CXI "detector_1/translation"},
     .energy = {CXI "source_1/energy"},
     .distance = {CXI "detector_1/distance"},
     .pixel_x = {CXI "detector_1/x_pixel_size"},
     .pixel_y = {CXI "detector_1/y_pixel_size"},
     .mask = CXI "detector_1/mask",
     .joules = 1},
    {.patterns = {"chunks/0/data"},
     .positions = {"chunks/0/positions"},
     .energy = {"meta/energy", "info/energy"},
     .distance = {"meta/distance", "info/distance"},
     .pixel_x = {"meta/psize", "info/psize"},
     .pixel_y = {"meta/psize", "info/psize"},
     .joules = kilo_electron_volt,
     .vertical_first = true}};

static const char *first_of(const hl_npz *npz, const char *const names[HL_LAYOUT_NAMES]) {
  for (int i = 0; i < HL_LAYOUT_NAMES && names[i]; i++)
    if (hl_npz_find(npz, names[i])) return names[i];
  return NULL;
}

const hl_scan_layout *hl_scan_layout_of(const hl_npz *npz, const hl_npz_entry **ret_entry) {
  for (size_t i = 0; i < HL_COUNT(layouts); i++) {
    const char *name = first_of(npz, layouts[i].patterns);
    if (!name) continue;
    *ret_entry = hl_npz_find(npz, name);
    return &layouts[i];
  }
  return NULL;
}

/* An array of finite doubles. */
static hl_status read_doubles(hl_npz *npz, const char *name, hl_tensor_view *ret,
                              int64_t *ret_count, hl_error *error) {
  hl_tensor_view raw;
  int parts = 0;
  hl_status status = hl_scan_parts_read(npz, name, &raw, &parts, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *what = hl_format("%s: array '%s'", hl_npz_name(npz), name);
  status = what ? hl_array_check_finite(&raw, what, error)
                : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a scan");
  if (status == HL_OK) status = hl_array_convert(&raw, HL_FLOAT64, what, ret, error);
  hl_array_release(&raw);
  if (status == HL_OK) hl_array_count(ret->rank, ret->dims, ret_count);
  return status;
}

hl_status hl_scan_layout_positions(const hl_scan_layout *layout, hl_npz *npz, hl_scan *scan,
                                   int64_t *ret_count, hl_error *error) {
  const char *name = first_of(npz, layout->positions);
  *ret_count = -1;
  if (!name) return HL_OK;
  hl_tensor_view all = {0};
  int64_t elements = 0;
  hl_status status = read_doubles(npz, name, &all, &elements, error);
  if (status != HL_OK) return status;
  int64_t columns = all.rank == 2 ? all.dims[1] : 0, count = all.rank == 2 ? all.dims[0] : 0;
  if (columns != 2 && columns != 3) {
    status = hl_error_set(error, HL_BAD_DATA,
                          "%s: array '%s' has to be of shape (images, 2) or (images, 3), in metres",
                          hl_npz_name(npz), name);
  } else {
    const double *v = all.data;
    int x = layout->vertical_first, y = !x;
    scan->x = calloc((size_t)count + 1, sizeof *scan->x);
    scan->y = calloc((size_t)count + 1, sizeof *scan->y);
    if (!scan->x || !scan->y)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the scan");
    for (int64_t i = 0; status == HL_OK && i < count; i++) {
      scan->x[i] = v[i * columns + x];
      scan->y[i] = v[i * columns + y];
    }
    *ret_count = count;
  }
  hl_array_release(&all);
  return status;
}

/* A number above 0; of several the last, or with `first` the first. NaN in *ret, and what is
 * missing in *ret_missing, where the file has none. */
static hl_status read_number(hl_npz *npz, const char *const names[HL_LAYOUT_NAMES], bool first,
                             double *ret, const char **ret_missing, hl_error *error) {
  const char *name = first_of(npz, names);
  *ret = NAN;
  if (!name) {
    *ret_missing = names[0];
    return HL_OK;
  }
  hl_tensor_view array = {0};
  int64_t count = 0;
  hl_status status = read_doubles(npz, name, &array, &count, error);
  if (status != HL_OK) return status;
  if (count > 0) *ret = fabs(((const double *)array.data)[first ? 0 : count - 1]);
  hl_array_release(&array);
  if (*ret > 0) return HL_OK;
  return hl_error_set(error, HL_BAD_DATA, "%s: array '%s' is not above 0", hl_npz_name(npz), name);
}

static void drop_positions(hl_scan *scan) {
  free(scan->x);
  free(scan->y);
  scan->x = scan->y = NULL;
}

hl_status hl_scan_layout_to_pixels(const hl_scan_layout *layout, hl_npz *npz, int64_t size,
                                   hl_scan *scan, hl_text *notes, hl_error *error) {
  if (!scan->x) return HL_OK;
  double energy = NAN, distance = NAN, x = NAN, y = NAN;
  const char *missing = NULL;
  hl_status status = read_number(npz, layout->energy, false, &energy, &missing, error);
  if (status == HL_OK)
    status = read_number(npz, layout->distance, false, &distance, &missing, error);
  if (status == HL_OK) status = read_number(npz, layout->pixel_x, false, &x, &missing, error);
  if (status == HL_OK)
    status = read_number(npz, layout->pixel_y, layout->vertical_first, &y, &missing, error);
  if (status != HL_OK) return status;
  if (missing) {
    drop_positions(scan);
    hl_text_format(notes, "; positions are in metres and left out, since there is no '%s'",
                   missing);
    return HL_OK;
  }
  double wavelength = planck * light / (energy * layout->joules);
  double metres = wavelength * distance / (double)size;
  if (!(wavelength > 1e-13 && wavelength < 1e-6 && metres / x > 0 && isfinite(metres / x)))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: an energy of %g %s is a wavelength of %g m, at which nobody scans: is "
                        "it in another unit?",
                        hl_npz_name(npz), energy, layout->joules == 1 ? "J" : "keV", wavelength);
  for (int64_t i = 0; i < scan->count; i++) {
    scan->x[i] /= metres / x;
    scan->y[i] /= metres / y;
  }
  hl_text_format(notes, "; positions from metres, %.4g nm a pixel", metres / x * 1e9);
  return HL_OK;
}
