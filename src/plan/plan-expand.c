/* From an entry to its combinations. */
#include "base/text.h"
#include "plan/plan-entry.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expansion {
  hl__entry *entry;
  size_t place[HL__ENTRY_KEYS]; /* of each axis: the value at hand */
  hl_error *error;
} expansion;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

static const char *name_of(const hl__axis *axis) {
  return axis->id == HL_OPTION_COUNT ? axis->key : hl_option_name(axis->id);
}

/* The axis that a text of `length` bytes names. */
static hl__axis *find_axis(hl__entry *e, const char *name, size_t length) {
  hl_option_id id = HL_OPTION_COUNT;
  bool option = hl__entry_option(e->command, name, length, &id);
  for (size_t i = 0; i < e->axis_count; i++) {
    hl__axis *axis = &e->axes[i];
    if (option ? axis->id == id
               : axis->id == HL_OPTION_COUNT && strlen(axis->key) == length &&
                     strncmp(axis->key, name, length) == 0)
      return axis;
  }
  return NULL;
}

/* -- {placeholders} ---------------------------------------------------------------------------- */

static size_t name_length(const char *at) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  size_t length = strspn(at, good);
  return at[length] == '}' ? length : 0;
}

/* The text with the values at hand; "{{" is a brace. NULL after an error. */
static const char *fill(expansion *x, const char *text, const hl_yaml *where) {
  hl__entry *e = x->entry;
  if (!strchr(text, '{')) return text;
  hl_text filled = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (const char *at = text; *at && status == HL_OK; at++) {
    size_t length = at[0] == '{' ? name_length(at + 1) : 0;
    if (at[0] == '{' && at[1] == '{') {
      hl_text_char(&filled, *at++);
      continue;
    }
    if (length == 0) {
      hl_text_char(&filled, *at);
      continue;
    }
    hl__axis *axis = find_axis(e, at + 1, length);
    if (axis) {
      axis->used = true;
      hl_text_append(&filled, axis->values[x->place[axis - e->axes]]);
    } else if (where) {
      status = hl_yaml_refuse(&e->file->yaml, where, x->error,
                              "{%.*s}: the matrix of entry '%s' has no such key; '{{' is a brace",
                              (int)(length < 60 ? length : 60), at + 1, e->name);
    } else {
      status = hl_error_set(x->error, HL_INVALID_ARGUMENT,
                            "'%.200s': the matrix of entry '%s' has no such key", text, e->name);
    }
    at += length + 1;
  }
  const char *kept = NULL;
  if (status == HL_OK) {
    kept = filled.failed ? NULL : hl_arena_text(&e->file->yaml.arena, filled.data);
    if (!kept) (void)no_memory(x->error);
  }
  hl_text_release(&filled);
  return kept;
}

/* -- exclude ----------------------------------------------------------------------------------- */

/* Numbers are equal as numbers, "08" and "8". */
static bool same_value(const char *a, const char *b) {
  int64_t x, y;
  if (strcmp(a, b) == 0) return true;
  return hl_parse_int(a, INT64_MIN, INT64_MAX, "", &x, NULL) == HL_OK &&
         hl_parse_int(b, INT64_MIN, INT64_MAX, "", &y, NULL) == HL_OK && x == y;
}

static bool has_value(const char *const *values, size_t count, const char *value) {
  for (size_t i = 0; i < count; i++)
    if (same_value(values[i], value)) return true;
  return false;
}

/* What one configuration has of an option, where a row can be told by it; false for others. */
static bool value_of(const hl_configuration *c, hl_option_id id, char text[32],
                     const char **ret_value) {
  *ret_value = text;
  switch (id) {
  case HL_OPTION_ENGINE:
    *ret_value = c->engine;
    return true;
  case HL_OPTION_DTYPE:
    *ret_value = c->dtype;
    return true;
  case HL_OPTION_DEVICE:
    *ret_value = c->device;
    return true;
  case HL_OPTION_THREADS:
    snprintf(text, 32, "%" PRId64, c->threads);
    return true;
  case HL_OPTION_BATCH_SIZES:
    snprintf(text, 32, "%" PRId64, c->batch_size);
    return true;
  default:
    return false;
  }
}

static bool can_tell(hl_option_id id) {
  char text[32];
  const char *value;
  return value_of(&(hl_configuration){0}, id, text, &value);
}

bool hl_plan_step_excludes(const hl_plan_step *step, const hl_configuration *configuration) {
  for (size_t i = 0; i < step->exclude_count; i++) {
    const hl_plan_exclude *exclude = &step->excludes[i];
    bool all = true;
    for (size_t k = 0; k < exclude->condition_count && all; k++) {
      const hl_plan_condition *c = &exclude->conditions[k];
      char text[32];
      const char *value;
      all = value_of(configuration, c->id, text, &value) &&
            has_value(c->values, c->value_count, value) != c->others;
    }
    if (all) return true;
  }
  return false;
}

static const char *const *values_of(expansion *x, const hl_yaml *node, size_t *ret_count) {
  bool one = node->kind == HL_YAML_SCALAR;
  *ret_count = one ? 1 : node->count;
  const char **values = hl_arena_array(&x->entry->file->yaml.arena, *ret_count, sizeof *values);
  if (!values) return NULL;
  for (size_t i = 0; i < *ret_count; i++) values[i] = one ? node->text : node->items[i]->text;
  return values;
}

static hl_status check_exclude(expansion *x, const hl_yaml *map, hl_error *error) {
  hl__entry *e = x->entry;
  if (map->kind != HL_YAML_MAP || map->count == 0)
    return hl_yaml_refuse(
        &e->file->yaml, map, error,
        "'exclude' takes mappings such as {precision: float16, batch-sizes: 128}");
  for (size_t i = 0; i < map->count; i++) {
    const hl_yaml *key = map->keys[i], *value = map->items[i];
    hl_option_id id;
    bool known = find_axis(e, key->text, strlen(key->text)) ||
                 (hl__entry_option(e->command, key->text, strlen(key->text), &id) && can_tell(id));
    if (!known)
      return hl_yaml_refuse(
          &e->file->yaml, key, error,
          "'%.60s' tells no rows apart: exclude takes keys of the matrix, engine, "
          "precision, device, threads and batch-sizes",
          key->text);
    for (size_t k = 0; value->kind != HL_YAML_SCALAR && k < value->count; k++)
      if (value->kind == HL_YAML_MAP || value->items[k]->kind != HL_YAML_SCALAR)
        return hl_yaml_refuse(&e->file->yaml, value, error, "a value or a list of them");
  }
  return HL_OK;
}

/* Of a rule what is left to ask of rows; no conditions: the whole combination is left out. `false`:
 * the rule does not hold here. */
static hl_status narrow(expansion *x, const hl_yaml *map, bool *ret_holds, hl_plan_exclude *ret) {
  hl__entry *e = x->entry;
  *ret = (hl_plan_exclude){
      .conditions = hl_arena_array(&e->file->yaml.arena, map->count, sizeof *ret->conditions)};
  if (!ret->conditions) return no_memory(x->error);
  *ret_holds = true;
  for (size_t i = 0; i < map->count && *ret_holds; i++) {
    const char *key = map->keys[i]->text;
    size_t count;
    const char *const *values = values_of(x, map->items[i], &count);
    if (!values) return no_memory(x->error);
    const hl__axis *axis = find_axis(e, key, strlen(key));
    hl_option_id id = HL_OPTION_COUNT;
    if (axis)
      *ret_holds = has_value(values, count, axis->values[x->place[axis - e->axes]]);
    else if (hl__entry_option(e->command, key, strlen(key), &id))
      ret->conditions[ret->condition_count++] =
          (hl_plan_condition){.id = id, .values = values, .value_count = count};
  }
  return HL_OK;
}

static hl_status check_excludes(expansion *x) {
  const hl_yaml *list = x->entry->exclude;
  if (!list) return HL_OK;
  if (list->kind == HL_YAML_MAP) return check_exclude(x, list, x->error);
  if (list->kind == HL_YAML_SCALAR) return check_exclude(x, list, x->error);
  hl_status status = HL_OK;
  for (size_t i = 0; i < list->count && status == HL_OK; i++)
    status = check_exclude(x, list->items[i], x->error);
  return status;
}

static hl_status read_excludes(expansion *x, hl_plan_step *step, bool *ret_left_out) {
  const hl_yaml *list = x->entry->exclude;
  *ret_left_out = false;
  if (!list) return HL_OK;
  size_t count = list->kind == HL_YAML_MAP ? 1 : list->count;
  hl_plan_exclude *excludes = hl_arena_array(&x->entry->file->yaml.arena, count, sizeof *excludes);
  if (!excludes) return no_memory(x->error);
  step->excludes = excludes;
  for (size_t i = 0; i < count; i++) {
    bool holds;
    hl_plan_exclude *to = &excludes[step->exclude_count];
    hl_status status = narrow(x, list->kind == HL_YAML_MAP ? list : list->items[i], &holds, to);
    if (status != HL_OK) return status;
    if (!holds) continue;
    if (to->condition_count == 0) *ret_left_out = true;
    step->exclude_count++;
  }
  return HL_OK;
}

/* -- steps ------------------------------------------------------------------------------------- */

/* Adds "--key=value"; the model is kept apart. */
static hl_status add_word(expansion *x, hl_plan_step *step, const char **words, hl_option_id id,
                          const char *text, const hl_yaml *where) {
  hl__entry *e = x->entry;
  if (!text) return HL_OK;
  const char *value = fill(x, text, where);
  if (!value) return x->error ? x->error->status : HL_OUT_OF_MEMORY;
  if (id == HL_OPTION_MODEL) {
    step->model = value;
    return HL_OK;
  }
  HL_CLEANUP(hl_free_pointer) char *word = NULL;
  if (hl_option_is_switch(id)) {
    bool on = false;
    const hl_yaml node = {.kind = HL_YAML_SCALAR, .text = value};
    if (!hl_yaml_bool(&node, &on))
      return hl_error_set(x->error, HL_INVALID_ARGUMENT, "'%s' is true or false, not '%.60s'",
                          hl_option_name(id), value);
    if (!on) return HL_OK;
    word = hl_format("--%s", hl_option_name(id));
  } else {
    word = hl_format("--%s=%s", hl_option_name(id), value);
  }
  const char *kept = word ? hl_arena_text(&e->file->yaml.arena, word) : NULL;
  if (!kept) return no_memory(x->error);
  words[step->word_count++] = kept;
  return HL_OK;
}

static hl_status make_step(expansion *x, hl_plan_step *step) {
  hl__entry *e = x->entry;
  const char **words =
      hl_arena_array(&e->file->yaml.arena, e->setting_count + e->axis_count + 1, sizeof *words);
  if (!words) return no_memory(x->error);
  *step = (hl_plan_step){.entry = e->name,
                         .command = e->command,
                         .workload = e->workload,
                         .words = words,
                         .word_count = 1,
                         .optional = e->optional,
                         .where = e->where};
  words[0] = e->name;
  hl_status status = HL_OK;
  for (size_t i = 0; i < e->setting_count && status == HL_OK; i++)
    status =
        add_word(x, step, words, e->settings[i].id, e->settings[i].value, e->settings[i].where);
  for (size_t i = 0; i < e->axis_count && status == HL_OK; i++)
    if (e->axes[i].id != HL_OPTION_COUNT)
      status =
          add_word(x, step, words, e->axes[i].id, e->axes[i].values[x->place[i]], e->axes[i].where);
  if (status == HL_OK && !step->model)
    status = hl_yaml_refuse(&e->file->yaml, e->where, x->error,
                            "entry '%s' has no model; 'hotlap models' lists the built-in networks",
                            e->name);
  return status;
}

/* How many steps there will be; whether there is room for them is known before the first is made.
 */
static hl_status count_steps(const expansion *x, size_t *ret_count) {
  const hl__entry *e = x->entry;
  size_t count = 1;
  for (size_t i = 0; i < e->axis_count; i++) {
    if (e->axes[i].count > HL_PLAN_STEPS / count) count = HL_PLAN_STEPS + 1;
    if (count <= HL_PLAN_STEPS) count *= e->axes[i].count;
  }
  if (count > HL_PLAN_STEPS - e->file->step_count)
    return hl_error_set(x->error, HL_LIMIT,
                        "%s:%zu:%zu: with entry '%s' the plan has more than %d combinations",
                        hl_yaml_name(&e->file->yaml, e->where), e->where->line, e->where->column,
                        e->name, HL_PLAN_STEPS);
  *ret_count = count;
  return HL_OK;
}

/* The last axis turns fastest. */
static void advance(expansion *x) {
  for (size_t i = x->entry->axis_count; i-- > 0;) {
    if (++x->place[i] < x->entry->axes[i].count) return;
    x->place[i] = 0;
  }
}

static hl_status check_used(const expansion *x) {
  const hl__entry *e = x->entry;
  for (size_t i = 0; i < e->axis_count; i++)
    if (e->axes[i].id == HL_OPTION_COUNT && !e->axes[i].used)
      return hl_yaml_refuse(&e->file->yaml, e->axes[i].where, x->error,
                            "'%.60s' is no option of %s, and no value of entry '%s' has it as "
                            "{%.60s}",
                            name_of(&e->axes[i]), e->workload, e->name, e->axes[i].key);
  return HL_OK;
}

hl_status hl__entry_expand(hl__entry *entry, hl_error *error) {
  hl_error own = {0};
  expansion x = {.entry = entry, .error = &own};
  size_t count = 0;
  hl_status status = check_excludes(&x);
  if (status == HL_OK) status = count_steps(&x, &count);
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    hl_plan_step *step = &entry->file->steps[entry->file->step_count];
    bool left_out = false;
    status = make_step(&x, step);
    if (status == HL_OK) status = read_excludes(&x, step, &left_out);
    if (status == HL_OK && !left_out) entry->file->step_count++;
    advance(&x);
  }
  if (status == HL_OK) status = check_used(&x);
  if (status != HL_OK && error) *error = own;
  return status;
}
