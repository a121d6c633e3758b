/* An entry of a test matrix: what its data set, model, hardware and scenario say, as keys. */
#include "plan/plan-matrix-internal.h"

#include "base/text.h"
#include "plan/plan-entry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mapping that grows. */
typedef struct map {
  const hl_yaml **keys, **values;
  size_t count;
} map;

enum { most_keys = 96 };

static const char usual_model[] = "ptychopinn";

static hl_status no_memory(const hl__matrix *m) {
  return hl_error_set(m->error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

/* -- building nodes ---------------------------------------------------------------------------- */

hl_yaml *hl__matrix_node(const hl__matrix *m, hl_yaml_kind kind, const hl_yaml *where) {
  hl_yaml *node = hl_arena_alloc(&m->file->yaml.arena, sizeof *node);
  if (node)
    *node =
        (hl_yaml){.kind = kind, .line = where->line, .column = where->column, .file = where->file};
  return node;
}

/* A scalar that the file does not have, placed where it comes from. */
const hl_yaml *hl__matrix_text(const hl__matrix *m, const char *text, const hl_yaml *where) {
  hl_yaml *node = hl__matrix_node(m, HL_YAML_SCALAR, where);
  if (node) node->text = hl_arena_text(&m->file->yaml.arena, text);
  return node && node->text ? node : NULL;
}

static bool new_map(const hl__matrix *m, map *ret) {
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
static hl_status put(const hl__matrix *m, map *to, const hl_yaml *key, const hl_yaml *value) {
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

static hl_status put_text(const hl__matrix *m, map *to, const char *key, const char *value,
                          const hl_yaml *where) {
  return put(m, to, hl__matrix_text(m, key, where), hl__matrix_text(m, value, where));
}

static const hl_yaml *map_node(const hl__matrix *m, const map *from, const hl_yaml *where) {
  hl_yaml *node = hl__matrix_node(m, HL_YAML_MAP, where);
  if (!node) return NULL;
  node->keys = from->keys;
  node->items = from->values;
  node->count = from->count;
  return node;
}

/* The sizes of a set by its name, of all sets for NULL. */
static hl_status sizes_of(const hl__matrix *m, const char *name, const hl_yaml *where,
                          const hl_yaml **ret_node) {
  const hl_plan_file *file = m->file;
  hl_text text = HL_TEXT_INIT;
  for (size_t i = 0; i < file->set_count; i++)
    if (!name || strcmp(file->sets[i].name, name) == 0)
      hl_text_format(&text, "%s%s", text.length ? "," : "", file->sets[i].sizes);
  *ret_node = text.length ? hl__matrix_text(m, text.data, where) : NULL;
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

static bool says(const hl__matrix *m, const map *entry, const char *key) {
  return has_key(entry->keys, entry->count, key) ||
         (m->defaults && has_key(m->defaults->keys, m->defaults->count, key));
}

static bool fixes_steps(const hl__matrix *m, const map *entry) {
  static const char *const keys[] = {"iterations", "num-runs", "min-time"};
  for (size_t i = 0; i < HL_COUNT(keys); i++)
    if (says(m, entry, keys[i])) return true;
  return false;
}

/* An option of the entry, or what an entry says of itself. */
static bool is_of_entry(const char *key) {
  return strcmp(key, "workload") == 0 || strcmp(key, "optional") == 0 ||
         hl__entry_option('S', key, strlen(key), NULL);
}

/* The keys of an item that are options of the entry. */
static hl_status put_options(const hl__matrix *m, int which, const hl__matrix_item *from, map *to) {
  hl_status status = HL_OK;
  if (!from->value || from->value->kind == HL_YAML_SCALAR) return HL_OK;
  if (from->value->kind == HL_YAML_LIST)
    return hl_yaml_refuse(&m->file->yaml, from->value, m->error, "'%s' takes a mapping of options",
                          from->name->text);
  for (size_t i = 0; i < from->value->count && status == HL_OK; i++) {
    const hl_yaml *key = from->value->keys[i];
    if (strcmp(key->text, "description") == 0 ||
        (which == HL__SCENARIOS && same_key(key->text, "batch-sizes")))
      continue;
    if (!is_of_entry(key->text)) {
      const hl__entry any = {.file = m->file, .workload = "inference", .command = 'S'};
      return hl__entry_unknown(&any, key, m->error);
    }
    status = put(m, to, key, from->value->items[i]);
  }
  return status;
}

/* A set by its name, or sizes as the command line has them. */
static hl_status sizes_called(const hl__matrix *m, const hl_yaml *given,
                              const hl_yaml **ret_sizes) {
  const char *names[HL__MATRIX_ITEMS];
  int64_t *sizes = NULL;
  size_t count = 0, sets = m->file->set_count;
  hl_status status = sizes_of(m, given->text, given, ret_sizes);
  if (status != HL_OK || *ret_sizes) return status;
  *ret_sizes = given;
  hl_error ignored = {0};
  status = hl_batch_sizes_parse(given->text, &sizes, &count, &ignored);
  free(sizes);
  if (status == HL_OK || status == HL_OUT_OF_MEMORY) return status;
  for (size_t i = 0; i < sets; i++) names[i] = m->file->sets[i].name;
  return hl__matrix_refuse(m, given, "set of batch sizes", names, sets);
}

/* The sizes that the scenario names, else those that it usually takes, else all of all sets. */
static hl_status put_sizes(const hl__matrix *m, const hl_yaml *value, const char *usual,
                           const hl_yaml *where, map *to) {
  const hl_yaml *sizes = NULL, *given = value;
  hl_status status = HL_OK;
  if (value && value->kind == HL_YAML_MAP) {
    given = hl_yaml_find(value, "batch_sizes");
    if (!given) given = hl_yaml_find(value, "batch-sizes");
  }
  if (given && given->kind == HL_YAML_SCALAR)
    status = sizes_called(m, given, &sizes);
  else if (given)
    sizes = given; /* what is no list of sizes is refused with the entry */
  else if (usual)
    status = sizes_of(m, usual, where, &sizes);
  if (status == HL_OK && !sizes) status = sizes_of(m, NULL, where, &sizes);
  if (status == HL_OK && sizes && !has_key(to->keys, to->count, "batch-sizes"))
    status = put(m, to, hl__matrix_text(m, "batch-sizes", sizes), sizes);
  return status;
}

static hl_status put_scenario(const hl__matrix *m, const hl__matrix_item *scenario,
                              const hl_yaml *where, map *to) {
  const char *names[HL_COUNT(scenarios)];
  size_t which = 0;
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) names[i] = scenarios[i].name;
  if (scenario)
    while (which < HL_COUNT(scenarios) && strcmp(names[which], scenario->name->text) != 0) which++;
  if (which == HL_COUNT(scenarios))
    return hl__matrix_refuse(m, scenario->name, "scenario", names, HL_COUNT(names));
  hl_status status = scenario ? put_options(m, HL__SCENARIOS, scenario, to) : HL_OK;
  if (status == HL_OK)
    status = put_sizes(m, scenario ? scenario->value : NULL, scenarios[which].set, where, to);
  const char *key = scenarios[which].key;
  bool memory = key && strcmp(key, "adaptive-sizing") == 0;
  if (status == HL_OK && key && !(memory ? says(m, to, key) : fixes_steps(m, to)))
    status = put_text(m, to, key, scenarios[which].value, where);
  /* What does not fit is what this scenario is to find. */
  if (status == HL_OK && memory && !says(m, to, "optional"))
    status = put_text(m, to, "optional", "true", where);
  return status;
}

/* -- hardware ---------------------------------------------------------------------------------- */

/* What names of hardware mean that say nothing else. */
static const struct {
  const char *name, *device;
} known_hardware[] = {{"cpu_baseline", "cpu"}, {"cpu", "cpu"},     {"gpu_single", "cuda:0"},
                      {"gpu", "cuda:0"},       {"cuda", "cuda:0"}, {"gpu_multi", "cuda:0+1"},
                      {"mps", "mps"},          {"tpu", "tpu"}};

static hl_status put_hardware(const hl__matrix *m, const hl__matrix_item *hardware, map *to) {
  hl_status status = put_options(m, HL__HARDWARE, hardware, to);
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
                 : hl__matrix_refuse(m, hardware->name, "hardware (or give it {device: ...})",
                                     names, HL_COUNT(names));
    status = put_text(m, to, "device", device, hardware->name);
  }
  /* The engine of hotlap's own is for processors. */
  if (status == HL_OK && device && strncmp(device, "cpu", 3) != 0 && !says(m, to, "engine"))
    status = put_text(m, to, "engine", "torch", hardware->name);
  return status;
}

/* -- models ------------------------------------------------------------------------------------ */

/* Which networks there are, and what parameters they have, is not known here. Each combination
 * reads the model anew: a parameter is kept once. */
static hl_status keep_parameter(const hl__matrix *m, const hl_yaml *base, const hl_yaml *key) {
  hl_plan_file *file = m->file;
  for (size_t i = 0; i < file->parameter_count; i++)
    if (file->parameters[i].key == key) return HL_OK;
  if (!file->parameters)
    file->parameters = hl_arena_array(&file->yaml.arena, HL_YAML_KEYS, sizeof *file->parameters);
  if (!file->parameters) return no_memory(m);
  if (file->parameter_count < HL_YAML_KEYS) /* of more the last are checked as others are */
    file->parameters[file->parameter_count++] =
        (hl_plan_parameter){base && base->kind == HL_YAML_SCALAR ? base->text : usual_model, key};
  return HL_OK;
}

/* "ptychopinn:gridsize=1,N=64": what is no option of the entry is a parameter of the network. */
static hl_status put_model(const hl__matrix *m, const hl__matrix_item *model, map *to) {
  const hl_yaml *value = model->value, *base = value, *where = model->name;
  if (value && value->kind == HL_YAML_LIST)
    return hl_yaml_refuse(&m->file->yaml, value, m->error,
                          "a model is a mapping, such as {gridsize: 1, N: 64}");
  hl_text spec = HL_TEXT_INIT;
  if (!value || value->kind == HL_YAML_MAP) base = hl_yaml_find(value, "model");
  hl_text_append(&spec, base && base->kind == HL_YAML_SCALAR ? base->text : usual_model);
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
      status = keep_parameter(m, base, key);
      sign = ',';
    }
  }
  if (status == HL_OK) status = put_text(m, to, "model", spec.failed ? "" : spec.data, where);
  hl_text_release(&spec);
  return status;
}

static hl_status put_dataset(const hl__matrix *m, const hl__matrix_item *dataset, map *to) {
  const hl_yaml *value = dataset->value;
  int64_t images;
  if (!value || value->kind != HL_YAML_SCALAR) return put_options(m, HL__DATASETS, dataset, to);
  bool number = hl_parse_int(value->text, INT64_MIN, INT64_MAX, "", &images, NULL) == HL_OK;
  return put(m, to, hl__matrix_text(m, number ? "n-images" : "test-data", value), value);
}

/* -- the whole -------------------------------------------------------------------------------- */

static const char *name_of(const hl__matrix_item *i) {
  return i ? i->name->text : "default";
}

hl_status hl__matrix_entry(const hl__matrix *m, const hl__matrix_item *const at[HL__AXES],
                           const hl_yaml **ret) {
  const hl_yaml *where = at[HL__MODELS]->name;
  map entry;
  char name[4 * (HL__MATRIX_NAME + 1)];
  if (!new_map(m, &entry)) return no_memory(m);
  snprintf(name, sizeof name, "%s/%s/%s/%s", name_of(at[HL__DATASETS]), name_of(at[HL__MODELS]),
           name_of(at[HL__HARDWARE]),
           at[HL__SCENARIOS] ? name_of(at[HL__SCENARIOS]) : "throughput");
  hl_status status = put_text(m, &entry, "name", name, where);
  if (status == HL_OK) status = put_model(m, at[HL__MODELS], &entry);
  if (status == HL_OK && at[HL__DATASETS]) status = put_dataset(m, at[HL__DATASETS], &entry);
  if (status == HL_OK && at[HL__HARDWARE]) status = put_hardware(m, at[HL__HARDWARE], &entry);
  if (status == HL_OK) status = put_scenario(m, at[HL__SCENARIOS], where, &entry);
  if (status == HL_OK && !(*ret = map_node(m, &entry, where))) status = no_memory(m);
  return status;
}
