/*
 * run/child.h - what every process that is started does first.
 *
 *     pid_t parent = getpid(), pid = fork();
 *     if (pid == 0) {
 *       hl_child_begin(parent);
 *       ... exec ...
 *     }
 */
#ifndef HL_RUN_CHILD_H
#define HL_RUN_CHILD_H

#include <sys/types.h>

/* Between fork and exec, in the child: a process group of its own, dies with its parent, and takes
 * signals as a fresh program does. Ends with status 127 if the parent is gone already.
 * Async-signal-safe. */
void hl_child_begin(pid_t parent);

#endif
