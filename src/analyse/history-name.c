#include "analyse/history-internal.h"

#include <stdlib.h>
#include <string.h>

/* The next word as a shell would read what hl_shell_quote wrote; free() it. NULL at the end, for an
 * open quote and without memory. */
static char *next_word(const char **at) {
  *at += strspn(*at, " ");
  if (!**at) return NULL;
  hl_text word = HL_TEXT_INIT;
  bool quoted = false;
  for (; **at && (quoted || **at != ' '); (*at)++) {
    if (**at == '\'')
      quoted = !quoted;
    else if (!quoted && **at == '\\' && (*at)[1])
      hl_text_char(&word, *++*at);
    else
      hl_text_char(&word, **at);
  }
  char *text = quoted ? NULL : hl_text_take(&word);
  hl_text_release(&word);
  return text ? text : NULL;
}

/* As a word of an operand: in double quotes where it has spaces. */
static bool append_part(hl_text *out, const char *word) {
  for (const char *c = word; *c; c++)
    if (*c == '"' || hl_text_control(c)) return false;
  hl_text_format(out, strchr(word, ' ') ? "\"%s\"" : "%s", word);
  return true;
}

/* "--batch-sizes" and "8" -> " batch=8". */
static bool append_setting(hl_text *out, const char *option, const char **at) {
  if (strncmp(option, "--", 2) != 0) return false;
  HL_CLEANUP(hl_free_pointer) char *value = next_word(at);
  if (!value) return false;
  const char *name = option + 2;
  if (strcmp(name, "model") == 0 && !out->length) return append_part(out, value);
  if (strcmp(name, "simulated-clock") == 0) {
    hl_text_append(out, " simulated-clock");
    return true;
  }
  HL_CLEANUP(hl_free_pointer)
  char *pair = hl_format("%s=%s", strcmp(name, "batch-sizes") == 0 ? "batch" : name, value);
  hl_text_char(out, ' ');
  return pair && append_part(out, pair);
}

bool hl_history_operand(const char *configuration, hl_text *out) {
  hl_text text = HL_TEXT_INIT;
  const char *at = configuration;
  bool ok = true, first = true;
  for (char *word; ok && (word = next_word(&at)) != NULL; free(word), first = false)
    ok = first && word[0] && word[0] != '-' ? append_part(&text, word)
                                            : append_setting(&text, word, &at);
  ok = ok && !at[strspn(at, " ")] && text.length && !text.failed;
  if (ok) hl_text_append(out, text.data);
  hl_text_release(&text);
  return ok && !out->failed;
}

/* A relative path: of a model and a library only what has a slash or is called so. */
static bool is_relative_file(const char *key, size_t length, const char *value) {
  static const char *const keys[] = {"plugin", "test-data", "engine-library", "python"};
  for (size_t i = 0; i < HL_COUNT(keys); i++) {
    if (strlen(keys[i]) != length || strncmp(keys[i], key, length) != 0) continue;
    const char *path = i == 2 && strchr(value, '=') ? strchr(value, '=') + 1 : value;
    return path[0] != '/' && path[0] != '"' && (i != 2 || strchr(path, '/'));
  }
  return false;
}

bool hl_history_has_file(const char *operand) {
  const char *start = operand + (operand[0] == '"');
  size_t model = strcspn(start, operand[0] == '"' ? "\"" : " ");
  bool named =
      memchr(start, '/', model) || (model > 5 && strncmp(start + model - 5, ".onnx", 5) == 0);
  if (named && start[0] != '/') return true;
  for (const char *at = start + model; (at = strchr(at, ' ')) != NULL;) {
    at++;
    const char *key = at + (*at == '"'), *equal = strchr(key, '=');
    if (equal && is_relative_file(key, (size_t)(equal - key), equal + 1)) return true;
  }
  return false;
}

size_t hl__history_commit_length(const char *text) {
  enum { DIGITS = sizeof((hl_history_commit *)NULL)->id - 1 };
  if (!text || strspn(text, "0123456789abcdef") != DIGITS) return 0;
  return !text[DIGITS] || strcmp(text + DIGITS, "-dirty") == 0 ? DIGITS : 0;
}

static int by_id(const void *a, const void *b) {
  return strcmp(((const hl_history_commit *)a)->id, ((const hl_history_commit *)b)->id);
}

hl_status hl_history_commits(const hl_history_rows *rows, hl_history_commit **ret_commits,
                             size_t *ret_count, hl_error *error) {
  hl_history_commit *commits = calloc(rows->count + 1, sizeof *commits);
  if (!commits) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for commits");
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    const char *commit = rows->items[i].commit;
    size_t length = hl__history_commit_length(commit);
    if (!length) continue;
    memcpy(commits[count].id, commit, length);
    commits[count++].behind = -1;
  }
  qsort(commits, count, sizeof *commits, by_id);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || by_id(&commits[kept - 1], &commits[i]) != 0) commits[kept++] = commits[i];
  *ret_commits = commits;
  *ret_count = kept;
  return HL_OK;
}
