#include "record/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAP_BYTES = 512 << 20 };

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a history");
}

/* Room for one more in a list. */
static bool grow(void **items, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  size_t wanted = *capacity ? 2 * *capacity : 64;
  void *moved = realloc(*items, wanted * item_bytes);
  if (!moved) return false;
  *items = moved;
  *capacity = wanted;
  return true;
}

/* Copies the texts of a list into the arena, in place. */
static bool keep_texts(hl_arena *arena, const char **const *texts, size_t count) {
  bool ok = true;
  for (size_t i = 0; i < count; i++) {
    const char *text = *texts[i];
    *texts[i] = hl_arena_text(arena, text);
    ok = ok && (!text || *texts[i]);
  }
  return ok;
}

void hl_history_rows_init(hl_history_rows *rows) {
  *rows = (hl_history_rows){0};
  hl_arena_init(&rows->arena, CAP_BYTES);
}

void hl_history_rows_release(hl_history_rows *rows) {
  free(rows->items);
  hl_arena_release(&rows->arena);
  hl_history_rows_init(rows);
}

hl_status hl_history_rows_add(hl_history_rows *rows, const hl_history_row *row, hl_error *error) {
  hl_history_row copy = *row;
  const char **const texts[] = {&copy.run_id, &copy.machine_id, &copy.cpu,  &copy.configuration,
                                &copy.model,  &copy.commit,     &copy.time, &copy.workload};
  void *items = rows->items;
  bool ok = grow(&items, rows->count, &rows->capacity, sizeof *rows->items);
  rows->items = items;
  ok = ok && keep_texts(&rows->arena, texts, HL_COUNT(texts));
  if (!ok) return no_memory(error);
  rows->items[rows->count++] = copy;
  return HL_OK;
}

const hl_metric *hl_metric_interval(const hl_metric *metric) {
  const char *unit = strrchr(metric->key, '_');
  if (!unit) return NULL;
  char key[64];
  int length = snprintf(key, sizeof key, "%.*s_ci%s", (int)(unit - metric->key), metric->key, unit);
  if (length < 0 || (size_t)length >= sizeof key) return NULL;
  const hl_metric *interval = hl_metric_find(key);
  return interval && interval->kind == HL_METRIC_PAIR ? interval : NULL;
}

void hl_change_checks_init(hl_change_checks *checks) {
  *checks = (hl_change_checks){0};
  hl_arena_init(&checks->arena, CAP_BYTES);
}

void hl_change_checks_release(hl_change_checks *checks) {
  free(checks->items);
  hl_arena_release(&checks->arena);
  hl_change_checks_init(checks);
}

static bool same(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

static bool same_change(const hl_change_check *a, const hl_change_check *b) {
  return same(a->before, b->before) && same(a->after, b->after) && same(a->metric, b->metric) &&
         same(a->machine_id, b->machine_id) && same(a->configuration, b->configuration);
}

const hl_change_check *hl_change_checks_find(const hl_change_checks *checks,
                                             const hl_change_check *wanted) {
  for (size_t i = checks->count; i > 0; i--)
    if (same_change(&checks->items[i - 1], wanted)) return &checks->items[i - 1];
  return NULL;
}

hl_status hl_change_checks_add(hl_change_checks *checks, const hl_change_check *check,
                               hl_error *error) {
  hl_change_check copy = *check;
  const char **const texts[] = {&copy.machine_id, &copy.configuration, &copy.metric,
                                &copy.before,     &copy.after,         &copy.checked,
                                &copy.verdict,    &copy.command};
  void *items = checks->items;
  bool ok = grow(&items, checks->count, &checks->capacity, sizeof *checks->items);
  checks->items = items;
  ok = ok && keep_texts(&checks->arena, texts, HL_COUNT(texts));
  if (!ok) return no_memory(error);
  checks->items[checks->count++] = copy;
  return HL_OK;
}
