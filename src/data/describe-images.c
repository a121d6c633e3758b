/* What is said of a folder of pictures. */
#include "data/describe-internal.h"
#include "data/image-folder.h"
#include <inttypes.h>
#include <stdlib.h>

enum { classes_shown = 20 };

/* Pictures by class; NULL without memory. */
static int64_t *count_classes(const hl_image_folder *folder) {
  int64_t *counts = calloc(folder->class_count + 1, sizeof *counts);
  for (int64_t i = 0; counts && i < folder->count; i++)
    if (folder->images[i].label >= 0) counts[folder->images[i].label]++;
  return counts;
}

static hl_status open_folder(const char *path, hl_image_folder **ret_folder, int64_t **ret_counts,
                             hl_error *error) {
  hl_status status = hl_image_folder_open(path, HL_IMAGES_TO_EVALUATE, ret_folder, error);
  if (status != HL_OK) return status;
  *ret_counts = count_classes(*ret_folder);
  if (*ret_counts) return HL_OK;
  hl_image_folder_free(*ret_folder);
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the description");
}

hl_status hl__describe_images(const char *path, hl_text *text, hl_error *error) {
  hl_image_folder *folder = NULL;
  int64_t *counts = NULL;
  hl_status status = open_folder(path, &folder, &counts, error);
  if (status != HL_OK) return status;
  hl_text_line(text, "%s", folder->description);
  for (size_t i = 0; i < folder->class_count && i < classes_shown; i++)
    hl_text_line(text, "  label %-5zu %-40.60s %" PRId64 " picture%s", i, folder->classes[i],
                 counts[i], counts[i] == 1 ? "" : "s");
  if (folder->class_count > classes_shown)
    hl_text_format(text, "  ... %zu more\n", folder->class_count - classes_shown);
  if (folder->split)
    hl_text_append(text, "\nA data set with halves: hotlap train reads train, all else reads this "
                         "one.\n");
  hl_text_append(text,
                 "\nRead as ImageNet's pictures are for evaluation: shorter side to 256/224 of the "
                 "model's\nlonger one, centre cut out, mean and deviation.\n");
  hl_text_line(text, "Measure with it: hotlap sweep resnet50 --test-data %s", path);
  free(counts);
  hl_image_folder_free(folder);
  return HL_OK;
}

hl_status hl__describe_images_json(const char *path, hl_json *json, hl_error *error) {
  hl_image_folder *folder = NULL;
  int64_t *counts = NULL;
  hl_status status = open_folder(path, &folder, &counts, error);
  if (status != HL_OK) return status;
  hl_json_text(json, "container", "image folder");
  hl_json_text(json, "split", folder->split);
  hl_json_int(json, "pictures", folder->count);
  hl_json_array(json, "classes");
  for (size_t i = 0; i < folder->class_count; i++) {
    hl_json_object(json, NULL);
    hl_json_text(json, "name", folder->classes[i]);
    hl_json_int(json, "pictures", counts[i]);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_int(json, "skipped_other", folder->other_count);
  hl_json_int(json, "skipped_broken", folder->broken_count);
  hl_json_text(json, "skipped", folder->skipped[0] ? folder->skipped : NULL);
  free(counts);
  hl_image_folder_free(folder);
  return HL_OK;
}
