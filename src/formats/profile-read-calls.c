/* From the calls of a file to steps, operators and events. */
#include "base/hash.h"
#include "formats/profile-read-internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(const hl_profile_reader *reader, hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "%s: no memory for a profile", reader->name);
}

hl_status hl__profile_call_add(hl_profile_reader *reader, const hl_read_call *call,
                               hl_error *error) {
  if (reader->count == HL_PROFILE_EVENTS) {
    reader->profile->dropped_events++;
    return HL_OK;
  }
  if (reader->count == reader->capacity) {
    size_t wanted = reader->capacity ? reader->capacity * 2 : 256;
    hl_read_call *grown = realloc(reader->calls, wanted * sizeof *grown);
    if (!grown) return no_memory(reader, error);
    reader->calls = grown;
    reader->capacity = wanted;
  }
  reader->calls[reader->count++] = *call;
  return HL_OK;
}

static int by_number(double a, double b) {
  return (a > b) - (a < b);
}

/* Of two that begin together the longer one is outside; of equal ones a step, then a span. */
static int by_place(const void *left, const void *right) {
  const hl_read_call *a = left, *b = right;
  int order = by_number(a->thread_key, b->thread_key);
  if (!order) order = by_number(a->start_us, b->start_us);
  if (!order) order = by_number(b->duration_us, a->duration_us);
  if (!order) order = (int)b->is_step - (int)a->is_step;
  if (!order) order = (int)b->is_span - (int)a->is_span;
  return order;
}

void hl__profile_threads(hl_profile_reader *reader) {
  hl_read_call *calls = reader->calls;
  size_t count = reader->count;
  if (!count) return;
  qsort(calls, count, sizeof *calls, by_place);
  double main_key = calls[0].thread_key, first_us = (double)INFINITY;
  for (size_t i = 0; i < count; i++)
    if (calls[i].is_step && calls[i].start_us < first_us) {
      first_us = calls[i].start_us;
      main_key = calls[i].thread_key;
    }
  int32_t next = 0;
  for (size_t i = 0; i < count; i++) {
    bool same = i > 0 && calls[i].thread_key == calls[i - 1].thread_key;
    if (calls[i].thread_key == main_key)
      calls[i].thread = 0;
    else
      calls[i].thread = same ? next : ++next;
  }
}

/* -- operators -------------------------------------------------------------------------------- */

static bool same_number(double a, double b) {
  return (a <= b && a >= b) || (isnan(a) && isnan(b));
}

static bool same_operator(const hl_profile_operator *a, const hl_profile_operator *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0 &&
         strcmp(a->layer, b->layer) == 0 && strcmp(a->phase, b->phase) == 0 &&
         same_number(a->flops, b->flops) && same_number(a->bytes, b->bytes) &&
         same_number(a->memory_bytes, b->memory_bytes);
}

static bool make_table(hl_profile_reader *reader) {
  reader->table_size = 64;
  while (reader->table_size < 2 * reader->count) reader->table_size *= 2;
  reader->table = calloc(reader->table_size, sizeof *reader->table);
  return reader->table != NULL;
}

/* The index of an equal operator, added if there is none yet; -1 without memory or room. */
static int32_t find_operator(hl_profile_reader *reader, const hl_profile_operator *operator) {
  uint64_t hash = hl_hash_text(HL_HASH_START, operator->name);
  hash = hl_hash_text(hash, operator->layer);
  hash = hl_hash_text(hash, operator->phase);
  hash = hl_hash_text(hash, operator->kind);
  hash = hl_hash_bytes(hash, &operator->flops, 3 * sizeof(double)); /* its numbers */
  size_t at = (size_t)hash & (reader->table_size - 1);
  for (; reader->table[at]; at = (at + 1) & (reader->table_size - 1)) {
    int32_t index = reader->table[at] - 1;
    if (same_operator(&reader->profile->operators[index], operator)) return index;
  }
  int32_t index = hl_profile_operator_add(reader->profile, operator);
  if (index >= 0) reader->table[at] = index + 1;
  return index;
}

/* -- steps ------------------------------------------------------------------------------------ */

typedef struct period {
  double start_us, end_us;
} period;

static int by_start(const void *left, const void *right) {
  return by_number(((const period *)left)->start_us, ((const period *)right)->start_us);
}

/* What counts the time: nothing of the file lies before it. */
static double origin_of(const hl_profile_reader *reader) {
  double origin = (double)INFINITY;
  for (size_t i = 0; i < reader->count; i++) origin = fmin(origin, reader->calls[i].start_us);
  return origin;
}

static uint64_t to_ns(double us) {
  return us > 0 ? (uint64_t)llround(us * 1e3) : 0;
}

static size_t collect_steps(const hl_profile_reader *reader, period *steps) {
  size_t count = 0;
  period all = {(double)INFINITY, -(double)INFINITY};
  for (size_t i = 0; i < reader->count; i++) {
    const hl_read_call *c = &reader->calls[i];
    period p = {c->start_us, c->start_us + c->duration_us};
    all.start_us = fmin(all.start_us, p.start_us);
    all.end_us = fmax(all.end_us, p.end_us);
    if (c->is_step) steps[count++] = p;
  }
  if (!count) steps[count++] = all;
  qsort(steps, count, sizeof *steps, by_start);
  return count;
}

/* The step in which a call begins, or -1. */
static int32_t step_at(const period *steps, size_t count, double start_us) {
  size_t low = 0, high = count; /* the last that begins no later */
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (steps[middle].start_us <= start_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low && start_us <= steps[low - 1].end_us ? (int32_t)low - 1 : -1;
}

static hl_status add_event(hl_profile_reader *reader, const hl_read_call *call, int32_t step,
                           double origin_us, hl_error *error) {
  int32_t operator= find_operator(reader, &call->operator);
  if (operator<0) return no_memory(reader, error);
  hl_profile_event event = {.operator= operator, .step = step, .thread = call->thread};
  event.start_ns = to_ns(call->start_us - origin_us);
  event.duration_ns = to_ns(call->duration_us);
  hl_status status = hl_profile_event_add(reader->profile, &event);
  return status == HL_OK ? HL_OK : no_memory(reader, error);
}

static hl_status finish(hl_profile_reader *reader, period *steps, hl_error *error) {
  size_t step_count = collect_steps(reader, steps);
  double origin_us = origin_of(reader);
  hl_status status = HL_OK;
  for (size_t i = 0; i < step_count && status == HL_OK; i++)
    status = hl_profile_step_add(reader->profile, to_ns(steps[i].start_us - origin_us),
                                 to_ns(steps[i].end_us - steps[i].start_us));
  if (status != HL_OK) return no_memory(reader, error);
  for (size_t i = 0; i < reader->count && status == HL_OK; i++) {
    const hl_read_call *call = &reader->calls[i];
    int32_t step = step_at(steps, step_count, call->start_us);
    if (call->step >= 0 && (size_t)call->step < step_count) step = call->step;
    if (!call->is_step && step >= 0) status = add_event(reader, call, step, origin_us, error);
  }
  return status;
}

hl_status hl__profile_finish(hl_profile_reader *reader, hl_error *error) {
  if (!reader->count)
    return hl_error_set(error, HL_BAD_DATA,
                        "%s: it holds no operator. Was the profiler on while something ran?",
                        reader->name);
  period *steps = calloc(reader->count, sizeof *steps);
  if (!steps || !make_table(reader)) {
    free(steps);
    return no_memory(reader, error);
  }
  hl_status status = finish(reader, steps, error);
  free(steps);
  return status;
}
