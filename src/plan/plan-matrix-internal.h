/* plan/plan-matrix-internal.h - a test matrix while it becomes entries (inside src/plan only). */
#ifndef HL_PLAN_PLAN_MATRIX_INTERNAL_H
#define HL_PLAN_PLAN_MATRIX_INTERNAL_H

#include "plan/plan-matrix.h"

enum { HL__DATASETS, HL__MODELS, HL__HARDWARE, HL__SCENARIOS, HL__BATCH_SIZES, HL__AXES };
extern const char *const hl__matrix_axes[HL__AXES]; /* their keys */

/* Something of an axis: `small: {n_images: 100}`. */
typedef struct hl__matrix_item {
  const hl_yaml *name;
  const hl_yaml *value; /* NULL: a name alone */
} hl__matrix_item;

typedef struct hl__matrix_axis {
  hl__matrix_item *items;
  size_t count;
} hl__matrix_axis;

typedef struct hl__matrix {
  hl_plan_file *file;
  const hl_yaml *defaults; /* of the plan, or NULL */
  hl__matrix_axis axes[HL__AXES];
  hl_error *error;
} hl__matrix;

/* The entry of a combination: an item of each axis but batch sizes, NULL where there is none. */
hl_status hl__matrix_entry(const hl__matrix *m, const hl__matrix_item *const at[HL__AXES],
                           const hl_yaml **ret);

/* An empty node, and a scalar that the file does not have, placed where they come from; NULL
 * without memory. */
hl_yaml *hl__matrix_node(const hl__matrix *m, hl_yaml_kind kind, const hl_yaml *where);
const hl_yaml *hl__matrix_text(const hl__matrix *m, const char *text, const hl_yaml *where);

/* "unknown KIND 'x'; did you mean 'y'?", or which there are. */
hl_status hl__matrix_refuse(const hl__matrix *m, const hl_yaml *where, const char *what,
                            const char *const *names, size_t count);

#endif
