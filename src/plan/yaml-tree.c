#include "plan/yaml-tree.h"

#include "base/file.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { tree_bytes = 64 << 20 };

typedef struct reader {
  hl_yaml_file *file;
  yaml_document_t *document;
  size_t values;
  hl_error *error;
} reader;

static hl_status refuse_at(const char *name, size_t line, size_t column, hl_status status,
                           hl_error *error, const char *text) {
  return hl_error_set(error, status, "%.200s:%zu:%zu: %s", name, line, column, text);
}

const char *hl_yaml_name(const hl_yaml_file *file, const hl_yaml *node) {
  return node->file ? node->file : file->name;
}

hl_status hl_yaml_refuse(const hl_yaml_file *file, const hl_yaml *where, hl_error *error,
                         const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return refuse_at(hl_yaml_name(file, where), where->line, where->column, HL_BAD_DATA, error, text);
}

static hl_status no_memory(const reader *r) {
  return hl_error_set(r->error, HL_OUT_OF_MEMORY, "no memory for a YAML file");
}

/* -- from libyaml's document to the tree ------------------------------------------------------- */

static hl_status convert(reader *r, int index, size_t depth, const hl_yaml **ret_node);

static hl_status convert_scalar(const reader *r, const yaml_node_t *from, hl_yaml *to) {
  const char *text = (const char *)from->data.scalar.value;
  size_t length = from->data.scalar.length;
  if (length > HL_YAML_SCALAR_BYTES)
    return refuse_at(r->file->name, to->line, to->column, HL_LIMIT, r->error,
                     "a value of more than 8192 bytes");
  bool bad = memchr(text, '\0', length) != NULL;
  /* A block of text has line ends, which are no more than spaces here. */
  for (const char *c = text; c < text + length && !bad; c++)
    bad = *c != '\n' && *c != '\t' && hl_text_control(c) > 0;
  if (bad)
    return refuse_at(r->file->name, to->line, to->column, HL_BAD_DATA, r->error,
                     "a control character in a value; write it without");
  to->text = hl_arena_text_n(&r->file->arena, text, length);
  to->plain = from->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  return to->text ? HL_OK : no_memory(r);
}

static hl_status convert_list(reader *r, const yaml_node_t *from, size_t depth, hl_yaml *to) {
  const yaml_node_item_t *start = from->data.sequence.items.start;
  size_t count = (size_t)(from->data.sequence.items.top - start);
  const hl_yaml **items = hl_arena_array(&r->file->arena, count, sizeof *items);
  if (!items) return no_memory(r);
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = convert(r, start[i], depth + 1, &items[i]);
  to->items = items;
  to->count = count;
  return status;
}

/* The keys and values of a mapping while it is read. */
typedef struct pairs {
  const hl_yaml **keys, **values;
  size_t count, capacity;
} pairs;

static bool grow(const reader *r, pairs *p) {
  size_t capacity = p->capacity ? 2 * p->capacity : 8;
  const hl_yaml **keys = hl_arena_array(&r->file->arena, capacity, sizeof *keys);
  const hl_yaml **values = hl_arena_array(&r->file->arena, capacity, sizeof *values);
  if (!keys || !values) return false;
  for (size_t i = 0; i < p->count; i++) {
    keys[i] = p->keys[i];
    values[i] = p->values[i];
  }
  *p = (pairs){keys, values, p->count, capacity};
  return true;
}

static hl_status add_pair(const reader *r, const hl_yaml *key, const hl_yaml *value, bool merged,
                          pairs *p) {
  for (size_t i = 0; i < p->count; i++) {
    if (strcmp(p->keys[i]->text, key->text) != 0) continue;
    if (merged) return HL_OK; /* the map's own key stays */
    return hl_yaml_refuse(r->file, key, r->error, "key '%.60s' is given twice; first in line %zu",
                          key->text, p->keys[i]->line);
  }
  if (p->count == HL_YAML_KEYS)
    return refuse_at(r->file->name, key->line, key->column, HL_LIMIT, r->error,
                     "more than 1000 keys in a mapping");
  if (p->count == p->capacity && !grow(r, p)) return no_memory(r);
  p->keys[p->count] = key;
  p->values[p->count++] = value;
  return HL_OK;
}

/* `<<`: the keys of a mapping, or of each of a list of them, that are not there yet. */
static hl_status merge(const reader *r, const hl_yaml *key, const hl_yaml *from, pairs *p) {
  hl_status status = HL_OK;
  if (from->kind == HL_YAML_SCALAR)
    return hl_yaml_refuse(r->file, key, r->error, "'<<' takes a mapping, as in '<<: *name'");
  for (size_t i = 0; i < from->count && status == HL_OK; i++) {
    if (from->kind == HL_YAML_MAP)
      status = add_pair(r, from->keys[i], from->items[i], true, p);
    else if (from->items[i]->kind == HL_YAML_MAP)
      status = merge(r, key, from->items[i], p);
    else
      status = hl_yaml_refuse(r->file, key, r->error, "'<<' takes mappings, as in '<<: *name'");
  }
  return status;
}

static bool is_merge_key(const yaml_node_t *key) {
  return key && key->type == YAML_SCALAR_NODE &&
         key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         strcmp((const char *)key->data.scalar.value, "<<") == 0;
}

static hl_status convert_map(reader *r, const yaml_node_t *from, size_t depth, hl_yaml *to) {
  const yaml_node_pair_t *given = from->data.mapping.pairs.start;
  size_t count = (size_t)(from->data.mapping.pairs.top - given);
  pairs p = {0};
  hl_status status = HL_OK;
  for (int pass = 0; pass < 2; pass++) /* its own keys, then the merged ones */
    for (size_t i = 0; i < count && status == HL_OK; i++) {
      const hl_yaml *key = NULL, *value = NULL;
      bool merged = is_merge_key(yaml_document_get_node(r->document, given[i].key));
      if (merged != (pass == 1)) continue;
      status = convert(r, given[i].key, depth + 1, &key);
      if (status == HL_OK && key && key->kind != HL_YAML_SCALAR)
        status = hl_yaml_refuse(r->file, key, r->error, "a key is a word, not a list or mapping");
      if (status == HL_OK) status = convert(r, given[i].value, depth + 1, &value);
      if (status == HL_OK)
        status = merged ? merge(r, key, value, &p) : add_pair(r, key, value, false, &p);
    }
  to->keys = p.keys;
  to->items = p.values;
  to->count = p.count;
  return status;
}

/* Tags of YAML itself say what our text is anyway; others ask for objects of some language. */
static bool is_foreign_tag(const yaml_node_t *node) {
  static const char *const own[] = {YAML_NULL_TAG, YAML_BOOL_TAG,      YAML_STR_TAG,
                                    YAML_INT_TAG,  YAML_FLOAT_TAG,     YAML_SEQ_TAG,
                                    YAML_MAP_TAG,  YAML_TIMESTAMP_TAG, "!"};
  bool foreign = node->tag != NULL;
  for (size_t i = 0; foreign && i < HL_COUNT(own); i++)
    foreign = strcmp((const char *)node->tag, own[i]) != 0;
  return foreign;
}

static hl_status convert(reader *r, int index, size_t depth, const hl_yaml **ret_node) {
  const yaml_node_t *from = yaml_document_get_node(r->document, index);
  hl_yaml *to = hl_arena_alloc(&r->file->arena, sizeof *to);
  if (!from || !to) return no_memory(r);
  *to = (hl_yaml){.line = from->start_mark.line + 1,
                  .column = from->start_mark.column + 1,
                  .file = r->file->name};
  if (++r->values > HL_YAML_VALUES)
    return refuse_at(r->file->name, to->line, to->column, HL_LIMIT, r->error,
                     "more than 20000 values, aliases counted as what they stand for");
  if (depth > HL_YAML_DEPTH)
    return refuse_at(r->file->name, to->line, to->column, HL_LIMIT, r->error,
                     "nested deeper than 16 (or an alias inside what it names)");
  if (is_foreign_tag(from))
    return hl_yaml_refuse(r->file, to, r->error, "tag '%.60s'; a plan has no tags", from->tag);
  *ret_node = to;
  switch (from->type) {
  case YAML_SCALAR_NODE:
    to->kind = HL_YAML_SCALAR;
    return convert_scalar(r, from, to);
  case YAML_SEQUENCE_NODE:
    to->kind = HL_YAML_LIST;
    return convert_list(r, from, depth, to);
  case YAML_MAPPING_NODE:
    to->kind = HL_YAML_MAP;
    return convert_map(r, from, depth, to);
  case YAML_NO_NODE:
    break;
  }
  return hl_yaml_refuse(r->file, to, r->error, "nothing where a value should be");
}

/* -- parsing ----------------------------------------------------------------------------------- */

static void place_of(const char *bytes, size_t count, size_t offset, size_t *ret_line,
                     size_t *ret_column) {
  *ret_line = *ret_column = 1;
  for (size_t i = 0; i < offset && i < count; i++) {
    *ret_column = bytes[i] == '\n' ? 1 : *ret_column + 1;
    *ret_line += bytes[i] == '\n';
  }
}

static hl_status refuse_syntax(const yaml_parser_t *parser, const char *bytes, size_t count,
                               const char *name, hl_error *error) {
  const char *problem = parser->problem ? parser->problem : "it cannot be read";
  size_t line = parser->problem_mark.line + 1, column = parser->problem_mark.column + 1;
  size_t at = parser->problem_mark.index;
  char text[400];
  if (parser->error == YAML_MEMORY_ERROR)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  if (parser->error == YAML_READER_ERROR) {
    place_of(bytes, count, parser->problem_offset, &line, &column);
    snprintf(text, sizeof text, "%s; a plan is UTF-8 text without control characters", problem);
  } else if (at < count && bytes[at] == '\t') {
    snprintf(text, sizeof text, "a tab; YAML is indented by spaces");
  } else {
    snprintf(text, sizeof text,
             "not YAML: %s%s%s; strings with ': ', ' #' or a first *, &, {, [ "
             "need quotes",
             parser->context ? parser->context : "", parser->context ? ", " : "", problem);
  }
  return refuse_at(name, line, column, HL_BAD_DATA, error, text);
}

/* The one document of the file; the caller deletes it. */
static hl_status load(yaml_parser_t *parser, const char *bytes, size_t count, const char *name,
                      yaml_document_t *ret_document, hl_error *error) {
  if (!yaml_parser_load(parser, ret_document))
    return refuse_syntax(parser, bytes, count, name, error);
  hl_status status = HL_OK;
  if (!yaml_document_get_root_node(ret_document))
    status = hl_error_set(error, HL_BAD_DATA, "%.200s: no value in it; a plan has entries", name);
  yaml_document_t second;
  if (status == HL_OK && !yaml_parser_load(parser, &second)) {
    status = refuse_syntax(parser, bytes, count, name, error);
  } else if (status == HL_OK) {
    if (yaml_document_get_root_node(&second))
      status = refuse_at(name, second.start_mark.line + 1, second.start_mark.column + 1,
                         HL_BAD_DATA, error, "a second document; a file is one plan");
    yaml_document_delete(&second);
  }
  if (status != HL_OK) yaml_document_delete(ret_document);
  return status;
}

/* What libyaml reads in more than linear time is bounded before it builds the document: open lists,
 * each of which it looks at for every token, and anchors, each compared with all before it. */
typedef struct bounds {
  size_t depth, events, anchors;
  bool ended;
} bounds;

static hl_status count_event(bounds *b, const yaml_event_t *event, const char *name,
                             hl_error *error) {
  const unsigned char *anchor = NULL;
  size_t line = event->start_mark.line + 1, column = event->start_mark.column + 1;
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    anchor = event->data.scalar.anchor;
    break;
  case YAML_SEQUENCE_START_EVENT:
  case YAML_MAPPING_START_EVENT:
    anchor = event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                     : event->data.sequence_start.anchor;
    if (++b->depth > HL_YAML_DEPTH)
      return refuse_at(name, line, column, HL_LIMIT, error, "nested deeper than 16");
    break;
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    b->depth--;
    break;
  default:
    b->ended = event->type == YAML_STREAM_END_EVENT;
    break;
  }
  b->anchors += anchor != NULL;
  if (b->anchors > HL_YAML_ANCHORS)
    return refuse_at(name, line, column, HL_LIMIT, error, "more than 1000 anchors");
  if (++b->events > 2 * HL_YAML_VALUES + 4)
    return refuse_at(name, line, column, HL_LIMIT, error, "more than 20000 values");
  return HL_OK;
}

static hl_status check_bounds(const char *bytes, size_t count, const char *name, hl_error *error) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser))
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, count);
  bounds b = {0};
  hl_status status = HL_OK;
  while (status == HL_OK && !b.ended) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) {
      status = refuse_syntax(&parser, bytes, count, name, error);
      break;
    }
    status = count_event(&b, &event, name, error);
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return status;
}

hl_status hl_yaml_parse(const char *bytes, size_t count, const char *name, hl_yaml_file *ret_file,
                        hl_error *error) {
  if (count > HL_YAML_BYTES)
    return hl_error_set(error, HL_LIMIT, "%.200s: more than %d bytes", name, HL_YAML_BYTES);
  size_t mark = count >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* some editors' */
  bytes += mark;
  count -= mark;
  hl_status status = check_bounds(bytes, count, name, error);
  if (status != HL_OK) return status;
  yaml_parser_t parser;
  yaml_document_t document;
  if (!yaml_parser_initialize(&parser))
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", name);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, count);
  status = load(&parser, bytes, count, name, &document, error);
  yaml_parser_delete(&parser);
  if (status != HL_OK) return status;
  hl_yaml_file file = {0};
  hl_arena_init(&file.arena, tree_bytes);
  file.name = hl_arena_text(&file.arena, name);
  reader r = {.file = &file, .document = &document, .error = error};
  status = file.name ? convert(&r, 1, 1, &file.root) : no_memory(&r);
  yaml_document_delete(&document);
  if (status == HL_OK)
    *ret_file = file;
  else
    hl_yaml_release(&file);
  return status;
}

hl_status hl_yaml_read(const char *path, hl_yaml_file *ret_file, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(path, HL_YAML_BYTES, &mapping, error);
  if (status != HL_OK) return status;
  status = hl_yaml_parse((const char *)mapping.data, mapping.bytes, path, ret_file, error);
  hl_file_unmap(&mapping);
  return status;
}

void hl_yaml_release(hl_yaml_file *file) {
  hl_arena_release(&file->arena);
  *file = (hl_yaml_file){0};
}

/* -- asking ------------------------------------------------------------------------------------ */

const hl_yaml *hl_yaml_find(const hl_yaml *map, const char *key) {
  if (!map || map->kind != HL_YAML_MAP) return NULL;
  for (size_t i = 0; i < map->count; i++)
    if (strcmp(map->keys[i]->text, key) == 0) return map->items[i];
  return NULL;
}

bool hl_yaml_is_null(const hl_yaml *node) {
  return node->kind == HL_YAML_SCALAR && node->plain &&
         (node->text[0] == '\0' || strcmp(node->text, "~") == 0);
}

bool hl_yaml_bool(const hl_yaml *node, bool *ret_value) {
  static const char *const words[][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};
  if (node->kind != HL_YAML_SCALAR) return false;
  for (int value = 0; value < 2; value++)
    for (size_t i = 0; i < 3; i++)
      if (strcasecmp(node->text, words[value][i]) == 0) {
        *ret_value = value == 1;
        return true;
      }
  return false;
}

/* -- writing ----------------------------------------------------------------------------------- */

static void write_scalar(const hl_yaml *node, hl_text *out) {
  if (hl_yaml_is_null(node)) {
    hl_text_char(out, '~');
    return;
  }
  hl_text_char(out, '"');
  for (const char *c = node->text; *c; c++) {
    if (*c == '"' || *c == '\\') hl_text_char(out, '\\');
    if (*c == '\n')
      hl_text_append(out, "\\n");
    else if (*c == '\t')
      hl_text_append(out, "\\t");
    else
      hl_text_char(out, *c);
  }
  hl_text_char(out, '"');
}

void hl_yaml_write(const hl_yaml *node, hl_text *out) {
  if (node->kind == HL_YAML_SCALAR) {
    write_scalar(node, out);
    return;
  }
  bool map = node->kind == HL_YAML_MAP;
  hl_text_char(out, map ? '{' : '[');
  for (size_t i = 0; i < node->count; i++) {
    if (i) hl_text_append(out, ", ");
    if (map) {
      write_scalar(node->keys[i], out);
      hl_text_append(out, ": ");
    }
    hl_yaml_write(node->items[i], out);
  }
  hl_text_char(out, map ? '}' : ']');
}
