#include "engine/python.h"

#include "base/file.h"
#include "base/program.h"
#include "base/text.h"
#include "engine/registry.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_arguments = 16 };

static const hl_engine_ops *held;

void hl_python_hold(const hl_engine_ops *ops) {
  held = ops;
}

const hl_engine_ops *hl_python_held(const char *name) {
  return held && strcmp(held->name, name) == 0 ? held : NULL;
}

char *hl_python_plugin_name(const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  size_t length = strlen(base);
  if (length < 4 || !hl_text_ends(base, ".py")) return NULL;
  return hl_format("%.*s", (int)(length - 3), base);
}

const char *hl_python_needed(const char *name, const char *const *plugins, size_t plugin_count) {
  if (held && (!name || strcmp(held->name, name) == 0)) return NULL;
  for (size_t i = 0; i < plugin_count; i++) {
    HL_CLEANUP(hl_free_pointer) char *stem = hl_python_plugin_name(plugins[i]);
    hl_engine_ops ops;
    if (stem && (!name || strcmp(stem, name) == 0)) return plugins[i];
    if (!stem && (!name || hl_engine_open(name, plugins[i], &ops, NULL, NULL) == HL_OK))
      return NULL;
  }
  return hl_engine_is_python(name) ? name : NULL;
}

static char *find_interpreter(const char *given, hl_error *error) {
  if (given) {
    char *path = strchr(given, '/') ? hl_strdup(given) : hl_format("./%s", given);
    if (path && hl_program_is(path)) return path;
    free(path);
    hl_error_set(error, HL_UNAVAILABLE, "--python: %s is no program that can be run", given);
    return NULL;
  }
  const char *const *prefix = hl_engine_prefixes();
  char *found = hl_program_in(getenv("VIRTUAL_ENV"), "bin/python3");
  for (; !found && prefix && *prefix; prefix++) found = hl_program_in(*prefix, "bin/python3");
  if (!found) found = hl_program_find(getenv("PATH"), "python3");
  if (!found)
    hl_error_set(error, HL_UNAVAILABLE,
                 "there is no python3 in $VIRTUAL_ENV or on $PATH; name one with --python PATH");
  return found;
}

/* A file of the Python package and the object it opens lie in the build tree or are installed. */
static char *beside_program(const char *in_build, const char *installed, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *directory = hl_program_directory();
  const char *const tails[] = {in_build, installed};
  for (size_t i = 0; directory && i < HL_COUNT(tails); i++) {
    char *path = hl_format("%s/%s", directory, tails[i]);
    if (path && access(path, R_OK) == 0) return path;
    free(path);
  }
  hl_error_set(error, HL_UNAVAILABLE, "the Python engines are not installed: there is no %s/%s",
               directory ? directory : "", installed);
  return NULL;
}

hl_status hl_python_run(const char *script, const char *given, const char *const *arguments,
                        hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *interpreter = find_interpreter(given, error);
  HL_CLEANUP(hl_free_pointer) char *in_build = hl_format("../python/hotlap/%s", script);
  HL_CLEANUP(hl_free_pointer) char *installed = hl_format(HL_PYTHON_DIRECTORY "/hotlap/%s", script);
  if (!interpreter) return HL_UNAVAILABLE;
  if (!in_build || !installed) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  HL_CLEANUP(hl_free_pointer) char *path = beside_program(in_build, installed, error);
  if (!path) return HL_UNAVAILABLE;
  const char *list[most_arguments + 4] = {interpreter, "-u", path};
  for (size_t i = 0; arguments[i] && i < most_arguments; i++) list[3 + i] = arguments[i];
  execv(interpreter, (char **)(uintptr_t)list);
  return hl_error_errno(error, HL_UNAVAILABLE, "cannot run %s", interpreter);
}

char *hl_python_observer(void) {
  static const char tail[] = "/sitecustomize.py";
  char *path = beside_program("../python/hotlap/observer/sitecustomize.py",
                              HL_PYTHON_DIRECTORY "/hotlap/observer/sitecustomize.py", NULL);
  if (path) path[strlen(path) - strlen(tail)] = '\0';
  return path;
}

hl_status hl_python_become(const char *code, const char *given, const char *const *arguments,
                           hl_error *error) {
  hl_error why = {.status = HL_OUT_OF_MEMORY, .msg = "no memory for a path"};
  HL_CLEANUP(hl_free_pointer)
  char *object =
      beside_program("src/python/hotlap-python.so", HL_ENGINE_DIRECTORY "/hotlap-python.so", &why);
  HL_CLEANUP(hl_free_pointer) char *directory = object ? hl_program_directory() : NULL;
  const char *list[most_arguments + 1] = {object, directory, code};
  for (size_t i = 0; arguments[i] && i + 3 < most_arguments; i++) list[3 + i] = arguments[i];
  if (directory) hl_python_run("engines/host.py", given, list, &why);
  return hl_error_set(error, why.status, "engine %s: %s", code, why.msg);
}
