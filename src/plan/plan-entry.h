/* plan/plan-entry.h - an entry of a plan before its matrix is expanded (inside src/plan only). */
#ifndef HL_PLAN_PLAN_ENTRY_H
#define HL_PLAN_PLAN_ENTRY_H

#include "plan/plan-file.h"

enum { HL__ENTRY_KEYS = 128, HL__WORKLOADS = 8 };

/* A key with one value. */
typedef struct hl__setting {
  hl_option_id id;
  const char *value;    /* with {placeholders}; NULL: not given, whatever the defaults say */
  const hl_yaml *where; /* NULL: an override */
} hl__setting;

/* A key with several values: one factor of the product. */
typedef struct hl__axis {
  hl_option_id id; /* HL_OPTION_COUNT: a free key */
  const char *key;
  const char **values;
  size_t count;
  const hl_yaml *where;
  bool used; /* a placeholder names it */
} hl__axis;

typedef struct hl__override {
  const char *text;
  const char *entry; /* NULL: every entry */
  const char *key;
  const char *value;
  bool used;
} hl__override;

typedef struct hl__entry {
  hl_plan_file *file;
  const hl_yaml *where;
  const char *name;
  const char *workload;
  char command;
  bool optional;
  hl__setting settings[HL__ENTRY_KEYS];
  size_t setting_count;
  hl__axis axes[HL__ENTRY_KEYS];
  size_t axis_count;
  const hl_yaml *exclude; /* NULL: none */
} hl__entry;

/* Reads an entry over `defaults` (NULL: none), then the overrides that are for it. */
hl_status hl__entry_read(hl_plan_file *file, const hl_yaml *node, const hl_yaml *defaults,
                         size_t index, hl__override *overrides, size_t override_count,
                         hl__entry *ret_entry, hl_error *error);
/* Refuses keys of `defaults` that no workload has. */
hl_status hl__defaults_check(const hl_plan_file *file, const hl_yaml *defaults, hl_error *error);

/* Appends the entry's combinations to the file's steps. */
hl_status hl__entry_expand(hl__entry *entry, hl_error *error);

/* "did you mean 'x'?", or what is possible, of a key that the workload does not have. */
hl_status hl__entry_unknown(const hl__entry *entry, const hl_yaml *key, hl_error *error);

/* Whether an entry of the workload takes the option of that name. */
bool hl__entry_option(char command, const char *key, size_t length, hl_option_id *ret_id);

/* Whether `hotlap run` itself has the option of that name. */
bool hl__run_option(const char *key, hl_option_id *ret_id);

/* The command whose options the entries of a workload take; 0 for what is none. */
char hl__workload_command(const char *name);
size_t hl__workload_names(const char *ret_names[HL__WORKLOADS]);

/* `text` split at commas, empty items as they are; NULL without memory. */
const char **hl__split(hl_arena *arena, const char *text, size_t *ret_count);

#endif
