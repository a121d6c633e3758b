/*
 * data/image-folder.h - the pictures of a folder and their labels.
 *
 *     hl_image_folder *folder;
 *     hl_image_folder_open("imagenet/val", HL_IMAGES_TO_EVALUATE, &folder, error);
 *     folder->images[0].label, folder->classes[0], folder->description
 *     hl_image_folder_free(folder);
 *
 * As torchvision's ImageFolder has it: labels are the sub-folders' numbers in the order of their
 * names (bytes), a class's pictures are those of its folder and of all below, by folder, then name;
 * symbolic links are followed. What differs: pictures are known by their first bytes, not by their
 * names; what is none or is cut short is skipped and counted; a class without pictures is no error,
 * and pictures without sub-folders have no labels.
 */
#ifndef HL_DATA_IMAGE_FOLDER_H
#define HL_DATA_IMAGE_FOLDER_H

#include "base/error.h"
#include <stdbool.h>

/* Which half of a data set. A folder that holds no folders but train and val (or valid, validation,
 * test), each with folders in it, is a data set with both: of the classes in train to train, else
 * of those in val or test. Parts, as train.X1 and train.X2 of ImageNet-100, are read as one. */
typedef enum hl_image_purpose { HL_IMAGES_TO_EVALUATE, HL_IMAGES_TO_TRAIN } hl_image_purpose;

typedef struct hl_image_entry {
  const char *folder; /* below the root, "" for the root itself */
  const char *name;
  int32_t label; /* -1: none */
} hl_image_entry;

typedef struct hl_image_folder {
  const char *path;
  const char *split;  /* which half of it: "train", "val" ...; NULL: it has none */
  size_t class_count; /* 0: no labels */
  const char *const *classes;
  const char *empty_class; /* the first class without a picture; NULL */
  int64_t count;           /* >= 1 */
  const hl_image_entry *images;
  int64_t other_count;     /* skipped: files that are no pictures, */
  int64_t broken_count;    /* pictures cut short, and files and folders that cannot be read */
  const char *skipped;     /* names of the first of them, each with the reason; "" */
  const char *description; /* one line with all of this */
} hl_image_folder;

/* Lists the folder and looks at both ends of each file. NOT_FOUND, IO, BAD_DATA (no folder, no
 * pictures), LIMIT (see data/folder-walk.h), OUT_OF_MEMORY. */
hl_status hl_image_folder_open(const char *path, hl_image_purpose purpose,
                               hl_image_folder **ret_folder, hl_error *error);
void hl_image_folder_free(hl_image_folder *folder); /* NULL is fine */

/* "PATH/FOLDER/NAME" of a picture; free() it. NULL without memory. */
char *hl_image_folder_file(const hl_image_folder *folder, int64_t index);

#endif
