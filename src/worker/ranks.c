#include "worker/ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Members of replies that are of all ranks together. */
static const char *const sums[] = {"baseline_bytes", "weight_bytes", "arena_bytes",      "io_bytes",
                                   "traffic_bytes",  "peak_bytes",   "engine_peak_bytes"};

static hl_status gradient_ready(void *context, const hl_tensor_view *gradient, hl_error *error) {
  const hl_ranks *ranks = context;
  return hl_peer_gradients_ready(ranks->gradients, gradient, error);
}

static void mark(const hl_ranks *ranks, hl_board_state state) {
  if (ranks->board) hl_board_mark(ranks->board, hl_peers_rank(ranks->peers), ranks->step, state);
}

static hl_status gradients_wait(void *context, hl_error *error) {
  const hl_ranks *ranks = context;
  mark(ranks, HL_BOARD_WAITS);
  hl_status status = hl_peer_gradients_wait(ranks->gradients, error);
  mark(ranks, HL_BOARD_COMPUTES);
  return status;
}

static void begins(void *context, int64_t step) {
  hl_ranks *ranks = context;
  ranks->step = step;
  mark(ranks, HL_BOARD_COMPUTES);
}

static hl_status gather(void *context, const void *mine, size_t bytes, void *ret_all,
                        hl_error *error) {
  const hl_ranks *ranks = context;
  mark(ranks, HL_BOARD_WAITS);
  hl_status status = hl_peers_gather(ranks->peers, mine, bytes, ret_all, error);
  mark(ranks, HL_BOARD_COMPUTES);
  return status;
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

static void reduction(void *context, hl_training_reduction *ret_reduction) {
  const hl_ranks *ranks = context;
  hl_peer_times times;
  hl_peer_gradients_times(ranks->gradients, &times);
  *ret_reduction = (hl_training_reduction){
      .reduce_ns = times.reduce_ns, .exposed_ns = times.exposed_ns, .checksum = times.checksum};
}

/* Without one nothing is said of who hangs. */
static hl_status open_board(hl_ranks *ranks, hl_error *error) {
  hl_error why = {0};
  hl_status status = hl_peers_board(ranks->peers, &ranks->board, &why);
  if (status == HL_UNAVAILABLE) return HL_OK;
  return status == HL_OK ? HL_OK : hl_error_set(error, status, "%s", why.msg);
}

hl_status hl_ranks_join(const char *path, hl_ranks *ranks, hl_error *error) {
  *ranks = (hl_ranks){0};
  if (!path) return HL_OK;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank does not outlive mpirun, which started it */
  hl_status status = hl_peers_join(path, &ranks->peers, error);
  if (status != HL_OK) return status;
  status = hl_peer_gradients_new(hl_peers_ops(ranks->peers), hl_peers_count(ranks->peers),
                                 HL_PEER_BUCKET_BYTES, &ranks->gradients, error);
  if (status == HL_OK) status = open_board(ranks, error);
  if (status != HL_OK) return status;
  mark(ranks, HL_BOARD_COMPUTES);
  ranks->training = (hl_training_peers){.rank = hl_peers_rank(ranks->peers),
                                        .count = hl_peers_count(ranks->peers),
                                        .gradient_ready = gradient_ready,
                                        .gradients_wait = gradients_wait,
                                        .gather = gather,
                                        .agree = agree,
                                        .fails = fails,
                                        .reduction = reduction,
                                        .begins = begins,
                                        .context = ranks};
  return HL_OK;
}

bool hl_ranks_speaks(const hl_ranks *ranks) {
  return !ranks->peers || hl_peers_rank(ranks->peers) == 0;
}

static hl_status share(hl_ranks *ranks, hl_message *message, hl_error *error) {
  char *text = NULL;
  if (!ranks->peers) return HL_OK;
  bool speaks = hl_ranks_speaks(ranks);
  if (speaks) text = json_dumps(message->object, JSON_COMPACT);
  if (speaks && !text) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  mark(ranks, HL_BOARD_WAITS);
  hl_status status = hl_peers_tell(ranks->peers, &text, error);
  mark(ranks, HL_BOARD_COMPUTES);
  if (status == HL_OK && !speaks) {
    *message = (hl_message){.object = json_loads(text, 0, NULL)};
    if (!message->object)
      status = hl_error_set(error, HL_BAD_DATA, "rank 0's message cannot be read");
  }
  free(text);
  return status;
}

hl_status hl_ranks_next(hl_ranks *ranks, hl_control *control, hl_message *ret_message,
                        hl_error *error) {
  *ret_message = (hl_message){0};
  if (hl_ranks_speaks(ranks)) hl_control_next(control, ret_message);
  return share(ranks, ret_message, error);
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
  mark(ranks, HL_BOARD_WAITS);
  status = hl_peers_agree(ranks->peers, status, error);
  for (size_t i = 0; i < HL_COUNT(sums) && status == HL_OK; i++)
    status = sum_up(ranks, reply, sums[i], error);
  mark(ranks, HL_BOARD_COMPUTES);
  return status;
}

void hl_ranks_tell_late(void *ranks) {
  const hl_ranks *r = ranks;
  hl_text text = HL_TEXT_INIT;
  if (r->board) hl_board_late(r->board, r->peers, &text);
  if (text.length) fprintf(stderr, HL_RANKS_LATE "%s\n", text.data);
  if (text.length) usleep(200000); /* for mpirun to pass it on: it drops what a dead rank said */
  hl_text_release(&text);
}

void hl_ranks_describe(const hl_ranks *ranks, json_t *reply) {
  json_t *list = ranks->peers ? json_array() : NULL;
  for (int64_t r = 0; list && r < hl_peers_count(ranks->peers); r++) {
    const hl_peer *member = hl_peers_member(ranks->peers, r);
    json_array_append_new(
        list, json_pack("{s:I,s:s}", "pid", (json_int_t)member->pid, "host", member->host));
  }
  if (list) json_object_set_new(reply, "ranks", list);
  if (list) hl_json_set_text(reply, "transport", hl_peers_ops(ranks->peers)->version());
}

void hl_ranks_report(const hl_ranks *ranks, const hl_training *training, json_t *reply) {
  json_t *list = ranks->peers && training->ranks.recorded ? json_array() : NULL;
  for (int64_t r = 0; list && r < training->ranks.count; r++)
    json_array_append_new(list, json_real(hl_training_rank_compute_ns(&training->ranks, r)));
  if (list) json_object_set_new(reply, "rank_compute_ns", list);
}

void hl_ranks_threads(const hl_ranks *ranks, hl_configuration *configuration) {
  int64_t count = ranks->peers ? hl_peers_count(ranks->peers) : 1;
  configuration->threads /= count;
  if (configuration->threads < 1) configuration->threads = 1;
}

const hl_training_peers *hl_ranks_training(const hl_ranks *ranks) {
  return ranks->peers ? &ranks->training : NULL;
}
