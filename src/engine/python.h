/*
 * engine/python.h - engines that are written in Python: torch, and plug-ins NAME.py, which hold the
 * engine NAME.
 *
 * The worker replaces itself by an interpreter, which opens hotlap-python.so, fills the table of
 * engine.h with functions of its own and goes on as a worker. So such an engine is used like any
 * other, and a process without it never starts Python. Not thread-safe.
 */
#ifndef HL_ENGINE_PYTHON_H
#define HL_ENGINE_PYTHON_H

#include "base/error.h"
#include <stdbool.h>

/* Where engine `name` is Python code that this process does not hold (it is not its interpreter):
 * the path of the plug-in, or `name` of a built-in one. NULL: it is no such engine, or a plug-in
 * that is a shared object holds it. With `name` NULL the engine of the first plug-in is meant. */
const char *hl_python_needed(const char *name, const char *const *plugins, size_t plugin_count);

/* The engine of plug-in FOLDER/NAME.py: NAME, to free(); NULL where `path` is no such plug-in. */
char *hl_python_plugin_name(const char *path);

/* Becomes the interpreter: `given` (--python, may be NULL), else that of $VIRTUAL_ENV, of the
 * program's own environment (hl_engine_prefixes), or the first python3 on $PATH. It runs `script`
 * of the Python package with `arguments` (ending with NULL, 16 at most). Returns only where that
 * fails: UNAVAILABLE with the remedy. Descriptors that it is to have must not be closed on exec. */
hl_status hl_python_run(const char *script, const char *given, const char *const *arguments,
                        hl_error *error);

/* The same as an engine's host, which gets `code`, what hl_python_needed returned, and after it
 * `arguments`. */
hl_status hl_python_become(const char *code, const char *given, const char *const *arguments,
                           hl_error *error);

/* The folder whose sitecustomize.py tells which modules the Python processes of a task imported
 * (python/hotlap/observer); free() it. NULL where it is not installed. */
char *hl_python_observer(void);

/* This process is the interpreter: it holds engine `ops`, which must live as long as it. */
void hl_python_hold(const hl_engine_ops *ops);

/* The engine `name` of this process, or NULL. */
const hl_engine_ops *hl_python_held(const char *name);

#endif
