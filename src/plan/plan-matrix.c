#include "plan/plan-matrix.h"

#include "base/text.h"
#include "plan/plan-entry.h"
#include <stdio.h>
#include <string.h>

static const char *const axis_names[] = {"datasets", "models", "hardware", "scenarios",
                                         "batch_sizes"};
enum { DATASETS, MODELS, HARDWARE, SCENARIOS, BATCH_SIZES, AXES };

/* Something of an axis: `small: {n_images: 100}`. */
typedef struct item {
  const hl_yaml *name;
  const hl_yaml *value; /* NULL: a name alone */
} item;

typedef struct axis {
  item *items;
  size_t count;
} axis;

typedef struct matrix {
  hl_plan_file *file;
  const hl_yaml *defaults; /* of the plan, or NULL */
  axis axes[AXES];
  hl_error *error;
} matrix;

/* A mapping that grows. */
typedef struct map {
  const hl_yaml **keys, **values;
  size_t count;
} map;

enum { most_keys = 96 };

static hl_status no_memory(const matrix *m) {
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
static hl_status refuse_name(const matrix *m, const hl_yaml *where, const char *what,
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

/* -- building nodes ---------------------------------------------------------------------------- */

static hl_yaml *new_node(const matrix *m, hl_yaml_kind kind, const hl_yaml *where) {
  hl_yaml *node = hl_arena_alloc(&m->file->yaml.arena, sizeof *node);
  if (node)
    *node =
        (hl_yaml){.kind = kind, .line = where->line, .column = where->column, .file = where->file};
  return node;
}

/* A scalar that the file does not have, placed where it comes from. */
static const hl_yaml *new_text(const matrix *m, const char *text, const hl_yaml *where) {
  hl_yaml *node = new_node(m, HL_YAML_SCALAR, where);
  if (node) node->text = hl_arena_text(&m->file->yaml.arena, text);
  return node && node->text ? node : NULL;
}

static bool new_map(const matrix *m, map *ret) {
  hl_arena *arena = &m->file->yaml.arena;
  *ret = (map){hl_arena_array(arena, most_keys, sizeof(hl_yaml *)),
               hl_arena_array(arena, most_keys, sizeof(hl_yaml *)), 0};
  return ret->keys && ret->values;
}

/* The same option under any of its spellings. */
static bool same_key(const char *a, const char *b) {
  hl_option_id x, y;
  if (hl__entry_option('S', a, strlen(a), &x) && hl__entry_option('S', b, strlen(b), &y))
    return x == y;
  return strcmp(a, b) == 0;
}

static bool has_key(const hl_yaml *const *keys, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (same_key(keys[i]->text, name)) return true;
  return false;
}

/* The value of a later axis takes the place of that of an earlier one. */
static hl_status put(const matrix *m, map *to, const hl_yaml *key, const hl_yaml *value) {
  if (!key || !value) return no_memory(m);
  for (size_t i = 0; i < to->count; i++)
    if (same_key(to->keys[i]->text, key->text)) {
      to->values[i] = value;
      return HL_OK;
    }
  if (to->count == most_keys)
    return hl_yaml_refuse(&m->file->yaml, key, m->error, "more than %d keys of one entry",
                          most_keys);
  to->keys[to->count] = key;
  to->values[to->count++] = value;
  return HL_OK;
}

static hl_status put_text(const matrix *m, map *to, const char *key, const char *value,
                          const hl_yaml *where) {
  return put(m, to, new_text(m, key, where), new_text(m, value, where));
}

static const hl_yaml *map_node(const matrix *m, const map *from, const hl_yaml *where) {
  hl_yaml *node = new_node(m, HL_YAML_MAP, where);
  if (!node) return NULL;
  node->keys = from->keys;
  node->items = from->values;
  node->count = from->count;
  return node;
}

/* -- reading the axes -------------------------------------------------------------------------- */

static bool good_name(const char *name) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  size_t length = strlen(name);
  return length > 0 && length <= HL__MATRIX_NAME && strspn(name, good) == length;
}

static hl_status add_item(const matrix *m, int which, const hl_yaml *name, const hl_yaml *value,
                          axis *to) {
  const char *what = axis_names[which];
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
  to->items[to->count++] = (item){name, value && hl_yaml_is_null(value) ? NULL : value};
  return HL_OK;
}

/* A mapping of names; or a list of names, or of mappings with names, as `hardware` has it. */
static hl_status read_axis(matrix *m, int which, const hl_yaml *node) {
  axis *to = &m->axes[which];
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
                              axis_names[which]);
  }
  if (status == HL_OK && to->count == 0)
    status = hl_yaml_refuse(&m->file->yaml, node, m->error,
                            "'%s' takes a mapping of names, or a list of them", axis_names[which]);
  return status;
}

/* batch_sizes: [1, 8] is one set without a name. */
static hl_status read_batch_sizes(matrix *m, const hl_yaml *node) {
  bool bare = node->kind != HL_YAML_MAP;
  if (!bare) return read_axis(m, BATCH_SIZES, node);
  axis *to = &m->axes[BATCH_SIZES];
  to->items = hl_arena_array(&m->file->yaml.arena, 1, sizeof *to->items);
  const hl_yaml *name = new_text(m, "all", node);
  if (!to->items || !name) return no_memory(m);
  to->items[to->count++] = (item){name, node};
  return HL_OK;
}

static hl_status read_axes(matrix *m, const hl_yaml *node) {
  if (node->kind != HL_YAML_MAP)
    return hl_yaml_refuse(&m->file->yaml, node, m->error,
                          "'test_configurations' takes a mapping of datasets, models, hardware, "
                          "batch_sizes and scenarios");
  hl_status status = HL_OK;
  for (size_t i = 0; i < node->count && status == HL_OK; i++) {
    const hl_yaml *key = node->keys[i], *value = node->items[i];
    int which = 0;
    while (which < AXES && strcmp(key->text, axis_names[which]) != 0) which++;
    if (strcmp(key->text, "batch-sizes") == 0) which = BATCH_SIZES;
    if (which == AXES)
      status = refuse_name(m, key, "key of test_configurations", axis_names, AXES);
    else if (which == BATCH_SIZES)
      status = read_batch_sizes(m, value);
    else
      status = read_axis(m, which, value);
  }
  if (status == HL_OK && m->axes[MODELS].count == 0)
    status = hl_yaml_refuse(&m->file->yaml, node, m->error,
                            "'test_configurations' has no 'models', such as {standard: {gridsize: "
                            "1, N: 64}}");
  return status;
}

/* -- batch sizes ------------------------------------------------------------------------------- */

/* "1,2,4" of a set: a list, a range or a preset. */
static hl_status set_text(const matrix *m, const item *set, hl_text *out) {
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
static hl_status read_sets(matrix *m) {
  const axis *sets = &m->axes[BATCH_SIZES];
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

/* The sizes of a set by its name, of all sets for NULL. */
static hl_status sizes_of(const matrix *m, const char *name, const hl_yaml *where,
                          const hl_yaml **ret_node) {
  const hl_plan_file *file = m->file;
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < file->set_count; i++)
    if (!name || strcmp(file->sets[i].name, name) == 0)
      hl_text_format(&text, "%s%s", text.length ? "," : "", file->sets[i].sizes);
  *ret_node = text.length ? new_text(m, text.data, where) : NULL;
  bool failed = text.length && !*ret_node;
  hl_text_release(&text);
  return failed ? no_memory(m) : HL_OK;
}

/* -- scenarios --------------------------------------------------------------------------------- */

/* What a scenario asks of its rows where the plan does not say otherwise, and the batch sizes that
 * it takes if there is a set of that name. A 99th percentile has an interval from 368 steps on. */
static const struct {
  const char *name, *set, *key, *value;
} scenarios[] = {{"throughput", NULL, NULL, NULL},
                 {"memory", "memory_test", "adaptive-sizing", "true"},
                 {"latency", NULL, "iterations", "400"},
                 {"energy", NULL, "min-time", "2"}};

static bool fixes_steps(const matrix *m, const map *entry) {
  static const char *const keys[] = {"iterations", "num-runs", "min-time"};
  for (size_t i = 0; i < HL_COUNT(keys); i++) {
    if (has_key(entry->keys, entry->count, keys[i])) return true;
    if (m->defaults && has_key(m->defaults->keys, m->defaults->count, keys[i])) return true;
  }
  return false;
}

/* An option of the entry, or what an entry says of itself. */
static bool is_of_entry(const char *key) {
  return strcmp(key, "workload") == 0 || strcmp(key, "optional") == 0 ||
         hl__entry_option('S', key, strlen(key), NULL);
}

/* The keys of an item that are options of the entry. */
static hl_status put_options(const matrix *m, int which, const item *from, map *to) {
  hl_status status = HL_OK;
  if (!from->value || from->value->kind == HL_YAML_SCALAR) return HL_OK;
  if (from->value->kind == HL_YAML_LIST)
    return hl_yaml_refuse(&m->file->yaml, from->value, m->error, "'%s' takes a mapping of options",
                          from->name->text);
  for (size_t i = 0; i < from->value->count && status == HL_OK; i++) {
    const hl_yaml *key = from->value->keys[i];
    if (strcmp(key->text, "description") == 0 ||
        (which == SCENARIOS && same_key(key->text, "batch-sizes")))
      continue;
    if (!is_of_entry(key->text)) {
      const hl__entry any = {.file = m->file, .workload = "inference", .command = 'S'};
      return hl__entry_unknown(&any, key, m->error);
    }
    status = put(m, to, key, from->value->items[i]);
  }
  return status;
}

static hl_status put_scenario(const matrix *m, const item *scenario, const hl_yaml *where,
                              map *to) {
  const char *names[HL_COUNT(scenarios)];
  size_t which = 0;
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) names[i] = scenarios[i].name;
  if (scenario)
    while (which < HL_COUNT(scenarios) && strcmp(scenarios[which].name, scenario->name->text) != 0)
      which++;
  if (which == HL_COUNT(scenarios))
    return refuse_name(m, scenario->name, "scenario", names, HL_COUNT(names));
  const hl_yaml *value = scenario ? scenario->value : NULL, *sizes = NULL, *given = value;
  hl_status status = scenario ? put_options(m, SCENARIOS, scenario, to) : HL_OK;
  if (status != HL_OK) return status;
  if (value && value->kind == HL_YAML_MAP) {
    given = hl_yaml_find(value, "batch_sizes");
    if (!given) given = hl_yaml_find(value, "batch-sizes");
  }
  if (given && given->kind == HL_YAML_SCALAR)
    status = sizes_of(m, given->text, given, &sizes);
  else if (!given && scenarios[which].set)
    status = sizes_of(m, scenarios[which].set, where, &sizes);
  if (given && !sizes) sizes = given; /* sizes of its own; what is none is refused with the entry */
  if (status == HL_OK && !sizes) status = sizes_of(m, NULL, where, &sizes);
  if (status == HL_OK && sizes && !has_key(to->keys, to->count, "batch-sizes"))
    status = put(m, to, new_text(m, "batch-sizes", sizes), sizes);
  const char *key = scenarios[which].key;
  bool of_steps = key && strcmp(key, "adaptive-sizing") != 0;
  if (status == HL_OK && key &&
      !(of_steps ? fixes_steps(m, to) : has_key(to->keys, to->count, key)))
    status = put_text(m, to, key, scenarios[which].value, where);
  return status;
}

/* -- hardware ---------------------------------------------------------------------------------- */

/* What names of hardware mean that say nothing else. */
static const struct {
  const char *name, *device;
} known_hardware[] = {{"cpu_baseline", "cpu"}, {"cpu", "cpu"},     {"gpu_single", "cuda:0"},
                      {"gpu", "cuda:0"},       {"cuda", "cuda:0"}, {"gpu_multi", "cuda:0+1"},
                      {"mps", "mps"},          {"tpu", "tpu"}};

static hl_status put_hardware(const matrix *m, const item *hardware, map *to) {
  hl_status status = put_options(m, HARDWARE, hardware, to);
  if (status != HL_OK) return status;
  const char *device = NULL;
  const char *names[HL_COUNT(known_hardware)];
  for (size_t i = 0; i < HL_COUNT(known_hardware); i++) {
    names[i] = known_hardware[i].name;
    if (strcmp(hardware->name->text, names[i]) == 0) device = known_hardware[i].device;
  }
  if (!has_key(to->keys, to->count, "device") && !has_key(to->keys, to->count, "device-prefer")) {
    if (!device)
      return hardware->value && hardware->value->kind == HL_YAML_MAP
                 ? HL_OK
                 : refuse_name(m, hardware->name, "hardware (or give it {device: ...})", names,
                               HL_COUNT(names));
    status = put_text(m, to, "device", device, hardware->name);
  }
  /* The engine of hotlap's own is for processors. */
  bool engine = has_key(to->keys, to->count, "engine") ||
                (m->defaults && has_key(m->defaults->keys, m->defaults->count, "engine"));
  if (status == HL_OK && device && strncmp(device, "cpu", 3) != 0 && !engine)
    status = put_text(m, to, "engine", "torch", hardware->name);
  return status;
}

/* -- models ------------------------------------------------------------------------------------ */

/* "ptychopinn:gridsize=1,N=64": what is no option of the entry is a parameter of the network. */
static hl_status put_model(const matrix *m, const item *model, map *to) {
  const hl_yaml *value = model->value, *base = value, *where = model->name;
  if (value && value->kind == HL_YAML_LIST)
    return hl_yaml_refuse(&m->file->yaml, value, m->error,
                          "a model is a mapping, such as {gridsize: 1, N: 64}");
  hl_text spec = HL_TEXT_INIT;
  if (!value || value->kind == HL_YAML_MAP) base = hl_yaml_find(value, "model");
  hl_text_append(&spec, base && base->kind == HL_YAML_SCALAR ? base->text : "ptychopinn");
  char sign = strchr(spec.data, ':') ? ',' : ':';
  hl_status status = HL_OK;
  for (size_t i = 0; value && value->kind == HL_YAML_MAP && i < value->count && status == HL_OK;
       i++) {
    const hl_yaml *key = value->keys[i], *of_key = value->items[i];
    if (strcmp(key->text, "description") == 0 || of_key == base) continue;
    if (is_of_entry(key->text)) {
      status = put(m, to, key, of_key);
    } else if (of_key->kind != HL_YAML_SCALAR) {
      status = hl_yaml_refuse(&m->file->yaml, of_key, m->error,
                              "'%.60s' takes one value; several are several models", key->text);
    } else {
      hl_text_format(&spec, "%c%s=%s", sign, key->text, of_key->text);
      sign = ',';
    }
  }
  if (status == HL_OK) status = put_text(m, to, "model", spec.failed ? "" : spec.data, where);
  hl_text_release(&spec);
  return status;
}

static hl_status put_dataset(const matrix *m, const item *dataset, map *to) {
  const hl_yaml *value = dataset->value;
  int64_t images;
  if (!value || value->kind != HL_YAML_SCALAR) return put_options(m, DATASETS, dataset, to);
  bool number = hl_parse_int(value->text, 1, INT64_MAX, "", &images, NULL) == HL_OK;
  return put(m, to, new_text(m, number ? "n-images" : "test-data", value), value);
}

/* -- the product ------------------------------------------------------------------------------- */

static const char *name_of(const item *i) {
  return i ? i->name->text : "default";
}

static hl_status make_entry(const matrix *m, const item *const at[AXES], const hl_yaml **ret) {
  const hl_yaml *where = at[MODELS]->name;
  map entry;
  char name[4 * (HL__MATRIX_NAME + 1)];
  if (!new_map(m, &entry)) return no_memory(m);
  snprintf(name, sizeof name, "%s/%s/%s/%s", name_of(at[DATASETS]), name_of(at[MODELS]),
           name_of(at[HARDWARE]), at[SCENARIOS] ? name_of(at[SCENARIOS]) : "throughput");
  hl_status status = put_text(m, &entry, "name", name, where);
  if (status == HL_OK) status = put_model(m, at[MODELS], &entry);
  if (status == HL_OK && at[DATASETS]) status = put_dataset(m, at[DATASETS], &entry);
  if (status == HL_OK && at[HARDWARE]) status = put_hardware(m, at[HARDWARE], &entry);
  if (status == HL_OK) status = put_scenario(m, at[SCENARIOS], where, &entry);
  if (status == HL_OK && !(*ret = map_node(m, &entry, where))) status = no_memory(m);
  return status;
}

/* Datasets turn slowest: what a scan needs is in the caches of files meanwhile. */
static hl_status make_entries(const matrix *m, const hl_yaml **entries, size_t *io_count) {
  size_t counts[SCENARIOS + 1], total = 1;
  for (size_t a = 0; a <= SCENARIOS; a++) {
    counts[a] = m->axes[a].count ? m->axes[a].count : 1;
    if (counts[a] > HL_PLAN_ENTRIES / total) /* so that no product overflows */
      return hl_error_set(m->error, HL_LIMIT, "%s: the matrix has more than %d combinations",
                          m->file->yaml.name, HL_PLAN_ENTRIES);
    total *= counts[a];
  }
  hl_status status = HL_OK;
  for (size_t i = 0; i < total && status == HL_OK; i++) {
    const item *at[AXES] = {0};
    size_t rest = i;
    for (size_t a = SCENARIOS + 1; a-- > 0; rest /= counts[a])
      if (m->axes[a].count) at[a] = &m->axes[a].items[rest % counts[a]];
    if (*io_count == HL_PLAN_ENTRIES)
      return hl_error_set(m->error, HL_LIMIT, "%s: more than %d entries", m->file->yaml.name,
                          HL_PLAN_ENTRIES);
    status = make_entry(m, at, &entries[(*io_count)++]);
  }
  return status;
}

/* The root without the matrix, with its entries. */
static hl_status replace(const matrix *m, const hl_yaml *node, const hl_yaml *const *entries,
                         size_t count) {
  const hl_yaml *root = m->file->yaml.root;
  hl_arena *arena = &m->file->yaml.arena;
  hl_yaml *made = new_node(m, HL_YAML_MAP, root), *list = new_node(m, HL_YAML_LIST, node);
  const hl_yaml **keys = hl_arena_array(arena, root->count + 1, sizeof *keys);
  const hl_yaml **items = hl_arena_array(arena, root->count + 1, sizeof *items);
  const hl_yaml *name = new_text(m, "entries", node);
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
  matrix m = {.file = file, .error = error};
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
