/*
 * tiff-tool - lets the Python tests beside it compare TIFF files with tifffile's.
 *
 *   tiff-tool read FILE TIME CHANNEL OUT.npz   "volume", and its shape on standard output
 *   tiff-tool write IN.npz OUT.tif packed|plain   from the array "volume"
 *
 * Exit status 0, or 2 with the message on standard error.
 */
#include "data/array.h"
#include "data/npz.h"
#include "data/tiff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status read_volume(char **args, hl_error *error) {
  hl_tiff *tiff = NULL;
  hl_status status = hl_tiff_open(args[0], &tiff, error);
  if (status != HL_OK) return status;
  const hl_tiff_shape *s = hl_tiff_get_shape(tiff);
  printf("T %" PRId64 " C %" PRId64 " Z %" PRId64 " Y %" PRId64 " X %" PRId64 " %s, %s\n", s->times,
         s->channels, s->depth, s->height, s->width, s->order, s->compression);
  int64_t dims[] = {s->depth, s->height, s->width};
  hl_tensor_view volume = {0};
  status = hl_array_new("volume", s->dtype, 3, dims, &volume, error);
  if (status == HL_OK)
    status = hl_tiff_read(tiff, atoll(args[1]), atoll(args[2]), volume.data, error);
  if (status == HL_OK) status = hl_npz_write(args[3], &volume, 1, false, error);
  hl_array_release(&volume);
  hl_tiff_free(tiff);
  return status;
}

static hl_status write_volume(char **args, hl_error *error) {
  hl_npz *npz = NULL;
  hl_tensor_view volume = {0};
  hl_status status = hl_npz_open(args[0], NULL, &npz, error);
  if (status != HL_OK) return status;
  status = hl_npz_read(npz, "volume", &volume, error);
  if (status == HL_OK)
    status = hl_tiff_write(args[1], &volume, strcmp(args[2], "packed") == 0, error);
  hl_array_release(&volume);
  hl_npz_free(npz);
  return status;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int args;
    hl_status (*run)(char **args, hl_error *error);
  } commands[] = {{"read", 4, read_volume}, {"write", 3, write_volume}};
  for (size_t i = 0; argc > 1 && i < HL_COUNT(commands); i++) {
    if (strcmp(argv[1], commands[i].name) != 0 || argc != commands[i].args + 2) continue;
    hl_error error = {0};
    if (commands[i].run(argv + 2, &error) == HL_OK) return 0;
    fprintf(stderr, "%s: %s\n", hl_status_name(error.status), error.msg);
    return 2;
  }
  fputs("usage: see tiff-tool.c\n", stderr);
  return 3;
}
