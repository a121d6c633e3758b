/*
 * analyse/grid.h - rows as frameworks x models x batch sizes: what is there, what is not and why,
 * and when a compilation pays off.
 *
 *     hl_grid grid;
 *     hl_status status = hl_grid_make(&analysis, &records, &engines, &grid, error);
 *     const hl_grid_cell *cell = hl_grid_at(&grid, model, member, batch);
 *     if (cell->point) printf("%g ms\n", cell->point->latency_ms);
 *     else puts(hl_grid_why(cell));
 *     hl_grid_release(&grid);
 *
 * A member is an engine with type, threads and device, the same in all models; its name says the
 * engine and what else members differ in. Of several rows of one place the last that passed counts.
 * Pure.
 */
#ifndef HL_ANALYSE_GRID_H
#define HL_ANALYSE_GRID_H

#include "analyse/engines.h"

enum { HL_GRID_MODELS_MOST = 256, HL_GRID_MEMBERS_MOST = 32, HL_GRID_BATCHES_MOST = 128 };

typedef struct hl_grid_cell {
  const hl_analysis_group *group; /* of its model and member; NULL: there is none */
  const hl_analysis_point *point; /* NULL: no row passed */
  const hl_record *row;           /* the point's, or one that did not pass; NULL: none */
} hl_grid_cell;

typedef struct hl_grid_member {
  char *name;
  const hl_analysis_group *first; /* a group with its engine, type, threads and device */
} hl_grid_member;

/* After how many images a member that compiles longer has caught up with one that compiles less, or
 * not at all. A row that tells no compilation time counts as needing none. */
typedef struct hl_break_even {
  size_t model, member, reference, batch;
  double compile_ms;  /* what the member takes longer to compile */
  double saving_ms;   /* of an image: time of the reference less that of the member */
  hl_verdict verdict; /* the member's */
  double images;      /* compile_ms / saving_ms, rounded up; NaN: never */
  /* From the ends of the ratio's interval; high NaN: it may be never, both NaN: no interval. */
  hl_pair images_ci;
} hl_break_even;

typedef struct hl_grid {
  char **models; /* with the plan's entry, where there is one */
  size_t model_count;
  hl_grid_member *members;
  size_t member_count;
  int64_t *batch_sizes; /* rising */
  size_t batch_count;
  hl_grid_cell *cells; /* see hl_grid_at */
  hl_break_even *break_evens;
  size_t break_even_count;
  const hl_engine_model **compared; /* of each model; NULL: of one member. Borrowed */
  size_t replaced; /* rows that passed and that a later one of their place replaces */
  size_t left_out; /* groups beyond the limits above */
} hl_grid;

/* All inputs have to stay while the grid is used. OUT_OF_MEMORY, which leaves `ret_grid` untouched.
 */
hl_status hl_grid_make(const hl_analysis *analysis, const hl_records *records,
                       const hl_engines *engines, hl_grid *ret_grid, hl_error *error);
void hl_grid_release(hl_grid *grid);

const hl_grid_cell *hl_grid_at(const hl_grid *grid, size_t model, size_t member, size_t batch);

/* Why a cell has no point: an outcome, or "not measured"; NULL for one that has. */
const char *hl_grid_why(const hl_grid_cell *cell);

/* Member `b` against `a`: above 1 b is faster. NULL where one of them has no point, or they were
 * not compared. */
const hl_engine_ratio *hl_grid_ratio(const hl_grid *grid, size_t model, size_t batch, size_t a,
                                     size_t b);

/* What a cell took to compile, 0 where it tells none; NaN without a point. */
double hl_grid_compile_ms(const hl_grid_cell *cell);

/* "frameworks": an object. `info` has the limits of the roofline. */
void hl_grid_write_json(const hl_grid *grid, const hl_run_info *info, hl_json *json,
                        const char *key);

#endif
