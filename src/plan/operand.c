#include "plan/operand.h"

#include <stdlib.h>
#include <string.h>

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

/* "engine=native" is --engine=native; "null.spin_ns=20" is --engine-option=null.spin_ns=20. */
static hl_status add_setting(hl_operand *o, const char *text, const char *word, hl_error *error) {
  size_t key = strcspn(word, "=");
  if (key == 0 || word[key] == '\0' || word[0] == '-')
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "operand '%.300s': '%.100s' is not KEY=VALUE, such as batch=8", text, word);
  bool of_engine = memchr(word, '.', key) != NULL;
  return keep(o, hl_format("--%s%s", of_engine ? "engine-option=" : "", word), error);
}

static hl_status add_common(hl_operand *o, const hl_options *common, hl_error *error) {
  hl_status status = keep(o, hl_strdup("compare"), error);
  if (status == HL_OK) status = keep(o, hl_strdup("--batch-sizes=1"), error);
  for (size_t i = 0; i < common->item_count && status == HL_OK; i++)
    if (hl_option_taken(common->item_ids[i], 'c'))
      status = keep(o, hl_format("--%s=%s", hl_option_name(common->item_ids[i]), common->items[i]),
                    error);
  return status;
}

static hl_status split(hl_operand *o, const char *text, hl_error *error) {
  const char *at = text;
  size_t count = 0;
  for (;;) {
    at += strspn(at, " \t\n");
    if (!*at) return HL_OK;
    if (++count > HL_OPERAND_WORDS)
      return hl_error_set(error, HL_LIMIT, "operand '%.100s...' has more than %d words", text,
                          HL_OPERAND_WORDS);
    char *word = NULL;
    hl_status status = next_word(text, &at, &word, error);
    if (status != HL_OK) return status;
    if (!o->model) {
      o->model = word; /* no option, whatever it is called */
      continue;
    }
    status = add_setting(o, text, word, error);
    free(word);
    if (status != HL_OK) return status;
  }
}

/* Names that are kept for other kinds of operands, so that none is taken for a model. */
static hl_status check_kind(const char *model, hl_error *error) {
  static const char *const kinds[] = {"run:", "git:", "plan:"};
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (strncmp(model, kinds[i], strlen(kinds[i])) == 0)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "operand '%.300s': this version compares configurations only, not %s...; "
                          "an operand begins with a model: 'resnet50 batch=8'",
                          model, kinds[i]);
  return HL_OK;
}

static hl_status parse(hl_operand *o, const char *text, const hl_options *common, hl_error *error) {
  o->words = calloc(common->item_count + HL_OPERAND_WORDS + 4, sizeof *o->words);
  if (!o->words) return no_memory(error);
  hl_status status = add_common(o, common, error);
  if (status == HL_OK) status = split(o, text, error);
  if (status != HL_OK) return status;
  if (!o->model)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an operand is empty; it begins with a model: 'resnet50 batch=8'");
  status = check_kind(o->model, error);
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

void hl_operand_release(hl_operand *operand) {
  hl_options_release(&operand->options);
  for (size_t i = 0; i < operand->word_count; i++) free(operand->words[i]);
  free(operand->words);
  free(operand->model);
  *operand = (hl_operand){0};
}
