#include "record/comparison.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const hl_metric hl_comparison_metrics[] = {
#define X(kind, key, unit, better, title, doc)                                                     \
  {HL_METRIC_##kind, #key, unit, HL_BETTER_##better, title, doc, offsetof(hl_comparison, key)},
#include "record/comparisons.def"
#undef X
};
const size_t hl_comparison_metric_count = HL_COUNT(hl_comparison_metrics);

void hl_comparison_init(hl_comparison *comparison) {
  memset(comparison, 0, sizeof *comparison);
  hl_fields_init(comparison, hl_comparison_metrics, hl_comparison_metric_count);
}

void hl_comparison_release(hl_comparison *comparison) {
  hl_fields_release(comparison, hl_comparison_metrics, hl_comparison_metric_count);
  hl_comparison_init(comparison);
}

void hl_comparison_write_json(const hl_comparison *comparison, hl_json *json) {
  hl_fields_write_json(comparison, hl_comparison_metrics, hl_comparison_metric_count, json);
}

void hl_comparison_note(hl_comparison *comparison, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  hl_fields_note(&comparison->notes, format, arguments);
  va_end(arguments);
}

const char *hl_comparison_verdict(hl_pair ci, double margin) {
  if (ci.low >= 1 - margin && ci.high <= 1 + margin) return "equivalent";
  if (ci.low > 1) return "faster"; /* A takes longer than B */
  return ci.high < 1 ? "slower" : "inconclusive";
}

void hl_comparisons_release(hl_comparisons *comparisons) {
  for (size_t i = 0; i < comparisons->count; i++) hl_comparison_release(&comparisons->items[i]);
  free(comparisons->items);
  *comparisons = (hl_comparisons){0};
}

hl_status hl_comparisons_take(hl_comparisons *comparisons, hl_comparison *comparison,
                              hl_error *error) {
  if (comparisons->count == comparisons->capacity) {
    size_t capacity = comparisons->capacity ? 2 * comparisons->capacity : 16;
    hl_comparison *items = realloc(comparisons->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a comparison");
    comparisons->items = items;
    comparisons->capacity = capacity;
  }
  comparisons->items[comparisons->count++] = *comparison;
  hl_comparison_init(comparison);
  return HL_OK;
}

static bool same(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

/* By the device's id, since two of a kind share a name; older stores have the name only. */
static bool is_side(const hl_record *r, const char *engine, const char *dtype, const char *device,
                    const char *device_id, const char *optimizations) {
  bool on_it = device_id && r->device_id ? same(r->device_id, device_id) : same(r->device, device);
  return same(r->engine, engine) && same(r->dtype, dtype) && on_it &&
         hl_text_same(r->optimizations, optimizations);
}

/* Older stores do not say of which entry they are. */
static bool is_of_entry(const hl_comparison *c, const hl_record *a, const hl_record *b) {
  return !c->entry || (same(c->entry, a->entry) && same(c->entry, b->entry));
}

const hl_comparison *hl_comparisons_find(const hl_comparisons *comparisons, const hl_record *a,
                                         const hl_record *b, bool *ret_swapped) {
  for (size_t i = 0; i < comparisons->count; i++) {
    const hl_comparison *c = &comparisons->items[i];
    if (!same(c->model, a->model) || !same(c->model, b->model) || c->batch_size != a->batch_size ||
        c->batch_size != b->batch_size || c->threads != a->threads || c->threads != b->threads)
      continue;
    if (!is_of_entry(c, a, b)) continue;
    bool straight =
        is_side(a, c->a_engine, c->a_dtype, c->a_device, c->a_device_id, c->a_optimizations) &&
        is_side(b, c->b_engine, c->b_dtype, c->b_device, c->b_device_id, c->b_optimizations);
    bool swapped =
        is_side(b, c->a_engine, c->a_dtype, c->a_device, c->a_device_id, c->a_optimizations) &&
        is_side(a, c->b_engine, c->b_dtype, c->b_device, c->b_device_id, c->b_optimizations);
    if (!straight && !swapped) continue;
    *ret_swapped = !straight;
    return c;
  }
  return NULL;
}
