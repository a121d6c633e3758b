#include "engine/registry.h"

#include "base/file.h"
#include "engine/python.h"
#include "null/null.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct builtin {
  const char *name;
  const hl_engine_ops *(*entry)(void); /* NULL: in a shared object of its own */
  bool is_python;
} builtin;

static const builtin builtins[] = {
    {"native", NULL, false},      {"null", hl_engine_null, false},
    {"onnxruntime", NULL, false}, {"openvino", NULL, false},
    {"jax", NULL, true},          {"tensorflow", NULL, true},
    {"torch", NULL, true},
};

const char *hl_engine_builtin(size_t index) {
  return index < HL_COUNT(builtins) ? builtins[index].name : NULL;
}

bool hl_engine_is_python(const char *name) {
  for (size_t i = 0; name && i < HL_COUNT(builtins); i++)
    if (strcmp(builtins[i].name, name) == 0) return builtins[i].is_python;
  return false;
}

hl_status hl_engine_adopt(const hl_engine_ops *given, const char *where, hl_engine_ops *ret_ops,
                          hl_error *error) {
  if (!given || given->abi != HL_ENGINE_ABI)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "%s: engine interface version %u; this hotlap speaks version %u: rebuild "
                        "the engine against its hotlap/engine.h",
                        where, given ? given->abi : 0, HL_ENGINE_ABI);
  if (given->size < offsetof(hl_engine_ops, memory))
    return hl_error_set(error, HL_UNAVAILABLE, "%s: its table of %u bytes lacks required hooks",
                        where, given->size);
  hl_engine_ops ops = {0};
  memcpy(&ops, given, given->size < sizeof ops ? given->size : sizeof ops);
  bool complete = ops.name && ops.name[0] && ops.version && ops.probe && ops.open && ops.load &&
                  ops.describe && ops.prepare && ops.request && ops.bind && ops.submit &&
                  ops.wait && ops.output && ops.request_free && ops.program_free &&
                  ops.model_free && ops.close;
  if (!complete)
    return hl_error_set(error, HL_UNAVAILABLE, "%s: a required hook is missing", where);
  *ret_ops = ops;
  return HL_OK;
}

static hl_status open_object(const char *path, hl_engine_ops *ret_ops, hl_error *error) {
  struct stat st; /* dlopen waits for ever for someone to write into a pipe */
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    return hl_error_set(error, HL_UNAVAILABLE, "cannot open engine: %s: not a regular file", path);
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return hl_error_set(error, HL_UNAVAILABLE, "cannot open engine: %s", dlerror());
  void *symbol = dlsym(object, "hl_engine_entry");
  if (!symbol)
    return hl_error_set(error, HL_UNAVAILABLE, "%s exports no hl_engine_entry: not an engine",
                        path);
  hl_engine_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointer */
  return hl_engine_adopt(entry(), path, ret_ops, error);
}

static hl_status open_builtin_object(const char *name, hl_engine_ops *ret_ops, char **ret_path,
                                     hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *directory = hl_program_directory();
  if (!directory)
    return hl_error_errno(error, HL_UNAVAILABLE, "cannot find the program's directory");
  char *candidates[] = {
      hl_format("%s/engines/%s/hotlap-engine-%s.so", directory, name, name),
      hl_format("%s/%s/hotlap-engine-%s.so", directory, HL_ENGINE_DIRECTORY, name),
  };
  hl_status status = HL_NOT_FOUND;
  for (size_t i = 0; i < HL_COUNT(candidates); i++) {
    if (status == HL_NOT_FOUND && candidates[i] && access(candidates[i], F_OK) == 0) {
      status = open_object(candidates[i], ret_ops, error);
      if (status == HL_OK && ret_path) {
        *ret_path = candidates[i];
        candidates[i] = NULL;
      }
    }
  }
  if (status == HL_NOT_FOUND)
    status = hl_error_set(error, HL_UNAVAILABLE, "engine '%s' is not installed: there is no %s",
                          name, candidates[1] ? candidates[1] : "shared object");
  for (size_t i = 0; i < HL_COUNT(candidates); i++) free(candidates[i]);
  return status;
}

static hl_status open_held(const char *name, const char *path, hl_engine_ops *ret_ops,
                           char **ret_path, hl_error *error) {
  const hl_engine_ops *ops = hl_python_held(name);
  if (!ops)
    return hl_error_set(error, HL_UNAVAILABLE, "engine '%s' runs in Python, and this is not", name);
  if (ret_path) *ret_path = hl_strdup(path);
  return hl_engine_adopt(ops, name, ret_ops, error);
}

static hl_status unknown_engine(const char *name, hl_error *error) {
  hl_text names = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(builtins); i++)
    hl_text_format(&names, "%s%s", i ? ", " : "", builtins[i].name);
  hl_status status = hl_error_set(error, HL_NOT_FOUND,
                                  "no engine '%s'; there are %s, and plug-ins with --plugin PATH",
                                  name, names.data);
  hl_text_release(&names);
  return status;
}

hl_status hl_engine_open(const char *name, const char *plugin_path, hl_engine_ops *ret_ops,
                         char **ret_path, hl_error *error) {
  HL_CLEANUP(hl_free_pointer)
  char *stem = plugin_path ? hl_python_plugin_name(plugin_path) : NULL;
  if (stem && name && strcmp(name, stem) != 0)
    return hl_error_set(error, HL_NOT_FOUND, "%s holds engine '%s', not '%s'", plugin_path, stem,
                        name);
  if (stem) return open_held(stem, plugin_path, ret_ops, ret_path, error);
  if (plugin_path) {
    HL_CLEANUP(hl_free_pointer)
    char *path = strchr(plugin_path, '/') ? hl_strdup(plugin_path) : hl_format("./%s", plugin_path);
    if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
    hl_engine_ops ops;
    hl_status status = open_object(path, &ops, error);
    if (status != HL_OK) return status;
    if (name && strcmp(name, ops.name) != 0)
      return hl_error_set(error, HL_NOT_FOUND, "%s holds engine '%s', not '%s'", path, ops.name,
                          name);
    *ret_ops = ops;
    if (ret_path) {
      *ret_path = path;
      path = NULL;
    }
    return HL_OK;
  }
  for (size_t i = 0; i < HL_COUNT(builtins); i++) {
    if (strcmp(builtins[i].name, name) != 0) continue;
    if (builtins[i].is_python) return open_held(name, "", ret_ops, ret_path, error);
    if (!builtins[i].entry) return open_builtin_object(name, ret_ops, ret_path, error);
    if (ret_path) *ret_path = hl_strdup("");
    return hl_engine_adopt(builtins[i].entry(), name, ret_ops, error);
  }
  return unknown_engine(name, error);
}

hl_status hl_engine_find(const char *name, const char *const *plugins, size_t plugin_count,
                         hl_engine_ops *ret_ops, char **ret_path, hl_error *error) {
  if (hl_python_held(name)) return open_held(name, "", ret_ops, ret_path, error);
  for (size_t i = 0; i < plugin_count; i++) {
    hl_status status = hl_engine_open(name, plugins[i], ret_ops, ret_path, error);
    if (status != HL_NOT_FOUND) return status; /* it holds another engine */
  }
  hl_error failure = {0};
  hl_status status = hl_engine_open(name, NULL, ret_ops, ret_path, &failure);
  /* What the last plug-in holds says more than that no engine has the name. */
  if (status != HL_OK && (status != HL_NOT_FOUND || plugin_count == 0))
    hl_error_set(error, status, "%s", failure.msg);
  return status;
}

const char *const *hl_engine_prefixes(void) {
  static char prefix[PATH_MAX];
  static const char *list[2];
  static bool known;
  if (known) return list[0] ? list : NULL;
  known = true;
  HL_CLEANUP(hl_free_pointer) char *directory = hl_program_directory();
  HL_CLEANUP(hl_free_pointer) char *engines = directory ? hl_format("%s/engines", directory) : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *settings = directory ? hl_format("%s/../pyvenv.cfg", directory) : NULL;
  HL_CLEANUP(hl_free_pointer)
  char *beside = directory ? hl_format("%s/../.deps/venv", directory) : NULL;
  HL_CLEANUP(hl_free_pointer) char *above = directory ? hl_format("%s/..", directory) : NULL;
  bool built_here = engines && access(engines, X_OK) == 0;
  bool in_environment = settings && access(settings, R_OK) == 0; /* pip installed it there */
  const char *found = built_here ? beside : in_environment ? above : NULL;
  if (found && realpath(found, prefix)) list[0] = prefix;
  return list[0] ? list : NULL;
}
