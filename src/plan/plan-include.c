#include "plan/plan-include.h"

#include "base/text.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is being read, to tell one that includes itself. */
typedef struct open_file {
  dev_t device;
  ino_t inode;
} open_file;

typedef struct resolver {
  hl_plan_file *file;
  open_file open[HL__INCLUDE_DEPTH + 1];
  size_t depth;
  hl_error *error;
} resolver;

static hl_status no_memory(const resolver *r) {
  return hl_error_set(r->error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

/* -- merging ----------------------------------------------------------------------------------- */

static bool is_joined(const char *key) {
  return strcmp(key, "entries") == 0 || strcmp(key, "plots") == 0;
}

static const hl_yaml *join(const resolver *r, const hl_yaml *first, const hl_yaml *second) {
  hl_arena *arena = &r->file->yaml.arena;
  hl_yaml *list = hl_arena_copy(arena, second, sizeof *second);
  const hl_yaml **items = hl_arena_array(arena, first->count + second->count, sizeof *items);
  if (!list || !items) return NULL;
  for (size_t i = 0; i < first->count; i++) items[i] = first->items[i];
  for (size_t i = 0; i < second->count; i++) items[first->count + i] = second->items[i];
  list->items = items;
  list->count = first->count + second->count;
  return list;
}

/* `over` on top of `base`, which may be NULL. NULL without memory. Trees are at most HL_YAML_DEPTH
 * deep, and so is this. */
static const hl_yaml *merge(const resolver *r, const hl_yaml *base, const hl_yaml *over) {
  if (!base || base->kind != HL_YAML_MAP || over->kind != HL_YAML_MAP) return over;
  hl_arena *arena = &r->file->yaml.arena;
  hl_yaml *map = hl_arena_copy(arena, over, sizeof *over);
  const hl_yaml **keys = hl_arena_array(arena, base->count + over->count, sizeof *keys);
  const hl_yaml **items = hl_arena_array(arena, base->count + over->count, sizeof *items);
  if (!map || !keys || !items) return NULL;
  size_t count = base->count;
  for (size_t i = 0; i < base->count; i++) {
    keys[i] = base->keys[i];
    items[i] = base->items[i];
  }
  for (size_t i = 0; i < over->count; i++) {
    const char *key = over->keys[i]->text;
    size_t at = 0;
    while (at < base->count && strcmp(base->keys[at]->text, key) != 0) at++;
    if (at == base->count) at = count++;
    bool lists = at < base->count && is_joined(key) && items[at]->kind == HL_YAML_LIST &&
                 over->items[i]->kind == HL_YAML_LIST;
    const hl_yaml *own = at < base->count ? items[at] : NULL;
    keys[at] = over->keys[i];
    items[at] = lists ? join(r, own, over->items[i]) : merge(r, own, over->items[i]);
    if (!items[at]) return NULL;
  }
  map->keys = keys;
  map->items = items;
  map->count = count;
  return map;
}

static const hl_yaml *without_include(const resolver *r, const hl_yaml *root) {
  hl_arena *arena = &r->file->yaml.arena;
  hl_yaml *map = hl_arena_copy(arena, root, sizeof *root);
  const hl_yaml **keys = hl_arena_array(arena, root->count, sizeof *keys);
  const hl_yaml **items = hl_arena_array(arena, root->count, sizeof *items);
  if (!map || !keys || !items) return NULL;
  map->count = 0;
  for (size_t i = 0; i < root->count; i++) {
    if (strcmp(root->keys[i]->text, "include") == 0) continue;
    keys[map->count] = root->keys[i];
    items[map->count++] = root->items[i];
  }
  map->keys = keys;
  map->items = items;
  return map;
}

/* -- files ------------------------------------------------------------------------------------- */

static hl_status resolve(resolver *r, const char *path, const hl_yaml *root,
                         const hl_yaml **ret_root);

/* `name` beside the file that has it. */
static char *beside(const char *path, const char *name) {
  const char *slash = strrchr(path, '/');
  if (name[0] == '/' || !slash) return hl_strdup(name);
  return hl_format("%.*s/%s", (int)(slash - path), path, name);
}

static hl_status enter(resolver *r, const hl_yaml *where, const char *path) {
  struct stat found;
  if (stat(path, &found) != 0)
    return where ? hl_yaml_refuse(&r->file->yaml, where, r->error,
                                  "cannot include '%.200s': there is no such file", path)
                 : HL_OK; /* it was read; what it is now does not matter */
  if (where && !S_ISREG(found.st_mode))
    return hl_yaml_refuse(&r->file->yaml, where, r->error,
                          "cannot include '%.200s': it is no regular file", path);
  if (where && access(path, R_OK) != 0)
    return hl_yaml_refuse(&r->file->yaml, where, r->error,
                          "cannot include '%.200s': it cannot be read", path);
  for (size_t i = 0; i < r->depth && where; i++)
    if (r->open[i].device == found.st_dev && r->open[i].inode == found.st_ino)
      return hl_yaml_refuse(&r->file->yaml, where, r->error,
                            "'%.200s' includes itself, by this line", path);
  if (r->depth > HL__INCLUDE_DEPTH && where)
    return hl_yaml_refuse(&r->file->yaml, where, r->error,
                          "plans include each other more than %d deep", HL__INCLUDE_DEPTH);
  r->open[r->depth++] = (open_file){found.st_dev, found.st_ino};
  return HL_OK;
}

static hl_status include_one(resolver *r, const char *path, const hl_yaml *name,
                             const hl_yaml **io_whole) {
  hl_plan_file *file = r->file;
  if (name->kind != HL_YAML_SCALAR || !name->text[0])
    return hl_yaml_refuse(&file->yaml, name, r->error,
                          "'include' takes the name of a plan, or a list of them");
  if (file->included_count == HL__INCLUDE_FILES)
    return hl_yaml_refuse(&file->yaml, name, r->error, "more than %d files are included",
                          HL__INCLUDE_FILES);
  HL_CLEANUP(hl_free_pointer) char *other = beside(path, name->text);
  if (!other) return no_memory(r);
  const hl_yaml *whole = NULL;
  size_t depth = r->depth;
  hl_status status = enter(r, name, other);
  hl_yaml_file *yaml = &file->included[file->included_count];
  if (status == HL_OK) status = hl_yaml_read(other, yaml, r->error);
  if (status == HL_OK) {
    file->included_count++;
    status = yaml->root->kind == HL_YAML_MAP
                 ? resolve(r, other, yaml->root, &whole)
                 : hl_yaml_refuse(yaml, yaml->root, r->error, "a plan is a mapping");
  }
  r->depth = depth;
  if (status == HL_OK && !(*io_whole = merge(r, *io_whole, whole))) status = no_memory(r);
  return status;
}

static hl_status resolve(resolver *r, const char *path, const hl_yaml *root,
                         const hl_yaml **ret_root) {
  const hl_yaml *include = hl_yaml_find(root, "include"), *whole = NULL;
  hl_status status = HL_OK;
  *ret_root = root;
  if (!include) return HL_OK;
  if (include->kind == HL_YAML_SCALAR) status = include_one(r, path, include, &whole);
  for (size_t i = 0; include->kind == HL_YAML_LIST && i < include->count && status == HL_OK; i++)
    status = include_one(r, path, include->items[i], &whole);
  if (include->kind == HL_YAML_MAP)
    status = hl_yaml_refuse(&r->file->yaml, include, r->error,
                            "'include' takes the name of a plan, or a list of them");
  if (status != HL_OK) return status;
  const hl_yaml *own = without_include(r, root);
  *ret_root = own ? merge(r, whole, own) : NULL;
  return *ret_root ? HL_OK : no_memory(r);
}

hl_status hl__include_resolve(hl_plan_file *file, const char *path, hl_error *error) {
  const hl_yaml *root = file->yaml.root, *whole = NULL;
  if (root->kind != HL_YAML_MAP || !hl_yaml_find(root, "include")) return HL_OK;
  resolver r = {.file = file, .error = error};
  file->included = hl_arena_array(&file->yaml.arena, HL__INCLUDE_FILES, sizeof *file->included);
  if (!file->included) return no_memory(&r);
  hl_status status = enter(&r, NULL, path);
  if (status == HL_OK) status = resolve(&r, path, root, &whole);
  if (status == HL_OK) file->yaml.root = whole;
  return status;
}
