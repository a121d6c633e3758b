/*
 * plan/input-shape.h - `--input-shape NAME=DIMS`: dimensions that a model leaves open.
 *
 *     --input-shape input_ids=Bx128       the batch, then 128
 *     --input-shape input_ids=1x128       the same, as trtexec and benchmark_app write it
 *     --input-shape edges=500x2           no batch: the same in every step
 *
 * DIMS are numbers with 'x' or ',' between them. B is where the batch size goes, which is
 * --batch-sizes' to say; a 1 where the model's batch is means the same (see workloads/shapes.h,
 * which knows the model). Pure functions of their arguments; thread-safe.
 */
#ifndef HL_PLAN_INPUT_SHAPE_H
#define HL_PLAN_INPUT_SHAPE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "plan/options.h"

typedef struct hl_input_shape {
  const char *name; /* of the input */
  int32_t rank;
  int64_t dims[HL_MAX_RANK]; /* -1 is B */
} hl_input_shape;

/* Reads NAME=DIMS; the name goes into `arena`. INVALID_ARGUMENT says what is wrong with it. */
hl_status hl_input_shape_parse(const char *text, hl_arena *arena, hl_input_shape *ret_shape,
                               hl_error *error);

/* All --input-shape of a command line; each input at most once. Results live in `arena`. */
hl_status hl_input_shapes_read(const hl_options *options, hl_arena *arena,
                               const hl_input_shape **ret_shapes, size_t *ret_count,
                               hl_error *error);

/* Appends it in the form that hl_input_shape_parse reads: "input_ids=Bx128". */
void hl_input_shape_format(const hl_input_shape *shape, hl_text *out);

#endif
