/* The pictures of a folder, or one picture, as the inputs of a network. */
#include "base/clock.h"
#include "base/file.h"
#include "data/array.h"
#include "data/dataset-internal.h"
#include "data/image-source.h"
#include "data/image.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { named_max = 3, compared_max = 16 };
static const uint64_t bytes_max = (uint64_t)16 << 30;

typedef struct reading {
  const hl_image_folder *folder;
  hl_tensor_view *array;
  uint64_t image_bytes;
  hl_image_decoding decoding;
  uint64_t ns;
  int64_t count; /* read */
  int64_t broken;
  int64_t compared; /* with their exact forms; they differ by so much: */
  double squares;
  hl_text names; /* of the first of these */
  hl_error first;
} reading;

/* How far a picture's input is from the exact one. */
static hl_status compare(reading *r, const void *data, size_t bytes, const char *path,
                         const hl_port *port, const float *input, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) float *exact = malloc((size_t)r->image_bytes);
  if (!exact) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a picture");
  hl_status status = hl_image_to_input(data, bytes, path, port, HL_IMAGE_EXACT, exact, error);
  if (status != HL_OK) return status;
  r->squares += hl_image_input_squares(input, exact, port);
  r->compared++;
  return HL_OK;
}

/* Reads a picture behind those that are there; a broken one is counted. */
static hl_status add_picture(reading *r, int64_t index, bool is_compared, const hl_port *port,
                             hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_image_folder_file(r->folder, index);
  HL_CLEANUP(hl_free_pointer) char *data = NULL;
  if (!path) return hl__dataset_no_memory(error);
  size_t bytes = 0;
  hl_error problem = {0};
  float *to = (float *)(void *)((char *)r->array->data + (uint64_t)r->count * r->image_bytes);
  uint64_t start = hl_clock_ns();
  hl_status status = hl_file_read(path, HL_IMAGE_FILE_MAX, &data, &bytes, &problem);
  if (status == HL_OK)
    status = hl_image_to_input(data, bytes, path, port, r->decoding, to, &problem);
  r->ns += status == HL_OK ? hl_clock_ns() - start : 0;
  if (status == HL_OK && is_compared) status = compare(r, data, bytes, path, port, to, &problem);
  if (status == HL_OUT_OF_MEMORY) return hl_error_set(error, status, "%s", problem.msg);
  if (status == HL_OK) {
    r->count++;
    return HL_OK;
  }
  if (r->broken == 0) r->first = problem;
  if (r->broken++ < named_max)
    hl_text_format(&r->names, "%s%.80s", r->names.length ? ", " : "",
                   r->folder->images[index].name);
  return HL_OK;
}

static hl_status new_array(const hl_image_folder *folder, const hl_port *port, int64_t count,
                           hl_tensor_view *ret_array, hl_error *error) {
  int64_t dims[HL_MAX_RANK] = {0}, elements = 0;
  hl_status status = hl__dataset_dims(port, (hl_data_rule){0}, count, dims, error);
  if (status != HL_OK) return status;
  if (!hl_array_count(port->rank, dims, &elements) ||
      (uint64_t)elements > bytes_max / sizeof(float))
    return hl_error_set(error, HL_LIMIT,
                        "%.200s: %" PRId64 " pictures would be more than %" PRIu64
                        " GiB as inputs of '%.60s'. Use some of them: --n-images 1000",
                        folder->path, count, bytes_max >> 30, port->name);
  return hl_array_new(port->name, HL_FLOAT32, port->rank, dims, ret_array, error);
}

static double psnr_db(const reading *r) {
  if (r->compared == 0 || r->squares <= 0) return (double)NAN;
  double values = (double)r->compared * (double)(r->image_bytes / sizeof(float));
  return 10 * log10(255.0 * 255.0 * values / r->squares);
}

static char *describe(const reading *r, int64_t wanted) {
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, r->folder->description);
  if (wanted < r->folder->count)
    hl_text_format(&text, "; %" PRId64 " of them, evenly spread", wanted);
  if (r->broken)
    hl_text_format(&text, "; %" PRId64 " broken ones left out: %s%s", r->broken, r->names.data,
                   r->broken > named_max ? ", ..." : "");
  hl_text_append(&text, "; ImageNet's evaluation transform");
  if (r->decoding == HL_IMAGE_SCALED && isnan(psnr_db(r)))
    hl_text_format(&text,
                   "; JPEG decoded at a smaller scale, which %" PRId64
                   " pictures show no difference of",
                   r->compared);
  else if (r->decoding == HL_IMAGE_SCALED)
    hl_text_format(
        &text, "; JPEG decoded at a smaller scale, %.1f dB from exact over %" PRId64 " pictures",
        psnr_db(r), r->compared);
  hl_text_blank(text.data, "");
  return hl_text_take(&text);
}

/* Whether number `i` of `count` is one of `most` that are spread evenly over them. */
static bool is_one_of(int64_t i, int64_t count, int64_t most) {
  if (count <= most) return true;
  return i * most / count != (i - 1) * most / count || i == 0;
}

static hl_status read_pictures(reading *r, const hl_port *port, int64_t max_images,
                               hl_dataset *dataset, hl_error *error) {
  int64_t all = r->folder->count, wanted = max_images > 0 && max_images < all ? max_images : all;
  hl_status status = new_array(r->folder, port, wanted, &dataset->inputs[0], error);
  if (status != HL_OK) return status;
  r->array = &dataset->inputs[0];
  r->image_bytes = r->array->bytes / (uint64_t)wanted;
  for (int64_t i = 0; i < wanted && status == HL_OK; i++)
    status = add_picture(r, (int64_t)((__int128)i * all / wanted),
                         r->decoding == HL_IMAGE_SCALED && is_one_of(i, wanted, compared_max), port,
                         error);
  if (status != HL_OK) return status;
  if (r->count == 0) return hl_error_set(error, r->first.status, "%s", r->first.msg);
  r->array->dims[0] = dataset->count = r->count;
  r->array->bytes = r->image_bytes * (uint64_t)r->count;
  dataset->pictures = (hl_picture_reading){.count = r->count, .ns = r->ns, .psnr_db = psnr_db(r)};
  dataset->description = describe(r, wanted);
  return dataset->description ? HL_OK : hl__dataset_no_memory(error);
}

hl_status hl__dataset_read_images(const char *path, const hl_port *ports, size_t port_count,
                                  const hl_data_choice *choice, hl_dataset *dataset,
                                  hl_error *error) {
  if (port_count != 1 || !hl_image_port_fits(&ports[0]))
    return hl_error_set(
        error, HL_BAD_DATA,
        "'%.200s' is a folder, for a model whose only input takes pictures: float32 "
        "of shape (any, 3, height, width) or (any, height, width, 3). Give this "
        "one a file of arrays (npz, npy)",
        path);
  hl_image_folder *folder = NULL;
  hl_status status = hl_image_folder_open(path, HL_IMAGES_TO_EVALUATE, &folder, error);
  if (status != HL_OK) return status;
  reading r = {.folder = folder, .decoding = choice->decoding, .names = HL_TEXT_INIT};
  status = read_pictures(&r, &ports[0], choice->max_images, dataset, error);
  hl_text_release(&r.names);
  dataset->folder = folder;
  return status;
}
