/*
 * Included before each file when clang-tidy looks at it (never in a build): says that hl_error_set
 * returns the status it is given. The analyzer cannot see into a variadic function and would
 * suspect that a failure may come out as HL_OK.
 */
#ifndef HL_TOOLS_CLANG_TIDY_PRELUDE_H
#define HL_TOOLS_CLANG_TIDY_PRELUDE_H

#include "base/error.h"

int hl_tidy_seen(const void *error, ...);
#define hl_error_set(error, status, ...) ((void)hl_tidy_seen((error), __VA_ARGS__), (status))
#define hl_error_errno(error, status, ...) ((void)hl_tidy_seen((error), __VA_ARGS__), (status))

#endif
