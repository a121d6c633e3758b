#include "data/data.h"

#include "base/json-writer.h"
#include "data/array.h"
#include "data/describe-internal.h"
#include "data/kind.h"
#include "data/npz.h"
#include "data/ptychography.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "3.35 MB", in powers of ten as everywhere. */
static void format_bytes(hl_text *text, uint64_t bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = (double)bytes;
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < HL_COUNT(units); unit++) value /= 1000;
  hl_text_format(text, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

typedef struct range {
  double low, high; /* of the finite values; NaN if there is none */
  int64_t bad;      /* values that are not finite */
} range;

/* Of the modulus, for complex values. */
static range find_range(const hl_tensor_view *array) {
  int64_t count = 0;
  range r = {.low = NAN, .high = NAN};
  hl_array_count(array->rank, array->dims, &count);
  for (int64_t i = 0; i < count; i++) {
    double v = hl_array_at(array, i);
    if (!isfinite(v)) {
      r.bad++;
      continue;
    }
    if (!(v >= r.low)) r.low = v;
    if (!(v <= r.high)) r.high = v;
  }
  return r;
}

static void format_range(hl_text *text, const hl_tensor_view *array) {
  range r = find_range(array);
  bool modulus = array->dtype == HL_COMPLEX64 || array->dtype == HL_COMPLEX128;
  if (!isnan(r.low))
    hl_text_format(text, "%s%.6g to %.6g", modulus ? "modulus " : "", r.low, r.high);
  else if (!r.bad)
    hl_text_append(text, "empty");
  if (r.bad) hl_text_format(text, "%s%" PRId64 " not finite", isnan(r.low) ? "" : ", ", r.bad);
}

static void format_entry(hl_npz *npz, const hl_npz_entry *entry, hl_text *text) {
  const hl_npy_header *header = &entry->header;
  hl_text shape = HL_TEXT_INIT, values = HL_TEXT_INIT;
  hl_array_format_shape(&shape, header->rank, header->dims);
  hl_tensor_view array;
  hl_error error = {0};
  if (hl_npz_read(npz, entry->name, &array, &error) == HL_OK) {
    format_range(&values, &array);
    hl_array_release(&array);
  } else {
    hl_text_append(&values, "unreadable, see below");
  }
  const char *type = header->dtype ? hl_dtype_name(header->dtype) : header->type;
  const char *order = header->rank < 2 ? "-" : header->fortran ? "column-major" : "row-major";
  hl_text_line(text, "  %-16s %-11s %-22s %-12s %s%s", entry->name, type, shape.data, order,
               header->swapped ? "big-endian, " : "", values.data);
  hl_text_release(&shape);
  hl_text_release(&values);
}

static void format_scan(hl_npz *npz, const char *path, hl_text *text) {
  hl_scan *scan = NULL;
  hl_error error = {0};
  if (hl_scan_from_npz(npz, 0, &scan, &error) != HL_OK) {
    hl_text_char(text, '\n');
    hl_text_line(text, "Not usable as a ptychography scan: %s", error.msg);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < scan->count * scan->size * scan->size; i++)
    sum += (double)scan->amplitude[i] * (double)scan->amplitude[i];
  hl_text_char(text, '\n');
  hl_text_line(text, "A ptychography scan of %" PRId64 " patterns, N = %" PRId64 ", in '%s'",
               scan->count, scan->size, scan->key);
  hl_text_format(text,
                 "  values          %s\n"
                 "  zero frequency  at the %s\n"
                 "  intensity       %.6g a pattern on average\n"
                 "  positions       %s\n",
                 scan->counts ? "counts (the square root is taken)" : "amplitudes",
                 scan->corner ? "corner (moved to the centre)" : "centre",
                 sum / (double)scan->count, scan->x ? "yes" : "none: gridsize=1 only");
  hl_text_line(text, "  probe           %s", scan->probe ? "yes" : scan->probe_problem);
  if (scan->object)
    hl_text_line(text, "  true object     %" PRId64 " x %" PRId64, scan->object_height,
                 scan->object_width);
  else
    hl_text_line(text, "  true object     %s", scan->object_problem);
  hl_text_line(text, "  read as         %s", scan->notes);
  int n = scan->size >= 128 ? 128 : scan->size >= 64 ? 64 : 0;
  if (n)
    hl_text_line(text, "Measure with it: hotlap sweep ptychopinn:N=%d --test-data %s", n, path);
  else
    hl_text_append(text, "Patterns of fewer than 64 x 64 pixels fit no built-in network.\n");
  hl_scan_free(scan);
}

static hl_status describe_arrays(const char *path, hl_text *ret_text, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  size_t count = hl_npz_count(npz);
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += hl_npz_at(npz, i)->header.data_bytes;
  hl_text size = HL_TEXT_INIT;
  format_bytes(&size, bytes);
  hl_text_line(ret_text, "%s (%s): %zu array%s, %s", path, hl_npz_container(npz), count,
               count == 1 ? "" : "s", size.data);
  hl_text_release(&size);
  for (size_t i = 0; i < count; i++) format_entry(npz, hl_npz_at(npz, i), ret_text);
  for (size_t i = 0; i < count; i++)
    if (hl_npz_at(npz, i)->problem)
      hl_text_line(ret_text, "Unreadable: %s", hl_npz_at(npz, i)->problem);
  if (hl_scan_find(npz))
    format_scan(npz, path, ret_text);
  else if (count)
    hl_text_append(ret_text,
                   "\nNo diffraction patterns. Arrays are given to the model inputs of their name; "
                   "the only array to the only input.\n");
  hl_npz_free(npz);
  return HL_OK;
}

static hl_status refuse_picture(const char *path, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA,
                      "'%.200s' is a picture; put pictures into a folder and show that", path);
}

static hl_status check_text(const hl_text *text, hl_status status, hl_error *error) {
  if (status != HL_OK || !text->failed) return status;
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the description");
}

static hl_status describe_any(const char *path, hl_text *text, hl_error *error) {
  switch (hl_data_kind_of(path)) {
  case HL_DATA_ARRAYS:
    return describe_arrays(path, text, error);
  case HL_DATA_PICTURE:
    return refuse_picture(path, error);
  case HL_DATA_PICTURES:
    return hl__describe_images(path, text, error);
  case HL_DATA_TIFF:
    return hl__describe_tiff(path, false, text, error);
  case HL_DATA_TIFFS:
    return hl__describe_tiff(path, true, text, error);
  }
  return HL_INTERNAL;
}

hl_status hl_data_describe(const char *path, hl_text *ret_text, hl_error *error) {
  return check_text(ret_text, describe_any(path, ret_text, error), error);
}

static void write_entry(hl_json *json, hl_npz *npz, const hl_npz_entry *entry) {
  const hl_npy_header *header = &entry->header;
  hl_json_object(json, NULL);
  hl_json_text(json, "name", entry->name);
  hl_json_text(json, "dtype", header->dtype ? hl_dtype_name(header->dtype) : header->type);
  hl_json_array(json, "shape");
  for (int32_t i = 0; i < header->rank; i++) hl_json_int(json, NULL, header->dims[i]);
  hl_json_end(json);
  hl_json_bool(json, "column_major", header->fortran);
  hl_json_bool(json, "byte_swapped", header->swapped);
  hl_tensor_view array;
  hl_error error = {0};
  range r = {.low = NAN, .high = NAN};
  if (hl_npz_read(npz, entry->name, &array, &error) == HL_OK) {
    r = find_range(&array);
    hl_array_release(&array);
  }
  hl_json_real(json, "min", r.low);
  hl_json_real(json, "max", r.high);
  hl_json_int(json, "not_finite_count", r.bad);
  hl_json_text(json, "problem", error.status ? error.msg : NULL);
  hl_json_end(json);
}

static void write_scan(hl_json *json, hl_npz *npz) {
  hl_scan *scan = NULL;
  hl_error error = {0};
  if (!hl_scan_find(npz)) {
    hl_json_null(json, "ptychography");
    return;
  }
  hl_json_object(json, "ptychography");
  if (hl_scan_from_npz(npz, 0, &scan, &error) == HL_OK) {
    hl_json_text(json, "key", scan->key);
    hl_json_int(json, "patterns", scan->count);
    hl_json_int(json, "size", scan->size);
    hl_json_text(json, "values", scan->counts ? "counts" : "amplitudes");
    hl_json_text(json, "zero_frequency", scan->corner ? "corner" : "centre");
    hl_json_bool(json, "positions", scan->x);
    hl_json_bool(json, "probe", scan->probe);
    hl_json_bool(json, "object", scan->object);
    hl_json_text(json, "read_as", scan->notes);
    hl_scan_free(scan);
  }
  hl_json_text(json, "problem", error.status ? error.msg : NULL);
  hl_json_end(json);
}

static hl_status write_arrays(const char *path, hl_json *json, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  hl_json_text(json, "container", hl_npz_container(npz));
  hl_json_array(json, "arrays");
  for (size_t i = 0; i < hl_npz_count(npz); i++) write_entry(json, npz, hl_npz_at(npz, i));
  hl_json_end(json);
  write_scan(json, npz);
  hl_npz_free(npz);
  return HL_OK;
}

static hl_status write_any(const char *path, hl_json *json, hl_error *error) {
  switch (hl_data_kind_of(path)) {
  case HL_DATA_ARRAYS:
    return write_arrays(path, json, error);
  case HL_DATA_PICTURE:
    return refuse_picture(path, error);
  case HL_DATA_PICTURES:
    return hl__describe_images_json(path, json, error);
  case HL_DATA_TIFF:
    return hl__describe_tiff_json(path, false, json, error);
  case HL_DATA_TIFFS:
    return hl__describe_tiff_json(path, true, json, error);
  }
  return HL_INTERNAL;
}

hl_status hl_data_describe_json(const char *path, hl_text *ret_text, hl_error *error) {
  hl_json json;
  hl_json_init(&json, ret_text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.data/1");
  hl_json_text(&json, "file", path);
  hl_status status = write_any(path, &json, error);
  hl_json_end(&json);
  hl_text_char(ret_text, '\n');
  return check_text(ret_text, status, error);
}
