/* --only: what of a plan is measured. */
#include "base/text.h"
#include "plan/plan-entry.h"
#include "plan/plan-matrix.h"
#include "plan/plan-parts.h"
#include <stdlib.h>
#include <string.h>

/* What a filter looks at. The first four of a matrix are the parts of an entry's name. */
typedef enum place { DATASET, MODEL, HARDWARE, SCENARIO, ENTRY, WORKLOAD, WORD, ROW } place;

static const struct {
  const char *name;
  place place;
  hl_option_id id; /* of rows */
} keys[] = {{"dataset", DATASET, HL_OPTION_COUNT},   {"model", MODEL, HL_OPTION_COUNT},
            {"hardware", HARDWARE, HL_OPTION_COUNT}, {"scenario", SCENARIO, HL_OPTION_COUNT},
            {"optimize", WORD, HL_OPTION_COUNT},     {"entry", ENTRY, HL_OPTION_COUNT},
            {"workload", WORKLOAD, HL_OPTION_COUNT}, {"engine", ROW, HL_OPTION_ENGINE},
            {"precision", ROW, HL_OPTION_DTYPE},     {"device", ROW, HL_OPTION_DEVICE},
            {"threads", ROW, HL_OPTION_THREADS},     {"batch-sizes", ROW, HL_OPTION_BATCH_SIZES}};

typedef struct filter {
  size_t key;
  const char *values[64];
  size_t count;
} filter;

typedef struct only {
  hl_plan_file *file;
  filter filters[HL_COUNT(keys)];
  size_t count;
  hl_error *error;
} only;

/* "batch_sizes", "datasets" and "dtype" are names of keys, too. */
static size_t find_key(const char *name) {
  hl_option_id id;
  if (hl__entry_option('S', name, strlen(name), &id))
    for (size_t i = 0; i < HL_COUNT(keys); i++)
      if (keys[i].place == ROW && keys[i].id == id) return i;
  for (size_t i = 0; i < HL_COUNT(keys); i++) {
    size_t length = strlen(keys[i].name);
    if (strncmp(name, keys[i].name, length) == 0 &&
        (!name[length] || strcmp(name + length, "s") == 0))
      return i;
  }
  return HL_COUNT(keys);
}

static hl_status refuse_key(const only *o, const char *key) {
  const char *names[HL_COUNT(keys)];
  for (size_t i = 0; i < HL_COUNT(keys); i++) names[i] = keys[i].name;
  const char *nearest = hl__nearest_name(key, names, HL_COUNT(keys));
  if (nearest)
    return hl_error_set(o->error, HL_INVALID_ARGUMENT,
                        "--only: unknown key '%.60s'; did you mean '%s'?", key, nearest);
  return hl_error_set(o->error, HL_INVALID_ARGUMENT,
                      "--only: unknown key '%.60s'; there are dataset, model, hardware, scenario, "
                      "entry, workload, optimize, engine, precision, device, threads, batch-sizes",
                      key);
}

static filter *filter_of(only *o, size_t key) {
  for (size_t i = 0; i < o->count; i++)
    if (o->filters[i].key == key) return &o->filters[i];
  filter *f = &o->filters[o->count++];
  *f = (filter){.key = key};
  return f;
}

static hl_status add_value(const only *o, filter *f, const char *value) {
  if (!value[0])
    return hl_error_set(o->error, HL_INVALID_ARGUMENT, "--only: '%s=' has no value",
                        keys[f->key].name);
  if (f->count == HL_COUNT(f->values))
    return hl_error_set(o->error, HL_LIMIT, "--only: more than %zu values of '%s'",
                        HL_COUNT(f->values), keys[f->key].name);
  f->values[f->count++] = value;
  return HL_OK;
}

/* A word alone in the first place: a workload, a part of the plan, or else an entry. */
static const char *meaning_of_word(const only *o, const char *word) {
  for (size_t i = 0; i < o->file->step_count && !hl__workload_command(word); i++)
    if (strcmp(o->file->steps[i].entry, word) == 0) return "entry";
  return "workload";
}

/* The sizes of a set by its name, or a size, a range, a preset. */
static hl_status add_sizes(const only *o, filter *f, const char *value) {
  const hl_plan_file *file = o->file;
  const char *text = value;
  for (size_t i = 0; i < file->set_count; i++)
    if (strcmp(file->sets[i].name, value) == 0) text = file->sets[i].sizes;
  int64_t *sizes = NULL;
  size_t count = 0;
  hl_error inner = {0};
  hl_status status = hl_batch_sizes_parse(text, &sizes, &count, &inner);
  if (status != HL_OK)
    return hl_error_set(o->error, HL_INVALID_ARGUMENT,
                        "--only: '%.60s' is no set of batch sizes of the plan, and no size", value);
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer) char *size = hl_format("%lld", (long long)sizes[i]);
    const char *kept = size ? hl_arena_text(&o->file->yaml.arena, size) : NULL;
    status = kept ? add_value(o, f, kept)
                  : hl_error_set(o->error, HL_OUT_OF_MEMORY, "no memory for the plan");
  }
  free(sizes);
  return status;
}

static hl_status parse(only *o, const char *text) {
  size_t count = 0;
  const char **words = hl__split(&o->file->yaml.arena, text, &count);
  if (!words) return hl_error_set(o->error, HL_OUT_OF_MEMORY, "no memory for the plan");
  filter *at = NULL; /* a word alone is one more value of the key before it */
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    const char *value = words[i], *sign = strchr(value, '=');
    if (sign) {
      const char *name = hl_arena_text_n(&o->file->yaml.arena, value, (size_t)(sign - value));
      if (!name) return hl_error_set(o->error, HL_OUT_OF_MEMORY, "no memory for the plan");
      size_t key = find_key(name);
      if (key == HL_COUNT(keys)) return refuse_key(o, name);
      at = filter_of(o, key);
      value = sign + 1;
    } else if (!at) {
      at = filter_of(o, find_key(meaning_of_word(o, value)));
    }
    bool sizes = keys[at->key].id == HL_OPTION_BATCH_SIZES;
    status = sizes ? add_sizes(o, at, value) : add_value(o, at, value);
  }
  return status;
}

/* Part `index` of a matrix's name, dataset/model/hardware/scenario; "" of another entry's. */
static void part_of(const char *entry, size_t index, char ret_part[HL__MATRIX_NAME + 1]) {
  size_t slashes = 0;
  for (const char *c = entry; *c; c++) slashes += *c == '/';
  ret_part[0] = '\0';
  if (slashes != 3) return;
  for (; index > 0; index--) entry = strchr(entry, '/') + 1;
  size_t length = strcspn(entry, "/");
  if (length > HL__MATRIX_NAME) return;
  memcpy(ret_part, entry, length);
  ret_part[length] = '\0';
}

/* The network by its whole specification, or without its parameters. */
static bool is_model(const char *model, const char *value) {
  size_t length = strcspn(model, ":");
  return strcmp(model, value) == 0 ||
         (strlen(value) == length && strncmp(model, value, length) == 0);
}

/* Whether the step's command line has --optimize with that value. */
static bool has_word(const hl_plan_step *step, const char *value) {
  static const char option[] = "--optimize=";
  for (size_t i = 0; i < step->word_count; i++)
    if (strncmp(step->words[i], option, sizeof option - 1) == 0 &&
        strcmp(step->words[i] + sizeof option - 1, value) == 0)
      return true;
  return false;
}

static bool matches(const hl_plan_step *step, place where, const char *value) {
  char part[HL__MATRIX_NAME + 1];
  switch (where) {
  case ENTRY:
    return strcmp(step->entry, value) == 0;
  case WORKLOAD:
    return strcmp(step->workload, value) == 0;
  case WORD:
    return has_word(step, value);
  case ROW:
    return true;
  default:
    part_of(step->entry, (size_t)where, part);
    return strcmp(part, value) == 0 || (where == MODEL && is_model(step->model, value));
  }
}

static bool keeps(const filter *f, const hl_plan_step *step) {
  for (size_t i = 0; i < f->count; i++)
    if (matches(step, keys[f->key].place, f->values[i])) return true;
  return false;
}

static const char *name_in(const hl_plan_step *step, place where, char part[HL__MATRIX_NAME + 1]) {
  if (where == ENTRY) return step->entry;
  if (where == WORD) return "";
  part_of(step->entry, (size_t)where, part);
  return part[0] || where != MODEL ? part : step->model;
}

/* What the plan has in the place of a value that no step has: ", a, b". */
static void put_choices(const only *o, place where, hl_text *out) {
  const char *names[HL__WORKLOADS];
  size_t count = where == WORKLOAD ? hl__workload_names(names) : 0;
  for (size_t i = 0; i < count; i++) hl_text_format(out, ", %s", names[i]);
  for (size_t i = 0; where == WORKLOAD && i < o->file->part_count; i++)
    hl_text_format(out, ", %s", o->file->parts[i].name);
  for (size_t i = 0; where != WORKLOAD && i < o->file->step_count && out->length < 300; i++) {
    char part[HL__MATRIX_NAME + 1];
    const char *name = name_in(&o->file->steps[i], where, part);
    bool seen = !name[0];
    for (size_t k = 0; k < i && !seen; k++) {
      char other[HL__MATRIX_NAME + 1];
      seen = strcmp(name_in(&o->file->steps[k], where, other), name) == 0;
    }
    if (!seen) hl_text_format(out, ", %s", name);
  }
}

/* A value that nothing in the plan has is a mistake, not an empty choice. */
static hl_status check_values(const only *o) {
  for (size_t i = 0; i < o->count; i++) {
    const filter *f = &o->filters[i];
    for (size_t v = 0; keys[f->key].place != ROW && v < f->count; v++) {
      bool known = keys[f->key].place == WORKLOAD && hl__workload_command(f->values[v]) != '\0';
      for (size_t s = 0; s < o->file->step_count && !known; s++)
        known = matches(&o->file->steps[s], keys[f->key].place, f->values[v]);
      if (known) continue;
      hl_text choices = HL_TEXT_INIT;
      put_choices(o, keys[f->key].place, &choices);
      hl_status status =
          hl_error_set(o->error, HL_INVALID_ARGUMENT, "--only: no %s '%.60s'; there is %.300s",
                       keys[f->key].name, f->values[v], choices.length ? choices.data + 2 : "none");
      hl_text_release(&choices);
      return status;
    }
  }
  return HL_OK;
}

/* What is asked of rows is one exclude more of the step: all that have none of the values. */
static hl_status add_excludes(const only *o, hl_plan_step *step) {
  hl_arena *arena = &o->file->yaml.arena;
  hl_plan_exclude *excludes =
      hl_arena_array(arena, step->exclude_count + o->count, sizeof *excludes);
  if (!excludes) return hl_error_set(o->error, HL_OUT_OF_MEMORY, "no memory for the plan");
  for (size_t i = 0; i < step->exclude_count; i++) excludes[i] = step->excludes[i];
  size_t count = step->exclude_count;
  for (size_t i = 0; i < o->count; i++) {
    const filter *f = &o->filters[i];
    if (keys[f->key].place != ROW) continue;
    hl_plan_condition *condition = hl_arena_alloc(arena, sizeof *condition);
    if (!condition) return hl_error_set(o->error, HL_OUT_OF_MEMORY, "no memory for the plan");
    *condition = (hl_plan_condition){
        .id = keys[f->key].id, .others = true, .values = f->values, .value_count = f->count};
    excludes[count++] = (hl_plan_exclude){condition, 1};
  }
  step->excludes = excludes;
  step->exclude_count = count;
  return HL_OK;
}

hl_status hl_plan_file_only(hl_plan_file *file, const char *text, hl_error *error) {
  only *o = hl_arena_alloc(&file->yaml.arena, sizeof *o); /* the excludes keep its values */
  if (!o) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  *o = (only){.file = file, .error = error};
  const hl_plan_part *part = hl__part_find(file, text);
  if (part && !part->only) { /* what is made beside the rows */
    file->step_count = 0;
    return HL_OK;
  }
  hl_status status = parse(o, part ? part->only : text);
  if (status == HL_OK) status = check_values(o);
  size_t kept = 0;
  for (size_t i = 0; i < file->step_count && status == HL_OK; i++) {
    bool keep = true;
    for (size_t k = 0; k < o->count && keep; k++) keep = keeps(&o->filters[k], &file->steps[i]);
    if (!keep) continue;
    file->steps[kept] = file->steps[i];
    status = add_excludes(o, &file->steps[kept++]);
  }
  if (status != HL_OK) return status;
  file->step_count = kept;
  if (kept) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "%.200s: no entry of it is of --only %.100s",
                      file->yaml.name, text);
}
