#include "cli/report-files.h"

#include "cli/cli.h"
#include "formats/import.h"
#include "plan/configuration.h"
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), tail = strlen(ending);
  return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool hl_cli_names_files(const hl_options *options) {
  for (size_t i = 0; i < options->positional_count; i++) {
    const char *word = options->positionals[i];
    if (strchr(word, '/') || ends_with(word, ".csv") || ends_with(word, ".json")) return true;
  }
  return false;
}

static hl_status add_file(const hl_options *options, const char *path, hl_run_info *info,
                          hl_records *records, hl_error *error) {
  hl_import import;
  hl_status status = hl_import_file(path, NULL, &import, error);
  if (status != HL_OK) return status;
  const char *machine = hl_options_get(options, HL_OPTION_MACHINE);
  if (machine) hl_import_set_machine(&import, machine);
  for (size_t i = 0; i < import.records.count && status == HL_OK; i++)
    status = hl_records_take(records, &import.records.items[i], error);
  for (size_t i = 0; i < import.loss_count; i++)
    fprintf(stderr, "hotlap: %s: not kept: %s (%zu)\n", path, import.losses[i].what,
            import.losses[i].count);
  if (!info->created) hl_record_set_text(&info->created, import.info.created);
  if (!info->cpu) hl_record_set_text(&info->cpu, import.info.cpu);
  if (!info->machine_id) hl_record_set_text(&info->machine_id, import.info.machine_id);
  hl_import_release(&import);
  return status;
}

static hl_status describe(const hl_options *options, hl_run_info *info, hl_error *error) {
  size_t count = options->positional_count;
  hl_text id = HL_TEXT_INIT, command = HL_TEXT_INIT;
  hl_text_append(&id, options->positionals[0]);
  if (count > 1) hl_text_format(&id, " and %zu more", count - 1);
  hl_text_append(&command, "hotlap report");
  for (size_t i = 0; i < count; i++) {
    hl_text_char(&command, ' ');
    hl_shell_quote(&command, options->positionals[i]);
  }
  free(info->id);
  free(info->command);
  info->id = hl_text_take(&id);
  info->command = hl_text_take(&command);
  hl_text_release(&id);
  hl_text_release(&command);
  hl_record_set_text(&info->percentiles, "linear");
  hl_record_set_text(&info->hotlap_version, HL_VERSION);
  return info->id && info->command ? HL_OK
                                   : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a run");
}

hl_status hl_cli_report_files(const hl_options *options, hl_run_info *ret_info,
                              hl_records *ret_records, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < options->positional_count && status == HL_OK; i++)
    status = add_file(options, options->positionals[i], ret_info, ret_records, error);
  return status == HL_OK ? describe(options, ret_info, error) : status;
}
