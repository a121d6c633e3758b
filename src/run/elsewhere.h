/*
 * run/elsewhere.h - what a launcher leads to, asked of a worker there.
 *
 *     hl_machine machine;
 *     hl_status status = hl_elsewhere_machine(&environment, launcher, &machine, error);
 */
#ifndef HL_RUN_ELSEWHERE_H
#define HL_RUN_ELSEWHERE_H

#include "machine/roofline.h"
#include "machine/topology.h"
#include "run/run.h"

/* The machine over there, as far as rows and plans speak of it: id, CPU, cores that may be used,
 * memory, system, and the GPUs that CUDA shows. UNAVAILABLE, with the launcher's own words, where
 * no worker could be had; INTERRUPTED; OUT_OF_MEMORY. */
hl_status hl_elsewhere_machine(const hl_run_environment *environment, const hl_launcher *launcher,
                               hl_machine *ret_machine, hl_error *error);

/* The limits of the roofline, measured there on an otherwise idle machine. */
hl_status hl_elsewhere_limits(const hl_run_environment *environment, const hl_launcher *launcher,
                              int threads, hl_roofline *ret_limits, hl_error *error);

#endif
