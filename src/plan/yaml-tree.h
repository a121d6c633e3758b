/*
 * plan/yaml-tree.h - a YAML file as a tree, whatever its bytes.
 *
 *     hl_yaml_file file;
 *     hl_status status = hl_yaml_read("plan.yaml", &file, error);
 *     const hl_yaml *model = hl_yaml_find(file.root, "model");
 *     if (model && model->kind != HL_YAML_SCALAR)
 *       status = hl_yaml_refuse(&file, model, error, "a model is a word");
 *     hl_yaml_release(&file);
 *
 * Every scalar is text: `yes` and `1e3` are what was written. Aliases (*name) stand for what they
 * name and `<<` takes a mapping's keys, within HL_YAML_VALUES of the whole tree. Refused, with
 * FILE:LINE:COLUMN: a key that is given twice, keys that are no scalars, control characters, other
 * encodings than UTF-8, tags of languages, a second document. Immutable once read.
 */
#ifndef HL_PLAN_YAML_TREE_H
#define HL_PLAN_YAML_TREE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>

enum {
  HL_YAML_BYTES = 256 << 10,  /* of a file */
  HL_YAML_DEPTH = 16,         /* of nested lists and mappings */
  HL_YAML_VALUES = 20000,     /* of a tree, aliases counted as what they stand for */
  HL_YAML_KEYS = 1000,        /* of one mapping */
  HL_YAML_ANCHORS = 1000,     /* of a file */
  HL_YAML_SCALAR_BYTES = 8192 /* of one scalar */
};

typedef enum hl_yaml_kind { HL_YAML_SCALAR, HL_YAML_LIST, HL_YAML_MAP } hl_yaml_kind;

typedef struct hl_yaml hl_yaml;
struct hl_yaml {
  hl_yaml_kind kind;
  size_t line, column;         /* from 1; of an alias, where what it names stands */
  const char *text;            /* of a scalar */
  bool plain;                  /* a scalar without quotes */
  const hl_yaml *const *keys;  /* of a map: scalars */
  const hl_yaml *const *items; /* of a list, or the values of a map */
  size_t count;
  const char *file; /* that it was read from; NULL: the file that is at hand */
};

typedef struct hl_yaml_file {
  hl_arena arena;
  const char *name;
  const hl_yaml *root;
} hl_yaml_file;

/* NOT_FOUND, IO; BAD_DATA and LIMIT name FILE:LINE:COLUMN; OUT_OF_MEMORY. */
hl_status hl_yaml_read(const char *path, hl_yaml_file *ret_file, hl_error *error);
/* The same of bytes in memory, which need not stay; `name` stands for the file in messages. */
hl_status hl_yaml_parse(const char *bytes, size_t count, const char *name, hl_yaml_file *ret_file,
                        hl_error *error);
void hl_yaml_release(hl_yaml_file *file);

/* The value of a key, NULL where the map has none or `map` is none. */
const hl_yaml *hl_yaml_find(const hl_yaml *map, const char *key);
/* A plain scalar that is empty or ~. The word null is text: an engine has that name. */
bool hl_yaml_is_null(const hl_yaml *node);
/* true, yes, on or false, no, off in any of YAML's spellings; false for another text. */
bool hl_yaml_bool(const hl_yaml *node, bool *ret_value);

/* The file of a node, for messages. */
const char *hl_yaml_name(const hl_yaml_file *file, const hl_yaml *node);

/* Appends the tree as YAML that reads back the same, on one line, whatever files it came from. */
void hl_yaml_write(const hl_yaml *node, hl_text *out);

/* BAD_DATA: "FILE:LINE:COLUMN: " and the message. */
hl_status hl_yaml_refuse(const hl_yaml_file *file, const hl_yaml *where, hl_error *error,
                         const char *format, ...) HL_PRINTF(4, 5);

#endif
