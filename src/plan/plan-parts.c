#include "plan/plan-parts.h"

#include "plan/plan-entry.h"
#include <string.h>

enum { most_parts = 64, most_words = 64 };

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
}

const hl_plan_part *hl__part_find(const hl_plan_file *file, const char *name) {
  for (size_t i = 0; i < file->part_count; i++)
    if (strcmp(file->parts[i].name, name) == 0) return &file->parts[i];
  return NULL;
}

/* "optimize=none,entry=a", or a list of such. */
static hl_status read_only(hl_plan_file *file, const hl_yaml *node, const char **ret_only,
                           hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  size_t count = node->kind == HL_YAML_LIST ? node->count : 1;
  for (size_t i = 0; i < count; i++) {
    const hl_yaml *item = node->kind == HL_YAML_LIST ? node->items[i] : node;
    if (item->kind != HL_YAML_SCALAR) {
      hl_text_release(&text);
      return hl_yaml_refuse(&file->yaml, item, error,
                            "a part takes what --only takes, such as entry=NAME, or ~ for no rows");
    }
    hl_text_format(&text, "%s%s", i ? "," : "", item->text);
  }
  *ret_only = text.failed ? NULL : hl_arena_text(&file->yaml.arena, text.data);
  hl_text_release(&text);
  return *ret_only ? HL_OK : no_memory(error);
}

static hl_status read_parts(hl_plan_file *file, const hl_yaml *map, hl_error *error) {
  if (map->kind != HL_YAML_MAP || map->count > most_parts)
    return hl_yaml_refuse(&file->yaml, map, error,
                          "'parts' takes a mapping of at most %d names to what --only takes",
                          most_parts);
  file->parts = hl_arena_array(&file->yaml.arena, map->count, sizeof *file->parts);
  if (!file->parts) return no_memory(error);
  for (size_t i = 0; i < map->count; i++) {
    hl_plan_part *part = &file->parts[file->part_count++];
    *part = (hl_plan_part){.name = map->keys[i]->text};
    if (hl__workload_command(part->name))
      return hl_yaml_refuse(&file->yaml, map->keys[i], error,
                            "'%.60s' is a workload, which --only knows; a part needs another name",
                            part->name);
    if (hl_yaml_is_null(map->items[i])) continue;
    hl_status status = read_only(file, map->items[i], &part->only, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

static hl_status read_report(hl_plan_file *file, const hl_yaml *node, hl_error *error) {
  if (node->kind != HL_YAML_SCALAR || strcmp(node->text, "phase5") != 0)
    return hl_yaml_refuse(&file->yaml, node, error,
                          "'report' takes phase5, the files of that suite");
  file->report = node->text;
  return HL_OK;
}

static hl_status read_profile(hl_plan_file *file, const hl_yaml *node, hl_error *error) {
  if (node->kind != HL_YAML_LIST || node->count == 0 || node->count > most_words)
    return hl_yaml_refuse(&file->yaml, node, error,
                          "'profile' takes a list of at most %d words for 'hotlap profile'",
                          most_words);
  const char **words = hl_arena_array(&file->yaml.arena, node->count, sizeof *words);
  if (!words) return no_memory(error);
  for (size_t i = 0; i < node->count; i++) {
    if (node->items[i]->kind != HL_YAML_SCALAR)
      return hl_yaml_refuse(&file->yaml, node->items[i], error, "'profile' takes words");
    words[i] = node->items[i]->text;
  }
  file->profile = words;
  file->profile_count = node->count;
  return HL_OK;
}

hl_status hl__parts_read(hl_plan_file *file, hl_error *error) {
  const hl_yaml *root = file->yaml.root;
  const hl_yaml *parts = hl_yaml_find(root, "parts"), *report = hl_yaml_find(root, "report"),
                *profile = hl_yaml_find(root, "profile");
  hl_status status = parts ? read_parts(file, parts, error) : HL_OK;
  if (status == HL_OK && report) status = read_report(file, report, error);
  if (status == HL_OK && profile) status = read_profile(file, profile, error);
  return status;
}
