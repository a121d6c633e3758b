#include "library.h"

#include "fail.h"
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last match of `pattern`, which is the newest where names end with a version. */
static bool last_match(const char *pattern, char *ret_path) {
  glob_t found;
  bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  if (any)
    any = snprintf(ret_path, HL_LIBRARY_PATH, "%s", found.gl_pathv[found.gl_pathc - 1]) <
          HL_LIBRARY_PATH;
  globfree(&found);
  return any;
}

/* In a Python installation at `prefix`. */
static bool in_python(const hl_library_search *search, const char *prefix, char *ret_path) {
  static const char *const folders[] = {
      "lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
      "local/lib/python3*/dist-packages"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    for (const char *const *file = search->package_patterns; *file; file++) {
      char pattern[HL_LIBRARY_PATH];
      int length = snprintf(pattern, sizeof pattern, "%s/%s/%s", prefix, folders[i], *file);
      if (length < 0 || (size_t)length >= sizeof pattern) continue;
      if (last_match(pattern, ret_path)) return true;
    }
  return false;
}

/* The installation of each python3 on $PATH: FOLDER/bin/python3 means FOLDER. */
static bool beside_python3(const hl_library_search *search, char *ret_path) {
  const char *at = getenv("PATH");
  while (at && *at) {
    size_t length = strcspn(at, ":");
    char program[HL_LIBRARY_PATH];
    snprintf(program, sizeof program, "%.*s/python3", (int)(length < 4000 ? length : 0), at);
    if (access(program, X_OK) == 0) {
      char *slash = strrchr(program, '/');
      *slash = '\0'; /* FOLDER/bin */
      slash = strrchr(program, '/');
      if (slash) *slash = '\0';
      if (slash && in_python(search, program, ret_path)) return true;
    }
    at += length + (at[length] == ':');
  }
  return false;
}

static bool in_python_packages(const hl_library_search *search, const hl_host *host,
                               char *ret_path) {
  const char *environment = getenv("VIRTUAL_ENV"), *home = getenv("HOME");
  char local[HL_LIBRARY_PATH];
  if (environment && in_python(search, environment, ret_path)) return true;
  if (HL_HOST_HAS(host, prefixes))
    for (const char *const *prefix = host->prefixes; *prefix; prefix++)
      if (in_python(search, *prefix, ret_path)) return true;
  if (beside_python3(search, ret_path)) return true;
  if (!home) return false;
  int length = snprintf(local, sizeof local, "%s/.local", home);
  return length > 0 && (size_t)length < sizeof local && in_python(search, local, ret_path);
}

void hl_library_remedy(const hl_library_search *search, char *ret_text, size_t capacity) {
  snprintf(ret_text, capacity,
           "Remedy: pip install %s, or name its %s with --engine-library %s=PATH or in %s",
           search->package, search->sonames[0], search->engine, search->variable);
}

/* The loader may have found it anywhere. */
static void set_path(hl_library *library, const char *asked) {
  struct link_map *map = NULL;
  bool known =
      dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0];
  snprintf(library->path, sizeof library->path, "%s", known ? map->l_name : asked);
}

static hl_status open_named(const hl_library_search *search, const char *path, const char *named_by,
                            hl_library *ret_library, hl_error *error) {
  char remedy[512];
  struct stat st; /* dlopen waits for ever for someone to write into a pipe */
  hl_library_remedy(search, remedy, sizeof remedy);
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    return hl_engine_fail(error, HL_UNAVAILABLE,
                          "%s: cannot open %s: %s: not a regular file. "
                          "%s",
                          search->engine, named_by, path, remedy);
  /* A name without a slash would be looked for in the system. */
  char plain[HL_LIBRARY_PATH];
  snprintf(plain, sizeof plain, "%s%s", strchr(path, '/') ? "" : "./", path);
  ret_library->handle = dlopen(plain, RTLD_NOW | RTLD_LOCAL);
  if (!ret_library->handle)
    return hl_engine_fail(error, HL_UNAVAILABLE, "%s: cannot open %s: %s. %s", search->engine,
                          named_by, dlerror(), remedy);
  set_path(ret_library, plain);
  return HL_OK;
}

static bool open_system(const hl_library_search *search, hl_library *ret_library) {
  for (const char *const *soname = search->sonames; *soname; soname++) {
    ret_library->handle = dlopen(*soname, RTLD_NOW | RTLD_LOCAL);
    if (!ret_library->handle) continue;
    set_path(ret_library, *soname);
    return true;
  }
  return false;
}

static bool in_system(const hl_library_search *search, char *ret_path) {
  if (!search->system_patterns) return false;
  for (const char *const *pattern = search->system_patterns; *pattern; pattern++)
    if (last_match(*pattern, ret_path)) return true;
  return false;
}

hl_status hl_library_open(const hl_library_search *search, const hl_host *host,
                          hl_library *ret_library, hl_error *error) {
  if (HL_HOST_HAS(host, library))
    return open_named(search, host->library, "the library that was named", ret_library, error);
  const char *named = getenv(search->variable);
  if (named && named[0]) return open_named(search, named, search->variable, ret_library, error);
  if (open_system(search, ret_library)) return HL_OK;
  char path[HL_LIBRARY_PATH], remedy[512];
  if (in_system(search, path))
    return open_named(search, path, "the system's library", ret_library, error);
  if (in_python_packages(search, host, path))
    return open_named(search, path, "the Python package's library", ret_library, error);
  hl_library_remedy(search, remedy, sizeof remedy);
  return hl_engine_fail(error, HL_UNAVAILABLE,
                        "%s: no %s on this system and no Python package %s in $VIRTUAL_ENV, beside "
                        "python3 on $PATH or in ~/.local. %s",
                        search->engine, search->sonames[0], search->package, remedy);
}
