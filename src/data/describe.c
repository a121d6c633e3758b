#include "data/data.h"

#include "data/array.h"
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

/* Smallest and largest value, or that some are not finite. */
static void format_range(hl_text *text, const hl_tensor_view *array) {
  int64_t count = 0, bad = 0;
  double low = INFINITY, high = -INFINITY;
  hl_array_count(array->rank, array->dims, &count);
  for (int64_t i = 0; i < count; i++) {
    double v = hl_array_at(array, i);
    if (!isfinite(v)) {
      bad++;
      continue;
    }
    if (v < low) low = v;
    if (v > high) high = v;
  }
  bool complex = array->dtype == HL_COMPLEX64 || array->dtype == HL_COMPLEX128;
  if (count == 0)
    hl_text_append(text, "empty");
  else if (low <= high)
    hl_text_format(text, "%s%.6g to %.6g", complex ? "modulus " : "", low, high);
  if (bad) hl_text_format(text, "%s%" PRId64 " not finite", low <= high ? ", " : "", bad);
}

static void format_entry(hl_npz *npz, const hl_npz_entry *entry, hl_text *text) {
  const hl_npy_header *header = &entry->header;
  hl_text shape = HL_TEXT_INIT, range = HL_TEXT_INIT;
  hl_array_format_shape(&shape, header->rank, header->dims);
  hl_tensor_view array;
  hl_error error = {0};
  if (hl_npz_read(npz, entry->name, &array, &error) == HL_OK) {
    format_range(&range, &array);
    hl_array_release(&array);
  } else {
    hl_text_append(&range, "unreadable, see below");
  }
  const char *type = header->dtype ? hl_array_dtype_name(header->dtype) : header->type;
  const char *order = header->rank < 2 ? "-" : header->fortran ? "column-major" : "row-major";
  hl_text_format(text, "  %-16s %-11s %-22s %s%s  %s\n", entry->name, type, shape.data, order,
                 header->swapped ? ", big-endian" : "", range.data);
  hl_text_release(&shape);
  hl_text_release(&range);
}

static void format_scan(hl_npz *npz, const char *path, hl_text *text) {
  hl_scan *scan = NULL;
  hl_error error = {0};
  if (hl_scan_from_npz(npz, 0, &scan, &error) != HL_OK) {
    hl_text_format(text, "\nNot usable as a ptychography scan: %s\n", error.msg);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < scan->count * scan->size * scan->size; i++)
    sum += (double)scan->amplitude[i] * (double)scan->amplitude[i];
  hl_text_format(text,
                 "\nA ptychography scan of %" PRId64 " patterns, N = %" PRId64 ", in '%s'\n"
                 "  values          %s\n"
                 "  zero frequency  at the %s\n"
                 "  intensity       %.6g a pattern on average\n"
                 "  positions       %s\n"
                 "  read as         %s\n",
                 scan->count, scan->size, scan->key,
                 scan->counts ? "counts (the square root is taken)" : "amplitudes",
                 scan->corner ? "corner (moved to the centre)" : "centre",
                 sum / (double)scan->count, scan->x ? "yes" : "none: gridsize=1 only", scan->notes);
  int n = scan->size >= 128 ? 128 : scan->size >= 64 ? 64 : 0;
  if (n)
    hl_text_format(text, "Measure with it: hotlap sweep ptychopinn:N=%d --test-data %s\n", n, path);
  else
    hl_text_append(text, "Patterns of fewer than 64 x 64 pixels fit no built-in network.\n");
  hl_scan_free(scan);
}

hl_status hl_data_describe(const char *path, hl_text *ret_text, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  size_t count = hl_npz_count(npz);
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += hl_npz_at(npz, i)->header.data_bytes;
  hl_text_format(ret_text, "%s (%s): %zu array%s, ", path, hl_npz_container(npz), count,
                 count == 1 ? "" : "s");
  format_bytes(ret_text, bytes);
  hl_text_append(ret_text, "\n");
  for (size_t i = 0; i < count; i++) format_entry(npz, hl_npz_at(npz, i), ret_text);
  for (size_t i = 0; i < count; i++)
    if (hl_npz_at(npz, i)->problem)
      hl_text_format(ret_text, "Unreadable: %s\n", hl_npz_at(npz, i)->problem);
  if (hl_scan_find(npz))
    format_scan(npz, path, ret_text);
  else if (count)
    hl_text_append(ret_text,
                   "\nNo diffraction patterns. Arrays are given to the model inputs of their name; "
                   "the only array to the only input.\n");
  hl_npz_free(npz);
  if (ret_text->failed)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the description");
  return HL_OK;
}
