/*
 * run/said.h - what a process wrote to standard error before it ended (inside src/run only).
 *
 *     char words[300];
 *     hl_said_words(process->said_fd, words, sizeof words);     ("" where it said nothing)
 */
#ifndef HL_RUN_SAID_H
#define HL_RUN_SAID_H

#include <stddef.h>

/* The end of it, zeros as spaces; free() it. NULL: nothing, or `fd` is -1. */
char *hl_said_read(int fd);

/* Its most telling words, on one line: why Python could not begin, the first of what stands
 * between rules (as mpirun says it), else the last line that has a word. */
void hl_said_words(int fd, char *ret_words, size_t size);

#endif
