#include "workloads/pipeline-scan.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/array.h"
#include "data/neighbours.h"
#include "workloads/simulated-scan.h"
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the scan");
}

void hl_pipeline_scan_release(hl_pipeline_scan *scan) {
  hl_scan_inputs_free(scan->inputs);
  hl_scan_free(scan->scan);
  if (scan->fd >= 0) close(scan->fd);
  free(scan->relative);
  *scan = (hl_pipeline_scan){.fd = -1};
}

/* (any, channels, N, N). */
static hl_status read_port(const char *model, const hl_port *port, hl_pipeline_scan *s,
                           hl_error *error) {
  bool fits = port->dtype == HL_FLOAT32 && port->rank == 4 && port->dims[1] >= 1 &&
              port->dims[1] <= HL_NEIGHBOURS_MAX && port->dims[2] >= 2 &&
              port->dims[2] == port->dims[3];
  if (!fits)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "%.200s: its input '%.60s' is not float32 of shape (any, patterns, N, N), "
                        "so that no pipeline can be made of it; a pipeline is for ptychopinn and "
                        "what was trained from it",
                        model, port->name);
  s->channels = (int)port->dims[1];
  s->size = port->dims[2];
  return HL_OK;
}

static hl_status read_scan(const hl_configuration *c, hl_pipeline_scan *s, hl_error *error) {
  if (!c->test_data)
    return hl_simulated_scan(s->size, c->n_images ? c->n_images : HL_SIMULATED_POSITIONS, c->seed,
                             &s->scan, error);
  s->what = c->test_data;
  hl_status status = hl_scan_read(c->test_data, s->size, &s->scan, error);
  if (status != HL_OK) return status;
  if (!s->scan->x)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s has no positions, and an image cannot be put together without them. "
                        "Save them as xcoords and ycoords (images). It was read so: %.300s",
                        c->test_data, s->scan->notes);
  return HL_OK;
}

/* Groups come of as many patterns as there are channels, and the pattern's own position. */
static hl_status check_groups(const hl_pipeline_scan *s, hl_error *error) {
  if (s->channels == 1 || s->scan->count > s->channels) return HL_OK;
  return hl_error_set(error, HL_BAD_DATA,
                      "%s has %" PRId64 " positions; groups of %d neighbours need %d at least. "
                      "Use a network of gridsize 1",
                      s->what, s->scan->count, s->channels, s->channels + 1);
}

hl_status hl_pipeline_scan_open(const hl_configuration *configuration, const hl_port *port,
                                hl_pipeline_scan *ret_scan, hl_error *error) {
  hl_pipeline_scan s = {
      .fd = -1, .what = "the simulated scan", .seed = (uint64_t)configuration->seed};
  hl_status status = read_port(configuration->model, port, &s, error);
  if (status == HL_OK) status = read_scan(configuration, &s, error);
  if (status == HL_OK) status = check_groups(&s, error);
  if (status == HL_OK)
    status = hl_scan_inputs_new(s.scan, s.channels, s.seed, HL_SCAN_PHOTONS, &s.inputs, error);
  if (status == HL_OK) {
    int64_t most = configuration->n_images;
    s.count = most && most < s.scan->count ? most : s.scan->count;
    s.relative = calloc((size_t)(s.count * s.channels), 2 * sizeof *s.relative);
    status = s.relative ? hl_pipeline_scan_group(&s, error) : no_memory(error);
  }
  if (status != HL_OK) {
    hl_pipeline_scan_release(&s);
    return status;
  }
  *ret_scan = s;
  return HL_OK;
}

/* -- patterns on disk ------------------------------------------------------------------------ */

static size_t pattern_bytes(const hl_pipeline_scan *s) {
  return (size_t)(s->size * s->size) * sizeof(float);
}

static hl_status read_pattern(const hl_pipeline_scan *s, int64_t pattern, float *to,
                              hl_error *error) {
  size_t bytes = pattern_bytes(s);
  char *at = (char *)to;
  off_t from = (off_t)pattern * (off_t)bytes;
  while (bytes) {
    ssize_t got = pread(s->fd, at, bytes, from);
    if (got <= 0)
      return hl_error_errno(error, HL_IO, "cannot read pattern %" PRId64 " of %s back", pattern,
                            s->what);
    at += got;
    from += got;
    bytes -= (size_t)got;
  }
  return HL_OK;
}

static hl_status write_patterns(const hl_pipeline_scan *s, int fd, hl_error *error) {
  const char *at = (const char *)s->scan->amplitude;
  for (size_t left = pattern_bytes(s) * (size_t)s->scan->count; left;) {
    ssize_t put = write(fd, at, left);
    if (put <= 0) return hl_error_errno(error, HL_IO, "cannot write the patterns of %s", s->what);
    at += put;
    left -= (size_t)put;
  }
  return HL_OK;
}

hl_status hl_pipeline_scan_to_disk(hl_pipeline_scan *scan, const char *directory, hl_error *error) {
  hl_pipeline_scan *s = scan;
  if (!directory || hl_directory_make(directory, NULL) != HL_OK)
    return hl_error_set(error, HL_UNAVAILABLE, "no directory for the patterns of %s", s->what);
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/scan-XXXXXX", directory);
  if (!path) return no_memory(error);
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) return hl_error_errno(error, HL_IO, "cannot write into %s", directory);
  unlink(path);
  hl_status status = write_patterns(s, fd, error);
  if (status != HL_OK) {
    close(fd);
    return status;
  }
  free(s->scan->amplitude);
  s->scan->amplitude = NULL;
  s->fd = fd;
  return HL_OK;
}

hl_status hl_pipeline_scan_map(const hl_pipeline_scan *scan, const float **ret_amplitude,
                               hl_error *error) {
  *ret_amplitude = scan->scan->amplitude;
  if (scan->fd < 0) return HL_OK;
  size_t bytes = pattern_bytes(scan) * (size_t)scan->scan->count;
  void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, scan->fd, 0);
  if (memory == MAP_FAILED)
    return hl_error_errno(error, HL_IO, "cannot map the patterns of %s", scan->what);
  *ret_amplitude = memory;
  return HL_OK;
}

void hl_pipeline_scan_unmap(const hl_pipeline_scan *scan, const float *amplitude) {
  if (scan->fd >= 0)
    munmap((void *)(uintptr_t)amplitude, pattern_bytes(scan) * (size_t)scan->scan->count);
}

/* The same sum to the bit, wherever the patterns are. */
static hl_status find_factor(hl_pipeline_scan *s, hl_error *error) {
  if (s->fd < 0) {
    s->inputs->factor = hl_scan_normalise_factor(s->scan, HL_SCAN_PHOTONS);
    return HL_OK;
  }
  HL_CLEANUP(hl_free_pointer) float *one = malloc(pattern_bytes(s));
  if (!one) return no_memory(error);
  double sum = 0;
  for (int64_t i = 0; i < s->scan->count; i++) {
    hl_status status = read_pattern(s, i, one, error);
    if (status != HL_OK) return status;
    sum = hl_scan_add_squares(sum, one, s->size * s->size);
  }
  s->inputs->factor = hl_scan_factor_of(s->scan, sum, HL_SCAN_PHOTONS);
  return HL_OK;
}

hl_status hl_pipeline_scan_group(hl_pipeline_scan *scan, hl_error *error) {
  hl_status status = find_factor(scan, error);
  if (status == HL_OK) status = hl_scan_inputs_group(scan->inputs, scan->seed, error);
  if (status == HL_OK) hl_scan_inputs_positions(scan->inputs, 0, scan->count, scan->relative);
  return status;
}

hl_status hl_pipeline_scan_fill(const hl_pipeline_scan *scan, int64_t first, int64_t count,
                                float *ret_inputs, hl_error *error) {
  int64_t pixels = scan->size * scan->size, channels = scan->channels;
  hl_status status = HL_OK;
  if (scan->fd < 0) hl_scan_inputs_patterns(scan->inputs, first, count, ret_inputs);
  if (scan->fd < 0) return HL_OK;
  for (int64_t i = first * channels; i < (first + count) * channels && status == HL_OK; i++) {
    status = read_pattern(scan, scan->inputs->members[i], ret_inputs, error);
    if (status == HL_OK) hl_scan_inputs_normalise(scan->inputs, ret_inputs, ret_inputs);
    ret_inputs += pixels;
  }
  return status;
}

/* Another file of the same name is other data. */
static uint32_t fingerprint(const hl_pipeline_scan *s) {
  size_t count = (size_t)s->scan->count, pixels = (size_t)(s->size * s->size);
  uint64_t hash =
      hl_hash_bytes(HL_HASH_START, s->scan->amplitude, count * pixels * sizeof *s->scan->amplitude);
  hash = hl_hash_bytes(hash, s->scan->x, count * sizeof *s->scan->x);
  hash = hl_hash_bytes(hash, s->scan->y, count * sizeof *s->scan->y);
  return (uint32_t)(hash ^ hash >> 32);
}

static char *describe(const hl_pipeline_scan *s) {
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, s->scan->notes);
  if (s->channels > 1)
    hl_text_format(&text, "; groups of %d nearest neighbours (seed %" PRIu64 ")", s->channels,
                   s->seed);
  hl_text_format(&text, "; normalised to %g photons; %" PRId64 " input%s; contents %08" PRIx32,
                 HL_SCAN_PHOTONS, s->count, s->count == 1 ? "" : "s", fingerprint(s));
  char *line = hl_text_take(&text);
  if (line) hl_text_blank(line, ""); /* names of files */
  return line;
}

hl_status hl_pipeline_scan_batch(const hl_pipeline_scan *scan, const hl_port *port, int64_t batch,
                                 hl_dataset **ret_dataset, hl_error *error) {
  int64_t dims[HL_MAX_RANK] = {batch, scan->channels, scan->size, scan->size};
  int64_t input = scan->channels * scan->size * scan->size;
  hl_dataset *dataset = calloc(1, sizeof *dataset);
  if (!dataset) return no_memory(error);
  dataset->count = batch;
  dataset->inputs = calloc(1, sizeof *dataset->inputs);
  dataset->description = describe(scan);
  hl_status status = dataset->inputs && dataset->description ? HL_OK : no_memory(error);
  if (status == HL_OK)
    status = hl_array_new(port->name, HL_FLOAT32, port->rank, dims, &dataset->inputs[0], error);
  if (status == HL_OK) {
    dataset->input_count = 1;
    float *to = dataset->inputs[0].data;
    for (int64_t i = 0; i < batch && status == HL_OK; i++)
      status = hl_pipeline_scan_fill(scan, i % scan->count, 1, to + i * input, error);
  }
  if (status != HL_OK) {
    hl_dataset_free(dataset);
    return status;
  }
  *ret_dataset = dataset;
  return HL_OK;
}

uint64_t hl_pipeline_scan_bytes(const hl_pipeline_scan *scan) {
  uint64_t patterns = (uint64_t)scan->scan->count, inputs = (uint64_t)scan->count;
  uint64_t channels = (uint64_t)scan->channels, pixels = (uint64_t)(scan->size * scan->size);
  if (scan->fd >= 0) pixels = 0;
  return patterns * (pixels * sizeof(float) + 2 * sizeof(double) + channels * sizeof(int64_t)) +
         inputs * 2 * (1 + channels) * sizeof(double);
}
