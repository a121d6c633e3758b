#include "plan/plan-entry.h"

#include "base/text.h"
#include "plan/plan-matrix.h"
#include <stdlib.h>
#include <string.h>

/* What a step can be, and the command whose options it has. */
static const struct {
  const char *name;
  char command;
} workloads[] = {{"inference", 'S'}, {"pipeline", 'S'}, {"progressive", 'S'},
                 {"load", 'L'},      {"training", 'T'}, {"memory", 'Y'}};

/* Keys of an entry that are no options. */
static const char *const own_keys[] = {"name",     "description", "workload",
                                       "optional", "matrix",      "exclude"};

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

bool hl__run_option(const char *key, hl_option_id *ret_id) {
  return strlen(key) > 1 && hl_option_find('P', key, strlen(key), ret_id);
}

bool hl__entry_option(char command, const char *key, size_t length, hl_option_id *ret_id) {
  hl_option_id id; /* a letter, as of -q, is no key */
  if (length < 2 || !hl_option_find(command, key, length, &id) || hl_option_taken(id, 'P'))
    return false;
  if (ret_id) *ret_id = id;
  return true;
}

static bool is_own_key(const char *key) {
  for (size_t i = 0; i < HL_COUNT(own_keys); i++)
    if (strcmp(own_keys[i], key) == 0) return true;
  return false;
}

hl_status hl__entry_unknown(const hl__entry *e, const hl_yaml *key, hl_error *error) {
  size_t length = strlen(key->text), best = 4;
  const char *nearest = hl_option_nearest(e->command, key->text, length);
  if (nearest && !hl__entry_option(e->command, nearest, strlen(nearest), NULL)) nearest = NULL;
  if (nearest) best = hl_edit_distance(key->text, length, nearest);
  for (size_t i = 0; i < HL_COUNT(own_keys); i++) {
    size_t distance = hl_edit_distance(key->text, length, own_keys[i]);
    if (distance < best) {
      best = distance;
      nearest = own_keys[i];
    }
  }
  hl_option_id id;
  if (hl__run_option(key->text, &id))
    return hl_yaml_refuse(&e->file->yaml, key, error,
                          "'%.60s' is of the whole run: an option of 'hotlap run', not of an entry",
                          key->text);
  if (nearest)
    return hl_yaml_refuse(&e->file->yaml, key, error, "unknown key '%.60s'; did you mean '%s'?",
                          key->text, nearest);
  return hl_yaml_refuse(&e->file->yaml, key, error,
                        "unknown key '%.60s'; the keys of %s are the options of docs/options.md",
                        key->text, e->workload);
}

/* -- keys and their values --------------------------------------------------------------------- */

static bool has_key(const hl__entry *e, hl_option_id id) {
  for (size_t i = 0; i < e->setting_count; i++)
    if (e->settings[i].id == id) return true;
  for (size_t i = 0; i < e->axis_count; i++)
    if (e->axes[i].id == id && id != HL_OPTION_COUNT) return true;
  return false;
}

/* An option that is given once for each of its values. */
static bool is_repeatable(hl_option_id id) {
  switch (id) {
  case HL_OPTION_PLUGIN:
  case HL_OPTION_ENGINE_OPTION:
  case HL_OPTION_ENGINE_LIBRARY:
  case HL_OPTION_INPUT_SHAPE:
  case HL_OPTION_REQUIRE:
  case HL_OPTION_METRIC_PLUGIN:
    return true;
  default:
    return false;
  }
}

static hl_status add_setting(hl__entry *e, hl_option_id id, const char *value, const hl_yaml *where,
                             hl_error *error) {
  if (!value && where && !hl_yaml_is_null(where)) return no_memory(error);
  if (e->setting_count == HL__ENTRY_KEYS)
    return hl_error_set(error, HL_LIMIT, "%s: entry '%s' has more than %d values",
                        e->file->yaml.name, e->name, HL__ENTRY_KEYS);
  e->settings[e->setting_count++] = (hl__setting){id, value, where};
  return HL_OK;
}

static hl_status refuse_value(const hl__entry *e, const hl_yaml *where, const char *key,
                              const char *expected, hl_error *error) {
  return hl_yaml_refuse(&e->file->yaml, where, error, "'%.60s' takes %s", key, expected);
}

static hl_status add_axis(hl__entry *e, hl_option_id id, const hl_yaml *key, const hl_yaml *value,
                          hl_error *error) {
  if (e->axis_count == HL__ENTRY_KEYS)
    return hl_error_set(error, HL_LIMIT, "%s: entry '%s' has more than %d keys", e->file->yaml.name,
                        e->name, HL__ENTRY_KEYS);
  bool one = value->kind == HL_YAML_SCALAR;
  if (value->kind == HL_YAML_MAP || value->count == 0) {
    if (!one) return refuse_value(e, value, key->text, "a value or a list of them", error);
  }
  hl__axis *axis = &e->axes[e->axis_count];
  *axis = (hl__axis){.id = id, .key = key->text, .where = key};
  axis->values = hl_arena_array(&e->file->yaml.arena, one ? 1 : value->count, sizeof *axis->values);
  if (!axis->values) return no_memory(error);
  for (size_t i = 0; i < (one ? 1 : value->count); i++) {
    const hl_yaml *item = one ? value : value->items[i];
    if (item->kind != HL_YAML_SCALAR || hl_yaml_is_null(item))
      return refuse_value(e, item, key->text, "values, not lists of lists", error);
    axis->values[axis->count++] = item->text;
  }
  e->axis_count++;
  return HL_OK;
}

/* "1,8,32" of [1, 8, 32]. */
static hl_status add_joined(hl__entry *e, hl_option_id id, const hl_yaml *key, const hl_yaml *value,
                            hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < value->count; i++) {
    const hl_yaml *item = value->items[i];
    if (item->kind != HL_YAML_SCALAR || hl_yaml_is_null(item)) {
      hl_text_release(&text);
      return refuse_value(e, item, key->text, "values, not lists of lists", error);
    }
    hl_text_format(&text, "%s%s", i ? "," : "", item->text);
  }
  const char *joined = text.failed ? NULL : hl_arena_text(&e->file->yaml.arena, text.data);
  hl_text_release(&text);
  if (value->count == 0) return refuse_value(e, value, key->text, "at least one value", error);
  return joined ? add_setting(e, id, joined, value, error) : no_memory(error);
}

/* Each of a list, or "KEY=VALUE" of each pair of a mapping. */
static hl_status add_repeated(hl__entry *e, hl_option_id id, const hl_yaml *key,
                              const hl_yaml *value, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < value->count && status == HL_OK; i++) {
    const hl_yaml *item = value->items[i];
    if (item->kind != HL_YAML_SCALAR || hl_yaml_is_null(item))
      return refuse_value(e, item, key->text, "values, not lists of lists", error);
    const char *text = item->text;
    if (value->kind == HL_YAML_MAP) {
      HL_CLEANUP(hl_free_pointer)
      char *pair = hl_format("%s=%s", value->keys[i]->text, item->text);
      text = pair ? hl_arena_text(&e->file->yaml.arena, pair) : NULL;
    }
    status = text ? add_setting(e, id, text, item, error) : no_memory(error);
  }
  return status;
}

static hl_status add_option(hl__entry *e, hl_option_id id, const hl_yaml *key, const hl_yaml *value,
                            hl_error *error) {
  bool on;
  if (hl_yaml_is_null(value)) return add_setting(e, id, NULL, value, error);
  if (value->kind == HL_YAML_SCALAR && hl_option_is_switch(id) && !hl_yaml_bool(value, &on))
    return refuse_value(e, value, key->text, "true or false", error);
  if (value->kind == HL_YAML_SCALAR) return add_setting(e, id, value->text, value, error);
  if (is_repeatable(id)) return add_repeated(e, id, key, value, error);
  if (value->kind == HL_YAML_MAP)
    return refuse_value(e, value, key->text, "a value or a list of them", error);
  if (hl_option_is_list(id)) return add_joined(e, id, key, value, error);
  return add_axis(e, id, key, value, error);
}

static hl_status add_matrix(hl__entry *e, const hl_yaml *matrix, hl_error *error) {
  if (matrix->kind != HL_YAML_MAP)
    return refuse_value(e, matrix, "matrix", "a mapping of keys to lists of values", error);
  hl_status status = HL_OK;
  for (size_t i = 0; i < matrix->count && status == HL_OK; i++) {
    const hl_yaml *key = matrix->keys[i];
    hl_option_id id = HL_OPTION_COUNT;
    if (hl__run_option(key->text, &id)) return hl__entry_unknown(e, key, error);
    if (!hl__entry_option(e->command, key->text, strlen(key->text), &id)) id = HL_OPTION_COUNT;
    if (id != HL_OPTION_COUNT && has_key(e, id))
      return hl_yaml_refuse(&e->file->yaml, key, error, "'%.60s' is given twice in this entry",
                            key->text);
    status = add_axis(e, id, key, matrix->items[i], error);
  }
  return status;
}

/* -- an entry ---------------------------------------------------------------------------------- */

static bool good_name(const char *name) {
  /* '/' stands between the parts of a name that a matrix made. */
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/";
  size_t length = strlen(name), most = strchr(name, '/') ? 4 * HL__MATRIX_NAME + 3 : 60;
  return length > 0 && length <= most && strspn(name, good) == length;
}

static hl_status read_name(hl__entry *e, const hl_yaml *node, size_t index, hl_error *error) {
  const hl_yaml *name = hl_yaml_find(node, "name");
  if (!name) {
    HL_CLEANUP(hl_free_pointer) char *made = hl_format("entry-%zu", index + 1);
    e->name = made ? hl_arena_text(&e->file->yaml.arena, made) : NULL;
    return e->name ? HL_OK : no_memory(error);
  }
  if (name->kind != HL_YAML_SCALAR || !good_name(name->text))
    return hl_yaml_refuse(&e->file->yaml, name, error,
                          "the name of an entry has 1 to 60 letters, digits, '-' and '_'");
  e->name = name->text;
  return HL_OK;
}

static hl_status read_workload(hl__entry *e, const hl_yaml *node, hl_error *error) {
  e->workload = workloads[0].name;
  e->command = workloads[0].command;
  if (!node) return HL_OK;
  for (size_t i = 0; node->kind == HL_YAML_SCALAR && i < HL_COUNT(workloads); i++)
    if (strcmp(node->text, workloads[i].name) == 0) {
      e->workload = workloads[i].name;
      e->command = workloads[i].command;
      /* A switch of sweep: the rest is as of inference. */
      bool pipeline = strcmp(workloads[i].name, "pipeline") == 0;
      if (pipeline) return add_setting(e, HL_OPTION_PIPELINE, "true", node, error);
      bool progressive = strcmp(workloads[i].name, "progressive") == 0;
      return progressive ? add_setting(e, HL_OPTION_PROGRESSIVE, "true", node, error) : HL_OK;
    }
  hl_text names = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_COUNT(workloads); i++)
    hl_text_format(&names, "%s%s",
                   i == 0                        ? ""
                   : i + 1 < HL_COUNT(workloads) ? ", "
                                                 : " or ",
                   workloads[i].name);
  hl_status status = hl_yaml_refuse(&e->file->yaml, node, error, "a workload is %s", names.data);
  hl_text_release(&names);
  return status;
}

static hl_status read_keys(hl__entry *e, const hl_yaml *node, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < node->count && status == HL_OK; i++) {
    const hl_yaml *key = node->keys[i], *value = node->items[i];
    hl_option_id id;
    if (strcmp(key->text, "matrix") == 0)
      status = add_matrix(e, value, error);
    else if (strcmp(key->text, "exclude") == 0)
      e->exclude = value;
    else if (is_own_key(key->text))
      continue;
    else if (!hl__entry_option(e->command, key->text, strlen(key->text), &id))
      status = hl__entry_unknown(e, key, error);
    else if (has_key(e, id))
      status = hl_yaml_refuse(&e->file->yaml, key, error, "'%.60s' is given twice in this entry",
                              key->text);
    else
      status = add_option(e, id, key, value, error);
  }
  return status;
}

/* What the entry does not say itself; what its workload does not have is for other entries. */
static hl_status read_defaults(hl__entry *e, const hl_yaml *defaults, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; defaults && i < defaults->count && status == HL_OK; i++) {
    const hl_yaml *key = defaults->keys[i];
    hl_option_id id;
    if (!is_own_key(key->text) && hl__entry_option(e->command, key->text, strlen(key->text), &id) &&
        !has_key(e, id))
      status = add_option(e, id, key, defaults->items[i], error);
  }
  return status;
}

hl_status hl__defaults_check(const hl_plan_file *file, const hl_yaml *defaults, hl_error *error) {
  if (defaults->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&file->yaml, defaults, error, "'defaults' takes a mapping of keys");
  for (size_t i = 0; i < defaults->count; i++) {
    const hl_yaml *key = defaults->keys[i];
    bool known = strcmp(key->text, "workload") == 0 || strcmp(key->text, "optional") == 0;
    for (size_t w = 0; w < HL_COUNT(workloads); w++)
      known = known || hl__entry_option(workloads[w].command, key->text, strlen(key->text), NULL);
    if (known) continue;
    if (is_own_key(key->text))
      return hl_yaml_refuse(&file->yaml, key, error, "'%s' is of an entry, not of the defaults",
                            key->text);
    hl_plan_file *same = (hl_plan_file *)(uintptr_t)file;
    const hl__entry any = {
        .file = same, .workload = workloads[0].name, .command = workloads[0].command};
    return hl__entry_unknown(&any, key, error);
  }
  return HL_OK;
}

/* -- overrides --------------------------------------------------------------------------------- */

const char **hl__split(hl_arena *arena, const char *text, size_t *ret_count) {
  size_t most = 1;
  for (const char *c = text; *c; c++) most += *c == ',';
  const char **items = hl_arena_array(arena, most, sizeof *items);
  size_t count = 0;
  for (const char *at = text; items; at++) {
    size_t length = strcspn(at, ",");
    char *item = hl_arena_text_n(arena, at, length);
    if (!item) return NULL;
    items[count++] = item;
    at += length;
    if (!*at) break;
  }
  *ret_count = count;
  return items;
}

static void drop_settings(hl__entry *e, hl_option_id id) {
  size_t kept = 0;
  for (size_t i = 0; i < e->setting_count; i++)
    if (e->settings[i].id != id) e->settings[kept++] = e->settings[i];
  e->setting_count = kept;
}

/* A model has commas of its own. */
static hl_status set_axis(hl__entry *e, hl__axis *axis, const char *value, hl_error *error) {
  if (axis->id == HL_OPTION_MODEL) {
    axis->values[0] = value;
    axis->count = 1;
    return HL_OK;
  }
  size_t count = 0;
  const char **values = hl__split(&e->file->yaml.arena, value, &count);
  if (!values) return no_memory(error);
  if (count == 1 && !values[0][0])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%s=' has no value", axis->key);
  for (size_t i = 0; i < count; i++)
    if (!values[i][0])
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "'%.60s=%.100s': item %zu is empty; a comma stands between two items",
                          axis->key, value, i + 1);
  axis->values = values;
  axis->count = count;
  return HL_OK;
}

static hl_status apply(hl__entry *e, hl__override *o, hl_error *error) {
  hl_option_id id = HL_OPTION_COUNT;
  bool option = hl__entry_option(e->command, o->key, strlen(o->key), &id);
  for (size_t i = 0; i < e->axis_count; i++) {
    hl__axis *axis = &e->axes[i];
    if (option ? axis->id != id : axis->id != HL_OPTION_COUNT || strcmp(axis->key, o->key) != 0)
      continue;
    o->used = true;
    return set_axis(e, axis, o->value, error);
  }
  if (!option) return HL_OK; /* another entry may have it */
  o->used = true;
  if (!is_repeatable(id)) drop_settings(e, id);
  return add_setting(e, id, o->value, NULL, error);
}

hl_status hl__entry_read(hl_plan_file *file, const hl_yaml *node, const hl_yaml *defaults,
                         size_t index, hl__override *overrides, size_t override_count,
                         hl__entry *ret_entry, hl_error *error) {
  hl__entry *e = ret_entry;
  *e = (hl__entry){.file = file, .where = node};
  if (node->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&file->yaml, node, error,
                          "an entry is a mapping: 'model: resnet50', ...");
  hl_status status = read_name(e, node, index, error);
  const hl_yaml *workload = hl_yaml_find(node, "workload");
  if (!workload) workload = hl_yaml_find(defaults, "workload");
  if (status == HL_OK) status = read_workload(e, workload, error);
  const hl_yaml *optional = hl_yaml_find(node, "optional");
  if (!optional) optional = hl_yaml_find(defaults, "optional");
  if (status == HL_OK && optional && !hl_yaml_bool(optional, &e->optional))
    status = refuse_value(e, optional, "optional", "true or false", error);
  if (status == HL_OK) status = read_keys(e, node, error);
  if (status == HL_OK) status = read_defaults(e, defaults, error);
  for (size_t i = 0; i < override_count && status == HL_OK; i++)
    if (!overrides[i].entry || strcmp(overrides[i].entry, e->name) == 0)
      status = apply(e, &overrides[i], error);
  return status;
}

char hl__workload_command(const char *name) {
  for (size_t i = 0; i < HL_COUNT(workloads); i++)
    if (strcmp(workloads[i].name, name) == 0) return workloads[i].command;
  return '\0';
}

size_t hl__workload_names(const char *ret_names[HL__WORKLOADS]) {
  for (size_t i = 0; i < HL_COUNT(workloads); i++) ret_names[i] = workloads[i].name;
  return HL_COUNT(workloads);
}
