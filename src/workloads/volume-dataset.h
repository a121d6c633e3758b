/*
 * workloads/volume-dataset.h - windows of volumes as the inputs of a network.
 *
 *     if (hl_volume_dataset_fits(ports, count) && hl_volume_set_is(path))
 *       hl_volume_dataset_read(path, &ports[0], max_images, seed, &dataset, error);
 *
 * Each volume of a set (workloads/volume-set.h) is prepared as for a segmentation by default: its
 * values less their mean, over their deviation. It is read in windows of the input's size without
 * overlap, the last of an axis ending with the volume (imaging/volume-windows.h).
 */
#ifndef HL_WORKLOADS_VOLUME_DATASET_H
#define HL_WORKLOADS_VOLUME_DATASET_H

#include "data/data.h"

/* Whether the only input takes windows: float32 of shape (-1, 1, D, H, W) or (-1, 1, H, W), and no
 * diffraction patterns. */
bool hl_volume_dataset_fits(const hl_port *ports, size_t port_count);

/* `max_images` 0: all windows; else the first ones. LIMIT beyond 16 GiB, OUT_OF_MEMORY; else as
 * hl_volume_set_open and hl_volume_set_read. */
hl_status hl_volume_dataset_read(const char *path, const hl_port *port, int64_t max_images,
                                 uint64_t seed, hl_dataset **ret_dataset, hl_error *error);

#endif
