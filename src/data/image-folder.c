#include "data/image-folder.h"

#include "base/file.h"
#include "data/folder-walk.h"
#include "data/image.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct listing {
  hl_image_folder folder; /* first: callers see only this */
  hl_arena arena;
  hl_image_entry *images;
  hl_folder_walk walk;
  const char **parts; /* of the split: folders of the root that classes are in */
  size_t part_count;  /* 0: they are in the root */
} listing;

static const size_t names_cap = (size_t)8 << 30;

static hl_status no_memory(const char *path, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the pictures of %.200s", path);
}

void hl_image_folder_free(hl_image_folder *folder) {
  listing *f = (listing *)folder;
  if (!f) return;
  hl_folder_walk_release(&f->walk);
  free(f->images);
  hl_arena_release(&f->arena);
  free(f);
}

char *hl_image_folder_file(const hl_image_folder *folder, int64_t index) {
  const hl_image_entry *image = &folder->images[index];
  return hl_folder_path(folder->path, image->folder, image->name);
}

/* -- one file --------------------------------------------------------------------------------- */

/* Reads all of a picture whose end is not where it should be. */
static const char *decode_whole(const char *path) {
  char *data = NULL;
  size_t bytes = 0;
  hl_image image = {0};
  hl_error error = {0};
  hl_status status = hl_file_read(path, HL_IMAGE_FILE_MAX, &data, &bytes, &error);
  if (status == HL_OK) status = hl_image_decode(data, bytes, "", &image, &error);
  free(data);
  hl_image_release(&image);
  return status == HL_OK ? NULL : "cut short or broken";
}

/* Why a file is left out; NULL: it is a picture. `ret_is_other`: it never was one. */
static const char *judge(const char *path, bool *ret_is_other) {
  *ret_is_other = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return strerror(errno);
  unsigned char head[16], tail[16];
  struct stat st;
  const char *reason = NULL;
  ssize_t first = pread(fd, head, sizeof head, 0), last = 0;
  if (first < 0 || fstat(fd, &st) != 0) reason = strerror(errno);
  off_t from = !reason && st.st_size > (off_t)sizeof tail ? st.st_size - (off_t)sizeof tail : 0;
  if (!reason) last = pread(fd, tail, sizeof tail, from);
  if (last < 0) reason = strerror(errno);
  close(fd);
  if (reason) return reason;
  hl_image_kind kind = hl_image_kind_of(head, (size_t)first);
  if (kind == HL_IMAGE_NONE) {
    *ret_is_other = true;
    return first ? "no JPEG or PNG" : "empty";
  }
  return hl_image_has_end(tail, (size_t)last, kind) ? NULL : decode_whole(path);
}

/* Appends the pictures among the files that were found from number `first` on. */
static hl_status add_pictures(listing *f, size_t first, int32_t label, hl_error *error) {
  hl_folder_walk *walk = &f->walk;
  size_t capacity = (size_t)f->folder.count + (walk->count - first);
  hl_image_entry *images = realloc(f->images, (capacity + 1) * sizeof *images);
  if (!images) return no_memory(walk->root, error);
  f->images = images;
  int64_t before = f->folder.count;
  for (size_t i = first; i < walk->count; i++) {
    const hl_folder_file *file = &walk->files[i];
    HL_CLEANUP(hl_free_pointer) char *path = hl_folder_path(walk->root, file->folder, file->name);
    if (!path) return no_memory(walk->root, error);
    bool is_other = false;
    const char *reason = judge(path, &is_other);
    if (reason) {
      hl_folder_walk_skip(walk, file->folder, file->name, reason);
      f->folder.other_count += is_other;
      continue;
    }
    images[f->folder.count++] =
        (hl_image_entry){.folder = file->folder, .name = file->name, .label = label};
  }
  if (f->folder.count == before && label >= 0 && !f->folder.empty_class)
    f->folder.empty_class = f->folder.classes[label];
  return HL_OK;
}

/* -- halves of a data set -------------------------------------------------------------------- */

/* Whether `name` is that of a split, or of a part of it: "train", "train.X1". */
static bool is_split(const char *name, const char *split) {
  size_t length = strlen(split);
  return strncmp(name, split, length) == 0 &&
         (name[length] == '\0' || strncmp(name + length, ".X", 2) == 0);
}

static const char *split_of(const char *name) {
  static const char *const splits[] = {"train", "val", "valid", "validation", "test"};
  for (size_t i = 0; i < HL_COUNT(splits); i++)
    if (is_split(name, splits[i])) return splits[i];
  return NULL;
}

/* The split for the purpose among the names of folders; NULL: they are no splits. */
static const char *choose_split(const char *const *names, size_t count, hl_image_purpose purpose) {
  const char *train = NULL, *other = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *split = split_of(names[i]);
    if (!split) return NULL;
    if (strcmp(split, "train") == 0)
      train = split;
    else if (!other || strcmp(split, "test") != 0) /* test may come without labels */
      other = split;
  }
  return purpose == HL_IMAGES_TO_TRAIN ? train : other ? other : train;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The classes of all parts, each once. */
static hl_status merge_classes(listing *f, hl_error *error) {
  const char **all = NULL;
  size_t count = 0;
  hl_status status = HL_OK;
  for (size_t i = 0; i < f->part_count && status == HL_OK; i++) {
    const char *const *names = NULL;
    size_t more = 0;
    status = hl_folder_walk_folders(&f->walk, f->parts[i], &names, &more, error);
    if (status != HL_OK || more == 0) continue;
    const char **grown = hl_arena_array(&f->arena, count + more, sizeof *grown);
    if (!grown) return no_memory(f->walk.root, error);
    if (count) memcpy(grown, all, count * sizeof *all);
    memcpy(grown + count, names, more * sizeof *names);
    all = grown;
    count += more;
  }
  if (status != HL_OK || count == 0) return status;
  qsort(all, count, sizeof *all, compare_names);
  size_t kept = 1;
  for (size_t i = 1; i < count; i++)
    if (strcmp(all[i], all[kept - 1]) != 0) all[kept++] = all[i];
  f->folder.classes = all;
  f->folder.class_count = kept;
  return HL_OK;
}

/* Which folders are classes: those of the root, or those in the folders of a split. */
static hl_status find_classes(listing *f, hl_image_purpose purpose, hl_error *error) {
  const char *const *names = NULL;
  size_t count = 0;
  hl_status status = hl_folder_walk_folders(&f->walk, "", &names, &count, error);
  if (status != HL_OK) return status;
  const char *split = choose_split(names, count, purpose);
  if (split) {
    f->parts = hl_arena_array(&f->arena, count, sizeof *f->parts);
    if (!f->parts) return no_memory(f->walk.root, error);
    for (size_t i = 0; i < count; i++)
      if (is_split(names[i], split)) f->parts[f->part_count++] = names[i];
    status = merge_classes(f, error);
    if (status != HL_OK) return status;
  }
  if (f->folder.class_count) {
    f->folder.split = split;
    return HL_OK;
  }
  f->part_count = 0; /* pictures lie in them: they are classes of that name */
  f->folder.classes = names;
  f->folder.class_count = count;
  return HL_OK;
}

/* -- the folder ------------------------------------------------------------------------------- */

/* Files of a class, which are in one folder, or in several parts. */
static hl_status read_class(listing *f, const char *name, int32_t label, hl_error *error) {
  size_t first = f->walk.count;
  hl_status status = f->part_count ? HL_OK : hl_folder_walk_files(&f->walk, name, true, error);
  for (size_t i = 0; i < f->part_count && status == HL_OK; i++) {
    HL_CLEANUP(hl_free_pointer) char *text = hl_format("%s/%s", f->parts[i], name);
    const char *folder = text ? hl_arena_text(&f->arena, text) : NULL;
    HL_CLEANUP(hl_free_pointer) char *path = hl_folder_path(f->walk.root, text ? text : "", "");
    struct stat st;
    if (!folder || !path) return no_memory(f->walk.root, error);
    if (f->part_count > 1 && stat(path, &st) != 0) continue; /* it is in another part */
    status = hl_folder_walk_files(&f->walk, folder, true, error);
  }
  return status == HL_OK ? add_pictures(f, first, label, error) : status;
}

static hl_status read_classes(listing *f, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < f->folder.class_count && status == HL_OK; i++)
    status = read_class(f, f->folder.classes[i], (int32_t)i, error);
  return status;
}

/* Pictures of the root count where no class has any; else they have no label. */
static hl_status read_root(listing *f, hl_error *error) {
  size_t first = f->walk.count;
  hl_status status = hl_folder_walk_files(&f->walk, "", false, error);
  if (status != HL_OK) return status;
  if (f->folder.count == 0) {
    f->folder.class_count = 0;
    f->folder.split = NULL;
    f->folder.empty_class = NULL;
    return add_pictures(f, first, -1, error);
  }
  for (size_t i = first; i < f->walk.count; i++) {
    hl_folder_walk_skip(&f->walk, "", f->walk.files[i].name, "beside the classes' folders");
    f->folder.other_count++;
  }
  return HL_OK;
}

static hl_status describe(listing *f, hl_error *error) {
  hl_image_folder *p = &f->folder;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%.300s: %" PRId64 " picture%s", p->path, p->count,
                 p->count == 1 ? "" : "s");
  if (p->split) hl_text_format(&text, " (%s)", p->split);
  if (p->class_count)
    hl_text_format(&text, " of %zu class%s", p->class_count, p->class_count == 1 ? "" : "es");
  else
    hl_text_append(&text, " without labels");
  if (p->empty_class) hl_text_format(&text, "; class '%.60s' has none", p->empty_class);
  if (f->walk.skipped_count)
    hl_text_format(&text, "; skipped %" PRId64 ": %s%s", f->walk.skipped_count, p->skipped,
                   f->walk.skipped_count > HL_FOLDER_NAMED_MAX ? ", ..." : "");
  hl_text_blank(text.data, "");
  p->description = hl_arena_text(&f->arena, text.failed ? NULL : text.data);
  hl_text_release(&text);
  return p->description ? HL_OK : no_memory(p->path, error);
}

static hl_status finish(listing *f, hl_error *error) {
  hl_image_folder *p = &f->folder;
  p->images = f->images;
  p->broken_count = f->walk.skipped_count - p->other_count;
  p->skipped = f->walk.skipped.data;
  if (p->count == 0)
    return hl_error_set(error, HL_BAD_DATA,
                        "'%.200s' holds no JPEG or PNG picture%s%.200s. Expected are pictures, or "
                        "a sub-folder of them for each class",
                        p->path, p->skipped[0] ? "; skipped: " : "", p->skipped);
  return describe(f, error);
}

hl_status hl_image_folder_open(const char *path, hl_image_purpose purpose,
                               hl_image_folder **ret_folder, hl_error *error) {
  listing *f = calloc(1, sizeof *f);
  if (!f) return no_memory(path, error);
  hl_arena_init(&f->arena, names_cap);
  f->folder.path = hl_arena_text(&f->arena, path);
  hl_status status = f->folder.path ? HL_OK : no_memory(path, error);
  hl_folder_walk_init(f->folder.path, &f->arena, &f->walk);
  if (status == HL_OK) status = find_classes(f, purpose, error);
  if (status == HL_OK) status = read_classes(f, error);
  if (status == HL_OK) status = read_root(f, error);
  if (status == HL_OK) status = finish(f, error);
  if (status != HL_OK)
    hl_image_folder_free(&f->folder);
  else
    *ret_folder = &f->folder;
  return status;
}
