/*
 * report/flame-tree.h - a profile's calls added up by their stack of names (inside src/report
 * only).
 */
#ifndef HL_REPORT_FLAME_TREE_H
#define HL_REPORT_FLAME_TREE_H

#include "record/profile.h"

typedef struct hl__flame_node {
  const char *name;                     /* borrowed from the profile or the tree */
  const char *kind;                     /* of the operator; "" of a phase or thread */
  int32_t parent, first, last, sibling; /* -1: none; children in order of appearance */
  int32_t depth;                        /* of the root 0 */
  uint64_t calls, total_ns, self_ns;
} hl__flame_node;

typedef struct hl__flame_tree {
  hl__flame_node *nodes; /* [0] is the root, which has no name */
  size_t count, capacity;
  int32_t *slots; /* open addressing by parent and name */
  size_t slot_count;
  hl_arena names;
} hl__flame_tree;

hl_status hl__flame_tree_init(hl__flame_tree *ret_tree, const hl_profile *profile, hl_error *error);
void hl__flame_tree_release(hl__flame_tree *tree);

#endif
