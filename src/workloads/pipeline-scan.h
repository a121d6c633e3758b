/*
 * workloads/pipeline-scan.h - the scan that a pipeline goes through, and the inputs made of it.
 *
 *     hl_pipeline_scan scan;
 *     hl_pipeline_scan_open(configuration, &file->inputs[0], &scan, error);
 *     hl_pipeline_scan_group(&scan, error);                      (each pass begins with it)
 *     hl_pipeline_scan_fill(&scan, 0, 128, inputs);
 *     hl_pipeline_scan_release(&scan);
 *
 * From a file, or simulated where the configuration names none. Not thread-safe.
 */
#ifndef HL_WORKLOADS_PIPELINE_SCAN_H
#define HL_WORKLOADS_PIPELINE_SCAN_H

#include "data/data.h"
#include "data/scan-inputs.h"
#include "plan/configuration.h"

typedef struct hl_pipeline_scan {
  hl_scan *scan;          /* owned */
  hl_scan_inputs *inputs; /* of it: groups, their middles, the factor; owned */
  const char *what;       /* its file, for messages: borrowed */
  int64_t count;          /* inputs that are used */
  int channels;           /* patterns of an input: gridsize squared */
  int64_t size;           /* N */
  uint64_t seed;          /* of the groups */
  int fd;           /* file with the patterns, in whose place `scan` has none; -1: in memory */
  double *relative; /* (count, channels, 2): hl_scan_inputs_positions; owned */
} hl_pipeline_scan;

/* Reads or simulates the scan for an input of shape (any, channels, N, N) and groups it. BAD_DATA
 * names file, place and remedy; UNIMPLEMENTED for another input; LIMIT, OUT_OF_MEMORY. */
hl_status hl_pipeline_scan_open(const hl_configuration *configuration, const hl_port *port,
                                hl_pipeline_scan *ret_scan, hl_error *error);
void hl_pipeline_scan_release(hl_pipeline_scan *scan);

/* Moves the patterns to a file without a name in the directory, and out of memory. IO; UNAVAILABLE
 * without a directory. */
hl_status hl_pipeline_scan_to_disk(hl_pipeline_scan *scan, const char *directory, hl_error *error);

/* The patterns, for those who need all: mapped where they are on disk. End it with unmap. IO. */
hl_status hl_pipeline_scan_map(const hl_pipeline_scan *scan, const float **ret_amplitude,
                               hl_error *error);
void hl_pipeline_scan_unmap(const hl_pipeline_scan *scan, const float *amplitude);

/* What preprocessing does once for a scan: factor, groups, middles. The same each time. */
hl_status hl_pipeline_scan_group(hl_pipeline_scan *scan, hl_error *error);

/* Inputs `first` to `first + count - 1`: normalised patterns, (count, channels, N, N). IO where
 * they are on disk. */
hl_status hl_pipeline_scan_fill(const hl_pipeline_scan *scan, int64_t first, int64_t count,
                                float *ret_inputs, hl_error *error);

/* The first `batch` inputs as a data set of one input of that port, the last ones being the first
 * again where the scan has fewer; with the scan's description. */
hl_status hl_pipeline_scan_batch(const hl_pipeline_scan *scan, const hl_port *port, int64_t batch,
                                 hl_dataset **ret_dataset, hl_error *error);

/* Bytes of memory that the scan holds: patterns, positions, groups. */
uint64_t hl_pipeline_scan_bytes(const hl_pipeline_scan *scan);

#endif
