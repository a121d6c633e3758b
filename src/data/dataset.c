#include "base/hash.h"
#include "data/array.h"
#include "data/dataset-internal.h"
#include "data/image-folder.h"
#include "data/kind.h"
#include "data/neighbours.h"
#include "data/npz.h"
#include "data/scan-inputs.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hl_dataset_free(hl_dataset *dataset) {
  if (!dataset) return;
  for (size_t i = 0; i < dataset->input_count; i++) hl_array_release(&dataset->inputs[i]);
  free(dataset->inputs);
  hl_image_folder_free(dataset->folder);
  free(dataset->description);
  free(dataset);
}

hl_status hl__dataset_no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the data set");
}

static hl_status no_memory(hl_error *error) {
  return hl__dataset_no_memory(error);
}

hl_status hl__dataset_new(size_t port_count, hl_dataset **ret_dataset, hl_error *error) {
  hl_dataset *dataset = calloc(1, sizeof *dataset);
  if (!dataset) return no_memory(error);
  dataset->inputs = calloc(port_count + 1, sizeof *dataset->inputs);
  if (!dataset->inputs) {
    hl_dataset_free(dataset);
    return no_memory(error);
  }
  dataset->input_count = port_count;
  *ret_dataset = dataset;
  return HL_OK;
}

hl_status hl__dataset_dims(const hl_port *port, hl_data_rule rule, int64_t count,
                           int64_t ret_dims[HL_MAX_RANK], hl_error *error) {
  if (port->rank <= rule.batch_axis || port->rank < 0 || port->rank > HL_MAX_RANK)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "input '%s' has no batch dimension",
                        port->name);
  int32_t at = 0;
  if (rule.batch_axis >= 0) ret_dims[at++] = count;
  for (int32_t i = 0; i < port->rank; i++) {
    if (i == rule.batch_axis) continue;
    if (port->dims[i] < 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "input '%s': dimension %d is not fixed",
                          port->name, i);
    ret_dims[at++] = port->dims[i];
  }
  return HL_OK;
}

/* --- ptychography ------------------------------------------------------------------------ */

/* (-1, C, N, N), or (-1, N, N) for C = 1. */
static bool is_diffraction(const hl_port *port, int *ret_channels, int64_t *ret_size) {
  if (strcmp(port->name, "diffraction") != 0 || port->dtype != HL_FLOAT32) return false;
  if (port->rank != 3 && port->rank != 4) return false;
  int64_t channels = port->rank == 4 ? port->dims[1] : 1;
  int64_t rows = port->dims[port->rank - 2], columns = port->dims[port->rank - 1];
  if (channels < 1 || channels > HL_NEIGHBOURS_MAX || rows < 2 || rows != columns) return false;
  *ret_channels = (int)channels;
  *ret_size = rows;
  return true;
}

/* Patterns of each input, as the input array. */
static hl_status fill_diffraction(const hl_scan_inputs *inputs, const hl_port *port, int64_t count,
                                  hl_tensor_view *ret, hl_error *error) {
  int64_t dims[HL_MAX_RANK] = {0};
  hl_status status = hl__dataset_dims(port, (hl_data_rule){0}, count, dims, error);
  if (status == HL_OK) status = hl_array_new(port->name, port->dtype, port->rank, dims, ret, error);
  if (status == HL_OK) hl_scan_inputs_patterns(inputs, 0, count, ret->data);
  return status;
}

/* Relative positions. The port's axis of size 2 is (x, y), its axis of size C the patterns:
 * PtychoPINN has (-1, 1, 2, C). */
static hl_status fill_positions(const hl_scan_inputs *inputs, const hl_port *port, int64_t count,
                                hl_tensor_view *ret, hl_error *error) {
  int channels = inputs->channels;
  int64_t dims[HL_MAX_RANK] = {0}, elements = 0;
  hl_status status = hl__dataset_dims(port, (hl_data_rule){0}, count, dims, error);
  if (status != HL_OK) return status;
  bool axis_last = dims[port->rank - 1] == 2 && channels != 2;
  hl_tensor_view array;
  status = hl_array_new(port->name, HL_FLOAT32, port->rank, dims, &array, error);
  if (status != HL_OK) return status;
  hl_array_count(array.rank, array.dims, &elements);
  if (elements != count * 2 * channels) {
    hl_array_release(&array);
    return hl_error_set(error, HL_BAD_DATA,
                        "input 'positions' is not of shape (any, 1, 2, %d), as PtychoPINN has it",
                        channels);
  }
  float *to = array.data;
  for (int64_t i = 0; i < count; i++, to += 2 * channels) {
    double relative[HL_NEIGHBOURS_MAX][2];
    hl_scan_inputs_positions(inputs, i, 1, relative[0]);
    for (int c = 0; c < channels; c++) {
      to[axis_last ? 2 * c : c] = (float)relative[c][0];
      to[axis_last ? 2 * c + 1 : channels + c] = (float)relative[c][1];
    }
  }
  *ret = array;
  return HL_OK;
}

/* Squares of the patterns, with a mean of (N/2)^2 of their sums. */
static hl_status fill_intensity(const hl_scan_inputs *inputs, const hl_port *port, int64_t count,
                                hl_tensor_view *ret, hl_error *error) {
  hl_status status = fill_diffraction(inputs, port, count, ret, error);
  if (status != HL_OK) return status;
  double half = (double)port->dims[port->rank - 1] / 2, scale = half * half / HL_SCAN_PHOTONS;
  float *values = ret->data;
  for (uint64_t i = 0; i < ret->bytes / sizeof *values; i++)
    values[i] = (float)(scale * (double)values[i] * (double)values[i]);
  return HL_OK;
}

static hl_status fill_port(const hl_scan_inputs *inputs, const hl_port *port, int64_t count,
                           hl_tensor_view *ret, hl_error *error) {
  int channels;
  int64_t size;
  if (strcmp(port->name, HL_SCAN_INTENSITY) == 0)
    return fill_intensity(inputs, port, count, ret, error);
  if (is_diffraction(port, &channels, &size))
    return fill_diffraction(inputs, port, count, ret, error);
  if (strcmp(port->name, "positions") == 0 && port->dtype == HL_FLOAT32)
    return fill_positions(inputs, port, count, ret, error);
  return hl_error_set(error, HL_UNIMPLEMENTED, "input '%s' has no source in a ptychography scan",
                      port->name);
}

static hl_status take_scan(const hl_scan *scan, const hl_port *ports, size_t port_count,
                           int channels, int64_t max_images, uint64_t seed, hl_dataset *dataset,
                           hl_error *error) {
  hl_scan_inputs *inputs = NULL;
  hl_status status = hl_scan_inputs_new(scan, channels, seed, HL_SCAN_PHOTONS, &inputs, error);
  int64_t count = max_images > 0 && max_images < scan->count ? max_images : scan->count;
  for (size_t i = 0; i < port_count && status == HL_OK; i++)
    status = fill_port(inputs, &ports[i], count, &dataset->inputs[i], error);
  hl_scan_inputs_free(inputs);
  if (status != HL_OK) return status;
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, scan->notes);
  if (channels > 1)
    hl_text_format(&text, "; groups of %d nearest neighbours (seed %" PRIu64 ")", channels, seed);
  hl_text_format(&text, "; normalised to %g photons; %" PRId64 " input%s", HL_SCAN_PHOTONS, count,
                 count == 1 ? "" : "s");
  dataset->count = count;
  dataset->description = hl_text_take(&text);
  return dataset->description ? HL_OK : no_memory(error);
}

static hl_status read_ptychography(hl_npz *npz, const hl_port *ports, size_t port_count,
                                   int channels, int64_t size, int64_t max_images, uint64_t seed,
                                   hl_dataset *dataset, hl_error *error) {
  hl_scan *scan = NULL;
  hl_status status = hl_scan_from_npz(npz, size, &scan, error);
  if (status == HL_OK)
    status = take_scan(scan, ports, port_count, channels, max_images, seed, dataset, error);
  hl_scan_free(scan);
  return status;
}

hl_status hl_dataset_of_scan(const hl_scan *scan, const hl_port *ports, size_t port_count,
                             int64_t max_images, uint64_t seed, hl_dataset **ret_dataset,
                             hl_error *error) {
  int channels = 0;
  int64_t size = 0;
  size_t i = 0;
  hl_dataset *dataset = NULL;
  while (i < port_count && !is_diffraction(&ports[i], &channels, &size)) i++;
  if (i == port_count || size != scan->size)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "no input takes the scan's patterns");
  hl_status status = hl__dataset_new(port_count, &dataset, error);
  if (status != HL_OK) return status;
  status = take_scan(scan, ports, port_count, channels, max_images, seed, dataset, error);
  if (status == HL_OK) status = hl_dataset_add_fingerprint(dataset, error);
  if (status != HL_OK)
    hl_dataset_free(dataset);
  else
    *ret_dataset = dataset;
  return status;
}

/* --- arrays by name ---------------------------------------------------------------------- */

static hl_status mismatch(const hl_npz *npz, const hl_port *port, hl_data_rule rule,
                          const char *reason, hl_status status, hl_error *error) {
  hl_text want = HL_TEXT_INIT, list = HL_TEXT_INIT;
  int64_t dims[HL_MAX_RANK];
  for (int32_t i = 0; i < port->rank; i++) dims[i] = i == rule.batch_axis ? -1 : port->dims[i];
  hl_array_format_shape(&want, port->rank, dims);
  for (size_t i = 0; i < hl_npz_count(npz) && list.length < 180; i++) {
    const hl_npz_entry *entry = hl_npz_at(npz, i);
    hl_text_format(&list, "%s%.40s ", i ? ", " : "", entry->name);
    hl_array_format_shape(&list, entry->header.rank, entry->header.dims);
    hl_text_format(&list, " %s", entry->header.type);
  }
  hl_error_set(error, status,
               "%s: %s for the model's input '%.60s' %s %s; the file has: %s. Save the data under "
               "that name and shape",
               hl_npz_name(npz), reason, port->name, want.data, hl_dtype_name(port->dtype),
               list.length ? list.data : "nothing");
  hl_text_release(&want);
  hl_text_release(&list);
  return status;
}

static bool shape_fits(const hl_port *port, hl_data_rule rule, const hl_npy_header *header) {
  if (port->rank != header->rank || port->rank <= rule.batch_axis) return false;
  for (int32_t i = 0; i < port->rank; i++) {
    bool open = i == rule.batch_axis || port->dims[i] < 0;
    if (open ? header->dims[i] < 1 : port->dims[i] != header->dims[i]) return false;
  }
  return true;
}

static bool is_empty(const hl_npy_header *header) {
  for (int32_t i = 0; i < header->rank; i++)
    if (header->dims[i] == 0) return true;
  return false;
}

/* Keeps the first `count` of the first dimension. */
static void truncate_array(hl_tensor_view *array, int64_t count) {
  if (count >= array->dims[0]) return;
  array->bytes = array->bytes / (uint64_t)array->dims[0] * (uint64_t)count;
  array->dims[0] = count;
}

/* Moves dimension `axis` to the front. */
static hl_status move_front(hl_tensor_view *array, int32_t axis, hl_error *error) {
  int64_t before = 1, count = array->dims[axis];
  for (int32_t i = 0; i < axis; i++) before *= array->dims[i];
  if (axis < 1 || array->bytes == 0) return HL_OK;
  size_t part = (size_t)(array->bytes / (uint64_t)before / (uint64_t)count);
  char *moved = malloc((size_t)array->bytes);
  if (!moved) return no_memory(error);
  for (int64_t c = 0; c < count; c++)
    for (int64_t b = 0; b < before; b++)
      memcpy(moved + (size_t)(c * before + b) * part,
             (char *)array->data + (size_t)(b * count + c) * part, part);
  free(array->data);
  array->data = moved;
  memmove(array->dims + 1, array->dims, (size_t)axis * sizeof array->dims[0]);
  array->dims[0] = count;
  return HL_OK;
}

/* An index beyond its table would be read from who knows where. */
static hl_status check_indices(const hl_tensor_view *array, hl_data_rule rule, const char *what,
                               hl_error *error) {
  int64_t count = 0;
  if (rule.index_limit <= 0) return HL_OK;
  hl_array_count(array->rank, array->dims, &count);
  for (int64_t i = 0; i < count; i++) {
    double value = hl_array_at(array, i);
    if (value >= -(double)rule.index_limit && value < (double)rule.index_limit) continue;
    hl_text at = HL_TEXT_INIT;
    hl_array_format_index(&at, array->rank, array->dims, i);
    hl_error_set(error, HL_BAD_DATA,
                 "%s holds %.0f at %s; the model looks it up in a table of %" PRId64
                 " rows, 0 to %" PRId64,
                 what, value, at.data, rule.index_limit, rule.index_limit - 1);
    hl_text_release(&at);
    return HL_BAD_DATA;
  }
  return HL_OK;
}

/* Takes the array, or makes one of the port's type; says so in `notes`. */
static hl_status take(hl_tensor_view *raw, const hl_port *port, const char *what,
                      hl_tensor_view *ret, hl_text *notes, hl_error *error) {
  if (raw->dtype == port->dtype) {
    *ret = *raw;
    *raw = (hl_tensor_view){0};
    return HL_OK;
  }
  hl_error failure = {0};
  hl_status status = hl_array_convert(raw, port->dtype, what, ret, &failure);
  if (status == HL_LIMIT) return hl_error_set(error, status, "%s", failure.msg);
  if (status != HL_OK)
    return hl_error_set(error, status, "%s. Save it as %s: array.astype('%s')", failure.msg,
                        hl_dtype_name(port->dtype), hl_dtype_name(port->dtype));
  hl_text_format(notes, "; '%.60s' converted from %s to %s", port->name, hl_dtype_name(raw->dtype),
                 hl_dtype_name(port->dtype));
  return HL_OK;
}

static hl_status read_port(hl_npz *npz, const hl_port *port, hl_data_rule rule, bool only_port,
                           hl_tensor_view *ret, hl_text *notes, hl_error *error) {
  const hl_npz_entry *entry = hl_npz_find(npz, port->name);
  if (!entry && only_port && hl_npz_count(npz) == 1) entry = hl_npz_at(npz, 0);
  if (!entry) return mismatch(npz, port, rule, "no array", HL_NOT_FOUND, error);
  hl_tensor_view raw;
  if (!entry->problem && !shape_fits(port, rule, &entry->header))
    return mismatch(npz, port, rule,
                    is_empty(&entry->header) ? "the array is empty"
                                             : "the array has another shape than needed",
                    HL_BAD_DATA, error);
  hl_status status = hl_npz_read(npz, entry->name, &raw, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer)
  char *what = hl_format("%s: array '%s'", hl_npz_name(npz), entry->name);
  status = what ? hl_array_check_finite(&raw, what, error) : no_memory(error);
  if (status == HL_OK) status = check_indices(&raw, rule, what, error);
  if (status == HL_OK) status = take(&raw, port, what, ret, notes, error);
  hl_array_release(&raw);
  if (status == HL_OK) status = move_front(ret, rule.batch_axis, error);
  if (status != HL_OK || strcmp(ret->name, port->name) == 0) return status;
  free((void *)(uintptr_t)ret->name);
  ret->name = hl_strdup(port->name);
  return ret->name ? HL_OK : no_memory(error);
}

static hl_status read_arrays(hl_npz *npz, const hl_port *ports, const hl_data_rule *rules,
                             size_t port_count, int64_t max_images, hl_dataset *dataset,
                             hl_text *notes, hl_error *error) {
  int64_t count = -1;
  const char *counted = NULL;
  if (port_count == 0) return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has no inputs");
  for (size_t i = 0; i < port_count; i++) {
    hl_data_rule rule = hl__rule_of(rules, i);
    hl_status status =
        read_port(npz, &ports[i], rule, port_count == 1, &dataset->inputs[i], notes, error);
    if (status != HL_OK) return status;
    const hl_tensor_view *array = &dataset->inputs[i];
    if (rule.batch_axis < 0) continue;
    if (counted && array->dims[0] != count)
      return hl_error_set(error, HL_BAD_DATA,
                          "%s: '%s' has %" PRId64 " inputs but '%s' has %" PRId64
                          ". They must have equally many",
                          hl_npz_name(npz), array->name, array->dims[0], counted, count);
    counted = array->name;
    count = array->dims[0];
  }
  if (!counted) count = 1; /* nothing has a batch: one run is one input */
  if (max_images > 0 && max_images < count) count = max_images;
  for (size_t i = 0; i < port_count; i++)
    if (hl__rule_of(rules, i).batch_axis >= 0) truncate_array(&dataset->inputs[i], count);
  dataset->count = count;
  dataset->description = hl_format("%s: %" PRId64 " input%s, taken as they are%s", hl_npz_name(npz),
                                   count, count == 1 ? "" : "s", notes->data);
  return dataset->description ? HL_OK : no_memory(error);
}

hl_status hl_dataset_add_fingerprint(hl_dataset *dataset, hl_error *error) {
  uint64_t hash = HL_HASH_START;
  for (size_t i = 0; i < dataset->input_count; i++)
    hash = hl_hash_bytes(hash, dataset->inputs[i].data, (size_t)dataset->inputs[i].bytes);
  char *description =
      hl_format("%s; contents %08" PRIx32, dataset->description, (uint32_t)(hash ^ hash >> 32));
  if (!description) return no_memory(error);
  hl_text_blank(description, ""); /* names of files */
  free(dataset->description);
  dataset->description = description;
  return HL_OK;
}

/* From the arrays of a file. */
static hl_status read_file(const char *path, const hl_port *ports, const hl_data_rule *rules,
                           size_t port_count, int64_t max_images, uint64_t seed,
                           hl_dataset *dataset, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(path, NULL, &npz, error);
  if (status != HL_OK) return status;
  int channels = 0;
  int64_t size = 0;
  size_t i = 0;
  while (i < port_count && !is_diffraction(&ports[i], &channels, &size)) i++;
  /* An array of the port's own name and full shape is input made ready by somebody else. */
  const hl_npz_entry *ready = i < port_count ? hl_npz_find(npz, ports[i].name) : NULL;
  if (ready && ready->header.rank == 4 && shape_fits(&ports[i], (hl_data_rule){0}, &ready->header))
    i = port_count;
  hl_text notes = HL_TEXT_INIT;
  status = i < port_count
               ? read_ptychography(npz, ports, port_count, channels, size, max_images, seed,
                                   dataset, error)
               : read_arrays(npz, ports, rules, port_count, max_images, dataset, &notes, error);
  hl_text_release(&notes);
  hl_npz_free(npz);
  return status;
}

static hl_status read_any(const char *path, const hl_port *ports, const hl_data_rule *rules,
                          size_t port_count, const hl_data_choice *choice, hl_dataset *dataset,
                          hl_error *error) {
  switch (hl_data_kind_of(path)) {
  case HL_DATA_ARRAYS:
    return read_file(path, ports, rules, port_count, choice->max_images, choice->seed, dataset,
                     error);
  case HL_DATA_PICTURE:
    return hl_error_set(error, HL_BAD_DATA,
                        "'%.200s' is a picture; put pictures into a folder and give that", path);
  case HL_DATA_PICTURES:
    return hl__dataset_read_images(path, ports, port_count, choice, dataset, error);
  case HL_DATA_TIFF:
  case HL_DATA_TIFFS:
    break;
  }
  return hl_error_set(error, HL_BAD_DATA,
                      "'%.200s' holds TIFF, which is for a model whose only input is float32 of "
                      "shape (any, 1, depth, height, width) or (any, 1, height, width); give this "
                      "one a file of arrays (npz, npy)",
                      path);
}

hl_status hl_dataset_read(const char *path, const hl_port *ports, const hl_data_rule *rules,
                          size_t port_count, const hl_data_choice *choice, hl_dataset **ret_dataset,
                          hl_error *error) {
  hl_dataset *dataset = NULL;
  hl_status status = hl__dataset_new(port_count, &dataset, error);
  if (status != HL_OK) return status;
  status = read_any(path, ports, rules, port_count, choice, dataset, error);
  if (status == HL_OK) status = hl_dataset_add_fingerprint(dataset, error);
  if (status != HL_OK)
    hl_dataset_free(dataset);
  else
    *ret_dataset = dataset;
  return status;
}
