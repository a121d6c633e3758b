#include "analyse/memory.h"

#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hl_memory_measure_name(hl_memory_measure measure) {
  return measure == HL_MEMORY_PLANNED ? "planned" : "measured";
}

static bool counts(const hl_record *r) {
  return hl_workload_is_memory(r->workload) && hl_record_passed(r);
}

/* Alike but for model, batch and mode. */
static bool same_setting(const hl_record *a, const hl_record *b) {
  return hl_text_same(a->entry, b->entry) && hl_text_same(a->engine, b->engine) &&
         hl_text_same(a->dtype, b->dtype) && hl_text_same(a->device_id, b->device_id) &&
         hl_text_same(a->provider, b->provider) && a->threads == b->threads;
}

static double value_of(const hl_record *r, hl_memory_measure measure) {
  return measure == HL_MEMORY_PLANNED ? r->planned_memory_mb : r->memory_mb;
}

typedef struct point {
  double x, y;
} point;

static int by_x(const void *a, const void *b) {
  const point *p = a, *q = b;
  return (p->x > q->x) - (p->x < q->x);
}

/* From points in the order of x, each x once. */
static bool fit(const point *points, size_t n, hl_memory_growth *g) {
  HL_CLEANUP(hl_free_pointer) double *x = calloc(2 * n + 1, sizeof *x);
  double *y = x + n;
  if (n < 2 || !x) return false;
  for (size_t i = 0; i < n; i++) {
    x[i] = points[i].x;
    y[i] = points[i].y;
  }
  if (!hl_line_fit(x, y, NULL, n, &g->line)) return false;
  g->count = n;
  g->low = x[0];
  g->high = x[n - 1];
  g->step_low = g->share_low = (double)INFINITY;
  g->step_high = g->share_high = -(double)INFINITY;
  for (size_t i = 0; i < n; i++) {
    g->share_low = fmin(g->share_low, y[i] / x[i]);
    g->share_high = fmax(g->share_high, y[i] / x[i]);
    g->deviation = fmax(g->deviation, fabs(y[i] - g->line.a0 - g->line.a1 * x[i]) / y[i]);
    if (i == 0) continue;
    double step = (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
    g->step_low = fmin(g->step_low, step);
    g->step_high = fmax(g->step_high, step);
  }
  g->constant = g->step_low > 0 && g->step_high <= (1 + HL_MEMORY_CONSTANT) * g->step_low;
  g->linear = g->deviation <= HL_MEMORY_LINEAR;
  return true;
}

/* Adds the growth of the rows that are `alike` with `first`, over what `x_of` says; `points` has
 * room for all rows. */
static void add_growth(const hl_records *records, const hl_record *first,
                       bool (*alike)(const hl_record *, const hl_record *),
                       double (*x_of)(const hl_record *), point *points, hl_memory_growth *list,
                       size_t *count) {
  for (int m = 0; m < HL_MEMORY_MEASURES; m++) {
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < records->count; i++) {
      const hl_record *r = &records->items[i];
      double y = value_of(r, (hl_memory_measure)m), x = x_of(r);
      if (counts(r) && alike(first, r) && x > 0 && isfinite(y) && y > 0)
        points[n++] = (point){x, y};
    }
    qsort(points, n, sizeof *points, by_x);
    for (size_t i = 0; i < n; i++)
      if (kept == 0 || points[kept - 1].x < points[i].x) points[kept++] = points[i];
    hl_memory_growth g = {.first = first, .measure = (hl_memory_measure)m};
    if (fit(points, kept, &g)) list[(*count)++] = g;
  }
}

static double batch_of(const hl_record *r) {
  return (double)r->batch_size;
}

static bool same_but_batch(const hl_record *a, const hl_record *b) {
  return same_setting(a, b) && hl_text_same(a->model, b->model) && hl_text_same(a->mode, b->mode);
}

static double parameters_of(const hl_record *r) {
  return r->parameters == HL_INT_NULL ? (double)NAN : (double)r->parameters;
}

/* "mlp:hidden_dim=256" and "mlp:hidden_dim=512"; files are no family. */
bool hl_memory_same_family(const hl_record *a, const hl_record *b) {
  size_t length = strcspn(a->model, ":");
  return length == strcspn(b->model, ":") && strncmp(a->model, b->model, length) == 0;
}

static bool same_but_model(const hl_record *a, const hl_record *b) {
  return same_setting(a, b) && hl_memory_same_family(a, b) && a->batch_size == b->batch_size &&
         hl_text_same(a->mode, b->mode);
}

/* Whether `row` is the first of those that are alike. */
static bool is_first(const hl_records *records, size_t row,
                     bool (*alike)(const hl_record *, const hl_record *)) {
  for (size_t i = 0; i < row; i++)
    if (counts(&records->items[i]) && alike(&records->items[i], &records->items[row])) return false;
  return true;
}

/* Models that have a row like this one. */
static size_t models_with(const hl_records *records, const hl_record *like) {
  size_t count = 0;
  for (size_t i = 0; i < records->count; i++)
    count += counts(&records->items[i]) && same_but_model(like, &records->items[i]);
  return count;
}

/* Sizes of models are compared at one batch: the largest of those that most models have. */
static bool is_best_batch(const hl_records *records, const hl_record *row) {
  size_t own = models_with(records, row);
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!counts(r) || !same_setting(r, row) || !hl_text_same(r->mode, row->mode) ||
        !hl_memory_same_family(r, row))
      continue;
    size_t other = models_with(records, r);
    if (other > own || (other == own && r->batch_size > row->batch_size)) return false;
  }
  return true;
}

static double ratio(double a, double b) {
  return b > 0 ? a / b : (double)NAN;
}

static void add_pairs(const hl_records *records, size_t row, hl_memory_analysis *a) {
  const hl_record *t = &records->items[row];
  if (!hl_text_same(t->mode, "training")) return;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!counts(r) || !hl_text_same(r->mode, "inference") || !same_setting(r, t) ||
        !hl_text_same(r->model, t->model) || r->batch_size != t->batch_size)
      continue;
    a->pairs[a->pair_count++] =
        (hl_memory_pair){.inference = r,
                         .training = t,
                         .planned = ratio(t->planned_memory_mb, r->planned_memory_mb),
                         .measured = ratio(t->memory_mb, r->memory_mb)};
    return;
  }
}

hl_status hl_memory_analyse(const hl_records *records, hl_memory_analysis *ret_analysis,
                            hl_error *error) {
  hl_memory_analysis a = {0};
  size_t most = HL_MEMORY_MEASURES * records->count + 1;
  a.growths = calloc(most, sizeof *a.growths);
  a.sizes = calloc(most, sizeof *a.sizes);
  a.pairs = calloc(records->count + 1, sizeof *a.pairs);
  HL_CLEANUP(hl_free_pointer) point *points = calloc(records->count + 1, sizeof *points);
  if (!a.growths || !a.sizes || !a.pairs || !points) {
    hl_memory_analysis_release(&a);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the analysis of %zu rows",
                        records->count);
  }
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!counts(r)) continue;
    if (is_first(records, i, same_but_batch))
      add_growth(records, r, same_but_batch, batch_of, points, a.growths, &a.growth_count);
    if (is_first(records, i, same_but_model) && is_best_batch(records, r))
      add_growth(records, r, same_but_model, parameters_of, points, a.sizes, &a.size_count);
    add_pairs(records, i, &a);
  }
  *ret_analysis = a;
  return HL_OK;
}

void hl_memory_analysis_release(hl_memory_analysis *analysis) {
  free(analysis->growths);
  free(analysis->sizes);
  free(analysis->pairs);
  *analysis = (hl_memory_analysis){0};
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void write_setting(const hl_record *r, bool model, bool batch, hl_json *json) {
  if (r->entry) hl_json_text(json, "entry", r->entry);
  if (model) hl_json_text(json, "model", r->model);
  hl_json_text(json, "engine", r->engine);
  hl_json_text(json, "dtype", r->dtype);
  hl_json_text(json, "device", r->device_id);
  hl_record_json_int(json, "threads", r->threads);
  if (batch) hl_json_int(json, "batch_size", r->batch_size);
}

static void write_growth(const hl_memory_growth *g, bool of_batch, hl_json *json) {
  hl_json_object(json, NULL);
  write_setting(g->first, of_batch, !of_batch, json);
  hl_json_text(json, "mode", g->first->mode);
  hl_json_text(json, "measure", hl_memory_measure_name(g->measure));
  hl_json_int(json, "points", (int64_t)g->count);
  hl_json_real(json, "m0_mb", g->line.a0);
  hl_json_real(json, of_batch ? "m1_mb" : "bytes_per_parameter",
               of_batch ? g->line.a1 : g->line.a1 * 1e6);
  hl_json_real(json, "r_squared", g->line.r_squared);
  hl_json_real(json, "largest_deviation", g->deviation);
  hl_json_bool(json, "linear", g->linear);
  if (of_batch) {
    hl_json_real(json, "next_sample_least_mb", g->step_low);
    hl_json_real(json, "next_sample_most_mb", g->step_high);
    hl_json_bool(json, "per_sample_cost_constant", g->constant);
    hl_json_real(json, "mb_per_sample_least", g->share_low);
    hl_json_real(json, "mb_per_sample_most", g->share_high);
  }
  hl_json_end(json);
}

void hl_memory_write_json(const hl_memory_analysis *analysis, hl_json *json, const char *key) {
  const hl_memory_analysis *a = analysis;
  if (a->growth_count + a->size_count + a->pair_count == 0) return;
  hl_json_object(json, key);
  hl_json_array(json, "batch_fits");
  for (size_t i = 0; i < a->growth_count; i++) write_growth(&a->growths[i], true, json);
  hl_json_end(json);
  hl_json_array(json, "model_fits");
  for (size_t i = 0; i < a->size_count; i++) write_growth(&a->sizes[i], false, json);
  hl_json_end(json);
  hl_json_array(json, "training_overhead");
  for (size_t i = 0; i < a->pair_count; i++) {
    hl_json_object(json, NULL);
    write_setting(a->pairs[i].training, true, true, json);
    hl_json_real(json, "planned", a->pairs[i].planned);
    hl_json_real(json, "measured", a->pairs[i].measured);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_end(json);
}
