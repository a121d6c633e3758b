#include "workloads/simulated-scan.h"

#include "base/text.h"
#include "imaging/ptychography-simulate.h"
#include "plan/configuration.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool hl_simulated_scan_is(const char *test_data) {
  return test_data && strcmp(test_data, HL_DATA_SIMULATED) == 0;
}

hl_status hl_simulated_scan(int64_t size, int64_t count, int64_t seed, hl_scan **ret_scan,
                            hl_error *error) {
  hl_ptychography_options options = HL_PTYCHOGRAPHY_DEFAULTS;
  options.size = size;
  options.count = count;
  options.seed = (uint64_t)seed;
  hl_ptychography_simulation *made = NULL;
  hl_status status = hl_ptychography_simulate(&options, &made, error);
  if (status != HL_OK) return status;
  hl_scan *scan = calloc(1, sizeof *scan);
  if (scan) {
    *scan = (hl_scan){.count = made->count,
                      .size = made->size,
                      .file_size = made->size,
                      .amplitude = made->amplitude,
                      .x = made->x,
                      .y = made->y,
                      .probe = made->probe,
                      .object = made->object,
                      .object_height = made->height,
                      .object_width = made->width};
    made->amplitude = NULL; /* they are the scan's */
    made->x = made->y = NULL;
    made->probe = made->object = NULL;
    scan->file = hl_strdup("simulated scan");
    scan->key = hl_strdup("diffraction");
    scan->notes =
        hl_format("simulated scan: %" PRId64 " patterns of %" PRId64 " x %" PRId64
                  ", overlap %g, %g photons with "
                  "Poisson noise (seed %" PRId64 ")",
                  scan->count, scan->size, scan->size, options.overlap, options.photons, seed);
  }
  hl_ptychography_simulation_free(made);
  if (scan && scan->file && scan->key && scan->notes) {
    *ret_scan = scan;
    return HL_OK;
  }
  hl_scan_free(scan);
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a simulated scan");
}

/* Of the first port that takes patterns: (-1, channels, N, N). */
static int64_t size_of(const hl_port *ports, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (ports[i].rank == 4 && strcmp(ports[i].name, "diffraction") == 0 &&
        ports[i].dims[2] == ports[i].dims[3])
      return ports[i].dims[2];
  return 0;
}

hl_status hl_simulated_scan_dataset(const hl_port *ports, size_t port_count, int64_t n_images,
                                    int64_t seed, hl_dataset **ret_dataset, hl_error *error) {
  hl_scan *scan = NULL;
  int64_t size = size_of(ports, port_count);
  if (size < 2)
    return hl_error_set(error, HL_BAD_DATA,
                        "--test-data simulated is a ptychography scan, and no input of this "
                        "network is 'diffraction' of shape (any, patterns, N, N). Leave it out "
                        "for seeded random inputs");
  hl_status status =
      hl_simulated_scan(size, n_images ? n_images : HL_SIMULATED_POSITIONS, seed, &scan, error);
  if (status == HL_OK)
    status =
        hl_dataset_of_scan(scan, ports, port_count, n_images, (uint64_t)seed, ret_dataset, error);
  hl_scan_free(scan);
  return status;
}
