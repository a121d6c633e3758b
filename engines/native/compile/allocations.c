#include "compile/allocations.h"
#include "graph/operator.h"
#include <stdlib.h>
#include <string.h>

/* What the steps say of a tensor. */
typedef struct tensor_use {
  int32_t written; /* step that computes it into memory it may share, or -1: a view, a part */
  int32_t first, last;
} tensor_use;

typedef struct survey {
  const hl_program *program;
  const hl_native_list *list;
  hl_allocation_visit visit;
  void *context;
  tensor_use *uses;         /* by tensor */
  int32_t *first_of;        /* by value: its first tensor, -1: none */
  bool *is_weight_gradient; /* by value */
  bool *is_update;          /* by value: what a state becomes */
} survey;

static bool is_whole(const survey *s, const hl_native_tensor *t) {
  const hl_native_tensor *root = &s->list->tensors[t->root];
  return t->offset == 0 && t->bytes == root->bytes;
}

static void survey_steps(survey *s) {
  const hl_native_list *list = s->list;
  for (int32_t i = 0; i < list->tensor_count; i++) s->uses[i] = (tensor_use){-1, -1, -1};
  for (int32_t n = 0; n < list->step_count; n++)
    for (int k = 0; k < list->steps[n].arg_count; k++) {
      int32_t id = list->steps[n].args[k].tensor;
      tensor_use *use = &s->uses[id];
      /* What a node makes is first used by a step of that node; a view by one of a reader. */
      if (use->first < 0 && list->steps[n].node == list->tensors[id].node) use->written = n;
      if (use->first < 0) use->first = n;
      use->last = n;
    }
}

static void survey_values(survey *s) {
  const hl_graph *graph = s->program->graph;
  for (size_t v = 0; v < graph->value_count; v++) s->first_of[v] = -1;
  for (int32_t i = s->list->tensor_count; i-- > 0;)
    if (s->list->tensors[i].value >= 0) s->first_of[s->list->tensors[i].value] = i;
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    if (node->phase != HL_PHASE_OPTIMIZER) continue;
    bool updates = node->input_count > 1 && strcmp(node->domain, HL_OWN_DOMAIN) == 0;
    for (size_t i = 0; i < node->input_count; i++) {
      const hl_value *value = hl_node_input(graph, node, i);
      bool backward =
          value && value->producer >= 0 && graph->nodes[value->producer].phase == HL_PHASE_BACKWARD;
      if (value && (backward || (updates && i == 1))) s->is_weight_gradient[node->inputs[i]] = true;
    }
  }
  for (size_t i = 0; i < graph->update_count; i++) s->is_update[graph->updates[i].value] = true;
}

/* -- pieces that are always there -------------------------------------------------------------- */

/* Of a root: the layer that uses it first. */
static const char *layer_of(const survey *s, int32_t root) {
  int32_t first = s->list->tensors[root].first;
  return first < 0 ? "" : s->list->steps[first].layer;
}

static void show_states(const survey *s) {
  const hl_program *program = s->program;
  for (size_t i = 0; i < program->state_count; i++) {
    const hl_native_tensor *t = &s->list->tensors[program->state_tensors[i]];
    const char *name = program->states[i].name, *slash = strrchr(name, '/');
    hl_allocation_kind kind = HL_ALLOCATION_WEIGHT;
    /* What the network did not have is the optimiser's; of that the sum of gradients is told apart.
     */
    if ((size_t)t->value >= program->network->value_count)
      kind = slash && strcmp(slash, "/gradient") == 0 ? HL_ALLOCATION_GRADIENT
                                                      : HL_ALLOCATION_OPTIMIZER;
    const hl_allocation piece = {.size = sizeof(piece),
                                 .kind = kind,
                                 .name = name,
                                 .layer = layer_of(s, program->state_tensors[i]),
                                 .first = -1,
                                 .last = -1,
                                 .bytes = hl_native_rounded(t->bytes)};
    s->visit(s->context, &piece);
  }
}

static hl_status show_weights(const survey *s, hl_error *error) {
  const hl_native_list *list = s->list;
  int32_t *tensor_of = malloc(((size_t)list->weight_count + 1) * sizeof(*tensor_of));
  if (!tensor_of) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to look at a program");
  for (int32_t i = 0; i < list->weight_count; i++) tensor_of[i] = -1;
  for (int32_t i = list->tensor_count; i-- > 0;)
    if (list->tensors[i].home == HL_HOME_WEIGHT && list->tensors[i].root == i)
      tensor_of[list->tensors[i].index] = i;
  for (int32_t i = 0; i < list->weight_count; i++) {
    const hl_native_weight *weight = &list->weights[i];
    hl_value_id value = weight->recipe.value;
    /* Constants that only the training step has. */
    bool added = s->program->network && (size_t)value >= s->program->network->value_count;
    const hl_allocation piece = {.size = sizeof(piece),
                                 .kind = added ? HL_ALLOCATION_WORKSPACE : HL_ALLOCATION_WEIGHT,
                                 .name = s->program->graph->values[value].name,
                                 .layer = tensor_of[i] < 0 ? "" : layer_of(s, tensor_of[i]),
                                 .first = -1,
                                 .last = -1,
                                 .bytes = hl_native_rounded(weight->bytes)};
    s->visit(s->context, &piece);
  }
  free(tensor_of);
  return HL_OK;
}

static void show_outputs(const survey *s) {
  const hl_native_list *list = s->list;
  for (int32_t i = 0; i < list->tensor_count; i++) {
    const hl_native_tensor *t = &list->tensors[i];
    if (t->root != i || t->home != HL_HOME_OUTPUT || t->first < 0) continue;
    const hl_native_step *step = &list->steps[t->first];
    const hl_allocation piece = {.size = sizeof(piece),
                                 .kind = HL_ALLOCATION_INPUT_OUTPUT,
                                 .name = t->value >= 0 ? s->program->graph->values[t->value].name
                                                       : step->name,
                                 .layer = step->layer,
                                 .phase = step->phase,
                                 .first = -1,
                                 .last = -1,
                                 .bytes = hl_native_rounded(t->bytes)};
    s->visit(s->context, &piece);
  }
}

/* -- the arena --------------------------------------------------------------------------------- */

/* A stretch of time in which a root holds one thing. */
typedef struct stretch {
  int32_t tensor;
  int32_t first, last; /* steps that it lives in */
  int32_t read;        /* step of its last use, which may be the one that overwrites it */
  bool is_weight_gradient, is_update;
} stretch;

static bool is_gradient(const survey *s, hl_value_id value) {
  const hl_graph *graph = s->program->graph;
  int32_t producer = graph->values[value].producer;
  return producer >= 0 && graph->nodes[producer].is_gradient;
}

static hl_allocation_kind kind_of(const survey *s, const stretch *piece) {
  const hl_native_tensor *t = &s->list->tensors[piece->tensor];
  hl_phase written = s->list->steps[piece->first].phase, read = s->list->steps[piece->read].phase;
  if (t->value < 0 || piece->is_update) return HL_ALLOCATION_WORKSPACE;
  const hl_native_tensor *original = &s->list->tensors[s->first_of[t->value]];
  bool is_copy = original->root != t->root;
  hl_native_home home = s->list->tensors[original->root].home;
  if (is_copy && (home == HL_HOME_STATE || home == HL_HOME_WEIGHT)) return HL_ALLOCATION_WORKSPACE;
  if (written < HL_PHASE_BACKWARD && read >= HL_PHASE_BACKWARD && !is_gradient(s, t->value))
    return HL_ALLOCATION_SAVED;
  if (is_copy) return HL_ALLOCATION_WORKSPACE;
  if (piece->is_weight_gradient) return HL_ALLOCATION_GRADIENT;
  if (is_gradient(s, t->value)) return HL_ALLOCATION_ACTIVATION_GRADIENT;
  return written == HL_PHASE_OPTIMIZER ? HL_ALLOCATION_WORKSPACE : HL_ALLOCATION_ACTIVATION;
}

static void show_stretch(const survey *s, const stretch *piece) {
  const hl_native_tensor *t = &s->list->tensors[piece->tensor];
  const hl_native_tensor *root = &s->list->tensors[t->root];
  const hl_native_step *step = &s->list->steps[piece->first];
  const hl_allocation shown = {.size = sizeof(shown),
                               .kind = kind_of(s, piece),
                               .name = t->value >= 0 ? s->program->graph->values[t->value].name
                                                     : step->name,
                               .layer = step->layer,
                               .phase = step->phase,
                               .first = piece->first,
                               .last = piece->last,
                               .offset = root->place,
                               .bytes = hl_native_rounded(root->bytes)};
  s->visit(s->context, &shown);
}

/* The tensors of a root, `ids`, in the order in which they are written. */
static void show_root(const survey *s, const int32_t *ids, int32_t count) {
  const hl_native_tensor *root = &s->list->tensors[s->list->tensors[ids[0]].root];
  stretch now = {.tensor = s->list->tensors[ids[0]].root, .first = root->first};
  for (int32_t i = 0; i <= count; i++) {
    const hl_native_tensor *t = i < count ? &s->list->tensors[ids[i]] : NULL;
    const tensor_use *use = t ? &s->uses[ids[i]] : NULL;
    bool begins = t && t->value >= 0 && use->written >= 0 && is_whole(s, t);
    if (t && begins && use->written == root->first) now.tensor = ids[i];
    if (!t || (begins && use->written > now.first)) {
      now.read = t ? use->written : root->last;
      now.last = t ? use->written - 1 : root->last;
      show_stretch(s, &now);
      if (t) now = (stretch){.tensor = ids[i], .first = use->written};
    }
    if (!t || t->value < 0) continue;
    now.is_weight_gradient = now.is_weight_gradient || s->is_weight_gradient[t->value];
    now.is_update = now.is_update || s->is_update[t->value];
  }
}

/* A tensor of the arena, to be sorted by root and time. */
typedef struct entry {
  int32_t root_first, root, time, id;
} entry;

static int by_root(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->root_first != y->root_first) return x->root_first < y->root_first ? -1 : 1;
  if (x->root != y->root) return x->root < y->root ? -1 : 1;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static hl_status show_arena(const survey *s, hl_error *error) {
  const hl_native_list *list = s->list;
  entry *entries = malloc(((size_t)list->tensor_count + 1) * sizeof(*entries));
  int32_t *ids = malloc(((size_t)list->tensor_count + 1) * sizeof(*ids));
  int32_t count = 0;
  for (int32_t i = 0; entries && ids && i < list->tensor_count; i++) {
    int32_t root = list->tensors[i].root;
    if (list->tensors[root].home != HL_HOME_ARENA || list->tensors[root].first < 0) continue;
    if (s->uses[i].first < 0) continue;
    entries[count++] = (entry){list->tensors[root].first, root, s->uses[i].first, i};
  }
  if (entries && ids) qsort(entries, (size_t)count, sizeof(*entries), by_root);
  for (int32_t i = 0, end; entries && ids && i < count; i = end) {
    for (end = i; end < count && entries[end].root == entries[i].root; end++)
      ids[end - i] = entries[end].id;
    show_root(s, ids, end - i);
  }
  hl_status status = entries && ids
                         ? HL_OK
                         : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to look at a program");
  free(entries);
  free(ids);
  return status;
}

/* -- all of it --------------------------------------------------------------------------------- */

static void show_steps(const survey *s) {
  for (int32_t n = 0; n < s->list->step_count; n++) {
    const hl_native_step *step = &s->list->steps[n];
    const hl_allocation shown = {.size = sizeof(shown),
                                 .kind = HL_ALLOCATION_WORKSPACE,
                                 .layer = step->layer,
                                 .phase = step->phase,
                                 .first = n,
                                 .last = n};
    s->visit(s->context, &shown);
  }
}

hl_status hl_native_allocations_of(const hl_program *program, hl_allocation_visit visit,
                                   void *context, hl_error *error) {
  survey s = {.program = program, .list = &program->list, .visit = visit, .context = context};
  size_t values = program->graph->value_count + 1, tensors = (size_t)s.list->tensor_count + 1;
  s.uses = malloc(tensors * sizeof(*s.uses));
  s.first_of = malloc(values * sizeof(*s.first_of));
  s.is_weight_gradient = calloc(values, sizeof(*s.is_weight_gradient));
  s.is_update = calloc(values, sizeof(*s.is_update));
  hl_status status = HL_OK;
  if (!s.uses || !s.first_of || !s.is_weight_gradient || !s.is_update) {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to look at a program");
  } else {
    survey_steps(&s);
    survey_values(&s);
    show_steps(&s);
    show_states(&s);
    status = show_weights(&s, error);
    if (status == HL_OK) show_outputs(&s);
    if (status == HL_OK) status = show_arena(&s, error);
  }
  free(s.uses);
  free(s.first_of);
  free(s.is_weight_gradient);
  free(s.is_update);
  return status;
}

hl_status hl_native_allocations(hl_model *model, const hl_program_spec *spec,
                                hl_allocation_visit visit, void *context, hl_error *error) {
  hl_program *program;
  hl_status status = hl_native_compile(model, spec, &program, error);
  if (status != HL_OK) return status;
  status = hl_native_allocations_of(program, visit, context, error);
  hl_native_program_free(program);
  return status;
}
