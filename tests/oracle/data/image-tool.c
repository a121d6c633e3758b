/*
 * image-tool - lets the Python tests beside it compare pictures with Pillow's.
 *
 *   image-tool decode FILE OUT.npz                    "pixels" (height, width, 3)
 *   image-tool resize FILE W H X Y CW CH OUT.npz      the same of a part of the resized picture
 *   image-tool part FILE W H X Y CW CH OUT.npz        as resize, of the decoded part that is needed
 *   image-tool input FILE SIZE exact|scaled OUT.npz   "input" (3, SIZE, SIZE)
 *   image-tool folder FOLDER SIZE BATCH THREADS OUT.npz   an epoch of the loader: "input", "label"
 *   image-tool dataset FOLDER SIZE MAX last|first exact|scaled OUT.npz   "input", channels first or
 * last
 *   image-tool turns FOLDER SIZE exact|scaled    for each line of its input: an epoch of the loader
 * in one thread; prints the seconds it had a core
 *
 * Exit status 0, or 2 with the message on standard error.
 */
#include "base/file.h"
#include "data/array.h"
#include "data/image-source.h"
#include "data/image.h"
#include "data/loader.h"
#include "data/npz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static hl_status write_image(const hl_image *image, const char *path, hl_error *error) {
  hl_tensor_view view = {.name = "pixels",
                         .dtype = HL_UINT8,
                         .rank = 3,
                         .dims = {image->height, image->width, 3},
                         .data = image->pixels,
                         .bytes = (uint64_t)image->height * (uint64_t)image->width * 3};
  return hl_npz_write(path, &view, 1, false, error);
}

static hl_status read_image(const char *path, hl_image *ret, hl_error *error) {
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, HL_IMAGE_FILE_MAX, &data, &bytes, error);
  if (status == HL_OK) status = hl_image_decode(data, bytes, path, ret, error);
  free(data);
  return status;
}

static hl_status decode(char **args, hl_error *error) {
  hl_image image = {0};
  hl_status status = read_image(args[0], &image, error);
  if (status == HL_OK) status = write_image(&image, args[1], error);
  hl_image_release(&image);
  return status;
}

static hl_image_cut cut_of(char **args) {
  return (hl_image_cut){
      atoi(args[0]), atoi(args[1]), {atoi(args[2]), atoi(args[3]), atoi(args[4]), atoi(args[5])}};
}

static hl_status resize(char **args, hl_error *error) {
  hl_image image = {0}, part = {0};
  hl_image_cut cut = cut_of(args + 1);
  hl_status status = read_image(args[0], &image, error);
  if (status == HL_OK) status = hl_image_resize(&image, &cut, &part, error);
  if (status == HL_OK) status = write_image(&part, args[7], error);
  hl_image_release(&image);
  hl_image_release(&part);
  return status;
}

static hl_status part(char **args, hl_error *error) {
  hl_image image = {0}, result = {0};
  hl_image_cut cut = cut_of(args + 1);
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(args[0], HL_IMAGE_FILE_MAX, &data, &bytes, error);
  if (status == HL_OK)
    status = hl_image_decode_for(data, bytes, args[0], &cut, HL_IMAGE_EXACT, &image, error);
  free(data);
  if (status == HL_OK)
    printf("%d x %d at (%d, %d) of %d x %d\n", image.width, image.height, image.x, image.y,
           image.whole_width, image.whole_height);
  if (status == HL_OK) status = hl_image_resize(&image, &cut, &result, error);
  if (status == HL_OK) status = write_image(&result, args[7], error);
  hl_image_release(&image);
  hl_image_release(&result);
  return status;
}

static hl_image_decoding decoding_of(const char *name) {
  return strcmp(name, "scaled") == 0 ? HL_IMAGE_SCALED : HL_IMAGE_EXACT;
}

static hl_status input(char **args, hl_error *error) {
  int64_t size = atoll(args[1]);
  const hl_port port = {"input", HL_FLOAT32, 4, {-1, 3, size, size}};
  hl_image_decoding decoding = decoding_of(args[2]);
  hl_tensor_view view = {0};
  char *data = NULL;
  size_t bytes = 0;
  hl_status status = hl_array_new("input", HL_FLOAT32, 3, (int64_t[]){3, size, size}, &view, error);
  if (status == HL_OK) status = hl_file_read(args[0], HL_IMAGE_FILE_MAX, &data, &bytes, error);
  if (status == HL_OK)
    status = hl_image_to_input(data, bytes, args[0], &port, decoding, view.data, error);
  free(data);
  if (status == HL_OK) status = hl_npz_write(args[3], &view, 1, false, error);
  hl_array_release(&view);
  return status;
}

/* All batches of one epoch, in order, as two arrays. */
static hl_status collect(hl_loader *loader, hl_tensor_view *ret, hl_error *error) {
  const hl_batch *batch = NULL;
  hl_status status = HL_OK;
  for (int64_t done = 0; (status = hl_loader_next(loader, &batch, error)) == HL_OK && batch;) {
    for (size_t i = 0; i < batch->value_count; i++) {
      uint64_t sample = batch->values[i].bytes / (uint64_t)batch->count;
      memcpy((char *)ret[i].data + sample * (uint64_t)done, batch->values[i].data,
             (size_t)batch->values[i].bytes);
    }
    done += batch->count;
    hl_loader_return(loader, batch);
  }
  return status;
}

static hl_status load_epoch(const hl_source *source, int64_t batch, int threads, const char *path,
                            hl_error *error) {
  hl_loader_spec spec = {.source = source, .batch_size = batch, .threads = threads, .epochs = 1};
  hl_loader *loader = NULL;
  hl_tensor_view arrays[2] = {0};
  hl_status status = HL_OK;
  for (size_t i = 0; i < source->port_count && status == HL_OK; i++) {
    const hl_port *port = &source->ports[i].port;
    int64_t dims[HL_MAX_RANK] = {source->count};
    for (int32_t d = 0; d < port->rank; d++) dims[d + 1] = port->dims[d];
    status = hl_array_new(port->name, port->dtype, port->rank + 1, dims, &arrays[i], error);
  }
  if (status == HL_OK) status = hl_loader_new(&spec, &loader, error);
  if (status == HL_OK) status = collect(loader, arrays, error);
  if (status == HL_OK) status = hl_npz_write(path, arrays, source->port_count, false, error);
  hl_loader_free(loader);
  for (size_t i = 0; i < source->port_count; i++) hl_array_release(&arrays[i]);
  return status;
}

static hl_status folder(char **args, hl_error *error) {
  int64_t size = atoll(args[1]);
  const hl_port input = {"input", HL_FLOAT32, 4, {-1, 3, size, size}};
  const hl_port label = {"label", HL_INT64, 1, {-1}};
  hl_image_folder *f = NULL;
  hl_source *source = NULL;
  hl_status status = hl_image_folder_open(args[0], HL_IMAGES_TO_EVALUATE, &f, error);
  if (status != HL_OK) return status;
  puts(f->description);
  status = hl_source_of_images(f, &input, f->class_count ? &label : NULL, 1000, 0, HL_IMAGE_EXACT,
                               &source, error);
  if (status == HL_OK) status = load_epoch(source, atoll(args[2]), atoi(args[3]), args[4], error);
  if (status == HL_OK) {
    hl_text problems = HL_TEXT_INIT;
    source->problems(source->context, &problems);
    puts(problems.data);
    hl_text_release(&problems);
  }
  hl_source_free(source);
  hl_image_folder_free(f);
  return status;
}

static hl_status dataset(char **args, hl_error *error) {
  int64_t size = atoll(args[1]);
  bool last = strcmp(args[3], "last") == 0;
  const hl_port input = {"input", HL_FLOAT32, 4, {-1, last ? size : 3, size, last ? 3 : size}};
  const hl_data_choice choice = {.max_images = atoll(args[2]), .decoding = decoding_of(args[4])};
  hl_dataset *d = NULL;
  hl_status status = hl_dataset_read(args[0], &input, NULL, 1, &choice, &d, error);
  if (status != HL_OK) return status;
  puts(d->description);
  status = hl_npz_write(args[5], d->inputs, d->input_count, false, error);
  hl_dataset_free(d);
  return status;
}

static double core_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static hl_status take_turns(const hl_source *source, hl_error *error) {
  hl_loader_spec spec = {.source = source, .batch_size = 1};
  hl_loader *loader = NULL;
  hl_status status = hl_loader_new(&spec, &loader, error);
  char line[16];
  while (status == HL_OK && fgets(line, sizeof line, stdin)) {
    double start = core_seconds();
    for (int64_t i = 0; i < source->count && status == HL_OK; i++) {
      const hl_batch *batch = NULL;
      status = hl_loader_next(loader, &batch, error);
      if (status == HL_OK) hl_loader_return(loader, batch);
    }
    printf("%.9f\n", core_seconds() - start);
    fflush(stdout);
  }
  hl_loader_free(loader);
  return status;
}

static hl_status turns(char **args, hl_error *error) {
  int64_t size = atoll(args[1]);
  const hl_port port = {"input", HL_FLOAT32, 4, {-1, 3, size, size}};
  hl_image_folder *f = NULL;
  hl_source *source = NULL;
  hl_status status = hl_image_folder_open(args[0], HL_IMAGES_TO_EVALUATE, &f, error);
  if (status == HL_OK)
    status = hl_source_of_images(f, &port, NULL, 0, 0, decoding_of(args[2]), &source, error);
  if (status == HL_OK) status = take_turns(source, error);
  hl_source_free(source);
  hl_image_folder_free(f);
  return status;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int args;
    hl_status (*run)(char **args, hl_error *error);
  } commands[] = {{"decode", 2, decode}, {"resize", 8, resize}, {"part", 8, part},
                  {"input", 4, input},   {"folder", 5, folder}, {"dataset", 6, dataset},
                  {"turns", 3, turns}};
  for (size_t i = 0; argc > 1 && i < HL_COUNT(commands); i++) {
    if (strcmp(argv[1], commands[i].name) != 0 || argc != commands[i].args + 2) continue;
    hl_error error = {0};
    if (commands[i].run(argv + 2, &error) == HL_OK) return 0;
    fprintf(stderr, "%s: %s\n", hl_status_name(error.status), error.msg);
    return 2;
  }
  fputs("usage: see image-tool.c\n", stderr);
  return 3;
}
