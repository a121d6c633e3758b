#include "analyse/profile.h"

#include "base/hash.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { deepest = 64 };

const char *hl_profile_by_name(hl_profile_by by) {
  static const char *const names[HL_PROFILE_BYS] = {"operator", "layer", "kind", "phase"};
  return names[by];
}

/* An event while threads are walked through in time. */
typedef struct open_event {
  uint64_t end_ns;
  size_t row;
  const char *phase;
  double self_ns;
  bool outermost; /* of its row: its time is not in another event of the row */
} open_event;

typedef struct work {
  const hl_profile *profile;
  hl_profile_by by;
  hl_profile_table *table;
  size_t capacity;
  size_t *slots; /* 1 + row, by hash */
  size_t slot_count;
  open_event stack[deepest];
  int depth;
} work;

static const char *phase_of(const work *w, const hl_profile_operator *o) {
  return o->phase[0] || !w->depth ? o->phase : w->stack[w->depth - 1].phase;
}

/* What the rows of this table are told apart by. */
static hl_profile_row key_of(const work *w, const hl_profile_operator *o, const char *phase,
                             bool aside) {
  hl_profile_row row = {.name = "", .kind = "", .phase = "", .aside = aside};
  row.is_span = strcmp(o->kind, HL_PROFILE_SPAN) == 0;
  if (w->by == HL_PROFILE_BY_OPERATOR) {
    row.name = o->name;
    row.kind = o->kind;
    row.phase = phase;
  } else if (w->by == HL_PROFILE_BY_LAYER) {
    row.name = row.is_span ? o->name : o->layer;
    row.phase = "";
  } else if (w->by == HL_PROFILE_BY_KIND) {
    row.name = row.is_span ? o->name : o->kind;
  } else {
    row.name = phase;
    row.is_span = false;
  }
  return row;
}

static bool same_key(const hl_profile_row *a, const hl_profile_row *b) {
  return a->aside == b->aside && a->is_span == b->is_span && strcmp(a->name, b->name) == 0 &&
         strcmp(a->phase, b->phase) == 0 && strcmp(a->kind, b->kind) == 0;
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the table of a profile");
}

static size_t slot_of(const work *w, const hl_profile_row *key) {
  return hl_hash_text(hl_hash_text(HL_HASH_START, key->name), key->phase) % w->slot_count;
}

/* Slots are twice the rows at least. */
static bool grow_slots(work *w) {
  if (w->slots && 2 * (w->table->count + 1) <= w->slot_count) return true;
  size_t wanted = w->slots ? 2 * w->slot_count : 256;
  size_t *slots = calloc(wanted, sizeof *slots);
  if (!slots) return false;
  free(w->slots);
  w->slots = slots;
  w->slot_count = wanted;
  for (size_t i = 0; i < w->table->count; i++) {
    size_t slot = slot_of(w, &w->table->rows[i]);
    while (slots[slot]) slot = (slot + 1) % wanted;
    slots[slot] = i + 1;
  }
  return true;
}

/* The row of a key, made if it is not there; SIZE_MAX without memory. */
static size_t row_of(work *w, const hl_profile_row *key) {
  if (!grow_slots(w)) return SIZE_MAX;
  size_t slot = slot_of(w, key);
  for (; w->slots[slot]; slot = (slot + 1) % w->slot_count)
    if (same_key(&w->table->rows[w->slots[slot] - 1], key)) return w->slots[slot] - 1;
  if (w->table->count == w->capacity) {
    size_t wanted = w->capacity ? 2 * w->capacity : 64;
    hl_profile_row *rows = realloc(w->table->rows, wanted * sizeof *rows);
    if (!rows) return SIZE_MAX;
    w->table->rows = rows;
    w->capacity = wanted;
  }
  hl_profile_row *row = &w->table->rows[w->table->count];
  *row = *key;
  row->flops = row->bytes = row->memory_bytes = (double)NAN;
  w->slots[slot] = ++w->table->count;
  return w->table->count - 1;
}

/* A sum of what is known: NaN once something is not. */
static void add_call(hl_profile_row *row, const hl_profile_operator *o) {
  row->flops = row->calls ? row->flops + o->flops : o->flops;
  row->bytes = row->calls ? row->bytes + o->bytes : o->bytes;
  row->memory_bytes = row->calls ? fmax(row->memory_bytes, o->memory_bytes) : o->memory_bytes;
  row->calls++;
}

static void close_event(work *w) {
  const open_event *e = &w->stack[--w->depth];
  if (w->table->rows) w->table->rows[e->row].self_ns += fmax(e->self_ns, 0);
}

static bool is_open(const work *w, size_t row) {
  for (int i = 0; i < w->depth; i++)
    if (w->stack[i].row == row) return true;
  return false;
}

/* Events of one thread come by their start, longer ones first. What hangs over the end of the event
 * around it is cut there. */
static bool take(work *w, const hl_profile_event *e) {
  const hl_profile_operator *o = &w->profile->operators[e->operator];
  while (w->depth && w->stack[w->depth - 1].end_ns <= e->start_ns) close_event(w);
  uint64_t end = e->start_ns + e->duration_ns;
  if (w->depth && end > w->stack[w->depth - 1].end_ns) end = w->stack[w->depth - 1].end_ns;
  double duration = (double)(end - e->start_ns);
  const char *phase = phase_of(w, o);
  hl_profile_row key = key_of(w, o, phase, e->thread != 0);
  size_t row = row_of(w, &key);
  if (row == SIZE_MAX || !w->table->rows) return false;
  bool outermost = !is_open(w, row);
  if (w->depth) w->stack[w->depth - 1].self_ns -= duration;
  /* A phase counts what runs in it, not itself. */
  bool counts = w->by != HL_PROFILE_BY_PHASE || strcmp(o->kind, HL_PROFILE_SPAN) != 0;
  if (counts) add_call(&w->table->rows[row], o);
  if (outermost) w->table->rows[row].total_ns += duration;
  if (w->depth == deepest) {
    w->table->rows[row].self_ns += duration;
    return true;
  }
  w->stack[w->depth++] = (open_event){end, row, phase, duration, outermost};
  return true;
}

static const hl_profile_event *sorted_events; /* of the profile that is being sorted */

static int by_time(const void *a, const void *b) {
  const hl_profile_event *x = &sorted_events[*(const uint32_t *)a];
  const hl_profile_event *y = &sorted_events[*(const uint32_t *)b];
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  if (x->duration_ns != y->duration_ns) return x->duration_ns > y->duration_ns ? -1 : 1;
  /* A span is written after what it holds. */
  return *(const uint32_t *)a > *(const uint32_t *)b ? -1 : 1;
}

static hl_status walk(work *w, hl_error *error) {
  const hl_profile *p = w->profile;
  uint32_t *order = malloc((p->event_count + 1) * sizeof *order);
  if (!order) return no_memory(error);
  for (size_t i = 0; i < p->event_count; i++) order[i] = (uint32_t)i;
  sorted_events = p->events;
  qsort(order, p->event_count, sizeof *order, by_time);
  bool fits = true;
  int32_t thread = 0;
  for (size_t i = 0; i < p->event_count && fits; i++) {
    const hl_profile_event *e = &p->events[order[i]];
    while (w->depth && e->thread != thread) close_event(w);
    thread = e->thread;
    fits = take(w, e);
  }
  while (w->depth) close_event(w);
  free(order);
  return fits ? HL_OK : no_memory(error);
}

/* Of a span only what it does not leave to others is worth a line. */
static void drop_empty_spans(hl_profile_table *t) {
  size_t kept = 0;
  for (size_t i = 0; i < t->count; i++)
    if (!t->rows[i].is_span || t->rows[i].self_ns > 0) t->rows[kept++] = t->rows[i];
  t->count = kept;
}

static hl_status add_gap(work *w, hl_error *error) {
  hl_profile_table *t = w->table;
  for (size_t i = 0; i < w->profile->step_count; i++) t->steps_ns += (double)w->profile->step_ns[i];
  t->steps = w->profile->step_count;
  for (size_t i = 0; i < t->count; i++)
    if (!t->rows[i].aside) t->covered_ns += t->rows[i].self_ns;
  if (!(t->steps_ns > t->covered_ns)) return HL_OK;
  const hl_profile_row key = {
      .name = "(between operators)", .kind = "", .phase = "", .is_gap = true, .is_span = true};
  size_t row = row_of(w, &key);
  if (row == SIZE_MAX || !t->rows) return no_memory(error);
  hl_profile_row *gap = &t->rows[row];
  gap->calls = t->steps;
  gap->self_ns = gap->total_ns = t->steps_ns - t->covered_ns;
  return HL_OK;
}

static void fill_rates(const hl_profile *p, hl_profile_row *row) {
  row->gflops = row->flops / row->total_ns;
  row->gbs = row->bytes / row->total_ns;
  row->intensity = row->bytes > 0 ? row->flops / row->bytes : (double)NAN;
  double by_bytes = row->gbs / p->bandwidth_gbs, by_flops = row->gflops / p->peak_gflops;
  row->roofline = isnan(by_bytes) || isnan(by_flops) ? (double)NAN : fmax(by_bytes, by_flops);
  if (row->is_span || row->total_ns <= 0)
    row->gflops = row->gbs = row->intensity = row->roofline = (double)NAN;
}

static int by_self(const void *a, const void *b) {
  const hl_profile_row *x = a, *y = b;
  if (x->is_gap != y->is_gap) return x->is_gap ? 1 : -1;
  if (x->self_ns != y->self_ns) return x->self_ns > y->self_ns ? -1 : 1;
  int names = strcmp(x->name, y->name);
  return names ? names : strcmp(x->phase, y->phase);
}

hl_status hl_profile_tabulate(const hl_profile *profile, hl_profile_by by,
                              hl_profile_table *ret_table, hl_error *error) {
  hl_profile_table table = {0};
  work w = {.profile = profile, .by = by, .table = &table};
  hl_status status = walk(&w, error);
  drop_empty_spans(&table);
  free(w.slots); /* rows have moved */
  w.slots = NULL;
  if (status == HL_OK) status = add_gap(&w, error);
  free(w.slots);
  if (status != HL_OK) {
    hl_profile_table_release(&table);
    return status;
  }
  for (size_t i = 0; i < table.count; i++) fill_rates(profile, &table.rows[i]);
  if (table.count) qsort(table.rows, table.count, sizeof *table.rows, by_self);
  *ret_table = table;
  return HL_OK;
}

void hl_profile_table_release(hl_profile_table *table) {
  free(table->rows);
  *table = (hl_profile_table){0};
}
