#include "run/task-words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char overrides_name[] = "overrides";

/* In single quotes, each of its own as '\''. */
static void append_quoted(hl_text *text, const char *value) {
  hl_text_char(text, '\'');
  for (const char *c = value; *c; c++)
    if (*c == '\'')
      hl_text_append(text, "'\\''");
    else
      hl_text_char(text, *c);
  hl_text_char(text, '\'');
}

void hl_task_word(hl_text *text, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_@%+=:,./-";
  if (text->length) hl_text_char(text, ' ');
  if (word[0] && word[strspn(word, plain)] == '\0')
    hl_text_append(text, word);
  else
    append_quoted(text, word);
}

typedef struct value {
  const char *name, *text; /* text NULL: the row does not say it */
} value;

static hl_status put(const value *values, size_t count, const char *name, size_t length,
                     hl_text *text, hl_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(values[i].name) != length || strncmp(values[i].name, name, length) != 0) continue;
    if (!values[i].text)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--entry has {%s}, of which the row says nothing", values[i].name);
    append_quoted(text, values[i].text);
    return HL_OK;
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "--entry: {%.*s} is none of {branch}, {experiment}, {trainer}, {max_epochs}, "
                      "{batch_size}, {checkpoint_path}, {data_path}, {overrides}",
                      length < 60 ? (int)length : 60, name);
}

/* Length of a {name} at `at`; 0: it is none, as ${HOME} of a shell is none. */
static size_t place_length(const char *entry, const char *at) {
  if (*at != '{' || (at > entry && at[-1] == '$')) return 0;
  size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
  return length && at[1 + length] == '}' ? length : 0;
}

/* Where a shell is in the words so far. */
typedef struct scanner {
  char quote;               /* the open one, or 0 */
  bool backquote, document; /* within backquotes; behind << */
} scanner;

/* Copies the character at `at`, with the one that it escapes; returns the last that was copied. */
static const char *copy(scanner *s, const char *at, hl_text *text) {
  if (*at == '\\' && s->quote != '\'' && at[1] && at[1] != '{')
    hl_text_char(text, *at++);
  else if (s->quote ? *at == s->quote : *at == '\'' || *at == '"')
    s->quote = s->quote ? '\0' : *at;
  else if (*at == '<' && at[1] == '<' && !s->quote)
    s->document = true;
  else if (*at == '`' && s->quote != '\'')
    s->backquote = !s->backquote;
  hl_text_char(text, *at);
  return at;
}

/* Whether a quoted value may stand for the {name} at `at`. */
static hl_status check_place(const scanner *s, bool escaped, const char *name, size_t length,
                             hl_error *error) {
  if (s->backquote || s->document || escaped)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--entry: {%.*s} stands %s, where no value can be quoted", (int)length,
                        name,
                        s->backquote  ? "in backquotes (write $(...))"
                        : s->document ? "behind <<"
                                      : "behind a backslash");
  if (s->quote)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--entry: {%.*s} stands in quotes; leave them out: each value is quoted",
                        (int)length, name);
  return HL_OK;
}

static void put_overrides(const hl_task_row *row, hl_text *text) {
  for (size_t i = 0; i < row->override_count; i++) {
    if (i) hl_text_char(text, ' ');
    append_quoted(text, row->overrides[i]);
  }
}

static hl_status fill(const char *entry, const value *values, size_t count, const hl_task_row *row,
                      bool *ret_overrides, hl_text *text, hl_error *error) {
  scanner s = {0};
  hl_status status = HL_OK;
  for (const char *c = entry; *c && status == HL_OK; c++) {
    size_t length = place_length(entry, c);
    if (!length) {
      c = copy(&s, c, text);
      continue;
    }
    status = check_place(&s, c > entry && c[-1] == '\\', c + 1, length, error);
    if (status != HL_OK) return status;
    if (length == strlen(overrides_name) && strncmp(c + 1, overrides_name, length) == 0) {
      *ret_overrides = true;
      put_overrides(row, text);
    } else {
      status = put(values, count, c + 1, length, text, error);
    }
    c += length + 1;
  }
  return status;
}

hl_status hl_task_entry(const char *entry, const hl_task_row *row, char **ret_text,
                        hl_error *error) {
  char epochs[24], batch[24];
  snprintf(epochs, sizeof epochs, "%" PRId64, row->max_epochs);
  snprintf(batch, sizeof batch, "%" PRId64, row->batch_size);
  const value values[] = {{"branch", row->branch},
                          {"experiment", row->experiment},
                          {"trainer", row->trainer},
                          {"max_epochs", row->max_epochs < 0 ? NULL : epochs},
                          {"batch_size", row->batch_size < 0 ? NULL : batch},
                          {"checkpoint_path", row->checkpoint_path},
                          {"data_path", row->data_path}};
  hl_text text = HL_TEXT_INIT;
  bool placed = false;
  hl_status status = fill(entry, values, HL_COUNT(values), row, &placed, &text, error);
  for (size_t i = 0; status == HL_OK && !placed && i < row->override_count; i++)
    hl_task_word(&text, row->overrides[i]);
  *ret_text = hl_text_take(&text);
  if (status == HL_OK && !*ret_text)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a command");
  return status;
}
