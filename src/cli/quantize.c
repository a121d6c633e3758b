/* hotlap models quantize: an 8-bit copy of a model. */
#include "workloads/quantize.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "engine/registry.h"
#include "machine/memory.h"
#include "machine/topology.h"
#include "models/models.h"
#include "worker/room.h"
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct view {
  int wake_fd;
  bool shown; /* a line of progress is on the terminal */
  bool quiet, verbose;
} view;

static bool show_verbose;

static void log_line(const char *engine, const char *line) {
  if (show_verbose) fprintf(stderr, "%s: %s\n", engine, line);
}

static void clear_progress(view *v) {
  if (v->shown) fprintf(stderr, "\r\033[K");
  v->shown = false;
}

static bool progress(void *context, const char *what, int64_t done, int64_t total) {
  view *v = context;
  if (!v->quiet && isatty(STDERR_FILENO)) {
    fprintf(stderr, "\r\033[K%s: image %" PRId64 " of %" PRId64, what, done + 1, total);
    fflush(stderr);
    v->shown = true;
  }
  struct pollfd wake = {.fd = v->wake_fd, .events = POLLIN};
  return v->wake_fd < 0 || poll(&wake, 1, 0) <= 0;
}

static hl_status read_model(const char *name, hl_configuration *c, char **ret_name,
                            hl_error *error) {
  c->is_builtin = hl_models_has(name);
  if (c->is_builtin) {
    hl_status status = hl_models_canonical(name, ret_name, error);
    c->model = *ret_name;
    return status;
  }
  bool file = strchr(name, '/') || strstr(name, ".onnx") || access(name, F_OK) == 0;
  if (!file) return hl_models_canonical(name, ret_name, error); /* says what there is */
  if (access(name, R_OK) != 0)
    return hl_error_errno(error, HL_NOT_FOUND, "cannot read model '%s'", name);
  c->model = name;
  return HL_OK;
}

/* The engine that runs the network on the images. */
static hl_status read_engine(const hl_options *o, hl_configuration *c, hl_error *error) {
  c->engine = hl_options_get(o, HL_OPTION_ENGINE);
  if (!c->engine[0] || strpbrk(c->engine, ", "))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine: models quantize runs the network with one engine, not '%s'",
                        c->engine);
  if (strcmp(c->engine, "null") == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--engine: null computes nothing that ranges could come from");
  return HL_OK;
}

static hl_status read_options(const hl_options *o, hl_arena *arena, hl_configuration *c,
                              hl_quantize_options *q, const char **ret_path, hl_error *error) {
  const char *ranges = hl_options_get(o, HL_OPTION_RANGES);
  if (o->positional_count != 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "models quantize needs one MODEL");
  *ret_path = hl_options_get(o, HL_OPTION_OUTPUT);
  if (!*ret_path || !(*ret_path)[0])
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "models quantize needs a file to write: -o FILE.onnx");
  if (!hl_ranges_from_name(ranges, &q->ranges))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--ranges: '%s' is none of minmax, percentile, entropy", ranges);
  hl_status status = hl_options_real(o, HL_OPTION_PERCENTILE, 50, 100, HL_QUANTIZE_PERCENTILE,
                                     &q->percentile, error);
  if (status == HL_OK && hl_options_given(o, HL_OPTION_PERCENTILE) &&
      q->ranges != HL_RANGES_PERCENTILE)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--percentile goes with --ranges percentile, not %s", ranges);
  c->test_data = hl_options_get(o, HL_OPTION_CALIBRATION);
  if (c->test_data && strcmp(c->test_data, "synthetic") == 0) c->test_data = NULL;
  if (status == HL_OK) status = read_engine(o, c, error);
  if (status == HL_OK)
    status = hl_input_shapes_read(o, arena, &c->input_shapes, &c->input_shape_count, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_N_IMAGES, 1, 100000, 0, &c->n_images, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_SEED, 0, INT64_MAX, 42, &c->seed, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_THREADS, 1, 4096, c->threads, &c->threads, error);
  return status;
}

/* Found out before the network runs for minutes. */
static hl_status check_writable(const char *path, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *folder = hl_strdup(path);
  char *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  if (slash) slash[slash == folder] = '\0';
  if (access(slash ? folder : ".", W_OK) == 0) return HL_OK;
  return hl_error_errno(error, HL_IO, "cannot write '%s'", path);
}

/* Images and what the network makes of them, before and after, are kept at once. */
static hl_status check_room(const hl_configuration *configuration, const char *cache,
                            hl_error *error) {
  hl_configuration c = *configuration;
  if (!c.n_images) c.n_images = HL_QUANTIZE_IMAGES;
  hl_model_file file;
  hl_status status = hl_model_file_open(&c, cache, &file, error);
  if (status != HL_OK) return status;
  hl_error inner = {0};
  status = hl_room_check(&c, &file, hl_memory_available(NULL), &inner);
  hl_model_file_release(&file);
  return status == HL_OK ? HL_OK : hl_error_set(error, status, "%.200s: %s", c.model, inner.msg);
}

static void print_text(const char *path, const hl_configuration *c, const hl_quantize_options *o,
                       const hl_quantize_result *r) {
  const hl_quantize_summary *s = &r->summary;
  printf("Wrote %s: %s in 8 bits\n", path, c->model);
  printf("  quantised    %zu convolutions, %zu products, %zu sums; %zu left in float32\n",
         s->convolutions, s->products, s->sums, s->left);
  if (s->folded) printf("  folded       %zu batch normalisations into convolutions\n", s->folded);
  printf("  weights      int8, a scale for each output channel; activations uint8\n");
  printf("  ranges       %s", hl_ranges_name(o->ranges));
  if (o->ranges == HL_RANGES_PERCENTILE) printf(" %.10g", o->percentile);
  printf(" of %zu tensors over %" PRId64 " images: %s\n", r->places, r->images, r->data);
  printf("  accuracy     against float32 on these images: ");
  if (r->cosine_reason)
    printf("no cosine (%s)", r->cosine_reason);
  else
    printf("cosine %.5f at least", r->cosine);
  if (isfinite(r->error)) printf(", error %.3g of the largest value", r->error);
  if (isfinite(r->top1)) printf(", same top-1 on %.1f %%", 100 * r->top1);
  printf("\n  file         %.1f MB, float32 %.1f MB\n", (double)r->file_bytes / 1e6,
         (double)r->float_file_bytes / 1e6);
}

static void print_json(const char *path, const hl_configuration *c, const hl_quantize_options *o,
                       const hl_quantize_result *r) {
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.quantize/1");
  hl_json_text(&json, "model", c->model);
  hl_json_text(&json, "file", path);
  hl_json_int(&json, "convolutions", (int64_t)r->summary.convolutions);
  hl_json_int(&json, "products", (int64_t)r->summary.products);
  hl_json_int(&json, "sums", (int64_t)r->summary.sums);
  hl_json_int(&json, "left_in_float32", (int64_t)r->summary.left);
  hl_json_int(&json, "batch_norms_folded", (int64_t)r->summary.folded);
  hl_json_text(&json, "ranges", hl_ranges_name(o->ranges));
  hl_json_real(&json, "percentile",
               o->ranges == HL_RANGES_PERCENTILE ? o->percentile : (double)NAN);
  hl_json_int(&json, "tensors", (int64_t)r->places);
  hl_json_int(&json, "images", r->images);
  hl_json_text(&json, "data", r->data);
  hl_json_real(&json, "cosine", r->cosine);
  hl_json_text(&json, "cosine_reason", r->cosine_reason);
  hl_json_real(&json, "error", r->error);
  hl_json_real(&json, "top1", r->top1);
  hl_json_int(&json, "file_bytes", (int64_t)r->file_bytes);
  hl_json_int(&json, "float_file_bytes", (int64_t)r->float_file_bytes);
  hl_json_end(&json);
  printf("%s\n", text.data);
  hl_text_release(&text);
}

static int exit_of(hl_status status) {
  if (status == HL_INTERRUPTED) return HL_EXIT_INTERRUPTED;
  return HL_EXIT_USAGE;
}

static int quantize(const hl_options *options, hl_arena *arena) {
  view v = {.quiet = hl_options_on(options, HL_OPTION_QUIET)};
  show_verbose = hl_options_on(options, HL_OPTION_VERBOSE);
  hl_configuration c = {.engine = "native", .device = "cpu", .dtype = "float32", .batch_size = 1};
  hl_quantize_options o = {.progress = progress, .context = &v};
  hl_quantize_result result;
  hl_machine machine = {0};
  hl_error error = {0};
  const char *path = NULL;
  HL_CLEANUP(hl_free_pointer) char *name = NULL;
  HL_CLEANUP(hl_free_pointer) char *cache = NULL;
  hl_status status = hl_machine_read(&machine, &error);
  c.threads = machine.cores > 0 ? machine.cores : 1;
  hl_machine_release(&machine);
  if (status == HL_OK) status = read_options(options, arena, &c, &o, &path, &error);
  if (status == HL_OK) status = read_model(options->positionals[1], &c, &name, &error);
  if (status == HL_OK) status = check_writable(path, &error);
  if (status != HL_OK) return hl_cli_fail(&error, HL_EXIT_USAGE);
  hl_cli_cache_directory(&cache, NULL);
  v.wake_fd = hl_interrupt_catch();
  const hl_host host = {
      .abi = HL_ENGINE_ABI, .size = sizeof host, .log = log_line, .prefixes = hl_engine_prefixes()};
  status = check_room(&c, cache, &error);
  if (status == HL_OK) status = hl_quantize_model(&c, cache, &host, &o, path, &result, &error);
  clear_progress(&v);
  if (status != HL_OK) return hl_cli_fail(&error, exit_of(status));
  if (hl_options_on(options, HL_OPTION_JSON))
    print_json(path, &c, &o, &result);
  else if (!v.quiet)
    print_text(path, &c, &o, &result);
  return HL_EXIT_OK;
}

int hl_cli_quantize(const hl_options *options) {
  hl_arena arena;
  hl_arena_init(&arena, 1u << 20);
  int exit_status = quantize(options, &arena);
  hl_arena_release(&arena);
  return exit_status;
}
