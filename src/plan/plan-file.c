#include "plan/plan-file.h"

#include "base/file.h"
#include "base/text.h"
#include "plan/hosts.h"
#include "plan/plan-entry.h"
#include "plan/plan-include.h"
#include "plan/plan-matrix.h"
#include "plan/plan-parts.h"
#include <stdlib.h>
#include <string.h>

enum { most_overrides = 64, override_bytes = 4096 };

/* Options of the run that a plan may set; the others are for whoever runs it. */
static const hl_option_id of_run[] = {HL_OPTION_OUTPUT_DIR,   HL_OPTION_EXPORT_FORMAT,
                                      HL_OPTION_PLOT_RESULTS, HL_OPTION_SKIP_FAILED,
                                      HL_OPTION_SHUFFLE,      HL_OPTION_HOSTS,
                                      HL_OPTION_LAUNCHER,     HL_OPTION_REMOTE_PROGRAM};

static const char *const own_keys[] = {"name",  "description", "defaults", "entries",
                                       "plots", "quick",       "include",  "test_configurations",
                                       "parts", "report",      "profile"};

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

static bool is_of_run(const char *key, hl_option_id *ret_id) {
  if (!hl__run_option(key, ret_id)) return false;
  for (size_t i = 0; i < HL_COUNT(of_run); i++)
    if (of_run[i] == *ret_id) return true;
  return false;
}

static hl_status unknown_key(const hl_plan_file *file, const hl_yaml *key, hl_error *error) {
  size_t length = strlen(key->text), best = 4;
  const char *nearest = NULL;
  hl_option_id id;
  if (hl__run_option(key->text, &id))
    return hl_yaml_refuse(&file->yaml, key, error,
                          "'%.60s' is for the command line of 'hotlap run', not for a plan",
                          key->text);
  if (hl__entry_option('S', key->text, length, NULL) ||
      hl__entry_option('L', key->text, length, NULL) ||
      hl__entry_option('Y', key->text, length, NULL))
    return hl_yaml_refuse(&file->yaml, key, error,
                          "'%.60s' stands beside the entries; put it into one, or under "
                          "'defaults' for all of them",
                          key->text);
  for (size_t i = 0; i < HL_COUNT(own_keys) + HL_COUNT(of_run); i++) {
    const char *name =
        i < HL_COUNT(own_keys) ? own_keys[i] : hl_option_name(of_run[i - HL_COUNT(own_keys)]);
    size_t distance = hl_edit_distance(key->text, length, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return hl_yaml_refuse(
      &file->yaml, key, error, "unknown key '%.60s'%s%s%s", key->text,
      nearest ? "; did you mean '" : "", nearest ? nearest : "",
      nearest
          ? "'?"
          : "; a plan has name, description, defaults, entries, test_configurations, plots, quick, "
            "parts, report, profile");
}

/* -- the whole --------------------------------------------------------------------------------- */

static hl_status read_text(const hl_plan_file *file, const hl_yaml *map, const char *key,
                           const char **ret_text, hl_error *error) {
  const hl_yaml *node = hl_yaml_find(map, key);
  if (!node) return HL_OK;
  if (node->kind != HL_YAML_SCALAR)
    return hl_yaml_refuse(&file->yaml, node, error, "'%s' takes a text", key);
  *ret_text = node->text;
  return HL_OK;
}

/* A text, or those of a list. */
static hl_status read_texts(hl_plan_file *file, const hl_yaml *node, const char *key,
                            const char *const **ret_texts, size_t *ret_count, hl_error *error) {
  if (!node) return HL_OK;
  bool one = node->kind == HL_YAML_SCALAR;
  size_t count = one ? 1 : node->count;
  const char **texts = hl_arena_array(&file->yaml.arena, count, sizeof *texts);
  if (!texts) return no_memory(error);
  for (size_t i = 0; i < count; i++) {
    const hl_yaml *item = one ? node : node->items[i];
    if (node->kind == HL_YAML_MAP || item->kind != HL_YAML_SCALAR)
      return hl_yaml_refuse(&file->yaml, item, error, "'%s' takes a text or a list of them", key);
    texts[i] = item->text;
  }
  *ret_texts = texts;
  *ret_count = count;
  return HL_OK;
}

/* Each host is a word of its own: a name, or of a mapping NAME=LAUNCHER. */
static hl_status add_hosts(hl_plan_file *file, const char **words, const hl_yaml *value,
                           hl_error *error) {
  bool one = value->kind == HL_YAML_SCALAR;
  size_t count = one ? 1 : value->count;
  if (count == 0 || count > HL_HOSTS)
    return hl_yaml_refuse(&file->yaml, value, error, "'hosts' takes 1 to %d of them", HL_HOSTS);
  for (size_t i = 0; i < count; i++) {
    const hl_yaml *item = one ? value : value->items[i];
    if (item->kind != HL_YAML_SCALAR)
      return hl_yaml_refuse(&file->yaml, item, error,
                            "'hosts' takes names, or a mapping of names to launchers: {box: ssh "
                            "box, here: none}");
    bool named = value->kind == HL_YAML_MAP;
    HL_CLEANUP(hl_free_pointer)
    char *word = hl_format("--hosts=%s%s%s", named ? value->keys[i]->text : "", named ? "=" : "",
                           item->text);
    const char *kept = word ? hl_arena_text(&file->yaml.arena, word) : NULL;
    if (!kept) return no_memory(error);
    words[file->word_count++] = kept;
  }
  return HL_OK;
}

static hl_status add_word(hl_plan_file *file, const char **words, hl_option_id id,
                          const hl_yaml *key, const hl_yaml *value, hl_error *error) {
  bool on = true;
  const char *const *texts = NULL;
  size_t count = 0;
  if (hl_option_is_switch(id) && !hl_yaml_bool(value, &on))
    return hl_yaml_refuse(&file->yaml, value, error, "'%.60s' takes true or false", key->text);
  if (!on) return HL_OK;
  hl_status status = read_texts(file, value, key->text, &texts, &count, error);
  if (status != HL_OK) return status;
  hl_text word = HL_TEXT_INIT;
  hl_text_format(&word, "--%s", hl_option_name(id));
  for (size_t i = 0; i < count && !hl_option_is_switch(id); i++)
    hl_text_format(&word, "%c%s", i ? ',' : '=', texts[i]);
  const char *kept = word.failed ? NULL : hl_arena_text(&file->yaml.arena, word.data);
  hl_text_release(&word);
  if (!kept) return no_memory(error);
  words[file->word_count++] = kept;
  return HL_OK;
}

static bool is_own_key(const char *key) {
  for (size_t i = 0; i < HL_COUNT(own_keys); i++)
    if (strcmp(own_keys[i], key) == 0) return true;
  return false;
}

/* What is neither a part of the plan nor an option of the run belongs to the one entry of a plan
 * without `entries`. */
static hl_status read_whole(hl_plan_file *file, bool has_entries, hl_error *error) {
  const hl_yaml *root = file->yaml.root;
  const char **words = hl_arena_array(&file->yaml.arena, HL_OPTION_COUNT + HL_HOSTS, sizeof *words);
  if (!words) return no_memory(error);
  file->words = words;
  hl_status status = read_text(file, root, "name", &file->name, error);
  if (status == HL_OK) status = read_text(file, root, "description", &file->description, error);
  for (size_t i = 0; i < root->count && status == HL_OK; i++) {
    const hl_yaml *key = root->keys[i];
    hl_option_id id;
    if (is_of_run(key->text, &id)) {
      if (file->word_count >= HL_OPTION_COUNT) /* hosts are several words */
        return hl_yaml_refuse(&file->yaml, key, error, "an option of the run is given twice");
      status = id == HL_OPTION_HOSTS ? add_hosts(file, words, root->items[i], error)
                                     : add_word(file, words, id, key, root->items[i], error);
    } else if (has_entries && !is_own_key(key->text)) {
      status = unknown_key(file, key, error);
    }
  }
  return status;
}

/* -- plots ------------------------------------------------------------------------------------- */

static bool good_file(const char *name) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  size_t length = strlen(name);
  return length > 0 && length <= 80 && strspn(name, good) == length;
}

static hl_status read_plot(hl_plan_file *file, const hl_yaml *node, hl_plan_plot *plot,
                           hl_error *error) {
  static const char *const keys[] = {"file", "title", "entries", "x", "y"};
  *plot = (hl_plan_plot){.where = node, .x = "batch_size"};
  if (node->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&file->yaml, node, error, "a plot is a mapping: {file: ..., y: ...}");
  for (size_t i = 0; i < node->count; i++) {
    bool known = false;
    for (size_t k = 0; k < HL_COUNT(keys); k++)
      known = known || strcmp(node->keys[i]->text, keys[k]) == 0;
    if (!known)
      return hl_yaml_refuse(&file->yaml, node->keys[i], error,
                            "unknown key '%.60s'; a plot has file, title, entries, x and y",
                            node->keys[i]->text);
  }
  hl_status status = read_text(file, node, "file", &plot->file, error);
  if (status == HL_OK) status = read_text(file, node, "title", &plot->title, error);
  if (status == HL_OK) status = read_text(file, node, "x", &plot->x, error);
  if (status == HL_OK)
    status = read_texts(file, hl_yaml_find(node, "entries"), "entries", &plot->entries,
                        &plot->entry_count, error);
  if (status == HL_OK)
    status = read_texts(file, hl_yaml_find(node, "y"), "y", &plot->y, &plot->y_count, error);
  if (status != HL_OK) return status;
  if (!plot->file || !good_file(plot->file))
    return hl_yaml_refuse(&file->yaml, node, error,
                          "the file of a plot has 1 to 80 letters, digits, '-' and '_', without "
                          "ending");
  if (plot->y_count < 1 || plot->y_count > HL_PLAN_PANELS)
    return hl_yaml_refuse(&file->yaml, node, error, "a plot has 1 to %d metrics as y",
                          HL_PLAN_PANELS);
  return HL_OK;
}

static bool has_entry(const hl_plan_file *file, const char *name) {
  for (size_t i = 0; i < file->step_count; i++)
    if (strcmp(file->steps[i].entry, name) == 0) return true;
  return false;
}

static hl_status read_plots(hl_plan_file *file, hl_error *error) {
  const hl_yaml *list = hl_yaml_find(file->yaml.root, "plots");
  if (!list) return HL_OK;
  if (list->kind != HL_YAML_LIST || list->count > HL_PLAN_PLOTS)
    return hl_yaml_refuse(&file->yaml, list, error, "'plots' takes a list of at most %d plots",
                          HL_PLAN_PLOTS);
  file->plots = hl_arena_array(&file->yaml.arena, list->count, sizeof *file->plots);
  if (!file->plots) return no_memory(error);
  hl_status status = HL_OK;
  for (size_t i = 0; i < list->count && status == HL_OK; i++) {
    hl_plan_plot *plot = &file->plots[file->plot_count++];
    status = read_plot(file, list->items[i], plot, error);
    for (size_t k = 0; k < i && status == HL_OK; k++)
      if (plot->file && strcmp(file->plots[k].file, plot->file) == 0)
        status = hl_yaml_refuse(&file->yaml, plot->where, error, "two plots have the file '%s'",
                                plot->file);
    for (size_t k = 0; k < plot->entry_count && status == HL_OK; k++)
      if (!has_entry(file, plot->entries[k]))
        status = hl_yaml_refuse(&file->yaml, plot->where, error, "no entry is called '%.60s'",
                                plot->entries[k]);
  }
  return status;
}

/* -- overrides --------------------------------------------------------------------------------- */

static bool names_entry(const hl_yaml *entries, const char *name, size_t length) {
  for (size_t i = 0; entries && entries->kind == HL_YAML_LIST && i < entries->count; i++) {
    const hl_yaml *found = hl_yaml_find(entries->items[i], "name");
    if (found && found->kind == HL_YAML_SCALAR && strlen(found->text) == length &&
        strncmp(found->text, name, length) == 0)
      return true;
  }
  return false;
}

/* "KEY=VALUE", "ENTRY.KEY=VALUE", "ENGINE.KEY=VALUE". */
static hl_status read_override(hl_plan_file *file, const char *text, const hl_yaml *entries,
                               hl__override *ret, hl_error *error) {
  hl_arena *arena = &file->yaml.arena;
  size_t length = strcspn(text, "="), entry = 0;
  if (strlen(text) > override_bytes)
    return hl_error_set(error, HL_LIMIT, "'%.60s...' has more than %d bytes; put it into the plan",
                        text, override_bytes);
  if (length == 0 || !text[length])
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "'%.100s' is no KEY=VALUE for the plan, such as batch-sizes=1,8", text);
  for (size_t i = 0; i < length; i++)
    if (text[i] == '.' && names_entry(entries, text, i)) entry = i;
  *ret = (hl__override){.text = text};
  const char *key = text;
  if (entry) {
    ret->entry = hl_arena_text_n(arena, text, entry);
    key = text + entry + 1;
  }
  length = strcspn(key, "=");
  bool of_engine = memchr(key, '.', length) != NULL;
  ret->key = of_engine ? "engine-option" : hl_arena_text_n(arena, key, length);
  ret->value = hl_arena_text(arena, of_engine ? key : key + length + 1);
  return ret->key && ret->value && (!entry || ret->entry) ? HL_OK : no_memory(error);
}

static hl_status check_overrides(const hl__override *overrides, size_t count, hl_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (overrides[i].used) continue;
    const char *nearest = hl_option_nearest('S', overrides[i].key, strlen(overrides[i].key));
    hl_option_id id;
    if (hl__run_option(overrides[i].key, &id))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "'%.100s': '%.60s' is of the whole run, an option: --%s",
                          overrides[i].text, overrides[i].key, hl_option_name(id));
    if (nearest && !hl__entry_option('S', nearest, strlen(nearest), NULL)) nearest = NULL;
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "'%.100s': no entry of the plan has '%.60s'%s%s%s", overrides[i].text,
                        overrides[i].key, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
  }
  return HL_OK;
}

/* "KEY=VALUE" of a pair under 'quick', a list with commas. */
static hl_status quick_text(hl_plan_file *file, const hl_yaml *key, const hl_yaml *value,
                            const char **ret_text, hl_error *error) {
  const char *const *values = NULL;
  size_t count = 0;
  hl_status status = read_texts(file, value, key->text, &values, &count, error);
  if (status != HL_OK) return status;
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < count; i++)
    hl_text_format(&text, "%s%c%s", i ? "" : key->text, i ? ',' : '=', values[i]);
  *ret_text = text.failed ? NULL : hl_arena_text(&file->yaml.arena, text.data);
  hl_text_release(&text);
  return *ret_text ? HL_OK : no_memory(error);
}

/* What the plan itself takes in the place of its values when it is to be quick. */
static hl_status read_quick(hl_plan_file *file, bool wanted, const char **texts, size_t *ret_count,
                            hl_error *error) {
  const hl_yaml *map = hl_yaml_find(file->yaml.root, "quick");
  if (!map && wanted)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: --quick: the plan does not say what it would leave out; a mapping "
                        "'quick' does, such as {batch-sizes: [1, 8]}",
                        file->yaml.name);
  if (!map) return HL_OK;
  if (map->kind != HL_YAML_MAP || map->count > most_overrides)
    return hl_yaml_refuse(&file->yaml, map, error,
                          "'quick' takes a mapping of at most %d KEY or ENTRY.KEY to values",
                          most_overrides);
  for (size_t i = 0; i < map->count; i++) {
    hl_status status = quick_text(file, map->keys[i], map->items[i], &texts[i], error);
    if (status != HL_OK) return status;
  }
  *ret_count = wanted ? map->count : 0;
  return HL_OK;
}

/* -- the file ---------------------------------------------------------------------------------- */

static hl_status read_entry(hl_plan_file *file, const hl_yaml *node, const hl_yaml *defaults,
                            size_t index, hl__override *overrides, size_t override_count,
                            hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl__entry *entry = malloc(sizeof *entry);
  if (!entry) return no_memory(error);
  hl_status status =
      hl__entry_read(file, node, defaults, index, overrides, override_count, entry, error);
  if (status == HL_OK && has_entry(file, entry->name))
    status = hl_yaml_refuse(&file->yaml, node, error, "two entries are called '%s'", entry->name);
  return status == HL_OK ? hl__entry_expand(entry, error) : status;
}

static hl_status read_entries(hl_plan_file *file, const hl_yaml *entries, hl__override *overrides,
                              size_t override_count, hl_error *error) {
  const hl_yaml *defaults = hl_yaml_find(file->yaml.root, "defaults");
  hl_status status = defaults ? hl__defaults_check(file, defaults, error) : HL_OK;
  if (status != HL_OK) return status;
  if (entries->kind != HL_YAML_LIST || entries->count == 0 || entries->count > HL_PLAN_ENTRIES)
    return hl_yaml_refuse(&file->yaml, entries, error, "'entries' takes a list of 1 to %d entries",
                          HL_PLAN_ENTRIES);
  for (size_t i = 0; i < entries->count && status == HL_OK; i++)
    status = read_entry(file, entries->items[i], defaults, i, overrides, override_count, error);
  return status;
}

/* A plan without `entries` is one entry: the keys that are left. */
static hl_status read_only_entry(hl_plan_file *file, hl__override *overrides, size_t override_count,
                                 hl_error *error) {
  const hl_yaml *root = file->yaml.root;
  hl_yaml *entry = hl_arena_alloc(&file->yaml.arena, sizeof *entry);
  const hl_yaml **keys = hl_arena_array(&file->yaml.arena, root->count, sizeof *keys);
  const hl_yaml **items = hl_arena_array(&file->yaml.arena, root->count, sizeof *items);
  if (!entry || !keys || !items) return no_memory(error);
  *entry = (hl_yaml){.kind = HL_YAML_MAP,
                     .line = root->line,
                     .column = root->column,
                     .keys = keys,
                     .items = items,
                     .file = root->file};
  for (size_t i = 0; i < root->count; i++) {
    hl_option_id id;
    const char *key = root->keys[i]->text;
    static const char *const of_plan_keys[] = {"plots", "name",   "quick",
                                               "parts", "report", "profile"};
    bool of_plan = false;
    for (size_t k = 0; k < HL_COUNT(of_plan_keys); k++)
      of_plan = of_plan || strcmp(key, of_plan_keys[k]) == 0;
    if (of_plan || is_of_run(key, &id)) continue;
    if (strcmp(key, "defaults") == 0)
      return hl_yaml_refuse(&file->yaml, root->keys[i], error,
                            "'defaults' are of entries, and there is no 'entries'");
    keys[entry->count] = root->keys[i];
    items[entry->count++] = root->items[i];
  }
  return read_entry(file, entry, NULL, 0, overrides, override_count, error);
}

static hl_status interpret(hl_plan_file *file, const char *const *given, size_t given_count,
                           bool quick, hl_error *error) {
  const hl_yaml *root = file->yaml.root;
  if (root->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&file->yaml, root, error,
                          "a plan is a mapping that begins with 'entries:', 'model:' or "
                          "'test_configurations:'");
  if (given_count > most_overrides)
    return hl_error_set(error, HL_LIMIT, "more than %d KEY=VALUE for a plan", most_overrides);
  const char *texts[2 * most_overrides] = {0};
  hl__override overrides[2 * most_overrides];
  size_t count = 0;
  file->steps = hl_arena_array(&file->yaml.arena, HL_PLAN_STEPS + 1, sizeof *file->steps);
  if (!file->steps) return no_memory(error);
  const hl_yaml *include = hl_yaml_find(root, "include");
  if (include) /* else it is resolved by now */
    return hl_yaml_refuse(&file->yaml, include, error, "only a plan in a file can include others");
  file->whole = root;
  hl_status status = hl__matrix_rewrite(file, error);
  if (status != HL_OK) return status;
  const hl_yaml *entries = hl_yaml_find(file->yaml.root, "entries");
  status = read_quick(file, quick, texts, &count, error);
  for (size_t i = 0; i < given_count && status == HL_OK; i++)
    texts[count++] = given[i]; /* behind those of the plan: they are stronger */
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = read_override(file, texts[i], entries, &overrides[i], error);
  if (status == HL_OK) status = read_whole(file, entries != NULL, error);
  if (status == HL_OK)
    status = entries ? read_entries(file, entries, overrides, count, error)
                     : read_only_entry(file, overrides, count, error);
  if (status == HL_OK) status = check_overrides(overrides, count, error);
  if (status == HL_OK) status = read_plots(file, error);
  if (status == HL_OK) status = hl__parts_read(file, error);
  if (status == HL_OK && file->step_count == 0)
    status = hl_error_set(error, HL_BAD_DATA, "%s: its excludes leave nothing to measure",
                          file->yaml.name);
  return status;
}

static hl_status finish(hl_plan_file *file, hl_status status, hl_plan_file *ret_file) {
  if (status == HL_OK)
    *ret_file = *file;
  else
    hl_plan_file_release(file);
  return status;
}

hl_status hl_plan_file_parse(const char *bytes, size_t count, const char *name,
                             const char *const *overrides, size_t override_count, bool quick,
                             hl_plan_file *ret_file, hl_error *error) {
  hl_plan_file file = {0};
  hl_status status = hl_yaml_parse(bytes, count, name, &file.yaml, error);
  if (status != HL_OK) return status;
  return finish(&file, interpret(&file, overrides, override_count, quick, error), ret_file);
}

hl_status hl_plan_file_read(const char *path, const char *const *overrides, size_t override_count,
                            bool quick, hl_plan_file *ret_file, hl_error *error) {
  hl_plan_file file = {0};
  hl_status status = hl_yaml_read(path, &file.yaml, error);
  if (status != HL_OK) return status;
  status = hl__include_resolve(&file, path, error);
  if (status == HL_OK) status = interpret(&file, overrides, override_count, quick, error);
  return finish(&file, status, ret_file);
}

void hl_plan_file_release(hl_plan_file *file) {
  for (size_t i = 0; i < file->included_count; i++) hl_yaml_release(&file->included[i]);
  hl_yaml_release(&file->yaml);
  *file = (hl_plan_file){0};
}

char *hl_plan_file_text(const hl_plan_file *file) {
  hl_text text = HL_TEXT_INIT;
  hl_yaml_write(file->whole, &text);
  char *taken = hl_text_take(&text);
  hl_text_release(&text);
  return taken;
}
