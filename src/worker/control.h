/*
 * worker/control.h - the worker's ear: a thread that reads messages, ends the process when the
 * runner is gone, and enforces deadlines.
 *
 * While the main thread computes, this thread sleeps in poll(). End of file ends the process at
 * once, because killing an ssh client kills nothing on the other side; so does a deadline that
 * passes.
 */
#ifndef HL_WORKER_CONTROL_H
#define HL_WORKER_CONTROL_H

#include "protocol/channel.h"
#include <pthread.h>

typedef struct hl_control {
  hl_channel *channel;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  hl_message message; /* the one request outstanding, until it is taken */
  bool has_message, outstanding;
  uint64_t deadline_ns; /* UINT64_MAX: none */
  uint64_t idle_ns;     /* longest between an answer and the next sign of life; 0: for ever */
  int wake[2];
  void (*late)(void *context); /* called before a deadline ends the process; may be NULL */
  void *late_context;
} hl_control;

/* Starts the thread, which owns reading from `channel`. */
hl_status hl_control_start(hl_control *control, hl_channel *channel, void (*late)(void *context),
                           void *late_context, hl_error *error);

/* Waits for the next request. Another before its answer ends the process with status 2. */
void hl_control_next(hl_control *control, hl_message *ret_message);

/* A request is about to be served: the process ends (status HL_WORKER_EXIT_DEADLINE) unless it is
 * answered within its `deadline_ns`, if it has one. Its `idle_ns` holds from its answer on: the
 * process ends, too, if so long nothing is heard, not even a message {"alive": true}. */
void hl_control_begin(hl_control *control, const json_t *request);

/* The process ends (status HL_WORKER_EXIT_DEADLINE) unless the deadline is moved before
 * `deadline_ns` of hl_clock_ns; UINT64_MAX lifts it. */
void hl_control_deadline(hl_control *control, uint64_t deadline_ns);

/* The answer is about to be sent: the next request may come. */
void hl_control_answer(hl_control *control);

/* Moves the protocol off the standard streams, to `channel`; what libraries print goes to standard
 * error. IO. */
hl_status hl_worker_move_streams(hl_channel *channel, hl_error *error);

#endif
