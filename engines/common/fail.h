/*
 * engines/common/fail.h - how an engine says what went wrong.
 *
 *     return hl_engine_fail(error, HL_UNAVAILABLE, "openvino: no %s on this system", soname);
 */
#ifndef HOTLAP_ENGINE_FAIL_H
#define HOTLAP_ENGINE_FAIL_H

#include <hotlap/engine.h>

/* Fills `error` if not NULL; `sys_errno` is 0. Returns `status`. */
__attribute__((format(printf, 3, 4))) hl_status hl_engine_fail(hl_error *error, hl_status status,
                                                               const char *format, ...);

/* The same for text of any length, such as a library's own: it becomes one line, and what does not
 * fit into `error` is given whole to the host, which may be NULL. */
__attribute__((format(printf, 4, 5))) hl_status hl_engine_fail_whole(const hl_host *host,
                                                                     hl_error *error,
                                                                     hl_status status,
                                                                     const char *format, ...);

/* Adds a sentence to the notes of the row; `host` may be NULL or lack that service. */
__attribute__((format(printf, 3, 4))) void hl_engine_note(const hl_host *host, const char *engine,
                                                          const char *format, ...);

/* Replaces line ends in `text` by spaces, and drops those at its end: a reason is one line. */
void hl_engine_join_lines(char *text);

#endif
