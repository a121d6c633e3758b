#include "data/scan-inputs.h"

#include "data/neighbours.h"
#include <stdlib.h>
#include <string.h>

void hl_scan_inputs_free(hl_scan_inputs *inputs) {
  if (!inputs) return;
  free(inputs->members);
  free(inputs->x);
  free(inputs->y);
  free(inputs);
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the inputs of a scan");
}

/* Sums over a group are in its order, of parts of the mean: the same bits as hl_dataset_read ever
 * had. */
static void locate(hl_scan_inputs *inputs) {
  const hl_scan *scan = inputs->scan;
  for (int64_t i = 0; i < inputs->count && scan->x; i++) {
    inputs->x[i] = inputs->y[i] = 0;
    for (int c = 0; c < inputs->channels; c++) {
      int64_t member = inputs->members[i * inputs->channels + c];
      inputs->x[i] += scan->x[member] / inputs->channels;
      inputs->y[i] += scan->y[member] / inputs->channels;
    }
  }
}

hl_status hl_scan_inputs_group(hl_scan_inputs *inputs, uint64_t seed, hl_error *error) {
  const hl_scan *scan = inputs->scan;
  hl_status status = hl_neighbours_group(scan->x, scan->y, scan->count, inputs->channels, seed,
                                         inputs->members, error);
  if (status != HL_OK)
    hl_error_prefix(error, "%s", scan->file);
  else
    locate(inputs);
  return status;
}

static hl_status prepare(hl_scan_inputs *inputs, uint64_t seed, double photons, hl_error *error) {
  const hl_scan *scan = inputs->scan;
  if (inputs->channels > 1 && !scan->x)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s has no positions (xcoords and ycoords), which groups of %d neighbours "
                        "need. Use gridsize=1",
                        scan->file, inputs->channels);
  inputs->factor = hl_scan_normalise_factor(scan, photons);
  if (!(inputs->factor > 0))
    return hl_error_set(error, HL_BAD_DATA,
                        "the patterns are dark within the part that is used: %s", scan->notes);
  inputs->members = calloc((size_t)scan->count * (size_t)inputs->channels, sizeof *inputs->members);
  if (!inputs->members) return no_memory(error);
  if (scan->x) {
    inputs->x = calloc((size_t)inputs->count, sizeof *inputs->x);
    inputs->y = calloc((size_t)inputs->count, sizeof *inputs->y);
    if (!inputs->x || !inputs->y) return no_memory(error);
  }
  return hl_scan_inputs_group(inputs, seed, error);
}

hl_status hl_scan_inputs_new(const hl_scan *scan, int channels, uint64_t seed, double photons,
                             hl_scan_inputs **ret_inputs, hl_error *error) {
  hl_scan_inputs *inputs = calloc(1, sizeof *inputs);
  if (!inputs) return no_memory(error);
  inputs->scan = scan;
  inputs->channels = channels;
  inputs->count = scan->count;
  hl_status status = prepare(inputs, seed, photons, error);
  if (status != HL_OK)
    hl_scan_inputs_free(inputs);
  else
    *ret_inputs = inputs;
  return status;
}

void hl_scan_inputs_normalise(const hl_scan_inputs *inputs, const float *pattern, float *ret) {
  int64_t pixels = inputs->scan->size * inputs->scan->size;
  for (int64_t p = 0; p < pixels; p++) ret[p] = (float)((double)pattern[p] * inputs->factor);
}

void hl_scan_inputs_patterns(const hl_scan_inputs *inputs, int64_t first, int64_t n, float *ret) {
  int64_t pixels = inputs->scan->size * inputs->scan->size, channels = inputs->channels;
  for (int64_t i = first * channels; i < (first + n) * channels; i++) {
    const float *from = inputs->scan->amplitude + inputs->members[i] * pixels;
    hl_scan_inputs_normalise(inputs, from, ret);
    ret += pixels;
  }
}

void hl_scan_inputs_positions(const hl_scan_inputs *inputs, int64_t first, int64_t n, double *ret) {
  const hl_scan *scan = inputs->scan;
  int64_t channels = inputs->channels;
  for (int64_t i = first * channels; i < (first + n) * channels; i++, ret += 2) {
    ret[0] = scan->x ? -(scan->x[inputs->members[i]] - inputs->x[i / channels]) : 0;
    ret[1] = scan->x ? -(scan->y[inputs->members[i]] - inputs->y[i / channels]) : 0;
  }
}
