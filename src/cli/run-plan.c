#include "cli/run-plan.h"

#include "base/hash.h"
#include "cli/plan.h"
#include "models/models.h"
#include <stdlib.h>
#include <string.h>

enum { words_bytes = 64 << 20 };

typedef struct builder {
  hl_sweep *sweep;
  const hl_plan_file *file;
  uint64_t *methods; /* hash of each part's method */
  uint64_t *rows;    /* open addressing: hashes of the rows' keys, 0 is free */
  size_t row_slots;
  size_t capacity;
} builder;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

/* A file that is not there costs its own rows, later; a network that nobody knows is a mistake. */
static hl_status find_model(const char *name, hl_plan_model *ret_model, hl_error *error) {
  if (!hl_cli_model_is_file(name)) return hl_cli_model(name, ret_model, error);
  *ret_model = (hl_plan_model){.name = hl_strdup(name)};
  return ret_model->name ? HL_OK : no_memory(error);
}

/* The entry's words, and what holds for all entries alike: where they run. */
static hl_status make_words(const hl_sweep *s, const hl_plan_step *step, hl_arena *arena,
                            const char ***ret_words, size_t *ret_count, hl_error *error) {
  static const hl_option_id common[] = {HL_OPTION_LAUNCHER, HL_OPTION_REMOTE_PROGRAM};
  const char **words = hl_arena_array(arena, step->word_count + HL_COUNT(common), sizeof *words);
  if (!words) return no_memory(error);
  size_t count = 0;
  for (; count < step->word_count; count++) words[count] = step->words[count];
  for (size_t i = 0; i < HL_COUNT(common); i++) {
    const char *value = hl_options_get(&s->options, common[i]);
    HL_CLEANUP(hl_free_pointer)
    char *word = value ? hl_format("--%s=%s", hl_option_name(common[i]), value) : NULL;
    if (value && !(word && (words[count++] = hl_arena_text(arena, word)))) return no_memory(error);
  }
  *ret_words = words;
  *ret_count = count;
  return HL_OK;
}

static hl_status build_part(builder *b, const hl_plan_step *step, hl_sweep_part *part,
                            hl_error *error) {
  const char **words = NULL;
  size_t count = 0;
  hl_status status = make_words(b->sweep, step, &b->sweep->plan.arena, &words, &count, error);
  if (status != HL_OK) return status;
  /* The parser takes argv as main() has it, and leaves it alone. */
  char **argv = (char **)(uintptr_t)words;
  status = hl_options_parse(step->command, (int)count, argv, &part->options, error);
  if (status != HL_OK) return status;
  hl_plan_model model = {0};
  status = hl_cli_settings_apply(&part->options, &part->settings, error);
  if (status == HL_OK) status = find_model(step->model, &model, error);
  if (status == HL_OK)
    status = hl_cli_plan(&part->options, &model, 1, &b->sweep->machine, &part->plan, error);
  free((char *)(uintptr_t)model.name);
  return status;
}

/* The method of an earlier part of this entry that is the same: rows of both can be measured in
 * turns. */
static hl_status share_method(builder *b, size_t index, const hl_method_options **ret_method,
                              hl_error *error) {
  const hl_plan_file *file = b->file;
  HL_CLEANUP(hl_free_pointer) char *text = hl_method_text(&b->sweep->parts[index].plan.method);
  if (!text) return no_memory(error);
  b->methods[index] = hl_hash_text(HL_HASH_START, text);
  *ret_method = &b->sweep->parts[index].plan.method;
  for (size_t i = index; i-- > 0 && strcmp(file->steps[i].entry, file->steps[index].entry) == 0;)
    if (b->methods[i] == b->methods[index]) *ret_method = &b->sweep->parts[i].plan.method;
  return HL_OK;
}

/* Whether the row is new; it is then known. What two combinations of an entry ask for is measured
 * once. */
static hl_status is_new(builder *b, const hl_configuration *c, bool *ret_new, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *key = hl_configuration_key(c);
  HL_CLEANUP(hl_free_pointer) char *method = hl_method_text(c->method);
  if (!key || !method) return no_memory(error);
  uint64_t hash = hl_hash_text(hl_hash_text(HL_HASH_START, key), method);
  if (hash == 0) hash = 1;
  size_t at = hash % b->row_slots;
  while (b->rows[at] && b->rows[at] != hash) at = (at + 1) % b->row_slots;
  *ret_new = b->rows[at] == 0;
  b->rows[at] = hash;
  return HL_OK;
}

static hl_status add_rows(builder *b, size_t index, hl_error *error) {
  const hl_plan_step *step = &b->file->steps[index];
  const hl_plan *part = &b->sweep->parts[index].plan;
  hl_plan *whole = &b->sweep->plan;
  const hl_method_options *method = NULL;
  hl_status status = share_method(b, index, &method, error);
  for (size_t i = 0; i < part->count && status == HL_OK; i++) {
    hl_configuration c = part->items[i];
    bool new_row = false;
    if (hl_plan_step_excludes(step, &c)) continue;
    c.entry = step->entry;
    c.method = method;
    status = is_new(b, &c, &new_row, error);
    if (status == HL_OK && new_row) {
      if (whole->count == b->capacity)
        return hl_error_set(error, HL_LIMIT, "the plan has more than %d rows", HL_PLAN_ROWS);
      whole->items[whole->count++] = c;
    }
  }
  return status;
}

static hl_status build_all(builder *b, hl_error *error) {
  hl_sweep *s = b->sweep;
  hl_status status = HL_OK;
  for (size_t i = 0; i < b->file->step_count && status == HL_OK; i++) {
    const hl_plan_step *step = &b->file->steps[i];
    hl_error inner = {0};
    s->part_count = i + 1;
    status = build_part(b, step, &s->parts[i], &inner);
    if (status == HL_OK) status = add_rows(b, i, &inner);
    if (status != HL_OK)
      return hl_error_set(error, status, "%.150s:%zu:%zu: entry '%s': %.250s",
                          hl_yaml_name(&b->file->yaml, step->where), step->where->line,
                          step->where->column, step->entry, inner.msg);
  }
  if (s->plan.count == 0)
    return hl_error_set(error, HL_BAD_DATA, "%s: its excludes, or --only, leave nothing to measure",
                        b->file->yaml.name);
  s->plan.method = s->parts[0].plan.method;
  return HL_OK;
}

/* The nearest of a network's parameters, NULL where none is near. */
static const char *nearest_parameter(const hl_builtin_model *model, const char *key) {
  size_t length = strlen(key), best = length > 4 ? 4 : 2;
  const char *nearest = NULL;
  for (size_t i = 0; model->parameters[i].key; i++) {
    size_t distance = hl_edit_distance(key, length, model->parameters[i].key);
    if (distance >= best) continue;
    best = distance;
    nearest = model->parameters[i].key;
  }
  return nearest;
}

/* Of a test matrix: the parameters of built-in networks, where each stands. */
static hl_status check_parameters(const hl_plan_file *file, hl_error *error) {
  for (size_t i = 0; i < file->parameter_count; i++) {
    const hl_plan_parameter *p = &file->parameters[i];
    const hl_builtin_model *model = hl_models_find(p->model);
    bool known = !model;
    for (size_t k = 0; !known && model->parameters[k].key; k++) {
      const char *alias = model->parameters[k].alias;
      known = strcmp(model->parameters[k].key, p->key->text) == 0 ||
              (alias && strcmp(alias, p->key->text) == 0);
    }
    if (known) continue;
    const char *nearest = nearest_parameter(model, p->key->text);
    return hl_yaml_refuse(&file->yaml, p->key, error,
                          "'%.60s' is no option, and no parameter of the network %s%s%s%s",
                          p->key->text, model->name, nearest ? "; did you mean '" : "",
                          nearest ? nearest : "", nearest ? "'?" : "");
  }
  return HL_OK;
}

hl_status hl_cli_plan_from_file(hl_sweep *sweep, const hl_plan_file *file, hl_error *error) {
  builder b = {.sweep = sweep, .file = file, .capacity = HL_PLAN_ROWS};
  b.row_slots = 2 * (size_t)HL_PLAN_ROWS;
  sweep->file = file;
  sweep->parts = calloc(file->step_count, sizeof *sweep->parts);
  b.methods = calloc(file->step_count, sizeof *b.methods);
  b.rows = calloc(b.row_slots, sizeof *b.rows);
  hl_arena_init(&sweep->plan.arena, (size_t)HL_PLAN_ROWS * sizeof(hl_configuration) + words_bytes);
  sweep->plan.items = hl_arena_array(&sweep->plan.arena, HL_PLAN_ROWS, sizeof(hl_configuration));
  bool whole = sweep->parts && b.methods && b.rows && sweep->plan.items;
  hl_status status = whole ? check_parameters(file, error) : no_memory(error);
  if (status == HL_OK) status = build_all(&b, error);
  free(b.methods);
  free(b.rows);
  return status;
}
