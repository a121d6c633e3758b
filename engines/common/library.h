/*
 * engines/common/library.h - finds and opens the shared library that an engine stands on.
 *
 *     static const hl_library_search search = {.engine = "onnxruntime", ...};
 *     hl_library library;
 *     hl_status status = hl_library_open(&search, host, &library, error);
 *     void *symbol = dlsym(library.handle, "OrtGetApiBase");
 *
 * Looked at in this order, and the first that exists is the one:
 *   1. the file that the user named for this run: host->library
 *   2. the file that the engine's environment variable names
 *   3. the system's: the sonames as its loader finds them, then the patterns of usual places
 *   4. the Python package of $VIRTUAL_ENV, then of host->prefixes, then of each python3 on $PATH,
 *      then of ~/.local
 */
#ifndef HOTLAP_ENGINE_LIBRARY_H
#define HOTLAP_ENGINE_LIBRARY_H

#include <hotlap/engine.h>

#define HL_LIBRARY_PATH 4096

/* What to look for. Lists end with NULL. */
typedef struct hl_library_search {
  const char *engine;                  /* begins every message */
  const char *variable;                /* environment variable that names the file */
  const char *const *sonames;          /* at least one: the first is shown in messages */
  const char *const *system_patterns;  /* absolute, for glob(); may be NULL */
  const char *const *package_patterns; /* for glob(), below site-packages */
  const char *package;                 /* the Python package, as pip calls it */
} hl_library_search;

typedef struct hl_library {
  void *handle;
  char path[HL_LIBRARY_PATH]; /* of the file that was opened */
} hl_library;

/* Opens the library; `host` may be NULL. UNAVAILABLE says where was looked, or what the loader
 * said, and the remedy. The caller owns the handle. Reads the environment: call it from one thread.
 */
hl_status hl_library_open(const hl_library_search *search, const hl_host *host,
                          hl_library *ret_library, hl_error *error);

/* What to do about a library that is missing or wrong; `capacity` bytes of `ret_text`. */
void hl_library_remedy(const hl_library_search *search, char *ret_text, size_t capacity);

#endif
