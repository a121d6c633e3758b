/* run/git.h - what git says about the working directory. */
#ifndef HL_RUN_GIT_H
#define HL_RUN_GIT_H

#include "base/error.h"

/* The commit that is checked out, 40 hexadecimal digits, with "-dirty" where tracked files differ;
 * NULL outside a repository or without git. free() it. Takes some milliseconds. */
char *hl_git_commit(void);

enum { HL_GIT_DIGITS = 40 };

/* Where commits stand in the history of the working directory's HEAD: `ret_behind[i]` is how many
 * commits of `git rev-list --topo-order HEAD` come before `commits[i]` (0: it is HEAD), -1 where it
 * is not among them. `commits`: 40 digits each, ascending, none twice. All -1 and UNAVAILABLE
 * without git or a repository. Seconds for a history of a million commits. */
hl_status hl_git_behind(const char *const *commits, size_t count, int64_t *ret_behind,
                        hl_error *error);

#endif
