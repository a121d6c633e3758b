#include "plan/engine-options.h"

#include <string.h>

/* What is being sorted out. */
typedef struct sorter {
  hl_arena *arena;
  const char *const *engines;
  size_t count;
  const hl_plan_engines *known;
  hl_option_list *lists; /* one for each engine */
} sorter;

size_t hl_plan_scope(const char *text) {
  size_t length = strcspn(text, "=/");
  return text[length] == '=' ? length : 0;
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

/* Number of the engine whose name is the first `length` bytes of `text`; s->count if none is. */
static size_t engine_named(const sorter *s, const char *text, size_t length) {
  for (size_t i = 0; i < s->count; i++)
    if (strlen(s->engines[i]) == length && strncmp(s->engines[i], text, length) == 0) return i;
  return s->count;
}

static hl_plan_known knows(const sorter *s, size_t engine, const char *key) {
  return s->known ? s->known->knows(s->known->context, s->engines[engine], key) : HL_PLAN_MAYBE;
}

/* How well the best of them knows it, and how many do so well. */
static hl_plan_known best_known(const sorter *s, const char *key, size_t *ret_count) {
  hl_plan_known best = HL_PLAN_NO;
  *ret_count = 0;
  for (size_t i = 0; i < s->count; i++) {
    hl_plan_known k = knows(s, i, key);
    if (k > best) *ret_count = 0;
    if (k > best) best = k;
    *ret_count += k == best;
  }
  return best;
}

static void add(sorter *s, size_t engine, const char *key, const char *value) {
  hl_option_list *list = &s->lists[engine];
  list->items[list->count++] = (hl_option){.key = key, .value = value};
}

static hl_status nobody_knows(const sorter *s, const char *key, hl_error *error) {
  hl_text all = HL_TEXT_INIT, names = HL_TEXT_INIT;
  for (size_t i = 0; i < s->count; i++) {
    hl_text one = HL_TEXT_INIT;
    if (s->known) s->known->options_of(s->known->context, s->engines[i], &one);
    hl_text_format(&all, "%s%s", all.length && one.length ? ", " : "", one.data);
    hl_text_format(&names, "%s%s", i ? ", " : "", s->engines[i]);
    hl_text_release(&one);
  }
  hl_status status = hl_error_set(
      error, HL_INVALID_ARGUMENT,
      "--engine-option: no engine of this sweep (%.100s) has an option '%.100s'%s%.250s",
      names.data, key, all.length ? "; there are " : "", all.data);
  hl_text_release(&all);
  hl_text_release(&names);
  return status;
}

static hl_status sort_option(sorter *s, const char *text, hl_error *error) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine-option: '%s' is not KEY=VALUE or ENGINE.KEY=VALUE", text);
  const char *key = hl_arena_text_n(s->arena, text, (size_t)(equals - text));
  if (!key) return no_memory(error);
  size_t dot = strcspn(key, "."), engine = s->count, count = 0;
  if (key[dot]) engine = engine_named(s, key, dot);
  if (engine < s->count) {
    if (key[dot + 1] == '\0')
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--engine-option: '%s' names no key", text);
    add(s, engine, key + dot + 1, equals + 1);
    return HL_OK;
  }
  hl_plan_known best = best_known(s, key, &count);
  if (key[dot] && best != HL_PLAN_YES)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine-option: '%s' is for engine '%.*s', which is not in this sweep",
                        text, (int)dot, key);
  if (best == HL_PLAN_NO) return nobody_knows(s, key, error);
  for (size_t i = 0; i < s->count; i++)
    if (knows(s, i, key) == best) add(s, i, key, equals + 1);
  return HL_OK;
}

static hl_status sort_library(sorter *s, const char *text, hl_error *error) {
  size_t scope = hl_plan_scope(text), count = 0;
  size_t engine = scope ? engine_named(s, text, scope) : s->count;
  if (scope && engine == s->count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine-library: '%s' is for engine '%.*s', which is not in this sweep; "
                        "a path with '=' in it needs a folder, as ./%s",
                        text, (int)scope, text, text);
  const char *path = scope ? text + scope + 1 : text;
  if (!path[0])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--engine-library: '%s' names no file", text);
  if (scope) {
    add(s, engine, "library", path);
    return HL_OK;
  }
  hl_plan_known best = best_known(s, "library", &count);
  if (best == HL_PLAN_NO)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine-library: no engine of this sweep stands on a library that can be "
                        "named");
  if (count > 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine-library: '%s' could be for %zu engines; write ENGINE=PATH", text,
                        count);
  for (size_t i = 0; i < s->count; i++)
    if (knows(s, i, "library") == best) add(s, i, "library", path);
  return HL_OK;
}

bool hl_plan_has_python_metrics(const hl_options *options) {
  const char *path;
  for (size_t i = 0; (path = hl_options_at(options, HL_OPTION_METRIC_PLUGIN, i)); i++)
    if (hl_text_ends(path, ".py")) return true;
  return false;
}

static hl_status sort_python(sorter *s, const char *path, bool for_metrics, hl_error *error) {
  size_t count;
  hl_plan_known best = best_known(s, "python", &count);
  if (!path[0]) return hl_error_set(error, HL_INVALID_ARGUMENT, "--python names no file");
  if (best == HL_PLAN_NO && for_metrics) return HL_OK;
  if (best == HL_PLAN_NO)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--python: no engine of this sweep runs in Python");
  for (size_t i = 0; i < s->count; i++)
    if (knows(s, i, "python") == best) add(s, i, "python", path);
  return HL_OK;
}

/* An option of the command line that is option `key` of the engines that know it. */
static hl_status sort_named(sorter *s, const hl_options *options, hl_option_id id, const char *key,
                            hl_error *error) {
  const char *value = hl_options_get(options, id);
  size_t count;
  if (!value) return HL_OK;
  hl_plan_known best = best_known(s, key, &count);
  if (best == HL_PLAN_NO)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--%s: no engine of this sweep has an option '%s'; the native engine has",
                        hl_option_name(id), key);
  for (size_t i = 0; i < s->count; i++)
    if (knows(s, i, key) == best) add(s, i, key, value);
  return HL_OK;
}

hl_status hl_plan_engine_options(const hl_options *options, hl_arena *arena,
                                 const char *const *engines, size_t engine_count,
                                 const hl_plan_engines *known, hl_option_list *ret_lists,
                                 hl_error *error) {
  sorter s = {arena, engines, engine_count, known, ret_lists};
  size_t most = 0;
  const char *text;
  while (hl_options_at(options, HL_OPTION_ENGINE_OPTION, most)) most++;
  for (size_t i = 0; hl_options_at(options, HL_OPTION_ENGINE_LIBRARY, i); i++) most++;
  most += 3; /* --python, --disable-pass, --algorithms */
  for (size_t i = 0; i < engine_count; i++) {
    ret_lists[i] = (hl_option_list){.items = hl_arena_array(arena, most, sizeof(hl_option))};
    if (!ret_lists[i].items) return no_memory(error);
  }
  hl_status status = HL_OK;
  for (size_t i = 0; status == HL_OK && (text = hl_options_at(options, HL_OPTION_ENGINE_OPTION, i));
       i++)
    status = sort_option(&s, text, error);
  for (size_t i = 0;
       status == HL_OK && (text = hl_options_at(options, HL_OPTION_ENGINE_LIBRARY, i)); i++)
    status = sort_library(&s, text, error);
  text = hl_options_get(options, HL_OPTION_PYTHON);
  if (status == HL_OK && text)
    status = sort_python(&s, text, hl_plan_has_python_metrics(options), error);
  if (status == HL_OK) status = sort_named(&s, options, HL_OPTION_DISABLE_PASS, "disable", error);
  if (status == HL_OK) status = sort_named(&s, options, HL_OPTION_ALGORITHMS, "algorithms", error);
  return status;
}
