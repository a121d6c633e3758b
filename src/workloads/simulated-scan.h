/*
 * workloads/simulated-scan.h - `--test-data simulated`: a scan that is made for the network.
 *
 *     if (hl_simulated_scan_is(test_data))
 *       status = hl_simulated_scan_dataset(ports, count, n_images, seed, &dataset, error);
 *
 * The scan is that of `hotlap data make ptychography` with the same seed and number of positions,
 * and its patterns have the size that the network takes. A function of its arguments.
 */
#ifndef HL_WORKLOADS_SIMULATED_SCAN_H
#define HL_WORKLOADS_SIMULATED_SCAN_H

#include "data/data.h"
#include "data/ptychography.h"

enum { HL_SIMULATED_POSITIONS = 512 }; /* where nobody says how many */

bool hl_simulated_scan_is(const char *test_data);

/* With its probe and its true object. LIMIT, OUT_OF_MEMORY. */
hl_status hl_simulated_scan(int64_t size, int64_t count, int64_t seed, hl_scan **ret_scan,
                            hl_error *error);

/* Its patterns as inputs for these ports; `n_images` 0: HL_SIMULATED_POSITIONS. BAD_DATA for a
 * network without an input of patterns. */
hl_status hl_simulated_scan_dataset(const hl_port *ports, size_t port_count, int64_t n_images,
                                    int64_t seed, hl_dataset **ret_dataset, hl_error *error);

#endif
