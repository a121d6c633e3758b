/*
 * Chrome traces ("Trace Event Format"): torch.profiler's, and our own.
 *
 * Operators are complete events (ph X) of the categories below; annotations (record_function) are
 * spans, and "ProfilerStep#5" is a step. Our own events say in args what they are. In torch's an
 * operator has the layer of the annotation in which it ran, and one of backward that of the forward
 * operator with its sequence number.
 */
#include "formats/profile-read-internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char step_name[] = "ProfilerStep#";
static const char optimizer_name[] = "Optimizer.";
static const char backward_name[] = "autograd::engine::evaluate_function";

static bool starts(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static bool is_operator(const char *category) {
  static const char *const known[] = {"cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "Operator"};
  for (size_t i = 0; i < HL_COUNT(known); i++)
    if (strcmp(category, known[i]) == 0) return true;
  return false;
}

static int64_t whole(double number) {
  return number >= 0 && number < 9e15 ? (int64_t)number : -1;
}

static hl_status read_event(hl_profile_reader *reader, const json_t *event, bool own,
                            hl_error *error) {
  const char *category = hl__profile_text(event, "cat"), *name = hl__profile_text(event, "name");
  const json_t *args = json_object_get(event, "args");
  bool is_span = strcmp(category, "user_annotation") == 0;
  if (strcmp(hl__profile_text(event, "ph"), "X") != 0) return HL_OK;
  if (!is_span && !is_operator(category)) return HL_OK;
  const char *kind = hl__profile_text(args, "kind");
  bool is_step = is_span && !*kind && starts(name, step_name);
  hl_read_call call = {.step = -1, .is_span = is_span, .is_step = is_step};
  hl_status status = hl__profile_times(reader, event, &call, error);
  if (status != HL_OK) return status;
  int64_t step = whole(hl__profile_number(args, "step"));
  if (own && step >= 0 && step < INT32_MAX) call.step = (int32_t)step;
  call.sequence = whole(hl__profile_number(args, "Sequence number"));
  call.is_backward = hl__profile_number(args, "Fwd thread id") > 0;
  if (!*kind) kind = is_span ? "span" : name;
  call.operator=(hl_profile_operator){.name = name,
                                      .kind = kind,
                                      .layer = hl__profile_text(args, "layer"),
                                      .phase = hl__profile_text(args, "phase"),
                                      .flops = hl__profile_number(args, "flops"),
                                      .bytes = hl__profile_number(args, "bytes"),
                                      .memory_bytes = hl__profile_number(args, "memory_bytes")};
  return hl__profile_call_add(reader, &call, error);
}

/* -- torch's layers and phases ---------------------------------------------------------------- */

typedef struct known_layer {
  int64_t sequence;
  const char *layer;
} known_layer;

static int by_sequence(const void *left, const void *right) {
  int64_t a = ((const known_layer *)left)->sequence, b = ((const known_layer *)right)->sequence;
  return (a > b) - (a < b);
}

static double end_of(const hl_read_call *call) {
  return call->start_us + call->duration_us;
}

/* What a call has of the one around it. */
static void inherit(hl_read_call *call, const hl_read_call *outer) {
  hl_profile_operator *o = &call->operator;
  if (call->is_span) {
    if (starts(o->name, optimizer_name))
      o->phase = "optimizer";
    else if (!call->is_step)
      o->layer = o->name;
  } else if (starts(o->name, backward_name)) {
    o->phase = "backward";
  }
  if (!outer) return;
  if (!*o->layer) o->layer = outer->operator.layer;
  if (!*o->phase) o->phase = outer->operator.phase;
}

/* Goes through the sorted calls of each thread with a stack of those that are open. */
static hl_status nest(hl_profile_reader *reader, hl_error *error) {
  hl_read_call **open = calloc(reader->count + 1, sizeof(hl_read_call *));
  if (!open) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", reader->name);
  size_t depth = 0;
  for (size_t i = 0; i < reader->count; i++) {
    hl_read_call *call = &reader->calls[i];
    if (i && call->thread != reader->calls[i - 1].thread) depth = 0;
    while (depth && end_of(open[depth - 1]) <= call->start_us) depth--;
    inherit(call, depth ? open[depth - 1] : NULL);
    open[depth++] = call;
  }
  free(open);
  return HL_OK;
}

/* Operators of backward take the layer of forward's, by their number; what they call, from them. */
static hl_status backward_layers(hl_profile_reader *reader, hl_error *error) {
  known_layer *known = calloc(reader->count + 1, sizeof *known);
  if (!known) return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", reader->name);
  size_t count = 0;
  bool any_backward = false;
  for (size_t i = 0; i < reader->count; i++) {
    const hl_read_call *c = &reader->calls[i];
    any_backward = any_backward || strcmp(c->operator.phase, "backward") == 0;
    if (c->sequence >= 0 && !c->is_backward && *c->operator.layer)
      known[count++] = (known_layer){c->sequence, c->operator.layer };
  }
  qsort(known, count, sizeof *known, by_sequence);
  for (size_t i = 0; i < reader->count; i++) {
    hl_read_call *c = &reader->calls[i];
    known_layer key = {.sequence = c->sequence};
    const known_layer *found = c->sequence >= 0 && c->is_backward && count
                                   ? bsearch(&key, known, count, sizeof key, by_sequence)
                                   : NULL;
    if (found) c->operator.layer = found->layer;
    if (any_backward && !*c->operator.phase && !c->is_span) c->operator.phase = "forward";
  }
  free(known);
  return nest(reader, error); /* what they call */
}

/* -- our own ---------------------------------------------------------------------------------- */

static hl_status copy_text(hl_profile_reader *reader, const json_t *object, const char *key,
                           const char **field, hl_error *error) {
  *field = hl_arena_text(&reader->profile->arena, hl__profile_text(object, key));
  return *field ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory", reader->name);
}

static int64_t count_of(const json_t *object, const char *key) {
  int64_t count = whole(hl__profile_number(object, key));
  return count > 0 ? count : 0;
}

static hl_status read_facts(hl_profile_reader *reader, const json_t *facts, hl_error *error) {
  hl_profile *p = reader->profile;
  const struct {
    const char *key, **field;
  } texts[] = {{"workload", &p->workload}, {"model", &p->model},
               {"engine", &p->engine},     {"dtype", &p->dtype},
               {"device", &p->device},     {"source", &p->source},
               {"reason", &p->reason},     {"engine_version", &p->engine_version}};
  hl_status status = HL_OK;
  for (size_t i = 0; i < HL_COUNT(texts) && status == HL_OK; i++)
    status = copy_text(reader, facts, texts[i].key, texts[i].field, error);
  p->batch_size = count_of(facts, "batch_size");
  p->threads = count_of(facts, "threads");
  p->dropped_events = (uint64_t)count_of(facts, "dropped_events");
  p->wall_start_us = (uint64_t)count_of(facts, "wall_start_us");
  p->complete = !json_is_false(json_object_get(facts, "complete"));
  return status;
}

hl_status hl__profile_read_trace(hl_profile_reader *reader, const json_t *root, hl_error *error) {
  const json_t *events = json_object_get(root, "traceEvents");
  const json_t *facts = json_object_get(root, "otherData");
  bool own = strcmp(hl__profile_text(facts, "producer"), "hotlap") == 0;
  hl_status status = HL_OK;
  for (size_t i = 0; i < json_array_size(events) && status == HL_OK; i++) {
    snprintf(reader->place, sizeof reader->place, "traceEvents[%zu]", i);
    const json_t *event = json_array_get(events, i);
    status = json_is_object(event) ? read_event(reader, event, own, error)
                                   : hl__profile_wrong(reader, NULL, "no object", error);
  }
  hl__profile_threads(reader);
  if (status != HL_OK) return status;
  if (own) return read_facts(reader, facts, error);
  reader->profile->engine = "torch";
  reader->profile->source = "torch";
  status = nest(reader, error);
  return status == HL_OK ? backward_layers(reader, error) : status;
}
