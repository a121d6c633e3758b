/*
 * plan/foreign.h - names of foreign models: those that are no ONNX file and no built-in network,
 * but that an engine knows how to get by itself.
 *
 *     package.module:function    a Python function that returns a model and example inputs
 *     NAME.keras, NAME.h5        a file that Keras wrote
 *     FOLDER                     with a saved_model.pb in it, as TensorFlow writes them
 */
#ifndef HL_PLAN_FOREIGN_H
#define HL_PLAN_FOREIGN_H

#include "base/error.h"
#include <stdbool.h>

/* Whether `name`, which is neither a built-in network nor a file, means a function: it has a ':'
 * and no '='. */
bool hl_foreign_is_function(const char *name);

/* Whether the file or folder `path` is one of those. */
bool hl_foreign_is_path(const char *path);

/* OK, or INVALID_ARGUMENT for what cannot be package.module:function, as ":f" and "a:b:c". */
hl_status hl_foreign_check(const char *name, hl_error *error);

#endif
