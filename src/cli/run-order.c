/* In which order a plan's rows are measured: what --shuffle says, and how it is said. */
#include "base/text.h"
#include "cli/run-plan.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usual_seed[] = "42";

hl_status hl_cli_shuffle(const char *text, const hl_plan_file *file, hl_plan *plan,
                         hl_error *error) {
  int64_t seed = 0;
  if (!text) text = file->matrix ? usual_seed : "off";
  plan->shuffled = strcmp(text, "off") != 0;
  if (!plan->shuffled) return HL_OK;
  hl_error inner = {0};
  if (hl_parse_int(text, 0, INT64_MAX, "", &seed, &inner) != HL_OK)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--shuffle: '%.60s' is no seed, and not off",
                        text);
  plan->shuffle_seed = (uint64_t)seed;
  return HL_OK;
}

char *hl_cli_order_text(const hl_plan *plan) {
  if (!plan->shuffled) return NULL;
  return hl_format(
      "Batch sizes in random order within blocks of the same entry, model and threads, "
      "seed %" PRIu64,
      plan->shuffle_seed);
}

char *hl_cli_order_of_run(const hl_plan_file *file, const char *command) {
  static const char option[] = "--shuffle";
  const size_t length = sizeof option - 1;
  const char *said = NULL;
  for (size_t i = 0; i < file->word_count; i++)
    if (strncmp(file->words[i], option, length) == 0) said = file->words[i];
  for (const char *at = command ? strstr(command, option) : NULL; at; at = strstr(at + 1, option))
    said = at;
  hl_plan plan = {0};
  HL_CLEANUP(hl_free_pointer) char *value = NULL;
  if (said && said[length]) {
    said += length + 1; /* '=' or a space */
    value = strndup(said, strcspn(said, " "));
  }
  hl_error ignored = {0};
  return hl_cli_shuffle(value, file, &plan, &ignored) == HL_OK ? hl_cli_order_text(&plan) : NULL;
}
