/*
 * cli/cli.h - one function per command, and what they share.
 *
 * A command is options -> plan -> runner -> view. argv[0] is the command's name. Returns the exit
 * status of the process: 0 all well, 1 a row failed, 2 usage or bad input, 3 nothing could be
 * measured, 4 --fail-if held, 130 interrupted.
 */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include "base/text.h"
#include "plan/options.h"
#include <stdio.h>

enum {
  HL_EXIT_OK = 0,
  HL_EXIT_ROW_FAILED = 1,
  HL_EXIT_USAGE = 2,
  HL_EXIT_NOTHING = 3,
  HL_EXIT_GATE = 4,
  HL_EXIT_INTERRUPTED = 130
};

int hl_cli_sweep(int argc, char **argv);
int hl_cli_tune(int argc, char **argv);
int hl_cli_run(int argc, char **argv);
int hl_cli_tasks(int argc, char **argv);
int hl_cli_load(int argc, char **argv);
int hl_cli_memory(int argc, char **argv);
int hl_cli_train(int argc, char **argv);
int hl_cli_compare(int argc, char **argv);
int hl_cli_models(int argc, char **argv);

/* Whether the arguments of `run` name a table of tasks, FILE.csv, and no plan. */
bool hl_cli_is_tasks(int argc, char **argv);

/* `models FILE.onnx`: what the file holds; the exit status. */
int hl_cli_models_file(const char *path, bool as_json);

int hl_cli_engines(int argc, char **argv);
int hl_cli_data(int argc, char **argv);
int hl_cli_predict(int argc, char **argv);
int hl_cli_profile(int argc, char **argv);
int hl_cli_doctor(int argc, char **argv);
int hl_cli_history(int argc, char **argv);
int hl_cli_report(int argc, char **argv);
int hl_cli_monitor(int argc, char **argv);

/* `history --import FILE...`: the exit status. */
int hl_cli_import(const hl_options *options);

/* Parses options; on --help prints `usage` and the options. Returns -1 to go on, else the exit
 * status to return. */
int hl_cli_options(char command, const char *usage, int argc, char **argv, hl_options *ret_options);

/* Prints "hotlap: message" on standard error, without control characters of names in it; returns
 * `exit_status`. */
int hl_cli_fail(const hl_error *error, int exit_status);

/* The exit status that a failure means where there is one row: HL_EXIT_INTERRUPTED, HL_EXIT_USAGE
 * for what the user gave, else HL_EXIT_ROW_FAILED. */
int hl_cli_exit_of(hl_status status);

/* Adds to the message of a damaged store what is shown of it all the same: "2 rows of it are shown,
 * 1 cannot be read". */
void hl_cli_damage(hl_error *error, size_t shown, size_t lost, const char *noun);

/* Prints lines, without control characters of names in them. */
void hl_cli_show(hl_text *text, FILE *stream);

/* The store's path from --store and the environment: free() it; NULL for 'none'. INVALID_ARGUMENT
 * where there is no home directory. */
hl_status hl_cli_store_path(const hl_options *options, char **ret_path, hl_error *error);

/* $XDG_CACHE_HOME/hotlap or ~/.cache/hotlap; free() it. */
hl_status hl_cli_cache_directory(char **ret_path, hl_error *error);

/* Lines of a table by layer: --layers. INVALID_ARGUMENT where that is no number. */
hl_status hl_cli_layers(const hl_options *options, size_t *ret_layers, hl_error *error);

/* `hotlap models import`: the exit status. */
int hl_cli_models_import(const hl_options *options);

/* `hotlap models quantize`: the exit status. */
int hl_cli_quantize(const hl_options *options);

/* --order-seed, or a fresh one, so that no order of a program's runs is always the same. */
hl_status hl_cli_order_seed(const hl_options *options, uint64_t *ret_seed, hl_error *error);

/* True if `fd` is a terminal and NO_COLOR is unset. */
bool hl_cli_colour(int fd);

/* True if HOTLAP_TEST_WITHOUT_LIMITS is set: for tests, which run hotlap a thousand times and need
 * the limits of the roofline once. */
bool hl_cli_without_limits(void);

#endif
