/*
 * run/launch.h - starting a worker through a launcher, and what is said where it fails.
 */
#ifndef HL_RUN_LAUNCH_H
#define HL_RUN_LAUNCH_H

#include "run/process.h"

/* The launcher's words, the program and "worker", ended by NULL; the first is a path. free() each
 * and the list: hl_launch_words_free. UNAVAILABLE where there is no such launcher. */
hl_status hl_launch_words(const hl_launch *launch, char ***ret_words, hl_error *error);
void hl_launch_words_free(char **words);

/* What a request `hello` asks for beside the protocol. */
void hl_launch_hello(const hl_launch *launch, double idle_s, json_t *request);

/* Rewrites `error` of a worker elsewhere that never answered, or answered what it should not: what
 * the launcher said, and what may help. Returns `status`. */
hl_status hl_launch_explain(const hl_launcher *launcher, int exit_status, const char *said,
                            hl_error *error);

/* Says in front of the message where the file was looked for. */
hl_status hl_launch_name_place(const hl_launcher *launcher, hl_status status, hl_error *error);

#endif
