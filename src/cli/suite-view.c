#include "cli/suite-view.h"

#include "report/suite.h"
#include <stdlib.h>
#include <string.h>

void hl_suite_view_init(hl_suite_view *view, const hl_plan *plan) {
  *view = (hl_suite_view){.plan = plan, .last = SIZE_MAX};
  view->texts = calloc(plan->count + 1, sizeof *view->texts);
  view->boxes = calloc(plan->count + 1, sizeof *view->boxes);
}

void hl_suite_view_release(hl_suite_view *view) {
  for (size_t i = 0; view->plan && i < view->plan->count; i++) {
    if (view->texts) free(view->texts[i]);
    if (view->boxes) free(view->boxes[i]);
  }
  free(view->texts);
  free(view->boxes);
  *view = (hl_suite_view){0};
}

static bool is_row_of(const hl_configuration *c, const hl_record *r) {
  return c->batch_size == r->batch_size && c->threads == r->threads &&
         hl_text_same(c->model, r->model) && hl_text_same(c->engine, r->engine) &&
         hl_text_same(c->dtype, r->dtype) && hl_text_same(c->device, r->device_id);
}

static bool in_one_box(const hl_configuration *a, const hl_configuration *b) {
  return a->threads == b->threads && hl_text_same(a->model, b->model) &&
         hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype) &&
         hl_text_same(a->device, b->device);
}

/* Puts a row in its place; one that has one already changes nothing. */
static void take(hl_suite_view *v, const hl_record *record) {
  if (!v->texts || !v->boxes) return;
  for (size_t i = 0; i < v->plan->count; i++) {
    if (!is_row_of(&v->plan->items[i], record)) continue;
    if (v->texts[i]) return;
    hl_text text = HL_TEXT_INIT;
    hl_report_suite_row(record, &text);
    v->texts[i] = hl_text_take(&text);
    hl_report_suite_box(record, &text);
    v->boxes[i] = hl_text_take(&text);
    hl_text_release(&text);
    return;
  }
}

static void show(hl_suite_view *v, size_t i, hl_text *out) {
  const hl_configuration *items = v->plan->items;
  bool begins = v->last == SIZE_MAX || !in_one_box(&items[v->last], &items[i]);
  if (begins && v->boxes[i]) hl_text_append(out, v->boxes[i]);
  hl_text_append(out, v->texts[i]);
  v->last = i;
}

void hl_suite_view_row(hl_suite_view *v, const hl_record *record, hl_text *out) {
  take(v, record);
  for (; v->texts && v->next < v->plan->count && v->texts[v->next]; v->next++)
    show(v, v->next, out);
}

void hl_suite_view_end(hl_suite_view *v, const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++) take(v, &records->items[i]);
  for (; v->texts && v->next < v->plan->count; v->next++)
    if (v->texts[v->next]) show(v, v->next, out);
}
