/*
 * worker/worker.h - the worker process: loads a model, does steps, reads the clock, measures its
 * own memory. It decides nothing. See docs/protocol.md for what it is told and answers.
 */
#ifndef HL_WORKER_WORKER_H
#define HL_WORKER_WORKER_H

/* Serves requests on the standard streams until `quit` or end of file; the exit status. Standard
 * output is moved away first, so that a chatty library cannot corrupt the protocol. */
int hl_worker_main(void);

#endif
