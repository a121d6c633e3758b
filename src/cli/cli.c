#include "cli/cli.h"

#include "base/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int hl_cli_fail(const hl_error *error, int exit_status) {
  hl_error shown = *error;
  hl_text_blank(shown.msg, "");
  fprintf(stderr, "hotlap: %s\n", shown.msg);
  return exit_status;
}

int hl_cli_exit_of(hl_status status) {
  if (status == HL_INTERRUPTED) return HL_EXIT_INTERRUPTED;
  bool usage_error = status == HL_INVALID_ARGUMENT || status == HL_NOT_FOUND ||
                     status == HL_BAD_DATA || status == HL_LIMIT;
  return usage_error ? HL_EXIT_USAGE : HL_EXIT_ROW_FAILED;
}

void hl_cli_damage(hl_error *error, size_t shown, size_t lost, const char *noun) {
  char message[sizeof error->msg];
  memcpy(message, error->msg, sizeof message);
  if (!shown) {
    hl_error_set(error, error->status, "%.400s. No %s of it could be read", message, noun);
    return;
  }
  char more[64] = "there may have been more";
  if (lost) snprintf(more, sizeof more, "%zu more cannot be read", lost);
  hl_error_set(error, error->status, "%.360s. Shown is what could be read, %zu %s%s; %s", message,
               shown, noun, shown == 1 ? "" : "s", more);
}

void hl_cli_show(hl_text *text, FILE *stream) {
  if (text->length) text->length = hl_text_blank(text->data, "\n");
  fputs(text->data, stream);
}

int hl_cli_options(char command, const char *usage, int argc, char **argv,
                   hl_options *ret_options) {
  hl_error error = {0};
  if (hl_options_parse(command, argc, argv, ret_options, &error) != HL_OK)
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  if (!hl_options_on(ret_options, HL_OPTION_HELP)) return -1;
  hl_text text = HL_TEXT_INIT;
  hl_options_help(command, &text);
  printf("%s\nOptions:\n%s", usage, text.data);
  hl_text_release(&text);
  hl_options_release(ret_options);
  return HL_EXIT_OK;
}

/* $variable/hotlap, or ~/fallback/hotlap. */
static hl_status xdg_directory(const char *variable, const char *fallback, char **ret_path,
                               hl_error *error) {
  const char *base = getenv(variable), *home = getenv("HOME");
  char *path = NULL;
  if (base && base[0] == '/')
    path = hl_format("%s/hotlap", base);
  else if (home && home[0] == '/')
    path = hl_format("%s/%s/hotlap", home, fallback);
  else
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "neither %s nor HOME is an absolute path; set one", variable);
  if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  *ret_path = path;
  return HL_OK;
}

hl_status hl_cli_store_path(const hl_options *options, char **ret_path, hl_error *error) {
  const char *given = hl_options_get(options, HL_OPTION_STORE);
  if (given && strcmp(given, "none") == 0) {
    *ret_path = NULL;
    return HL_OK;
  }
  if (given) {
    *ret_path = hl_strdup(given);
    return *ret_path ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
  }
  HL_CLEANUP(hl_free_pointer) char *directory = NULL;
  hl_status status = xdg_directory("XDG_DATA_HOME", ".local/share", &directory, error);
  if (status != HL_OK) return status;
  *ret_path = hl_format("%s/hotlap.db", directory);
  return *ret_path ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a path");
}

hl_status hl_cli_cache_directory(char **ret_path, hl_error *error) {
  return xdg_directory("XDG_CACHE_HOME", ".cache", ret_path, error);
}

hl_status hl_cli_order_seed(const hl_options *options, uint64_t *ret_seed, hl_error *error) {
  uint32_t fresh = 0;
  int64_t seed = 0;
  if (getrandom(&fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh) fresh = (uint32_t)hl_clock_ns();
  hl_status status =
      hl_options_int(options, HL_OPTION_ORDER_SEED, 0, ((int64_t)1 << 53) - 1, fresh, &seed, error);
  *ret_seed = (uint64_t)seed;
  return status;
}

bool hl_cli_colour(int fd) {
  const char *no_color = getenv("NO_COLOR");
  return isatty(fd) && !(no_color && no_color[0]);
}

bool hl_cli_without_limits(void) {
  return getenv("HOTLAP_TEST_WITHOUT_LIMITS") != NULL;
}

hl_status hl_cli_layers(const hl_options *options, size_t *ret_layers, hl_error *error) {
  int64_t layers = 20;
  hl_status status =
      hl_options_int(options, HL_OPTION_LAYERS, 0, INT32_MAX, layers, &layers, error);
  if (status == HL_OK) *ret_layers = (size_t)layers;
  return status;
}
