#include "plan/launcher.h"

#include "plan/configuration.h"
#include <string.h>

/* What runs its command as a child on this machine, under this machine's limits. */
static const char *const near_names[] = {
    "chrt",    "cpulimit", "env",  "faketime", "ionice",  "ip",      "nice",   "nohup",
    "nsenter", "numactl",  "perf", "prlimit",  "setarch", "setsid",  "stdbuf", "strace",
    "sudo",    "taskset",  "time", "timeout",  "unshare", "valgrind"};

/* What any shell takes as it stands; a tilde at the beginning is the home over there. */
static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "_@%+=:,./-";

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a launcher");
}

static hl_status refuse(const char *text, const char *at, hl_error *error) {
  if (*at)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--launcher '%.200s': %.1s is for a shell, which there is none; put the "
                        "word in single quotes if it is meant as it stands",
                        text, at);
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--launcher '%.200s': a quote is not closed",
                      text);
}

/* Copies what is behind an opening quote; false, at the character, where a shell would do more than
 * copy. */
static bool copy_quoted(const char **from, char **to) {
  char quote = *(*from)++;
  for (; **from != quote; (*from)++) {
    if (**from == '\0' || (quote == '"' && strchr("$`\\", **from))) return false;
    *(*to)++ = **from;
  }
  (*from)++;
  return true;
}

static bool copy_word(const char **from, char **to) {
  while (**from && **from != ' ' && **from != '\t') {
    unsigned char c = (unsigned char)**from;
    if (c == '\'' || c == '"') {
      if (!copy_quoted(from, to)) return false;
    } else if (c < 0x80 && strchr("$`\\|&;<>()*?[]{}!#\n\r", c)) {
      return false;
    } else {
      *(*to)++ = *(*from)++;
    }
  }
  *(*to)++ = '\0';
  return true;
}

static hl_status split(hl_arena *arena, hl_launcher *l, hl_error *error) {
  size_t length = strlen(l->text);
  const char **words = hl_arena_array(arena, length / 2 + 2, sizeof *words);
  char *to = hl_arena_text(arena, l->text); /* words take no more room than the text */
  if (!words || !to) return no_memory(error);
  for (const char *from = l->text;;) {
    from += strspn(from, " \t");
    if (!*from) break;
    words[l->count++] = to;
    if (!copy_word(&from, &to)) return refuse(l->text, from, error);
  }
  words[l->count] = NULL;
  l->words = words;
  if (l->count && words[0][0]) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--launcher '%.200s' names no command, such as 'ssh box'", l->text);
}

static bool is_near(const hl_launcher *l) {
  const char *name = hl_launcher_name(l);
  for (size_t i = 0; i < HL_COUNT(near_names); i++)
    if (strcmp(name, near_names[i]) == 0) return true;
  return false;
}

static hl_status check_program(const char *program, hl_error *error) {
  size_t from = program[0] == '~' ? 1 : 0;
  const char *odd = program + from + strspn(program + from, safe);
  if (program[0] && program[0] != '-' && !*odd) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--remote-program '%.200s': a shell over there would not take it as it "
                      "stands; give a path of letters, digits and %s, or link to it by one",
                      program, "_@%+=:,./-");
}

hl_status hl_launcher_make(const char *text, const char *program, hl_arena *arena,
                           const hl_launcher **ret_launcher, hl_error *error) {
  if (strlen(text) > HL_LAUNCHER_BYTES)
    return hl_error_set(error, HL_LIMIT, "--launcher has %zu bytes; at most %d", strlen(text),
                        HL_LAUNCHER_BYTES);
  hl_launcher *l = hl_arena_array(arena, 1, sizeof *l);
  if (!l) return no_memory(error);
  *l = (hl_launcher){.text = hl_arena_text(arena, text)};
  if (program) l->program = hl_arena_text(arena, program);
  if (!l->text || (program && !l->program)) return no_memory(error);
  hl_status status = split(arena, l, error);
  if (status == HL_OK && program) status = check_program(program, error);
  if (status != HL_OK) return status;
  l->far = !is_near(l);
  *ret_launcher = l;
  return HL_OK;
}

hl_status hl_launcher_read(const hl_options *options, hl_arena *arena,
                           const hl_launcher **ret_launcher, hl_error *error) {
  const char *text = hl_options_get(options, HL_OPTION_LAUNCHER);
  const char *program = hl_options_get(options, HL_OPTION_REMOTE_PROGRAM);
  *ret_launcher = NULL;
  if (text) return hl_launcher_make(text, program, arena, ret_launcher, error);
  if (!program) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--remote-program is for --launcher, and there is none");
}

void hl_launcher_options(const hl_launcher *launcher, hl_text *out) {
  hl_text_append(out, " --launcher ");
  hl_shell_quote(out, launcher->text);
  if (!launcher->program) return;
  hl_text_append(out, " --remote-program ");
  hl_shell_quote(out, launcher->program);
}

const char *hl_launcher_name(const hl_launcher *launcher) {
  const char *slash = strrchr(launcher->words[0], '/');
  return slash ? slash + 1 : launcher->words[0];
}
