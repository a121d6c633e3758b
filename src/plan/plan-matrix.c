#include "plan/plan-matrix-internal.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

const char *const hl__matrix_axes[HL__AXES] = {"datasets", "models", "hardware", "scenarios",
                                               "batch_sizes"};
static hl_status no_memory(const hl__matrix *m) {
  return hl_error_set(m->error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

const char *hl__nearest_name(const char *text, const char *const *names, size_t count) {
  size_t length = strlen(text), best = length > 4 ? 4 : 2;
  const char *nearest = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t distance = hl_edit_distance(text, length, names[i]);
    if (distance < best) {
      best = distance;
      nearest = names[i];
    }
  }
  return nearest;
}

/* "'x' is no KIND; did you mean 'y'?" or which there are. */
hl_status hl__matrix_refuse(const hl__matrix *m, const hl_yaml *where, const char *what,
                            const char *const *names, size_t count) {
  const char *nearest = hl__nearest_name(where->text, names, count);
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "unknown %s '%.60s'", what, where->text);
  if (nearest) hl_text_format(&text, "; did you mean '%s'?", nearest);
  for (size_t i = 0; i < count && !nearest; i++)
    hl_text_format(&text, "%s%s", i ? ", " : "; there are ", names[i]);
  hl_status status =
      hl_yaml_refuse(&m->file->yaml, where, m->error, "%s", text.failed ? what : text.data);
  hl_text_release(&text);
  return status;
}

/* -- reading the axes -------------------------------------------------------------------------- */

static bool good_name(const char *name) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  size_t length = strlen(name);
  return length > 0 && length <= HL__MATRIX_NAME && strspn(name, good) == length;
}

static hl_status add_item(const hl__matrix *m, int which, const hl_yaml *name, const hl_yaml *value,
                          hl__matrix_axis *to) {
  const char *what = hl__matrix_axes[which];
  if (name->kind != HL_YAML_SCALAR || !good_name(name->text))
    return hl_yaml_refuse(&m->file->yaml, name, m->error,
                          "a name under '%s' has 1 to %d letters, digits, '-' and '_'", what,
                          HL__MATRIX_NAME);
  for (size_t i = 0; i < to->count; i++)
    if (strcmp(to->items[i].name->text, name->text) == 0)
      return hl_yaml_refuse(&m->file->yaml, name, m->error, "'%s' is twice under '%s'", name->text,
                            what);
  if (to->count == HL__MATRIX_ITEMS)
    return hl_yaml_refuse(&m->file->yaml, name, m->error, "more than %d under '%s'",
                          HL__MATRIX_ITEMS, what);
  to->items[to->count++] = (hl__matrix_item){name, value && hl_yaml_is_null(value) ? NULL : value};
  return HL_OK;
}

/* A mapping of names; or a list of names, or of mappings with names, as `hardware` has it. */
static hl_status read_axis(hl__matrix *m, int which, const hl_yaml *node) {
  hl__matrix_axis *to = &m->axes[which];
  to->items = hl_arena_array(&m->file->yaml.arena, HL__MATRIX_ITEMS, sizeof *to->items);
  if (!to->items) return no_memory(m);
  hl_status status = HL_OK;
  for (size_t i = 0; node->kind == HL_YAML_MAP && i < node->count && status == HL_OK; i++)
    status = add_item(m, which, node->keys[i], node->items[i], to);
  for (size_t i = 0; node->kind == HL_YAML_LIST && i < node->count && status == HL_OK; i++) {
    const hl_yaml *one = node->items[i];
    if (one->kind == HL_YAML_SCALAR) status = add_item(m, which, one, NULL, to);
    for (size_t k = 0; one->kind == HL_YAML_MAP && k < one->count && status == HL_OK; k++)
      status = add_item(m, which, one->keys[k], one->items[k], to);
    if (one->kind == HL_YAML_LIST)
      status = hl_yaml_refuse(&m->file->yaml, one, m->error, "'%s' takes names, not lists in it",
                              hl__matrix_axes[which]);
  }
  if (status == HL_OK && to->count == 0)
    status =
        hl_yaml_refuse(&m->file->yaml, node, m->error,
                       "'%s' takes a mapping of names, or a list of them", hl__matrix_axes[which]);
  return status;
}

/* batch_sizes: [1, 8] is one set without a name. */
static hl_status read_batch_sizes(hl__matrix *m, const hl_yaml *node) {
  bool bare = node->kind != HL_YAML_MAP;
  if (!bare) return read_axis(m, HL__BATCH_SIZES, node);
  hl__matrix_axis *to = &m->axes[HL__BATCH_SIZES];
  to->items = hl_arena_array(&m->file->yaml.arena, 1, sizeof *to->items);
  const hl_yaml *name = hl__matrix_text(m, "all", node);
  if (!to->items || !name) return no_memory(m);
  to->items[to->count++] = (hl__matrix_item){name, node};
  return HL_OK;
}

static hl_status read_axes(hl__matrix *m, const hl_yaml *node) {
  if (node->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&m->file->yaml, node, m->error,
                          "'test_configurations' takes a mapping of datasets, models, hardware, "
                          "batch_sizes and scenarios");
  hl_status status = HL_OK;
  for (size_t i = 0; i < node->count && status == HL_OK; i++) {
    const hl_yaml *key = node->keys[i], *value = node->items[i];
    int which = 0;
    while (which < HL__AXES && strcmp(key->text, hl__matrix_axes[which]) != 0) which++;
    if (strcmp(key->text, "batch-sizes") == 0) which = HL__BATCH_SIZES;
    if (which == HL__AXES)
      status = hl__matrix_refuse(m, key, "key of test_configurations", hl__matrix_axes, HL__AXES);
    else if (which == HL__BATCH_SIZES)
      status = read_batch_sizes(m, value);
    else
      status = read_axis(m, which, value);
  }
  if (status == HL_OK && m->axes[HL__MODELS].count == 0)
    status = hl_yaml_refuse(&m->file->yaml, node, m->error,
                            "'test_configurations' has no 'models', such as {standard: {gridsize: "
                            "1, N: 64}}");
  return status;
}

/* -- batch sizes ------------------------------------------------------------------------------- */

/* "1,2,4" of a set: a list, a range or a preset. */
static hl_status set_text(const hl__matrix *m, const hl__matrix_item *set, hl_text *out) {
  const hl_yaml *value = set->value;
  if (!value || value->kind == HL_YAML_MAP || (value->kind == HL_YAML_LIST && value->count == 0))
    return hl_yaml_refuse(&m->file->yaml, set->name, m->error,
                          "'%s' takes a list of batch sizes, such as [1, 8, 32]", set->name->text);
  bool one = value->kind == HL_YAML_SCALAR;
  for (size_t i = 0; i < (one ? 1 : value->count); i++) {
    const hl_yaml *size = one ? value : value->items[i];
    if (size->kind != HL_YAML_SCALAR)
      return hl_yaml_refuse(&m->file->yaml, size, m->error, "a batch size is a number");
    hl_text_format(out, "%s%s", out->length ? "," : "", size->text);
  }
  return HL_OK;
}

/* Each set is checked where it stands, and kept for --only batch_sizes=NAME. */
static hl_status read_sets(hl__matrix *m) {
  const hl__matrix_axis *sets = &m->axes[HL__BATCH_SIZES];
  hl_plan_file *file = m->file;
  file->sets = hl_arena_array(&file->yaml.arena, sets->count, sizeof *file->sets);
  if (!file->sets) return no_memory(m);
  hl_status status = HL_OK;
  for (size_t i = 0; i < sets->count && status == HL_OK; i++) {
    hl_text text = HL_TEXT_INIT;
    int64_t *sizes = NULL;
    size_t count = 0;
    hl_error inner = {0};
    status = set_text(m, &sets->items[i], &text);
    if (status == HL_OK && hl_batch_sizes_parse(text.data, &sizes, &count, &inner) != HL_OK)
      status = hl_yaml_refuse(&file->yaml, sets->items[i].value, m->error, "%s", inner.msg);
    hl_free_pointer(&sizes);
    hl_plan_set *set = &file->sets[file->set_count++];
    set->name = sets->items[i].name->text;
    set->sizes = hl_arena_text(&file->yaml.arena, text.data);
    hl_text_release(&text);
    if (!set->sizes) return no_memory(m);
  }
  return status;
}

/* -- the product ------------------------------------------------------------------------------- */

/* Datasets turn slowest: what a scan needs is in the caches of files meanwhile. */
static hl_status make_entries(const hl__matrix *m, const hl_yaml **entries, size_t *io_count) {
  size_t counts[HL__SCENARIOS + 1], total = 1;
  for (size_t a = 0; a <= HL__SCENARIOS; a++) {
    counts[a] = m->axes[a].count ? m->axes[a].count : 1;
    if (counts[a] > HL_PLAN_ENTRIES / total) /* so that no product overflows */
      return hl_error_set(m->error, HL_LIMIT, "%s: the matrix has more than %d combinations",
                          m->file->yaml.name, HL_PLAN_ENTRIES);
    total *= counts[a];
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < total && status == HL_OK; i++) {
    const hl__matrix_item *at[HL__AXES] = {0};
    size_t rest = i;
    for (size_t a = HL__SCENARIOS + 1; a-- > 0; rest /= counts[a])
      if (m->axes[a].count) at[a] = &m->axes[a].items[rest % counts[a]];
    if (*io_count == HL_PLAN_ENTRIES)
      return hl_error_set(m->error, HL_LIMIT, "%s: more than %d entries", m->file->yaml.name,
                          HL_PLAN_ENTRIES);
    status = hl__matrix_entry(m, at, &entries[(*io_count)++]);
  }
  return status;
}

/* The root without the matrix, with its entries. */
static hl_status replace(const hl__matrix *m, const hl_yaml *node, const hl_yaml *const *entries,
                         size_t count) {
  const hl_yaml *root = m->file->yaml.root;
  hl_arena *arena = &m->file->yaml.arena;
  hl_yaml *made = hl__matrix_node(m, HL_YAML_MAP, root),
          *list = hl__matrix_node(m, HL_YAML_LIST, node);
  const hl_yaml **keys = hl_arena_array(arena, root->count + 1, sizeof *keys);
  const hl_yaml **items = hl_arena_array(arena, root->count + 1, sizeof *items);
  const hl_yaml *name = hl__matrix_text(m, "entries", node);
  if (!made || !list || !keys || !items || !name) return no_memory(m);
  for (size_t i = 0; i < root->count; i++) {
    if (root->items[i] == node || strcmp(root->keys[i]->text, "entries") == 0) continue;
    keys[made->count] = root->keys[i];
    items[made->count++] = root->items[i];
  }
  list->items = entries;
  list->count = count;
  keys[made->count] = name;
  items[made->count++] = list;
  made->keys = keys;
  made->items = items;
  m->file->yaml.root = made;
  return HL_OK;
}

hl_status hl__matrix_rewrite(hl_plan_file *file, hl_error *error) {
  const hl_yaml *root = file->yaml.root, *node = hl_yaml_find(root, "test_configurations");
  if (!node) node = hl_yaml_find(root, "test-configurations");
  if (!node) return HL_OK;
  hl__matrix m = {.file = file, .error = error};
  file->matrix = true;
  const hl_yaml *defaults = hl_yaml_find(root, "defaults"), *own = hl_yaml_find(root, "entries");
  if (defaults && defaults->kind == HL_YAML_MAP) m.defaults = defaults;
  if (own && own->kind != HL_YAML_LIST)
    return hl_yaml_refuse(&file->yaml, own, error, "'entries' takes a list");
  const hl_yaml **entries = hl_arena_array(&file->yaml.arena, HL_PLAN_ENTRIES, sizeof *entries);
  size_t count = 0;
  if (!entries) return no_memory(&m);
  for (; own && count < own->count && count < HL_PLAN_ENTRIES; count++)
    entries[count] = own->items[count];
  hl_status status = read_axes(&m, node);
  if (status == HL_OK) status = read_sets(&m);
  if (status == HL_OK) status = make_entries(&m, entries, &count);
  return status == HL_OK ? replace(&m, node, entries, count) : status;
}
