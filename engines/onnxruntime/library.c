#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char soname[] = "libonnxruntime.so.1";
static const char remedy[] = "Remedy: pip install onnxruntime, then --engine-option "
                             "library=…/site-packages/onnxruntime/capi/libonnxruntime.so.1.x, or "
                             "name that file in HOTLAP_ONNXRUNTIME_LIBRARY";

static hl_ort_library current;
static void *current_handle;

hl_status hl_ort_fail(hl_error *error, hl_status status, const char *format, ...) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  va_list list;
  va_start(list, format);
  vsnprintf(error->msg, sizeof error->msg, format, list);
  va_end(list);
  return status;
}

/* The newest libonnxruntime.so.* in a Python installation at `prefix`; false if there is none. */
static bool in_python(const char *prefix, char *ret_path, size_t capacity) {
  static const char *const folders[] = {
      "lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
      "local/lib/python3*/dist-packages"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char pattern[4096];
    int length = snprintf(pattern, sizeof pattern, "%s/%s/onnxruntime/capi/libonnxruntime.so.1*",
                          prefix, folders[i]);
    if (length < 0 || (size_t)length >= sizeof pattern) continue;
    glob_t found;
    bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (any) snprintf(ret_path, capacity, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    if (any) return true;
  }
  return false;
}

/* The installation of each python3 on $PATH: FOLDER/bin/python3 means FOLDER. */
static bool beside_python3(char *ret_path, size_t capacity) {
  const char *at = getenv("PATH");
  while (at && *at) {
    size_t length = strcspn(at, ":");
    char program[4096];
    snprintf(program, sizeof program, "%.*s/python3", (int)(length < 4000 ? length : 0), at);
    if (access(program, X_OK) == 0) {
      char *slash = strrchr(program, '/');
      *slash = '\0'; /* FOLDER/bin */
      slash = strrchr(program, '/');
      if (slash) *slash = '\0';
      if (slash && in_python(program, ret_path, capacity)) return true;
    }
    at += length + (at[length] == ':');
  }
  return false;
}

static bool in_python_packages(char *ret_path, size_t capacity) {
  const char *environment = getenv("VIRTUAL_ENV"), *home = getenv("HOME");
  char local[4096];
  if (environment && in_python(environment, ret_path, capacity)) return true;
  if (beside_python3(ret_path, capacity)) return true;
  if (!home) return false;
  int length = snprintf(local, sizeof local, "%s/.local", home);
  return length > 0 && (size_t)length < sizeof local && in_python(local, ret_path, capacity);
}

static void forget(void) {
  if (current_handle) dlclose(current_handle);
  current_handle = NULL;
}

/* `asked` is how the library was named; its table is taken over only if all is well. */
static hl_status take(void *handle, const char *asked, hl_error *error) {
  void *symbol = dlsym(handle, "OrtGetApiBase");
  if (!symbol)
    return hl_ort_fail(error, HL_UNAVAILABLE, "onnxruntime: %s is not ONNX Runtime's library. %s",
                       asked, remedy);
  const hl_ort_base *(*get_base)(void);
  memcpy(&get_base, &symbol, sizeof get_base); /* ISO C has no cast from object to function */
  const hl_ort_base *base = get_base();
  const char *version = base->GetVersionString();
  int major = 0, minor = 0;
  /* Asked for a version that it lacks, the library would print a complaint. */
  bool fits =
      sscanf(version, "%d.%d", &major, &minor) == 2 && major == 1 && minor >= HL_ORT_API_VERSION;
  const void *table = fits ? base->GetApi(HL_ORT_API_VERSION) : NULL;
  if (!table)
    return hl_ort_fail(error, HL_UNAVAILABLE,
                       "onnxruntime: %s is version %s; 1.%d or a later 1.x is needed. Remedy: pip "
                       "install --upgrade onnxruntime",
                       asked, version, HL_ORT_API_VERSION);
#define X(place, result, name, arguments)                                                          \
  memcpy(&current.api.name, (const char *)table + (size_t)(place) * sizeof(void *), sizeof(void *));
  HL_ORT_MAP(X)
#undef X
  snprintf(current.version, sizeof current.version, "onnxruntime %s", version);
  snprintf(current.path, sizeof current.path, "%s", asked);
  current_handle = handle;
  return HL_OK;
}

static hl_status open_named(const char *path, const char *named_by, hl_error *error) {
  if (current_handle && strcmp(current.path, path) == 0) return HL_OK;
  forget();
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return hl_ort_fail(error, HL_UNAVAILABLE, "onnxruntime: cannot open %s: %s. %s", named_by,
                       dlerror(), remedy);
  hl_status status = take(handle, path, error);
  if (status != HL_OK) dlclose(handle);
  return status;
}

static hl_status open_usual(hl_error *error) {
  const char *named = getenv("HOTLAP_ONNXRUNTIME_LIBRARY");
  if (named && named[0]) return open_named(named, "HOTLAP_ONNXRUNTIME_LIBRARY", error);
  void *system = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (system) {
    hl_status status = take(system, soname, error);
    if (status != HL_OK) dlclose(system);
    return status;
  }
  char path[4096];
  if (in_python_packages(path, sizeof path))
    return open_named(path, "the Python package's library", error);
  return hl_ort_fail(error, HL_UNAVAILABLE,
                     "onnxruntime: no %s on this system and no Python package onnxruntime in "
                     "$VIRTUAL_ENV, beside python3 on $PATH or in ~/.local. %s",
                     soname, remedy);
}

hl_status hl_ort_library_open(const char *path, const hl_ort_library **ret_library,
                              hl_error *error) {
  hl_status status = HL_OK;
  if (path)
    status = open_named(path, "the library that option 'library' names", error);
  else if (!current_handle)
    status = open_usual(error);
  if (status == HL_OK) *ret_library = &current;
  return status;
}

const hl_ort_library *hl_ort_library_current(void) {
  return current_handle ? &current : NULL;
}
