#include "compile/memory-plan.h"
#include <stdlib.h>

/* Rounds of moving what lies on top to the front of the order, as long as they cost so much. */
#define MOST_ROUNDS 200
#define MOST_LOOKS 4e7

typedef struct order {
  double first, second; /* the larger comes first */
  size_t index;
} order;

/* Everything one attempt needs, allocated once. */
typedef struct attempt {
  hl_native_piece *pieces;
  size_t count;
  order *orders;
  hl_native_piece **placed; /* by place */
  uint64_t *best;           /* places of the best attempt */
  double *breadths;         /* by piece: the most that lives at one of its steps */
  uint64_t bound;           /* of that the most: no plan can need less */
  uint64_t top;             /* of the best attempt */
} attempt;

static int larger_first(const void *a, const void *b) {
  const order *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? 1 : -1;
  if (x->second != y->second) return x->second < y->second ? 1 : -1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* The lowest gap between what is placed and lives at the same time; then one more is placed. */
static void place_one(attempt *a, hl_native_piece *piece, size_t done) {
  uint64_t bytes = hl_native_rounded(piece->bytes), at = 0;
  for (size_t i = 0; i < done; i++) {
    const hl_native_piece *other = a->placed[i];
    if (other->first > piece->last || piece->first > other->last) continue;
    if (other->place >= at + bytes) break;
    uint64_t end = other->place + hl_native_rounded(other->bytes);
    if (end > at) at = end;
  }
  piece->place = at;
  size_t to = done;
  for (; to > 0 && a->placed[to - 1]->place > at; to--) a->placed[to] = a->placed[to - 1];
  a->placed[to] = piece;
}

/* Places in the given order; keeps the result if it is the best one. Returns which piece (in the
 * order) ends on top. */
static size_t place_all(attempt *a) {
  uint64_t top = 0;
  size_t highest = 0;
  for (size_t i = 0; i < a->count; i++) {
    hl_native_piece *piece = &a->pieces[a->orders[i].index];
    place_one(a, piece, i);
    uint64_t end = piece->place + hl_native_rounded(piece->bytes);
    if (end > top) {
      top = end;
      highest = i;
    }
  }
  if (top < a->top) {
    a->top = top;
    for (size_t i = 0; i < a->count; i++) a->best[i] = a->pieces[i].place;
  }
  return highest;
}

/* Sums of what lives, by step. */
static hl_status find_breadths(attempt *a, hl_error *error) {
  int32_t steps = 0;
  for (size_t i = 0; i < a->count; i++)
    if (a->pieces[i].last >= steps) steps = a->pieces[i].last + 1;
  uint64_t *live = calloc((size_t)steps + 1, sizeof(*live));
  if (!live) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to plan memory");
  for (size_t i = 0; i < a->count; i++)
    for (int32_t s = a->pieces[i].first; s <= a->pieces[i].last; s++)
      live[s] += hl_native_rounded(a->pieces[i].bytes);
  for (size_t i = 0; i < a->count; i++)
    for (int32_t s = a->pieces[i].first; s <= a->pieces[i].last; s++)
      if ((double)live[s] > a->breadths[i]) a->breadths[i] = (double)live[s];
  for (int32_t s = 0; s < steps; s++)
    if (live[s] > a->bound) a->bound = live[s];
  free(live);
  return HL_OK;
}

/* What is placed first: the largest; what takes most room in time; what lives when most does. */
static void put_in_order(attempt *a, int rule) {
  for (size_t i = 0; i < a->count; i++) {
    const hl_native_piece *piece = &a->pieces[i];
    double bytes = (double)piece->bytes, life = (double)(piece->last - piece->first + 1);
    a->orders[i] = (order){.first = rule == 0   ? bytes
                                    : rule == 1 ? bytes * life
                                    : rule == 2 ? a->breadths[i]
                                                : life,
                           .second = bytes,
                           .index = i};
  }
  qsort(a->orders, a->count, sizeof(*a->orders), larger_first);
}

static void attempt_all(attempt *a) {
  double looks = (double)a->count * (double)a->count;
  int rounds = looks * MOST_ROUNDS > MOST_LOOKS ? (int)(MOST_LOOKS / looks) : MOST_ROUNDS;
  for (int rule = 0; rule < 4 && a->top > a->bound; rule++) {
    put_in_order(a, rule);
    size_t highest = place_all(a);
    for (int k = 0; k < rounds && a->top > a->bound && highest > 0; k++) {
      order moved = a->orders[highest];
      for (size_t i = highest; i > 0; i--) a->orders[i] = a->orders[i - 1];
      a->orders[0] = moved;
      highest = place_all(a);
    }
  }
}

hl_status hl_native_place(hl_native_piece *pieces, size_t count, uint64_t *ret_bytes,
                          hl_error *error) {
  attempt a = {.pieces = pieces, .count = count, .top = UINT64_MAX};
  a.orders = malloc((count + 1) * sizeof(*a.orders));
  a.placed = malloc((count + 1) * sizeof(*a.placed));
  a.best = malloc((count + 1) * sizeof(*a.best));
  a.breadths = calloc(count + 1, sizeof(*a.breadths));
  hl_status status = a.orders && a.placed && a.best && a.breadths
                         ? find_breadths(&a, error)
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to plan memory");
  if (status == HL_OK) {
    attempt_all(&a);
    for (size_t i = 0; i < count; i++) pieces[i].place = a.best[i];
    *ret_bytes = count ? a.top : 0;
  }
  free(a.orders);
  free(a.placed);
  free(a.best);
  free(a.breadths);
  return status;
}

hl_status hl_native_memory_plan(hl_native_list *list, hl_error *error) {
  hl_native_piece *pieces = calloc((size_t)list->tensor_count + 1, sizeof(*pieces));
  if (!pieces) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to plan memory");
  size_t count = 0;
  list->output_bytes = 0;
  for (int32_t i = 0; i < list->tensor_count; i++) {
    hl_native_tensor *t = &list->tensors[i];
    if (t->root != i || t->first < 0) continue;
    if (t->home == HL_HOME_OUTPUT) {
      t->place = list->output_bytes;
      list->output_bytes += hl_native_rounded(t->bytes);
    } else if (t->home == HL_HOME_ARENA) {
      pieces[count++] = (hl_native_piece){.bytes = t->bytes, .first = t->first, .last = t->last};
    }
  }
  hl_status status = hl_native_place(pieces, count, &list->arena_bytes, error);
  count = 0;
  for (int32_t i = 0; i < list->tensor_count && status == HL_OK; i++) {
    hl_native_tensor *t = &list->tensors[i];
    if (t->root == i && t->first >= 0 && t->home == HL_HOME_ARENA) t->place = pieces[count++].place;
  }
  free(pieces);
  return status;
}
