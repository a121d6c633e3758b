#include "base/text.h"
#include "run/command.h"
#include <stdlib.h>
#include <string.h>

/* What a shell takes as it stands, outside quotes; bytes of UTF-8, too. */
static bool is_plain(char c) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_@%+=:,./-";
  return (unsigned char)c >= 0x80 || strchr(plain, c) != NULL;
}

/* Copies a quoted part behind its opening quote; false where a shell would do more than copy. */
static bool copy_quoted(const char **from, char **to, char quote) {
  for ((*from)++; **from != quote; (*from)++) {
    if (**from == '\0' || (quote == '"' && strchr("$`\\", **from))) return false;
    *(*to)++ = **from;
  }
  (*from)++;
  return true;
}

/* One word without its quotes, terminated. */
static bool copy_word(const char **from, char **to) {
  while (**from && **from != ' ' && **from != '\t') {
    if (**from == '\'' || **from == '"') {
      if (!copy_quoted(from, to, **from)) return false;
    } else if (is_plain(**from)) {
      *(*to)++ = *(*from)++;
    } else {
      return false;
    }
  }
  *(*to)++ = '\0';
  return true;
}

/* Whether the text is words only; fills words and argv. */
static bool split(hl_command *c) {
  const char *from = c->text;
  char *to = c->words;
  size_t count = 0;
  for (;;) {
    from += strspn(from, " \t");
    if (!*from) break;
    c->argv[count++] = to;
    if (!copy_word(&from, &to)) return false;
  }
  c->argv[count] = NULL;
  return count > 0 && !strchr(c->argv[0], '='); /* NAME=VALUE before a command sets a variable */
}

void hl__command_by_shell(hl_command *command) {
  static char shell[] = "/bin/sh", option[] = "-c", end[] = "--"; /* a text may begin with '-' */
  command->argv[0] = shell;
  command->argv[1] = option;
  command->argv[2] = end;
  command->argv[3] = command->text;
  command->argv[4] = NULL;
  command->by_shell = true;
}

hl_status hl_command_init(hl_command *command, const char *text, hl_error *error) {
  size_t length = strlen(text);
  hl_command c = {0};
  if (text[strspn(text, " \t\n")] == '\0')
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a command is empty");
  if (length > HL_COMMAND_BYTES)
    return hl_error_set(error, HL_LIMIT, "a command has %zu bytes; at most %d", length,
                        HL_COMMAND_BYTES);
  c.text = hl_strdup(text);
  c.words = malloc(length + 1);
  c.argv = calloc(length / 2 + 5, sizeof *c.argv); /* a word is a byte and a space at least */
  if (!c.text || !c.words || !c.argv) {
    hl_command_release(&c);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
  }
  if (!split(&c)) hl__command_by_shell(&c);
  *command = c;
  return HL_OK;
}

void hl_command_release(hl_command *command) {
  free(command->text);
  free(command->words);
  free(command->argv);
  *command = (hl_command){0};
}
