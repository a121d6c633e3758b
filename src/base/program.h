/* base/program.h - programs that are there to be run. Thread-safe. */
#ifndef HL_BASE_PROGRAM_H
#define HL_BASE_PROGRAM_H

#include <stdbool.h>

/* Whether `path` is a regular file that this process may run. */
bool hl_program_is(const char *path);

/* FOLDER/NAME if that is a program; free() it. NULL if it is not, `folder` is NULL or "", or
 * without memory. */
char *hl_program_in(const char *folder, const char *name);

/* The first program `name` in the folders of `path`, which has the form of $PATH and may be NULL;
 * free() it. NULL if there is none, or without memory. */
char *hl_program_find(const char *path, const char *name);

#endif
