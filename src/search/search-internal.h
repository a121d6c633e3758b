/* search/search-internal.h - a search under way (inside src/search only). */
#ifndef HL_SEARCH_SEARCH_INTERNAL_H
#define HL_SEARCH_SEARCH_INTERNAL_H

#include "search/field.h"
#include "search/search.h"

typedef struct hl__searching {
  const hl_search_options *options;
  const hl_search_view *view;
  hl_row_context context;
  hl__field field;
  hl_search_result *result;
  hl_tuning *tuning;       /* the result's, of the network or of another stage */
  char first_failure[768]; /* of the settings that were tried; "" where all ran */
} hl__searching;

/* Why a row that was measured does not keep what was asked for; NULL: it does. */
const char *hl__search_breaks_limit(const hl__searching *s, const hl_record *record);

/* Compares the first goal's winner, where there is one, with the setting of who does not search:
 * the first family with the batch that everybody takes; a winner that is surely slower gives way to
 * it. Fills the result's gain. INTERRUPTED; OUT_OF_MEMORY. */
hl_status hl__search_gain(hl__searching *s, hl_run_info *info, hl_error *error);

#endif
