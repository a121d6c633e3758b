#include "plan/options.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
  const char *name, *value, *initial, *aliases, *commands, *doc;
} row;

static const row table[HL_OPTION_COUNT] = {
#define X(id, name, value, initial, aliases, commands, doc)                                        \
  {name, value, initial, aliases, commands, doc},
#include "plan/options.def"
#undef X
};

/* Commands whose default is another one. */
static const struct {
  hl_option_id id;
  const char *commands, *initial;
} initials[] = {
#define X(id, name, value, initial, aliases, commands, doc)
#define HL_INITIAL(id, commands, initial) {HL_OPTION_##id, commands, initial},
#include "plan/options.def"
#undef X
};

static const char *initial_of(hl_option_id id, char command) {
  for (size_t i = 0; i < HL_COUNT(initials); i++)
    if (initials[i].id == id && command && strchr(initials[i].commands, command))
      return initials[i].initial;
  return table[id].initial;
}

const char *hl_option_name(hl_option_id id) {
  return table[id].name;
}

bool hl_option_taken(hl_option_id id, char command) {
  return strchr(table[id].commands, command) != NULL;
}

/* Equal up to '-' and '_'; `length` characters of `given`. */
static bool same_name(const char *name, size_t name_length, const char *given, size_t length) {
  if (name_length != length) return false;
  for (size_t i = 0; i < length; i++) {
    char c = given[i] == '_' ? '-' : given[i];
    if ((name[i] == '_' ? '-' : name[i]) != c) return false;
  }
  return true;
}

static bool row_has_name(const row *r, const char *given, size_t length) {
  if (same_name(r->name, strlen(r->name), given, length)) return true;
  for (const char *alias = r->aliases; *alias;) {
    size_t n = strcspn(alias, " ");
    if (same_name(alias, n, given, length)) return true;
    alias += n + (alias[n] == ' ');
  }
  return false;
}

const char *hl_option_nearest(char command, const char *name, size_t length) {
  const char *nearest = NULL;
  size_t best = 4; /* farther than this is no help */
  for (size_t i = 0; i < HL_OPTION_COUNT; i++) {
    if (!strchr(table[i].commands, command)) continue;
    size_t distance = hl_edit_distance(name, length, table[i].name);
    if (distance < best) {
      best = distance;
      nearest = table[i].name;
    }
  }
  return nearest;
}

static hl_status unknown(char command, const char *given, size_t length, hl_error *error) {
  char name[64];
  if (length >= sizeof name) length = sizeof name - 1;
  memcpy(name, given, length);
  name[length] = '\0';
  const char *nearest = hl_option_nearest(command, name, length);
  if (nearest)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "unknown option --%s; did you mean --%s?", name,
                        nearest);
  return hl_error_set(error, HL_INVALID_ARGUMENT, "unknown option --%s; --help lists the options",
                      name);
}

bool hl_option_is_switch(hl_option_id id) {
  return table[id].value[0] == '\0';
}

bool hl_option_is_list(hl_option_id id) {
  return strcmp(table[id].value, "LIST") == 0;
}

bool hl_option_find(char command, const char *name, size_t length, hl_option_id *ret_id) {
  for (size_t k = 0; k < HL_OPTION_COUNT; k++) {
    if (!strchr(table[k].commands, command) || !row_has_name(&table[k], name, length)) continue;
    *ret_id = (hl_option_id)k;
    return true;
  }
  return false;
}

/* In lists the words of which commas separate, "64,,128" lacks one. Spaces around commas are none
 * of it; a list of nothing at all is refused by who reads it and knows what it may be. */
static hl_status check_items(hl_option_id id, const char *list, hl_error *error) {
  if (!list[strspn(list, ", \t")]) return HL_OK;
  const char *at = list;
  for (int number = 1;; number++) {
    at += strspn(at, " \t");
    if (*at == ',' || !*at)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s '%.100s': item %d is empty; a comma stands between two items",
                          table[id].name, list, number);
    at += strcspn(at, ",");
    if (!*at++) return HL_OK;
  }
}

static hl_status append(hl_options *o, hl_option_id id, const char *value, hl_error *error) {
  hl_status status = hl_option_is_list(id) ? check_items(id, value, error) : HL_OK;
  if (status != HL_OK) return status;
  const char **items = realloc(o->items, (o->item_count + 1) * sizeof *items);
  if (items) o->items = items;
  hl_option_id *ids = realloc(o->item_ids, (o->item_count + 1) * sizeof *ids);
  if (ids) o->item_ids = ids;
  if (!items || !ids) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for options");
  o->items[o->item_count] = value;
  o->item_ids[o->item_count++] = id;
  o->value[id] = value;
  return HL_OK;
}

/* Part of a list of numbers or ranges, unlike a file named "3d.onnx". */
static bool is_number(const char *text) {
  return text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789,*+-")] == '\0';
}

/* "--batch-sizes 1 8 32": joins the arguments that are numbers. */
static hl_status join_list(hl_options *o, hl_option_id id, const char *first, int argc, char **argv,
                           int *i, hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  hl_text_append(&text, first);
  while (*i + 1 < argc && is_number(argv[*i + 1])) {
    bool has_comma = text.length && text.data[text.length - 1] == ','; /* "1, 8" */
    if (!has_comma) hl_text_char(&text, ',');
    hl_text_append(&text, argv[++*i]);
  }
  char *joined = hl_text_take(&text);
  if (!joined) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for options");
  char **all = realloc(o->joined, (o->joined_count + 1) * sizeof *all);
  if (!all) {
    free(joined);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for options");
  }
  o->joined = all;
  o->joined[o->joined_count++] = joined;
  return append(o, id, joined, error);
}

static bool is_option(char command, const char *word) {
  hl_option_id id;
  return strncmp(word, "--", 2) == 0 &&
         hl_option_find(command, word + 2, strcspn(word + 2, "="), &id);
}

static hl_status parse_one(hl_options *o, int argc, char **argv, int *i, hl_error *error) {
  const char *name = argv[*i] + (argv[*i][1] == '-' ? 2 : 1);
  size_t length = strcspn(name, "=");
  const char *inline_value = name[length] == '=' ? name + length + 1 : NULL;
  hl_option_id id;
  if (!hl_option_find(o->command, name, length, &id))
    return unknown(o->command, name, length, error);
  const row *r = &table[id];
  if (r->value[0] == '\0') {
    if (inline_value)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--%s takes no value", r->name);
    return append(o, id, "1", error);
  }
  const char *value = inline_value;
  if (!value) {
    if (*i + 1 >= argc)
      return hl_error_set(error, HL_INVALID_ARGUMENT, "--%s needs a value (%s)", r->name, r->value);
    value = argv[++*i];
    if (is_option(o->command, value))
      return hl_error_set(
          error, HL_INVALID_ARGUMENT,
          "--%s needs a value (%s), and '%s' is the next option; a value of that name "
          "is --%s=%s",
          r->name, r->value, value, r->name, value);
  }
  if (hl_option_is_list(id) && !inline_value) return join_list(o, id, value, argc, argv, i, error);
  return append(o, id, value, error);
}

hl_status hl_options_parse(char command, int argc, char **argv, hl_options *ret_options,
                           hl_error *error) {
  hl_options o = {.command = command};
  o.positionals = calloc((size_t)argc + 1, sizeof *o.positionals);
  hl_status status = o.positionals ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  bool options_end = false;
  for (int i = 1; i < argc && status == HL_OK; i++) {
    if (!options_end && strcmp(argv[i], "--") == 0)
      options_end = true;
    else if (!options_end && argv[i][0] == '-' && argv[i][1] != '\0')
      status = parse_one(&o, argc, argv, &i, error);
    else
      o.positionals[o.positional_count++] = argv[i];
  }
  if (status != HL_OK) {
    hl_options_release(&o);
    return status;
  }
  *ret_options = o;
  return HL_OK;
}

void hl_options_release(hl_options *options) {
  free(options->items);
  free(options->item_ids);
  free(options->positionals);
  for (size_t i = 0; i < options->joined_count; i++) free(options->joined[i]);
  free(options->joined);
  *options = (hl_options){0};
}

const char *hl_options_get(const hl_options *options, hl_option_id id) {
  return options->value[id] ? options->value[id] : initial_of(id, options->command);
}

bool hl_options_given(const hl_options *options, hl_option_id id) {
  return options->value[id] != NULL;
}

bool hl_options_on(const hl_options *options, hl_option_id id) {
  return options->value[id] != NULL;
}

const char *hl_options_at(const hl_options *options, hl_option_id id, size_t index) {
  for (size_t i = 0; i < options->item_count; i++)
    if (options->item_ids[i] == id && index-- == 0) return options->items[i];
  return NULL;
}

hl_status hl_options_int(const hl_options *options, hl_option_id id, int64_t min, int64_t max,
                         int64_t otherwise, int64_t *ret_value, hl_error *error) {
  const char *text = hl_options_get(options, id);
  char what[64] = "--";
  strncat(what, table[id].name, sizeof what - 3);
  if (text) return hl_parse_int(text, min, max, what, ret_value, error);
  *ret_value = otherwise;
  return HL_OK;
}

hl_status hl_options_real(const hl_options *options, hl_option_id id, double min, double max,
                          double otherwise, double *ret_value, hl_error *error) {
  const char *text = hl_options_get(options, id);
  char what[64] = "--";
  strncat(what, table[id].name, sizeof what - 3);
  if (text) return hl_parse_real(text, min, max, what, ret_value, error);
  *ret_value = otherwise;
  return HL_OK;
}

enum { doc_column = 28, line_width = 80 };

/* What of `doc` is said to the command: "{LETTERS text}" only to theirs. */
static void append_doc(const char *doc, char command, hl_text *out) {
  while (*doc) {
    size_t plain = strcspn(doc, "{");
    hl_text_append_n(out, doc, plain);
    doc += plain;
    if (!*doc) return;
    size_t letters = strcspn(++doc, " "), length = strcspn(doc, "}");
    if (memchr(doc, command, letters))
      hl_text_append_n(out, doc + letters + 1, length - letters - 1);
    doc += length + (doc[length] == '}');
  }
}

static void append_aliases(const char *aliases, hl_text *out) {
  const char *before = "; also ";
  while (*aliases) {
    size_t n = strcspn(aliases, " ");
    hl_text_format(out, "%s%s%.*s", before, n == 1 ? "-" : "--", (int)n, aliases);
    before = ", ";
    aliases += n + (aliases[n] == ' ');
  }
}

void hl_options_help(char command, hl_text *out) {
  hl_text doc = HL_TEXT_INIT;
  for (size_t i = 0; i < HL_OPTION_COUNT; i++) {
    const row *r = &table[i];
    if (!strchr(r->commands, command)) continue;
    HL_CLEANUP(hl_free_pointer)
    char *head = hl_format("  --%s%s%s", r->name, r->value[0] ? " " : "", r->value);
    if (!head) continue;
    const char *initial = initial_of((hl_option_id)i, command);
    hl_text_clear(&doc);
    append_doc(r->doc, command, &doc);
    if (initial) hl_text_format(&doc, " (default %s)", initial);
    append_aliases(r->aliases, &doc);
    if (strlen(head) + 2 > doc_column)
      hl_text_format(out, "%s\n%*s", head, doc_column, "");
    else
      hl_text_format(out, "%-*s", doc_column, head);
    hl_text_wrap(out, doc.data, doc_column, doc_column, line_width);
    hl_text_char(out, '\n');
  }
  hl_text_release(&doc);
}
