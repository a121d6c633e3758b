#include "data/kind.h"

#include "data/folder-walk.h"
#include "data/image.h"
#include "data/tiff.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t names_cap = (size_t)1 << 30;

/* HL_DATA_ARRAYS for what is neither. */
static hl_data_kind kind_of_file(const char *path) {
  unsigned char start[8];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t bytes = fd >= 0 ? pread(fd, start, sizeof start, 0) : 0;
  if (fd >= 0) close(fd);
  size_t count = bytes > 0 ? (size_t)bytes : 0;
  if (hl_tiff_is(start, count)) return HL_DATA_TIFF;
  return hl_image_kind_of(start, count) != HL_IMAGE_NONE ? HL_DATA_PICTURE : HL_DATA_ARRAYS;
}

/* Looks at the files of a folder, below the root, from number `first` on. */
static hl_data_kind kind_of_files(const hl_folder_walk *walk, size_t first) {
  hl_data_kind kind = HL_DATA_ARRAYS;
  for (size_t i = first; i < walk->count && kind == HL_DATA_ARRAYS; i++) {
    char *path = hl_folder_path(walk->root, walk->files[i].folder, walk->files[i].name);
    if (path) kind = kind_of_file(path);
    free(path);
  }
  return kind;
}

/* The first file that is known decides: of the folder itself, then of the folders in it. */
static hl_data_kind kind_of_folder(const char *path) {
  hl_arena arena;
  hl_folder_walk walk;
  const char *const *folders = NULL;
  size_t count = 0;
  hl_arena_init(&arena, names_cap);
  hl_folder_walk_init(path, &arena, &walk);
  hl_data_kind kind = HL_DATA_ARRAYS;
  if (hl_folder_walk_folders(&walk, "", &folders, &count, NULL) == HL_OK &&
      hl_folder_walk_files(&walk, "", false, NULL) == HL_OK)
    kind = kind_of_files(&walk, 0);
  for (size_t i = 0; i < count && kind == HL_DATA_ARRAYS; i++) {
    size_t first = walk.count;
    if (hl_folder_walk_files(&walk, folders[i], true, NULL) != HL_OK) break;
    kind = kind_of_files(&walk, first);
  }
  hl_folder_walk_release(&walk);
  hl_arena_release(&arena);
  return kind == HL_DATA_TIFF ? HL_DATA_TIFFS : HL_DATA_PICTURES;
}

hl_data_kind hl_data_kind_of(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return HL_DATA_ARRAYS;
  return S_ISDIR(st.st_mode) ? kind_of_folder(path) : kind_of_file(path);
}
