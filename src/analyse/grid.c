#include "analyse/grid.h"

#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what there is ---- */

static bool same_member(const hl_analysis_group *a, const hl_analysis_group *b) {
  return hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype) &&
         a->threads == b->threads && hl_text_same(a->device, b->device);
}

static bool same_model(const hl_analysis_group *a, const hl_analysis_group *b) {
  return hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         hl_text_same(a->workload, b->workload);
}

/* A place of the analysis' groups in the grid. */
typedef struct place {
  size_t model, member; /* SIZE_MAX: left out */
} place;

typedef struct builder {
  const hl_analysis *analysis;
  const hl_records *records;
  hl_grid *grid;
  place *places;
  const hl_analysis_group **models;
} builder;

static void place_group(builder *b, size_t index) {
  hl_grid *grid = b->grid;
  const hl_analysis_group *g = &b->analysis->groups[index];
  place *p = &b->places[index];
  *p = (place){0, 0};
  while (p->model < grid->model_count && !same_model(b->models[p->model], g)) p->model++;
  while (p->member < grid->member_count && !same_member(grid->members[p->member].first, g))
    p->member++;
  if (p->model == HL_GRID_MODELS_MOST || p->member == HL_GRID_MEMBERS_MOST) {
    *p = (place){SIZE_MAX, SIZE_MAX};
    grid->left_out++;
    return;
  }
  if (p->model == grid->model_count) b->models[grid->model_count++] = g;
  if (p->member == grid->member_count) grid->members[grid->member_count++].first = g;
}

static char *name_of_model(const hl_analysis_group *g) {
  bool told = g->workload && strcmp(g->workload, HL_WORKLOAD_INFERENCE) != 0;
  char *name =
      hl_format("%s%s%s%s%s", g->entry ? g->entry : "", g->entry ? ": " : "",
                told ? g->workload : "", told ? ", " : "", g->model ? g->model : "unknown model");
  hl_text_blank(name, "");
  return name;
}

static char *name_of_member(const hl_grid *grid, const hl_analysis_group *g) {
  bool dtype = false, threads = false, device = false;
  for (size_t i = 0; i < grid->member_count; i++) {
    const hl_analysis_group *o = grid->members[i].first;
    dtype = dtype || !hl_text_same(o->dtype, g->dtype);
    threads = threads || o->threads != g->threads;
    device = device || !hl_text_same(o->device, g->device);
  }
  hl_text name = HL_TEXT_INIT;
  hl_text_append(&name, g->engine ? g->engine : "unknown");
  if (dtype && g->dtype) hl_text_format(&name, " %s", g->dtype);
  if (threads && g->threads != HL_INT_NULL)
    hl_text_format(&name, " %" PRId64 " thread%s", g->threads, g->threads == 1 ? "" : "s");
  if (device && g->device) hl_text_format(&name, " on %s", g->device);
  char *taken = hl_text_take(&name);
  hl_text_release(&name);
  hl_text_blank(taken, "");
  return taken;
}

/* The comparison of the engines of each model. */
static bool find_compared(builder *b, const hl_engines *engines) {
  hl_grid *grid = b->grid;
  grid->compared = calloc(grid->model_count + 1, sizeof *grid->compared);
  for (size_t i = 0; grid->compared && i < grid->model_count; i++)
    for (size_t k = 0; k < engines->count && !grid->compared[i]; k++)
      if (same_model(b->models[i], engines->models[k].members[0].group))
        grid->compared[i] = &engines->models[k];
  return grid->compared != NULL;
}

static bool place_groups(builder *b) {
  hl_grid *grid = b->grid;
  for (size_t i = 0; i < b->analysis->group_count; i++) place_group(b, i);
  grid->models = calloc(grid->model_count + 1, sizeof *grid->models);
  if (!grid->models) return false;
  bool whole = true;
  for (size_t i = 0; i < grid->model_count; i++)
    whole = (grid->models[i] = name_of_model(b->models[i])) && whole;
  for (size_t i = 0; i < grid->member_count; i++)
    whole = (grid->members[i].name = name_of_member(grid, grid->members[i].first)) && whole;
  return whole;
}

/* ---- batch sizes and cells ---- */

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool is_asked(const hl_record *r) {
  return r->batch_size != HL_INT_NULL && r->batch_size > 0;
}

/* Sizes that passed, then those of rows that did not; the least of too many. */
static bool collect_sizes(builder *b) {
  hl_grid *grid = b->grid;
  int64_t *sizes = calloc(b->records->count + 1, sizeof *sizes);
  if (!sizes) return false;
  size_t n = 0, kept = 0;
  for (size_t i = 0; i < b->analysis->group_count; i++) {
    const hl_analysis_group *g = &b->analysis->groups[i];
    if (b->places[i].model == SIZE_MAX) continue;
    for (size_t k = 0; k < g->point_count; k++) sizes[n++] = g->points[k].batch_size;
    for (size_t k = 0; k < g->failed_count; k++)
      if (is_asked(&b->records->items[g->failed_rows[k]]))
        sizes[n++] = b->records->items[g->failed_rows[k]].batch_size;
    for (size_t k = 0; k < g->skipped_count; k++)
      if (is_asked(&b->records->items[g->skipped_rows[k]]))
        sizes[n++] = b->records->items[g->skipped_rows[k]].batch_size;
  }
  qsort(sizes, n, sizeof *sizes, by_size);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || sizes[kept - 1] != sizes[i]) sizes[kept++] = sizes[i];
  grid->batch_sizes = sizes;
  grid->batch_count = kept < HL_GRID_BATCHES_MOST ? kept : HL_GRID_BATCHES_MOST;
  if (kept > grid->batch_count) grid->left_out += kept - grid->batch_count;
  return true;
}

static hl_grid_cell *cell_at(const hl_grid *grid, size_t model, size_t member, size_t batch) {
  return &grid->cells[(model * grid->member_count + member) * grid->batch_count + batch];
}

const hl_grid_cell *hl_grid_at(const hl_grid *grid, size_t model, size_t member, size_t batch) {
  return cell_at(grid, model, member, batch);
}

static hl_grid_cell *cell_of(builder *b, const place *p, int64_t batch_size) {
  for (size_t k = 0; k < b->grid->batch_count; k++)
    if (b->grid->batch_sizes[k] == batch_size) return cell_at(b->grid, p->model, p->member, k);
  return NULL;
}

static void fill_failed(builder *b, const place *p, const size_t *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const hl_record *r = &b->records->items[rows[i]];
    hl_grid_cell *cell = cell_of(b, p, r->batch_size);
    if (cell && !cell->point) cell->row = r;
  }
}

static bool fill_cells(builder *b) {
  hl_grid *grid = b->grid;
  grid->cells =
      calloc(grid->model_count * grid->member_count * grid->batch_count + 1, sizeof *grid->cells);
  if (!grid->cells) return false;
  for (size_t i = 0; i < b->analysis->group_count; i++) {
    const hl_analysis_group *g = &b->analysis->groups[i];
    const place *p = &b->places[i];
    if (p->model == SIZE_MAX) continue;
    for (size_t k = 0; k < grid->batch_count; k++) {
      hl_grid_cell *cell = cell_at(grid, p->model, p->member, k);
      if (!cell->group) cell->group = g;
    }
    for (size_t k = 0; k < g->point_count; k++) {
      hl_grid_cell *cell = cell_of(b, p, g->points[k].batch_size);
      if (cell) *cell = (hl_grid_cell){g, &g->points[k], &b->records->items[g->points[k].row]};
    }
    fill_failed(b, p, g->failed_rows, g->failed_count);
    fill_failed(b, p, g->skipped_rows, g->skipped_count);
    size_t passed = g->row_count - g->failed_count - g->skipped_count;
    if (passed > g->point_count) grid->replaced += passed - g->point_count;
  }
  return true;
}

const char *hl_grid_why(const hl_grid_cell *cell) {
  if (cell->point) return NULL;
  if (!cell->row) return "not measured";
  return cell->row->outcome ? cell->row->outcome : "FAILED";
}

/* ---- ratios and compilation ---- */

const hl_engine_ratio *hl_grid_ratio(const hl_grid *grid, size_t model, size_t batch, size_t a,
                                     size_t b) {
  const hl_grid_cell *x = hl_grid_at(grid, model, a, batch), *y = hl_grid_at(grid, model, b, batch);
  if (a == b || !x->point || !y->point) return NULL;
  const hl_engine_model *m = grid->compared[model];
  size_t left = SIZE_MAX, right = SIZE_MAX, at = SIZE_MAX;
  for (size_t k = 0; m && k < m->member_count; k++) {
    if (m->members[k].group == x->group) left = k;
    if (m->members[k].group == y->group) right = k;
  }
  for (size_t k = 0; m && k < m->batch_count; k++)
    if (m->batch_sizes[k] == grid->batch_sizes[batch]) at = k;
  if (left == SIZE_MAX || right == SIZE_MAX || at == SIZE_MAX) return NULL;
  const hl_engine_ratio *ratio = hl_engines_ratio(m, at, left, right);
  return isfinite(ratio->ratio) ? ratio : NULL;
}

double hl_grid_compile_ms(const hl_grid_cell *cell) {
  if (!cell->point) return (double)NAN;
  double ms = cell->row->compilation_time_ms;
  return isfinite(ms) ? ms : 0;
}

/* Images until `ratio` has made up for the compilation; NaN where it never does. */
static double images_until(double compile_ms, double per_image_ms, double ratio) {
  double saving = per_image_ms * (ratio - 1);
  return saving > 0 ? ceil(compile_ms / saving) : (double)NAN;
}

static void add_break_even(hl_grid *grid, size_t model, size_t batch, size_t member,
                           size_t reference) {
  const hl_grid_cell *own = hl_grid_at(grid, model, member, batch);
  const hl_grid_cell *other = hl_grid_at(grid, model, reference, batch);
  const hl_engine_ratio *r = hl_grid_ratio(grid, model, batch, reference, member);
  if (!r || !(own->point->throughput_ips > 0)) return;
  double compile_ms = hl_grid_compile_ms(own) - hl_grid_compile_ms(other);
  if (!(compile_ms > 0)) return;
  double per_image_ms = 1e3 / own->point->throughput_ips;
  double nan = (double)NAN;
  hl_break_even e = {.model = model,
                     .member = member,
                     .reference = reference,
                     .batch = batch,
                     .compile_ms = compile_ms,
                     .verdict = r->verdict,
                     .saving_ms = per_image_ms * (r->ratio - 1),
                     .images = images_until(compile_ms, per_image_ms, r->ratio),
                     .images_ci = {nan, nan}};
  if (isfinite(r->ci.low) && isfinite(r->ci.high))
    e.images_ci = (hl_pair){images_until(compile_ms, per_image_ms, r->ci.high),
                            images_until(compile_ms, per_image_ms, r->ci.low)};
  grid->break_evens[grid->break_even_count++] = e;
}

/* Pairs of members with a ratio, of all models and sizes: bounded before they are asked for. */
static bool find_break_evens(hl_grid *grid) {
  size_t compiled = 0;
  for (size_t i = 0; i < grid->model_count * grid->member_count * grid->batch_count; i++)
    compiled += hl_grid_compile_ms(&grid->cells[i]) > 0;
  grid->break_evens = calloc(compiled * grid->member_count + 1, sizeof *grid->break_evens);
  if (!grid->break_evens) return false;
  for (size_t m = 0; compiled && m < grid->model_count; m++)
    for (size_t k = 0; k < grid->batch_count; k++)
      for (size_t a = 0; a < grid->member_count; a++) {
        if (!(hl_grid_compile_ms(hl_grid_at(grid, m, a, k)) > 0)) continue;
        for (size_t b = 0; b < grid->member_count; b++)
          if (a != b) add_break_even(grid, m, k, a, b);
      }
  return true;
}

/* ---- the whole ---- */

void hl_grid_release(hl_grid *grid) {
  for (size_t i = 0; grid->models && i < grid->model_count; i++) free(grid->models[i]);
  for (size_t i = 0; grid->members && i < grid->member_count; i++) free(grid->members[i].name);
  free(grid->models);
  free(grid->compared);
  free(grid->members);
  free(grid->batch_sizes);
  free(grid->cells);
  free(grid->break_evens);
  *grid = (hl_grid){0};
}

hl_status hl_grid_make(const hl_analysis *analysis, const hl_records *records,
                       const hl_engines *engines, hl_grid *ret_grid, hl_error *error) {
  hl_grid grid = {0};
  HL_CLEANUP(hl_free_pointer)
  place *places = calloc(analysis->group_count + 1, sizeof *places);
  HL_CLEANUP(hl_free_pointer)
  const hl_analysis_group **models = calloc(HL_GRID_MODELS_MOST, sizeof *models);
  grid.members = calloc(HL_GRID_MEMBERS_MOST, sizeof *grid.members);
  builder b = {analysis, records, &grid, places, models};
  if (places && models && grid.members && place_groups(&b) && find_compared(&b, engines) &&
      collect_sizes(&b) && fill_cells(&b) && find_break_evens(&grid)) {
    *ret_grid = grid;
    return HL_OK;
  }
  hl_grid_release(&grid);
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an analysis of %zu groups",
                      analysis->group_count);
}
