#include "cli/serve.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "web/web.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const hl_option_id own[] = {HL_OPTION_SERVE,   HL_OPTION_LISTEN,
                                   HL_OPTION_TOKEN,   HL_OPTION_TOKEN_FILE,
                                   HL_OPTION_MONITOR, HL_OPTION_CLIENT_TIMEOUT};

static bool is_own(hl_option_id id) {
  bool found = id == HL_OPTION_STORE || id == HL_OPTION_QUIET;
  for (size_t i = 0; i < HL_COUNT(own); i++) found = found || own[i] == id;
  return found;
}

bool hl_cli_serves(const hl_options *options) {
  for (size_t i = 0; i < HL_COUNT(own); i++)
    if (hl_options_given(options, own[i])) return true;
  return false;
}

static hl_status check(const hl_options *options, hl_error *error) {
  bool serves = hl_options_on(options, HL_OPTION_SERVE);
  for (size_t i = 0; i < options->item_count; i++) {
    hl_option_id id = options->item_ids[i];
    if (serves && !is_own(id))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s does not go with --serve, which shows every run",
                          hl_option_name(id));
    if (!serves && is_own(id) && id != HL_OPTION_STORE && id != HL_OPTION_QUIET)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--%s is for --serve, which is not given",
                          hl_option_name(id));
  }
  if (options->positional_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--serve shows every run; '%.100s' is none of its operands",
                        options->positionals[0]);
  return HL_OK;
}

/* The first line, without the end of it. */
static hl_status read_token(const hl_options *options, char **ret_token, hl_error *error) {
  const char *path = hl_options_get(options, HL_OPTION_TOKEN_FILE);
  const char *given = hl_options_get(options, HL_OPTION_TOKEN);
  if (path && given)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "either --token or --token-file");
  if (!path) {
    *ret_token = hl_strdup(given);
    return given && !*ret_token ? hl_error_set(error, HL_OUT_OF_MEMORY, "no memory") : HL_OK;
  }
  size_t bytes = 0;
  hl_status status = hl_file_read(path, 4096, ret_token, &bytes, error);
  if (status == HL_OK) (*ret_token)[strcspn(*ret_token, "\r\n")] = '\0';
  return status;
}

static void print_url(void *context, const char *url) {
  if (context) return;
  printf("Dashboard: %s    (Ctrl-C ends it)\n", url);
  fflush(stdout);
}

static hl_status serve(const hl_options *options, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = NULL, *token = NULL;
  int64_t patience = 0;
  hl_status status = check(options, error);
  if (status == HL_OK)
    status = hl_options_int(options, HL_OPTION_CLIENT_TIMEOUT, 1, 86400, 60, &patience, error);
  if (status == HL_OK) status = hl_cli_store_path(options, &path, error);
  if (status == HL_OK) status = read_token(options, &token, error);
  if (status != HL_OK) return status;
  if (!path)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--store none holds no runs; name a file");
  static char quiet;
  const hl_web_config config = {.store = path,
                                .monitor = hl_options_get(options, HL_OPTION_MONITOR),
                                .listen = hl_options_get(options, HL_OPTION_LISTEN),
                                .token = token,
                                .patience_s = (unsigned)patience,
                                .interrupt = hl_interrupt_catch(),
                                .started = print_url,
                                .context = hl_options_on(options, HL_OPTION_QUIET) ? &quiet : NULL};
  return hl_web_serve(&config, error);
}

int hl_cli_serve(hl_options *options) {
  hl_error error = {0};
  hl_status status = serve(options, &error);
  int exit_status = HL_EXIT_OK;
  if (status != HL_OK)
    exit_status = hl_cli_fail(&error, status == HL_UNAVAILABLE ? HL_EXIT_NOTHING : HL_EXIT_USAGE);
  hl_options_release(options);
  return exit_status;
}
