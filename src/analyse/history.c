#include "analyse/history-internal.h"

#include "base/hash.h"
#include "statistics/percentile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAP_BYTES = 512 << 20 };

/* A row with what it is sorted by. */
typedef struct entry {
  const hl_history_row *row;
  const char *name;   /* of its series */
  const char *commit; /* 40 digits in the arena, or NULL */
  size_t index;       /* in the order of measuring */
  size_t series;      /* index of the first row of its series */
  bool dirty;
} entry;

/* Of a thousand rows there are a handful of configurations. */
enum { NAMES = 64 };
typedef struct named {
  const char *configuration, *name;
} named;

typedef struct maker {
  const hl_history_input *input;
  hl_history *history;
  entry *entries;
  size_t count;
  named names[NAMES]; /* the last one of each hash */
} maker;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a history");
}

/* NULL comes first. */
static int compare_text(const char *a, const char *b) {
  if (a == b) return 0;
  if (!a || !b) return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

static int compare_index(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int by_series(const void *a, const void *b) {
  const entry *x = a, *y = b;
  int c = compare_text(x->name, y->name);
  if (c == 0) c = compare_text(x->row->machine_id, y->row->machine_id);
  return c ? c : compare_index(x->index, y->index);
}

static bool same_series(const entry *a, const entry *b) {
  return compare_text(a->name, b->name) == 0 &&
         compare_text(a->row->machine_id, b->row->machine_id) == 0;
}

/* Series in the order of their first rows, in each the rows of a commit together. */
static int by_commit(const void *a, const void *b) {
  const entry *x = a, *y = b;
  int c = compare_index(x->series, y->series);
  if (c == 0) c = compare_text(x->commit, y->commit);
  if (c == 0) c = x->dirty - y->dirty;
  return c ? c : compare_index(x->index, y->index);
}

/* Whether two rows are runs of the same code: a dirty tree, or no known commit, may be any. */
static bool same_point(const entry *a, const entry *b) {
  return a->series == b->series && a->commit && b->commit && strcmp(a->commit, b->commit) == 0 &&
         !a->dirty && !b->dirty;
}

static const char *name_of(maker *m, const char *configuration) {
  named *known = &m->names[hl_hash_text(HL_HASH_START, configuration) % NAMES];
  if (known->configuration && strcmp(known->configuration, configuration) == 0) return known->name;
  hl_text name = HL_TEXT_INIT;
  bool operand = hl_history_operand(configuration, &name);
  *known = (named){configuration,
                   hl_arena_text(&m->history->arena, operand ? name.data : configuration)};
  hl_text_release(&name);
  return known->name;
}

static hl_status name_entry(maker *m, entry *e, hl_error *error) {
  const char *commit = e->row->commit;
  size_t length = hl__history_commit_length(commit);
  e->name = name_of(m, e->row->configuration ? e->row->configuration : "");
  if (length) {
    e->dirty = commit[length] != '\0';
    e->commit = hl_arena_text_n(&m->history->arena, commit, length);
    if (!e->commit) return no_memory(error);
  }
  return e->name ? HL_OK : no_memory(error);
}

static hl_status read_rows(maker *m, hl_error *error) {
  const hl_history_rows *rows = m->input->rows;
  m->entries = calloc(rows->count + 1, sizeof *m->entries);
  if (!m->entries) return no_memory(error);
  m->history->rows = rows->count;
  for (size_t i = 0; i < rows->count; i++) {
    if (!isfinite(rows->items[i].value)) {
      m->history->null_rows++;
      continue;
    }
    entry *e = &m->entries[m->count++];
    *e = (entry){.row = &rows->items[i], .index = i};
    hl_status status = name_entry(m, e, error);
    if (status != HL_OK) return status;
  }
  qsort(m->entries, m->count, sizeof *m->entries, by_series);
  for (size_t i = 0; i < m->count; i++)
    m->entries[i].series = i && same_series(&m->entries[i - 1], &m->entries[i])
                               ? m->entries[i - 1].series
                               : m->entries[i].index;
  qsort(m->entries, m->count, sizeof *m->entries, by_commit);
  return HL_OK;
}

static int by_commit_id(const void *key, const void *item) {
  return strcmp(key, ((const hl_history_commit *)item)->id);
}

static int64_t behind_of(const maker *m, const char *commit) {
  if (!commit || !m->input->commit_count) return -1;
  const hl_history_commit *found = bsearch(commit, m->input->commits, m->input->commit_count,
                                           sizeof *m->input->commits, by_commit_id);
  return found ? found->behind : -1;
}

/* Several runs: the hull of what each of them allows. */
static hl_pair hull(const entry *entries, size_t count) {
  hl_pair all = entries[0].row->interval;
  if (count == 1) return all;
  all = (hl_pair){(double)INFINITY, -(double)INFINITY};
  for (size_t i = 0; i < count; i++) {
    const hl_history_row *r = entries[i].row;
    /* fmin and fmax pass over NaN. */
    all.low = fmin(all.low, fmin(r->value, r->interval.low));
    all.high = fmax(all.high, fmax(r->value, r->interval.high));
  }
  return all;
}

static hl_status make_point(const maker *m, const entry *entries, size_t count,
                            hl_history_point *point, hl_error *error) {
  double *values = calloc(count, sizeof *values);
  if (!values) return no_memory(error);
  for (size_t i = 0; i < count; i++) values[i] = entries[i].row->value;
  *point = (hl_history_point){.commit = entries[0].commit,
                              .dirty = entries[0].dirty,
                              .time = entries[0].row->time,
                              .behind = behind_of(m, entries[0].commit),
                              .value = hl_median(values, count),
                              .interval = hull(entries, count),
                              .runs = count,
                              .first_row = entries[0].index,
                              .level = (double)NAN};
  free(values);
  return HL_OK;
}

/* Times are of whole seconds: what is equal keeps the order in which it was measured. */
static int by_time(const void *a, const void *b) {
  const hl_history_point *x = a, *y = b;
  int c = compare_text(x->time, y->time);
  return c ? c : compare_index(x->first_row, y->first_row);
}

static int by_git(const void *a, const void *b) {
  const hl_history_point *x = a, *y = b;
  if (x->behind != y->behind) return x->behind > y->behind ? -1 : 1;
  return x->dirty != y->dirty ? x->dirty - y->dirty : by_time(a, b);
}

static void leave_out_old(const maker *m, hl_history_series *s) {
  if (!m->input->since || !s->by_git) return;
  while (s->left_out < s->count && s->points[s->left_out].behind > m->input->since_behind)
    s->left_out++;
  s->points += s->left_out;
  s->count -= s->left_out;
}

static hl_status make_series(maker *m, size_t from, size_t to, hl_error *error) {
  const entry *first = &m->entries[from];
  hl_history_series *s = &m->history->items[m->history->count++];
  *s = (hl_history_series){.name = first->name,
                           .model = first->row->model,
                           .machine_id = first->row->machine_id,
                           .cpu = first->row->cpu,
                           .runs = to - from};
  s->points = hl_arena_array(&m->history->arena, to - from, sizeof *s->points);
  if (!s->points) return no_memory(error);
  hl_status status = HL_OK;
  for (size_t i = from, end; i < to && status == HL_OK; i = end) {
    for (end = i + 1; end < to && same_point(&m->entries[i], &m->entries[end]);) end++;
    hl_history_point *point = &s->points[s->count++];
    status = make_point(m, &m->entries[i], end - i, point, error);
    s->unplaced += point->behind < 0;
  }
  if (status != HL_OK) return status;
  s->by_git = s->unplaced == 0;
  qsort(s->points, s->count, sizeof *s->points, s->by_git ? by_git : by_time);
  leave_out_old(m, s);
  return hl__history_find_changes(m->input, first->row, m->history, s, error);
}

hl_status hl_history_make(const hl_history_input *input, hl_history *ret_history, hl_error *error) {
  hl_history history = {.metric = input->metric};
  hl_arena_init(&history.arena, CAP_BYTES);
  maker m = {.input = input, .history = &history};
  hl_status status = read_rows(&m, error);
  if (status == HL_OK) {
    history.items = hl_arena_array(&history.arena, m.count, sizeof *history.items);
    if (!history.items) status = no_memory(error);
  }
  for (size_t i = 0, end; history.items && i < m.count && status == HL_OK; i = end) {
    for (end = i + 1; end < m.count && m.entries[end].series == m.entries[i].series;) end++;
    status = make_series(&m, i, end, error);
  }
  free(m.entries);
  if (status == HL_OK) status = hl__history_adjust(&history, error);
  if (status == HL_OK)
    *ret_history = history;
  else
    hl_history_release(&history);
  return status;
}

void hl_history_release(hl_history *history) {
  hl_arena_release(&history->arena);
  *history = (hl_history){0};
}
