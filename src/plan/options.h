/*
 * plan/options.h - the command line, from the table options.def.
 *
 *     hl_options options;
 *     hl_status status = hl_options_parse('S', argc, argv, &options, error);
 *     const char *seed = hl_options_get(&options, HL_OPTION_SEED);   // default where not given
 *     hl_options_release(&options);
 *
 * `--name value`, `--name=value`; names may be spelled with '_' for '-'. Options and positional
 * arguments mix; `--` ends options. A switch given is "1". Strings point into argv.
 */
#ifndef HL_PLAN_OPTIONS_H
#define HL_PLAN_OPTIONS_H

#include "base/error.h"
#include "base/text.h"

typedef enum hl_option_id {
#define X(id, name, value, initial, aliases, commands, doc) HL_OPTION_##id,
#include "plan/options.def"
#undef X
  HL_OPTION_COUNT
} hl_option_id;

typedef struct hl_options {
  char command;
  const char *value[HL_OPTION_COUNT]; /* the last one given; NULL if not given */
  const char **items;                 /* every value given, with ids beside */
  hl_option_id *item_ids;
  size_t item_count;
  const char **positionals;
  size_t positional_count;
  char **joined; /* lists given as separate arguments, joined by commas; owned */
  size_t joined_count;
} hl_options;

/* Parses argv[1..]. INVALID_ARGUMENT names the argument and the nearest option. A list option
 * takes following arguments too while they are numbers or ranges ("--batch-sizes 1 8 32"). */
hl_status hl_options_parse(char command, int argc, char **argv, hl_options *ret_options,
                           hl_error *error);
void hl_options_release(hl_options *options);

/* The value given, else the default of the command, else NULL. */
const char *hl_options_get(const hl_options *options, hl_option_id id);
bool hl_options_given(const hl_options *options, hl_option_id id);
bool hl_options_on(const hl_options *options, hl_option_id id); /* a switch */
/* Value number `index` of a repeatable option, NULL past the end. */
const char *hl_options_at(const hl_options *options, hl_option_id id, size_t index);

/* Number with bounds; the message names the option. `otherwise` where there is no value. */
hl_status hl_options_int(const hl_options *options, hl_option_id id, int64_t min, int64_t max,
                         int64_t otherwise, int64_t *ret_value, hl_error *error);
hl_status hl_options_real(const hl_options *options, hl_option_id id, double min, double max,
                          double otherwise, double *ret_value, hl_error *error);

/* The options of a command as help text, wrapped to 80 columns. */
void hl_options_help(char command, hl_text *out);

/* Whether the command (or, for 'c', an operand) takes the option. */
bool hl_option_taken(hl_option_id id, char command);

/* The name of an option without dashes. */
const char *hl_option_name(hl_option_id id);

/* The option that a command has by that name or alias, '-' and '_' being the same; false if none.
 */
bool hl_option_find(char command, const char *name, size_t length, hl_option_id *ret_id);

/* The option of the command whose name is most like it, NULL where none is. */
const char *hl_option_nearest(char command, const char *name, size_t length);

bool hl_option_is_switch(hl_option_id id);
bool hl_option_is_list(hl_option_id id); /* takes several values with commas */

#endif
