/*
 * cli/settings.h - --settings FILE[:PRESET]: what a settings file says stands in for options that
 * are not given.
 *
 *     hl_cli_settings *settings = NULL;
 *     hl_status status = hl_cli_settings_apply(&options, &settings, error);
 *     ... options may point into it ...
 *     hl_cli_settings_free(settings);
 */
#ifndef HL_CLI_SETTINGS_H
#define HL_CLI_SETTINGS_H

#include "plan/options.h"
#include "record/settings.h"

typedef struct hl_cli_settings {
  hl_settings settings;
  const hl_preset *preset;
  char batch[24], threads[24], preprocess[24], reassemble[24];
} hl_cli_settings;

/* NULL where the option is not given. Errors as hl_settings_read. */
hl_status hl_cli_settings_apply(hl_options *options, hl_cli_settings **ret_settings,
                                hl_error *error);
/* Says on stderr where the settings were found on another machine than `id`. */
void hl_cli_settings_tell(const hl_cli_settings *settings, const char *id);
void hl_cli_settings_free(hl_cli_settings *settings); /* NULL is fine */

#endif
