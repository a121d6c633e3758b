/*
 * workloads/split.h - one batch over several devices, behind the hooks of one engine.
 *
 *     hl_engine_config config = {.device = "cuda:0+1", ...};
 *     status = hl_split_open(&ops, file, host, &config, &engine, error);   // ops: now the split
 * ones ops.load(engine, ...); ops.prepare(...); ops.submit(request, ...); ops.wait(request, ...);
 *
 * Each device has an engine, a copy of the weights and a program for its part of the batch; parts
 * differ by one image at most, the larger ones first. A step is submitted to all devices, then all
 * are waited for. Inputs without a batch go to every device. An output is put together when it is
 * asked for, which no timed step does; one without a batch is the first device's. Batches smaller
 * than the number of devices leave the last ones idle, and the host is told.
 */
#ifndef HL_WORKLOADS_SPLIT_H
#define HL_WORKLOADS_SPLIT_H

#include "engine/registry.h"
#include "workloads/model-file.h"

/*
 * Opens `ops`' engine once for each device of `config->device` and replaces the hooks in `ops` by
 * ones that drive them all. `file` and `host` must outlive the engine. UNIMPLEMENTED for devices
 * other than CUDA's and for a model of a fixed batch; failures name the device.
 */
hl_status hl_split_open(hl_engine_ops *ops, const hl_model_file *file, const hl_host *host,
                        const hl_engine_config *config, hl_engine **ret_engine, hl_error *error);

/* Images of a batch of `images` that part `part` of `parts` gets. */
int64_t hl_split_share(int64_t images, size_t parts, size_t part);

#endif
