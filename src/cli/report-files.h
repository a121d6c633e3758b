/*
 * cli/report-files.h - the rows of files of results, for `hotlap report FILE...` without a store.
 */
#ifndef HL_CLI_REPORT_FILES_H
#define HL_CLI_REPORT_FILES_H

#include "plan/options.h"
#include "record/record.h"

/* Whether the operands are files: one ends with .csv or .json, or has a '/' in it, as no id of a
 * run does. */
bool hl_cli_names_files(const hl_options *options);

/* The rows of all files, one after the other; `ret_info` says of what. The first that cannot be
 * read, or is of a tool whose steps have no batch sizes, is the error. */
hl_status hl_cli_report_files(const hl_options *options, hl_run_info *ret_info,
                              hl_records *ret_records, hl_error *error);

#endif
