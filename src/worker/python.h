/*
 * worker/python.h - a worker whose engine is in Python becomes an interpreter.
 *
 * That is the same process: its number, group, limits and the runner's pipe stay. The requests that
 * it has had are put into a file, from which the interpreter (hl_worker_resume) takes them.
 */
#ifndef HL_WORKER_PYTHON_H
#define HL_WORKER_PYTHON_H

#include "plan/configuration.h"
#include "protocol/channel.h"

/* HL_OK where the engine is not in Python, or this process is its interpreter. Otherwise does not
 * return, but where it fails. `channel` is NULL, and that fails, where this is one of several
 * workers that train together: they cannot meet again. `counters` may be NULL. */
hl_status hl_worker_enter_python(const hl_configuration *configuration, hl_channel *channel,
                                 const json_t *counters, const json_t *configure, hl_error *error);

/* Tells the runner, between its request and the reply, "becoming" an interpreter or "begun" as one:
 * it cannot see whether one that hangs before it serves is one that reads a large model. */
hl_status hl_worker_tell_state(hl_channel *channel, const char *state, hl_error *error);

/* Reads the file that the call above wrote; `ret_counters` may become NULL. Both are owned by the
 * caller. Closes `fd`. */
hl_status hl_worker_take_requests(int fd, json_t **ret_counters, json_t **ret_configure,
                                  hl_error *error);

#endif
