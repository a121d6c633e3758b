#include "record/profile-nest.h"

#include <stdlib.h>
#include <string.h>

/* What is sorted: qsort has no context. */
typedef struct entry {
  uint64_t start, end;
  int32_t thread;
  uint32_t index;
  bool is_span;
} entry;

static int compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->end != y->end) return x->end > y->end ? -1 : 1; /* the longer lies around */
  if (x->is_span != y->is_span) return x->is_span ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_span(const hl_profile *p, const hl_profile_event *e) {
  int32_t at = e->operator;
  return at >= 0 && (size_t)at < p->operator_count && strcmp(p->operators[at].kind, "span") == 0;
}

static void fill(entry *entries, const hl_profile *p) {
  for (size_t i = 0; i < p->event_count; i++) {
    const hl_profile_event *e = &p->events[i];
    uint64_t room = UINT64_MAX - e->start_ns; /* a file may say anything */
    entries[i] = (entry){.start = e->start_ns,
                         .end = e->start_ns + (e->duration_ns < room ? e->duration_ns : room),
                         .thread = e->thread,
                         .index = (uint32_t)i,
                         .is_span = is_span(p, e)};
  }
  qsort(entries, p->event_count, sizeof *entries, compare);
}

/* An empty event at another's end is not within it, unless that is empty, too. */
static bool holds(const entry *outer, const entry *inner) {
  return outer->thread == inner->thread && inner->end <= outer->end &&
         (inner->start < outer->end || inner->start == outer->start);
}

static void link_up(hl_profile_nest *nest, const hl_profile *p, const entry *entries,
                    uint32_t *stack) {
  size_t depth = 0;
  for (size_t i = 0; i < nest->count; i++) {
    const entry *e = &entries[i];
    while (depth && !holds(&entries[stack[depth - 1]], e)) depth--;
    nest->order[i] = e->index;
    nest->parent[e->index] = depth ? (int32_t)entries[stack[depth - 1]].index : -1;
    nest->self_ns[e->index] = p->events[e->index].duration_ns;
    if (depth) {
      uint64_t *self = &nest->self_ns[nest->parent[e->index]];
      uint64_t taken = p->events[e->index].duration_ns;
      *self -= taken < *self ? taken : *self;
    }
    stack[depth++] = (uint32_t)i;
  }
}

hl_status hl_profile_nest_init(hl_profile_nest *ret_nest, const hl_profile *profile,
                               hl_error *error) {
  size_t count = profile->event_count, room = count ? count : 1;
  hl_profile_nest nest = {.count = count,
                          .order = calloc(room, sizeof *nest.order),
                          .parent = calloc(room, sizeof *nest.parent),
                          .self_ns = calloc(room, sizeof *nest.self_ns)};
  entry *entries = calloc(room, sizeof *entries);
  uint32_t *stack = calloc(room, sizeof *stack);
  bool ok = nest.order && nest.parent && nest.self_ns && entries && stack;
  if (ok) {
    fill(entries, profile);
    link_up(&nest, profile, entries, stack);
    *ret_nest = nest;
  } else {
    hl_profile_nest_release(&nest);
  }
  free(entries);
  free(stack);
  return ok ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a profile");
}

void hl_profile_nest_release(hl_profile_nest *nest) {
  free(nest->order);
  free(nest->parent);
  free(nest->self_ns);
  *nest = (hl_profile_nest){0};
}
