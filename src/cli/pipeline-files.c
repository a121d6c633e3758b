#include "cli/pipeline-files.h"

#include "base/file.h"
#include "data/npz.h"

static const hl_reconstruction *last_image(const hl_records *records) {
  for (size_t i = records->count; i-- > 0;)
    if (hl_record_passed(&records->items[i]) && records->items[i].reconstruction)
      return records->items[i].reconstruction;
  return NULL;
}

hl_status hl_cli_write_image(const hl_records *records, const char *directory, hl_text *written,
                             hl_error *error) {
  const hl_reconstruction *image = last_image(records);
  if (!image) return HL_OK;
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/reconstruction.npz", directory);
  if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the image");
  uint64_t pixels = (uint64_t)(image->side * image->side);
  double x = image->x, y = image->y;
  const hl_tensor_view arrays[] = {{.name = "object",
                                    .dtype = HL_COMPLEX64,
                                    .rank = 2,
                                    .dims = {image->side, image->side},
                                    .data = image->pixels,
                                    .bytes = 8 * pixels},
                                   {.name = "weights",
                                    .dtype = HL_FLOAT32,
                                    .rank = 2,
                                    .dims = {image->side, image->side},
                                    .data = image->weights,
                                    .bytes = 4 * pixels},
                                   {.name = "x", .dtype = HL_FLOAT64, .data = &x, .bytes = 8},
                                   {.name = "y", .dtype = HL_FLOAT64, .data = &y, .bytes = 8}};
  hl_status status = hl_directory_make(directory, error);
  if (status == HL_OK) status = hl_npz_write(path, arrays, HL_COUNT(arrays), false, error);
  if (status == HL_OK) hl_text_format(written, "%s\n", path);
  return status;
}
