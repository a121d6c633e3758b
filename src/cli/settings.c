#include "cli/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hl_cli_settings_free(hl_cli_settings *settings) {
  if (settings) hl_settings_release(&settings->settings);
  free(settings);
}

/* The preset behind the last colon, if the whole is no file; cuts it off. */
static char *split_preset(char *text) {
  char *colon = strrchr(text, ':');
  if (!colon || access(text, F_OK) == 0) return NULL;
  *colon = '\0';
  return colon + 1;
}

static void stand_in(hl_options *options, hl_option_id id, const char *value) {
  if (value && !hl_options_given(options, id)) options->value[id] = value;
}

static void apply(hl_options *options, hl_cli_settings *s) {
  const hl_preset *p = s->preset;
  snprintf(s->batch, sizeof s->batch, "%" PRId64, p->batch_size);
  snprintf(s->threads, sizeof s->threads, "%" PRId64, p->threads);
  if (!hl_options_given(options, HL_OPTION_FRAMEWORK))
    stand_in(options, HL_OPTION_ENGINE, p->engine);
  stand_in(options, HL_OPTION_DTYPE, p->dtype);
  if (!hl_options_given(options, HL_OPTION_DEVICE_PREFER))
    stand_in(options, HL_OPTION_DEVICE, p->device);
  stand_in(options, HL_OPTION_THREADS, s->threads);
  stand_in(options, HL_OPTION_BATCH_SIZES, s->batch);
  bool same_model = options->positional_count == 0 && !hl_options_given(options, HL_OPTION_MODEL);
  if (same_model) stand_in(options, HL_OPTION_TEST_DATA, s->settings.test_data);
  if (p->preprocess_batch == HL_INT_NULL || !hl_option_taken(HL_OPTION_PIPELINE, options->command))
    return;
  snprintf(s->preprocess, sizeof s->preprocess, "%" PRId64, p->preprocess_batch);
  stand_in(options, HL_OPTION_PIPELINE, "1");
  stand_in(options, HL_OPTION_PREPROCESS_BATCH, s->preprocess);
  if (p->reassemble_batch == HL_INT_NULL) return;
  snprintf(s->reassemble, sizeof s->reassemble, "%" PRId64, p->reassemble_batch);
  stand_in(options, HL_OPTION_REASSEMBLE_BATCH, s->reassemble);
}

hl_status hl_cli_settings_apply(hl_options *options, hl_cli_settings **ret_settings,
                                hl_error *error) {
  const char *given = hl_options_get(options, HL_OPTION_SETTINGS);
  if (!given) return HL_OK;
  HL_CLEANUP(hl_free_pointer) char *path = hl_strdup(given);
  hl_cli_settings *s = calloc(1, sizeof *s);
  if (!path || !s) {
    free(s);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for settings");
  }
  const char *preset = split_preset(path);
  hl_status status = hl_settings_read(path, &s->settings, error);
  if (status == HL_OK) status = hl_settings_find(&s->settings, preset, &s->preset, error);
  if (status != HL_OK) {
    hl_cli_settings_free(s);
    return status;
  }
  apply(options, s);
  *ret_settings = s;
  return HL_OK;
}

void hl_cli_settings_tell(const hl_cli_settings *settings, const char *id) {
  const hl_settings *s = settings ? &settings->settings : NULL;
  if (!s || !s->machine_id || !id || strcmp(s->machine_id, id) == 0) return;
  HL_CLEANUP(hl_free_pointer) char *name = hl_strdup(s->cpu ? s->cpu : s->machine_id);
  if (name) hl_text_blank(name, "");
  fprintf(stderr,
          "hotlap: these settings are of another machine (%.100s): another may be best on this "
          "one, and hotlap tune finds it\n",
          name ? name : "");
}
