/*
 * data/loader.h - batches of samples, prepared ahead in threads.
 *
 *     hl_loader_spec spec = {.source = source, .batch_size = 32, .threads = 2, .depth = 4,
 *                            .seed = 42, .is_shuffled = true, .epochs = 10};
 *     hl_loader *loader;
 *     hl_loader_new(&spec, &loader, error);
 *     for (const hl_batch *batch;;) {
 *       status = hl_loader_next(loader, &batch, error);
 *       if (status != HL_OK || !batch) break;              (failed, or all epochs are done)
 *       train(batch->values, batch->count);
 *       hl_loader_return(loader, batch);
 *     }
 *     hl_loader_free(loader);
 *
 * A batch is a function of source, batch size, seed, epoch and number alone: the same for any
 * number of threads and any depth. Its samples are shared out among the threads, so that the first
 * batch is there as soon as they can make it. Loading goes on over the end of an epoch.
 *
 * One thread calls next, seek, statistics and free; any thread may return a batch.
 */
#ifndef HL_DATA_LOADER_H
#define HL_DATA_LOADER_H

#include "data/source.h"

enum { HL_LOADER_THREADS_MAX = 256, HL_LOADER_DEPTH_MAX = 1024 };

/* Makes the values that are trained with (`values`, room for each of the loader's ports) from those
 * of the source (`sample`): a crop, a flip, noise. `seed` is of this sample in this epoch. Data of
 * a constant port is NULL in both. Called by several threads at a time. */
typedef hl_status (*hl_loader_transform)(void *context, uint64_t seed, const hl_tensor_view *sample,
                                         const hl_tensor_view *values, hl_error *error);

typedef struct hl_loader_spec {
  const hl_source *source; /* borrowed; outlives the loader */
  int64_t batch_size;      /* samples; >= 1 */
  int threads;             /* 0: batches are loaded in the caller's thread, when it asks */
  int depth;               /* batches ready beside those the caller holds; 0: 2, or as many as
                              give all threads work */
  int held;                /* batches that the caller holds at a time; 0: 1 */
  uint64_t seed;
  int64_t part, parts; /* with `is_whole`: every so many batches in order are one, of which this
                          part is loaded; 0 parts: 1 */
  bool is_shuffled;    /* another permutation in each epoch; false: in their order */
  bool is_whole;       /* leaves out the last batch of an epoch where it is not full */
  int64_t epochs;      /* 0: without end */
  hl_loader_transform transform; /* may be NULL */
  void *transform_context;
  /* What `transform` makes, one for each port of the source; NULL: the source's own. Without a
   * transform no dimension may be open. Borrowed for the call. */
  const hl_source_port *ports;
} hl_loader_spec;

/* A batch, valid until it is returned. */
typedef struct hl_batch {
  int64_t epoch, number; /* from 0; `number` within the epoch */
  int64_t count;         /* samples: batch_size, or fewer in the last of an epoch */
  size_t value_count;
  const hl_tensor_view *values; /* dims[0] is `count`, but for a constant; 64-byte aligned */
  const int64_t *indices;       /* of the samples in the source */
  uint64_t load_ns;             /* spent by the threads, the sum over its samples */
  uint64_t wait_ns;             /* the caller stood waiting for it */
} hl_batch;

typedef struct hl_loader_statistics {
  int64_t batches, samples;              /* given to the caller */
  int64_t late_batches;                  /* of these, not ready when they were asked for */
  uint64_t load_ns, wait_ns;             /* sums over them */
  uint64_t first_load_ns, first_wait_ns; /* the first batch's part of the sums */
  double mean_ready; /* batches that were ready when one was asked for, on average; NaN: none was */
  uint64_t buffer_bytes; /* held for batches */
  int threads, depth;
} hl_loader_statistics;

typedef struct hl_loader hl_loader;

/* Starts the threads, which load at once. INVALID_ARGUMENT, LIMIT (a batch beyond 2^63 bytes),
 * OUT_OF_MEMORY, UNAVAILABLE (no thread can be made). */
hl_status hl_loader_new(const hl_loader_spec *spec, hl_loader **ret_loader, hl_error *error);

/* Ends and joins the threads. Batches are gone. NULL is fine. */
void hl_loader_free(hl_loader *loader);

/* The next batch, in order; NULL behind the last epoch. What reading it failed with is returned
 * here, and again until a seek goes elsewhere; of several samples the first one's. INVALID_ARGUMENT
 * where the caller holds more batches than it said. */
hl_status hl_loader_next(hl_loader *loader, const hl_batch **ret_batch, hl_error *error);

/* Gives the buffers of a batch back. */
void hl_loader_return(hl_loader *loader, const hl_batch *batch);

/* The next batch is this one. What was loaded ahead is thrown away; batches that the caller holds
 * stay. INVALID_ARGUMENT outside of the epochs or their batches. */
hl_status hl_loader_seek(hl_loader *loader, int64_t epoch, int64_t number, hl_error *error);

void hl_loader_get_statistics(hl_loader *loader, hl_loader_statistics *ret_statistics);

/* How many threads would keep up with steps of `step_ns`: ceil(load / step), where `load_ns` is the
 * work for one batch. It counts on a core for each of them. 0 if there is no load; at least 1
 * otherwise. */
int64_t hl_loader_threads_needed(double load_ns, double step_ns);

#endif
