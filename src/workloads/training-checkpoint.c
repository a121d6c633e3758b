#include "workloads/training-checkpoint.h"

#include "base/hash.h"
#include "base/text.h"
#include "base/training-names.h"
#include "graph/onnx-checkpoint.h"
#include "graph/onnx.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char sum_key[] = "states"; /* of the line with the hash of them all */

/* Operators, names and shapes: what states can be put into. */
static uint64_t hash_network(const hl_graph *graph) {
  uint64_t hash = HL_HASH_START;
  for (size_t n = 0; n < graph->node_count; n++) {
    hash = hl_hash_text(hash, graph->nodes[n].op);
    hash = hl_hash_text(hash, graph->nodes[n].name);
  }
  for (size_t v = 0; v < graph->value_count; v++) {
    const hl_value *value = &graph->values[v];
    char dims[24];
    if (value->kind != HL_VALUE_CONSTANT) continue;
    hash = hl_hash_text(hash, value->name);
    for (int32_t d = 0; d < value->shape.rank; d++) {
      snprintf(dims, sizeof dims, "%" PRId64 ",", value->shape.dims[d]);
      hash = hl_hash_text(hash, dims);
    }
  }
  return hash;
}

/* -- what was asked: it has to be the same --------------------------------------------------- */

static void put_text(hl_text *out, const char *key, const char *value) {
  hl_text_format(out, "%s %s\n", key, value);
}

static void put_int(hl_text *out, const char *key, int64_t value) {
  hl_text_format(out, "%s %" PRId64 "\n", key, value);
}

/* Keys are the names of options, where there is one. */
static void put_settings(const hl_training *t, uint64_t network, hl_text *out) {
  const hl_configuration *c = t->configuration;
  hl_text_format(out, "network %016" PRIx64 "\n", network);
  put_text(out, "loss", hl_training_loss_name(t));
  put_text(out, "optimizer", hl_optimizer_name(t->spec->optimizer));
  put_text(out, "dtype", c->dtype);
  put_int(out, "batch-size", c->batch_size);
  put_int(out, "ranks", t->spec->ranks);
  put_int(out, "batches", t->data.batches);
  put_int(out, "accumulate", t->spec->accumulate);
  put_int(out, "seed", c->seed);
  put_text(out, "data", t->data.description);
}

/* A bit that flipped on a disk would go unnoticed into the weights. In any order. */
static uint64_t add_state(uint64_t sum, const hl_tensor_view *state) {
  return sum +
         hl_hash_bytes(hl_hash_text(HL_HASH_START, state->name), state->data, (size_t)state->bytes);
}

static hl_status put_sum(hl_training *t, const hl_checkpoint *c, hl_text *out, hl_error *error) {
  uint64_t sum = 0;
  for (size_t i = 0; i < c->count; i++) {
    hl_tensor_view view = {0};
    hl_status status = t->ops.state_read(t->program, c->ports[i].name, &view, error);
    if (status != HL_OK) return status;
    view.name = c->ports[i].name;
    sum = add_state(sum, &view);
  }
  hl_text_format(out, "%s %016" PRIx64 "\n", sum_key, sum);
  return HL_OK;
}

static void put_place(const hl_training *t, hl_text *out) {
  const hl_learning_state *s = &t->learning.state;
  put_int(out, "step", t->step);
  put_int(out, "epoch", t->epoch);
  put_int(out, "batch", t->batch);
  put_int(out, "plateau-epochs", s->bad);
  put_int(out, "early-epochs", s->wait);
  hl_text_format(out, "loss-sum %a\nplateau-rate %a\nplateau-best %a\nearly-best %a\n", t->loss_sum,
                 s->rate, s->best, s->lows);
}

/* The rest of the line after "key ", as long as `ret_length`; NULL: there is no such line. */
static const char *find_line(const char *facts, const char *key, size_t *ret_length) {
  size_t length = strlen(key);
  for (const char *at = facts; at; at = strchr(at, '\n')) {
    if (*at == '\n') at++;
    if (strncmp(at, key, length) != 0 || at[length] != ' ') continue;
    at += length + 1;
    *ret_length = strcspn(at, "\n");
    return at;
  }
  return NULL;
}

static hl_status differs(const char *path, const char *key, int then_length, const char *then,
                         int now_length, const char *now, hl_error *error) {
  if (strcmp(key, "network") == 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "checkpoint '%s' is of another network", path);
  return hl_error_set(
      error, HL_INVALID_ARGUMENT,
      "checkpoint '%s' was made with %s %.*s, and this run has %.*s: it can only go "
      "on with the same",
      path, key, then_length < 150 ? then_length : 150, then, now_length < 150 ? now_length : 150,
      now);
}

static hl_status check_settings(const hl_training *t, uint64_t network, const char *facts,
                                const char *path, hl_error *error) {
  hl_text now = HL_TEXT_INIT;
  hl_status status = HL_OK;
  put_settings(t, network, &now);
  for (const char *line = now.data; *line && status == HL_OK;) {
    char key[32];
    size_t length = strcspn(line, "\n"), name = strcspn(line, " "), then = 0;
    snprintf(key, sizeof key, "%.*s", (int)name, line);
    const char *value = line + name + 1, *before = find_line(facts, key, &then);
    if (!before && strcmp(key, "ranks") == 0) { /* of before there could be several */
      before = "1";
      then = 1;
    }
    size_t now_length = length - name - 1;
    if (!before || then != now_length || strncmp(before, value, then) != 0)
      status = differs(path, key, (int)then, before ? before : "", (int)now_length, value, error);
    line += length + (line[length] == '\n');
  }
  hl_text_release(&now);
  return status;
}

static bool read_int(const char *facts, const char *key, int64_t *ret_value) {
  char text[32];
  size_t length;
  const char *at = find_line(facts, key, &length);
  if (!at || length >= sizeof text) return false;
  memcpy(text, at, length);
  text[length] = '\0';
  return hl_parse_int(text, 0, HL_TRAIN_STEPS_LIMIT, key, ret_value, NULL) == HL_OK;
}

/* As put_place() writes it. */
static bool read_real(const char *facts, const char *key, double *ret_value) {
  size_t length;
  const char *at = find_line(facts, key, &length);
  if (!at || length == 0 || *at == ' ') return false;
  char *end = NULL;
  *ret_value = strtod(at, &end);
  return end == at + length && !isnan(*ret_value);
}

static hl_status read_place(hl_training *t, const char *facts, const char *path, hl_error *error) {
  hl_learning_state *s = &t->learning.state;
  int64_t step, epoch, batch;
  double rate, sum;
  bool good = read_int(facts, "step", &step) && read_int(facts, "epoch", &epoch) &&
              read_int(facts, "batch", &batch) && read_int(facts, "plateau-epochs", &s->bad) &&
              read_int(facts, "early-epochs", &s->wait) && read_real(facts, "loss-sum", &sum) &&
              read_real(facts, "plateau-rate", &rate) &&
              read_real(facts, "plateau-best", &s->best) &&
              read_real(facts, "early-best", &s->lows);
  good = good && isfinite(sum) && rate >= 0;
  if (!good || batch >= t->data.batches || step / t->data.batches != epoch ||
      step % t->data.batches != batch)
    return hl_error_set(error, HL_BAD_DATA,
                        "checkpoint '%s' does not say where training stood: it is damaged", path);
  t->step = step;
  t->epoch = epoch;
  t->batch = batch;
  t->loss_sum = sum;
  if (rate < s->rate) s->rate = rate; /* what plateaus left of it, unless it is given anew */
  return HL_OK;
}

/* -- states ---------------------------------------------------------------------------------- */

static hl_status write_state(hl_training *t, const hl_port *port, const hl_graph *network,
                             const hl_graph *states, const char *path, uint64_t *sum,
                             hl_error *error) {
  const hl_graph *holder = network;
  hl_value_id id = hl_graph_find(network, port->name);
  if (id < 0 || !network->values[id].data) {
    holder = states;
    id = hl_graph_find(states, port->name);
  }
  if (id < 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "checkpoint '%s' lacks '%.90s': it is of another network or optimiser",
                        path, port->name);
  const hl_value *value = &holder->values[id];
  bool same = value->dtype == HL_FLOAT32 && value->shape.rank == port->rank;
  for (int32_t d = 0; same && d < port->rank; d++) same = value->shape.dims[d] == port->dims[d];
  if (!same)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "checkpoint '%s': '%.90s' has another shape than in this network", path,
                        port->name);
  hl_tensor_view view = {.name = port->name,
                         .dtype = HL_FLOAT32,
                         .rank = port->rank,
                         .data = (void *)(uintptr_t)value->data,
                         .bytes = value->bytes};
  memcpy(view.dims, port->dims, sizeof view.dims);
  *sum = add_state(*sum, &view);
  return t->ops.state_write(t->program, &view, error);
}

static hl_status read_state(void *context, const char *name, hl_tensor_view *ret_view,
                            hl_error *error) {
  hl_training *t = context;
  return t->ops.state_read(t->program, name, ret_view, error);
}

/* -- both ways ------------------------------------------------------------------------------- */

hl_status hl_training_save(hl_training *training, const char *path, hl_error *error) {
  hl_training *t = training;
  hl_graph *network = NULL;
  hl_checkpoint c = {.read = read_state, .context = t};
  hl_text facts = HL_TEXT_INIT;
  hl_status status = t->ops.states(t->program, &c.ports, &c.count, error);
  if (status == HL_OK) status = hl_onnx_read(t->network->path, &network, error);
  if (status != HL_OK) return status;
  put_settings(t, hash_network(network), &facts);
  put_place(t, &facts);
  status = put_sum(t, &c, &facts, error);
  c.facts = facts.data;
  if (status == HL_OK && facts.failed)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a checkpoint");
  if (status == HL_OK) status = hl_checkpoint_write(network, &c, path, error);
  hl_text_release(&facts);
  hl_graph_free(network);
  return status;
}

static hl_status check_sum(uint64_t sum, const char *facts, const char *path, hl_error *error) {
  char text[20];
  size_t length = 0;
  const char *kept = find_line(facts, sum_key, &length);
  snprintf(text, sizeof text, "%016" PRIx64, sum);
  if (kept && length == strlen(text) && strncmp(kept, text, length) == 0) return HL_OK;
  return hl_error_set(error, HL_BAD_DATA,
                      "checkpoint '%s' is damaged: its weights and optimiser's state are not those "
                      "that were kept",
                      path);
}

static hl_status take_over(hl_training *t, const hl_graph *network, const hl_graph *states,
                           const char *facts, const char *path, hl_error *error) {
  hl_graph *own = NULL;
  const hl_port *ports = NULL;
  size_t count = 0;
  uint64_t sum = 0;
  hl_status status = hl_onnx_read(t->network->path, &own, error);
  if (status != HL_OK) return status;
  status = check_settings(t, hash_network(own), facts, path, error);
  hl_graph_free(own);
  if (status == HL_OK) status = read_place(t, facts, path, error);
  if (status == HL_OK) status = t->ops.states(t->program, &ports, &count, error);
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = write_state(t, &ports[i], network, states, path, &sum, error);
  return status == HL_OK ? check_sum(sum, facts, path, error) : status;
}

hl_status hl_training_resume(hl_training *training, const char *path, hl_error *error) {
  hl_graph *network = NULL, *states = NULL;
  const char *facts = NULL;
  hl_status status = hl_checkpoint_read(path, &network, &states, &facts, error);
  if (status != HL_OK) return status;
  status = take_over(training, network, states, facts, path, error);
  hl_graph_free(states);
  hl_graph_free(network);
  return status;
}
