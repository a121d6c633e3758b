#include "cli/run-info.h"

#include "base/clock.h"
#include <stdio.h>
#include <unistd.h>

static char *command_line(int argc, char **argv) {
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, "hotlap");
  for (int i = 0; i < argc; i++) {
    hl_text_char(&text, ' ');
    hl_shell_quote(&text, argv[i]);
  }
  return hl_text_take(&text);
}

/* A machine that could not be asked has no names. */
static char *known(const char *text) {
  return text[0] ? hl_strdup(text) : NULL;
}

hl_status hl_cli_run_info(int argc, char **argv, const hl_options *options,
                          const hl_machine *machine, const hl_method_options *method,
                          hl_run_info *info, hl_error *error) {
  char created[32], id[48];
  hl_clock_utc(created, sizeof created);
  snprintf(id, sizeof id, "%.4s%.2s%.2sT%.2s%.2s%.2sZ-%04x", created, created + 5, created + 8,
           created + 11, created + 14, created + 17, (unsigned)getpid() & 0xFFFF);
  info->id = hl_strdup(id);
  info->created = hl_strdup(created);
  info->hotlap_version = hl_strdup(HL_VERSION);
  info->command = command_line(argc, argv);
  info->machine_id = known(machine->id);
  info->cpu = known(machine->cpu);
  info->os = known(machine->os);
  info->kernel = known(machine->kernel);
  hl_text gpus = HL_TEXT_INIT;
  for (int i = 0; i < machine->gpus.count; i++)
    hl_text_format(&gpus, "%s%s", i ? "\n" : "", machine->gpus.items[i].name);
  info->gpus = hl_text_take(&gpus);
  if (machine->total_cores || machine->allowed_cores) info->cores = machine->cores;
  if (machine->memory_bytes) info->memory_bytes = (int64_t)machine->memory_bytes;
  info->percentiles = hl_strdup(options->command == 'L' ? "loadgen" : "linear");
  info->warmup = hl_strdup(hl_options_get(options, HL_OPTION_WARMUP_ITERATIONS));
  info->max_time_s = method->max_time_s;
  info->safety_margin = method->safety_margin;
  if (method->memory_limit_mb) info->memory_limit_mb = method->memory_limit_mb;
  bool whole = info->id && info->created && info->hotlap_version && info->command &&
               info->percentiles && info->warmup && info->gpus;
  return whole ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the run's facts");
}
