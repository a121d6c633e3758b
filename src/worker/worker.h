/*
 * worker/worker.h - the worker process: loads a model, does steps, reads the clock, measures its
 * own memory. It decides nothing. See docs/protocol.md for what it is told and answers.
 */
#ifndef HL_WORKER_WORKER_H
#define HL_WORKER_WORKER_H

/* Serves requests on the standard streams until `quit` or end of file; the exit status. Standard
 * output is moved away first, so that a chatty library cannot corrupt the protocol. `peers`: the
 * shared object by which it meets the other ranks (hl_peers_join), or NULL: it is alone. */
int hl_worker_main(const char *peers);

/* The descriptors that a worker leaves to the interpreter that takes its place. */
typedef struct hl_worker_handover {
  int in, out;  /* of the protocol */
  int requests; /* a file with the requests to go on from, see worker/python.h */
} hl_worker_handover;

/* Goes on as the worker of an interpreter that holds its engine (hl_python_hold). Never returns. */
int hl_worker_resume(const hl_worker_handover *handover);

#endif
