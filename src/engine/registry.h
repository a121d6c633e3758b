/*
 * engine/registry.h - which engines there are, and opening one.
 *
 * Built-in engines are listed in one array: null is linked in; native is a shared object that is
 * looked for beside the program (build tree) and in the installed engine directory. A plug-in is
 * any shared object that exports hl_engine_entry. Objects are opened RTLD_NOW | RTLD_LOCAL and
 * never closed: engines start threads that outlive them. Call from one thread.
 */
#ifndef HL_ENGINE_REGISTRY_H
#define HL_ENGINE_REGISTRY_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>

/* Name of built-in engine number `index`, NULL past the end. */
const char *hl_engine_builtin(size_t index);

/* Whether built-in engine `name` runs in Python (engine/python.h). */
bool hl_engine_is_python(const char *name);

/* Opens an engine by name; with `plugin_path` the object there, whose engine must have that name
 * unless `name` is NULL. The table is a zero-extended copy with every required hook checked;
 * `ret_ops` is filled, `ret_path` (may be NULL) receives the object's path, "" for a built-in:
 * free() it. NOT_FOUND lists the engines; UNAVAILABLE says why the object cannot be opened. */
hl_status hl_engine_open(const char *name, const char *plugin_path, hl_engine_ops *ret_ops,
                         char **ret_path, hl_error *error);

/* Opens engine `name`: the first of the plug-ins that holds it, else the built-in one. As
 * hl_engine_open. */
hl_status hl_engine_find(const char *name, const char *const *plugins, size_t plugin_count,
                         hl_engine_ops *ret_ops, char **ret_path, hl_error *error);

/* What hl_host.prefixes is to be: in a build tree the Python environment that set-up installs
 * engines into, .deps/venv beside the build; of a program that pip installed, the environment that
 * it lies in. Else NULL. The list lasts as long as the process; the first call makes it. */
const char *const *hl_engine_prefixes(void);

/* Checks a table and copies min(size, own size) bytes into a zeroed one. */
hl_status hl_engine_adopt(const hl_engine_ops *given, const char *where, hl_engine_ops *ret_ops,
                          hl_error *error);

#endif
