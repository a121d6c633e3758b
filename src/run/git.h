/* run/git.h - what git says about the working directory. */
#ifndef HL_RUN_GIT_H
#define HL_RUN_GIT_H

#include "base/error.h"

/* The commit that is checked out, 40 hexadecimal digits, with "-dirty" where tracked files differ;
 * NULL outside a repository or without git. free() it. Takes some milliseconds. */
char *hl_git_commit(void);

#endif
