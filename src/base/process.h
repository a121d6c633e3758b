/*
 * base/process.h - what the kernel says of another process.
 *
 *     if (hl_process_is_stopped(pid)) ...      (by SIGSTOP, or a debugger)
 */
#ifndef HL_BASE_PROCESS_H
#define HL_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a process of this host stands still by a signal; false where it is not there. Any thread.
 */
bool hl_process_is_stopped(int64_t pid);

#endif
