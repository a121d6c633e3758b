#include "record/settings.h"

#include "base/file.h"
#include "base/text.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { text_most = 4096 };
static const int64_t number_most = 100000000;

typedef struct reading {
  const char *path;
  const char *preset; /* or NULL */
} reading;

static hl_status bad(const reading *r, const char *key, const char *what, hl_error *error) {
  return hl_error_set(error, HL_BAD_DATA, "%.300s: %s%.100s%s'%s' %s", r->path,
                      r->preset ? "preset '" : "", r->preset ? r->preset : "",
                      r->preset ? "': " : "", key, what);
}

/* A text of the object, a copy; NULL where it is optional and not there, or null. */
static hl_status take_text(const reading *r, const json_t *object, const char *key, bool required,
                           char **ret_text, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  if (!value || json_is_null(value))
    return required ? bad(r, key, "is missing: write the file again with hotlap tune", error)
                    : HL_OK;
  if (!json_is_string(value) || json_string_length(value) > text_most ||
      strlen(json_string_value(value)) != json_string_length(value))
    return bad(r, key, "is not a text", error);
  *ret_text = hl_strdup(json_string_value(value));
  return *ret_text ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for settings");
}

/* The same of what is one of a kind: options take lists of it, and a preset is one setting. */
static hl_status take_one(const reading *r, const json_t *object, const char *key, bool required,
                          char **ret_text, hl_error *error) {
  hl_status status = take_text(r, object, key, required, ret_text, error);
  if (status != HL_OK || !*ret_text) return status;
  if (!**ret_text || strpbrk(*ret_text, ", \t\n"))
    return bad(r, key, "has to name one, and no more", error);
  return HL_OK;
}

static hl_status take_int(const reading *r, const json_t *object, const char *key, bool required,
                          int64_t *ret_value, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  *ret_value = HL_INT_NULL;
  if (!required && (!value || json_is_null(value))) return HL_OK;
  if (!json_is_integer(value) || json_integer_value(value) < 1 ||
      json_integer_value(value) > number_most)
    return bad(r, key, "is not a whole number from 1 to 100000000", error);
  *ret_value = json_integer_value(value);
  return HL_OK;
}

static double real_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static hl_pair pair_of(const json_t *object, const char *key) {
  const json_t *list = json_object_get(object, key);
  const json_t *low = json_array_get(list, 0), *high = json_array_get(list, 1);
  return (hl_pair){json_is_number(low) ? json_number_value(low) : (double)NAN,
                   json_is_number(high) ? json_number_value(high) : (double)NAN};
}

static hl_status read_preset(const reading *r, const json_t *object, hl_preset *p,
                             hl_error *error) {
  if (!json_is_object(object)) return bad(r, r->preset, "is not an object", error);
  hl_status status = take_one(r, object, "engine", true, &p->engine, error);
  if (status == HL_OK) status = take_one(r, object, "dtype", true, &p->dtype, error);
  if (status == HL_OK) status = take_one(r, object, "device", false, &p->device, error);
  if (status == HL_OK) status = take_text(r, object, "objective", false, &p->objective, error);
  if (status == HL_OK) status = take_text(r, object, "reproduce", false, &p->reproduce, error);
  if (status == HL_OK) status = take_int(r, object, "batch_size", true, &p->batch_size, error);
  if (status == HL_OK) status = take_int(r, object, "threads", true, &p->threads, error);
  if (status == HL_OK)
    status = take_int(r, object, "preprocess_batch", false, &p->preprocess_batch, error);
  if (status == HL_OK)
    status = take_int(r, object, "reassemble_batch", false, &p->reassemble_batch, error);
  const json_t *expected = json_object_get(object, "expected");
  p->throughput_ips = real_of(expected, "throughput_ips");
  p->throughput_ci = pair_of(expected, "throughput_ci");
  p->latency_p50_ms = real_of(expected, "latency_p50_ms");
  p->latency_p99_ms = real_of(expected, "latency_p99_ms");
  p->memory_mb = real_of(expected, "memory_mb");
  return status;
}

static hl_status read_presets(reading *r, json_t *presets, hl_settings *s, hl_error *error) {
  const char *name;
  json_t *value;
  size_t count = json_object_size(presets);
  if (!json_is_object(presets) || count == 0)
    return bad(r, "presets", "is not an object with a preset or more", error);
  if (count > HL_SETTINGS_PRESETS)
    return hl_error_set(error, HL_LIMIT, "%.300s: more than %d presets", r->path,
                        HL_SETTINGS_PRESETS);
  s->items = calloc(count, sizeof *s->items);
  if (!s->items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for settings");
  json_object_foreach(presets, name, value) {
    hl_preset *p = &s->items[s->count++];
    p->name = hl_strdup(name);
    if (!p->name) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for settings");
    r->preset = p->name;
    hl_status status = read_preset(r, value, p, error);
    if (status != HL_OK) return status;
  }
  r->preset = NULL;
  return HL_OK;
}

static hl_status read_root(reading *r, const json_t *root, hl_settings *s, hl_error *error) {
  const json_t *schema = json_object_get(root, "schema");
  if (!json_is_string(schema) || strcmp(json_string_value(schema), HL_SETTINGS_SCHEMA) != 0)
    return bad(r, "schema", "is not \"" HL_SETTINGS_SCHEMA "\": hotlap tune writes such files",
               error);
  const json_t *machine = json_object_get(root, "machine");
  hl_status status = take_text(r, root, "model", true, &s->model, error);
  if (status == HL_OK) status = take_text(r, root, "test_data", false, &s->test_data, error);
  if (status == HL_OK) status = take_text(r, root, "created", false, &s->created, error);
  if (status == HL_OK) status = take_text(r, machine, "id", false, &s->machine_id, error);
  if (status == HL_OK) status = take_text(r, machine, "cpu", false, &s->cpu, error);
  return status == HL_OK ? read_presets(r, json_object_get(root, "presets"), s, error) : status;
}

hl_status hl_settings_read(const char *path, hl_settings *ret_settings, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  size_t bytes = 0;
  hl_status status = hl_file_read(path, HL_SETTINGS_BYTES, &text, &bytes, error);
  return status == HL_OK ? hl_settings_parse(text, bytes, path, ret_settings, error) : status;
}

hl_status hl_settings_parse(const char *text, size_t bytes, const char *path,
                            hl_settings *ret_settings, hl_error *error) {
  json_error_t why;
  json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
  if (!root)
    return hl_error_set(error, HL_BAD_DATA, "%.300s:%d:%d: not JSON: %.200s", path, why.line,
                        why.column, why.text);
  hl_settings s = {0};
  reading r = {.path = path};
  hl_status status = read_root(&r, root, &s, error);
  json_decref(root);
  if (status != HL_OK) {
    hl_settings_release(&s);
    return status;
  }
  *ret_settings = s;
  return HL_OK;
}

void hl_settings_release(hl_settings *settings) {
  for (size_t i = 0; i < settings->count; i++) {
    hl_preset *p = &settings->items[i];
    char *const texts[] = {p->name, p->objective, p->engine, p->dtype, p->device, p->reproduce};
    for (size_t k = 0; k < HL_COUNT(texts); k++) free(texts[k]);
  }
  free(settings->items);
  free(settings->model);
  free(settings->test_data);
  free(settings->machine_id);
  free(settings->cpu);
  free(settings->created);
  *settings = (hl_settings){0};
}

hl_status hl_settings_find(const hl_settings *settings, const char *name,
                           const hl_preset **ret_preset, hl_error *error) {
  HL_CLEANUP(hl_text_release) hl_text names = HL_TEXT_INIT;
  for (size_t i = 0; i < settings->count; i++) {
    if (!name || strcmp(settings->items[i].name, name) == 0) {
      *ret_preset = &settings->items[i];
      return HL_OK;
    }
    hl_text_format(&names, "%s%s", i ? ", " : "", settings->items[i].name);
  }
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "there is no preset '%.100s': those of the file "
                      "are %.400s",
                      name ? name : "", names.data ? names.data : "none");
}
