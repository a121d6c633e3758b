/*
 * data-tool - lets the Python tests beside it compare hotlap's data reading with numpy's.
 *
 *   data-tool arrays FILE OUT.npz            every array of a file
 *   data-tool scan FILE SIZE OUT.npz         a scan: amplitude, x, y, probe, object
 *   data-tool groups FILE SIZE SEED OUT.npz  groups of SIZE neighbours of the scan's positions
 *   data-tool dataset FILE C N MAX SEED OUT.npz   inputs "diffraction" and "positions"
 *   data-tool plain FILE DIM MAX OUT.npz     one float32 input "input" of shape (any, DIM)
 *   data-tool describe FILE
 *
 * HOTLAP_DIRECTORY=DIR is where the program lies, for what reads HDF5.
 *
 * Exit status 0, or 2 with the message on standard error.
 */
#include "base/file.h"
#include "data/array.h"
#include "data/data.h"
#include "data/neighbours.h"
#include "data/ptychography.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status arrays(char **args, hl_error *error) {
  hl_npz *npz = NULL;
  hl_status status = hl_npz_open(args[0], NULL, &npz, error);
  if (status != HL_OK) return status;
  size_t count = hl_npz_count(npz);
  hl_tensor_view *all = calloc(count + 1, sizeof *all);
  if (!all) abort();
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = hl_npz_read(npz, hl_npz_at(npz, i)->name, &all[i], error);
  for (size_t i = 0; i < count; i++) /* an .npz has no folders */
    for (char *c = (char *)(uintptr_t)all[i].name; c && *c; c++)
      if (*c == '/') *c = ':';
  if (status == HL_OK) status = hl_npz_write(args[1], all, count, true, error);
  for (size_t i = 0; i < count; i++) hl_array_release(&all[i]);
  free(all);
  hl_npz_free(npz);
  return status;
}

static hl_tensor_view array(const char *name, hl_dtype dtype, void *data, int rank,
                            const int64_t *dims) {
  hl_tensor_view view = {.name = name, .dtype = dtype, .data = data, .rank = rank};
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= view.dims[i] = dims[i];
  view.bytes = (uint64_t)count * hl_dtype_bytes(dtype);
  return view;
}

static hl_status scan(char **args, hl_error *error) {
  hl_scan *s = NULL;
  hl_status status = hl_scan_read(args[0], atoll(args[1]), &s, error);
  if (status != HL_OK) return status;
  int64_t n = s->count, size = s->size, h = s->object_height, w = s->object_width;
  hl_tensor_view views[5], *view = views;
  *view++ = array("amplitude", HL_FLOAT32, s->amplitude, 3, (int64_t[]){n, size, size});
  if (s->x) *view++ = array("x", HL_FLOAT64, s->x, 1, &n);
  if (s->y) *view++ = array("y", HL_FLOAT64, s->y, 1, &n);
  if (s->probe)
    *view++ = array("probe", HL_COMPLEX64, s->probe, 2, (int64_t[]){size, size});
  else
    puts(s->probe_problem);
  if (s->object)
    *view++ = array("object", HL_COMPLEX64, s->object, 2, (int64_t[]){h, w});
  else
    puts(s->object_problem);
  status = hl_npz_write(args[2], views, (size_t)(view - views), false, error);
  puts(s->notes);
  hl_scan_free(s);
  return status;
}

static hl_status groups(char **args, hl_error *error) {
  hl_scan *s = NULL;
  hl_status status = hl_scan_read(args[0], 0, &s, error);
  if (status != HL_OK) return status;
  int size = atoi(args[1]);
  int64_t *group = calloc((size_t)(s->count * size) + 1, sizeof *group);
  if (!group) abort();
  status = hl_neighbours_group(s->x, s->y, s->count, size, (uint64_t)atoll(args[2]), group, error);
  hl_tensor_view view = {.name = "groups",
                         .dtype = HL_INT64,
                         .rank = 2,
                         .dims = {s->count, size},
                         .data = group,
                         .bytes = (uint64_t)(s->count * size) * sizeof *group};
  if (status == HL_OK) status = hl_npz_write(args[3], &view, 1, false, error);
  free(group);
  hl_scan_free(s);
  return status;
}

static hl_status write_dataset(hl_dataset *dataset, const char *path, hl_error *error) {
  puts(dataset->description);
  hl_status status = hl_npz_write(path, dataset->inputs, dataset->input_count, false, error);
  hl_dataset_free(dataset);
  return status;
}

static hl_status dataset(char **args, hl_error *error) {
  int64_t c = atoll(args[1]), n = atoll(args[2]);
  hl_port ports[] = {{"diffraction", HL_FLOAT32, 4, {-1, c, n, n}},
                     {"positions", HL_FLOAT32, 4, {-1, 1, 2, c}}};
  hl_dataset *d = NULL;
  hl_status status = hl_dataset_read(
      args[0], ports, NULL, 2,
      &(hl_data_choice){.max_images = atoll(args[3]), .seed = (uint64_t)atoll(args[4])}, &d, error);
  return status == HL_OK ? write_dataset(d, args[5], error) : status;
}

static hl_status plain(char **args, hl_error *error) {
  hl_port port = {"input", HL_FLOAT32, 2, {-1, atoll(args[1])}};
  hl_dataset *d = NULL;
  hl_status status = hl_dataset_read(args[0], &port, NULL, 1,
                                     &(hl_data_choice){.max_images = atoll(args[2])}, &d, error);
  return status == HL_OK ? write_dataset(d, args[3], error) : status;
}

static hl_status describe(char **args, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_status status = hl_data_describe(args[0], &text, error);
  if (status == HL_OK) fputs(text.data, stdout);
  hl_text_release(&text);
  return status;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int args;
    hl_status (*run)(char **args, hl_error *error);
  } commands[] = {{"arrays", 2, arrays},   {"scan", 3, scan},   {"groups", 4, groups},
                  {"dataset", 6, dataset}, {"plain", 4, plain}, {"describe", 1, describe}};
  const char *directory = getenv("HOTLAP_DIRECTORY");
  if (directory) hl_program_directory_set(directory);
  for (size_t i = 0; argc > 1 && i < HL_COUNT(commands); i++) {
    if (strcmp(argv[1], commands[i].name) != 0 || argc != commands[i].args + 2) continue;
    hl_error error = {0};
    if (commands[i].run(argv + 2, &error) == HL_OK) return 0;
    fprintf(stderr, "%s: %s\n", hl_status_name(error.status), error.msg);
    return 2;
  }
  fputs("usage: see data-tool.c\n", stderr);
  return 3;
}
