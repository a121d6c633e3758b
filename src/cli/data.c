/* hotlap data: make a simulated scan or volumes, or show what a file holds. */
#include "cli/data.h"

#include "data/data.h"
#include "data/npz.h"
#include "imaging/ptychography-simulate.h"
#include "imaging/volume-generate.h"
#include "workloads/volume-set.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: hotlap data make ptychography FILE.npz [options]\n"
    "       hotlap data make nuclei[:KEY=VALUE,...] FILE.npz|FOLDER [options]\n"
    "       hotlap data show FILE|FOLDER [--json]\n"
    "\n"
    "make  simulates a ptychography scan: a procedural object, a defocused probe and patterns\n"
    "      with Poisson noise, with the keys that PtychoPINN reads (diff3d, xcoords, ycoords,\n"
    "      probeGuess, objectGuess, ...). nuclei: microscopy volumes of blurred ellipsoids with\n"
    "      noise, their mask (label) and a function of the image to predict (target); keys size\n"
    "      (32x96x96), count (4), radius (6), fill (0.25), noise (0.1); a folder gets TIFF files.\n"
    "      The same options give the same files.\n"
    "show  lists the arrays of an .npz, .npy or .bz2 of either, or the pictures or volumes (TIFF)\n"
    "      of a folder, and says what hotlap makes of them.\n";

/* The arrays of a simulation under PtychoPINN's keys; they borrow its memory. */
enum { key_count = 8 };

static void add(hl_tensor_view *view, const char *name, hl_dtype dtype, const void *data,
                int32_t rank, const int64_t *dims) {
  int64_t count = 0;
  *view = (hl_tensor_view){.name = name, .dtype = dtype, .rank = rank};
  for (int32_t i = 0; i < rank; i++) view->dims[i] = dims[i];
  hl_array_count(rank, dims, &count);
  view->data = (void *)(uintptr_t)data;
  view->bytes = (uint64_t)count * hl_dtype_bytes(dtype);
}

static hl_status write_simulation(const char *path, const hl_ptychography_simulation *s,
                                  hl_error *error) {
  hl_tensor_view arrays[key_count];
  int64_t n = s->size, count = s->count;
  HL_CLEANUP(hl_free_pointer) int64_t *index = calloc((size_t)count, sizeof *index);
  if (!index) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for scan_index");
  add(&arrays[0], "diff3d", HL_FLOAT32, s->amplitude, 3, (int64_t[]){count, n, n});
  add(&arrays[1], "xcoords", HL_FLOAT64, s->x, 1, &count);
  add(&arrays[2], "ycoords", HL_FLOAT64, s->y, 1, &count);
  add(&arrays[3], "xcoords_start", HL_FLOAT64, s->x, 1, &count);
  add(&arrays[4], "ycoords_start", HL_FLOAT64, s->y, 1, &count);
  add(&arrays[5], "probeGuess", HL_COMPLEX64, s->probe, 2, (int64_t[]){n, n});
  add(&arrays[6], "objectGuess", HL_COMPLEX64, s->object, 2, (int64_t[]){s->height, s->width});
  add(&arrays[7], "scan_index", HL_INT64, index, 1, &count);
  return hl_npz_write(path, arrays, key_count, false, error);
}

static hl_status make_options(const hl_options *options, hl_ptychography_options *ret,
                              hl_error *error) {
  hl_ptychography_options o = HL_PTYCHOGRAPHY_DEFAULTS;
  int64_t seed = 0;
  hl_status status = hl_options_int(options, HL_OPTION_SIZE, 16, 1024, o.size, &o.size, error);
  if (status == HL_OK)
    status = hl_options_int(options, HL_OPTION_N_IMAGES, 1, 1000000, o.count, &o.count, error);
  if (status == HL_OK)
    status = hl_options_int(options, HL_OPTION_SEED, 0, INT64_MAX, 42, &seed, error);
  if (status == HL_OK)
    status = hl_options_real(options, HL_OPTION_PHOTONS, 0, 1e12, o.photons, &o.photons, error);
  if (status != HL_OK) return status;
  const char *positions = hl_options_get(options, HL_OPTION_POSITIONS);
  o.path = strcmp(positions, "raster") == 0 ? HL_SCAN_RASTER : HL_SCAN_FERMAT;
  if (o.path == HL_SCAN_FERMAT && strcmp(positions, "fermat") != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--positions %.60s: give fermat or raster",
                        positions);
  o.seed = (uint64_t)seed;
  if (o.photons == 0) { /* the expected amplitudes themselves */
    o.noise = false;
    o.photons = 1e9;
  }
  *ret = o;
  return HL_OK;
}

static void say_made(const char *path, const hl_ptychography_options *o,
                     const hl_ptychography_simulation *s) {
  printf("%s: %" PRId64 " patterns of %" PRId64 " x %" PRId64 ", %s positions, object %" PRId64
         " x %" PRId64 ", %g photons a pattern%s, seed %" PRIu64 "\n",
         path, s->count, s->size, s->size, o->path == HL_SCAN_RASTER ? "raster" : "Fermat spiral",
         s->height, s->width, o->photons, o->noise ? " with Poisson noise" : ", no noise", o->seed);
  if (o->size >= 64)
    printf("Measure with it: hotlap sweep ptychopinn:N=%d --test-data %s\n",
           o->size >= 128 ? 128 : 64, path);
}

static int make(const hl_options *options, hl_error *error) {
  const char *kind = options->positional_count > 1 ? options->positionals[1] : "";
  const char *path = options->positional_count > 2 ? options->positionals[2] : "";
  hl_ptychography_options o;
  hl_ptychography_simulation *s = NULL;
  hl_status status = HL_OK;
  bool nuclei = hl_nuclei_is(kind);
  if (!nuclei && strcmp(kind, "ptychography") != 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "data make: '%.60s' is not known; ptychography and nuclei are", kind);
  else if (options->positional_count != 3)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "data make %.60s takes one file name. Try hotlap data --help", kind);
  else if (!nuclei && !hl_text_ends(path, ".npz"))
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "data make writes .npz files; '%.200s' does not end so", path);
  if (status == HL_OK && nuclei) {
    status = hl_cli_make_nuclei(options, kind, path, error);
    return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(error, HL_EXIT_USAGE);
  }
  if (status == HL_OK) status = make_options(options, &o, error);
  if (status == HL_OK) status = hl_ptychography_simulate(&o, &s, error);
  if (status == HL_OK) status = write_simulation(path, s, error);
  if (status == HL_OK && !hl_options_on(options, HL_OPTION_QUIET)) say_made(path, &o, s);
  hl_ptychography_simulation_free(s);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(error, HL_EXIT_USAGE);
}

static void append_volumes(const char *path, hl_text *text) {
  if (!hl_volume_set_is(path)) return;
  hl_text_format(text,
                 "Volumes: train with them by  hotlap train dynunet --loss dice-ce --data %s\n"
                 "         predict them by     hotlap predict dynunet --data %s\n",
                 path, path);
}

static int show(const hl_options *options, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_status status = HL_OK;
  if (options->positional_count != 2)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "data show takes one file or folder. Try hotlap data --help");
  else if (hl_options_on(options, HL_OPTION_JSON))
    status = hl_data_describe_json(options->positionals[1], &text, error);
  else
    status = hl_data_describe(options->positionals[1], &text, error);
  if (status == HL_OK && !hl_options_on(options, HL_OPTION_JSON))
    append_volumes(options->positionals[1], &text);
  if (status == HL_OK && (fputs(text.data, stdout) == EOF || fflush(stdout) == EOF))
    status = hl_error_set(error, HL_IO, "cannot write to standard output");
  hl_text_release(&text);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(error, HL_EXIT_USAGE);
}

int hl_cli_data(int argc, char **argv) {
  hl_options options;
  hl_error error = {0};
  int status = hl_cli_options('D', usage, argc, argv, &options);
  if (status >= 0) return status;
  const char *verb = options.positional_count ? options.positionals[0] : "";
  if (strcmp(verb, "make") == 0) {
    status = make(&options, &error);
  } else if (strcmp(verb, "show") == 0) {
    status = show(&options, &error);
  } else {
    hl_error_set(&error, HL_INVALID_ARGUMENT,
                 verb[0] ? "data: '%.60s' is neither make nor show; 'hotlap data --help' explains"
                         : "data%.60s: say make or show; 'hotlap data --help' explains",
                 verb);
    status = hl_cli_fail(&error, HL_EXIT_USAGE);
  }
  hl_options_release(&options);
  return status;
}
