/*
 * run/alive.h - tells a worker elsewhere, between requests, that the runner is still there.
 *
 *     hl_alive *alive = NULL;
 *     hl_status status = hl_alive_start(fd, 10, &alive, error);
 *     hl_alive_hush(alive);      a request is being sent, and answered
 *     hl_alive_speak(alive);     its answer is here: the worker waits again
 *     hl_alive_stop(alive);      before the descriptor is closed
 *
 * A connection that is cut somewhere on its way ends at neither side: a worker that hears nothing
 * for `idle_ns` ends itself, and so it has to hear something while other rows take their turn. A
 * thread writes it. Call from one thread.
 */
#ifndef HL_RUN_ALIVE_H
#define HL_RUN_ALIVE_H

#include "base/error.h"

typedef struct hl_alive hl_alive;

/* Silent until it is told to speak: then a message every `period_s`, on a descriptor that is
 * borrowed. INTERNAL without a thread. */
hl_status hl_alive_start(int fd, double period_s, hl_alive **ret_alive, hl_error *error);
/* Nothing is being written once it returns; NULL: nothing to do, also for the others. */
void hl_alive_hush(hl_alive *alive);
void hl_alive_speak(hl_alive *alive);
void hl_alive_stop(hl_alive *alive);

#endif
