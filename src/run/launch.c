#include "run/launch.h"

#include "base/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path is taken as it is; a name is looked for as a shell would. */
static hl_status find_launcher(const hl_launch *launch, char **ret_path, hl_error *error) {
  const char *name = launch->launcher->words[0];
  bool is_path = strchr(name, '/') != NULL;
  if (!is_path)
    *ret_path = hl_program_find(launch->search_path, name);
  else if (hl_program_is(name))
    *ret_path = hl_strdup(name);
  if (*ret_path) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE, "--launcher '%.200s': there is no program %.100s%s",
                      launch->launcher->text, name, is_path ? "" : " in PATH");
}

/* What runs elsewhere is there by its name; what stays here is this very program, and not the
 * launcher's, which /proc/self/exe would be. */
static char *find_program(const hl_launch *launch) {
  const hl_launcher *l = launch->launcher;
  if (l->program) return hl_strdup(l->program);
  return l->far ? hl_strdup("hotlap") : realpath(launch->program, NULL);
}

hl_status hl_launch_words(const hl_launch *launch, char ***ret_words, hl_error *error) {
  const hl_launcher *l = launch->launcher;
  char **words = calloc(l->count + 3, sizeof *words);
  bool whole = words != NULL;
  hl_status status = whole ? find_launcher(launch, &words[0], error) : HL_OK;
  for (size_t i = 1; status == HL_OK && whole && i < l->count; i++)
    whole = (words[i] = hl_strdup(l->words[i])) != NULL;
  if (status == HL_OK && whole)
    whole = (words[l->count] = find_program(launch)) && (words[l->count + 1] = hl_strdup("worker"));
  if (!whole) status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
  if (status == HL_OK)
    *ret_words = words;
  else
    hl_launch_words_free(words);
  return status;
}

void hl_launch_words_free(char **words) {
  for (size_t i = 0; words && words[i]; i++) free(words[i]);
  free(words);
}

void hl_launch_hello(const hl_launch *launch, double idle_s, json_t *request) {
  if (!launch->launcher || !launch->launcher->far) return;
  hl_json_set_int(request, "idle_ns", (uint64_t)(idle_s * 1e9));
  if (launch->memory_limit_bytes)
    json_object_set_new(request, "memory_limit_bytes",
                        json_integer(launch->guards ? -1 : (json_int_t)launch->memory_limit_bytes));
}

/* Of the exit statuses that shells, ssh and containers share. */
static const char *remedy_of(const hl_launcher *l, int exit_status) {
  if (exit_status == 127 || exit_status == 126)
    return l->program ? "; --remote-program names what is to be run there"
                      : "; is hotlap installed there? --remote-program PATH names it where it is "
                        "not on the PATH of a shell that nobody logs in to";
  if (exit_status == 255 && strcmp(hl_launcher_name(l), "ssh") == 0)
    return " (255 is ssh's own failure, or a signal that ended the worker)";
  return "";
}

hl_status hl_launch_explain(const hl_launcher *launcher, int exit_status, const char *said,
                            hl_error *error) {
  char killed[48] = "";
  if (exit_status > 128 && exit_status < 128 + 65)
    snprintf(killed, sizeof killed, ", as of signal %d there (%s)", exit_status - 128,
             strsignal(exit_status - 128));
  return hl_error_set(error, HL_CRASHED, "'%.120s' ended with exit status %d%s%s%s%s",
                      launcher->text, exit_status, killed, said[0] ? ": " : "", said,
                      remedy_of(launcher, exit_status));
}

hl_status hl_launch_name_place(const hl_launcher *launcher, hl_status status, hl_error *error) {
  char message[sizeof(hl_error){0}.msg];
  if (!error || status != HL_NOT_FOUND) return status;
  snprintf(message, sizeof message, "%s", error->msg);
  return hl_error_set(error, status,
                      "on the other side of '%.80s': %.360s (files are those that "
                      "are there; relative paths begin in its home)",
                      launcher->text, message);
}
