#include "report/flame-tree.h"

#include "base/hash.h"
#include "record/profile-nest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(hl__flame_tree *t) {
  size_t capacity = t->capacity ? t->capacity * 2 : 64, slot_count = capacity * 2;
  hl__flame_node *nodes = realloc(t->nodes, capacity * sizeof *nodes);
  if (!nodes) return false;
  t->nodes = nodes;
  int32_t *slots = malloc(slot_count * sizeof *slots);
  if (!slots) return false;
  free(t->slots);
  t->slots = slots;
  t->slot_count = slot_count;
  t->capacity = capacity;
  memset(slots, 0xff, slot_count * sizeof *slots); /* -1 */
  for (size_t i = 1; i < t->count; i++) {
    uint64_t hash = hl_hash_text(HL_HASH_START + (uint64_t)nodes[i].parent, nodes[i].name);
    size_t at = hash % slot_count;
    while (slots[at] >= 0) at = (at + 1) % slot_count;
    slots[at] = (int32_t)i;
  }
  return true;
}

/* The child of that name, made where there is none; -1 without memory. */
static int32_t child_of(hl__flame_tree *t, int32_t parent, const char *name, const char *kind) {
  if (parent < 0 || (t->count >= t->capacity && !grow(t))) return -1;
  uint64_t hash = hl_hash_text(HL_HASH_START + (uint64_t)parent, name);
  size_t at = hash % t->slot_count;
  for (; t->slots[at] >= 0; at = (at + 1) % t->slot_count) {
    const hl__flame_node *n = &t->nodes[t->slots[at]];
    if (n->parent == parent && strcmp(n->name, name) == 0) return t->slots[at];
  }
  int32_t made = (int32_t)t->count++;
  t->slots[at] = made;
  hl__flame_node *up = &t->nodes[parent];
  t->nodes[made] = (hl__flame_node){.name = name,
                                    .kind = kind,
                                    .parent = parent,
                                    .first = -1,
                                    .last = -1,
                                    .sibling = -1,
                                    .depth = up->depth + 1};
  if (up->last >= 0)
    t->nodes[up->last].sibling = made;
  else
    up->first = made;
  up->last = made;
  return made;
}

/* Where a call goes that lies in no other: the root, or its thread or phase below that. */
static int32_t base_of(hl__flame_tree *t, const hl_profile_operator *o, int32_t thread) {
  int32_t at = 0;
  if (thread != 0) {
    char name[32];
    snprintf(name, sizeof name, "thread %d", (int)thread);
    const char *kept = hl_arena_text(&t->names, name);
    at = kept ? child_of(t, at, kept, "") : -1;
  }
  if (*o->phase && strcmp(o->phase, o->name) != 0) at = child_of(t, at, o->phase, "");
  return at;
}

/* The node of each event, by the events around it. */
static bool add_events(hl__flame_tree *t, const hl_profile *p, const hl_profile_nest *nest,
                       int32_t *node_of) {
  for (size_t i = 0; i < nest->count; i++) {
    uint32_t index = nest->order[i];
    const hl_profile_event *e = &p->events[index];
    node_of[index] = 0;
    int32_t at = e->operator, parent = nest->parent[index];
    if (at < 0 || (size_t)at >= p->operator_count) continue;
    const hl_profile_operator *o = &p->operators[at];
    at = parent >= 0 ? node_of[parent] : base_of(t, o, e->thread);
    at = child_of(t, at, o->name, o->kind);
    if (at < 0) return false;
    node_of[index] = at;
    t->nodes[at].calls++;
    t->nodes[at].self_ns += nest->self_ns[index];
  }
  return true;
}

/* The time of steps that no call of the submitting thread covers. */
static bool add_rest(hl__flame_tree *t, const hl_profile *p, const hl_profile_nest *nest) {
  uint64_t steps = 0, calls = 0;
  for (size_t i = 0; i < p->step_count; i++) steps += p->step_ns[i];
  for (size_t i = 0; i < nest->count; i++)
    if (nest->parent[i] < 0 && p->events[i].thread == 0) calls += p->events[i].duration_ns;
  if (steps <= calls) return true;
  int32_t at = child_of(t, 0, "(between operators)", "");
  if (at < 0) return false;
  t->nodes[at].calls = p->step_count;
  t->nodes[at].self_ns = steps - calls;
  return true;
}

hl_status hl__flame_tree_init(hl__flame_tree *ret_tree, const hl_profile *profile,
                              hl_error *error) {
  hl_profile_nest nest;
  hl_status status = hl_profile_nest_init(&nest, profile, error);
  if (status != HL_OK) return status;
  hl__flame_tree t = {0};
  hl_arena_init(&t.names, (size_t)256 << 20);
  int32_t *node_of = calloc(nest.count ? nest.count : 1, sizeof *node_of);
  bool ok = node_of && grow(&t);
  if (ok) {
    t.nodes[t.count++] = (hl__flame_node){
        .name = "", .kind = "", .parent = -1, .first = -1, .last = -1, .sibling = -1};
    ok = add_events(&t, profile, &nest, node_of) && add_rest(&t, profile, &nest);
  }
  free(node_of);
  hl_profile_nest_release(&nest);
  if (!ok) {
    hl__flame_tree_release(&t);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a profile's stacks");
  }
  /* Children come after their parents. */
  for (size_t i = t.count; i-- > 0;) {
    hl__flame_node *n = &t.nodes[i];
    n->total_ns += n->self_ns;
    if (n->parent >= 0) t.nodes[n->parent].total_ns += n->total_ns;
  }
  *ret_tree = t;
  return HL_OK;
}

void hl__flame_tree_release(hl__flame_tree *tree) {
  free(tree->nodes);
  free(tree->slots);
  hl_arena_release(&tree->names);
  *tree = (hl__flame_tree){0};
}
