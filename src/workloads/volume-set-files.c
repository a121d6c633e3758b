/* Volumes in files of their own: TIFF and .npy, alone, in a folder, or named by a CSV table. */
#include "base/arena.h"
#include "base/file.h"
#include "data/folder-walk.h"
#include "workloads/volume-set-internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t arena_bytes = (size_t)1 << 30;
enum { table_bytes = 64 << 20, column_count = 64 };

typedef struct entry {
  const char *image, *target; /* paths; `target` NULL: none was found */
  const char *name;
} entry;

typedef struct files {
  hl_arena arena;
  hl_volume_recipe recipe;
  entry *entries;
  size_t count, capacity;
} files;

/* Endings of a target's name, before .tif: cells.tif has cells_label.tif. Those of a mask first, or
 * for a label-free prediction those of another image. */
enum { ending_count = 5 };
static const char *const target_endings[][ending_count] = {
    [HL_VOLUME_SEGMENTATION] = {"_label", "_seg", "_mask", "_target", "_signal"},
    [HL_VOLUME_LABEL_FREE] = {"_target", "_signal", "_label", "_seg", "_mask"}};

static bool is_target_name(const char *name) {
  const char *end = hl__volume_ending(name);
  for (int i = 0; end && i < ending_count; i++) {
    const char *target = target_endings[0][i];
    size_t length = strlen(target);
    if ((size_t)(end - name) > length && strncmp(end - length, target, length) == 0) return true;
  }
  return false;
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the names of volumes");
}

static hl_status add(files *f, const char *image, const char *target, const char *name,
                     hl_error *error) {
  if (f->count == f->capacity) {
    size_t capacity = f->capacity ? 2 * f->capacity : 64;
    entry *grown = realloc(f->entries, capacity * sizeof *grown);
    if (!grown) return no_memory(error);
    f->entries = grown;
    f->capacity = capacity;
  }
  entry e = {hl_arena_text(&f->arena, image), hl_arena_text(&f->arena, target),
             hl_arena_text(&f->arena, name)};
  if (!e.image || !e.name || (target && !e.target)) return no_memory(error);
  f->entries[f->count++] = e;
  return HL_OK;
}

/* The file beside `image` that holds its target; free() it. NULL: there is none. */
static char *target_beside(const char *image, hl_volume_task task) {
  static const char *const endings[] = {".tif", ".tiff", ".ome.tif", ".ome.tiff", ".npy"};
  const char *end = hl__volume_ending(hl__last_part(image));
  for (int i = 0; end && i < ending_count; i++)
    for (size_t k = 0; k < HL_COUNT(endings); k++) {
      char *path =
          hl_format("%.*s%s%s", (int)(end - image), image, target_endings[task][i], endings[k]);
      if (path && access(path, F_OK) == 0) return path;
      free(path);
    }
  return NULL;
}

static hl_status add_image(files *f, const char *path, const char *name, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *target = target_beside(path, f->recipe.task);
  return add(f, path, target, name, error);
}

static hl_status add_folder(files *f, const char *path, hl_error *error) {
  hl_folder_walk walk;
  hl_folder_walk_init(path, &f->arena, &walk);
  hl_status status = hl_folder_walk_files(&walk, "", true, error);
  for (size_t i = 0; i < walk.count && status == HL_OK; i++) {
    const hl_folder_file *file = &walk.files[i];
    if (!hl__volume_ending(file->name) || is_target_name(file->name)) continue;
    HL_CLEANUP(hl_free_pointer) char *whole = hl_folder_path(path, file->folder, file->name);
    HL_CLEANUP(hl_free_pointer)
    char *name = hl_format("%s%s%s", file->folder, file->folder[0] ? "/" : "", file->name);
    if (!whole || !name) status = no_memory(error);
    if (status == HL_OK) status = add_image(f, whole, name, error);
  }
  hl_folder_walk_release(&walk);
  if (status == HL_OK && !f->count)
    status =
        hl_error_set(error, HL_BAD_DATA,
                     "%.200s: no volume is in it: files that end in .tif, .tiff or .npy", path);
  return status;
}

/* -- a table of files, as CytoDL's ----------------------------------------------------------- */

typedef struct table {
  const char *path, *at;
  int64_t line, next_line; /* of the cells, and of `at` */
  hl_text cells[column_count];
  size_t count; /* cells of the last line */
} table;

/* Reads the next line; `count` 0 at the end. */
static hl_status read_line(table *t, hl_error *error) {
  for (size_t i = 0; i < column_count; i++) hl_text_clear(&t->cells[i]);
  t->count = 0;
  while (*t->at == '\r' || *t->at == '\n') t->next_line += *t->at++ == '\n';
  t->line = t->next_line;
  if (!*t->at) return HL_OK;
  for (bool more = true; more;) {
    if (t->count == column_count)
      return hl_error_set(error, HL_LIMIT, "%.200s: line %" PRId64 ": more than %d columns",
                          t->path, t->line, column_count);
    hl_text *cell = &t->cells[t->count++];
    bool quoted = *t->at == '"';
    t->at += quoted;
    while (*t->at && (quoted || !strchr(",\r\n", *t->at))) {
      if (quoted && *t->at == '"' && *++t->at != '"') {
        quoted = false;
        continue;
      }
      t->next_line += *t->at == '\n';
      hl_text_char(cell, *t->at++);
    }
    if (quoted)
      return hl_error_set(error, HL_BAD_DATA, "%.200s: line %" PRId64 ": a quote is not closed",
                          t->path, t->line);
    more = *t->at == ',';
    t->at += more;
  }
  return HL_OK;
}

static size_t find_column(const table *t, const char *const *names) {
  for (; *names; names++)
    for (size_t i = 0; i < t->count; i++)
      if (strcasecmp(t->cells[i].data, *names) == 0) return i;
  return column_count;
}

/* A path of the table, which may be relative to it; free() it. */
static char *path_of(const table *t, const char *cell) {
  const char *slash = strrchr(t->path, '/');
  if (cell[0] == '/' || !slash) return hl_strdup(cell);
  return hl_format("%.*s/%s", (int)(slash - t->path), t->path, cell);
}

static hl_status add_line(files *f, const table *t, size_t image, size_t target, hl_error *error) {
  if (image >= t->count || !t->cells[image].length)
    return hl_error_set(error, HL_BAD_DATA, "%.200s: line %" PRId64 " names no image", t->path,
                        t->line);
  HL_CLEANUP(hl_free_pointer) char *image_path = path_of(t, t->cells[image].data);
  HL_CLEANUP(hl_free_pointer) char *target_path = NULL;
  if (target < t->count && t->cells[target].length) {
    target_path = path_of(t, t->cells[target].data);
    if (!target_path) return no_memory(error);
  }
  if (!image_path) return no_memory(error);
  return add(f, image_path, target_path, t->cells[image].data, error);
}

static hl_status read_table(files *f, table *t, hl_error *error) {
  static const char *const images[] = {"raw", "image", "brightfield", "source", NULL};
  static const char *const targets[] = {"seg", "label", "mask", "signal", "target", NULL};
  hl_status status = read_line(t, error);
  if (status != HL_OK) return status;
  size_t image = find_column(t, images), target = find_column(t, targets);
  if (image == column_count)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s: no column 'raw', 'image', 'brightfield' or 'source' of files in "
                        "its first line; columns are separated by commas",
                        t->path);
  for (;;) {
    status = read_line(t, error);
    if (status != HL_OK || !t->count) return status;
    status = add_line(f, t, image, target, error);
    if (status != HL_OK) return status;
  }
}

static hl_status add_table(files *f, const char *path, hl_error *error) {
  char *text = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, table_bytes, &text, &bytes, error);
  if (status != HL_OK) return status;
  table *t = calloc(1, sizeof *t);
  if (!t) {
    free(text);
    return no_memory(error);
  }
  size_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* spreadsheets put it there */
  *t = (table){.path = path, .at = text + mark, .next_line = 1};
  for (size_t i = 0; i < column_count; i++) t->cells[i] = (hl_text)HL_TEXT_INIT;
  if (strlen(text) != bytes) status = hl_error_set(error, HL_BAD_DATA, "%.200s is no text", path);
  if (status == HL_OK) status = read_table(f, t, error);
  if (status == HL_OK && !f->count)
    status = hl_error_set(error, HL_BAD_DATA, "%.200s names no volume", path);
  for (size_t i = 0; i < column_count; i++) hl_text_release(&t->cells[i]);
  free(t);
  free(text);
  return status;
}

/* -- reading --------------------------------------------------------------------------------------
 */

static hl_status read_pair(void *context, int64_t index, hl__raw_volume *ret_image,
                           hl__raw_volume *ret_target, hl_error *error) {
  const files *f = context;
  const entry *e = &f->entries[index];
  int64_t own = f->recipe.target_channel;
  hl_status status = hl__volume_file_read(e->image, f->recipe.channel, ret_image, error);
  if (status != HL_OK || !ret_target) return status;
  if (e->target) return hl__volume_file_read(e->target, own < 0 ? 0 : own, ret_target, error);
  if (own >= 0) return hl__volume_file_read(e->image, own, ret_target, error);
  return hl_error_set(error, HL_NOT_FOUND,
                      "%.200s has no target: put it beside it (%.*s_label.tif), name both in a CSV "
                      "table with columns raw and seg, or give the channel that holds it "
                      "(target-channel=N)",
                      e->name, (int)strcspn(e->name, "."), e->name);
}

static hl_status shape_of(void *context, int64_t index, hl_volume_shape *ret_shape,
                          hl_error *error) {
  return hl__volume_file_shape(((const files *)context)->entries[index].image, ret_shape, error);
}

static const char *name_of(void *context, int64_t index) {
  return ((const files *)context)->entries[index].name;
}

static bool has_target(void *context, int64_t index) {
  const files *f = context;
  return f->entries[index].target || f->recipe.target_channel >= 0;
}

static void free_files(void *context) {
  files *f = context;
  hl_arena_release(&f->arena);
  free(f->entries);
  free(f);
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_table(const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcasecmp(path + length - 4, ".csv") == 0;
}

bool hl__volumes_are_in_files(const char *path) {
  if (hl__volume_ending(hl__last_part(path)) || is_table(path)) return true;
  if (!is_folder(path)) return false;
  files f = {0};
  hl_arena_init(&f.arena, arena_bytes);
  bool found = add_folder(&f, path, NULL) == HL_OK;
  hl_arena_release(&f.arena);
  free(f.entries);
  return found;
}

static char *describe(const files *f, const char *path) {
  int64_t targets = 0;
  for (size_t i = 0; i < f->count; i++) targets += f->entries[i].target != NULL;
  return hl_format("%.200s: %zu volume%s, %" PRId64 " with a file of targets", path, f->count,
                   f->count == 1 ? "" : "s", targets);
}

hl_status hl__volumes_of_files(const char *path, const hl_volume_recipe *recipe, int64_t most,
                               hl__volume_origin *ret_origin, hl_error *error) {
  files *f = calloc(1, sizeof *f);
  if (!f) return no_memory(error);
  hl_arena_init(&f->arena, arena_bytes);
  f->recipe = *recipe;
  hl_status status = is_folder(path)  ? add_folder(f, path, error)
                     : is_table(path) ? add_table(f, path, error)
                                      : add_image(f, path, hl__last_part(path), error);
  if (most && (size_t)most < f->count) f->count = (size_t)most;
  char *what = NULL;
  if (status == HL_OK && !(what = describe(f, path))) status = no_memory(error);
  if (status != HL_OK) {
    free_files(f);
    return status;
  }
  *ret_origin = (hl__volume_origin){.context = f,
                                    .count = (int64_t)f->count,
                                    .what = what,
                                    .read = read_pair,
                                    .shape = shape_of,
                                    .name = name_of,
                                    .has_target = has_target,
                                    .free = free_files};
  return HL_OK;
}
