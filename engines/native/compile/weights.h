/*
 * compile/weights.h - weights in the layouts that kernels want, made once and shared.
 *
 * A program asks for weights by recipe: which constant, how it is scaled or extended, and which
 * layout is wanted. The model keeps every weight that was ever made, so that programs for other
 * batch sizes find theirs ready. Once made, the pages of the file behind a constant are given back.
 */
#ifndef HL_NATIVE_COMPILE_WEIGHTS_H
#define HL_NATIVE_COMPILE_WEIGHTS_H

#include "native.h"

typedef struct hl_native_recipe {
  hl_value_id value;
  hl_value_id scale; /* a factor for each index of axis `scale_axis`, or -1 */
  int scale_axis;
  /* The constant lies at `extend_begin` of an axis extended to `extend_total` with zeros; -1: no */
  int extend_axis;
  int64_t extend_begin, extend_total;
  /* How the (extended) constant is read; NULL: its bytes are copied as they are. */
  const_dnnl_memory_desc_t source;
  bool winograd; /* transformed by hl_winograd_weights; the wanted layout is NULL */
  bool half;     /* so, by hl_winograd_half_weights */
} hl_native_recipe;

#define HL_NATIVE_RECIPE(id) ((hl_native_recipe){.value = (id), .scale = -1, .extend_axis = -1})

typedef struct hl_native_weight {
  hl_native_recipe recipe;
  uint64_t hash[2];              /* of what the recipe reads */
  const_dnnl_memory_desc_t desc; /* wanted; NULL: bytes as they are. Owned by the program's list */
  uint64_t bytes;
  const void *data; /* in the cache, once made */
} hl_native_weight;

struct hl_native_list;

hl_status hl_native_weights_new(hl_native_weights **ret_weights, hl_error *error);
void hl_native_weights_free(hl_native_weights *weights, hl_native_account *account);

/* Identifies what a recipe reads: constants of the file by place, folded ones by content. */
void hl_native_recipe_hash(const hl_model *model, const hl_graph *graph,
                           const hl_native_recipe *recipe, uint64_t ret_hash[2]);
/* How large the weight will be. */
uint64_t hl_native_weight_bytes(const hl_graph *graph, const hl_native_recipe *recipe,
                                const_dnnl_memory_desc_t desc);
/* Do two requests give the same bytes? */
bool hl_native_weight_equal(const hl_native_weight *a, const hl_native_weight *b);

/* Fills `data` of each weight, making those that the model does not have yet. */
hl_status hl_native_weights_make(hl_model *model, const hl_graph *graph, hl_native_weight *list,
                                 int32_t count, hl_error *error);

/* Copies a constant of the model, giving back the pages of the file that were read. */
void hl_native_copy(hl_model *model, void *to, const void *from, uint64_t bytes);

#endif
