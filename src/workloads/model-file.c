#include "workloads/model-file.h"

#include "base/file.h"
#include "base/hash.h"
#include "graph/onnx.h"
#include "models/models.h"
#include "quantize/quantize.h"
#include "workloads/foreign-model.h"
#include "workloads/shapes.h"
#include "workloads/weights.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A hash that changes with the program: a builder may have changed with it. */
static uint64_t program_hash(void) {
  struct stat st;
  if (stat("/proc/self/exe", &st) != 0) return 0;
  int64_t identity[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
  return hl_hash_bytes(0, identity, sizeof identity);
}

/* 16 digits + ".onnx": another build's file. Or the same + "." + what hl_file_begin() adds: a
 * worker was killed over it. */
static bool is_model(const char *rest) {
  size_t length = strlen(rest);
  if (length < 21 || strncmp(rest + 16, ".onnx", 5) != 0) return false;
  return length == 21 ||
         (length >= 28 && rest[21] == '.' && strcmp(rest + length - 5, ".part") == 0);
}

/* Nobody has used or written it for a day; see mark_used(). Two builds side by side keep theirs. */
static bool is_abandoned(int directory, const char *name) {
  enum { abandoned_s = 24 * 3600 };
  struct stat st;
  return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
         st.st_mtime < time(NULL) - abandoned_s;
}

/* Moves the time of modification to now: times of access may not be kept. */
static void mark_used(const char *path) {
  utimensat(AT_FDCWD, path, NULL, 0);
}

/* Removes cached files of the same model and seed that another build wrote or nobody finished, and
 * that lie unused. */
static void remove_stale(const char *directory, const char *prefix, const char *keep) {
  DIR *dir = opendir(directory);
  if (!dir) return;
  size_t n = strlen(prefix);
  for (struct dirent *entry; (entry = readdir(dir));) {
    const char *name = entry->d_name;
    if (strncmp(name, prefix, n) != 0 || strcmp(name, keep) == 0) continue;
    if (is_model(name + n) && is_abandoned(dirfd(dir), name)) unlinkat(dirfd(dir), name, 0);
  }
  closedir(dir);
}

/* No file of a file system, so that nothing stays when the worker is killed. */
static hl_status write_to_memory(const hl_graph *graph, hl_model_file *file, hl_error *error) {
  file->memory_fd = memfd_create("hotlap-model", MFD_CLOEXEC);
  if (file->memory_fd < 0)
    return hl_error_errno(error, HL_IO,
                          "the model can be written neither to the cache nor to memory");
  file->path = hl_format("/proc/self/fd/%d", file->memory_fd);
  if (!file->path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  return hl_onnx_write_fd(graph, file->memory_fd, error);
}

static hl_status generate(const hl_configuration *c, const char *directory, hl_model_file *file,
                          hl_error *error) {
  hl_graph *graph = NULL;
  hl_status status = hl_models_build(c->model, (uint64_t)c->seed, &graph, error);
  if (status != HL_OK) return status;
  if (!directory || hl_directory_make(directory, NULL) != HL_OK ||
      hl_onnx_write(graph, file->path, NULL) != HL_OK) {
    free(file->path);
    file->path = NULL;
    status = write_to_memory(graph, file, error);
  }
  hl_graph_free(graph);
  file->generated = true;
  return status;
}

static hl_status open_builtin(const hl_configuration *c, const char *cache_directory,
                              hl_model_file *file, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *name = hl_strdup(c->model);
  HL_CLEANUP(hl_free_pointer)
  char *directory = cache_directory ? hl_format("%s/models", cache_directory) : NULL;
  if (!name || (cache_directory && !directory))
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  for (char *p = name; *p; p++)
    if (*p == '/' || *p == ':' || *p == ',') *p = '_';
  file->hash = hl_hash_bytes(program_hash() ^ (uint64_t)c->seed, c->model, strlen(c->model));
  HL_CLEANUP(hl_free_pointer)
  char *prefix = hl_format("%s-%" PRId64 "-", name, c->seed);
  HL_CLEANUP(hl_free_pointer)
  char *base = prefix ? hl_format("%s%016" PRIx64 ".onnx", prefix, file->hash) : NULL;
  if (!base) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  file->path = hl_format("%s/%s", directory ? directory : ".", base);
  if (!file->path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  file->patterns_per_input = hl_models_patterns_per_input(c->model);
  if (directory && access(file->path, R_OK) == 0) {
    mark_used(file->path);
    return HL_OK;
  }
  hl_status status = generate(c, directory, file, error);
  if (status == HL_OK && directory) remove_stale(directory, prefix, base);
  return status;
}

static hl_status open_onnx(const hl_configuration *c, hl_model_file *file, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(c->model, UINT64_MAX, &mapping, error);
  if (status != HL_OK) return status;
  file->hash = hl_hash_bytes(1, mapping.data, mapping.bytes);
  hl_file_unmap(&mapping);
  file->path = hl_strdup(c->model);
  file->patterns_per_input = 1;
  return file->path ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
}

static void free_ports(hl_port *ports, size_t count) {
  for (size_t i = 0; ports && i < count; i++) free((char *)(uintptr_t)ports[i].name);
  free(ports);
}

static hl_status copy_ports(const hl_graph *graph, const hl_value_id *ids, size_t count,
                            hl_port **ret_ports, hl_error *error) {
  hl_port *ports = calloc(count ? count : 1, sizeof *ports);
  if (!ports) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the model's ports");
  *ret_ports = ports;
  for (size_t i = 0; i < count; i++) {
    const hl_value *value = &graph->values[ids[i]];
    ports[i] =
        (hl_port){.name = hl_strdup(value->name), .dtype = value->dtype, .rank = value->shape.rank};
    memcpy(ports[i].dims, value->shape.dims, sizeof ports[i].dims);
    if (!ports[i].name)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the model's ports");
  }
  return HL_OK;
}

/* The dimension that is as long as the batch at both sizes; -1 for none. */
static int32_t axis_of_batch(const hl_shape *first, const hl_shape *second,
                             const int64_t sizes[2]) {
  for (int32_t d = 0; d < first->rank && first->rank == second->rank; d++)
    if (first->dims[d] == sizes[0] && second->dims[d] == sizes[1]) return d;
  return -1;
}

/* Outputs' batch axes are those that grow with the batch. The graph may be unable to run at other
 * sizes than 1, or mix images; then an output has no batch axis. */
static void find_output_axes(hl_graph *graph, hl_model_file *file) {
  static const int64_t sizes[2] = {2, 3};
  for (size_t i = 0; i < graph->output_count; i++) file->output_axes[i] = -1;
  hl_shapes_bind_batch(graph, file->input_axes, sizes[0]);
  hl_shape *first = calloc(graph->output_count + 1, sizeof *first);
  if (!first || hl_graph_infer(graph, NULL) != HL_OK) {
    free(first);
    return;
  }
  for (size_t i = 0; i < graph->output_count; i++)
    first[i] = graph->values[graph->outputs[i]].shape;
  hl_shapes_bind_batch(graph, file->input_axes, sizes[1]);
  if (hl_graph_infer(graph, NULL) == HL_OK)
    for (size_t i = 0; i < graph->output_count; i++)
      file->output_axes[i] =
          axis_of_batch(&first[i], &graph->values[graph->outputs[i]].shape, sizes);
  free(first);
}

static hl_status new_axes(hl_model_file *file, hl_error *error) {
  file->input_axes = calloc(HL_INPUTS_MAX, sizeof *file->input_axes);
  file->index_limits = calloc(HL_INPUTS_MAX, sizeof *file->index_limits);
  return file->input_axes && file->index_limits
             ? HL_OK
             : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the model's ports");
}

/* What the file declares, for models that cannot be inferred: the batch is where its symbol is, or
 * an open first dimension. */
static hl_status declared_outputs(const hl_graph *graph, hl_model_file *file, hl_error *error) {
  const char *batch = NULL;
  file->output_count = graph->output_count;
  file->output_axes = calloc(graph->output_count + 1, sizeof *file->output_axes);
  if (!file->output_axes)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the model's ports");
  for (size_t i = 0; i < graph->input_count && !batch; i++)
    if (file->input_axes[i] >= 0)
      batch = graph->values[graph->inputs[i]].symbols[file->input_axes[i]];
  for (size_t i = 0; i < graph->output_count && !file->fixed_batch; i++) {
    const hl_value *value = &graph->values[graph->outputs[i]];
    bool open = value->shape.rank < 0 || (value->shape.rank > 0 && value->shape.dims[0] < 0);
    file->output_axes[i] = open ? 0 : -1;
    for (int32_t d = value->shape.rank - 1; batch && d >= 0; d--)
      if (value->symbols[d] && strcmp(value->symbols[d], batch) == 0) file->output_axes[i] = d;
  }
  return copy_ports(graph, graph->outputs, graph->output_count, &file->outputs, error);
}

static hl_status set_unread(hl_model_file *file, const char *before, const char *why,
                            hl_error *error) {
  file->unread = hl_format("%s%s", before, why);
  return file->unread ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reason");
}

/* Replaces what the file declares. A model that only the reference cannot run keeps that. */
static hl_status inferred_outputs(hl_graph *graph, hl_model_file *file, hl_error *error) {
  hl_error inner = {0};
  if (!file->fixed_batch) hl_shapes_bind_batch(graph, file->input_axes, 1);
  hl_status status = hl_graph_infer(graph, &inner);
  if (status == HL_UNIMPLEMENTED)
    return set_unread(file, "the reference cannot run the model: ", inner.msg, error);
  if (status != HL_OK) return hl_error_set(error, status, "%s", inner.msg);
  free_ports(file->outputs, file->output_count);
  file->outputs = NULL;
  status = copy_ports(graph, graph->outputs, graph->output_count, &file->outputs, error);
  if (status != HL_OK) return status;
  double batch = file->fixed_batch ? (double)file->fixed_batch : 1;
  hl_graph_traffic traffic;
  hl_graph_traffic_of(graph, &traffic);
  file->flops_per_image = hl_graph_flops(graph) / batch;
  file->weight_bytes = traffic.weight_bytes;
  file->port_bytes_per_image = traffic.port_bytes / batch;
  file->operator_bytes_per_image = traffic.operator_bytes / batch;
  if (!file->fixed_batch) find_output_axes(graph, file);
  return HL_OK;
}

static void find_index_limits(const hl_graph *graph, hl_model_file *file) {
  for (size_t i = 0; i < graph->input_count; i++) {
    int64_t limit = hl_graph_index_limit(graph, graph->inputs[i]);
    file->index_limits[i] = limit > 0 ? limit : 0;
  }
}

static hl_status describe_outputs(hl_graph *graph, const hl_onnx_facts *facts, hl_model_file *file,
                                  hl_error *error) {
  file->flops_per_image = (double)NAN;
  file->weight_bytes = (double)NAN;
  file->port_bytes_per_image = (double)NAN;
  file->operator_bytes_per_image = (double)NAN;
  file->parameters = facts->hides_weights ? -1 : hl_graph_parameters(graph);
  file->quantized = hl_graph_is_quantized(graph);
  hl_status status = declared_outputs(graph, file, error);
  if (status != HL_OK) return status;
  status = facts->unread[0] ? set_unread(file, "", facts->unread, error)
                            : inferred_outputs(graph, file, error);
  if (status != HL_OK) return status;
  find_index_limits(graph, file);
  file->classifier = file->output_count > 0 && file->outputs[0].rank == 2 &&
                     file->outputs[0].dims[1] > 1 && file->outputs[0].dtype == HL_FLOAT32;
  return HL_OK;
}

static hl_status describe(hl_model_file *file, const hl_configuration *c, hl_error *error) {
  hl_graph *graph = NULL;
  hl_onnx_facts facts;
  hl_status status = hl_onnx_describe(file->path, &graph, &facts, error);
  if (status != HL_OK) return status;
  file->input_count = graph->input_count;
  if (!c->is_builtin)
    status = hl_weights_examine(graph, &file->hash, &file->not_a_number, &file->infinite, error);
  if (status == HL_OK) status = new_axes(file, error);
  if (status == HL_OK)
    status = hl_shapes_resolve(graph, c->model, c->input_shapes, c->input_shape_count,
                               file->input_axes, &file->fixed_batch, error);
  if (status == HL_OK)
    status = copy_ports(graph, graph->inputs, graph->input_count, &file->inputs, error);
  if (status == HL_OK) status = describe_outputs(graph, &facts, file, error);
  hl_graph_free(graph);
  if (status == HL_OK && c->is_builtin && file->unread)
    return hl_error_set(error, HL_BAD_DATA, "%s: %s", file->path, file->unread);
  return status;
}

hl_status hl_model_file_graph(const hl_model_file *file, const hl_configuration *configuration,
                              hl_graph **ret_graph, hl_error *error) {
  int32_t axes[HL_INPUTS_MAX];
  int64_t fixed = 0;
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(file->path, &graph, error);
  if (status == HL_OK)
    status = hl_shapes_resolve(graph, configuration->model, configuration->input_shapes,
                               configuration->input_shape_count, axes, &fixed, error);
  if (status != HL_OK) {
    hl_graph_free(graph);
    return status;
  }
  *ret_graph = graph;
  return HL_OK;
}

static hl_status open_and_describe(const hl_configuration *c, const char *cache_directory,
                                   hl_model_file *file, hl_error *error) {
  hl_status status =
      c->is_builtin ? open_builtin(c, cache_directory, file, error) : open_onnx(c, file, error);
  return status == HL_OK ? describe(file, c, error) : status;
}

/* The copy takes the model's place. */
static hl_status substitute(const char *copy, hl_model_file *file, hl_error *error) {
  char *path = hl_strdup(copy);
  if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  free(file->path);
  file->path = path;
  file->quantized = true;
  return HL_OK;
}

/* What the graph's own code says begins with a node or an input. */
static hl_status name_file(const hl_configuration *c, hl_status status, hl_error *error) {
  if (!error || c->is_builtin || strstr(error->msg, c->model)) return status;
  hl_error inner = *error;
  return hl_error_set(error, status, "%.200s: %s", c->model, inner.msg);
}

hl_status hl_model_file_open(const hl_configuration *configuration, const char *cache_directory,
                             hl_model_file *ret_file, hl_error *error) {
  hl_model_file file = {.memory_fd = -1};
  hl_status status = open_and_describe(configuration, cache_directory, &file, error);
  if (status != HL_OK && configuration->is_builtin && file.path && !file.generated) {
    /* A damaged file in the cache is written anew, not an error for ever. */
    unlink(file.path);
    hl_model_file_release(&file);
    status = open_and_describe(configuration, cache_directory, &file, error);
  }
  if (status == HL_OK && configuration->model_file)
    status = substitute(configuration->model_file, &file, error);
  if (status != HL_OK) {
    hl_model_file_release(&file);
    return name_file(configuration, status, error);
  }
  *ret_file = file;
  return HL_OK;
}

hl_status hl_model_file_of_graph(const hl_graph *graph, const hl_configuration *configuration,
                                 hl_model_file *ret_file, hl_error *error) {
  hl_model_file file = {.memory_fd = -1, .patterns_per_input = 1, .generated = true};
  hl_status status = write_to_memory(graph, &file, error);
  if (status == HL_OK) status = describe(&file, configuration, error);
  if (status == HL_OK)
    *ret_file = file;
  else
    hl_model_file_release(&file);
  return status;
}

void hl_model_file_release(hl_model_file *file) {
  free(file->path);
  free(file->source);
  hl_foreign_model_free(file->foreign);
  if (file->memory_fd >= 0) close(file->memory_fd);
  free_ports(file->inputs, file->input_count);
  free_ports(file->outputs, file->output_count);
  free(file->input_axes);
  free(file->output_axes);
  free(file->index_limits);
  free(file->not_a_number);
  free(file->infinite);
  free(file->unread);
  *file = (hl_model_file){.memory_fd = -1};
}
