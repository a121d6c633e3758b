#include "workloads/training-physics.h"

#include "base/hash.h"
#include "base/text.h"
#include "data/array.h"
#include "data/kind.h"
#include "data/npz.h"
#include "data/ptychography.h"
#include "graph/graph.h"
#include "models/physics.h"
#include "plan/train-spec.h"
#include "workloads/shapes.h"
#include "workloads/simulated-scan.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = 1e-8; /* of the loss, hotlap/engine.h */
static const double probe_scale = 4;
static const float calm_heads = 0.05f; /* of random weights */
static const double background = 1e-2; /* of a mean of 1/4 */

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a scan");
}

/* -- which network, which data --------------------------------------------------------------- */

static bool fits(const hl_model_file *network, hl_physics *physics) {
  return !network->foreign && !network->unread &&
         hl_physics_fits(network->inputs, network->input_count, network->outputs,
                         network->output_count, &physics->size, &physics->gridsize);
}

static hl_status check_network(const hl_configuration *c, const hl_model_file *network,
                               hl_physics *physics, hl_error *error) {
  if (network->foreign)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "--loss physics is for ONNX models and built-in ones; %.200s is a model of "
                        "a framework",
                        c->model);
  if (fits(network, physics)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--loss physics is for networks of ptychography, as ptychopinn: one input "
                      "'diffraction' (batch, g^2, N, N) and the outputs 'amplitude' and 'phase' of "
                      "the same shape; %.200s is none",
                      c->model);
}

/* A file with the network's outputs is to be learnt from them. */
static bool has_targets(const char *path) {
  hl_npz *npz = NULL;
  if (hl_data_kind_of(path) != HL_DATA_ARRAYS || hl_npz_open(path, NULL, &npz, NULL) != HL_OK)
    return false;
  bool has = hl_npz_find(npz, "amplitude") && hl_npz_find(npz, "phase");
  hl_npz_free(npz);
  return has;
}

bool hl_training_physics_suit(const hl_configuration *configuration, const hl_model_file *network) {
  const char *path = configuration->test_data;
  hl_physics physics;
  return fits(network, &physics) && !(path && has_targets(path));
}

/* -- the scan -------------------------------------------------------------------------------- */

static hl_status simulate(const hl_configuration *c, int64_t size, hl_scan **ret_scan,
                          hl_error *error) {
  enum { batches = 16 };
  int64_t usual = c->test_data ? HL_SIMULATED_POSITIONS : batches * c->batch_size * c->train->ranks;
  return hl_simulated_scan(size, c->n_images ? c->n_images : usual, c->seed, ret_scan, error);
}

/* With a probe. */
static hl_status measure(const hl_configuration *c, int64_t size, hl_scan **ret_scan,
                         hl_error *error) {
  if (!c->test_data || hl_simulated_scan_is(c->test_data))
    return simulate(c, size, ret_scan, error);
  hl_status status = hl_scan_read(c->test_data, size, ret_scan, error);
  if (status != HL_OK || (*ret_scan)->probe) return status;
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: the physics of a pattern needs the probe: %s. To learn from known "
                      "objects give --loss mse and arrays 'amplitude' and 'phase'",
                      (*ret_scan)->file, (*ret_scan)->probe_problem);
}

/* -- the probe ------------------------------------------------------------------------------- */

typedef struct light {
  double mean_square; /* of an object that has the patterns' mean */
  double outside;     /* the part of the probe's light that is not in the central square */
} light;

/* As PtychoPINN's. */
static hl_status normalise(hl_scan *scan, double scale, light *ret_light, hl_error *error) {
  int64_t n = scan->size;
  double sum = 0, energy = 0, central = 0, radius = (double)n / 4;
  for (int64_t i = 0; i < n * n; i++) {
    double y = (double)(i / n - n / 2), x = (double)(i % n - n / 2);
    double modulus = (double)cabsf(scan->probe[i]);
    if (x * x + y * y <= radius * radius) sum += modulus;
    if (x >= -radius && x < radius && y >= -radius && y < radius) central += modulus * modulus;
    energy += modulus * modulus;
  }
  double norm = scale * sum / (double)(n * n);
  if (!(norm > 0) || !isfinite(energy))
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: the probe is dark, or not finite, within %g pixels of its middle",
                        scan->file, radius);
  for (int64_t i = 0; i < n * n; i++) scan->probe[i] *= (float)(1 / norm);
  *ret_light = (light){.mean_square = (double)(n * n) / 4 / (energy / norm / norm),
                       .outside = 1 - central / energy};
  return HL_OK;
}

/* -- all of it ------------------------------------------------------------------------------- */

/* Random phases scatter the light all over the detector, and the first thing that training then
 * learns is a phase that is the same everywhere, from which no gradient leads back. So a network
 * with random weights begins with an object that is nearly flat, as PtychoPINN's does. */
static hl_status calm(hl_graph *graph, hl_error *error) {
  static const char *const heads[] = {"amplitude.head1.weight", "phase.head1.weight",
                                      "amplitude.head2.conv3.weight", "phase.head2.conv3.weight"};
  for (size_t i = 0; i < HL_COUNT(heads); i++) {
    hl_value_id id = hl_graph_find(graph, heads[i]);
    if (id < 0 || !graph->values[id].data || graph->values[id].dtype != HL_FLOAT32) continue;
    size_t count = (size_t)graph->values[id].bytes / sizeof(float);
    float *weights = hl_arena_array(&graph->arena, count, sizeof *weights);
    if (!weights) return no_memory(error);
    for (size_t k = 0; k < count; k++)
      weights[k] = ((const float *)graph->values[id].data)[k] * calm_heads;
    graph->values[id].data = weights;
  }
  return HL_OK;
}

static hl_status attach(const hl_configuration *c, const hl_model_file *network, hl_graph *graph,
                        const hl_physics *physics, hl_model_file *ret_file, hl_error *error) {
  hl_status status = c->is_builtin ? calm(graph, error) : HL_OK;
  if (status == HL_OK) status = hl_physics_append(graph, physics, error);
  if (status == HL_OK) status = hl_graph_sort(graph, error);
  if (status == HL_OK) status = hl_graph_resolve(graph, error);
  if (status == HL_OK) status = hl_model_file_of_graph(graph, c, ret_file, error);
  if (status != HL_OK) return status;
  ret_file->hash ^= network->hash;
  ret_file->patterns_per_input = network->patterns_per_input;
  return HL_OK;
}

static hl_status set_targets(hl_training_physics *p, hl_error *error) {
  const hl_tensor_view *target = &p->dataset->inputs[p->dataset->input_count - 1];
  int64_t count = p->dataset->count;
  int64_t pixels = (int64_t)(target->bytes / sizeof(float)) / count;
  float *t = target->data;
  p->least = calloc((size_t)count, sizeof *p->least);
  if (!p->least) return no_memory(error);
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int64_t k = 0; k < pixels; k++, t++) {
      *t += (float)background;
      sum += (double)*t - (double)*t * log((double)*t + epsilon);
    }
    p->least[i] = sum / (double)pixels;
  }
  return HL_OK;
}

static hl_status take_data(const hl_configuration *c, const hl_scan *scan, hl_training_physics *p,
                           hl_error *error) {
  hl_port ports[HL_INPUTS_MAX + 1];
  size_t count = p->file.input_count;
  for (size_t i = 0; i < count; i++) ports[i] = p->file.inputs[i];
  ports[count] = p->file.inputs[0];
  ports[count].name = HL_SCAN_INTENSITY;
  for (size_t i = 0; i <= count; i++) ports[i].dims[0] = -1;
  hl_status status = hl_dataset_of_scan(scan, ports, count + 1, c->n_images, (uint64_t)c->seed,
                                        &p->dataset, error);
  return status == HL_OK ? set_targets(p, error) : status;
}

static hl_status describe(hl_dataset *dataset, const hl_scan *scan, const light *of_probe,
                          hl_error *error) {
  size_t bytes = (size_t)(scan->size * scan->size) * sizeof *scan->probe;
  uint64_t hash = hl_hash_bytes(HL_HASH_START, scan->probe, bytes);
  char *text =
      hl_format("%s; probe %08" PRIx32 ", %.1f %% of its light outside the central square; "
                "an object of amplitude %.2f has the patterns' mean",
                dataset->description, (uint32_t)(hash ^ hash >> 32), 100 * of_probe->outside,
                sqrt(of_probe->mean_square));
  if (!text) return no_memory(error);
  free(dataset->description);
  dataset->description = text;
  return HL_OK;
}

static hl_status open_physics(const hl_configuration *c, const hl_model_file *network,
                              hl_scan **ret_scan, hl_training_physics *p, hl_error *error) {
  hl_graph *graph = NULL;
  hl_physics physics = {0};
  light of_probe = {0};
  hl_status status = check_network(c, network, &physics, error);
  if (status != HL_OK) return status;
  status = measure(c, physics.size, ret_scan, error);
  hl_scan *scan = *ret_scan;
  if (status == HL_OK) status = normalise(scan, probe_scale, &of_probe, error);
  if (status == HL_OK) physics.probe = scan->probe;
  physics.background = background;
  if (status == HL_OK) status = hl_model_file_graph(network, c, &graph, error);
  if (status == HL_OK) status = attach(c, network, graph, &physics, &p->file, error);
  hl_graph_free(graph);
  if (status == HL_OK) status = take_data(c, scan, p, error);
  return status == HL_OK ? describe(p->dataset, scan, &of_probe, error) : status;
}

hl_status hl_training_physics_open(const hl_configuration *configuration,
                                   const hl_model_file *network, hl_training_physics *ret_physics,
                                   hl_error *error) {
  hl_training_physics p = {.file = {.memory_fd = -1}};
  hl_scan *scan = NULL;
  hl_status status = open_physics(configuration, network, &scan, &p, error);
  hl_scan_free(scan);
  if (status == HL_OK)
    *ret_physics = p;
  else
    hl_training_physics_release(&p);
  return status;
}

void hl_training_physics_release(hl_training_physics *physics) {
  if (physics->file.path) hl_model_file_release(&physics->file);
  hl_dataset_free(physics->dataset);
  free(physics->least);
  *physics = (hl_training_physics){.file = {.memory_fd = -1}};
}

double hl_training_physics_rest(const hl_training_physics *physics, const hl_batch *batch) {
  double sum = 0;
  if (!physics->least || !batch->indices) return 0;
  for (int64_t i = 0; i < batch->count; i++) sum += physics->least[batch->indices[i]];
  return -sum / (double)batch->count;
}
