/*
 * search/field.h - the workers of a search: one for each setting that may still win, all stopped
 * but the one whose turn it is.
 *
 *     hl__field field;
 *     hl__field_init(&field, &context, families);
 *     hl__field_scout(&field, arm, index, &found, &why, error);
 *     hl__field_turn(&field, arm, index, &request, ..., error);
 *     hl__field_release(&field);
 *
 * A worker that was scouted stays as long as there is memory for it, so that the race need not
 * start it again; one that is gone is started again when its turn comes.
 */
#ifndef HL_SEARCH_FIELD_H
#define HL_SEARCH_FIELD_H

#include "method/tuning.h"
#include "run/row.h"

enum { HL__FIELD_WHY = 512 }; /* bytes of a reason, as those of hl_error.msg */

/* Which batch of a setting an arm's is: of a pipeline each stage has its own. */
typedef enum hl__axis { HL__AXIS_PREDICT, HL__AXIS_PREPROCESS, HL__AXIS_REASSEMBLE } hl__axis;

typedef struct hl__place {
  hl_configuration configuration;
  hl_pipeline_spec stages; /* what that points to, of a pipeline */
  hl_record record;
  hl_row row;
} hl__place;

typedef struct hl__field {
  hl_row_context context; /* its method is `method` */
  hl_method_options method;
  const hl_configuration *families;
  hl__axis axis;
  hl_pipeline_spec stages; /* of a pipeline: the batches of stages that are not the axis */
  hl__place *places[HL_TUNING_ARMS]; /* of each arm; NULL: no worker */
  size_t open;
  double largest_bytes; /* peak of a worker so far */
} hl__field;

/* The arm's configuration; of a pipeline it points to `ret_stages`. */
hl_configuration hl__field_configuration(const hl__field *field, const hl_arm *arm,
                                         hl_pipeline_spec *ret_stages);

/* `context` has the method of whole rows, of which scouting takes a tenth of the budget. */
void hl__field_init(hl__field *field, const hl_row_context *context,
                    const hl_configuration *families);
void hl__field_release(hl__field *field); /* ends all workers */

/* Starts the arm's worker, checks its outputs, warms up and looks at a few steps. `ret_why` says
 * why it did not run. INTERRUPTED after a wake; a bad input's status where no setting can run. */
hl_status hl__field_scout(hl__field *field, const hl_arm *arm, size_t index,
                          hl_tuning_scout *ret_found, char ret_why[HL__FIELD_WHY], hl_error *error);

/* Takes a turn; samples lie in the row until its next. `ret_overhead_ns`: starting the worker
 * again. INTERRUPTED; any other failure is the arm's, which has no worker then. */
hl_status hl__field_turn(hl__field *field, const hl_arm *arm, size_t index,
                         const hl_turn_request *request, hl_turn *ret_turn,
                         uint64_t *ret_overhead_ns, hl_error *error);

void hl__field_close(hl__field *field, size_t index); /* nothing where there is no worker */

#endif
