/* CytoDL's experiments under the names and with the overrides that its users write. */
#ifndef HL_CLI_RUN_SUITE_H
#define HL_CLI_RUN_SUITE_H

#include "base/arena.h"
#include "base/error.h"

/* "im2im/segmentation", "im2im/labelfree" or "im2im/label_free": the plan that comes with hotlap
 * under a name without a slash; NULL for any other name. */
const char *hl_cli_suite_plan(const char *name);

/* Rewrites `words` ("trainer.max_epochs=5") to keys of the plan ("training.epochs=5"), in the
 * arena; words that are no names of the suite stay. INVALID_ARGUMENT for a value, or a key below
 * data., model. or trainer., that has no counterpart. */
hl_status hl_cli_suite_words(const char **words, size_t count, hl_arena *arena, hl_error *error);

#endif
