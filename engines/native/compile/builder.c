#include "compile/builder.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hl_native_fail(hl_native_builder *b, hl_status status, const char *format, ...) {
  if (b->failed != HL_OK) return false;
  b->failed = status;
  if (b->error) {
    va_list list;
    va_start(list, format);
    b->error->status = status;
    b->error->sys_errno = 0;
    vsnprintf(b->error->msg, sizeof(b->error->msg), format, list);
    va_end(list);
  }
  return false;
}

static bool no_memory(hl_native_builder *b) {
  return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
}

/* Makes room for one more item of a list. */
static bool grow(hl_native_builder *b, void *items, int32_t count, int32_t *capacity,
                 size_t item_bytes) {
  if (b->failed != HL_OK) return false;
  if (count < *capacity) return true;
  int32_t more = *capacity > 0 ? *capacity * 2 : 16;
  void **list = items;
  void *fresh = realloc(*list, (size_t)more * item_bytes);
  if (!fresh) return no_memory(b);
  *list = fresh;
  *capacity = more;
  return true;
}

/* -- memory descriptors --------------------------------------------------------------------- */

dnnl_memory_desc_t hl_native_md_keep(hl_native_builder *b, dnnl_memory_desc_t desc) {
  if (!desc) return NULL;
  hl_native_list *list = b->list;
  if (!grow(b, &list->descs, list->desc_count, &list->desc_capacity, sizeof(*list->descs))) {
    dnnl_memory_desc_destroy(desc);
    return NULL;
  }
  return list->descs[list->desc_count++] = desc;
}

static dnnl_format_tag_t tag_of(const hl_native_builder *b, int rank, hl_native_layout layout) {
  static const dnnl_format_tag_t plain[] = {dnnl_a,    dnnl_a,     dnnl_ab,    dnnl_abc,
                                            dnnl_abcd, dnnl_abcde, dnnl_abcdef};
  static const dnnl_format_tag_t last[] = {dnnl_acb, dnnl_acdb, dnnl_acdeb};
  static const dnnl_format_tag_t blocked[][3] = {{dnnl_aBc4b, dnnl_aBcd4b, dnnl_aBcde4b},
                                                 {dnnl_aBc8b, dnnl_aBcd8b, dnnl_aBcde8b},
                                                 {dnnl_aBc16b, dnnl_aBcd16b, dnnl_aBcde16b}};
  if (layout == HL_LAYOUT_PLAIN) return rank <= 6 ? plain[rank] : dnnl_format_tag_undef;
  if (rank < 3 || rank > 5) return dnnl_format_tag_undef;
  if (layout == HL_LAYOUT_CHANNELS_LAST) return last[rank - 3];
  return blocked[b->engine->block == 16 ? 2 : b->engine->block == 8 ? 1 : 0][rank - 3];
}

/* oneDNN's functions declare arrays of its own length. */
static void copy_dims(dnnl_dims_t to, const int64_t *from, int rank) {
  for (int i = 0; i < DNNL_MAX_NDIMS; i++) to[i] = i < rank ? from[i] : 1;
}

/* oneDNN sees only float32, bfloat16 and what is quantised. */
static dnnl_data_type_t data_type(hl_dtype dtype) {
  switch (dtype) {
  case HL_BFLOAT16:
    return dnnl_bf16;
  case HL_UINT8:
    return dnnl_u8;
  case HL_INT8:
    return dnnl_s8;
  case HL_INT32:
    return dnnl_s32;
  default:
    return dnnl_f32;
  }
}

dnnl_memory_desc_t hl_native_md_of(hl_native_builder *b, int rank, const int64_t *dims,
                                   hl_native_layout layout) {
  return hl_native_md_as(b, rank, dims, layout, HL_FLOAT32);
}

static dnnl_memory_desc_t md_strides(hl_native_builder *b, int rank, const int64_t *dims,
                                     const int64_t *strides, hl_dtype dtype);

dnnl_memory_desc_t hl_native_md_as(hl_native_builder *b, int rank, const int64_t *dims,
                                   hl_native_layout layout, hl_dtype dtype) {
  if (b->failed != HL_OK) return NULL;
  dnnl_memory_desc_t desc = NULL;
  dnnl_dims_t own, strides;
  copy_dims(own, dims, rank);
  if (layout == HL_LAYOUT_PLAIN && rank > 6) {
    strides[rank - 1] = 1;
    for (int i = rank - 1; i > 0; i--) strides[i - 1] = strides[i] * dims[i];
    return md_strides(b, rank, dims, strides, dtype);
  }
  dnnl_status_t status =
      dnnl_memory_desc_create_with_tag(&desc, rank > 0 ? rank : 1 /* oneDNN has no scalars */, own,
                                       data_type(dtype), tag_of(b, rank, layout));
  if (status != dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN refuses a tensor of rank %d", rank);
    return NULL;
  }
  return hl_native_md_keep(b, desc);
}

dnnl_memory_desc_t hl_native_md_any_as(hl_native_builder *b, int rank, const int64_t *dims,
                                       hl_dtype dtype) {
  if (b->failed != HL_OK) return NULL;
  dnnl_memory_desc_t desc = NULL;
  dnnl_dims_t own;
  copy_dims(own, dims, rank);
  if (dnnl_memory_desc_create_with_tag(&desc, rank, own, data_type(dtype), dnnl_format_tag_any) !=
      dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN refuses a tensor of rank %d", rank);
    return NULL;
  }
  return hl_native_md_keep(b, desc);
}

dnnl_memory_desc_t hl_native_md_strides_as(hl_native_builder *b, int rank, const int64_t *dims,
                                           const int64_t *strides, hl_dtype dtype) {
  return md_strides(b, rank, dims, strides, dtype);
}

dnnl_memory_desc_t hl_native_md_strides(hl_native_builder *b, int rank, const int64_t *dims,
                                        const int64_t *strides) {
  return md_strides(b, rank, dims, strides, HL_FLOAT32);
}

static dnnl_memory_desc_t md_strides(hl_native_builder *b, int rank, const int64_t *dims,
                                     const int64_t *strides, hl_dtype dtype) {
  if (b->failed != HL_OK) return NULL;
  dnnl_memory_desc_t desc = NULL;
  dnnl_dims_t own, own_strides;
  copy_dims(own, dims, rank);
  copy_dims(own_strides, strides, rank);
  if (dnnl_memory_desc_create_with_strides(&desc, rank, own, data_type(dtype), own_strides) !=
      dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN refuses a tensor of rank %d", rank);
    return NULL;
  }
  return hl_native_md_keep(b, desc);
}

dnnl_memory_desc_t hl_native_md_query(hl_native_builder *b, const_dnnl_primitive_desc_t pd,
                                      dnnl_query_t what) {
  if (b->failed != HL_OK) return NULL;
  dnnl_memory_desc_t desc = NULL;
  const_dnnl_memory_desc_t found = dnnl_primitive_desc_query_md(pd, what, 0);
  if (!found || dnnl_memory_desc_clone(&desc, found) != dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN does not say which layout it wants");
    return NULL;
  }
  return hl_native_md_keep(b, desc);
}

dnnl_memory_desc_t hl_native_md(hl_native_builder *b, int32_t tensor) {
  if (b->failed != HL_OK || tensor < 0) return NULL;
  const hl_native_tensor *t = hl_native_get(b, tensor);
  return hl_native_md_as(b, t->shape.rank, t->shape.dims, t->layout, t->dtype);
}

dnnl_primitive_attr_t hl_native_attr(hl_native_builder *b) {
  if (b->failed != HL_OK) return NULL;
  dnnl_primitive_attr_t attr = NULL;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success ||
      dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) != dnnl_success) {
    if (attr) dnnl_primitive_attr_destroy(attr);
    no_memory(b);
    return NULL;
  }
  return attr;
}

/* -- tensors -------------------------------------------------------------------------------- */

static int32_t node_index(const hl_native_builder *b) {
  return b->node ? (int32_t)(b->node - b->ir->nodes) : -1;
}

static int32_t add_tensor(hl_native_builder *b, hl_native_tensor tensor) {
  hl_native_list *list = b->list;
  if (!grow(b, &list->tensors, list->tensor_count, &list->tensor_capacity, sizeof(*list->tensors)))
    return -1;
  int32_t id = list->tensor_count++;
  if (tensor.root < 0) tensor.root = id;
  tensor.first = tensor.last = -1;
  tensor.next = -1;
  tensor.node = node_index(b);
  if (tensor.value >= 0) {
    /* Appended, so that the first one is the layout in which the value was computed. */
    int32_t *link = &b->tensor_of[tensor.value];
    while (*link >= 0) link = &list->tensors[*link].next;
    *link = id;
  }
  list->tensors[id] = tensor;
  return id;
}

static bool layout_bytes(hl_native_builder *b, const hl_value *value, hl_native_layout layout,
                         hl_dtype dtype, uint64_t *ret) {
  hl_shape shape = value->shape;
  if (layout == HL_LAYOUT_BLOCKED && shape.rank >= 2) {
    int64_t block = b->engine->block;
    shape.dims[1] = (shape.dims[1] + block - 1) / block * block;
  }
  if (hl_shape_bytes(&shape, dtype, ret)) return true;
  return hl_native_fail(b, HL_UNIMPLEMENTED,
                        "value '%s': %s values of this shape are not supported", value->name,
                        hl_dtype_name(value->dtype));
}

static hl_native_tensor new_tensor(hl_native_builder *b, hl_value_id id, hl_native_layout layout,
                                   hl_dtype dtype, hl_native_home home) {
  const hl_value *value = &b->ir->graph->values[id];
  hl_native_tensor tensor = {.home = home,
                             .value = id,
                             .dtype = dtype,
                             .shape = value->shape,
                             .layout = layout,
                             .root = -1};
  layout_bytes(b, value, layout, dtype, &tensor.bytes);
  return tensor;
}

int32_t hl_native_out(hl_native_builder *b, hl_value_id value, hl_native_layout layout) {
  if (b->failed != HL_OK || value < 0) return -1;
  return hl_native_out_as(b, value, layout, b->ir->graph->values[value].dtype);
}

int32_t hl_native_out_as(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                         hl_dtype dtype) {
  if (b->failed != HL_OK || value < 0) return -1;
  return add_tensor(b, new_tensor(b, value, layout, dtype, HL_HOME_ARENA));
}

hl_dtype hl_native_result_type(const hl_native_builder *b, hl_value_id value) {
  for (size_t i = 0; i < b->ir->graph->output_count; i++)
    if (b->ir->graph->outputs[i] == value) return HL_FLOAT32;
  return b->type;
}

int32_t hl_native_out_view(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                           int32_t tensor, uint64_t offset) {
  if (b->failed != HL_OK || value < 0 || tensor < 0) return -1;
  const hl_native_tensor source = *hl_native_get(b, tensor);
  hl_native_tensor view = new_tensor(b, value, layout, source.dtype, source.home);
  view.root = source.root;
  view.offset = source.offset + offset;
  view.index = source.index;
  return add_tensor(b, view);
}

int32_t hl_native_scratch(hl_native_builder *b, uint64_t bytes) {
  return add_tensor(b, (hl_native_tensor){.home = HL_HOME_ARENA,
                                          .value = -1,
                                          .dtype = HL_UINT8,
                                          .shape = {.rank = 1, .dims = {(int64_t)bytes}},
                                          .bytes = bytes,
                                          .root = -1});
}

int32_t hl_native_view(hl_native_builder *b, int32_t tensor, uint64_t offset) {
  if (b->failed != HL_OK || tensor < 0) return -1;
  hl_native_tensor view = *hl_native_get(b, tensor);
  view.value = -1;
  view.offset += offset;
  view.bytes -= offset;
  return add_tensor(b, view);
}

bool hl_native_dying(const hl_native_builder *b, int32_t tensor) {
  if (tensor < 0) return false;
  int32_t root = hl_native_get(b, tensor)->root;
  if (b->list->tensors[root].home != HL_HOME_ARENA) return false;
  for (int32_t i = 0; i < b->list->tensor_count; i++) {
    const hl_native_tensor *t = &b->list->tensors[i];
    if (t->root == root && t->value >= 0 && b->uses_after[t->value] > 0) return false;
  }
  return true;
}

static hl_dtype weight_type(const hl_value *value, const_dnnl_memory_desc_t desc) {
  dnnl_data_type_t type = dnnl_data_type_undef;
  if (desc) dnnl_memory_desc_query(desc, dnnl_query_data_type, &type);
  return type == dnnl_bf16 ? HL_BFLOAT16 : value->dtype;
}

int32_t hl_native_weight_in(hl_native_builder *b, const hl_native_recipe *recipe,
                            const_dnnl_memory_desc_t desc) {
  if (b->failed != HL_OK || recipe->value < 0) return -1;
  hl_native_weight weight = {.recipe = *recipe, .desc = desc};
  const hl_value *value = &b->ir->graph->values[recipe->value];
  weight.bytes = hl_native_weight_bytes(b->ir->graph, recipe, desc);
  hl_native_recipe_hash(b->model, b->ir->graph, recipe, weight.hash);
  hl_native_list *list = b->list;
  int32_t index = 0;
  while (index < list->weight_count && !hl_native_weight_equal(&list->weights[index], &weight))
    index++;
  if (index == list->weight_count) {
    if (!grow(b, &list->weights, list->weight_count, &list->weight_capacity,
              sizeof(*list->weights)))
      return -1;
    list->weights[list->weight_count++] = weight;
  }
  return add_tensor(b, (hl_native_tensor){.home = HL_HOME_WEIGHT,
                                          .value = -1,
                                          .dtype = weight_type(value, desc),
                                          .shape = value->shape,
                                          .bytes = weight.bytes,
                                          .root = -1,
                                          .index = index});
}

static int32_t find_tensor(const hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                           hl_dtype dtype) {
  int32_t at = b->tensor_of[value];
  while (at >= 0 &&
         (hl_native_get(b, at)->layout != layout || hl_native_get(b, at)->dtype != dtype))
    at = hl_native_get(b, at)->next;
  return at;
}

/* A constant in a layout: a weight that is reordered once, at preparation. */
static int32_t constant_in(hl_native_builder *b, hl_value_id id, hl_native_layout layout,
                           hl_dtype dtype) {
  const hl_value *value = &b->ir->graph->values[id];
  hl_native_recipe recipe = HL_NATIVE_RECIPE(id);
  const_dnnl_memory_desc_t desc = NULL;
  if (layout != HL_LAYOUT_PLAIN || dtype != value->dtype) {
    recipe.source = hl_native_md_of(b, value->shape.rank, value->shape.dims, HL_LAYOUT_PLAIN);
    desc = hl_native_md_as(b, value->shape.rank, value->shape.dims, layout, dtype);
  }
  int32_t weight = hl_native_weight_in(b, &recipe, desc);
  return hl_native_out_view(b, id, layout, weight, 0);
}

/* Are both layouts the same bytes? (no spatial extent and full blocks) */
static bool same_bytes(const hl_native_builder *b, const hl_native_tensor *t,
                       hl_native_layout layout, hl_dtype dtype) {
  if (t->dtype != dtype) return false;
  if (t->shape.rank < 3) return true;
  int64_t spatial = 1;
  for (int32_t i = 2; i < t->shape.rank; i++) spatial *= t->shape.dims[i];
  bool blocked = t->layout == HL_LAYOUT_BLOCKED || layout == HL_LAYOUT_BLOCKED;
  if (blocked && t->shape.dims[1] % b->engine->block != 0) return false;
  return spatial == 1 || (!blocked && t->shape.dims[1] == 1);
}

int32_t hl_native_in(hl_native_builder *b, hl_value_id value, hl_native_layout layout) {
  if (b->failed != HL_OK || value < 0) return -1;
  return hl_native_in_as(b, value, layout, b->ir->graph->values[value].dtype);
}

int32_t hl_native_in_own(hl_native_builder *b, hl_value_id value, hl_native_layout layout) {
  if (b->failed != HL_OK || value < 0) return -1;
  int32_t from = b->tensor_of[value];
  if (from < 0) return hl_native_in(b, value, layout);
  return hl_native_in_as(b, value, layout, hl_native_get(b, from)->dtype);
}

int32_t hl_native_in_as(hl_native_builder *b, hl_value_id value, hl_native_layout layout,
                        hl_dtype dtype) {
  if (b->failed != HL_OK || value < 0) return -1;
  int32_t found = find_tensor(b, value, layout, dtype);
  if (found >= 0) return found;
  if (hl_native_known(b->ir, value)) return constant_in(b, value, layout, dtype);
  int32_t from = b->tensor_of[value];
  if (from < 0) {
    hl_native_fail(b, HL_INTERNAL, "value '%s' is read before it is computed",
                   b->ir->graph->values[value].name);
    return -1;
  }
  if (same_bytes(b, hl_native_get(b, from), layout, dtype))
    return hl_native_out_view(b, value, layout, from, 0);
  int32_t to = hl_native_out_as(b, value, layout, dtype);
  hl_native_reorder(b, "Reorder", from, hl_native_md(b, from), to, hl_native_md(b, to));
  return to;
}

int32_t hl_native_in_any(hl_native_builder *b, hl_value_id value) {
  if (b->failed != HL_OK || value < 0) return -1;
  return b->tensor_of[value] >= 0 ? b->tensor_of[value] : hl_native_in(b, value, HL_LAYOUT_PLAIN);
}

/* -- steps ---------------------------------------------------------------------------------- */

void hl_native_steps_for(hl_native_builder *b, int threads) {
  b->threads = threads;
  hl_native_threads(threads);
}

static hl_native_step *add_step(hl_native_builder *b, const char *kind) {
  hl_native_list *list = b->list;
  if (!grow(b, &list->steps, list->step_count, &list->step_capacity, sizeof(*list->steps)))
    return NULL;
  hl_native_step *step = &list->steps[list->step_count++];
  *step = (hl_native_step){
      .kind = kind, .name = "", .layer = "", .node = node_index(b), .threads = b->threads};
  list->single_count += b->threads == 1;
  if (b->node) {
    step->phase = b->node->source->phase;
    step->layer = hl_node_layer(b->ir->graph, b->node->source);
    const hl_value *result = hl_native_value(b->ir, b->node->outputs[0]);
    step->name = b->node->source->name[0] || !result ? b->node->source->name : result->name;
  }
  return step;
}

bool hl_native_arg_add(hl_native_builder *b, hl_native_step *step, int32_t tensor, int arg,
                       const_dnnl_memory_desc_t desc) {
  if (b->failed != HL_OK || !step) return false;
  if (tensor < 0) return hl_native_fail(b, HL_INTERNAL, "step '%s' lacks a tensor", step->name);
  if (step->arg_count == step->arg_capacity) {
    int more = step->arg_capacity > 0 ? step->arg_capacity * 2 : 6;
    hl_native_arg *args = realloc(step->args, (size_t)more * sizeof(*args));
    if (!args) return no_memory(b);
    step->args = args;
    step->arg_capacity = more;
  }
  step->args[step->arg_count++] = (hl_native_arg){.tensor = tensor, .arg = arg, .desc = desc};
  hl_native_tensor *t = &b->list->tensors[tensor];
  hl_native_tensor *root = &b->list->tensors[t->root];
  int32_t now = b->list->step_count - 1;
  if (root->first < 0) root->first = now;
  root->last = now;
  b->list->traffic_bytes += t->bytes;
  return true;
}

hl_native_step *hl_native_primitive(hl_native_builder *b, const char *kind,
                                    dnnl_primitive_desc_t pd) {
  if (!pd) return NULL;
  hl_native_step *step = b->failed == HL_OK ? add_step(b, kind) : NULL;
  if (step) {
    hl_error error;
    if (hl_native_dnnl(dnnl_primitive_create(&step->primitive, pd), "creating a primitive",
                       &error) != HL_OK) {
      hl_native_fail(b, error.status, "node '%s': %s", step->name, error.msg);
      step = NULL;
    }
  }
  if (step) {
    const_dnnl_memory_desc_t scratch =
        dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    uint64_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (bytes > 0)
      hl_native_arg_add(b, step, hl_native_scratch(b, bytes), DNNL_ARG_SCRATCHPAD,
                        hl_native_md_query(b, pd, dnnl_query_scratchpad_md));
  }
  dnnl_primitive_desc_destroy(pd);
  return b->failed == HL_OK ? step : NULL;
}

hl_native_step *hl_native_call(hl_native_builder *b, const char *kind, hl_native_kernel kernel,
                               void *context, void (*context_free)(void *)) {
  hl_native_step *step = b->failed == HL_OK ? add_step(b, kind) : NULL;
  if (!step) {
    if (context) (context_free ? context_free : free)(context);
    return NULL;
  }
  step->kernel = kernel;
  step->context = context;
  step->context_free = context_free ? context_free : free;
  return step;
}

void hl_native_statistics_keep(hl_native_builder *b, const hl_native_node *norm, int32_t tensor) {
  if (tensor < 0 || !grow(b, &b->statistics, b->statistics_count, &b->statistics_capacity,
                          sizeof(*b->statistics)))
    return;
  b->statistics[b->statistics_count++] =
      (hl_native_statistics){.value = norm->inputs[0],
                             .norm = norm->op[0],
                             .epsilon = hl_node_real(norm->source, "epsilon", 1e-5f),
                             .tensor = tensor,
                             .unmasked = -1};
}

void hl_native_keep(hl_native_builder *b, const hl_native_node *node, int32_t tensor) {
  if (tensor < 0 || !grow(b, &b->kept, b->kept_count, &b->kept_capacity, sizeof(*b->kept))) return;
  b->kept[b->kept_count++] = (hl_native_kept){node, tensor};
}

void hl_native_outer_keep(hl_native_builder *b, const hl_native_outer *outer) {
  if (!grow(b, &b->outers, b->outer_count, &b->outer_capacity, sizeof(*b->outers))) return;
  b->outers[b->outer_count++] = *outer;
  b->uses_after[outer->left]++;
  b->uses_after[outer->right]++;
}

bool hl_native_outer_take(hl_native_builder *b, hl_value_id gradient, hl_native_outer *ret_outer) {
  for (int32_t i = 0; i < b->outer_count; i++) {
    if (b->outers[i].gradient != gradient) continue;
    *ret_outer = b->outers[i];
    b->uses_after[ret_outer->left]--;
    b->uses_after[ret_outer->right]--;
    return true;
  }
  return false;
}

hl_native_statistics *hl_native_statistics_find(const hl_native_builder *b,
                                                const hl_native_node *gradient) {
  float epsilon = hl_node_real(gradient->source, "epsilon", 1e-5f);
  hl_value_id x = gradient->inputs[0], original = hl_native_original(b->ir, x);
  hl_native_statistics *found = NULL;
  for (int32_t i = 0; i < b->statistics_count; i++) {
    hl_native_statistics *s = &b->statistics[i];
    if (s->norm != gradient->op[0] || s->epsilon != epsilon) continue;
    if (s->value == x) return s;
    if (s->value == original) found = s; /* x is computed again, the norm of it is not */
  }
  return found;
}

void hl_native_result_add(hl_native_builder *b, hl_value_id value) {
  hl_native_list *list = b->list;
  if (value < 0 || b->tensor_of[value] < 0) return;
  if (!grow(b, &list->results, list->result_count, &list->result_capacity, sizeof(*list->results)))
    return;
  list->results[list->result_count++] =
      (hl_native_result){list->step_count - 1, b->tensor_of[value]};
}

void hl_native_reorder(hl_native_builder *b, const char *kind, int32_t from,
                       const_dnnl_memory_desc_t from_desc, int32_t to,
                       const_dnnl_memory_desc_t to_desc) {
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!attr || !from_desc || !to_desc) {
    if (attr) dnnl_primitive_attr_destroy(attr);
    return;
  }
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, from_desc, b->engine->dnnl,
                                                            to_desc, b->engine->dnnl, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN cannot copy between two layouts");
    return;
  }
  hl_native_step *step = hl_native_primitive(b, kind, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_FROM, from_desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_TO, to_desc);
}

void hl_native_list_release(hl_native_list *list) {
  for (int32_t i = 0; i < list->step_count; i++) {
    hl_native_step *step = &list->steps[i];
    if (step->primitive) dnnl_primitive_destroy(step->primitive);
    if (step->context) step->context_free(step->context);
    free(step->args);
  }
  for (int32_t i = 0; i < list->desc_count; i++) dnnl_memory_desc_destroy(list->descs[i]);
  free(list->steps);
  free(list->tensors);
  free(list->weights);
  free(list->descs);
  free(list->outputs);
  free(list->results);
  *list = (hl_native_list){0};
}
