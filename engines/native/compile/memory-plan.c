#include "compile/memory-plan.h"
#include <stdlib.h>

#define ALIGN 64u

typedef struct order {
  uint64_t bytes;
  size_t index;
} order;

static int larger_first(const void *a, const void *b) {
  const order *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int by_place(const void *a, const void *b) {
  const hl_native_piece *x = *(hl_native_piece *const *)a, *y = *(hl_native_piece *const *)b;
  return x->place < y->place ? -1 : x->place > y->place;
}

static uint64_t rounded(uint64_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* The lowest gap between the neighbours (sorted by place) that holds `bytes`. */
static uint64_t lowest_gap(hl_native_piece *const *neighbours, size_t count, uint64_t bytes) {
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    if (neighbours[i]->place >= at + bytes) break;
    uint64_t end = neighbours[i]->place + rounded(neighbours[i]->bytes);
    if (end > at) at = end;
  }
  return at;
}

hl_status hl_native_place(hl_native_piece *pieces, size_t count, uint64_t *ret_bytes,
                          hl_error *error) {
  order *orders = malloc((count + 1) * sizeof(*orders));
  hl_native_piece **neighbours = malloc((count + 1) * sizeof(*neighbours));
  if (!orders || !neighbours) {
    free(orders);
    free(neighbours);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to plan memory");
  }
  for (size_t i = 0; i < count; i++) orders[i] = (order){pieces[i].bytes, i};
  qsort(orders, count, sizeof(*orders), larger_first);
  uint64_t top = 0;
  for (size_t i = 0; i < count; i++) {
    hl_native_piece *piece = &pieces[orders[i].index];
    size_t near = 0;
    for (size_t k = 0; k < i; k++) {
      hl_native_piece *other = &pieces[orders[k].index];
      if (other->first <= piece->last && piece->first <= other->last) neighbours[near++] = other;
    }
    qsort(neighbours, near, sizeof(*neighbours), by_place);
    piece->place = lowest_gap(neighbours, near, rounded(piece->bytes));
    if (piece->place + rounded(piece->bytes) > top) top = piece->place + rounded(piece->bytes);
  }
  free(orders);
  free(neighbours);
  *ret_bytes = top;
  return HL_OK;
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
      list->output_bytes += rounded(t->bytes);
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
