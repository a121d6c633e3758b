/*
 * data/folder-walk.h - the regular files of a folder and of all below it.
 *
 *     hl_folder_walk walk;
 *     hl_folder_walk_init("scans", &arena, &walk);
 *     hl_folder_walk_files(&walk, "cells", error);            (scans/cells and below)
 *     walk.files[0].folder, walk.files[0].name                ("cells/a", "1.tif")
 *     hl_folder_walk_release(&walk);
 *
 * Symbolic links are followed. A link that leads back to a folder above it, a folder that cannot be
 * read and one too deep are left out and said. Files are in the order of their folders, then names,
 * as bytes.
 */
#ifndef HL_DATA_FOLDER_WALK_H
#define HL_DATA_FOLDER_WALK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

enum {
  HL_FOLDER_FILES_MAX = 1 << 24,
  HL_FOLDER_FOLDERS_MAX = 1 << 20, /* links can make many of few */
  HL_FOLDER_DEPTH_MAX = 32,
  HL_FOLDER_NAMED_MAX = 3 /* of what is left out, so many names are said */
};

typedef struct hl_folder_file {
  const char *folder; /* below the root; "" for the root itself */
  const char *name;
} hl_folder_file;

typedef struct hl_folder_walk {
  const char *root; /* borrowed */
  hl_arena *arena;  /* borrowed: of the names */
  hl_folder_file *files;
  size_t count, capacity, folder_count;
  int64_t skipped_count; /* what was left out */
  hl_text skipped;       /* the first of it: "a/loop (leads back to a folder above it), ..." */
} hl_folder_walk;

void hl_folder_walk_init(const char *root, hl_arena *arena, hl_folder_walk *ret_walk);
void hl_folder_walk_release(hl_folder_walk *walk);

/* The names of the folders in `folder` ("": the root), in order; into the arena. NOT_FOUND, IO,
 * BAD_DATA (no folder), OUT_OF_MEMORY; below the root, what cannot be read is left out and said. */
hl_status hl_folder_walk_folders(hl_folder_walk *walk, const char *folder,
                                 const char *const **ret_names, size_t *ret_count, hl_error *error);

/* Adds the files of `folder` ("": the root) and, with `is_deep`, of all below it. LIMIT beyond
 * HL_FOLDER_FILES_MAX files or HL_FOLDER_FOLDERS_MAX folders, OUT_OF_MEMORY; IO only for the root.
 */
hl_status hl_folder_walk_files(hl_folder_walk *walk, const char *folder, bool is_deep,
                               hl_error *error);

/* Counts something as left out, and names it if it is one of the first. */
void hl_folder_walk_skip(hl_folder_walk *walk, const char *folder, const char *name,
                         const char *reason);

/* "root/folder/name", with folder or name possibly ""; free() it. */
char *hl_folder_path(const char *root, const char *folder, const char *name);

#endif
