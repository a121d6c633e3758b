#include "peers/gradients.h"

#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

typedef struct member {
  float *values;     /* the engine's */
  const float *copy; /* in a bucket; NULL: summed up in place */
  size_t count;
} member;

typedef struct bucket {
  float *values;
  size_t filled;
} bucket;

struct hl_peer_gradients {
  const hl_transport_ops *ops;
  float share; /* 1 / ranks */
  size_t bucket_floats;
  bool is_silent;
  member *members; /* of this step */
  size_t member_count, member_capacity;
  bucket *buckets;
  size_t bucket_count; /* begun or being filled */
  size_t bucket_capacity;
  bool is_open; /* the last bucket's sum has not begun */
  uint64_t first_ns;
  hl_peer_times times;
};

hl_status hl_peer_gradients_new(const hl_transport_ops *ops, int64_t count, size_t bucket_bytes,
                                hl_peer_gradients **ret_gradients, hl_error *error) {
  hl_peer_gradients *g = calloc(1, sizeof *g);
  if (!g) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for gradients");
  g->ops = ops;
  g->share = 1.0F / (float)count;
  g->bucket_floats = bucket_bytes / sizeof(float);
  *ret_gradients = g;
  return HL_OK;
}

void hl_peer_gradients_free(hl_peer_gradients *gradients) {
  hl_peer_gradients *g = gradients;
  if (!g) return;
  for (size_t i = 0; i < g->bucket_capacity; i++) free(g->buckets[i].values);
  free(g->buckets);
  free(g->members);
  free(g);
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a bucket of gradients");
}

static hl_status begin(hl_peer_gradients *g, float *values, size_t count, hl_error *error) {
  if (g->times.sums++ == 0) g->first_ns = hl_clock_ns();
  return g->ops->sum_begin(values, count, error);
}

static hl_status close_bucket(hl_peer_gradients *g, hl_error *error) {
  if (!g->is_open) return HL_OK;
  g->is_open = false;
  const bucket *last = &g->buckets[g->bucket_count - 1];
  return begin(g, last->values, last->filled, error);
}

/* Buckets are kept from step to step. */
static hl_status open_bucket(hl_peer_gradients *g, hl_error *error) {
  if (g->bucket_count == g->bucket_capacity) {
    bucket *more = realloc(g->buckets, (g->bucket_capacity + 1) * sizeof *more);
    if (!more) return no_memory(error);
    g->buckets = more;
    g->buckets[g->bucket_capacity] = (bucket){.values = malloc(g->bucket_floats * sizeof(float))};
    if (!g->buckets[g->bucket_capacity].values) return no_memory(error);
    g->bucket_capacity++;
  }
  g->buckets[g->bucket_count++].filled = 0;
  g->is_open = true;
  return HL_OK;
}

static hl_status put_into_bucket(hl_peer_gradients *g, member *m, hl_error *error) {
  hl_status status = HL_OK;
  if (g->is_open && g->buckets[g->bucket_count - 1].filled + m->count > g->bucket_floats)
    status = close_bucket(g, error);
  if (status == HL_OK && !g->is_open) status = open_bucket(g, error);
  if (status != HL_OK) return status;
  bucket *b = &g->buckets[g->bucket_count - 1];
  memcpy(b->values + b->filled, m->values, m->count * sizeof(float));
  m->copy = b->values + b->filled;
  b->filled += m->count;
  return HL_OK;
}

static hl_status add(hl_peer_gradients *g, const hl_tensor_view *view, hl_error *error) {
  if (view->dtype != HL_FLOAT32)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the gradient of '%.90s' is not float32, which several processes need",
                        view->name ? view->name : "?");
  if (g->member_count == g->member_capacity) {
    size_t capacity = g->member_capacity ? 2 * g->member_capacity : 64;
    member *more = realloc(g->members, capacity * sizeof *more);
    if (!more) return no_memory(error);
    g->members = more;
    g->member_capacity = capacity;
  }
  member *m = &g->members[g->member_count++];
  *m = (member){.values = view->data, .count = (size_t)view->bytes / sizeof(float)};
  g->times.bytes += view->bytes;
  if (m->count >= g->bucket_floats) return begin(g, m->values, m->count, error);
  return put_into_bucket(g, m, error);
}

hl_status hl_peer_gradients_ready(hl_peer_gradients *gradients, const hl_tensor_view *gradient,
                                  hl_error *error) {
  hl_peer_gradients *g = gradients;
  uint64_t start = hl_clock_ns();
  bool done;
  if (g->is_silent) return HL_OK;
  hl_status status = add(g, gradient, error);
  if (status == HL_OK && g->times.sums) status = g->ops->sum_test(&done, error);
  g->times.ready_ns += hl_clock_ns() - start;
  return status;
}

static hl_status finish(hl_peer_gradients *g, uint64_t start, hl_error *error) {
  for (;;) {
    bool done = false, warned = false;
    hl_status status = g->ops->sum_test(&done, error);
    if (status != HL_OK || done) return status;
    status = g->ops->warned(&warned, error);
    if (status != HL_OK) return status;
    if (warned) return hl_error_set(error, HL_INTERRUPTED, "another rank has failed");
    hl_clock_pause_since(start);
  }
}

/* Sum and exclusive or of the bits, a word at a time: fast, and it notices a single other bit. */
static uint64_t add_bits(uint64_t checksum, const float *values, size_t count) {
  uint32_t mixed = 0, sum = 0, bits;
  for (size_t k = 0; k < count; k++) {
    memcpy(&bits, &values[k], sizeof bits);
    mixed ^= bits;
    sum += bits;
  }
  return checksum * 31 + ((uint64_t)mixed << 32 | sum);
}

static void give_back(hl_peer_gradients *g) {
  for (size_t i = 0; i < g->member_count; i++) {
    const member *m = &g->members[i];
    const float *from = m->copy ? m->copy : m->values;
    g->times.checksum = add_bits(g->times.checksum, from, m->count);
    for (size_t k = 0; k < m->count; k++) m->values[k] = from[k] * g->share;
  }
  g->member_count = g->bucket_count = 0;
}

hl_status hl_peer_gradients_wait(hl_peer_gradients *gradients, hl_error *error) {
  hl_peer_gradients *g = gradients;
  uint64_t start = hl_clock_ns();
  if (g->is_silent) return HL_OK;
  hl_status status = close_bucket(g, error);
  if (status == HL_OK) status = finish(g, start, error);
  uint64_t end = hl_clock_ns();
  if (g->times.sums) {
    g->times.reduce_ns += end - g->first_ns;
    g->times.exposed_ns += end - (g->first_ns > start ? g->first_ns : start);
  }
  if (status != HL_OK) return status;
  give_back(g);
  g->times.ready_ns += hl_clock_ns() - end;
  return HL_OK;
}

void hl_peer_gradients_silence(hl_peer_gradients *gradients) {
  gradients->is_silent = true;
}

void hl_peer_gradients_times(hl_peer_gradients *gradients, hl_peer_times *ret_times) {
  *ret_times = gradients->times;
  gradients->times = (hl_peer_times){0};
}
