#include "data/folder-walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A folder on the way down, by which loops are known. */
typedef struct level {
  const struct level *above;
  dev_t device;
  ino_t inode;
  int depth;
} level;

typedef struct entry {
  const char *name;
  bool is_folder;
  const char *problem; /* why it is left out; NULL */
} entry;

typedef struct listing {
  entry *entries;
  size_t count, capacity;
} listing;

void hl_folder_walk_init(const char *root, hl_arena *arena, hl_folder_walk *ret_walk) {
  *ret_walk = (hl_folder_walk){.root = root, .arena = arena, .skipped = HL_TEXT_INIT};
}

void hl_folder_walk_release(hl_folder_walk *walk) {
  free(walk->files);
  hl_text_release(&walk->skipped);
  *walk = (hl_folder_walk){0};
}

static hl_status no_memory(const hl_folder_walk *walk, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the files of %.200s", walk->root);
}

static hl_status too_many(const hl_folder_walk *walk, hl_error *error) {
  return hl_error_set(error, HL_LIMIT, "%.200s holds more than %d files. Use a part of it",
                      walk->root, HL_FOLDER_FILES_MAX);
}

char *hl_folder_path(const char *root, const char *folder, const char *name) {
  const char *first = root[0] && root[strlen(root) - 1] == '/' ? "" : "/";
  if (!folder[0] && !name[0]) return hl_strdup(root);
  return hl_format("%s%s%s%s%s", root, first, folder, folder[0] && name[0] ? "/" : "", name);
}

void hl_folder_walk_skip(hl_folder_walk *walk, const char *folder, const char *name,
                         const char *reason) {
  if (walk->skipped_count++ >= HL_FOLDER_NAMED_MAX) return;
  hl_text_format(&walk->skipped, "%s%.80s%s%.60s (%s)", walk->skipped.length ? ", " : "", folder,
                 folder[0] && name[0] ? "/" : "", name, reason);
  if (walk->skipped.length) walk->skipped.length = hl_text_blank(walk->skipped.data, "");
}

static int compare_entries(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static int compare_files(const void *a, const void *b) {
  const hl_folder_file *x = a, *y = b;
  int order = strcmp(x->folder, y->folder);
  return order ? order : strcmp(x->name, y->name);
}

/* Makes room for one more item of an array. */
static bool grow(void *pointer_to_array, size_t count, size_t *capacity, size_t item) {
  if (count < *capacity) return true;
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *old, *array;
  memcpy(&old, pointer_to_array, sizeof old);
  array = realloc(old, wanted * item);
  if (!array) return false;
  memcpy(pointer_to_array, &array, sizeof array);
  *capacity = wanted;
  return true;
}

static const char *find_problem(int folder, const char *name, bool *ret_is_folder) {
  struct stat st;
  *ret_is_folder = false;
  if (fstatat(folder, name, &st, 0) != 0) return strerror(errno);
  *ret_is_folder = S_ISDIR(st.st_mode);
  return *ret_is_folder || S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

/* What is in an open folder. */
static hl_status read_entries(hl_folder_walk *walk, DIR *open, const char *folder, listing *list,
                              hl_error *error) {
  for (;;) {
    errno = 0;
    const struct dirent *d = readdir(open);
    if (!d && errno) hl_folder_walk_skip(walk, folder, "", strerror(errno));
    if (!d) return HL_OK;
    if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
    entry e = {.name = hl_arena_text(walk->arena, d->d_name)};
    const char *problem = find_problem(dirfd(open), d->d_name, &e.is_folder);
    e.problem = hl_arena_text(walk->arena, problem);
    if (list->count >= HL_FOLDER_FILES_MAX) return too_many(walk, error);
    if (!e.name || (problem && !e.problem) ||
        !grow(&list->entries, list->count, &list->capacity, sizeof(entry)))
      return no_memory(walk, error);
    list->entries[list->count++] = e;
  }
}

/* Opens a folder below the root; NULL where it is to be left out. Only of the root it is an error
 * that it cannot be read. */
static hl_status open_folder(hl_folder_walk *walk, const char *folder, level *at, DIR **ret_open,
                             hl_error *error) {
  *ret_open = NULL;
  if (walk->folder_count++ >= HL_FOLDER_FOLDERS_MAX)
    return hl_error_set(error, HL_LIMIT,
                        "%.200s leads to more than %d folders, links followed. Use a part of it",
                        walk->root, HL_FOLDER_FOLDERS_MAX);
  if (at->depth > HL_FOLDER_DEPTH_MAX) {
    hl_folder_walk_skip(walk, folder, "", "too many folders in folders");
    return HL_OK;
  }
  HL_CLEANUP(hl_free_pointer) char *path = hl_folder_path(walk->root, folder, "");
  if (!path) return no_memory(walk, error);
  DIR *open = opendir(path);
  struct stat st;
  if (!open || fstat(dirfd(open), &st) != 0) {
    int reason = errno;
    if (open) closedir(open);
    errno = reason;
    if (!folder[0])
      return hl_error_errno(error,
                            errno == ENOENT    ? HL_NOT_FOUND
                            : errno == ENOTDIR ? HL_BAD_DATA
                                               : HL_IO,
                            "cannot read the folder '%.300s'", path);
    hl_folder_walk_skip(walk, folder, "", strerror(reason));
    return HL_OK;
  }
  at->device = st.st_dev;
  at->inode = st.st_ino;
  for (const level *l = at->above; l; l = l->above)
    if (l->device == st.st_dev && l->inode == st.st_ino) {
      closedir(open);
      hl_folder_walk_skip(walk, folder, "", "leads back to a folder above it");
      return HL_OK;
    }
  *ret_open = open;
  return HL_OK;
}

static hl_status list_folder(hl_folder_walk *walk, const char *folder, level *at, listing *list,
                             hl_error *error) {
  DIR *open;
  hl_status status = open_folder(walk, folder, at, &open, error);
  if (status != HL_OK || !open) return status;
  status = read_entries(walk, open, folder, list, error);
  closedir(open);
  if (list->count) qsort(list->entries, list->count, sizeof(entry), compare_entries);
  return status;
}

static hl_status add_files(hl_folder_walk *walk, const char *folder, bool is_deep, level *at,
                           hl_error *error) {
  listing list = {0};
  hl_status status = list_folder(walk, folder, at, &list, error);
  for (size_t i = 0; i < list.count && status == HL_OK; i++) {
    const entry *e = &list.entries[i];
    if (e->problem) {
      hl_folder_walk_skip(walk, folder, e->name, e->problem);
    } else if (e->is_folder && is_deep) {
      HL_CLEANUP(hl_free_pointer)
      char *below = folder[0] ? hl_format("%s/%s", folder, e->name) : hl_strdup(e->name);
      const char *kept = below ? hl_arena_text(walk->arena, below) : NULL;
      level next = {.above = at, .depth = at->depth + 1};
      status = kept ? add_files(walk, kept, true, &next, error) : no_memory(walk, error);
    } else if (!e->is_folder) {
      if (walk->count >= HL_FOLDER_FILES_MAX)
        status = too_many(walk, error);
      else if (!grow(&walk->files, walk->count, &walk->capacity, sizeof *walk->files))
        status = no_memory(walk, error);
      else
        walk->files[walk->count++] = (hl_folder_file){.folder = folder, .name = e->name};
    }
  }
  free(list.entries);
  return status;
}

hl_status hl_folder_walk_files(hl_folder_walk *walk, const char *folder, bool is_deep,
                               hl_error *error) {
  size_t before = walk->count;
  level root = {.depth = 0}, at = {.above = &root, .depth = 1};
  struct stat st;
  /* The root is above everything, also where the walk begins below it. */
  if (stat(walk->root, &st) == 0) root = (level){.device = st.st_dev, .inode = st.st_ino};
  hl_status status = add_files(walk, folder, is_deep, folder[0] ? &at : &root, error);
  if (status == HL_OK && walk->count > before)
    qsort(walk->files + before, walk->count - before, sizeof *walk->files, compare_files);
  return status;
}

hl_status hl_folder_walk_folders(hl_folder_walk *walk, const char *folder,
                                 const char *const **ret_names, size_t *ret_count,
                                 hl_error *error) {
  listing list = {0};
  level root = {.depth = 0};
  hl_status status = list_folder(walk, folder, &root, &list, error);
  size_t count = 0;
  const char **names = NULL;
  if (status == HL_OK) {
    names = hl_arena_array(walk->arena, list.count + 1, sizeof *names);
    if (!names) status = no_memory(walk, error);
  }
  for (size_t i = 0; i < list.count && status == HL_OK; i++)
    if (list.entries[i].is_folder) names[count++] = list.entries[i].name;
  free(list.entries);
  if (status != HL_OK) return status;
  *ret_names = names;
  *ret_count = count;
  return HL_OK;
}
