#include "workloads/training-ranks.h"

#include "base/clock.h"
#include "statistics/percentile.h"
#include "workloads/training.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_kept = 4096 };

typedef struct word {
  double loss;
  int64_t images, failed, slice_ended;
  uint64_t compute_ns, checksum;
} word;

hl_status hl_training_ranks_init(hl_training_ranks *ranks, int64_t count, hl_error *error) {
  *ranks = (hl_training_ranks){.count = count};
  ranks->words = calloc((size_t)count, sizeof(word));
  ranks->kept_ns = calloc((size_t)count * most_kept, sizeof *ranks->kept_ns);
  return ranks->words && ranks->kept_ns
             ? HL_OK
             : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
}

void hl_training_ranks_release(hl_training_ranks *ranks) {
  free(ranks->words);
  free(ranks->kept_ns);
  *ranks = (hl_training_ranks){0};
}

static hl_status check_sums(const hl_training *t, const word *all, hl_error *error) {
  for (int64_t r = 1; r < t->ranks.count; r++)
    if (all[r].checksum != all[0].checksum)
      return hl_error_set(error, HL_BAD_DATA,
                          "step %" PRId64 ": rank %" PRId64 " got other sums of gradients than "
                          "rank 0, so that their networks differ from here on",
                          t->number, r);
  return HL_OK;
}

static void combine(hl_training *t, const word *all, hl_train_step *sample) {
  hl_training_ranks *ranks = &t->ranks;
  double loss = 0;
  sample->images = 0;
  for (int64_t r = 0; r < ranks->count; r++) {
    loss += all[r].loss;
    sample->images += all[r].images;
    if (t->step > t->first_step)
      ranks->kept_ns[r * most_kept + ranks->recorded % most_kept] = (double)all[r].compute_ns;
  }
  ranks->recorded += t->step > t->first_step;
  sample->loss = loss / (double)ranks->count;
  t->slice_ended = all[0].slice_ended != 0;
}

hl_status hl_training_agree(hl_training *training, hl_status status, uint64_t start_ns,
                            hl_train_step *sample, hl_error *error) {
  hl_training *t = training;
  const hl_training_peers *p = &t->peers;
  hl_training_reduction reduction = {0};
  t->slice_ended = t->slice_end_ns && hl_clock_ns() >= t->slice_end_ns;
  if (!p->gather) return status;
  p->reduction(p->context, &reduction);
  sample->reduce_ns = reduction.reduce_ns;
  sample->exposed_ns = reduction.exposed_ns;
  const word mine = {.loss = sample->loss,
                     .images = sample->images,
                     .failed = status != HL_OK,
                     .slice_ended = t->slice_ended,
                     .compute_ns = sample->total_ns - sample->exposed_ns,
                     .checksum = reduction.checksum};
  hl_status sent = p->gather(p->context, &mine, sizeof mine, t->ranks.words, error);
  if (sent != HL_OK) return sent;
  const word *all = t->ranks.words;
  bool failed = false;
  for (int64_t r = 0; r < p->count; r++) failed |= all[r].failed != 0;
  if (failed) return p->agree(p->context, status, error);
  status = check_sums(t, all, error);
  if (status != HL_OK) return status;
  combine(t, all, sample);
  uint64_t end = hl_clock_ns();
  sample->agree_ns = end - start_ns - sample->total_ns;
  sample->total_ns = end - start_ns;
  return HL_OK;
}

double hl_training_rank_compute_ns(const hl_training_ranks *ranks, int64_t rank) {
  size_t count = (size_t)(ranks->recorded < most_kept ? ranks->recorded : most_kept);
  if (count == 0) return (double)NAN;
  double *copy = malloc(count * sizeof *copy);
  if (!copy) return (double)NAN;
  memcpy(copy, ranks->kept_ns + rank * most_kept, count * sizeof *copy);
  double median = hl_median(copy, count);
  free(copy);
  return median;
}
