#include "compile/weights.h"
#include "compile/builder.h"
#include "winograd/half.h"
#include "winograd/winograd.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pieces of a large weight are multiples of this, as blocks of oneDNN's layouts are at most. */
#define PIECE_ALIGN 64

struct hl_native_weights {
  hl_native_weight *items; /* descriptors are clones of the cache's own */
  size_t count, capacity;
  hl_native_buffer *blocks; /* one for each preparation that made something new */
  size_t block_count, block_capacity;
};

hl_status hl_native_weights_new(hl_native_weights **ret_weights, hl_error *error) {
  hl_native_weights *weights = calloc(1, sizeof(*weights));
  if (!weights) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of weights");
  *ret_weights = weights;
  return HL_OK;
}

static void item_release(hl_native_weight *item) {
  if (item->desc) dnnl_memory_desc_destroy((dnnl_memory_desc_t)item->desc);
  if (item->recipe.source) dnnl_memory_desc_destroy((dnnl_memory_desc_t)item->recipe.source);
}

void hl_native_weights_free(hl_native_weights *weights, hl_native_account *account) {
  if (!weights) return;
  for (size_t i = 0; i < weights->count; i++) item_release(&weights->items[i]);
  for (size_t i = 0; i < weights->block_count; i++)
    hl_native_buffer_release(&weights->blocks[i], account);
  free(weights->items);
  free(weights->blocks);
  free(weights);
}

/* -- identity ------------------------------------------------------------------------------- */

/* Two multiply-rotate lanes over 8-byte words; only equality matters, inputs are our own. */
static void mix(uint64_t hash[2], uint64_t word) {
  hash[0] = (hash[0] ^ word) * 0x9E3779B97F4A7C15u;
  hash[0] ^= hash[0] >> 29;
  hash[1] = (hash[1] + word) * 0xC2B2AE3D27D4EB4Fu;
  hash[1] = (hash[1] << 31) | (hash[1] >> 33);
}

static void mix_constant(const hl_model *model, const hl_graph *graph, hl_value_id id,
                         uint64_t hash[2]) {
  if (id < 0) {
    mix(hash, 0);
    return;
  }
  const hl_value *value = &graph->values[id];
  mix(hash, value->bytes);
  if ((size_t)id < model->graph->value_count && model->graph->values[id].data == value->data) {
    mix(hash, (uint64_t)(uintptr_t)value->data);
    return;
  }
  const char *at = value->data;
  uint64_t i = 0, word;
  for (; i + 8 <= value->bytes; i += 8) {
    memcpy(&word, at + i, 8);
    mix(hash, word);
  }
  word = 0;
  if (i < value->bytes) memcpy(&word, at + i, value->bytes - i);
  mix(hash, word);
}

void hl_native_recipe_hash(const hl_model *model, const hl_graph *graph,
                           const hl_native_recipe *recipe, uint64_t ret_hash[2]) {
  ret_hash[0] = 0x243F6A8885A308D3u;
  ret_hash[1] = 0x13198A2E03707344u;
  mix_constant(model, graph, recipe->value, ret_hash);
  mix_constant(model, graph, recipe->scale, ret_hash);
  mix(ret_hash, (uint64_t)recipe->scale_axis);
  mix(ret_hash, (uint64_t)(int64_t)recipe->extend_axis);
  mix(ret_hash, recipe->winograd);
  mix(ret_hash, recipe->half);
  if (recipe->extend_axis >= 0) {
    mix(ret_hash, (uint64_t)recipe->extend_begin);
    mix(ret_hash, (uint64_t)recipe->extend_total);
  }
}

static bool same_desc(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b) {
  if (!a || !b) return a == b;
  return dnnl_memory_desc_equal(a, b) != 0;
}

bool hl_native_weight_equal(const hl_native_weight *a, const hl_native_weight *b) {
  return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] && a->bytes == b->bytes &&
         same_desc(a->desc, b->desc) && same_desc(a->recipe.source, b->recipe.source);
}

/* -- making --------------------------------------------------------------------------------- */

/* Scaled and extended copy of a float32 constant; free() it. */
static float *prepared_copy(const hl_graph *graph, const hl_native_recipe *recipe) {
  const hl_value *value = &graph->values[recipe->value];
  int axis = recipe->extend_axis >= 0 ? recipe->extend_axis : 0;
  int64_t outer = 1, inner = 1, length = value->shape.rank > 0 ? value->shape.dims[axis] : 1;
  for (int i = 0; i < axis; i++) outer *= value->shape.dims[i];
  for (int i = axis + 1; i < value->shape.rank; i++) inner *= value->shape.dims[i];
  int64_t total = recipe->extend_axis >= 0 ? recipe->extend_total : length;
  int64_t begin = recipe->extend_axis >= 0 ? recipe->extend_begin : 0;
  float *copy = calloc((size_t)(outer * total * inner) + 1, sizeof(*copy));
  if (!copy) return NULL;
  for (int64_t o = 0; o < outer; o++)
    memcpy(copy + (o * total + begin) * inner,
           (const char *)value->data + (size_t)(o * length * inner) * sizeof(float),
           (size_t)(length * inner) * sizeof(float));
  if (recipe->scale < 0) return copy;
  const hl_value *scale = &graph->values[recipe->scale];
  int64_t across = 1;
  for (int i = recipe->scale_axis + 1; i < value->shape.rank; i++)
    across *= i == recipe->extend_axis ? total : value->shape.dims[i];
  int64_t count = value->shape.dims[recipe->scale_axis], cells = outer * total * inner;
  for (int64_t i = 0; i < cells; i += across) {
    float factor = hl_native_element(scale, i / across % count);
    for (int64_t k = 0; k < across; k++) copy[i + k] *= factor;
  }
  return copy;
}

static hl_status reorder(hl_engine *engine, const_dnnl_memory_desc_t from_desc, const void *from,
                         const_dnnl_memory_desc_t to_desc, void *to, hl_error *error) {
  dnnl_primitive_desc_t pd = NULL;
  dnnl_primitive_t primitive = NULL;
  dnnl_memory_t memory[2] = {NULL, NULL};
  dnnl_status_t status =
      dnnl_reorder_primitive_desc_create(&pd, from_desc, engine->dnnl, to_desc, engine->dnnl, NULL);
  if (status == dnnl_success) status = dnnl_primitive_create(&primitive, pd);
  if (status == dnnl_success)
    status = dnnl_memory_create(&memory[0], from_desc, engine->dnnl, (void *)(uintptr_t)from);
  if (status == dnnl_success) status = dnnl_memory_create(&memory[1], to_desc, engine->dnnl, to);
  if (status == dnnl_success) {
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memory[0]}, {DNNL_ARG_TO, memory[1]}};
    status = dnnl_primitive_execute(primitive, engine->stream, 2, args);
  }
  if (memory[0]) dnnl_memory_destroy(memory[0]);
  if (memory[1]) dnnl_memory_destroy(memory[1]);
  if (primitive) dnnl_primitive_destroy(primitive);
  if (pd) dnnl_primitive_desc_destroy(pd);
  return hl_native_dnnl(status, "laying out weights", error);
}

/* The axis of a strided descriptor along which memory is cut into the largest pieces. */
static int outermost_axis(const_dnnl_memory_desc_t desc, int *ret_rank, int64_t *ret_dims) {
  const dnnl_dims_t *dims = NULL, *strides = NULL;
  dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, ret_rank);
  dnnl_memory_desc_query(desc, dnnl_query_dims, (void *)&dims);
  dnnl_memory_desc_query(desc, dnnl_query_strides, (void *)&strides);
  int axis = 0;
  for (int i = 0; i < *ret_rank; i++) {
    ret_dims[i] = (*dims)[i];
    if ((*strides)[i] > (*strides)[axis]) axis = i;
  }
  return axis;
}

/* A large weight piece by piece; the file's pages are given back in between. False where a layout
 * cannot be cut (or a piece failed): then it is made as a whole. */
static bool reorder_pieces(hl_model *model, const hl_native_weight *weight, const hl_value *value,
                           void *to) {
  int rank;
  dnnl_dims_t dims, offsets = {0};
  int axis = outermost_axis(weight->recipe.source, &rank, dims);
  int64_t total = dims[axis], pieces = (int64_t)(value->bytes / HL_NATIVE_FORGET_BYTES) + 1;
  int blocks = 0;
  dnnl_memory_desc_query(weight->desc, dnnl_query_inner_nblks_s32, &blocks);
  int64_t align = blocks > 0 ? PIECE_ALIGN : 1, step = (total / pieces + align) / align * align;
  bool done = true;
  for (int64_t at = 0; at < total && done; at += step) {
    dnnl_memory_desc_t part = NULL, made = NULL;
    dims[axis] = total - at < step ? total - at : step;
    offsets[axis] = at;
    done = dnnl_memory_desc_create_submemory(&part, weight->recipe.source, dims, offsets) ==
               dnnl_success &&
           dnnl_memory_desc_create_submemory(&made, weight->desc, dims, offsets) == dnnl_success &&
           reorder(model->engine, part, value->data, made, to, NULL) == HL_OK;
    if (part) dnnl_memory_desc_destroy(part);
    if (made) dnnl_memory_desc_destroy(made);
    hl_native_model_forget(model);
  }
  return done;
}

/* Shapes of the weights only. */
static hl_winograd_shape winograd_shape(const hl_value *value, int threads) {
  return (hl_winograd_shape){.oc = (size_t)value->shape.dims[0],
                             .ic = (size_t)value->shape.dims[1],
                             .depth = value->shape.rank == 5 ? 1 : 0,
                             .threads = (unsigned)threads};
}

static hl_status make_winograd(const hl_graph *graph, int threads, const hl_native_recipe *recipe,
                               void *to, hl_error *error) {
  const hl_value *value = &graph->values[recipe->value];
  hl_winograd_shape shape = winograd_shape(value, threads);
  float *scale = NULL;
  if (recipe->scale >= 0) {
    scale = malloc(shape.oc * sizeof(*scale));
    if (!scale)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to lay out weight '%s'", value->name);
    memcpy(scale, graph->values[recipe->scale].data, shape.oc * sizeof(*scale));
  }
  if (recipe->half)
    hl_winograd_half_weights(&shape, value->data, scale, to);
  else
    hl_winograd_weights(&shape, value->data, scale, to);
  free(scale);
  return HL_OK;
}

void hl_native_copy(hl_model *model, void *to, const void *from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += HL_NATIVE_FORGET_BYTES) {
    uint64_t left = bytes - at,
             count = left < HL_NATIVE_FORGET_BYTES ? left : HL_NATIVE_FORGET_BYTES;
    hl_native_model_reads(model, count);
    memcpy((char *)to + at, (const char *)from + at, count);
  }
}

static hl_status make(hl_model *model, const hl_graph *graph, const hl_native_weight *weight,
                      void *to, hl_error *error) {
  const hl_native_recipe *recipe = &weight->recipe;
  const hl_value *value = &graph->values[recipe->value];
  if (recipe->winograd) return make_winograd(graph, model->engine->threads, recipe, to, error);
  if (!weight->desc) {
    hl_native_copy(model, to, value->data, weight->bytes);
    return HL_OK;
  }
  bool plain = recipe->scale < 0 && recipe->extend_axis < 0;
  bool bytes = value->dtype == HL_INT8;
  bool aligned = bytes || (uintptr_t)value->data % sizeof(float) == 0;
  if (plain && aligned && !bytes && value->bytes > HL_NATIVE_FORGET_BYTES &&
      reorder_pieces(model, weight, value, to))
    return HL_OK;
  if (plain && aligned)
    return reorder(model->engine, recipe->source, value->data, weight->desc, to, error);
  float *copy = prepared_copy(graph, recipe);
  if (!copy)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to lay out weight '%s'", value->name);
  hl_status status = reorder(model->engine, recipe->source, copy, weight->desc, to, error);
  free(copy);
  return status;
}

static hl_native_weight *find(hl_native_weights *weights, const hl_native_weight *weight) {
  for (size_t i = 0; i < weights->count; i++)
    if (hl_native_weight_equal(&weights->items[i], weight)) return &weights->items[i];
  return NULL;
}

static bool reserve(hl_native_weights *weights, size_t more) {
  if (weights->count + more > weights->capacity) {
    size_t capacity = (weights->count + more) * 2;
    hl_native_weight *items = realloc(weights->items, capacity * sizeof(*items));
    if (!items) return false;
    weights->items = items;
    weights->capacity = capacity;
  }
  if (weights->block_count == weights->block_capacity) {
    size_t capacity = weights->block_capacity * 2 + 4;
    hl_native_buffer *blocks = realloc(weights->blocks, capacity * sizeof(*blocks));
    if (!blocks) return false;
    weights->blocks = blocks;
    weights->block_capacity = capacity;
  }
  return true;
}

/* The cache's own copy of a finished weight. */
static hl_status keep(hl_native_weights *weights, const hl_native_weight *weight, void *data,
                      hl_error *error) {
  hl_native_weight item = *weight;
  item.data = data;
  item.desc = item.recipe.source = NULL;
  dnnl_memory_desc_t copy = NULL;
  if (weight->desc) {
    if (dnnl_memory_desc_clone(&copy, weight->desc) != dnnl_success)
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of weights");
    item.desc = copy;
  }
  if (weight->recipe.source) {
    if (dnnl_memory_desc_clone(&copy, weight->recipe.source) != dnnl_success) {
      item_release(&item);
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of weights");
    }
    item.recipe.source = copy;
  }
  weights->items[weights->count++] = item;
  return HL_OK;
}

uint64_t hl_native_weight_bytes(const hl_graph *graph, const hl_native_recipe *recipe,
                                const_dnnl_memory_desc_t desc) {
  const hl_value *value = &graph->values[recipe->value];
  if (recipe->winograd) {
    hl_winograd_shape shape = winograd_shape(value, 1);
    return recipe->half ? hl_winograd_half_weight_bytes(&shape) : hl_winograd_weight_bytes(&shape);
  }
  return desc ? dnnl_memory_desc_get_size(desc) : value->bytes;
}

hl_status hl_native_weights_make(hl_model *model, const hl_graph *graph, hl_native_weight *list,
                                 int32_t count, hl_error *error) {
  hl_native_weights *weights = model->weights;
  uint64_t bytes = 0;
  for (int32_t i = 0; i < count; i++)
    if (!find(weights, &list[i])) bytes += hl_native_rounded(list[i].bytes);
  if (!reserve(weights, (size_t)count))
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the list of weights");
  hl_native_buffer block;
  hl_status status =
      hl_native_buffer_init(&block, bytes, "weights", &model->engine->account, error);
  if (status != HL_OK) return status;
  weights->blocks[weights->block_count++] = block;
  char *at = block.data;
  for (int32_t i = 0; i < count && status == HL_OK; i++) {
    const hl_native_weight *found = find(weights, &list[i]);
    if (!found) {
      hl_native_model_reads(model, graph->values[list[i].recipe.value].bytes);
      status = make(model, graph, &list[i], at, error);
      if (status == HL_OK) status = keep(weights, &list[i], at, error);
      if (status != HL_OK) break;
      if (list[i].bytes)
        at += hl_native_rounded(list[i].bytes); /* a block of none has no address */
      found = &weights->items[weights->count - 1];
    }
    list[i].data = found->data;
  }
  return status;
}
