/*
 * worker/room.h - whether memory can hold a row's inputs, asked before they are made.
 *
 * The kernel promises more memory than there is and kills somebody when it is used; the plan of an
 * engine comes too late, as inputs exist before it. Thread-safe.
 */
#ifndef HL_WORKER_ROOM_H
#define HL_WORKER_ROOM_H

#include "workloads/model-file.h"

/* Bytes of a batch of inputs, or of the synthetic images asked for if those are more; infinity
 * where the shapes say so. */
double hl_room_needed(const hl_configuration *configuration, const hl_model_file *file);

/* OUT_OF_MEMORY if that is more than `available_bytes`. */
hl_status hl_room_check(const hl_configuration *configuration, const hl_model_file *file,
                        uint64_t available_bytes, hl_error *error);

#endif
