#include "plan/operand.h"

#include "plan/configuration.h"
#include <stdlib.h>
#include <string.h>

static const char *const prefixes[] = {
    [HL_OPERAND_CONFIGURATION] = "",
    [HL_OPERAND_GIT] = "git:",
    [HL_OPERAND_RUN] = "run:",
    [HL_OPERAND_PLAN] = "plan:",
};

const char *hl_operand_prefix(hl_operand_kind kind) {
  return prefixes[kind];
}

/* A run has its options already, and each line of a plan is an operand. */
static bool takes_common(const hl_operand *operand) {
  return operand->kind == HL_OPERAND_CONFIGURATION || operand->kind == HL_OPERAND_GIT;
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an operand");
}

static hl_status keep(hl_operand *o, char *word, hl_error *error) {
  if (!word) return no_memory(error);
  o->words[o->word_count++] = word;
  return HL_OK;
}

/* The next word, without its quotes; free() it. `at` moves behind it. */
static hl_status next_word(const char *text, const char **at, char **ret_word, hl_error *error) {
  hl_text word = HL_TEXT_INIT;
  bool quoted = false;
  for (; **at && (quoted || !strchr(" \t\n", **at)); (*at)++) {
    if (**at == '"')
      quoted = !quoted;
    else
      hl_text_char(&word, **at);
  }
  if (quoted) {
    hl_text_release(&word);
    return hl_error_set(error, HL_INVALID_ARGUMENT, "operand '%.300s': a quote is not closed",
                        text);
  }
  *ret_word = hl_text_take(&word);
  return *ret_word ? HL_OK : no_memory(error);
}

/* "engine=native" is --engine=native; "null.spin_ns=20" is --engine-option=null.spin_ns=20;
 * "pipeline" is --pipeline. */
static hl_status add_setting(hl_operand *o, const char *text, const char *word, hl_error *error) {
  size_t key = strcspn(word, "=");
  hl_option_id id;
  if (hl_option_find('c', word, strlen(word), &id) && hl_option_is_switch(id))
    return keep(o, hl_format("--%s", word), error);
  if (key == 0 || word[key] == '\0' || word[0] == '-')
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "operand '%.300s': '%.100s' is not KEY=VALUE, such as batch=8", text, word);
  bool of_engine = memchr(word, '.', key) != NULL;
  return keep(o, hl_format("--%s%s", of_engine ? "engine-option=" : "", word), error);
}

static hl_status add_common(hl_operand *o, const hl_options *common, hl_error *error) {
  hl_status status = keep(o, hl_strdup("--batch-sizes=1"), error);
  for (size_t i = 0; i < common->item_count && status == HL_OK; i++)
    if (hl_option_taken(common->item_ids[i], 'c') && hl_option_is_switch(common->item_ids[i]))
      status = keep(o, hl_format("--%s", hl_option_name(common->item_ids[i])), error);
    else if (hl_option_taken(common->item_ids[i], 'c'))
      status = keep(o, hl_format("--%s=%s", hl_option_name(common->item_ids[i]), common->items[i]),
                    error);
  return status;
}

/* The first word: a model, whatever it is called, or a reference. */
static hl_status take_first(hl_operand *o, const char *text, char *word, hl_error *error) {
  for (size_t kind = HL_OPERAND_GIT; kind < HL_COUNT(prefixes); kind++) {
    size_t length = strlen(prefixes[kind]);
    if (strncmp(word, prefixes[kind], length) != 0) continue;
    o->kind = (hl_operand_kind)kind;
    memmove(word, word + length, strlen(word + length) + 1);
    o->reference = word;
    if (word[0]) return HL_OK;
    return hl_error_set(error, HL_INVALID_ARGUMENT, "operand '%.300s': nothing follows %s", text,
                        prefixes[kind]);
  }
  o->model = word;
  return HL_OK;
}

static bool is_setting(const char *word) {
  static const char of_keys[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  size_t length = strspn(word, of_keys);
  return length > 0 && word[length] == '=';
}

/* The next word, or NULL at the end. */
static hl_status read_word(const char *text, const char **at, size_t *count, char **ret_word,
                           hl_error *error) {
  *at += strspn(*at, " \t\n");
  *ret_word = NULL;
  if (!**at) return HL_OK;
  if (++*count > HL_OPERAND_WORDS)
    return hl_error_set(error, HL_LIMIT, "operand '%.100s...' has more than %d words", text,
                        HL_OPERAND_WORDS);
  return next_word(text, at, ret_word, error);
}

static hl_status take_rest(hl_operand *o, const char *text, const char *at, hl_error *error) {
  char *word = NULL;
  size_t count = 1;
  hl_status status = read_word(text, &at, &count, &word, error);
  if (word && !o->model && !is_setting(word)) {
    o->model = word;
    status = read_word(text, &at, &count, &word, error);
  }
  while (status == HL_OK && word) {
    status = add_setting(o, text, word, error);
    free(word);
    word = NULL;
    if (status == HL_OK) status = read_word(text, &at, &count, &word, error);
  }
  return status;
}

static hl_status take_words(hl_operand *o, const char *text, const hl_options *common,
                            hl_error *error) {
  const char *at = text;
  char *word = NULL;
  size_t count = 0;
  hl_status status = read_word(text, &at, &count, &word, error);
  if (status == HL_OK && !word)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an operand is empty; it begins with a model: 'resnet50 batch=8'");
  if (status == HL_OK) status = take_first(o, text, word, error);
  if (status == HL_OK) status = keep(o, hl_strdup("compare"), error);
  if (status == HL_OK && takes_common(o)) status = add_common(o, common, error);
  o->own_words = o->word_count;
  return status == HL_OK ? take_rest(o, text, at, error) : status;
}

static hl_status parse(hl_operand *o, const char *text, const hl_options *common, hl_error *error) {
  o->words = calloc(common->item_count + HL_OPERAND_WORDS + 4, sizeof *o->words);
  if (!o->words) return no_memory(error);
  hl_status status = take_words(o, text, common, error);
  if (status != HL_OK) return status;
  hl_error inner = {0};
  status = hl_options_parse('c', (int)o->word_count, o->words, &o->options, &inner);
  if (status == HL_OK) return HL_OK;
  return hl_error_set(error, status, "operand '%.300s': %s", text, inner.msg);
}

hl_status hl_operand_parse(const char *text, const hl_options *common, hl_operand *ret_operand,
                           hl_error *error) {
  hl_operand o = {0};
  if (strlen(text) > HL_OPERAND_BYTES)
    return hl_error_set(error, HL_LIMIT, "an operand is longer than %d bytes", HL_OPERAND_BYTES);
  hl_status status = parse(&o, text, common, error);
  if (status != HL_OK)
    hl_operand_release(&o);
  else
    *ret_operand = o;
  return status;
}

/* Length of what stands before a relative path in the value of an option; SIZE_MAX where there is
 * none. */
static size_t before_path(hl_option_id id, const char *value) {
  size_t before = 0;
  switch (id) {
  case HL_OPTION_PLUGIN:
  case HL_OPTION_PYTHON:
    break;
  case HL_OPTION_TEST_DATA:
    if (strcmp(value, "synthetic") == 0) return SIZE_MAX;
    break;
  case HL_OPTION_ENGINE_LIBRARY: /* a bare name is looked for by the loader */
    before = hl_plan_scope(value);
    if (before) before++;
    if (!strchr(value + before, '/')) return SIZE_MAX;
    break;
  default:
    return SIZE_MAX;
  }
  return value[before] == '/' || value[before] == '\0' ? SIZE_MAX : before;
}

hl_status hl_operand_rebase(hl_operand *o, const char *directory, hl_error *error) {
  /* Every word but the first is one option with its value. */
  for (size_t i = o->own_words; i < o->word_count; i++) {
    const char *value = o->options.items[i - 1];
    size_t before = before_path(o->options.item_ids[i - 1], value);
    if (before == SIZE_MAX) continue;
    size_t kept = (size_t)(value - o->words[i]) + before;
    char *word = hl_format("%.*s%s/%s", (int)kept, o->words[i], directory, o->words[i] + kept);
    if (!word) return no_memory(error);
    free(o->words[i]);
    o->words[i] = word;
  }
  hl_options_release(&o->options);
  return hl_options_parse('c', (int)o->word_count, o->words, &o->options, error);
}

void hl_operand_release(hl_operand *operand) {
  hl_options_release(&operand->options);
  for (size_t i = 0; i < operand->word_count; i++) free(operand->words[i]);
  free(operand->words);
  free(operand->model);
  free(operand->reference);
  *operand = (hl_operand){0};
}
