/* machine/gpu.h - names of NVIDIA GPUs, by NVML opened at run time; none where it is not installed.
 */
#ifndef HL_MACHINE_GPU_H
#define HL_MACHINE_GPU_H

#include "machine/topology.h"

/* Fills machine->gpus and gpu_count; 0 without libnvidia-ml.so.1. */
void hl_gpu_list(hl_machine *machine);

#endif
