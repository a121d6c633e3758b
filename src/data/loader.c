#include "data/loader.h"

#include "base/clock.h"
#include "base/dtype.h"
#include "data/array.h"
#include "data/loader-internal.h"
#include "data/sample-order.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct hl_loader {
  hl_loader_spec spec;
  hl__port_plan *ports;
  int64_t chunk; /* samples that a thread takes at a time */
  uint64_t buffer_bytes;
  hl__scratch scratch; /* of the caller's thread */
  pthread_t *threads;
  int thread_count;
  atomic_bool ends;

  pthread_mutex_t lock; /* for all below */
  pthread_cond_t work, progress;
  hl_sample_order order;
  int64_t batches; /* in an epoch; of which each is a part of several in `order` */
  hl__slot *slots;
  size_t slot_count;
  hl__slot **queue; /* a ring of the batches to come, in order */
  size_t queue_first, queue_count;
  int64_t next_epoch, next_number; /* to be put in the queue */
  bool is_paused;
  int busy; /* threads that are reading */
  hl_loader_statistics statistics;
  double ready_sum;
};

/* -- the queue; the lock is held ------------------------------------------------------------- */

static hl__slot *queue_at(const hl_loader *l, size_t i) {
  return l->queue[(l->queue_first + i) % l->slot_count];
}

static bool is_at_end(const hl_loader *l) {
  return l->spec.epochs > 0 && l->next_epoch >= l->spec.epochs;
}

static bool is_ready(const hl__slot *slot) {
  return slot->done == slot->batch.count;
}

/* Puts the next batch into the queue; NULL at the end or without a free slot. */
static hl__slot *begin_batch(hl_loader *l) {
  if (is_at_end(l)) return NULL;
  hl__slot *slot = NULL;
  for (size_t i = 0; i < l->slot_count && !slot; i++)
    if (l->slots[i].state == hl__slot_free) slot = &l->slots[i];
  if (!slot) return NULL;
  int64_t count = hl_sample_order_batch(
      &l->order, l->next_epoch, l->next_number * l->spec.parts + l->spec.part, slot->indices);
  hl__slot_begin(slot, l->ports, l->next_epoch, l->next_number, count);
  l->queue[(l->queue_first + l->queue_count++) % l->slot_count] = slot;
  if (++l->next_number == l->batches) {
    l->next_number = 0;
    l->next_epoch++;
  }
  return slot;
}

/* Samples [*ret_from, *ret_to) of a batch for a thread to read; NULL where there is nothing. */
static hl__slot *take_samples(hl_loader *l, int64_t *ret_from, int64_t *ret_to) {
  hl__slot *slot = NULL;
  for (size_t i = 0; i < l->queue_count && !slot; i++)
    if (queue_at(l, i)->taken < queue_at(l, i)->batch.count) slot = queue_at(l, i);
  if (!slot) slot = begin_batch(l);
  if (!slot) return NULL;
  int64_t left = slot->batch.count - slot->taken;
  *ret_from = slot->taken;
  *ret_to = slot->taken += left < l->chunk ? left : l->chunk;
  return slot;
}

/* -- reading --------------------------------------------------------------------------------- */

/* Reads the samples and returns with the lock held; it is let go meanwhile. */
static void read_samples(hl_loader *l, hl__slot *slot, int64_t from, int64_t to,
                         hl__scratch *scratch) {
  hl_status status = HL_OK;
  hl_error error = {0};
  int64_t at = from;
  pthread_mutex_unlock(&l->lock);
  uint64_t start = hl_clock_ns();
  for (; at < to && !atomic_load_explicit(&l->ends, memory_order_relaxed); at++) {
    status = hl__slot_load(&l->spec, l->ports, slot, at, scratch, &error);
    if (status != HL_OK) break;
  }
  uint64_t spent = hl_clock_ns() - start;
  pthread_mutex_lock(&l->lock);
  slot->batch.load_ns += spent;
  slot->done += to - from;
  if (status != HL_OK && (slot->status == HL_OK || at < slot->failed_at)) {
    slot->status = status;
    slot->failed_at = at;
    slot->error = error;
  }
}

static void *work(void *argument) {
  hl_loader *l = argument;
  hl__scratch scratch = {0};
  pthread_mutex_lock(&l->lock);
  while (!l->ends) {
    int64_t from = 0, to = 0;
    hl__slot *slot = l->is_paused ? NULL : take_samples(l, &from, &to);
    if (!slot) {
      pthread_cond_wait(&l->work, &l->lock);
      continue;
    }
    l->busy++;
    read_samples(l, slot, from, to, &scratch);
    l->busy--;
    if (is_ready(slot) || l->is_paused) pthread_cond_broadcast(&l->progress);
  }
  pthread_mutex_unlock(&l->lock);
  hl__scratch_release(&scratch);
  return NULL;
}

/* -- making ---------------------------------------------------------------------------------- */

static hl_status plan_port(const hl_loader_spec *spec, size_t i, hl__port_plan *ret,
                           hl_error *error) {
  const hl_source_port *port = spec->ports ? &spec->ports[i] : &spec->source->ports[i];
  int64_t elements = 0;
  size_t item = hl_dtype_bytes(port->port.dtype);
  *ret = (hl__port_plan){.port = port->port, .is_constant = spec->source->ports[i].is_constant};
  for (int32_t d = 0; d < port->port.rank; d++)
    if (port->port.dims[d] < 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "'%.60s' differs in size from sample to sample (dimension %d), so that "
                          "samples are no batch without a transform that makes them equal",
                          port->port.name, d);
  if (port->port.rank < 0 || port->port.rank >= HL_MAX_RANK || item == 0 ||
      !hl_array_count(port->port.rank, port->port.dims, &elements) ||
      __builtin_mul_overflow((uint64_t)elements, item, &ret->bytes))
    return hl_error_set(error, HL_LIMIT, "'%.60s': impossible shape or type", port->port.name);
  return HL_OK;
}

static hl_status check_spec(const hl_loader_spec *s, hl_error *error) {
  if (!s->source || s->source->port_count < 1 || s->source->port_count > HL_SOURCE_PORTS_MAX ||
      s->threads < 0 || s->threads > HL_LOADER_THREADS_MAX || s->depth < 0 ||
      s->depth > HL_LOADER_DEPTH_MAX || s->held < 0 || s->held > HL_LOADER_DEPTH_MAX ||
      s->epochs < 0 || (s->ports && !s->transform) || s->parts < 0 || s->part < 0 ||
      (s->parts > 0 ? s->part >= s->parts : s->part > 0) || (s->parts > 1 && !s->is_whole))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a loader takes 0 to %d threads and 0 to %d batches ahead; these are %d "
                        "and %d",
                        HL_LOADER_THREADS_MAX, HL_LOADER_DEPTH_MAX, s->threads, s->depth);
  return HL_OK;
}

static hl_status make_buffers(hl_loader *l, hl_error *error) {
  size_t ports = l->spec.source->port_count;
  l->ports = calloc(ports, sizeof *l->ports);
  l->slots = calloc(l->slot_count, sizeof *l->slots);
  l->queue = calloc(l->slot_count, sizeof(hl__slot *));
  l->threads = calloc((size_t)l->spec.threads + 1, sizeof *l->threads);
  if (!l->ports || !l->slots || !l->queue || !l->threads)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the loader");
  hl_status status = HL_OK;
  for (size_t i = 0; i < ports && status == HL_OK; i++)
    status = plan_port(&l->spec, i, &l->ports[i], error);
  for (size_t i = 0; i < l->slot_count && status == HL_OK; i++) {
    uint64_t bytes = 0;
    status = hl__slot_init(l->ports, ports, l->spec.batch_size, &l->slots[i], &bytes, error);
    l->buffer_bytes += bytes;
  }
  return status;
}

/* Signals are for the threads of the caller, which expects them. */
static hl_status start_threads(hl_loader *l, hl_error *error) {
  sigset_t all, kept;
  int failed = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &kept);
  for (int i = 0; i < l->spec.threads && !failed; i++) {
    failed = pthread_create(&l->threads[i], NULL, work, l);
    l->thread_count += !failed;
  }
  pthread_sigmask(SIG_SETMASK, &kept, NULL);
  if (!failed) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE, "thread %d of %d of the loader cannot be made: %s",
                      l->thread_count + 1, l->spec.threads, strerror(failed));
}

/* Work for all threads beside a batch that is ready: of batches with fewer samples than there are
 * threads, several are loaded at a time. */
static int depth_for(const hl_loader_spec *spec) {
  int64_t batch = spec->batch_size < 1 ? 1 : spec->batch_size; /* refused later */
  return spec->threads <= batch ? 2 : (int)((spec->threads - 1) / batch) + 2;
}

hl_status hl_loader_new(const hl_loader_spec *spec, hl_loader **ret_loader, hl_error *error) {
  hl_status status = check_spec(spec, error);
  if (status != HL_OK) return status;
  hl_loader *l = calloc(1, sizeof *l);
  if (!l) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the loader");
  l->spec = *spec;
  if (l->spec.depth == 0) l->spec.depth = depth_for(&l->spec);
  if (l->spec.held == 0) l->spec.held = 1;
  if (l->spec.parts == 0) l->spec.parts = 1;
  if (l->spec.threads == 0) l->spec.depth = 1;
  l->slot_count = (size_t)l->spec.depth + (size_t)l->spec.held;
  /* Small enough that the threads end a batch together, large enough to be worth the lock. */
  l->chunk = spec->threads ? spec->batch_size / (4 * spec->threads) : spec->batch_size;
  if (l->chunk < 1) l->chunk = 1;
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->work, NULL);
  pthread_cond_init(&l->progress, NULL);
  status = hl_sample_order_init(spec->source->count, spec->batch_size, spec->seed,
                                spec->is_shuffled, spec->is_whole, &l->order, error);
  l->batches = l->order.batches / l->spec.parts;
  if (status == HL_OK && l->batches < 1)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "%" PRId64 " samples do not fill %" PRId64 " batches of %" PRId64
                          ". Use a smaller batch",
                          spec->source->count, l->spec.parts, spec->batch_size);
  if (status == HL_OK) status = make_buffers(l, error);
  if (status == HL_OK) status = start_threads(l, error);
  if (status != HL_OK)
    hl_loader_free(l);
  else
    *ret_loader = l;
  return status;
}

void hl_loader_free(hl_loader *loader) {
  hl_loader *l = loader;
  if (!l) return;
  pthread_mutex_lock(&l->lock);
  l->ends = true;
  pthread_cond_broadcast(&l->work);
  pthread_mutex_unlock(&l->lock);
  for (int i = 0; i < l->thread_count; i++) pthread_join(l->threads[i], NULL);
  pthread_cond_destroy(&l->progress);
  pthread_cond_destroy(&l->work);
  pthread_mutex_destroy(&l->lock);
  for (size_t i = 0; l->slots && i < l->slot_count; i++) hl__slot_release(&l->slots[i]);
  hl_sample_order_release(&l->order);
  hl__scratch_release(&l->scratch);
  free(l->threads);
  free(l->queue);
  free(l->slots);
  free(l->ports);
  free(l);
}

/* -- use ------------------------------------------------------------------------------------- */

/* Waits until the first batch of the queue is whole; the lock is held. */
static hl_status wait_for_first(hl_loader *l, hl_error *error) {
  while (l->queue_count == 0 || !is_ready(queue_at(l, 0))) {
    size_t held = 0;
    for (size_t i = 0; i < l->slot_count; i++) held += l->slots[i].state == hl__slot_held;
    if (held == l->slot_count)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "all %zu batches of the loader are held; return one first", held);
    if (l->thread_count > 0) {
      pthread_cond_wait(&l->progress, &l->lock);
      continue;
    }
    int64_t from = 0, to = 0;
    hl__slot *slot = take_samples(l, &from, &to);
    if (slot) read_samples(l, slot, from, to, &l->scratch);
  }
  return HL_OK;
}

static void count_batch(hl_loader *l, const hl_batch *batch, size_t ready) {
  hl_loader_statistics *s = &l->statistics;
  if (s->batches == 0) {
    s->first_load_ns = batch->load_ns;
    s->first_wait_ns = batch->wait_ns;
  }
  s->batches++;
  s->samples += batch->count;
  s->late_batches += ready == 0;
  s->load_ns += batch->load_ns;
  s->wait_ns += batch->wait_ns;
  l->ready_sum += (double)ready;
}

hl_status hl_loader_next(hl_loader *loader, const hl_batch **ret_batch, hl_error *error) {
  hl_loader *l = loader;
  uint64_t start = hl_clock_ns();
  pthread_mutex_lock(&l->lock);
  if (l->queue_count == 0 && is_at_end(l)) {
    pthread_mutex_unlock(&l->lock);
    *ret_batch = NULL;
    return HL_OK;
  }
  size_t ready = 0;
  while (ready < l->queue_count && is_ready(queue_at(l, ready))) ready++;
  hl_status status = wait_for_first(l, error);
  hl__slot *slot = status == HL_OK ? queue_at(l, 0) : NULL;
  if (slot && slot->status != HL_OK) {
    status = slot->status;
    if (error) *error = slot->error;
  } else if (slot) {
    slot->state = hl__slot_held;
    l->queue_first = (l->queue_first + 1) % l->slot_count;
    l->queue_count--;
    slot->batch.wait_ns = hl_clock_ns() - start;
    count_batch(l, &slot->batch, ready);
    *ret_batch = &slot->batch;
  }
  pthread_mutex_unlock(&l->lock);
  return status;
}

void hl_loader_return(hl_loader *loader, const hl_batch *batch) {
  hl__slot *slot = (hl__slot *)(uintptr_t)batch; /* the batch is its first member */
  pthread_mutex_lock(&loader->lock);
  slot->state = hl__slot_free;
  pthread_cond_broadcast(&loader->work);
  pthread_mutex_unlock(&loader->lock);
}

hl_status hl_loader_seek(hl_loader *loader, int64_t epoch, int64_t number, hl_error *error) {
  hl_loader *l = loader;
  if (epoch < 0 || (l->spec.epochs > 0 && epoch >= l->spec.epochs) || number < 0 ||
      number >= l->batches)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "there is no batch %" PRId64 " in epoch %" PRId64 ": there are %" PRId64
                        " batches in an epoch, counted from 0",
                        number, epoch, l->batches);
  pthread_mutex_lock(&l->lock);
  l->is_paused = true;
  while (l->busy > 0) pthread_cond_wait(&l->progress, &l->lock);
  for (size_t i = 0; i < l->queue_count; i++) queue_at(l, i)->state = hl__slot_free;
  l->queue_count = 0;
  l->next_epoch = epoch;
  l->next_number = number;
  l->is_paused = false;
  pthread_cond_broadcast(&l->work);
  pthread_mutex_unlock(&l->lock);
  return HL_OK;
}

void hl_loader_get_statistics(hl_loader *loader, hl_loader_statistics *ret_statistics) {
  pthread_mutex_lock(&loader->lock);
  hl_loader_statistics s = loader->statistics;
  s.mean_ready = s.batches ? loader->ready_sum / (double)s.batches : (double)NAN;
  pthread_mutex_unlock(&loader->lock);
  s.buffer_bytes = loader->buffer_bytes;
  s.threads = loader->thread_count;
  s.depth = loader->thread_count ? loader->spec.depth : 0;
  *ret_statistics = s;
}

int64_t hl_loader_threads_needed(double load_ns, double step_ns) {
  if (!(load_ns > 0)) return 0;
  double needed = step_ns > 0 ? ceil(load_ns / step_ns) : INFINITY;
  return needed < (double)INT64_MAX ? (int64_t)needed : INT64_MAX;
}
