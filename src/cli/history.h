/* cli/history.h - the parts of `hotlap history` (inside src/cli only). */
#ifndef HL_CLI_HISTORY_H
#define HL_CLI_HISTORY_H

#include "base/json-writer.h"
#include "cli/cli.h"
#include "report/history.h"
#include "store/store.h"

/* `hotlap history MODEL`: the series of a metric; the exit status. */
int hl_cli_history_series(const hl_options *options);

/* The store; NULL and HL_OK for 'none' and for a default one that does not exist yet. */
hl_status hl__history_open(const hl_options *options, hl_store_mode mode, hl_store **ret_store,
                           hl_error *error);
/* MODEL, --machine and --limit. */
hl_status hl__history_filter(const hl_options *options, hl_store_filter *ret_filter,
                             hl_error *error);
/* What of the command line goes on to a rerun's `hotlap compare`: words "--name=value", NULL at the
 * end; free each and the list. NULL without memory. */
char **hl__history_compare_words(const hl_options *options);
/* The same as a text for a shell, "--build make"; free() it. */
char *hl__history_compare_arguments(const hl_options *options);

/* Measures candidates of this machine that are worse again, the newest first, 5 at most, and keeps
 * the verdicts in the store; `*ret_failed` counts reruns that could not be made. INTERRUPTED. */
hl_status hl__history_confirm(const hl_options *options, const hl_report_history *report,
                              hl_store *store, size_t *ret_failed, hl_error *error);

/* The member "runs". */
void hl__history_write_runs(const hl_store_runs *runs, hl_json *json);

#endif
