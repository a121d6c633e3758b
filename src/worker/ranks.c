#include "worker/ranks.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* Members of replies that are of all ranks together. */
static const char *const sums[] = {"baseline_bytes", "weight_bytes", "arena_bytes",      "io_bytes",
                                   "traffic_bytes",  "peak_bytes",   "engine_peak_bytes"};

static hl_status gradient_ready(void *context, const hl_tensor_view *gradient, hl_error *error) {
  return hl_peer_gradients_ready(context, gradient, error);
}

static hl_status gradients_wait(void *context, hl_error *error) {
  return hl_peer_gradients_wait(context, error);
}

static hl_status gather(void *context, const void *mine, size_t bytes, void *ret_all,
                        hl_error *error) {
  const hl_ranks *ranks = context;
  return hl_peers_gather(ranks->peers, mine, bytes, ret_all, error);
}

static hl_status agree(void *context, hl_status status, hl_error *error) {
  const hl_ranks *ranks = context;
  return hl_peers_agree(ranks->peers, status, error);
}

static void fails(void *context) {
  const hl_ranks *ranks = context;
  hl_peer_gradients_silence(ranks->gradients);
  (void)hl_peers_ops(ranks->peers)->warn(NULL);
}

static void reduction(void *context, uint64_t *ret_reduce_ns, uint64_t *ret_exposed_ns) {
  const hl_ranks *ranks = context;
  hl_peer_times times;
  hl_peer_gradients_times(ranks->gradients, &times);
  *ret_reduce_ns = times.reduce_ns;
  *ret_exposed_ns = times.exposed_ns;
}

hl_status hl_ranks_join(const char *path, hl_ranks *ranks, hl_error *error) {
  *ranks = (hl_ranks){0};
  if (!path) return HL_OK;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank does not outlive mpirun, which started it */
  hl_status status = hl_peers_join(path, &ranks->peers, error);
  if (status != HL_OK) return status;
  status = hl_peer_gradients_new(hl_peers_ops(ranks->peers), hl_peers_count(ranks->peers),
                                 HL_PEER_BUCKET_BYTES, &ranks->gradients, error);
  ranks->training = (hl_training_peers){.rank = hl_peers_rank(ranks->peers),
                                        .count = hl_peers_count(ranks->peers),
                                        .gradient_ready = gradient_ready,
                                        .gradients_wait = gradients_wait,
                                        .gradient_context = ranks->gradients,
                                        .gather = gather,
                                        .agree = agree,
                                        .fails = fails,
                                        .reduction = reduction,
                                        .context = ranks};
  return status;
}

bool hl_ranks_speaks(const hl_ranks *ranks) {
  return !ranks->peers || hl_peers_rank(ranks->peers) == 0;
}

hl_status hl_ranks_share(hl_ranks *ranks, hl_message *message, hl_error *error) {
  char *text = NULL;
  if (!ranks->peers) return HL_OK;
  bool speaks = hl_ranks_speaks(ranks);
  if (speaks) text = json_dumps(message->object, JSON_COMPACT);
  if (speaks && !text) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  hl_status status = hl_peers_tell(ranks->peers, &text, error);
  if (status == HL_OK && !speaks) {
    *message = (hl_message){.object = json_loads(text, 0, NULL)};
    if (!message->object)
      status = hl_error_set(error, HL_BAD_DATA, "rank 0's message cannot be read");
  }
  free(text);
  return status;
}

static hl_status sum_up(hl_ranks *ranks, json_t *reply, const char *key, hl_error *error) {
  size_t count = (size_t)hl_peers_count(ranks->peers);
  int64_t mine = hl_json_get_int(reply, key, -1), *all = calloc(count, sizeof *all), sum = 0;
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
  hl_status status = hl_peers_gather(ranks->peers, &mine, sizeof mine, all, error);
  for (size_t r = 0; r < count && sum >= 0; r++)
    if (all[r] < 0 || __builtin_add_overflow(sum, all[r], &sum)) sum = -1;
  free(all);
  if (status == HL_OK && sum >= 0) hl_json_set_int(reply, key, (uint64_t)sum);
  return status;
}

hl_status hl_ranks_agree(hl_ranks *ranks, hl_status status, json_t *reply, hl_error *error) {
  if (!ranks->peers) return status;
  status = hl_peers_agree(ranks->peers, status, error);
  for (size_t i = 0; i < HL_COUNT(sums) && status == HL_OK; i++)
    status = sum_up(ranks, reply, sums[i], error);
  return status;
}

void hl_ranks_threads(const hl_ranks *ranks, hl_configuration *configuration) {
  int64_t count = ranks->peers ? hl_peers_count(ranks->peers) : 1;
  configuration->threads /= count;
  if (configuration->threads < 1) configuration->threads = 1;
}

const hl_training_peers *hl_ranks_training(const hl_ranks *ranks) {
  return ranks->peers ? &ranks->training : NULL;
}
